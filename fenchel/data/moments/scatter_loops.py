"""Moments of a block, of all its rows or class by class, as compiled loops over its parts."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from fenchel.data.block import Block, block_rows
from fenchel.data.reduction import tree_sum
from fenchel.data.statistic import PART, CompiledLoop, RowLayout, Slots, part_rows

S = TypeVar("S")
Floats = NDArray[np.float64]
ROOM = 2**19  # bytes of the buffers of all classes: half of a core's second cache
# Share of stored entries from which dense rows are faster: a stored pair costs a nanosecond, a
# pair inside a symmetric product a twentieth of one.
DENSE = 0.2


class ScatterKernel(CompiledLoop[S], Generic[S]):
    """`scatter_dense` or `scatter_csr` for one block; classes 0 … n_classes - 1, or all rows as
    one; shared: the classes' scatter matrices in one sum; beside: further columns of dense rows,
    such as a target."""

    least_parts = 1  # d² products for each row of a part

    def __init__(
        self,
        block: Block,
        layout: RowLayout,
        n_classes: int | None,
        shared: bool,
        beside: Floats | None = None,
    ) -> None:
        n = block.n_rows
        self.beside = np.zeros((n, 0)) if beside is None else np.ascontiguousarray(beside)
        d = layout.n_cols + self.beside.shape[1]
        self.X, self.layout, self.shared = block.X, layout, shared
        self.n, self.d, self.classes = n, d, 1 if n_classes is None else n_classes
        self.matrices = 1 if shared else self.classes
        codes = np.zeros(n, np.int64) if n_classes is None else block.y
        self.codes = np.ascontiguousarray(codes, np.int64)
        weight = np.ones(n) if block.weight is None else block.weight
        self.s = np.ascontiguousarray(weight, np.float64)
        # Few parts, each of as many rows as columns or more: its matrices are written and merged.
        # 32 of them keep 16 threads busy, 2²⁶ bytes of them are enough memory. Up to 32 blocks of a
        # file's rows the parts are those blocks, so that a file gives the same bits as memory.
        size = 8.0 * self.matrices * d**2 + 8.0 * self.classes * d
        parts = max(1.0, min(32.0, 2.0**26 / max(size, 1.0), n / (d + 1.0)))
        least = 64 if layout.order == "csr" else block_rows(2**62, d, 8.0 * d)
        self.part = max(part_rows(PART / max(n / parts, 1.0)), least)
        # Long buffers make fast products: 256 rows where the caches hold them, and no more than
        # 32 MiB in all however many classes there are.
        row = 8 * max(d, 1) * self.classes
        self.room = max(32, min(max(256, ROOM // row), 2**25 // row, 2048))

    def slots(self, parts: int) -> Slots:
        K, d = self.classes, self.d
        return np.zeros((parts, K)), np.zeros((parts, K, d)), np.zeros((parts, self.matrices, d, d))

    def run(self, first: int, last: int, slots: Slots) -> None:
        if self.layout.order == "csr":
            self._run_csr(first, last, slots)
        else:
            self._run_dense(first, last, slots)

    def _run_csr(self, first: int, last: int, slots: Slots) -> None:
        from fenchel.data.moments.compiled import scatter_csr

        X = self.X
        scatter_csr(X.data, X.indices, X.indptr, self.codes, self.s, self.part, first, last, *slots)

    def _run_dense(self, first: int, last: int, slots: Slots) -> None:
        from fenchel.data.moments.compiled import scatter_dense
        from fenchel.data.passes.loops import address
        from fenchel.data.passes.native.compiled import symmetric_product

        X, fortran = self.X, self.layout.order == "F"
        axis = 1 if fortran else 0
        # numpy gives any stride to an axis of one entry, which is then never stepped along.
        step = X.strides[axis] // X.itemsize if X.shape[axis] > 1 else max(X.shape[1 - axis], 1)
        W, M, S = slots
        scatter_dense(
            address(X),
            np.zeros(1, X.dtype),
            step,
            self.n,
            self.layout.n_cols,
            fortran,
            self.beside,
            self.codes,
            self.s,
            self.part,
            first,
            last,
            max(self.room // 4, 1),
            np.empty((self.classes, self.room + 1, self.d)),
            symmetric_product("float64"),
            W,
            M,
            address(S),
            self.shared,
        )

    def total(self, slots: Slots) -> S:
        W, M, T = slots
        found: S = tree_sum(self.result((W[p], M[p], T[p])) for p in range(len(W)))
        return found


def symmetric(lower: Floats) -> Floats:
    """Matrices from their lower triangles."""
    whole = np.tril(lower)
    return whole + np.swapaxes(np.tril(lower, -1), -1, -2)
