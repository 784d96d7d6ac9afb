"""Compiled loops over the rows of a block: sweeps, weighted Gram matrices, scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.block import Block
from fenchel.data.reduction import Totals
from fenchel.data.statistic import PART, CompiledLoop, RowLayout, Slots, part_rows

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


class DenseRows:
    """Where a dense block lies, as compiled loops want it: addresses, strides, float64 targets."""

    def __init__(
        self, block: Block, layout: RowLayout, points: Sequence[Point], working: str
    ) -> None:
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
        from fenchel.data.passes.dense.compiled import product

        order = {"scores": ("rows", "columns"), "adjoint": ("rows", "columns")}
        if name == "rooted":
            return int(product("rooted_rows", self.values, self.values, self.fortran).address)
        kind = order[name][self.fortran]
        full = f"scores_in_{kind}" if name == "scores" else f"adjoint_of_{kind}"
        return int(product(full, self.values, self.working).address)


class SweepKernel(CompiledLoop[Totals]):
    """`dense.compiled.sweep` for one block and some points."""

    def __init__(
        self,
        block: Block,
        layout: RowLayout,
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
        from fenchel.data.passes.dense.compiled import sweep

        rows, self.sweep, self.width = self.rows, sweep, max(len(self.rows.W), 1)
        self.step = working.itemsize * rows.d
        self.given = (
            *rows.place,
            *rows.weights,
            rows.product("scores"),
            function.address,
            rows.product("adjoint"),
            address(function.parameters),
            self.part,
            self.tile,
        )

    def slots(self, parts: int) -> Slots:
        # Float32 sums run over one part and no further: they keep their digits.
        k, working = self.function.outputs, self.rows.working
        return np.zeros((parts, k, self.rows.d), working), np.zeros((parts, k + self.function.sums))

    def run(self, first: int, last: int, slots: Slots) -> None:
        # As little as can be is done here: threads wait for each other until the loop begins.
        G, sums = slots
        Z, R = np.empty((self.width, self.tile)), np.empty((self.function.outputs, self.tile))
        self.sweep(*self.given, first, last, address(Z), R, self.step, address(G), sums)

    def result(self, sums: Slots) -> Totals:
        pull, rest = sums
        k = self.function.outputs
        own = self.function.finish(rest[k:])
        if self.joint:
            return Totals(np.ascontiguousarray(pull.T, dtype=np.float64), rest[:k], *own)
        return Totals(pull[0].astype(np.float64, copy=False), rest[0], *own)


class CsrSweepKernel(CompiledLoop[Totals]):
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
        W = np.concatenate([np.zeros((d, 0), working), *columns], axis=1)
        self.W = np.ascontiguousarray(W)
        intercepts = [np.reshape(np.asarray(b, np.float64), -1) for _, b in points]
        self.b = np.concatenate([np.zeros(0), *intercepts])
        self.joint = len(points) > 0 and points[0][0].ndim == 2
        each = max(block.X.nnz / max(n, 1), 1e-9)
        # A part's sums are a full vector of columns: at most an eighth of the part's own entries.
        self.part = max(part_rows(12.0 * each), int(8.0 * d / each), 1)

    def slots(self, parts: int) -> Slots:
        k, d = self.function.outputs, self.X.shape[1]
        return np.zeros((parts, d, k)), np.zeros((parts, k + self.function.sums))

    def run(self, first: int, last: int, slots: Slots) -> None:
        from fenchel.data.passes.sparse.compiled import csr_sweep

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


class AdjointKernel(CompiledLoop[Floats]):
    """The first sum of a sweep."""

    def __init__(self, sweep: SweepKernel | CsrSweepKernel) -> None:
        self.sweep, self.part = sweep, sweep.part

    def slots(self, parts: int) -> Slots:
        return self.sweep.slots(parts)

    def run(self, first: int, last: int, slots: Slots) -> None:
        self.sweep.run(first, last, slots)

    def result(self, sums: Slots) -> Floats:
        return self.sweep.result(sums)[0]


class ScoresKernel(CompiledLoop[Floats]):
    """The scores of a dense block, each thread its own rows of one vector: there is no sum."""

    def __init__(self, rows: DenseRows) -> None:
        self.rows, self.z = rows, np.empty(rows.n)
        self.part = part_rows(rows.row_bytes, 512 if rows.fortran else 64)

    def slots(self, parts: int) -> Slots:
        return ()

    def run(self, first: int, last: int, slots: Slots) -> None:
        from fenchel.data.passes.dense.compiled import all_scores

        rows, w = self.rows, address(self.rows.W)
        lo, hi = first * self.part, min(rows.n, last * self.part)
        table, ldx, _, d, _, _ = rows.place
        product = rows.product("scores")
        all_scores(product, table, ldx, d, lo, hi, 512, w, float(rows.b[0]), address(self.z))

    def result(self, sums: Slots) -> Floats:
        return self.z


class GramKernel(CompiledLoop[Floats]):
    """`dense.compiled.weighted_gram` for one block."""

    least_parts = 1  # d² products for each row of a part

    def __init__(
        self,
        block: Block,
        layout: RowLayout,
        point: Point,
        centre: Floats | None,
        function: RowFunction,
    ) -> None:
        d = layout.n_cols
        self.rows = DenseRows(block, layout, [point], layout.dtype.name)
        self.function = function
        self.joint = function.outputs > 1 or point[0].ndim == 2
        middle = np.zeros(d) if centre is None else centre
        self.centre = np.ascontiguousarray(middle, layout.dtype)
        # Few parts, each of half as many rows as columns or more: its matrix, d² numbers, is
        # written and merged, which takes 2 % of a fit of the hinge with 500 columns, and 1,000
        # rows at a joint keep 4 threads busy. 32 of them do for 16 threads, 2²⁶ bytes for memory.
        size = 8.0 * function.outputs * (d + 1) ** 2
        parts = max(1.0, min(32.0, 2.0**26 / size, 2.0 * self.rows.n / (d + 1.0)))
        self.part = max(part_rows(PART / max(self.rows.n / parts, 1.0)), 64)
        # A tile's rows and their outputs fit the second cache.
        each = self.rows.row_bytes + 8 * (function.outputs - 1)
        self.tile = min(self.part, max(2**19 // each, 32))

    def slots(self, parts: int) -> Slots:
        size = self.rows.d + 1
        return (np.zeros((parts, self.function.outputs, size, size), self.rows.values),)

    def run(self, first: int, last: int, slots: Slots) -> None:
        from fenchel.data.passes.dense.compiled import weighted_gram
        from fenchel.data.passes.native.compiled import symmetric_product

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
        lower = sums[0].astype(np.float64, copy=False)  # above the diagonal are zeros
        whole = lower + np.swapaxes(lower, -1, -2)
        i = np.arange(self.rows.d + 1)
        whole[:, i, i] = lower[:, i, i]
        return whole if self.joint else whole[0]


def address(values: NDArray[Any]) -> int:
    """Where the first value lies."""
    return int(values.__array_interface__["data"][0])
