"""Rounding of coefficients to the precision of the rows, and the certificate after it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate, warn_outside
from fenchel.convex.certification.dual_point import PointValue
from fenchel.convex.certification.float_sums import paid
from fenchel.convex.loss.distance import Square
from fenchel.convex.objective import Objective
from fenchel.convex.penalty import L2
from fenchel.convex.problem import Problem
from fenchel.data.blocks import Blocks
from fenchel.data.design.matrix import MatrixDesign, Point
from fenchel.solve.least_squares.ridge import chosen_targets
from fenchel.solve.minimise import Solution

Floats = NDArray[np.float64]


def is_in_range(values: Any, dtype: Any) -> bool:
    """Whether no value becomes infinite, or loses digits to underflow, in a narrower type."""
    kind, size = np.finfo(dtype), np.abs(values)
    return bool(((size <= float(kind.max)) & ((size >= float(kind.tiny)) | (size == 0.0))).all())


def round_solution(
    problem: Objective[Point],
    solution: Solution[Point],
    dtype: Any,
    tol: float,
    scaling: float | None = None,
) -> Solution[Point]:
    """The solution rounded to the precision of the input, and the certificate of the rounded point;
    scaling: the constant column, the last, that stands for the intercept, if any."""
    point, proof, closed = round_point(
        problem, solution.point, solution.certificate, solution.converged, dtype, tol, scaling
    )
    return replace(solution, point=point, certificate=proof, converged=closed)


def round_point(
    problem: Objective[Point],
    point: Point,
    proof: Certificate,
    closed: bool,
    dtype: Any,
    tol: float,
    scaling: float | None = None,
) -> tuple[Point, Certificate, bool]:
    """A point, its proof, and whether that is closed, after rounding; scaling as in
    `round_solution`.

    The bound is one of the optimum and holds for every point: only the value is computed anew.
    What float32 cannot reach stays in float64.
    """
    if dtype == np.float64:
        return point, proof, closed
    if not all(is_in_range(part, dtype) for part in point):
        return point, proof, closed
    with np.errstate(over="ignore", under="ignore"):
        w, b = (np.asarray(part, dtype=dtype).astype(np.float64) for part in point)
        if scaling is not None:  # the intercept is rounded, and not what scaling makes of it
            w[-1] = (scaling * point[0][-1]).astype(dtype).astype(np.float64) / scaling
    if not (np.isfinite(w).all() and np.isfinite(b).all()):
        return point, proof, closed
    point = (w, b if b.ndim else float(b))
    value = problem.known_value(point, tol)
    final = replace(proof, value=value.value, bound=paid(value, proof.bound))
    if closed and not final.closed(tol):  # perhaps by the rounding of the value alone
        value = problem.known_value(point)
        final = replace(proof, value=value.value, bound=paid(value, proof.bound))
    if closed and not final.closed(tol):
        warn_rounded(final, dtype, tol)
    return point, final, closed and final.closed(tol)


def warn_rounded(final: Certificate, dtype: Any, tol: float) -> None:
    """The warning of a fit that rounding its coefficients has opened."""
    warn_outside(
        f"coefficients in {np.dtype(dtype).name} leave a relative duality gap of "
        f"{final.relative_gap:.2g}, asked tol={tol:.2g}. Pass float64 rows or loosen tol."
    )


def squares_in_precision(
    blocks: Blocks, w: Floats, b: Floats, alpha: Any, proof: Certificate
) -> Certificate:
    """The certificate of Σ s (y - x·w - b)² + α|w|² over all targets, w (d, K) and b (K,) rounded
    to the precision of the rows: the same bound, the value at the rounded coefficients."""
    dtype = blocks.dtype
    if dtype == np.float64:
        return proof
    if not (is_in_range(w, dtype) and is_in_range(b, dtype)):
        return proof  # the coefficients stay in float64
    w, b = (part.astype(dtype).astype(np.float64) for part in (w, b))
    flat = blocks.of_first(lambda block: block.y is not None and block.y.ndim == 1)
    alphas, values = np.broadcast_to(np.ravel(alpha), (w.shape[1],)), []
    for k, one in enumerate(alphas.tolist()):
        design = MatrixDesign(chosen_targets(blocks, np.array([k]), flat))
        problem = Problem(Square(), L2(one / design.weight), design)
        known, twice = problem.known_value((w[:, k], float(b[k]))), 2.0 * design.weight
        values.append(PointValue(known.value * twice, known.error * twice))
    value = PointValue(sum(v.value for v in values), sum(v.error for v in values))
    return replace(proof, value=value.value, bound=paid(value, proof.bound))
