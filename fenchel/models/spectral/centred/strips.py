"""A symmetric matrix in float32 by strips of its lower half, and its products with vectors.

Strip s holds rows lo … hi - 1 and the columns up to hi, and so half of the matrix in all. A product
reads each number once and uses it twice:

    (AV)_own += strip V_left,   (AV)_above += strip' V_own

Sums of a group of strips are added up apart, and the groups in their order: the groups depend on
the shape alone, and so do the bits. A product is as long as reading 2 n² bytes takes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.parallel import one_blas_thread, parallel_map
from fenchel.data.passes.loops import address

Floats = NDArray[np.float64]
Single = NDArray[np.float32]
HEIGHT = 256  # rows of a strip
# Columns of a strip that a core's second cache holds beside V, for their second use.
CHUNK = 512
GROUPS = 16
EDGE = 8  # strips end at multiples of it, with zeros beyond the matrix


@dataclass(frozen=True, slots=True, eq=False)
class SymmetricStrips:
    """A = A' of side n."""

    n: int
    strips: tuple[Single, ...] = field(repr=False)

    @classmethod
    def filled(cls, n: int, rows: Callable[[int, int, Single], None]) -> SymmetricStrips:
        """rows(lo, hi, out): the numbers of rows lo … hi - 1 in the columns 0 … hi - 1."""
        whole = -(-n // EDGE) * EDGE

        def strip(lo: int) -> Single:
            hi = min(lo + HEIGHT, n)
            height = min(HEIGHT, whole - lo)
            out = np.empty((height, lo + height), np.float32)
            out[:, hi:] = 0.0
            out[hi - lo :] = 0.0
            rows(lo, hi, out)
            return out

        with one_blas_thread():
            return cls(n, tuple(parallel_map(strip, range(0, n, HEIGHT))))

    @property
    def shape(self) -> tuple[int, int]:
        return self.n, self.n

    @property
    def largest(self) -> float:
        """On the diagonal; NaN where a number there is."""
        corners = (np.diagonal(A, A.shape[1] - A.shape[0]) for A in self.strips)
        return float(np.max([corner.max() for corner in corners]))

    def __matmul__(self, V: Floats) -> Single:
        from fenchel.data.passes.panels.compiled import COLUMNS, add_strip

        n, width = V.shape
        whole, count = -(-n // EDGE) * EDGE, len(self.strips)
        parts = -(-width // COLUMNS)
        right = np.zeros((parts, whole, COLUMNS), np.float32)
        for part in range(parts):
            some = V[:, part * COLUMNS : (part + 1) * COLUMNS]
            right[part, :n, : some.shape[1]] = some
        # Long strips and short ones in turn: groups take about as long as each other.
        turns = [(s, s // GROUPS % 2) for s in range(count)]
        group = [GROUPS - 1 - s % GROUPS if back else s % GROUPS for s, back in turns]
        sums = np.empty((min(GROUPS, count), parts, whole, COLUMNS), np.float32)

        def add(g: int) -> None:
            own = sums[g]
            own[...] = 0.0
            for s in (s for s in range(count) if group[s] == g):
                height, wide = self.strips[s].shape
                for part in range(parts):
                    at, to = address(right[part]), address(own[part])
                    add_strip(address(self.strips[s]), height, wide, at, to, CHUNK)

        def total(lo: int) -> None:
            for g in range(1, len(sums)):
                sums[0, :, lo : lo + HEIGHT] += sums[g, :, lo : lo + HEIGHT]

        parallel_map(add, range(len(sums)))
        parallel_map(total, range(0, whole, HEIGHT))
        found: Any = np.concatenate(list(sums[0, :, :n]), axis=1) if parts > 1 else sums[0, 0, :n]
        return np.asarray(found[:, :width])
