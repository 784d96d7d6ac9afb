"""Weighted linear least squares to full accuracy, by passes over row blocks.

minimise over (w, b):  P(w, b) = Σᵢ sᵢ (yᵢ - xᵢ·w - b)²

A triangular factor R of the centred columns proposes, a residual measured over all rows disposes:
w ← w + (R'R)⁻¹ X'S(y - Xw - b) until nothing changes. The factor comes from the Gram matrix where
its condition number leaves ten digits, else from orthogonalised rows; the residual is taken in
twice the working precision where rounding would otherwise show. Nothing on the driver grows with
the rows, except for tables with more columns than rows, which are held in memory.

Reference: Björck, Numerical methods for least squares problems, 1996, sections 2.9 and 6.6.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.blocks import Blocks, Totals
from fenchel.data.linear_algebra.double_double import DoubleDouble
from fenchel.data.moments.class_moments import Moments
from fenchel.solve.least_squares.cgls import cgls
from fenchel.solve.least_squares.minimum_norm import minimum_norm
from fenchel.solve.least_squares.result import LeastSquares, Method, Summary
from fenchel.solve.least_squares.scaling import (
    SAFE,
    ColumnMoments,
    ColumnRange,
    Floats,
    Scaling,
    residuals,
)
from fenchel.solve.least_squares.tsqr import (
    OFFSET_LIMIT,
    TSQR,
    RankRevealingFactor,
    gram_factor,
    triangle_factor,
)

__all__ = ["LeastSquares", "LeastSquaresLimits", "check_representable", "least_squares"]

_ULP = 2.0**-53
# The condition number up to which CGLS, whose gradient it leaves at 1e-12, has eight digits right.
_ITERATIVE = 1e4
_PLAIN = 1e-11  # the relative error up to which plain residuals are good enough: ten digits
_STEPS = 12  # refinements: each shrinks the error at least fourfold, or is the last


@dataclass(frozen=True, slots=True)
class LeastSquaresLimits:
    """Sizes of a table at which the method changes.

    sparse_columns: a sparse table of more columns is solved by iteration first: the d x d Gram
        matrix of a block is from here on much larger than the block
    sparse_direct: a sparse table of no more may yet be solved directly, 128 MiB for the matrix
    dense_columns: a dense table of more is solved by iteration: 2 GiB for the matrix
    precise_values: up to so many values residuals are always made in pairs of floats, which takes
        milliseconds
    refined_products: up to n d² of so many the factor is refined too, for the standard errors
    """

    sparse_columns: int = 1000
    sparse_direct: int = 4000
    dense_columns: int = 16_000
    precise_values: int = 2**16
    refined_products: int = 2**22


def least_squares(
    blocks: Blocks, intercept: bool = True, limits: LeastSquaresLimits = LeastSquaresLimits()
) -> LeastSquares:
    """The least squares solution of smallest norm ‖w‖ over a table with its target and weights.

    Method "gram": one pass for the scatter, one or two for the residual. "orthogonal": one more
    for the orthogonal factor, where the Gram matrix is too ill-conditioned. "dual": more columns
    than rows, which are gathered in memory. "iterative": conjugate gradients on the normal
    equations, one pass a step, for a sparse table of more than 1000 columns (unless they do not
    converge and there are at most 4000) and for a dense one of more than 16000.
    """
    d = blocks.n_cols
    if blocks.sparse and d > limits.sparse_columns:
        found, converged = _iterative(blocks, intercept)
        if converged or d > limits.sparse_direct:
            return found
    if blocks.n_rows <= d:
        try:
            met = _dual(blocks, intercept)
        except MemoryError:
            return _iterative(blocks, intercept)[0]
        if met is not None:
            return met
    if d > limits.dense_columns:
        return _iterative(blocks, intercept)[0]
    return _direct(blocks, intercept, limits)


def check_representable(blocks: Blocks, coef: Floats) -> None:
    """An error where a coefficient is beyond float64: that of a column of denormal numbers, say."""
    lost = np.flatnonzero(~np.isfinite(coef.reshape(blocks.n_cols, -1)).all(axis=1))
    if len(lost):
        j = int(lost[0])
        raise ValueError(
            f"{blocks.column(j)} reaches only {blocks.column_sizes[j]:.2g}, so its coefficient "
            "would be beyond the range of float64: multiply it by a power of ten, drop it, or fit "
            "with a penalty"
        )


def _direct(blocks: Blocks, intercept: bool, limits: LeastSquaresLimits) -> LeastSquares:
    d = blocks.n_cols
    survey, factor = _propose(blocks, intercept)
    method: Method = "gram"
    if factor is None:
        method = "orthogonal"
        triangle = blocks.reduce(TSQR.of(survey.frame, survey.columns.mean, intercept))
        factor = triangle_factor(triangle, survey.columns, d, intercept, survey.free)
        if blocks.n_rows * d * d <= limits.refined_products and factor.rank == d:
            factor = factor.refine(blocks, survey.frame)
    w = DoubleDouble.of(factor.start)
    mean = survey.columns.mean[d:]
    b = DoubleDouble.of(mean - factor.mean.hi @ w.hi if intercept else 0.0 * mean)
    small = blocks.n_rows * d <= limits.precise_values
    precise = small or _plain_error(survey, factor) > _PLAIN
    # Relative to the largest: what then counts for a small coefficient is still below its ulp.
    goal = 2.0**-90 if small else 2.0**-60
    # By how much one step shrinks the error: rounding in the factor, squared in a Gram matrix.
    rate = 64.0 * _ULP * factor.condition ** (2 if method == "gram" else 1)
    frame, refinements, before, sums = survey.frame, 0, np.inf, Totals()
    for refinements in range(_STEPS + 1):
        sums = blocks.reduce(residuals(frame, w, b, precise))
        step, shift = factor.correction(sums[0], sums[1])
        change = _ratio(factor.length(step), factor.length(w.hi))
        if change <= (goal if precise else 0.1 * _PLAIN):
            break
        if refinements > 1 and change > 0.25 * before:
            if precise:
                break  # the factor can do no more
            precise = True  # the plain residual is down to its rounding errors
        if refinements == _STEPS:
            break
        w, b = w.plus(step), b.plus(shift)
        rate, before = max(rate, change / before), change
        if precise and change * max(rate, change) <= goal:
            refinements += 1
            break
    if precise or len(factor.dropped):
        short = factor.shortest(w.hi, frame.column)
        b = b.plus(factor.mean.hi @ (w.hi - short))
        w, b = DoubleDouble.of(short), DoubleDouble.of(b.hi)
        sums = blocks.reduce(residuals(frame, w, b, precise))
    gain = factor.decrement(sums[0], sums[1])
    rss = sums[2].hi
    return survey.solution(
        w.hi,
        b.hi,
        rss,
        least=np.maximum(rss - gain, 0.0),
        rounding=_rounding(survey, factor, w.hi, b.hi, rss, gain, precise),
        rank=factor.rank,
        intercept=intercept,
        factor=factor,
        method=method,
        kind="exact",
        dependent=factor.relations() if survey.n_rows > d else (),
        condition=factor.condition,
        refinements=refinements,
        has_constant=intercept or factor.level == 0.0,
    )


def _propose(blocks: Blocks, intercept: bool) -> tuple[Summary, RankRevealingFactor | None]:
    """The survey, and the factor of the Gram matrix where it is good enough."""
    d = blocks.n_cols
    if blocks.n_rows <= d:
        ranges = blocks.reduce(ColumnRange.of)
        return _survey(blocks, ranges, Scaling.of(ranges), intercept), None
    frame = Scaling(np.zeros(d, np.int64))
    flat, rows, moments = blocks.reduce(frame.moments)
    free = np.ones(d, bool)
    if not _healthy(moments, d, intercept):
        ranges = blocks.reduce(ColumnRange.of)
        frame, free = Scaling.of(ranges), ranges.free(intercept)
        flat, rows, moments = blocks.reduce(frame.moments)
    columns = ColumnMoments(moments.weight, moments.mean, np.diag(moments.scatter))
    survey = Summary(frame, columns, rows, flat > 0, free)
    return survey, gram_factor(moments, d, intercept, blocks.sparse) if free.all() else None


def _survey(blocks: Blocks, ranges: ColumnRange, frame: Scaling, intercept: bool) -> Summary:
    flat, rows, columns = blocks.reduce(frame.columns)
    return Summary(frame, columns, rows, flat > 0, ranges.free(intercept))


def _healthy(moments: Moments, d: int, intercept: bool) -> bool:
    """No square near the ends of the range, no column that might be constant."""
    if not np.isfinite(moments.scatter).all() or not moments.weight > 1.0 / SAFE:
        return False
    columns = ColumnMoments(moments.weight, moments.mean, np.diag(moments.scatter))
    whole, own = columns.origin, columns.about(intercept)
    inside = (own > 1.0 / SAFE) & (own * OFFSET_LIMIT > whole)
    target = (whole > 1.0 / SAFE) | (whole == 0.0)
    return bool(inside[:d].all() and target[d:].all())


def _ratio(a: Floats, b: Floats) -> float:
    """max a/b with 0/0 = 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(np.max(np.where(a > 0.0, a / b, 0.0), initial=0.0))


def _plain_error(survey: Summary, factor: RankRevealingFactor) -> float:
    """What rounding in plain residuals costs the coefficients, relative to their largest.

    4 ulp κ² (1 + ‖y‖/‖w‖) max_j ‖x_j‖/‖x̃_j‖ on columns of length one, x̃ and y centred if there
    is an intercept.
    """
    d, columns = len(factor.unit), survey.columns
    offset = np.sqrt(columns.origin[:d])[factor.kept] / factor.unit[factor.kept]
    share = _ratio(np.sqrt(columns.about(factor.intercept)[d:]), factor.length(factor.start))
    return 4.0 * _ULP * factor.condition**2 * (1.0 + share) * float(offset.max(initial=1.0))


def _rounding(
    survey: Summary,
    factor: RankRevealingFactor,
    w: Floats,
    b: Floats,
    rss: Floats,
    gain: Floats,
    precise: bool,
) -> float:
    """How far the computed bound may lie above the true optimum.

    A residual is off by |x|·|w| (d + 3) ulp, a sum of n terms by about √n ulp of its terms, and
    the factor's square by 100 κ² ulp.
    """
    d, columns = len(w), survey.columns
    norms = np.sqrt(columns.origin)
    ulp = _ULP * (_ULP if precise else 1.0)
    noise = norms[:d] @ np.abs(w) + np.abs(b) * np.sqrt(columns.weight) + norms[d:]
    noise *= (d + 3) * ulp
    condition = factor.condition
    spill = noise + condition * np.sqrt(float(d * survey.n_rows) * rss) * ulp
    sums = 4.0 * _ULP if precise else (4.0 + np.sqrt(float(survey.n_rows))) * _ULP
    value = sums * rss + 2.0 * np.sqrt(rss) * noise + noise**2
    drop = 2.0 * np.sqrt(gain) * spill + spill**2 + gain * min(1.0, 100.0 * _ULP * condition**2)
    return float(np.sum(value + drop))


def _dual(blocks: Blocks, intercept: bool) -> LeastSquares | None:
    """The table in memory; None if its rows are too nearly dependent to be met one by one."""
    ranges = blocks.reduce(ColumnRange.of)
    survey = _survey(blocks, ranges, Scaling.of(ranges, common=True), intercept)
    if survey.n_rows == 0:
        raise ValueError("every row has weight zero")
    X, y, s = survey.frame.rows(blocks.gather())
    X, y = to_numpy(X.toarray() if is_sparse(X) else X), to_numpy(y)
    found = minimum_norm(X, y, intercept)
    if found is None:
        return None
    rss = np.sum(found.r**2 * (1.0 if s is None else to_numpy(s)[:, None]), axis=0)
    return survey.solution(
        found.w,
        found.b,
        rss,
        least=0.0 * rss,
        rounding=0.0,
        rank=survey.n_rows - int(intercept),
        intercept=intercept,
        method="dual",
        kind="exact",
        dependent=(),
        condition=found.condition,
        refinements=found.refinements,
        has_constant=True,
    )


def _iterative(blocks: Blocks, intercept: bool) -> tuple[LeastSquares, bool]:
    """The solution by conjugate gradients, and whether no direct method would do better."""
    d = blocks.n_cols
    ranges = blocks.reduce(ColumnRange.of)
    sizes = ranges.size[ranges.size > 0.0]
    # Scaling the columns changes which solution is the shortest: only where there is no other way.
    common = bool(sizes.max(initial=1.0) * 1e-9 < sizes.min(initial=1.0))
    survey = _survey(blocks, ranges, Scaling.of(ranges, common), intercept)
    columns = survey.columns
    found = cgls(
        blocks, survey.frame, columns.mean[:d], columns.mean[d:], columns.weight, intercept
    )
    slope = 2.0 * np.linalg.norm(found.g, axis=0) * np.linalg.norm(found.w, axis=0)
    solution = survey.solution(
        found.w,
        found.b,
        found.rss,
        least=np.maximum(found.rss - slope, 0.0),
        rounding=float(8.0 * _ULP * found.rss.sum()),
        rank=None,
        intercept=intercept,
        method="iterative",
        kind="stationary",
        dependent=(),
        condition=found.condition,
        refinements=found.steps,
        has_constant=intercept,
    )
    return solution, found.converged and found.condition < _ITERATIVE
