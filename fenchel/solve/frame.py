"""The rows as a least squares solver sees them: scaled by powers of two, surveyed, and fitted.

Every quantity is a statistic for `blocks.reduce`: its size does not grow with the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from fenchel.data.arrays import Array, double, host, is_sparse, like
from fenchel.data.blocks import Block, Totals
from fenchel.data.moments import Moments
from fenchel.solve.twofold import Sliced, Twofold

Floats = NDArray[np.float64]
Rows = tuple[Array, Array, Array | None]  # X (m, d), y (m, K) and s (m,) > 0 or None


@dataclass(frozen=True, slots=True)
class Ranges:
    """The extremes of each column, of the target and of the weight, over rows of weight > 0."""

    low: Floats
    high: Floats
    target: float
    weight: float

    def __add__(self, other: Ranges) -> Ranges:
        return Ranges(
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            max(self.target, other.target),
            max(self.weight, other.weight),
        )

    @classmethod
    def of(cls, block: Block) -> Ranges:
        X, y, s = positive_rows(block)
        m, d = X.shape
        if m == 0:
            return cls(np.full(d, np.inf), np.full(d, -np.inf), 0.0, 0.0)
        if is_sparse(X):
            low, high = (f(axis=0).toarray().ravel() for f in (X.min, X.max))
        else:
            xp = array_namespace(X)
            low, high = host(xp.min(X, axis=0)), host(xp.max(X, axis=0))
        return cls(low, high, float(abs(y).max()), 1.0 if s is None else float(s.max()))


@dataclass(frozen=True, slots=True)
class Frame:
    """Exponents e by which a table is divided: x_j 2^(-e_j), y 2^(-e_y), s 2^(-e_s).

    The division is exact, and squares of what remains neither overflow nor vanish.
    """

    column: NDArray[np.int64]
    target: int = 0
    weight: int = 0

    @classmethod
    def of(cls, ranges: Ranges) -> Frame:
        def exponent(x: Any) -> Any:
            # 2^±1000 is a normal number, and what it leaves of 1e308 or 1e-310 squares safely.
            return np.clip(np.frexp(x)[1], -1000, 1000).astype(np.int64)

        size = np.maximum(np.abs(ranges.low), np.abs(ranges.high))
        weight = int(exponent(ranges.weight))
        return cls(exponent(size), int(exponent(ranges.target)), weight + weight % 2)

    @property
    def square(self) -> int:
        """The exponent of Σ s y²."""
        return 2 * self.target + self.weight

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

    def total(self, block: Block) -> Totals:
        """Totals(blocks with a one-dimensional target, rows of positive weight, moments of [x, y])."""
        X, y, s = self.rows(block)
        flat = int(block.y is not None and block.y.ndim == 1)
        with np.errstate(over="ignore", invalid="ignore"):
            return Totals(flat, int(X.shape[0]), joint_moments(X, y, s))


def positive_rows(block: Block) -> Rows:
    """The rows in float64 without those of weight zero, which count as removed."""
    X, y, s = double(block.X), block.y, block.weight
    if y is None:
        raise ValueError("least squares needs a target y")
    y = double(y) if y.ndim == 2 else double(y)[:, None]
    if s is None:
        return X, y, None
    s = double(s)
    keep = s > 0.0
    return (X, y, s) if bool(keep.all()) else (X[keep], y[keep], s[keep])


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
    mean = (Z.sum(0) if s is None else s @ Z) / total
    Z -= mean
    root = None if s is None else s**0.5
    if root is not None:
        Z *= root[:, None]
    # What rounding left of the mean is small, so it may be taken out of the square.
    rest = (Z.sum(0) if root is None else root @ Z) / total
    scatter = host(Z.T @ Z) - total * np.outer(host(rest), host(rest))
    return Moments(total, host(mean) + host(rest), scatter)


def _sparse_moments(X: Array, y: Array, s: Array | None, total: float) -> Moments:
    weighted = X if s is None else X.multiply(s[:, None]).tocsr()
    sy = y if s is None else y * s[:, None]
    cross = X.T @ sy
    square = np.block([[(X.T @ weighted).toarray(), cross], [cross.T, y.T @ sy]])
    sums = np.concatenate([weighted.sum(axis=0), sy.sum(0)])
    mean = sums / total
    return Moments(total, mean, square - np.outer(sums, mean))


def residuals(frame: Frame, w: Twofold, b: Twofold, precise: bool) -> Callable[[Block], Totals]:
    """The statistic Totals(X'Sr, Σ s r, Σ s r²) at r = y - Xw - b; w (d, K), b (K,).

    precise: the residual and both sums against it in twice the working precision.
    """

    def plain(block: Block) -> Totals:
        X, y, s = frame.rows(block)
        r = y - (X @ like(w.hi, X) + like(b.hi, X))
        sr = r if s is None else r * s[:, None]
        parts = host(X.T @ sr), host(sr.sum(0)), host((sr * r).sum(0))
        return Totals(*(Twofold.of(part) for part in parts))

    def twofold(block: Block) -> Totals:
        X, y, s = frame.rows(block)
        matrix = Sliced.of(X)
        z = matrix.forward(Twofold(like(w.hi, X), like(w.lo, X)))
        r = (-z).plus(y).plus(-like(b.hi, X)).plus(-like(b.lo, X))
        sr = r if s is None else r.times(s[:, None])
        one = Sliced.of(like(np.ones((X.shape[0], 1)), X))
        level = one.adjoint(sr)
        g = matrix.adjoint(sr)
        square = host((sr.hi * r.hi).sum(0))
        return Totals(
            Twofold(host(g.hi), host(g.lo)),
            Twofold(host(level.hi)[0], host(level.lo)[0]),
            Twofold.of(square),
        )

    return twofold if precise else plain
