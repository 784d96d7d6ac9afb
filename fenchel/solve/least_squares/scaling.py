"""Scaling of the columns by powers of two, the extremes and moments of columns, and residuals.

Every quantity is a statistic for `blocks.reduce`: its size does not grow with the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from fenchel.data.arrays import Array, is_sparse, like, to_float64, to_numpy
from fenchel.data.blocks import Block, Totals
from fenchel.data.linear_algebra.double_double import DoubleDouble, OzakiMatrix, two_product
from fenchel.data.moments.class_moments import Moments

Floats = NDArray[np.float64]
SAFE = 1e75  # sums of squares of numbers below it are far from the end of the range
Rows = tuple[Array, Array, Array | None]  # X (m, d), y (m, K) and s (m,) > 0 or None


def positive_rows(block: Block) -> Rows:
    """The rows in float64 without those of weight zero, which count as removed."""
    X, y, s = to_float64(block.X), block.y, block.weight
    if y is None:
        raise ValueError("least squares needs a target y")
    y = to_float64(y) if y.ndim == 2 else to_float64(y)[:, None]
    if s is None:
        return X, y, None
    s = to_float64(s)
    keep = s > 0.0
    return (X, y, s) if bool(keep.all()) else (X[keep], y[keep], s[keep])


@dataclass(frozen=True, slots=True)
class ColumnRange:
    """The extremes of each column, of the target and of the weight, over rows of weight > 0."""

    low: Floats
    high: Floats
    target: float
    weight: float

    def __add__(self, other: ColumnRange) -> ColumnRange:
        return ColumnRange(
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            max(self.target, other.target),
            max(self.weight, other.weight),
        )

    @classmethod
    def of(cls, block: Block) -> ColumnRange:
        X, y, s = positive_rows(block)
        m, d = X.shape
        if m == 0:
            return cls(np.full(d, np.inf), np.full(d, -np.inf), 0.0, 0.0)
        if is_sparse(X):
            low, high = (f(axis=0).toarray().ravel() for f in (X.min, X.max))
        else:
            xp = array_namespace(X)
            low, high = to_numpy(xp.min(X, axis=0)), to_numpy(xp.max(X, axis=0))
        return cls(low, high, float(abs(y).max()), 1.0 if s is None else float(s.max()))

    @property
    def size(self) -> Floats:
        """max |x_j|."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    def free(self, intercept: bool) -> NDArray[np.bool_]:
        """The columns that can carry a coefficient: not constant, or not zero if no intercept."""
        return self.low != self.high if intercept else self.size > 0.0


@dataclass(frozen=True, slots=True)
class ColumnMoments:
    """W = Σ s, the mean m and the square length Σ s (x - m)² of each column."""

    weight: float
    mean: Floats
    square: Floats

    def __add__(self, other: ColumnMoments) -> ColumnMoments:
        total = self.weight + other.weight
        if total == 0.0:
            return self
        delta = other.mean - self.mean
        share = other.weight / total
        square = self.square + other.square + delta**2 * (self.weight * share)
        return ColumnMoments(total, self.mean + delta * share, square)

    @property
    def origin(self) -> Floats:
        """Σ s x²."""
        return self.square + self.weight * self.mean**2

    def about(self, intercept: bool) -> Floats:
        """Σ s (x - m)² with an intercept, Σ s x² without one."""
        return self.square if intercept else self.origin


@dataclass(frozen=True, slots=True)
class Scaling:
    """Exponents e by which a table is divided: x_j 2^(-e_j), y 2^(-e_y), s 2^(-e_s).

    The division is exact, and squares of what remains neither overflow nor vanish.
    """

    column: NDArray[np.int64]
    target: int = 0
    weight: int = 0

    @classmethod
    def of(cls, ranges: ColumnRange, common: bool = False) -> Scaling:
        """The frame in which entries are near one; common: one exponent for all columns."""

        def exponent(x: Any) -> Any:
            # 2^±1000 is a normal number, and what it leaves of 1e308 or 1e-310 squares safely.
            return np.clip(np.frexp(x)[1], -1000, 1000).astype(np.int64)

        size = np.full_like(ranges.size, ranges.size.max()) if common else ranges.size
        weight = int(exponent(ranges.weight)) if not 1e-30 < ranges.weight < 1e30 else 0
        return cls(exponent(size), int(exponent(ranges.target)), weight + weight % 2)

    def rows(self, block: Block) -> Rows:
        """The rows of positive weight in float64, scaled."""
        X, y, s = positive_rows(block)
        if self.column.any():
            scale = np.ldexp(1.0, -self.column)
            X = X.multiply(scale[None, :]).tocsr() if is_sparse(X) else X * like(scale, X)
        if self.target:
            y = y * 2.0**-self.target
        if self.weight and s is not None:
            s = s * 2.0**-self.weight
        return X, y, s

    def moments(self, block: Block) -> Totals:
        """The statistic Totals(parts with a one-dimensional target, rows, moments of [x, y])."""
        X, y, s = self.rows(block)
        with np.errstate(over="ignore", invalid="ignore"):
            moments = joint_moments(X, y, s)
        largest = max(moments.weight, np.abs(moments.mean).max(), np.abs(moments.scatter).max())
        if not largest < SAFE:  # NaN adds without a signal, infinities do not
            moments = Moments(moments.weight, moments.mean * np.nan, moments.scatter * np.nan)
        return Totals(_flat(block), int(X.shape[0]), moments)

    def columns(self, block: Block) -> Totals:
        """The same with `ColumnMoments` in place of the moments: nothing of the size d²."""
        X, y, s = self.rows(block)
        m = int(X.shape[0])
        if m == 0:
            zero = np.zeros(X.shape[1] + y.shape[1])
            return Totals(_flat(block), 0, ColumnMoments(0.0, zero, zero))
        total = float(m if s is None else s.sum())
        one = like(np.ones(m), X) if s is None else s

        def two(A: Array) -> tuple[Floats, Floats]:
            mean = to_numpy(one @ A) / total
            if is_sparse(A):
                return mean, np.maximum(to_numpy(one @ (A * A)) - total * mean**2, 0.0)
            return mean, to_numpy(one @ (A - like(mean, A)) ** 2)

        (mx, sx), (my, sy) = two(X), two(y)
        both = ColumnMoments(total, np.concatenate([mx, my]), np.concatenate([sx, sy]))
        return Totals(_flat(block), m, both)


def _flat(block: Block) -> int:
    return int(block.y is not None and block.y.ndim == 1)


def joint_moments(X: Array, y: Array, s: Array | None) -> Moments:
    """Weight, mean and scatter of the rows [x, y], by one symmetric product of centred rows."""
    m, d = (int(k) for k in X.shape)
    total = float(m if s is None else s.sum())
    p = d + int(y.shape[1])
    if m == 0:
        return Moments(0.0, np.zeros(p), np.zeros((p, p)))
    if is_sparse(X):
        return _sparse_moments(X, y, s, total)
    xp = array_namespace(X)
    Z = xp.empty((m, p), dtype=X.dtype, device=X.device)
    Z[:, :d], Z[:, d:] = X, y
    mean = (like(np.ones(m), X) if s is None else s) @ Z / total
    Z -= mean
    root = like(np.ones(m), X) if s is None else s**0.5
    if s is not None:
        Z *= root[:, None]
    # What rounding left of the mean is small, so it may be taken out of the square.
    rest = root @ Z / total
    scatter = to_numpy(Z.T @ Z) - total * np.outer(to_numpy(rest), to_numpy(rest))
    return Moments(total, to_numpy(mean) + to_numpy(rest), scatter)


def _sparse_moments(X: Array, y: Array, s: Array | None, total: float) -> Moments:
    weighted = X if s is None else X.multiply(s[:, None]).tocsr()
    sy = y if s is None else y * s[:, None]
    cross = X.T @ sy
    square = np.block([[(X.T @ weighted).toarray(), cross], [cross.T, y.T @ sy]])
    sums = np.concatenate([weighted.sum(axis=0), sy.sum(0)])
    mean = sums / total
    return Moments(total, mean, square - np.outer(sums, mean))


def residuals(
    frame: Scaling, w: DoubleDouble, b: DoubleDouble, precise: bool
) -> Callable[[Block], Totals]:
    """The statistic Totals(X'Sr, Σ s r, Σ s r²) at r = y - Xw - b; w (d, K), b (K,).

    precise: the residual and both sums against it in twice the working precision.
    """

    def plain(block: Block) -> Totals:
        X, y, s = frame.rows(block)
        r = y - (X @ like(w.hi, X) + like(b.hi, X))
        sr = r if s is None else r * s[:, None]
        parts = to_numpy(X.T @ sr), to_numpy(sr.sum(0)), to_numpy((sr * r).sum(0))
        return Totals(*(DoubleDouble.of(part) for part in parts))

    def double_double(block: Block) -> Totals:
        X, y, s = frame.rows(block)
        matrix = OzakiMatrix.of(X)
        z = matrix.forward(DoubleDouble(like(w.hi, X), like(w.lo, X)))
        r = (-z).plus(y).plus(-like(b.hi, X)).plus(-like(b.lo, X))
        sr = r if s is None else r.times(s[:, None])
        g = matrix.adjoint(sr)
        square, error = two_product(sr.hi, r.hi)
        xp = array_namespace(square)
        both = DoubleDouble(xp.concat([sr.hi, square], axis=1), xp.concat([sr.lo, error], axis=1))
        ends = OzakiMatrix.of(like(np.ones((X.shape[0], 1)), X)).adjoint(both)
        hi, lo, K = to_numpy(ends.hi)[0], to_numpy(ends.lo)[0], y.shape[1]
        return Totals(
            DoubleDouble(to_numpy(g.hi), to_numpy(g.lo)),
            DoubleDouble(hi[:K], lo[:K]),
            DoubleDouble(hi[K:], lo[K:]),
        )

    return double_double if precise else plain


def projected_moments(frame: Scaling, F: Floats, shift: Floats) -> Callable[[Block], Moments]:
    """The statistic of the rows F'x - shift, each computed precisely and rounded once."""

    def stat(block: Block) -> Moments:
        X, _, s = frame.rows(block)
        Z = OzakiMatrix.of(X).forward(DoubleDouble.of(like(F, X))).plus(-like(shift, X)).hi
        return joint_moments(Z, Z[:, :0], s)

    return stat
