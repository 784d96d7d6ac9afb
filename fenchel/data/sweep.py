"""One pass as a statistic: z = X w + b at some points, a function of each row, and its adjoint."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import Array, double, host, like
from fenchel.data.products import adjoint, forward, weighted_gram
from fenchel.data.rows import Block
from fenchel.data.statistic import PART, Kernel, Layout, Slots, Statistic, part_rows
from fenchel.data.tree import Totals

Floats = NDArray[np.float64]
Point = tuple[Floats, Any]  # (w, b): an element of H, or K of them as columns, and the intercepts
TILE = 2**17  # bytes of rows between the two looks at them: a share of a core's second cache


@dataclass(frozen=True, slots=True, eq=False)
class RowFunction:
    """A compiled function of (y, z, s) for a tile of rows, which makes r and adds to some sums.

    outputs: columns of r; sums: how many; finish: what the sums mean, in the order of the
    definition.
    """

    address: int
    parameters: Floats
    outputs: int
    sums: int
    finish: Callable[[Floats], tuple[Any, ...]]


class RowStatistic(ABC):
    """What a sweep computes of its rows, as a value: rows(y, [z…], s) = (r, sums)."""

    __slots__ = ()

    @abstractmethod
    def __call__(self, y: Array, scores: list[Array], s: Array | None) -> tuple[Array, Totals]:
        """The definition, in array code."""

    def compiled(self) -> RowFunction | None:
        """The same for a compiled pass; None: the definition is used."""
        return None


Rows = Callable[[Array, list[Array], Array | None], tuple[Array, Totals]]


@dataclass(frozen=True, slots=True, eq=False)
class Sweep(Statistic[Totals]):
    """Totals(X'r, Σr, *sums) with (r, sums) = rows(y, [Xw + b…], s); exact: in float64."""

    points: Sequence[Point]
    rows: Rows
    exact: bool = False

    def __call__(self, block: Block) -> Totals:
        X, y, s = block.X, block.y, block.weight
        if self.exact:
            X = double(X)
            s = None if s is None else double(s)
        scores = [forward(X, w) + like(b, X) for w, b in self.points]
        r, sums = self.rows(y, scores, s)
        return Totals(host(adjoint(X, r)), host(r.sum(0)), *sums)

    def compiled(self, block: Block, layout: Layout) -> Kernel[Totals] | None:
        function = self.rows.compiled() if isinstance(self.rows, RowStatistic) else None
        if function is None:
            return None
        kind = np.dtype(np.float64) if self.exact else layout.dtype
        if layout.order == "csr":
            return CsrSweepKernel(block, self.points, function, kind)
        return SweepKernel(block, layout, self.points, function, kind)


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
        h = self.curvature(block.y, forward(block.X, w) + like(b, block.X))
        if block.weight is not None:
            h = h * (block.weight if h.ndim == 1 else block.weight[:, None])
        return weighted_gram(*active_rows(block.X, h), self.centre)

    def compiled(self, block: Block, layout: Layout) -> Kernel[Floats] | None:
        if not isinstance(self.curvature, RowCurvature) or layout.order == "csr":
            return None
        function = self.curvature.compiled()
        return None if function is None else GramKernel(block, layout, self, function)


class RowCurvature(ABC):
    """A curvature of rows as a value: h(y, z) ≥ 0, and s h compiled."""

    __slots__ = ()

    @abstractmethod
    def __call__(self, y: Array, z: Array) -> Array:
        """The definition."""

    @abstractmethod
    def compiled(self) -> RowFunction | None:
        """r = s h for a compiled pass."""


def active_rows(X: Array, h: Array) -> tuple[Array, Array]:
    """The rows with any curvature, where they are few: most have none under a kinked loss."""
    if h.ndim == 2 or not isinstance(h, np.ndarray):
        return X, h
    some = np.flatnonzero(h)
    return (X, h) if 2 * len(some) > len(h) else (X[some], h[some])


class DenseRows:
    """Where a dense block lies, as compiled loops want it: addresses, strides, float64 targets."""

    def __init__(self, block: Block, layout: Layout, points: Sequence[Point], working: str) -> None:
        X = block.X
        self.n, self.d = X.shape
        self.fortran = layout.order == "F"
        # numpy gives any stride to an axis of one entry, which is then never stepped along.
        axis = 1 if self.fortran else 0
        step = X.strides[axis] // X.itemsize
        self.ldx = step if X.shape[axis] > 1 else max(X.shape[1 - axis], 1)
        self.values, self.working = X.dtype.name, working
        self.row_bytes = X.itemsize * max(self.d, 1)
        y, s = _vector(block.y, self.n), _vector(block.weight, self.n)
        columns = [np.asarray(w, working).reshape(self.d, -1) for w, _ in points]
        W = np.ascontiguousarray(np.concatenate([np.zeros((self.d, 0)), *columns], axis=1).T)
        self.W = W.astype(working, copy=False)
        intercepts = [np.reshape(np.asarray(b, np.float64), -1) for _, b in points]
        self.b = np.concatenate([np.zeros(0), *intercepts])
        self.held = X, y, s  # what the addresses point into must live as long as they do
        self.place = (address(X), self.ldx, self.n, self.d, address(y), address(s))
        self.weights = (address(self.W), self.W.itemsize * self.d, self.b)

    def product(self, name: str) -> int:
        """The address of a compiled product for these rows."""
        from fenchel.data.dense.compiled import product

        order = {"scores": ("rows", "columns"), "adjoint": ("rows", "columns")}
        if name == "rooted":
            return int(product("rooted_rows", self.values, self.values, self.fortran).address)
        kind = order[name][self.fortran]
        full = f"scores_in_{kind}" if name == "scores" else f"adjoint_of_{kind}"
        return int(product(full, self.values, self.working).address)


class SweepKernel(Kernel[Totals]):
    """`dense.compiled.sweep` for one block and some points."""

    def __init__(
        self,
        block: Block,
        layout: Layout,
        points: Sequence[Point],
        function: RowFunction,
        working: np.dtype[Any],
    ) -> None:
        self.rows, self.function = DenseRows(block, layout, points, working.name), function
        self.joint = function.outputs > 1 or (len(points) > 0 and points[0][0].ndim == 2)
        # Fortran columns of a part should be longer than a page, or each costs a miss.
        self.part = part_rows(self.rows.row_bytes, 512 if self.rows.fortran else 64)
        # Several looks at a tile, one for each output, should find it in the first caches.
        looks = 1 if function.outputs == 1 else 4
        self.tile = min(self.part, max(TILE // (self.rows.row_bytes * looks), 32))

    def slots(self, parts: int) -> Slots:
        # Float32 sums run over one part and no further: they keep their digits.
        k, working = self.function.outputs, self.rows.working
        return np.zeros((parts, k, self.rows.d), working), np.zeros((parts, k + self.function.sums))

    def run(self, first: int, last: int, slots: Slots) -> None:
        from fenchel.data.dense.compiled import sweep

        rows, function, (G, sums) = self.rows, self.function, slots
        Z = np.empty((max(len(rows.W), 1), self.tile))
        R = np.empty((function.outputs, self.tile))
        sweep(
            *rows.place,
            *rows.weights,
            rows.product("scores"),
            function.address,
            rows.product("adjoint"),
            address(function.parameters),
            self.part,
            self.tile,
            first,
            last,
            address(Z),
            R,
            G.itemsize * rows.d,
            address(G),
            sums,
        )

    def result(self, sums: Slots) -> Totals:
        pull, rest = sums
        k = self.function.outputs
        own = self.function.finish(rest[k:])
        if self.joint:
            return Totals(np.ascontiguousarray(pull.T, dtype=np.float64), rest[:k], *own)
        return Totals(pull[0].astype(np.float64, copy=False), rest[0], *own)


class CsrSweepKernel(Kernel[Totals]):
    """`compiled.csr_sweep` for one block and some points."""

    def __init__(
        self,
        block: Block,
        points: Sequence[Point],
        function: RowFunction,
        working: np.dtype[Any],
    ) -> None:
        self.X, self.function = block.X, function
        n, d = block.X.shape
        self.y, self.s = _vector(block.y, n), _vector(block.weight, n)
        columns = [np.asarray(w, working).reshape(d, -1) for w, _ in points]
        # Columns of w side by side: the entries of X are read once for all of them.
        self.W = np.ascontiguousarray(np.concatenate(columns, axis=1))
        self.b = np.concatenate([np.reshape(np.asarray(b, np.float64), -1) for _, b in points])
        self.joint = points[0][0].ndim == 2
        each = max(block.X.nnz / max(n, 1), 1e-9)
        # A part's sums are a full vector of columns: at most an eighth of the part's own entries.
        self.part = max(part_rows(12.0 * each), int(8.0 * d / each), 1)

    def slots(self, parts: int) -> Slots:
        k, d = self.function.outputs, self.X.shape[1]
        return np.zeros((parts, d, k)), np.zeros((parts, k + self.function.sums))

    def run(self, first: int, last: int, slots: Slots) -> None:
        from fenchel.data.compiled import csr_sweep

        X, function = self.X, self.function
        csr_sweep(
            X.data,
            X.indices,
            X.indptr,
            self.y,
            self.s,
            self.W,
            self.b,
            function.address,
            function.parameters,
            self.part,
            first,
            last,
            *slots,
        )

    def result(self, sums: Slots) -> Totals:
        pull, rest = sums
        k = self.function.outputs
        own = self.function.finish(rest[k:])
        if self.joint:
            return Totals(pull, rest[:k], *own)
        return Totals(pull[:, 0], rest[0], *own)


def _vector(values: Any, n: int) -> Floats:
    return np.ones(n) if values is None else np.ascontiguousarray(values, dtype=np.float64)


class GramKernel(Kernel[Floats]):
    """`dense.compiled.weighted_gram` for one block."""

    def __init__(self, block: Block, layout: Layout, stat: Gram, function: RowFunction) -> None:
        d = layout.n_cols
        self.rows = DenseRows(block, layout, [stat.point], layout.dtype.name)
        self.function = function
        self.joint = function.outputs > 1 or stat.point[0].ndim == 2
        centre = np.zeros(d) if stat.centre is None else stat.centre
        self.centre = np.ascontiguousarray(centre, layout.dtype)
        # Few parts, each of many rows for a column: its matrix, d² numbers, is written and merged;
        # 64 of them keep 16 threads busy, 2²⁷ bytes of them are enough memory.
        size = 8.0 * function.outputs * (d + 1) ** 2
        parts = max(1.0, min(64.0, 2.0**27 / size, self.rows.n / (4.0 * (d + 1))))
        self.part = max(part_rows(PART / max(self.rows.n / parts, 1.0)), 64)
        self.tile = min(self.part, max(2**19 // self.rows.row_bytes, 32))

    def slots(self, parts: int) -> Slots:
        size = self.rows.d + 1
        return (np.zeros((parts, self.function.outputs, size, size), self.rows.values),)

    def run(self, first: int, last: int, slots: Slots) -> None:
        from fenchel.data.dense.compiled import symmetric_product, weighted_gram

        rows, function, G = self.rows, self.function, slots[0]
        Z = np.empty((max(len(rows.W), 1), self.tile))
        R = np.empty((function.outputs, self.tile))
        A = np.empty((self.tile, rows.d + 1), rows.values)
        weighted_gram(
            *rows.place,
            *rows.weights,
            rows.product("scores"),
            function.address,
            rows.product("rooted"),
            symmetric_product(rows.values),
            rows.values == "float32",
            address(function.parameters),
            address(self.centre),
            self.part,
            self.tile,
            first,
            last,
            address(Z),
            R,
            address(A),
            address(G),
            G.itemsize * (rows.d + 1) ** 2,
        )

    def result(self, sums: Slots) -> Floats:
        whole = np.tril(sums[0]).astype(np.float64, copy=False)
        whole += np.swapaxes(np.tril(whole, -1), -1, -2)
        return whole if self.joint else whole[0]


def address(values: NDArray[Any]) -> int:
    """Where the first value lies."""
    return int(values.__array_interface__["data"][0])
