"""Products of the Hessian of Huber's regression with vectors, for tables too wide for a matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.concomitant_scale import ScaledHuber, ScaleEvidence, ScalePoint
from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.blocks import Block, Totals
from fenchel.data.design.block_products import adjoint, forward

Floats = NDArray[np.float64]


class HessianProducts:
    """The Hessian known by its products with a vector, and conjugate gradients on them."""

    def __init__(
        self, problem: ScaledHuber, at: ScalePoint, seen: ScaleEvidence, share: float, extra: float
    ) -> None:
        self.problem, self.at, self.of = problem, at, problem.rows(at, share)
        self.held: dict[int, Any] = {}
        self.value = abs(seen.value)
        self.extra = extra

        def squares(block: Block) -> Totals:
            X, t, m = self._row(block)
            X2 = X.multiply(X).tocsr() if is_sparse(X) else X * X
            return Totals(to_numpy(adjoint(X2, m)), float(m.sum()), float((m * t * t).sum()))

        diagonal = self._whole(squares, np.ones(problem.design.dimension + 2))
        self.inverse = 1.0 / np.where(diagonal > 0.0, diagonal, 1.0)

    def _row(self, block: Block) -> Any:
        row = self.held.get(block.start)
        if row is None:
            row = self.of(block)
            if self.problem.design.blocks.local:
                self.held[block.start] = row
        return row

    def _whole(self, stat: Callable[[Block], Totals], u: Floats) -> Floats:
        """(2/σ) times the sums of the rows, and what the penalty and `extra` add along u."""
        problem = self.problem
        w, b, sigma = problem.design.blocks.reduce(stat)
        out = 2.0 / self.at.sigma / problem.design.weight * np.append(w, [b, sigma])
        out[:-2] += 2.0 * problem.alpha * u[:-2]
        out[-2] *= problem.intercept
        out[-1] += self.extra * u[-1]
        return out

    def _times(self, u: Floats) -> Floats:
        def stat(block: Block) -> Totals:
            X, t, m = self._row(block)
            q = m * (forward(X, u[:-2]) + (float(u[-2]) + float(u[-1]) * t))
            return Totals(to_numpy(adjoint(X, q)), float(q.sum()), float(t @ q))

        return self._whole(stat, u)

    def solve(self, g: Floats) -> Floats:
        """H⁻¹g by preconditioned conjugate gradients, to a share of |g| that falls with it."""
        x, r = np.zeros_like(g), g.copy()
        z = self.inverse * r
        p, rz = z, float(r @ z)
        goal = rz * max(min(1e-3, rz / max(self.value, 1e-300)), 1e-20)
        for _ in range(1000):
            q = self._times(p)
            bent = float(p @ q)
            if not bent > 0.0:
                break
            x = x + rz / bent * p
            r = r - rz / bent * q
            z = self.inverse * r
            last, rz = rz, float(r @ z)
            if rz <= goal:
                break
            p = z + rz / last * p
        return x
