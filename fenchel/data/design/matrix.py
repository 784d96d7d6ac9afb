"""Rows seen as a linear map Φ: H → Rⁿ, and the one sweep that every convex fit is made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import Array, is_sparse, like, to_float64, to_numpy
from fenchel.data.block import concatenate
from fenchel.data.blocks import Block, Blocks, Totals
from fenchel.data.design.block_products import adjoint, csr_normal_product, forward, scores
from fenchel.data.in_memory import ArrayBlocks
from fenchel.data.intake import total_weight
from fenchel.data.parallel import copied
from fenchel.data.passes.sweep import (
    Adjoint,
    Gram,
    HessianProduct,
    Point,
    RowCurvature,
    Rows,
    Scores,
    Sweep,
    active_rows,
    working,
)
from fenchel.data.statistic import layout_of

Floats = NDArray[np.float64]
Curve = Callable[[Array, Array], Array]
Bend = Callable[[Array, Array], Array]


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
    def with_dual(self, theta: Floats) -> Design:
        """The same rows with a dual variable beside each, for sweeps of `DualRows`; θ may have
        several columns."""

    @abstractmethod
    def sweep(self, points: Sequence[Point], rows: Rows, *, exact: bool = False) -> Totals:
        """One pass: the scores z = Φw + b of each point go to rows(y, [z…], s), which gives a
        vector r and further sums; the answer is Totals(Φ*r, Σr, *sums). exact: in float64."""

    @abstractmethod
    def map_rows(self, point: Point, of_row: Curve, *, exact: bool = True) -> Floats:
        """of_row(y, z) of every row as one vector on the driver; exact: z in float64."""

    @abstractmethod
    def inner(self, u: Floats, v: Floats) -> float:
        """⟨u, v⟩ in H."""

    @abstractmethod
    def score_size(self, point: Point) -> float:
        """At least the sum of the absolute values of the terms of any row's score."""

    @property
    @abstractmethod
    def score_terms(self) -> int:
        """How many terms a score has."""


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
    def cache(self) -> dict[str, Any]:
        # What takes a pass is kept here and not in a cached property of its own: until Python 3.12
        # those hold one lock for all instances, and passes of several fits may wait for each other.
        return {}

    @property
    def weight(self) -> float:
        if "weight" not in self.cache:
            self.cache["weight"] = total_weight(self.blocks)
        return float(self.cache["weight"])

    @property
    def target(self) -> Floats:
        def stat(block: Block) -> Floats:
            y = to_numpy(block.y).reshape(block.n_rows, -1)
            s = np.ones(block.n_rows) if block.weight is None else to_numpy(block.weight)
            return np.asarray(s @ y)

        if "target" not in self.cache:
            self.cache["target"] = np.asarray(self.blocks.reduce(stat)) / self.weight
        mean: Floats = self.cache["target"]
        return mean

    def with_dual(self, theta: Floats) -> MatrixDesign:
        new = MatrixDesign(self.blocks.with_aux(dual=theta))
        new.cache.update({key: self.cache[key] for key in ("weight",) if key in self.cache})
        return new

    def map_rows(self, point: Point, of_row: Curve, *, exact: bool = True) -> Floats:
        if isinstance(self.blocks, ArrayBlocks) and point[0].ndim == 1:
            whole = self.blocks.whole
            if layout_of(whole.X) is not None and not self.blocks.sparse:
                return to_numpy(of_row(whole.y, self.blocks.reduce(Scores(point, exact))))

        def stat(block: Block) -> Concatenated:
            X = to_float64(block.X) if exact else block.X
            z = scores(X, *point)
            return Concatenated([to_numpy(of_row(block.y, z))])

        return np.concatenate(self.blocks.reduce(stat))

    def weights(self) -> Floats:
        """sᵢ of every row, as one vector on the driver."""

        def stat(block: Block) -> Concatenated:
            return Concatenated(
                [np.ones(block.n_rows) if block.weight is None else to_numpy(block.weight)]
            )

        return np.concatenate(self.blocks.reduce(stat))

    def adjoint(self, r: Floats) -> Totals:
        """Totals(Φ*r, Σr) for a vector r or the columns of a matrix, in the table's precision."""

        pulled = self.blocks.reduce(Adjoint(r))
        return Totals(pulled, float(r.sum()) if r.ndim == 1 else r.sum(axis=0))

    def weighted_subset(self, h: Floats) -> MatrixDesign:
        """The rows with h > 0 alone, in memory, and h for their weight."""

        def stat(block: Block) -> Concatenated:
            here = h[block.start : block.start + block.n_rows]
            some = np.flatnonzero(here)
            return Concatenated([Block(0, block.X[some], None, like(here[some], block.X))])

        parts = [part for part in self.blocks.reduce(stat) if part.n_rows]
        return MatrixDesign(ArrayBlocks(concatenate(parts), None))

    def inner(self, u: Floats, v: Floats) -> float:
        return float(np.vdot(u, v))

    def score_size(self, point: Point) -> float:
        w, b = point
        return float(np.max(self.blocks.column_sizes @ np.abs(w) + np.abs(b)))

    @property
    def score_terms(self) -> int:
        return self.dimension + 1

    def sweep(self, points: Sequence[Point], rows: Rows, *, exact: bool = False) -> Totals:
        return self.blocks.reduce(Sweep(tuple(points), rows, exact))

    def hessian_product(
        self, point: Point, curvature: Curve, bend: Bend
    ) -> Callable[[Point], Totals]:
        """The map u ↦ Totals(Φ*r, Σr), r = s·bend(h, Φu), h = curvature(y, z) at the point.

        Where the rows are in memory, h is made by the first product and held for the next ones.
        """
        if isinstance(self.blocks, ArrayBlocks) and isinstance(curvature, RowCurvature):
            return self._product_in_memory(point, curvature)
        held: dict[int, tuple[Array, Array]] = {}
        local = self.blocks.local
        w, b = point

        def curved(block: Block) -> tuple[Array, Array]:
            known = held.get(block.start)
            if known is None:
                y, s = working(block.y, block.X), working(block.weight, block.X)
                h = curvature(y, scores(block.X, w, b))
                if s is not None and h.ndim == 1:  # joint losses do not bend linearly
                    h = h * s
                known = active_rows(block.X, h)
                if local:
                    held[block.start] = known
            return known

        def product(u: Point) -> Totals:
            v, level = u

            def stat(block: Block) -> Totals:
                X, h = curved(block)
                if is_sparse(X) and v.ndim == 1:
                    return csr_normal_product(X, h, v, float(level))
                r = bend(h, forward(X, v) + like(level, X))
                if block.weight is not None and h.ndim == 2:
                    s = working(block.weight, X)
                    assert s is not None
                    r = r * s[:, None]
                return Totals(to_numpy(adjoint(X, r)), to_numpy(r.sum(0)))

            return self.blocks.reduce(stat)

        return product

    def _product_in_memory(
        self, point: Point, curvature: RowCurvature
    ) -> Callable[[Point], Totals]:
        assert isinstance(self.blocks, ArrayBlocks)
        h, weight = self.map_rows(point, curvature, exact=False), self.blocks.whole.weight
        h = h if weight is None else h * to_numpy(weight)
        whole = self.blocks.whole
        rows = MatrixDesign(ArrayBlocks(Block(0, whole.X, like(h, whole.X)), None))
        return lambda u: rows.sweep([u], HessianProduct())

    def hessian_diagonal(self, point: Point, curvature: Curve) -> Totals:
        """Totals(Σ sᵢhᵢxᵢ², Σ sᵢhᵢxᵢ, Σ sᵢhᵢ): the diagonal and the last row of the Gram matrix,
        for each column of h."""

        def stat(block: Block) -> Totals:
            X, h = active_rows(block.X, _weighted_subset(block, point, curvature))
            if is_sparse(X):
                squared = type(X)((X.data * X.data, X.indices, X.indptr), shape=X.shape)
                return Totals(
                    to_numpy(adjoint(squared, h)), to_numpy(adjoint(X, h)), to_numpy(h.sum(0))
                )
            return Totals(to_numpy((X * X).T @ h), to_numpy(X.T @ h), to_numpy(h.sum(0)))

        return self.blocks.reduce(stat)

    def gram(self, point: Point, curvature: Curve, centre: Floats | None) -> Floats:
        """Σ sᵢ hᵢ x̃ᵢx̃ᵢ' with x̃ = (x - centre, 1), h = curvature(y, z) ≥ 0 at z = Φw + b.

        With several curvatures a row, h (m, q), one matrix for each: (q, d+1, d+1).
        """

        return self.blocks.reduce(Gram(point, curvature, centre))


class Concatenated(list[Any]):
    """Parts of a vector or of a table in row order: `+` puts one behind the other."""

    def __add__(self, other: Any) -> Concatenated:
        return Concatenated([*self, *other])


def _weighted_subset(block: Block, point: Point, curvature: Curve) -> Array:
    """sᵢhᵢ of the rows at a point, for each column of h."""
    w, b = point
    y, s = working(block.y, block.X), working(block.weight, block.X)
    h = curvature(y, scores(block.X, w, b))
    if s is None:
        return h
    return h * (s if h.ndim == 1 else s[:, None])


def to_float32(blocks: Blocks) -> Blocks:
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
    X = whole.X.astype(np.float32) if blocks.sparse else copied(whole.X, np.float32)
    y = whole.y
    if y is not None and y.dtype == np.float64:
        y = y.astype(np.float32)
    weight = None if whole.weight is None else whole.weight.astype(np.float32)
    return ArrayBlocks(Block(0, X, y, weight), blocks.names)
