"""A least squares solution: its coefficients, its proof and what inference needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fenchel.solve.least_squares.scaling import ColumnMoments, Floats, Scaling
from fenchel.solve.least_squares.tsqr import RankRevealingFactor

Method = Literal["gram", "orthogonal", "dual", "iterative"]


def unscale(x: Any, exponent: Any) -> Floats:
    """x 2^exponent; infinite where float64 has no such number."""
    with np.errstate(over="ignore"):
        return np.ldexp(x, exponent)


@dataclass(frozen=True)
class LeastSquares:
    """The minimum of P(w, b) = Σᵢ sᵢ (yᵢ - xᵢ·w - b)², of least ‖w‖ where it is not unique.

    bound = value - g'(X'SX)⁺g with g = X'S(y - Xw - b): the exact minimum of the quadratic, for a
    table whose dropped columns are the combinations stated; it lies at most `rounding` above the
    true one. kind "stationary" (method "iterative"): value - 2‖g‖‖w‖ instead, which bounds the
    optimum if a solution lies within ‖w‖ of w.

    value, bound, rounding, rss, tss and tss_origin are multiples of 2^exponent; the exponent is 0
    unless the squares leave the range of float64. With one target of shape (n,), coef is (d,) and
    what there is one of for each target is (); with (n, K) they are (d, K) and (K,).
    """

    coef: Floats
    intercept: Floats  # zero where none was asked for
    method: Method
    kind: Literal["exact", "stationary"]
    value: float  # Σ s r², summed over the targets
    bound: float
    rounding: float
    rank: int | None  # None where the method does not find it
    dependent: tuple[tuple[int, tuple[int, ...]], ...]  # (column, columns it is a combination of)
    condition: float  # an estimate, for columns centred (with an intercept) and of length one
    refinements: int  # corrections made, or steps of the iterative method
    n_rows: int  # of positive weight
    weight: float  # Σ s
    dof: int  # rows - rank - intercept; 0 where the rank is not known
    rss: Floats  # Σ s r² of each target
    tss: Floats  # Σ s (y - ȳ)² of each target
    tss_origin: Floats  # Σ s y² of each target
    has_constant: bool  # an intercept, or columns that span one
    exponent: int
    scale: Floats  # √(least rss / dof), the residual standard deviation; NaN if dof = 0
    _scale: Floats = field(repr=False)  # the same in the frame
    _frame: Scaling = field(repr=False)
    _factor: RankRevealingFactor | None = field(repr=False)

    @property
    def frame(self) -> Scaling:
        """The powers of two by which the table was divided."""
        return self._frame

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
        return unscale(self._root, -(self._frame.column + self._frame.weight // 2)[:, None])

    @cached_property
    def bse(self) -> Floats:
        """Standard errors of the coefficients, weights taken as inverse variances."""
        if self._factor is None:
            return np.full_like(self.coef, np.nan)
        lengths = np.linalg.norm(self._root, axis=1)
        exponent = self._frame.target - self._frame.column
        return unscale(lengths * self._scale[..., None], exponent).T

    @cached_property
    def intercept_bse(self) -> Floats:
        """The standard error of the intercept, scale √(1/W + m'(X̃'SX̃)⁺m)."""
        if self._factor is None or not self._factor.intercept:
            return np.full_like(self.intercept, np.nan)
        lever = self._factor.lever(self._root)
        length = np.sqrt(1.0 / self._factor.weight + lever @ lever)
        return unscale(length * self._scale, self._frame.target)

    @cached_property
    def _root(self) -> Floats:
        if self._factor is None:
            raise ValueError(f"the {self.method} method has no factor to take a covariance from")
        return self._factor.shortest(self._factor.root(), self._frame.column)


@dataclass(frozen=True, slots=True)
class Summary:
    """What a pass tells of a table before it is solved, in a frame."""

    frame: Scaling
    columns: ColumnMoments  # of [x, y]
    n_rows: int  # of positive weight
    flat: bool  # the target has one dimension
    free: NDArray[np.bool_]  # the columns that can carry a coefficient

    def solution(
        self,
        w: Floats,
        b: Floats,
        rss: Floats,
        *,
        least: Floats,
        rounding: float,
        rank: int | None,
        intercept: bool,
        factor: RankRevealingFactor | None = None,
        **facts: Any,
    ) -> LeastSquares:
        """w (d, K) and b (K,) of the frame in the units of the table; least: the bounds of rss."""
        d, frame = len(w), self.frame
        square, origin = self.columns.square[d:], self.columns.origin[d:]
        dof = 0 if rank is None else max(0, self.n_rows - rank - int(intercept))
        # Rounding the coefficients may cost more than rounding their sum of squares.
        spread = np.sqrt(least / dof) if dof else np.full_like(rss, np.nan)
        power = 2 * frame.target + frame.weight
        top = float(origin.max())
        room = top == 0.0 or -930 < np.log2(top) + power < 1000
        exponent = 0 if room else power

        def shape(x: Floats) -> Floats:
            return np.asarray(x[..., 0] if self.flat else x)

        def sums(x: Floats) -> Any:
            return unscale(x, power - exponent)

        return LeastSquares(
            coef=shape(unscale(w, (frame.target - frame.column)[:, None])),
            intercept=shape(unscale(b, frame.target)),
            value=float(sums(rss.sum())),
            bound=float(sums(least.sum())),
            rounding=float(sums(np.asarray(rounding))),
            rank=rank,
            n_rows=self.n_rows,
            weight=float(np.ldexp(self.columns.weight, frame.weight)),
            dof=dof,
            rss=shape(sums(rss)),
            tss=shape(sums(square)),
            tss_origin=shape(sums(origin)),
            exponent=exponent,
            scale=shape(unscale(spread, frame.target + frame.weight // 2)),
            _scale=shape(spread),
            _frame=frame,
            _factor=factor,
            **facts,
        )
