"""The targets and weights of a kernel ridge fit, in a unit in which no square overflows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.data.arrays import to_float64, to_numpy
from fenchel.data.blocks import Block, Blocks
from fenchel.data.design.matrix import Concatenated

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RidgeRows:
    """The rows of a fit with weight, their targets (n, T) times 2^-exponent, and the weights.

    members: their numbers, None where all rows have weight or none was dropped; flat: y was a
    vector.
    """

    members: Numbers | None
    y: Floats
    s: Floats
    exponent: int
    flat: bool

    @classmethod
    def of(cls, blocks: Blocks, *, dropped: bool = True) -> RidgeRows:
        """dropped: whether rows without weight are left out; else their targets are made 0."""

        def sides(block: Block) -> Concatenated:
            s = np.ones(block.n_rows) if block.weight is None else to_numpy(block.weight)
            return Concatenated([(to_numpy(to_float64(block.y)), s.astype(np.float64))])

        parts = blocks.reduce(sides)
        y = np.concatenate([part[0] for part in parts])
        s = np.concatenate([part[1] for part in parts])
        flat, n = y.ndim == 1, len(y)
        y = y.reshape(n, -1)
        members = None
        if not (s > 0.0).all():
            if dropped:
                members = np.flatnonzero(s > 0.0)
                y, s = y[members], s[members]
            else:
                y = np.where((s > 0.0)[:, None], y, 0.0)
        exponent = math.frexp(float(np.abs(y).max(initial=0.0)))[1]
        return cls(members, np.ldexp(y, -exponent), s, exponent, flat)

    def spread(self, c: Floats, n: int) -> Floats:
        """Coefficients in the units of y, on all rows."""
        c = np.ldexp(c, self.exponent)
        if self.members is None:
            return c
        out = np.zeros((n, c.shape[1]))
        out[self.members] = c
        return out

    def objective(self, certificate: Certificate) -> Certificate:
        """The certificate in the units of y, where float64 has such numbers."""
        if abs(self.exponent) > 500:
            return certificate
        return certificate.scaled(math.ldexp(1.0, 2 * self.exponent))
