"""The limit σ → 0 of Huber's regression: least absolute deviations under a ridge penalty.

minimise 2ε Σ sᵢ|yᵢ - xᵢ·w - b| + α|w|²,  whose dual is
maximise Σ sθy - |η|²/(4α) over |θ| ≤ 2ε with Σ sθx = η, Σ sθ = 0
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certification.scale_proof import ScaleProof
from fenchel.convex.concomitant_scale import ScaledHuber, ScalePoint
from fenchel.data.arrays import is_sparse, to_float64, to_numpy
from fenchel.solve.quantile.interior_point import BlockLP

Floats = NDArray[np.float64]
LARGEST = 1e8  # n d² up to which the rows are worth gathering


class RowsWithConstant:
    """Rows in memory with a column of ones."""

    def __init__(self, X: Floats) -> None:
        self.X = X

    def scores(self, v: Floats) -> Floats:
        return np.asarray(self.X @ v)

    def pulled(self, z: Floats) -> Floats:
        return np.asarray(self.X.T @ z)

    def matrix(self, m: Floats) -> Floats:
        return np.asarray((self.X * m[:, None]).T @ self.X)


def limit(problem: ScaledHuber, least: float, share: float) -> tuple[ScalePoint, ScaleProof] | None:
    """The optimum at a scale that is zero but for rounding, and its proof; None where the rows are
    too many or elsewhere. σ is that share of the objective, or the least."""
    blocks = problem.design.blocks
    n, d = blocks.n_rows, blocks.n_cols
    if not blocks.local or n * (d + 1.0) ** 2 > LARGEST:
        return None
    whole = blocks.gather()
    X, y = to_float64(whole.X), to_numpy(to_float64(whole.y))
    X = to_numpy(X.toarray() if is_sparse(X) else X)
    s = np.ones(n) if whole.weight is None else to_numpy(to_float64(whole.weight))
    m = s * (n / s.sum())
    unit = float(np.abs(y).mean()) or 1.0
    rows = np.append(X, np.ones((n, 1)), axis=1) if problem.intercept else X
    # α|w|² over the unit of y is α·unit times the square of w over it.
    ridge, ends = problem.alpha * unit, np.full(1, 2.0 * problem.eps)
    side = -np.eye(rows.shape[1], d if ridge > 0.0 else 0)
    free = np.full(side.shape[1], np.inf)
    bend = np.full(side.shape[1], 1.0 / (2.0 * ridge * n) if ridge > 0.0 else 0.0)
    program = BlockLP(
        RowsWithConstant(rows), m, -(m * y / unit)[:, None], (-ends, ends), side, -free, free, bend
    )
    theta, _, pi = program.solve(np.zeros(side.shape[1]), 1e-11)
    at = ScalePoint(-unit * pi[:d], -unit * float(pi[d]) if problem.intercept else 0.0, least)
    at = replace(at, sigma=max(least, share * problem.evaluate(at).value))
    return at, problem.prove_by(at, theta[:, 0])
