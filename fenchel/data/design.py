"""Rows seen as a linear map Φ: H → Rⁿ, and the one sweep that every convex fit is made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import Array, double, host, is_sparse, like
from fenchel.data.blocks import Block, Blocks, InMemory, Totals
from fenchel.data.rows import join
from fenchel.data.table import total_weight

Floats = NDArray[np.float64]
Point = tuple[Floats, Any]  # (w, b): an element of H, or K of them as columns, and the intercepts
HELD = 2**24  # scores kept between two sweeps at one point
Curve = Callable[[Array, Array], Array]
Bend = Callable[[Array, Array], Array]
Rows = Callable[[Array, list[Array], Array | None], tuple[Array, Totals]]


class Design(ABC):
    """A linear map from H to scores, with the target and the weight beside each row."""

    dimension: int
    n_rows: int

    @property
    @abstractmethod
    def weight(self) -> float:
        """Σ sᵢ before they are made to sum to one."""

    @property
    @abstractmethod
    def target(self) -> Floats:
        """The weighted mean of each column of the target."""

    @abstractmethod
    def beside(self, values: Floats) -> Design:
        """The same rows with [yᵢ, valuesᵢ] for a target; values may have several columns."""

    @abstractmethod
    def sweep(self, points: Sequence[Point], rows: Rows, *, exact: bool = False) -> Totals:
        """One pass: the scores z = Φw + b of each point go to rows(y, [z…], s), which gives a
        vector r and further sums; the answer is Totals(Φ*r, Σr, *sums). exact: in float64."""

    @abstractmethod
    def each(self, point: Point, of_row: Curve, *, exact: bool = True) -> Floats:
        """of_row(y, z) of every row as one vector on the driver; exact: z in float64."""

    @abstractmethod
    def inner(self, u: Floats, v: Floats) -> float:
        """⟨u, v⟩ in H."""


@dataclass(frozen=True)
class MatrixDesign(Design):
    """The rows of a table: Φw = Xw, Φ*r = X'r, ⟨u, v⟩ = u·v."""

    blocks: Blocks

    @property
    def dimension(self) -> int:  # type: ignore[override]
        return self.blocks.n_cols

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        return self.blocks.n_rows

    @cached_property
    def _memo(self) -> dict[str, Any]:
        # What takes a pass is kept here and not in a cached property of its own: until Python 3.12
        # those hold one lock for all instances, and passes of several fits may wait for each other.
        return {}

    @property
    def weight(self) -> float:
        if "weight" not in self._memo:
            self._memo["weight"] = total_weight(self.blocks)
        return float(self._memo["weight"])

    @property
    def target(self) -> Floats:
        def stat(block: Block) -> Floats:
            y = host(block.y).reshape(block.n_rows, -1)
            s = np.ones(block.n_rows) if block.weight is None else host(block.weight)
            return np.asarray(s @ y)

        if "target" not in self._memo:
            self._memo["target"] = np.asarray(self.blocks.reduce(stat)) / self.weight
        mean: Floats = self._memo["target"]
        return mean

    def beside(self, values: Floats) -> MatrixDesign:
        def join(block: Block) -> Block:
            rows = slice(block.start, block.start + block.n_rows)
            y = np.column_stack([host(block.y), values[rows]])
            return Block(block.start, block.X, like(y, double(block.X[:0])), block.weight)

        new = MatrixDesign(self.blocks.map(join))
        new._memo.update({key: self._memo[key] for key in ("weight", "point") if key in self._memo})
        return new

    def each(self, point: Point, of_row: Curve, *, exact: bool = True) -> Floats:
        held = self._held(point, exact)

        def stat(block: Block) -> Column:
            X = double(block.X) if exact else block.X
            z = held.get(block.start)
            z = forward(X, point[0]) + like(point[1], X) if z is None else z
            return Column([host(of_row(block.y, z))])

        return np.concatenate(self.blocks.reduce(stat))

    def weights(self) -> Floats:
        """sᵢ of every row, as one vector on the driver."""

        def stat(block: Block) -> Column:
            return Column([np.ones(block.n_rows) if block.weight is None else host(block.weight)])

        return np.concatenate(self.blocks.reduce(stat))

    def pull(self, r: Floats) -> Totals:
        """Totals(Φ*r, Σr) for a vector r or the columns of a matrix, in the table's precision."""

        def stat(block: Block) -> Floats:
            here = r[block.start : block.start + block.n_rows]
            return host(adjoint(block.X, like(here, block.X)))

        return Totals(self.blocks.reduce(stat), float(r.sum()) if r.ndim == 1 else r.sum(axis=0))

    def bent(self, h: Floats) -> MatrixDesign:
        """The rows with h > 0 alone, in memory, and h for their weight."""

        def stat(block: Block) -> Column:
            here = h[block.start : block.start + block.n_rows]
            some = np.flatnonzero(here)
            return Column([Block(0, block.X[some], None, like(here[some], block.X))])

        parts = [part for part in self.blocks.reduce(stat) if part.n_rows]
        return MatrixDesign(InMemory(join(parts), None))

    def inner(self, u: Floats, v: Floats) -> float:
        return float(np.vdot(u, v))

    def _held(self, point: Point, exact: bool) -> dict[int, Array]:
        """Scores by block, made by the last sweep if it was at this very point: a proof follows an
        evaluation."""
        size = self.n_rows * (1 if point[0].ndim == 1 else point[0].shape[1])
        if not self.blocks.local or size > HELD or not (exact or self.blocks.dtype == np.float64):
            return {}
        last = self._memo.get("point")
        if last is None or not np.array_equal(last[0], point[0]) or np.any(last[1] != point[1]):
            # A copy, and one entry: neither a caller who changes w in place nor another thread can
            # make these scores those of another point.
            last = self._memo["point"] = (np.array(point[0]), np.array(point[1]), {})
        held: dict[int, Array] = last[2]
        return held

    def sweep(self, points: Sequence[Point], rows: Rows, *, exact: bool = False) -> Totals:
        held = self._held(points[0], exact)

        def first(block: Block, X: Array) -> Array:
            z = held.get(block.start)
            if z is None:
                z = forward(X, points[0][0])
                z += like(points[0][1], X)
                held[block.start] = z
            return z

        def stat(block: Block) -> Totals:
            X, y, s = block.X, block.y, block.weight
            if exact:
                X = double(X)
                s = None if s is None else double(s)
            scores = [first(block, X), *(forward(X, w) + like(b, X) for w, b in points[1:])]
            r, sums = rows(y, scores, s)
            return Totals(host(adjoint(X, r)), host(r.sum(0)), *sums)

        return self.blocks.reduce(stat)

    def normal(self, point: Point, curvature: Curve, bend: Bend) -> Callable[[Point], Totals]:
        """The map u ↦ Totals(Φ*r, Σr), r = s·bend(h, Φu), h = curvature(y, z) at the point.

        Where the rows are in memory, h is made by the first product and held for the next ones.
        """
        held: dict[int, tuple[Array, Array]] = {}
        local = self.blocks.local
        w, b = point

        def curved(block: Block) -> tuple[Array, Array]:
            known = held.get(block.start)
            if known is None:
                h = curvature(block.y, forward(block.X, w) + like(b, block.X))
                if block.weight is not None and h.ndim == 1:  # joint losses do not bend linearly
                    h = h * block.weight
                known = bent_rows(block.X, h)
                if local:
                    held[block.start] = known
            return known

        def product(u: Point) -> Totals:
            v, level = u

            def stat(block: Block) -> Totals:
                X, h = curved(block)
                if is_sparse(X) and v.ndim == 1:
                    return _csr_normal(X, h, v, float(level))
                r = bend(h, forward(X, v) + like(level, X))
                if block.weight is not None and h.ndim == 2:
                    r = r * block.weight[:, None]
                return Totals(host(adjoint(X, r)), host(r.sum(0)))

            return self.blocks.reduce(stat)

        return product

    def squares(self, point: Point, curvature: Curve) -> Totals:
        """Totals(Σ sᵢhᵢxᵢ², Σ sᵢhᵢxᵢ, Σ sᵢhᵢ): the diagonal and the last row of the Gram matrix,
        for each column of h."""

        def stat(block: Block) -> Totals:
            X, h = bent_rows(block.X, _bent(block, point, curvature))
            if is_sparse(X):
                squared = type(X)((X.data * X.data, X.indices, X.indptr), shape=X.shape)
                return Totals(host(adjoint(squared, h)), host(adjoint(X, h)), host(h.sum(0)))
            return Totals(host((X * X).T @ h), host(X.T @ h), host(h.sum(0)))

        return self.blocks.reduce(stat)

    def gram(self, point: Point, curvature: Curve, centre: Floats | None) -> Floats:
        """Σ sᵢ hᵢ x̃ᵢx̃ᵢ' with x̃ = (x - centre, 1), h = curvature(y, z) ≥ 0 at z = Φw + b.

        With several curvatures a row, h (m, q), one matrix for each: (q, d+1, d+1).
        """

        def stat(block: Block) -> Floats:
            X, h = bent_rows(block.X, _bent(block, point, curvature))
            return weighted_gram(X, h, centre)

        return self.blocks.reduce(stat)


class Column(list[Any]):
    """Parts of a vector or of a table in row order: `+` puts one behind the other."""

    def __add__(self, other: Any) -> Column:
        return Column([*self, *other])


def _bent(block: Block, point: Point, curvature: Curve) -> Array:
    """sᵢhᵢ of the rows at a point, for each column of h."""
    w, b = point
    h = curvature(block.y, forward(block.X, w) + like(b, block.X))
    if block.weight is None:
        return h
    return h * (block.weight if h.ndim == 1 else block.weight[:, None])


def bent_rows(X: Array, h: Array) -> tuple[Array, Array]:
    """The rows with any curvature, where they are few: most have none under a kinked loss."""
    if h.ndim == 2 or not isinstance(h, np.ndarray):
        return X, h
    some = np.flatnonzero(h)
    return (X, h) if 2 * len(some) > len(h) else (X[some], h[some])


def _csr_normal(X: Array, h: Array, v: Floats, level: float) -> Totals:
    from fenchel.data.compiled import csr_normal

    g = np.zeros(X.shape[1], X.dtype)
    total = csr_normal(X.data, X.indices, X.indptr, h, like(v, X), level, g)
    return Totals(host(g), total)


def forward(X: Array, w: Floats) -> Array:
    """X w, in the precision of X."""
    if not is_sparse(X):
        return X @ like(w, X)
    from fenchel.data.compiled import csr_forward

    if w.ndim == 2:
        return X @ like(w, X)
    z = np.empty(X.shape[0], X.dtype)
    csr_forward(X.data, X.indices, X.indptr, like(w, X), z)
    return z


def adjoint(X: Array, r: Array) -> Array:
    """X' r, in the precision of X."""
    if not is_sparse(X):
        return X.T @ r if r.ndim == 1 else (r.T @ X).T  # BLAS is half again as fast this way
    if r.ndim == 2:
        return X.T @ r
    from fenchel.data.compiled import csr_adjoint

    g = np.zeros(X.shape[1], X.dtype)
    csr_adjoint(X.data, X.indices, X.indptr, np.asarray(r, X.dtype), g)
    return g


def weighted_gram(X: Array, h: Array, centre: Floats | None) -> Floats:
    """Σ hᵢ x̃ᵢx̃ᵢ', x̃ = (x - centre, 1): rows scaled by √h inside the block, then one symmetric
    rank-k product."""
    X = X.toarray() if is_sparse(X) else X
    d = X.shape[1]
    centred = X if centre is None else X - like(centre, X)
    many = h if h.ndim == 2 else h[:, None]
    out = np.empty((many.shape[1], d + 1, d + 1))
    for k in range(many.shape[1]):
        root = many[:, k] ** 0.5
        scaled = centred * root[:, None]
        out[k, :d, :d] = host(scaled.T @ scaled)
        out[k, d, :d] = out[k, :d, d] = host(root @ scaled)
        out[k, d, d] = float((root * root).sum())
    return out if h.ndim == 2 else out[0]


def in_single(blocks: Blocks) -> Blocks:
    """Rows in memory as float32, for first steps and preconditioners that a proof in float64
    follows; left alone where float32 would lose a column's scale or its spread."""
    whole = blocks.gather()
    if blocks.dtype != np.float64 or not (blocks.sparse or isinstance(whole.X, np.ndarray)):
        return blocks
    if blocks.sparse:
        size = np.abs(whole.X.data).max(initial=0.0)
        if not 1e-15 < size < 1e15:
            return blocks
    else:
        few = whole.X[:: max(1, len(whole.X) // 2048)]
        low, high = few.min(axis=0), few.max(axis=0)
        spread, size = high - low, np.maximum(np.abs(low), np.abs(high))
        moving = spread > 0.0
        if not (spread[moving] > 1e-3 * size[moving]).all() or not (size < 1e15).all():
            return blocks
        if not (size[moving] > 1e-15).all():
            return blocks
    X = whole.X.astype(np.float32)
    y = whole.y
    if y is not None and y.dtype == np.float64:
        y = y.astype(np.float32)
    weight = None if whole.weight is None else whole.weight.astype(np.float32)
    return InMemory(Block(0, X, y, weight), blocks.names)
