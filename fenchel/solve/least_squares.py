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

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fenchel.data.blocks import Blocks, Totals
from fenchel.data.moments import Moments
from fenchel.solve.frame import Floats, Frame, Ranges, residuals
from fenchel.solve.krylov import conjugate_gradients
from fenchel.solve.orthogonal import Factor, Triangle, gram_factor, triangle_factor
from fenchel.solve.twofold import Twofold
from fenchel.solve.wide import interpolate

Method = Literal["gram", "orthogonal", "dual", "iterative"]

_ULP = 2.0**-53
_SPARSE_COLUMNS = 4000  # beyond, a sparse table's Gram matrix is larger than the table
_DENSE_COLUMNS = 16000  # beyond, the Gram matrix takes more than 2 GiB
_SMALL = 2**16  # values; below, twice the precision costs milliseconds and is always taken
_DIGITS = 1e-11  # what plain residuals must keep, relative, to be good enough
_STEPS = 12


@dataclass(frozen=True)
class LeastSquares:
    """A least squares solution with its proof and what inference needs.

    bound = value - g'(X'SX)⁺g with g the gradient's half, X'S(y - Xw - b): the exact minimum of
    the quadratic, for a problem whose dropped columns are the combinations stated. It lies at most
    `rounding` above the true one. kind "stationary" (method "iterative"): value - 2‖g‖‖w‖ instead,
    a bound if some solution lies within ‖w‖ of w.

    value, bound, rounding, rss, tss and tss_origin are to be multiplied by 2^exponent, which is 0
    unless the squares leave the range of float64. Coefficients have the shape (d,) or (d, K).
    """

    coef: Floats
    intercept: Floats  # () or (K,); zero where none was asked for
    method: Method
    kind: Literal["exact", "stationary"]
    value: float  # Σ s r², summed over the targets
    bound: float
    rounding: float
    rank: int | None  # None where the method does not find it
    dependent: tuple[tuple[int, tuple[int, ...]], ...]  # (column, columns it is a combination of)
    condition: float  # estimate, columns centred (with an intercept) and scaled to length one
    refinements: int
    n_rows: int  # of positive weight
    weight: float  # Σ s
    dof: int  # rows - rank - intercept
    rss: Floats  # Σ s r² of each target
    tss: Floats  # Σ s (y - ȳ)² of each target
    tss_origin: Floats  # Σ s y²
    has_constant: bool  # an intercept, or columns that span one
    exponent: int
    scale: Floats  # residual standard deviation √(rss / dof) of each target; NaN if dof ≤ 0
    _factor: Factor | None
    _frame: Frame

    @property
    def r2(self) -> Floats:
        """1 - rss/tss, against the mean where the model has a constant, else against zero."""
        total = self.tss if self.has_constant else self.tss_origin
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(1.0 - self.rss / total)

    @cached_property
    def root(self) -> Floats:
        """F (d, r) with F F' = (X̃'SX̃)⁺, X̃ centred if there is an intercept: the covariance of
        the coefficients is scale² F F'."""
        return np.ldexp(self._root(), -(self._frame.column + self._frame.weight // 2)[:, None])

    def _root(self) -> Floats:
        if self._factor is None:
            raise ValueError(f"the {self.method} method has no factor to take a covariance from")
        F = self._factor.root()
        return F if self._factor.rank == len(F) else self._factor.shortest(F, self._frame.column)

    @property
    def bse(self) -> Floats:
        """Standard errors of the coefficients, weights taken as inverse variances."""
        if self._factor is None:
            return np.full_like(self.coef, np.nan)
        lengths = np.linalg.norm(self._root(), axis=1)
        return self._spread(lengths, self._frame.target - self._frame.column)

    @property
    def intercept_bse(self) -> Floats:
        """The standard error of the intercept, scale √(1/W + m'(X̃'SX̃)⁺m)."""
        if self._factor is None or not self._factor.intercept:
            return np.full_like(self.intercept, np.nan)
        lever = self._factor.mean.hi @ self._root()
        length = np.sqrt(1.0 / self._factor.weight + lever @ lever)
        return self._spread(np.asarray(length), np.asarray(self._frame.target))

    def _spread(self, lengths: Floats, exponent: NDArray[np.int64]) -> Floats:
        scale = np.ldexp(self.scale, -self._frame.target - self._frame.weight // 2)
        return np.ldexp(np.multiply.outer(lengths, scale), _expand(exponent, scale.ndim))


def least_squares(blocks: Blocks, intercept: bool = True) -> LeastSquares:
    """The least squares solution of smallest norm ‖w‖ over a table with its target and weights.

    Method "gram": one pass for the scatter, one or two for the residual. "orthogonal": one more
    for the orthogonal factor, where the Gram matrix is too ill-conditioned. "dual": more columns
    than rows, which are gathered in memory. "iterative": a sparse table of more than 4000 columns,
    conjugate gradients on the normal equations, one pass a step.
    """
    n, d = blocks.n_rows, blocks.n_cols
    if d > _DENSE_COLUMNS or (blocks.sparse and d > _SPARSE_COLUMNS):
        return _iterative(blocks, intercept)
    if n <= d:
        found = _dual(blocks, intercept)
        if found is not None:
            return found
    return _direct(blocks, intercept)


@dataclass(frozen=True, slots=True)
class _Survey:
    """What one or two passes tell of a table before it is solved."""

    frame: Frame
    moments: Moments
    n_rows: int
    flat: bool  # the target has one dimension
    free: NDArray[np.bool_]  # columns that can carry a coefficient


def _survey(blocks: Blocks, intercept: bool) -> _Survey:
    d = blocks.n_cols
    frame = Frame(np.zeros(d, np.int64))
    flat, rows, moments = blocks.reduce(frame.total)
    free = np.ones(d, bool)
    if not _healthy(moments, d, intercept):
        ranges = blocks.reduce(Ranges.of)
        frame = Frame.of(ranges)
        free = ranges.low != ranges.high if intercept else (ranges.low != 0) | (ranges.high != 0)
        flat, rows, moments = blocks.reduce(frame.total)
    return _Survey(frame, moments, rows, flat > 0, free)


def _healthy(moments: Moments, d: int, intercept: bool) -> bool:
    """No square near the ends of the range, no column that might be constant."""
    W, mean, square = moments.weight, moments.mean, np.diag(moments.scatter)
    if not np.isfinite(moments.scatter).all() or not 1e-100 < W < 1e100:
        return False
    whole = square + W * mean**2
    own = square if intercept else whole
    inside = (own[:d] > 1e-150) & (whole[:d] < 1e150) & (own[:d] > 1e-20 * whole[:d])
    target = (whole[d:] == 0.0) | ((whole[d:] > 1e-150) & (whole[d:] < 1e150))
    return bool(inside.all() and target.all())


def _direct(blocks: Blocks, intercept: bool) -> LeastSquares:
    d = blocks.n_cols
    survey = _survey(blocks, intercept)
    frame, moments = survey.frame, survey.moments
    method: Method = "gram"
    factor = gram_factor(moments, d, intercept, blocks.sparse)
    if factor is None:
        method = "orthogonal"
        triangle = blocks.reduce(Triangle.of(frame, moments.mean, intercept))
        factor = triangle_factor(triangle, moments, d, intercept, survey.free)
    w = Twofold.of(factor.start)
    b = Twofold.of(moments.mean[d:] - factor.mean.hi @ w.hi if intercept else 0.0 * moments.mean[d:])
    precise = blocks.n_rows * d <= _SMALL or _plain_error(factor, moments, d) > _DIGITS
    refinements, before = 0, np.inf
    sums = Totals()
    while refinements < _STEPS:
        sums = blocks.reduce(residuals(frame, w, b, precise))
        step, shift = factor.correction(sums[0], sums[1])
        change = _ratio(factor.length(step), factor.length(w.hi))
        if change <= (_ULP * _ULP**0.25 if precise else 0.1 * _DIGITS):
            break
        if change > 0.25 * before:
            # Plain residuals have reached their rounding errors; precise ones can do no more.
            if precise:
                break
            precise = True
        w, b, before = w.plus(step), b.plus(shift), change
        refinements += 1
    if precise or len(factor.dropped):
        short = factor.shortest(w.hi, frame.column)
        b = Twofold.of((b + _moved(factor, w, short)).hi)
        w = Twofold.of(short)
        sums = blocks.reduce(residuals(frame, w, b, precise))
    return _result(survey, factor, method, w.hi, b.hi, sums, precise, refinements)


def _moved(factor: Factor, w: Twofold, short: Floats) -> Twofold:
    """m·(w - w'): what the intercept gains when w gives way to w' of the same centred fit."""
    gone = (w.plus(-short)).hi
    return Twofold.of(factor.mean.hi @ gone)


def _ratio(a: Floats, b: Floats) -> float:
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(np.max(np.where(a > 0.0, a / b, 0.0), initial=0.0))


def _plain_error(factor: Factor, moments: Moments, d: int) -> float:
    """What rounding in plain residuals costs the coefficients, relative to their largest.

    ulp κ² (1 + ‖r‖/‖w‖) max_j ‖x_j‖/‖x̃_j‖ on columns of length one, x̃ centred.
    """
    W, mean, square = moments.weight, moments.mean, np.diag(moments.scatter)
    size = factor.length(factor.start)
    offset = np.sqrt(1.0 + W * mean[:d] ** 2 / factor.unit**2) if factor.intercept else np.ones(d)
    left = np.sqrt(square[d:] + (0.0 if factor.intercept else W * mean[d:] ** 2))
    share = _ratio(left, size)
    return 4.0 * _ULP * factor.condition**2 * (1.0 + share) * float(offset[factor.kept].max(initial=1.0))


def _result(
    survey: _Survey,
    factor: Factor,
    method: Method,
    w: Floats,
    b: Floats,
    sums: Totals,
    precise: bool,
    refinements: int,
) -> LeastSquares:
    frame, moments = survey.frame, survey.moments
    d = len(w)
    g, level, rss = sums[0], sums[1], sums[2].hi
    gain = factor.decrement(g, level)
    W, mean, square = moments.weight, moments.mean, np.diag(moments.scatter)
    norms = np.sqrt(square + W * mean**2)
    condition = factor.condition
    # Rounding: of a residual, |x|·|w| (d + 3) ulp; of a sum of n terms, about √n ulp.
    unit = _ULP * (_ULP if precise else 1.0)
    noise = (d + 3) * unit * (norms[:d] @ np.abs(w) + np.abs(b) * np.sqrt(W) + norms[d:])
    spill = noise + condition * np.sqrt(float(d) * survey.n_rows) * unit * np.sqrt(rss)
    rounding = 8.0 * _ULP * rss + 2.0 * np.sqrt(rss) * noise + noise**2
    rounding += 2.0 * np.sqrt(gain) * spill + spill**2 + gain * min(1.0, 100 * _ULP * condition**2)
    value = float(rss.sum())
    dof = survey.n_rows - factor.rank - int(factor.intercept)
    return _assemble(
        survey,
        w,
        b,
        rss,
        method=method,
        kind="exact",
        value=value,
        bound=max(0.0, value - float(gain.sum())),
        rounding=float(rounding.sum()),
        rank=factor.rank,
        dependent=factor.relations() if survey.n_rows > d else (),
        condition=condition,
        refinements=refinements,
        dof=dof,
        has_constant=factor.intercept or factor.level == 0.0,
        _factor=factor,
    )
