"""Coordinates of the rows in which a curvature matrix is known along every direction.

    x̃ = T'(x - c) - o,   scores x̃·v + a for w = Tv, b = a - c·w - o·v

c is near the mean of the rows where b is free, T the identity on chosen columns or, where those are
nearly dependent, the inverse factor of their Gram matrix: then x̃ is made in pairs of floats, so
that directions along which the columns almost cancel keep their digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from fenchel.convex.certification.dual_point import OnTable
from fenchel.convex.certification.rounding import TREE, U, gamma
from fenchel.convex.loss.base import Loss
from fenchel.convex.loss.multiclass import Joint
from fenchel.convex.rows.statistics import LossCurvature
from fenchel.data.arrays import Array, is_sparse, to_float64, to_numpy
from fenchel.data.blocks import Block
from fenchel.data.design.column_sizes import ColumnSizes
from fenchel.data.design.matrix import MatrixDesign, Point
from fenchel.data.linear_algebra.double_double import DoubleDouble, OzakiMatrix
from fenchel.data.passes.loops import RowFunction
from fenchel.data.passes.sweep import RowCurvature
from fenchel.data.reduction import Maximum

if TYPE_CHECKING:
    from fenchel.convex.problem import Problem

Floats = NDArray[np.float64]
Columns = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Coordinates:
    """centre: c; columns: those that are not left out; T: None for the identity; offset: o, where
    there is a T."""

    centre: Floats
    columns: Columns
    T: Floats | None = field(default=None, repr=False)
    offset: Floats | None = field(default=None, repr=False)

    @classmethod
    def of(cls, problem: OnTable) -> Coordinates:
        return cls(_weighted_mean(problem), np.arange(problem.design.dimension))

    @property
    def count(self) -> int:
        return len(self.columns) if self.T is None else int(self.T.shape[1])

    @property
    def plain(self) -> bool:
        """Whether these are the columns themselves, about the centre."""
        return self.T is None and len(self.columns) == len(self.centre)

    def rows(self, X: Array) -> Floats:
        """x̃ of each row, every entry to a few units of rounding."""
        X = X[:, self.columns]
        X = np.asarray(X.toarray() if is_sparse(X) else to_numpy(X), np.float64)
        c = self.centre[self.columns]
        if self.T is None:
            return X - c
        shift = OzakiMatrix.of(c[None, :]).forward(DoubleDouble.of(self.T))
        made = OzakiMatrix.of(X).forward(DoubleDouble.of(self.T))
        found = made.plus(-shift.hi).plus(-shift.lo)
        return (found if self.offset is None else found.plus(-self.offset[None, :])).hi

    def gradient(
        self, p: Floats, error: Floats, level: float, level_error: float, intercept: bool
    ) -> tuple[Floats, Floats]:
        """The gradient in these coordinates, from that in w and b, and its error."""
        c, p, error = self.centre[self.columns], p[self.columns], error[self.columns]
        g = p - c * level
        e = error + np.abs(c) * level_error + (np.abs(p) + np.abs(c * level)) * gamma(4)
        if self.T is not None:
            size = np.abs(self.T)
            e = size.T @ e + (size.T @ np.abs(g)) * gamma(len(g) + 4)
            g = self.T.T @ g
        if self.offset is not None:
            e = e + np.abs(self.offset) * level_error + np.abs(g) * gamma(4)
            g = g - self.offset * level
            e = e + np.abs(self.offset * level) * gamma(4)
        if intercept:
            g, e = np.append(g, level), np.append(e, level_error)
        return g, e

    def back(self, t: Floats, intercept: bool) -> Point:
        """The step in w and b."""
        v = t[: self.count]
        w = np.zeros(len(self.centre))
        w[self.columns] = v if self.T is None else self.T @ v
        level = t[-1] - self.centre @ w if intercept else 0.0
        return w, float(level if self.offset is None else level - self.offset @ v)

    def ridge(self, lam: float) -> Floats:
        """λ|w|² as a matrix."""
        return lam * (np.eye(self.count) if self.T is None else self.T.T @ self.T)


def _weighted_mean(problem: OnTable) -> Floats:
    """A point near the mean of the rows that have weight; zero where b is not free, or where rows
    are sparse, which stay so."""
    design = problem.table
    if not problem.intercept or design.blocks.sparse:
        return np.zeros(design.dimension)

    def stat(block: Block) -> Floats:
        s = np.ones(block.n_rows) if block.weight is None else to_numpy(block.weight)
        return np.asarray(s @ to_numpy(block.X))

    with np.errstate(over="ignore", invalid="ignore"):
        mean = np.asarray(design.blocks.reduce(stat)) / design.weight
    return np.where(np.isfinite(mean), mean, 0.0)


@dataclass(frozen=True, slots=True)
class InnerCurvature(RowCurvature):
    """h of `Loss.inner_curvature`."""

    loss: Loss
    reach: float

    def __call__(self, y: Array, z: Array) -> Array:
        return self.loss.inner_curvature(y, z, self.reach)

    def compiled(self) -> RowFunction | None:
        same = type(self.loss).inner_curvature is Loss.inner_curvature
        return LossCurvature(self.loss).compiled() if same else None


@dataclass(frozen=True, slots=True, eq=False)
class CurvatureSums:
    """The statistic Σ s h z̃z̃' with z̃ = (x̃, 1) or x̃: for K classes as one matrix of K blocks."""

    coordinates: Coordinates
    curvature: InnerCurvature
    point: Point
    intercept: bool
    classes: int

    def __call__(self, block: Block) -> Floats:
        Z = self.coordinates.rows(block.X)
        if self.intercept:
            Z = np.concatenate([Z, np.ones((len(Z), 1))], axis=1)
        X = to_float64(block.X) if is_sparse(block.X) else to_numpy(block.X)
        w, b = self.point
        z = X @ np.asarray(w) + np.asarray(b)
        h = np.asarray(self.curvature(to_numpy(block.y), z))
        s = np.ones(len(Z)) if block.weight is None else to_numpy(block.weight)
        if not self.classes:
            half = Z * np.sqrt(h * s)[:, None]
            return half.T @ half
        r, K = Z.shape[1], self.classes
        H = np.empty((K, r, K, r))
        for k in range(K):
            for j in range(k + 1):
                pair = h[:, k] * (1.0 - h[:, k]) if j == k else -h[:, k] * h[:, j]
                H[k, :, j, :] = (Z * (s * pair)[:, None]).T @ Z
                H[j, :, k, :] = H[k, :, j, :].T
        return H.reshape(K * r, K * r)


def curvature_matrix(
    problem: Problem, point: Point, coordinates: Coordinates, reach: float
) -> tuple[Floats, float]:
    """Σ s h z̃z̃'/S, and the relative error of its entries as `VerifiedFactor` takes it."""
    design = problem.table
    curvature = InnerCurvature(problem.loss, reach)
    classes = problem.outputs if isinstance(problem.loss, Joint) else 0
    eta = gamma(design.blocks.longest + TREE) + 32.0 * U
    on_host = design.blocks.of_first(is_on_host)
    if coordinates.plain and not classes and design.blocks.dtype == np.float64 and on_host:
        centre = coordinates.centre if problem.intercept else None
        size = design.dimension + problem.intercept
        return design.gram(point, curvature, centre)[:size, :size] / design.weight, eta
    stat = CurvatureSums(coordinates, curvature, point, problem.intercept, classes or 0)
    H = np.asarray(design.blocks.reduce(stat)) / design.weight
    return H, eta * (1.0 if not classes else 4.0)


def is_on_host(block: Block) -> bool:
    return is_sparse(block.X) or isinstance(block.X, np.ndarray)


def coordinate_sizes(problem: OnTable, coordinates: Coordinates) -> Floats:
    """At least |x̃ⱼ| of every row, and 1 for the intercept."""
    design = problem.table

    def stat(block: Block) -> Maximum:
        return ColumnSizes()(replace(block, X=coordinates.rows(block.X)))

    found: Maximum = design.blocks.reduce(stat)
    sizes = found.values * (1.0 + 16.0 * U)
    return np.append(sizes, 1.0) if problem.intercept else sizes


def whitened(coordinates: Coordinates, H: Floats) -> Coordinates:
    """Coordinates in which the rows have about orthonormal columns in H, as far as H tells: the
    eigenvalues that rounding hides are taken for the least that it does not."""
    values, V, length, least = _spectrum(coordinates, H)
    step = V / np.sqrt(np.maximum(values, least)) / length[:, None]
    new, count = _turned(coordinates, step), coordinates.count
    if len(H) == count:
        return new
    mean = H[count, :count] / max(float(H[count, count]), 1e-300)
    before = 0.0 if coordinates.offset is None else coordinates.offset
    return replace(new, offset=np.asarray((before + mean) @ step))


def resolved(problem: OnTable, coordinates: Coordinates, H: Floats) -> Coordinates | None:
    """The same without the directions along which the rows do not move but for the rounding of
    their own entries; None where there are none, or some that H alone does not resolve."""
    values, V, length, least = _spectrum(coordinates, H)
    kept, design = values > least, problem.design
    if kept.all() or not isinstance(design, MatrixDesign):
        return None
    scale = np.sqrt(np.where(kept, values, 1.0))
    both = _turned(coordinates, V / scale / length[:, None])
    # The kept directions are taken out of the hidden ones, as far as pairs show them.
    for _ in range(2):
        sums = _Moments(both, problem.intercept)
        G = np.asarray(design.blocks.reduce(sums))
        inner = np.append(kept, True) if problem.intercept else kept
        both_sides = G[np.ix_(inner, inner)], G[np.ix_(inner, ~inner)]
        part = linalg.lstsq(*both_sides, check_finite=False)[0]
        move = np.eye(len(values))
        move[np.ix_(kept, ~kept)] = -part[: int(kept.sum())]
        both = _turned(both, move)
    hidden = _turned(both, np.eye(len(values))[:, ~kept])
    assert hidden.T is not None
    M = design.blocks.column_sizes[hidden.columns] + np.abs(hidden.centre[hidden.columns])
    if (_spreads(problem, hidden) > 8.0 * U * (np.abs(hidden.T).T @ M)).any():
        return None
    return _turned(both, np.eye(len(values))[:, kept])


@dataclass(frozen=True, slots=True, eq=False)
class _Moments:
    """The statistic Σ s z̃z̃'."""

    coordinates: Coordinates
    intercept: bool

    def __call__(self, block: Block) -> Floats:
        Z = self.coordinates.rows(block.X)
        if self.intercept:
            Z = np.concatenate([Z, np.ones((len(Z), 1))], axis=1)
        s = np.ones(len(Z)) if block.weight is None else to_numpy(block.weight)
        return np.asarray((Z * s[:, None]).T @ Z)


def _spreads(problem: OnTable, coordinates: Coordinates) -> Floats:
    """How far each coordinate's values lie apart, or from zero where b is not free."""
    design = problem.table

    def ends(block: Block) -> Maximum:
        Z = coordinates.rows(block.X)
        if block.weight is not None:
            Z = Z[to_numpy(block.weight) > 0.0]
        start = -math.inf if problem.intercept else 0.0
        return Maximum(np.stack([Z.max(axis=0, initial=start), (-Z).max(axis=0, initial=start)]))

    found: Maximum = design.blocks.reduce(ends)
    high, low = found.values
    return np.asarray(high + low)


def _spectrum(coordinates: Coordinates, H: Floats) -> tuple[Floats, Floats, Floats, float]:
    """Eigenvalues and vectors of H about the weighted mean, its columns made of length one; these
    lengths; and the least eigenvalue that rounding does not hide."""
    count = coordinates.count
    G = H[:count, :count]
    if len(H) > count:
        G = G - np.outer(H[count, :count], H[count, :count]) / max(float(H[count, count]), 1e-300)
    length = np.sqrt(np.maximum(np.diagonal(G), 0.0))
    length[length == 0.0] = 1.0
    values, V = linalg.eigh(G / length[:, None] / length, check_finite=False)
    return values, V, length, 8.0 * count * U * max(float(values[-1]), 1.0)


def _turned(coordinates: Coordinates, step: Floats) -> Coordinates:
    T = np.eye(coordinates.count) if coordinates.T is None else coordinates.T
    offset = None if coordinates.offset is None else coordinates.offset @ step
    return replace(coordinates, T=T @ step, offset=offset)


def without_dependent(problem: OnTable, coordinates: Coordinates, H: Floats) -> Coordinates | None:
    """The coordinates without columns that are exactly combinations of others, and of a constant
    where b is free; None where there are none.

    Columns are taken by the largest pivot; one that is left with nearly nothing is a candidate, and
    its coefficients, rounded to multiples of 2⁻¹⁰, are tried on the rows themselves.
    """
    count = coordinates.count
    G = H[:count, :count]
    if len(H) > count:
        G = G - np.outer(H[count, :count], H[count, :count]) / max(float(H[count, count]), 1e-300)
    length = np.sqrt(np.maximum(np.diagonal(H)[:count], 0.0))
    size = np.where(length > 0.0, length, 1.0)
    G = G / size[:, None] / size
    kept: list[int] = []
    rest = np.diagonal(G).copy()
    columns: list[Floats] = []
    for _ in range(count):
        j = int(np.argmax(rest))
        if not rest[j] > 1e-10:
            break
        column = G[:, j] - sum((c * c[j] for c in columns), np.zeros(count))
        columns.append(column / math.sqrt(rest[j]))
        rest = rest - columns[-1] ** 2
        kept.append(j)
        rest[kept] = -1.0
    candidates = [j for j in range(count) if j not in kept]
    if not candidates:
        return None
    combos = _combinations(G, size, kept, candidates)
    exact = _are_exact(problem, coordinates, kept, candidates, combos)
    if not exact.any():
        return None
    left = np.setdiff1d(np.arange(count), np.array(candidates)[exact])
    return replace(coordinates, columns=coordinates.columns[left])


def _combinations(G: Floats, size: Floats, kept: list[int], candidates: list[int]) -> Floats:
    """The coefficients of each candidate in the kept columns, rounded: (kept, candidates)."""
    if not kept:
        return np.zeros((0, len(candidates)))
    inner = G[np.ix_(kept, kept)]
    right = G[np.ix_(kept, candidates)]
    found = linalg.lstsq(inner, right, check_finite=False)[0]
    found = found * size[candidates] / size[kept][:, None]
    return np.round(found * 1024.0) / 1024.0


def _are_exact(
    problem: OnTable,
    coordinates: Coordinates,
    kept: list[int],
    candidates: list[int],
    combos: Floats,
) -> NDArray[np.bool_]:
    """Which candidates equal their combinations in every row, up to a constant where b is free."""
    design = problem.table
    columns, free = coordinates.columns, problem.intercept
    W = np.zeros((len(columns), len(candidates)))
    W[kept] = combos
    W[candidates, np.arange(len(candidates))] -= 1.0

    def stat(block: Block) -> _Ends:
        X = block.X[:, columns]
        X = np.asarray(X.toarray() if is_sparse(X) else to_numpy(X), np.float64)
        z = OzakiMatrix.of(X).forward(DoubleDouble.of(W))
        if block.weight is not None:
            some = to_numpy(block.weight) > 0.0
            z = DoubleDouble(z.hi[some], z.lo[some])
        return _Ends.of(z)

    ends: Any = design.blocks.reduce(stat)
    return ends.equal(free)


@dataclass(frozen=True, slots=True, eq=False)
class _Ends:
    """The first value met in each column of pairs, and whether all others are the same."""

    first: Floats | None
    same: NDArray[np.bool_]

    @classmethod
    def of(cls, z: DoubleDouble) -> _Ends:
        if not len(z.hi):
            return cls(None, np.ones(z.hi.shape[1], bool))
        same = ((z.hi == z.hi[0]) & (z.lo == z.lo[0])).all(axis=0)
        return cls(np.stack([z.hi[0], z.lo[0]]), same)

    def __add__(self, other: Any) -> _Ends:
        if self.first is None or other.first is None:
            kept = other if self.first is None else self
            return _Ends(kept.first, self.same & other.same)
        equal = (self.first == other.first).all(axis=0)
        return _Ends(self.first, self.same & other.same & equal)

    def equal(self, free: bool) -> NDArray[np.bool_]:
        """Whether the columns are zero, or constant where that is enough."""
        if self.first is None:
            return self.same
        return self.same if free else self.same & (self.first == 0.0).all(axis=0)
