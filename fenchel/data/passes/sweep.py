"""One pass as a statistic: z = X w + b at some points, a function of each row, and its adjoint."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import Array, like, to_float64, to_numpy
from fenchel.data.block import Block
from fenchel.data.design.block_products import adjoint, scores, weighted_gram
from fenchel.data.passes.loops import (
    AdjointKernel,
    CsrSweepKernel,
    DenseRows,
    GramKernel,
    Point,
    RowFunction,
    ScoresKernel,
    SweepKernel,
)
from fenchel.data.reduction import Totals
from fenchel.data.statistic import CompiledLoop, RowLayout, Statistic

Floats = NDArray[np.float64]


class RowStatistic(ABC):
    """What a sweep computes of its rows, as a value: rows(y, [z…], s) = (r, sums)."""

    __slots__ = ()

    @abstractmethod
    def __call__(self, y: Array, scores: list[Array], s: Array | None) -> tuple[Array, Totals]:
        """The definition, in array code."""

    def compiled(self) -> RowFunction | None:
        """The same for a compiled pass; None: the definition is used."""
        return None


@dataclass(frozen=True, slots=True, eq=False)
class DualRows:
    """Rows that carry a dual variable θ: of_row(y, θ, [z…], s) = (r, sums)."""

    of_row: Callable[[Array, Array, list[Array], Array | None], tuple[Array, Totals]]


Rows = Callable[[Array, list[Array], Array | None], tuple[Array, Totals]] | DualRows


def apply_rows(
    rows: Rows, y: Array, scores: list[Array], s: Array | None, aux: Mapping[str, Array]
) -> tuple[Array, Totals]:
    """(r, sums) of some rows; the dual variable lies beside them under the name "dual"."""
    if isinstance(rows, DualRows):
        return rows.of_row(y, aux["dual"], scores, s)
    return rows(y, scores, s)


@dataclass(frozen=True, slots=True, eq=False)
class Sweep(Statistic[Totals]):
    """Totals(X'r, Σr, *sums) with (r, sums) = rows(y, [Xw + b…], s); exact: in float64."""

    points: Sequence[Point]
    rows: Rows
    exact: bool = False

    def __call__(self, block: Block) -> Totals:
        X, y, s = block.X, block.y, block.weight
        if self.exact:
            X = to_float64(X)
            s = None if s is None else to_float64(s)
        else:
            y, s = working(y, X), working(s, X)
        z = [scores(X, w, b) for w, b in self.points]
        r, sums = apply_rows(self.rows, y, z, s, block.aux)
        return Totals(to_float64(adjoint(X, r)), to_float64(r.sum(0)), *sums)

    def compiled(self, block: Block, layout: RowLayout) -> SweepKernel | CsrSweepKernel | None:
        function = self.rows.compiled() if isinstance(self.rows, RowStatistic) else None
        if function is None or _is_several(self.points, block, function):
            return None
        kind = np.dtype(np.float64) if self.exact else layout.dtype
        if layout.order == "csr":
            return CsrSweepKernel(block, self.points, function, kind)
        return SweepKernel(block, layout, self.points, function, kind)


@dataclass(frozen=True, slots=True, eq=False)
class Adjoint(Statistic[Floats]):
    """X'r for a vector r with an entry for every row of the table; exact: in float64."""

    r: Floats
    exact: bool = False

    def __call__(self, block: Block) -> Floats:
        X = to_float64(block.X) if self.exact else block.X
        return to_numpy(adjoint(X, like(self._of(block), X)))

    def _of(self, block: Block) -> Floats:
        return self.r[block.start : block.start + block.n_rows]

    def compiled(self, block: Block, layout: RowLayout) -> CompiledLoop[Floats] | None:
        if self.r.ndim > 1:
            return None
        seen = Block(block.start, block.X, self._of(block))
        sweep = Sweep((), Target(), self.exact).compiled(seen, layout)
        return None if sweep is None else AdjointKernel(sweep)


@dataclass(frozen=True, slots=True)
class Target(RowStatistic):
    """r = y."""

    def __call__(self, y: Array, scores: list[Array], s: Array | None) -> tuple[Array, Totals]:
        return y, Totals()

    def compiled(self) -> RowFunction:
        return _plain("target_rows")


@dataclass(frozen=True, slots=True)
class HessianProduct(RowStatistic):
    """r = y z: with the curvature of each row for y, a product with the Hessian."""

    def __call__(self, y: Array, scores: list[Array], s: Array | None) -> tuple[Array, Totals]:
        return y * scores[0], Totals()

    def compiled(self) -> RowFunction:
        return _plain("product_rows")


def _plain(name: str) -> RowFunction:
    from fenchel.data.passes.dense.compiled import plain_rows

    return RowFunction(plain_rows(name).address, np.zeros(1), 1, 0, tuple)


@dataclass(frozen=True, slots=True, eq=False)
class Scores(Statistic[Floats]):
    """Xw + b of every row of one block, in row order; exact: in float64."""

    point: Point
    exact: bool = True

    def __call__(self, block: Block) -> Floats:
        X = to_float64(block.X) if self.exact else block.X
        return to_numpy(scores(X, *self.point))

    def compiled(self, block: Block, layout: RowLayout) -> CompiledLoop[Floats] | None:
        if layout.order == "csr" or self.point[0].ndim > 1:
            return None
        working = "float64" if self.exact else layout.dtype.name
        return ScoresKernel(DenseRows(block, layout, [self.point], working))


@dataclass(frozen=True, slots=True)
class Gram(Statistic[Floats]):
    """Σ rᵢ x̃ᵢx̃ᵢ' with x̃ = (x - centre, 1), r = of_rows(y, z) s ≥ 0 at z = Xw + b.

    With several curvatures a row, one matrix for each: (h, d+1, d+1).
    """

    point: Point
    curvature: Callable[[Array, Array], Array]
    centre: Floats | None

    def __call__(self, block: Block) -> Floats:
        w, b = self.point
        y, s = working(block.y, block.X), working(block.weight, block.X)
        h = self.curvature(y, scores(block.X, w, b))
        if s is not None:
            h = h * (s if h.ndim == 1 else s[:, None])
        return weighted_gram(*active_rows(block.X, h), self.centre)

    def compiled(self, block: Block, layout: RowLayout) -> CompiledLoop[Floats] | None:
        if not isinstance(self.curvature, RowCurvature) or layout.order == "csr":
            return None
        function = self.curvature.compiled()
        if function is None or _is_several([self.point], block, function):
            return None
        return GramKernel(block, layout, self.point, self.centre, function)


class RowCurvature(ABC):
    """A curvature of rows as a value: h(y, z) ≥ 0, and s h compiled."""

    __slots__ = ()

    @abstractmethod
    def __call__(self, y: Array, z: Array) -> Array:
        """The definition."""

    @abstractmethod
    def compiled(self) -> RowFunction | None:
        """r = s h for a compiled pass."""


def _is_several(points: Sequence[Point], block: Block, function: RowFunction) -> bool:
    """Whether rows have several targets, or several scores where a row function looks at one."""
    if block.y is not None and block.y.ndim > 1:
        return True
    return function.outputs == 1 and any(w.ndim > 1 for w, _ in points)


@dataclass(frozen=True, slots=True)
class Unit(RowCurvature):
    """h = 1."""

    def __call__(self, y: Array, z: Array) -> Array:
        return 0.0 * z + 1.0

    def compiled(self) -> RowFunction:
        return _plain("weight_rows")


def working(values: Array | None, X: Array) -> Array | None:
    """A target or weight in the precision of its rows, for passes that prove nothing; class codes
    stay whole numbers."""
    if values is None or values.dtype == X.dtype:
        return values
    if isinstance(values, np.ndarray):
        return values.astype(X.dtype) if values.dtype.kind == "f" else values
    return values.to(X.dtype) if values.is_floating_point() else values


def active_rows(X: Array, h: Array) -> tuple[Array, Array]:
    """The rows with any curvature, where they are few: most have none under a kinked loss."""
    if h.ndim == 2 or not isinstance(h, np.ndarray):
        return X, h
    some = np.flatnonzero(h)
    return (X, h) if 2 * len(some) > len(h) else (X[some], h[some])
