"""Nonnegative least squares and ridge regression.

    minimise over w ≥ 0, b:  Σ sᵢ (yᵢ - xᵢ·w - b)² + α|w|²

Reference: Lawson and Hanson, Solving Least Squares Problems (1974), chapter 23.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from scipy import optimize

from fenchel.convex.certificate import Certificate
from fenchel.convex.loss.distance import Square
from fenchel.convex.penalty import ElasticNet, NonNegative, Penalty
from fenchel.convex.problem import Problem
from fenchel.data.blocks import Blocks
from fenchel.data.design.matrix import MatrixDesign
from fenchel.solve.least_squares.moments import RegressionMoments, divided, regression_moments
from fenchel.solve.least_squares.result import unscale
from fenchel.solve.least_squares.ridge import (
    PreparedTable,
    RidgeFit,
    chosen_targets,
    each_target,
    warn_not_certified,
)
from fenchel.solve.least_squares.ridge_solvers import Floats, triangle


def nonnegative(blocks: Blocks, alpha: Any, intercept: bool = True, tol: float = 1e-6) -> RidgeFit:
    """min over (w ≥ 0, b) of Σ s (y - x·w - b)² + α|w|², target by target.

    An active set on the triangular factor of the rows, which costs one pass and d² numbers.

    Reference: Lawson and Hanson, Solving Least Squares Problems (1974), chapter 23.
    """
    rows, found = regression_moments(blocks, True, intercept)
    table = PreparedTable(rows, found, intercept, "primal")
    base, seen = table.base
    alphas = each_target(alpha, found.targets)
    R, right = triangle(base, seen, intercept)
    w, b, proofs = np.zeros((found.d, found.targets)), np.zeros(found.targets), []
    for k in range(found.targets):
        column = np.array([k])
        point = _active_set(R, right[:, k], float(alphas[k])), 0.0
        if intercept:
            point = point[0], float(seen.mean[found.d + k] - seen.mean[: found.d] @ point[0])
        level = float(alphas[k])
        design = MatrixDesign(chosen_targets(base, column, found.flat))
        proof = _proof(design, seen, level, intercept, *point)
        w_k, b_k = table.given(column, *point)
        if table.is_moved:
            rows = chosen_targets(divided(blocks, found.exponent), column, found.flat)
            there = _proof(MatrixDesign(rows), seen, level, intercept, w_k[:, 0], float(b_k[0]))
            proof = table.better_bound(there, proof)
        proofs.append(proof)
        w[:, column], b[column] = unscale(w_k, found.exponent), unscale(b_k, found.exponent)
    certificate = table.objective(reduce(Certificate.__add__, proofs))
    steps = np.ones(found.targets, np.int32)
    converged = certificate.closed(tol)
    if not converged:
        warn_not_certified(certificate, tol)
    return RidgeFit(w, b, found.flat, (certificate,), converged, steps, "primal")


def _active_set(R: Floats, t: Floats, alpha: float) -> Floats:
    A = np.concatenate([R, np.sqrt(alpha) * np.eye(R.shape[1])]) if alpha > 0.0 else R
    if not len(A):  # one row and an intercept: scipy's answer would be memory that it never wrote
        return np.zeros(R.shape[1])
    unit = np.linalg.norm(A, axis=0)
    unit[unit == 0.0] = 1.0
    answer, _ = optimize.nnls(A / unit, np.append(t, np.zeros(len(A) - len(t))))
    return np.asarray(answer / unit)


def _proof(
    design: MatrixDesign,
    seen: RegressionMoments,
    alpha: float,
    intercept: bool,
    w: Floats,
    b: float,
) -> Certificate:
    """The certificate of ½ the weighted mean of squares + λ|w|²/2 for w ≥ 0."""
    penalty: Penalty = NonNegative()
    if alpha > 0.0:
        penalty = ElasticNet(alpha / seen.weight, 0.0, positive=True)
    return Problem(Square(), penalty, design, intercept).certify((w, b))
