"""The plane of largest margin, or the convex combination that proves there is none.

M = max over |w| = 1, b of minᵢ yᵢ(xᵢ·w + b) = min over λ of |Σ λᵢyᵢxᵢ|
λ ≥ 0, Σ λᵢ = 1, and Σ λᵢyᵢ = 0 where planes may have an intercept b

Any plane gives M from below and any λ from above: what is returned holds whatever the solver did.
Rows enter a small problem as passes over the table find that its plane violates them, so only
those rows are ever gathered.

Rounding, in units in which every |xᵢ| and |w| is at most one (U = 2⁻⁵³, powers of two round
nothing):

low     a score errs by γ(d)|x||w|, w by d/2 + 3 units of its length: 2(d + 8)U is taken off
high    each column of Σ λᵢyᵢxᵢ errs by γ(k) Σ λᵢ|xᵢⱼ| over k rows, which as a vector is at most
        γ(k); Σ λ and Σ λᵢyᵢ miss one and zero by k U, and a plane with a positive margin has
        |b| ≤ 1: (8k + 32)U is added
columns of other units   the length of w times those units errs by d/2 + 3 units of itself

Reference: Lawson and Hanson, Solving Least Squares Problems (1974), chapter 23; Wolfe, Finding the
nearest point in a polytope, Math. Program. 11 (1976).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse import vstack

from fenchel.convex.problem import EPS
from fenchel.data.arrays import Array, is_sparse, like, to_float64, to_numpy
from fenchel.data.blocks import Block, Blocks, Totals, one_blas_thread
from fenchel.data.design.block_products import forward
from fenchel.data.design.matrix import Point
from fenchel.solve.separation.min_norm_point import (
    classes_of,
    face_minimiser,
    is_robust,
    nearest_point,
    unit_vector,
)
from fenchel.solve.separation.row_radius import longest_row, unit_of

Floats = NDArray[np.float64]
WORK = 1e10  # multiplications in all, beyond which the interval is left as wide as it is


@dataclass(frozen=True, slots=True)
class Combination:
    """Coefficients λ > 0 of some rows, Σ λᵢ = 1 (and Σ λᵢyᵢ = 0), that bound every margin.

    residual: |Σ λᵢyᵢxᵢ| with the rounding of its computation added. If yᵢ(xᵢ·w + b) ≥ m for all
    rows and |w| = 1, then m ≤ Σ λᵢyᵢ(xᵢ·w + b) = (Σ λᵢyᵢxᵢ)·w ≤ residual.
    exact: whether it is proved that no plane separates in exact arithmetic either: a change of λ
    (or of another combination, of columns brought to one scale) smaller than its least entry makes
    the sum zero, by the least singular value of the rows' differences.
    """

    rows: NDArray[np.int64]
    coefficients: Floats
    residual: float
    exact: bool


@dataclass(frozen=True, slots=True)
class HardMargin:
    """low ≤ M ≤ high, the plane that has margin low, and the combination that proves high.

    plane: (w, b) with |w| = 1, or None where no direction was found. radius: R = max |xᵢ|.
    separable: True where low > 0; False where high is a few roundings of R, so that no plane has
    a margin that float64 could show; None where the passes did not suffice to tell.
    """

    low: float
    high: float
    plane: Point | None
    combination: Combination
    radius: float
    passes: int

    @property
    def separable(self) -> bool | None:
        if self.low > 0.0:
            return True
        return False if self.high <= _floor(len(self.combination.rows)) * self.radius else None


@dataclass(frozen=True)
class ColumnMax:
    """The largest |x| of each column."""

    sizes: Floats

    def __add__(self, other: ColumnMax) -> ColumnMax:
        return ColumnMax(np.maximum(self.sizes, other.sizes))

    @property
    def units(self) -> Floats:
        return np.array([unit_of(float(size)) for size in self.sizes])


@dataclass(frozen=True)
class WorstRows:
    """The rows of one class with the least yᵢ(xᵢ·w), sorted: two of these merge into the least
    of both."""

    keep: int
    margins: Floats
    rows: NDArray[np.int64]
    X: Array

    def __add__(self, other: WorstRows) -> WorstRows:
        if not len(self.rows) or not len(other.rows):
            return self if len(self.rows) else other
        margins = np.concatenate([self.margins, other.margins])
        best = np.argsort(margins, kind="stable")[: self.keep]
        rows = np.concatenate([self.rows, other.rows])
        return WorstRows(self.keep, margins[best], rows[best], _stack([self.X, other.X])[best])


def hard_margin(
    blocks: Blocks,
    intercept: bool = True,
    *,
    start: Floats | None = None,
    tol: float = 1e-9,
    max_passes: int = 300,
    work: float = WORK,
) -> HardMargin:
    """The largest margin of rows with targets ±1, or the proof that no plane separates them.

    Parameters
    ----------
    blocks : Blocks
        Rows with ±1 for a target; those of weight zero do not count.
    intercept : bool
        Whether planes may have one, or go through the origin.
    start : array (d,), optional
        A direction to look along first.
    tol : float
        Stops when (high - low) / high is below it.
    max_passes : int
    work : float
        Multiplications to spend on the rows gathered; some seconds, where d is large.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import as_blocks, hard_margin
    >>> rows = as_blocks(np.array([[0.0], [1.0], [4.0]]), np.array([-1.0, -1.0, 1.0]))
    >>> found = hard_margin(rows)
    >>> found.separable, round(found.low, 6), round(found.high, 6)
    (True, 1.5, 1.5)
    """
    with one_blas_thread():
        found = _RowGeneration(blocks, intercept, tol, work).run(start, max_passes)
        if found.separable or found.combination.exact:
            return found
        # Whether a plane separates does not depend on the scale of the columns: short ones may
        # decide what rounding in the units of the long ones hides.
        c = blocks.reduce(_tops).units
        if (c == c[0]).all():
            return found
        other = _RowGeneration(_rescaled(blocks, c), intercept, tol, work).run(None, max_passes)
        return _in_units(found, other, c)


def _tops(block: Block) -> ColumnMax:
    X = abs(to_float64(block.X))
    if is_sparse(X):
        return ColumnMax(np.asarray(X.max(axis=0).toarray()).ravel())
    return ColumnMax(to_numpy(X).max(axis=0))


def _rescaled(blocks: Blocks, c: Floats) -> Blocks:
    def scale(block: Block) -> Block:
        X = to_float64(block.X)
        if is_sparse(X):
            X = type(X)((X.data * c[X.indices], X.indices, X.indptr), shape=X.shape)
        else:
            X = X * like(c, X)
        return Block(block.start, X, block.y, block.weight)

    return blocks.map(scale)


def _in_units(found: HardMargin, other: HardMargin, c: Floats) -> HardMargin:
    """What a search among columns times c, powers of two, adds to one among the columns."""
    passes = found.passes + other.passes
    if other.separable and other.plane is not None:
        w, b = other.plane[0] * c, other.plane[1]  # the same scores, digit by digit
        length = float(np.linalg.norm(w / (top := float(np.abs(w).max())))) * top
        low = min(other.low / length * (1.0 - (len(w) + 8.0) * EPS), found.high)
        return replace(found, low=low, plane=(w / length, b / length), passes=passes)
    exact = other.combination.exact
    return replace(found, combination=replace(found.combination, exact=exact), passes=passes)


def _floor(rows: int) -> float:
    return 8.0 * EPS * (4.0 * rows + 16.0)


def _stack(parts: list[Array]) -> Array:
    return vstack(parts, format="csr") if is_sparse(parts[0]) else np.concatenate(parts)


class _RowGeneration:
    """The growing set of rows, in units of R."""

    def __init__(self, blocks: Blocks, intercept: bool, tol: float, most: float) -> None:
        self.blocks, self.intercept, self.tol = blocks, intercept, tol
        self.keep = int(np.clip(blocks.n_cols, 16, 256 if blocks.n_cols <= 4096 else 64))
        size, up, n_up, down, n_down = blocks.reduce(_centres)
        self.radius = float(size)
        self.unit = unit_of(self.radius)
        if not n_up or not n_down:
            raise ValueError("a margin needs rows of both classes, but one has no row with weight")
        self.direction = up * (self.unit / n_up) - down * (self.unit / n_down)
        if not intercept:
            self.direction = up * (self.unit / (n_up + n_down)) - down * (
                self.unit / (n_up + n_down)
            )
        self.low = -math.inf
        self.plane: Point | None = None
        self.rows = np.zeros(0, np.int64)
        self.y = np.zeros(0)
        self.X: Array | None = None
        self.lam = np.zeros(0)
        self.best: Combination | None = None
        self.work, self.most = 0.0, most

    def run(self, start: Floats | None, max_passes: int) -> HardMargin:
        w = self.direction if start is None else np.asarray(start, np.float64)
        w = unit_vector(w)
        passes = 1
        while passes < max_passes:
            passes += 1
            if not self._look(w):
                break
            w = unit_vector(self._solve())
            assert self.best is not None
            if self.work > self.most:
                break
            if self.best.residual <= _floor(len(self.best.rows)):
                break
            if self.best.residual - self.low <= self.tol * self.best.residual:
                break
        assert self.best is not None
        high, unit = self.best.residual / self.unit if self.radius else 0.0, self.unit
        best = Combination(self.best.rows, self.best.coefficients, high, self.best.exact)
        plane = None if self.plane is None else (self.plane[0], self.plane[1] / unit)
        # Where no direction was found any one has a margin of -R at least.
        low = max(self.low / unit, -self.radius * (1.0 + 8.0 * EPS * (self.blocks.n_cols + 8.0)))
        return HardMargin(low, high, plane, best, self.radius, passes)

    def _look(self, w: Floats) -> bool:
        """One pass: the margin of the plane along w, and the rows nearest to it and beyond;
        whether any of them is new."""
        up, down = self.blocks.reduce(_worst(w * self.unit, self.keep))
        least, most = float(up.margins[0]), float(down.margins[0])
        margin = 0.5 * (least + most) if self.intercept else min(least, most)
        margin -= (len(w) + 8.0) * EPS  # rows and w are at most one in these units
        if w.any() and margin > self.low:
            b = 0.5 * (most - least) if self.intercept else 0.0
            self.low, self.plane = margin, (w, b)
        if self.best is not None and self.best.residual - self.low <= (
            self.tol * self.best.residual
        ):
            return False
        return self._add(w, up, down)

    def _add(self, w: Floats, up: WorstRows, down: WorstRows) -> bool:
        fresh = []
        for sign, found in ((1.0, up), (-1.0, down)):
            new = ~np.isin(found.rows, self.rows)
            if self.X is not None and self.intercept and (self.y == sign).any():
                # Beyond the nearest row of its class that is held already.
                held = sign * (self.X[self.y == sign] @ w)
                new &= found.margins < float(held.min())
            elif self.X is not None:
                new &= found.margins < float((self.y * (self.X @ w)).min())
            if new.any():
                fresh.append((sign, found.rows[new], found.X[np.flatnonzero(new)] * self.unit))
        if not fresh:
            return False
        if self.X is not None:
            self._forget(w)
        for sign, rows, X in fresh:
            self.rows = np.append(self.rows, rows)
            self.y = np.append(self.y, np.full(len(rows), sign))
            self.lam = np.append(self.lam, np.zeros(len(rows)))
            self.X = X if self.X is None else _stack([self.X, X])
        return True

    def _forget(self, w: Floats) -> None:
        """Keep the rows with λ > 0 and, of the rest, those nearest to the plane."""
        assert self.X is not None
        most = max(6 * (self.keep + 16), 3 * int((self.lam > 0.0).sum()))
        if len(self.rows) <= most:
            return
        rank = self.y * (self.X @ w)
        for side in classes_of(np.arange(len(rank)), self.y if self.intercept else None):
            rank[side] -= rank[side].min()
        rank[self.lam > 0.0] = -np.inf
        count = max(most // 2, int((self.lam > 0.0).sum()))
        stay = np.sort(np.argsort(rank, kind="stable")[:count])
        self.rows, self.y, self.lam = self.rows[stay], self.y[stay], self.lam[stay]
        self.X = self.X[stay]

    def _solve(self) -> Floats:
        """The nearest point of the rows held, and the direction w = Σ λᵢyᵢxᵢ."""
        assert self.X is not None
        A, used = _columns(self.X)
        A = A * self.y[:, None]
        rough = 1.0 if self.best is None else max(self.best.residual, 1e-14)
        frame, rows = None, A
        if A.shape[1] > len(A):  # as few coordinates as there are rows
            frame, R = linalg.qr(A.T, mode="economic", check_finite=False)
            rows = R.T
            self.work += 4.0 * A.size * len(A)
        lam = nearest_point(rows, self.y if self.intercept else None, self.lam, rough)
        self.lam = lam
        active = np.flatnonzero(lam > 0.0)
        short = min(A.shape)
        self.work += 1.0 * len(A) * short * len(active) + 5.0 * short * len(active) ** 2
        v = lam[active] @ A[active]
        residual = float(np.linalg.norm(v)) * (1.0 + (A.shape[1] + 8.0) * EPS)
        residual += (4.0 * len(active) + 16.0) * EPS
        if self.best is None or residual < self.best.residual:
            exact = residual <= _floor(len(active)) and is_robust(
                A[active], self.y[active] if self.intercept else None, lam[active], residual
            )
            self.best = Combination(self.rows[active], lam[active], residual, exact)
        w = np.zeros(self.blocks.n_cols)
        u = face_minimiser(rows, self.y if self.intercept else None, lam)
        w[used] = u if frame is None else frame @ u
        return w


def _centres(block: Block) -> Totals:
    X, y = to_float64(block.X), to_numpy(block.y)
    s = np.ones(len(y)) if block.weight is None else to_numpy(block.weight) > 0.0
    parts: list[Any] = [longest_row(block)]
    for sign in (1.0, -1.0):
        here = np.asarray((y == sign) * s, dtype=np.float64)
        parts += [to_numpy(X.T @ like(here, X)), float(here.sum())]
    return Totals(*parts)


def _worst(w: Floats, keep: int) -> Any:
    def stat(block: Block) -> Totals:
        X = to_float64(block.X)
        z, y = to_numpy(forward(X, w)), to_numpy(block.y)
        alive = None if block.weight is None else to_numpy(block.weight) > 0.0
        parts = []
        for sign in (1.0, -1.0):
            here = np.flatnonzero(y == sign if alive is None else (y == sign) & alive)
            margins = sign * z[here]
            if len(here) > keep:
                pick = np.argpartition(margins, keep)[:keep]
                here, margins = here[pick], margins[pick]
            order = np.lexsort((here, margins))
            here = here[order]
            rows = X[here] if is_sparse(X) else to_numpy(X[here])
            parts.append(WorstRows(keep, margins[order], block.start + here, rows))
        return Totals(*parts)

    return stat


def _columns(X: Array) -> tuple[Floats, NDArray[np.int64]]:
    """The rows as a dense matrix of those columns in which any of them is not zero."""
    if not is_sparse(X):
        return X, np.arange(X.shape[1])
    used = np.unique(X.indices[X.data != 0.0]).astype(np.int64)
    return X[:, used].toarray(), used
