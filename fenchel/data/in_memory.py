"""A table held in the memory of this process, or of a device, cut into blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from fenchel.data.arrays import answer_type, is_sparse, to_numpy_tuple
from fenchel.data.block import (
    Block,
    block_rows,
    copied_part,
    part_of,
    row_numbers,
    stride,
)
from fenchel.data.blocks import Blocks, IndexedBlocks
from fenchel.data.parallel import (
    copied,
    in_ranges,
    thread_count,
)
from fenchel.data.reduction import Statistic, Totals, tree_sum
from fenchel.data.statistic import (
    CompiledLoop,
    Composed,
    LoopsTogether,
    Several,
    kernel_of,
    on_block,
)
from fenchel.data.statistic import Statistic as Compilable


class ArrayBlocks(IndexedBlocks):
    """Rows held by this process (or memory-mapped into it): numpy, CSR or torch."""

    def __init__(self, whole: Block, names: tuple[str, ...] | None = None) -> None:
        X = whole.X
        self.whole, self.names = whole, names
        self.n_rows, self.n_cols = (int(m) for m in X.shape)
        if is_sparse(X):
            per_row = 12.0 * X.nnz / max(self.n_rows, 1)
            # A sparse block's statistic is a full column vector: keep it below the block.
            floor = 16 * self.n_cols / max(X.nnz / max(self.n_rows, 1), 1e-9)
            rows = max(block_rows(self.n_rows, 1, per_row / 4), int(floor))
        elif isinstance(X, np.ndarray):
            rows = block_rows(self.n_rows, self.n_cols, X.itemsize * self.n_cols)
            # Threads hand the interpreter over at every operation, so fewer and larger blocks are
            # faster, as long as there are enough of them to share and the last cache holds them.
            most = 2**23 // max(X.itemsize * self.n_cols, 1)
            rows = max(rows, min(most, -(-self.n_rows // 8)))
        else:
            # A device wants few large launches: at 4 TB/s a gigabyte takes as long as the twenty
            # launches of a pass, and a block's temporary arrays are at most as large again.
            rows = max(2**30 // max(8 * self.n_cols, 1), 1)
        self.rows = max(1, min(rows, self.n_rows))
        self.dtype = answer_type(whole.X)
        self._sparse_parts = self._cut_sparse() if is_sparse(X) else None
        # An array without columns stands for X, whose parts are cut differently.
        self._beside_rows = replace(whole, X=np.empty((self.n_rows, 0)))
        self._seen: dict[int, tuple[Callable[[Block], Block], ArrayBlocks | None]] = {}

    @property
    def local(self) -> bool:
        return True

    @property
    def sparse(self) -> bool:
        return self._sparse_parts is not None

    @property
    def workers(self) -> int:
        return 1 if self.on_device else thread_count()

    @property
    def on_device(self) -> bool:
        """Whether the rows are tensors of a device, or of torch on the host."""
        return self._sparse_parts is None and not isinstance(self.whole.X, np.ndarray)

    def _cut_sparse(self) -> list[Any]:
        from scipy.sparse import csr_array

        X, parts = self.whole.X, []
        for lo in range(0, self.n_rows, self.rows):
            ptr = X.indptr[lo : min(lo + self.rows, self.n_rows) + 1]
            inside = slice(int(ptr[0]), int(ptr[-1]))
            # Not csr_array((data, indices, indptr)): of a slice that makes a copy.
            part = csr_array((len(ptr) - 1, self.n_cols), dtype=X.dtype)
            part.data, part.indices, part.indptr = X.data[inside], X.indices[inside], ptr - ptr[0]
            part.has_canonical_format = X.has_canonical_format
            parts.append(part)
        return parts

    def block(self, i: int) -> Block:
        lo = i * self.rows
        rows = slice(lo, lo + self.rows)
        X = self.whole.X[rows] if self._sparse_parts is None else self._sparse_parts[i]
        beside = part_of(self._beside_rows, rows, self.whole.start + lo)
        return replace(beside, X=X)

    def map(
        self,
        fn: Callable[[Block], Block],
        n_cols: int | None = None,
        *,
        dtype: Any = None,
        sparse: bool | None = None,
    ) -> Blocks:
        seen = self._beside(fn) if n_cols in (None, self.n_cols) else None
        return super().map(fn, n_cols, dtype=dtype, sparse=sparse) if seen is None else seen

    def take(self, rows: Any) -> Block:
        return copied_part(self.whole, row_numbers(rows, self.n_rows), 0)

    def _beside(self, fn: Callable[[Block], Block]) -> ArrayBlocks | None:
        """The table with fn applied, where it changes targets and weights alone: made once, for
        every pass over the same rows."""
        first = self.block(0)
        if fn(first).X is not first.X:
            return None
        seen = ArrayBlocks(fn(self.whole), self.names)
        seen.classes = self.classes
        seen.__dict__["_known"] = self._known
        return seen

    def _kernel(self, stat: Callable[[Block], Statistic]) -> CompiledLoop[Any] | None:
        """The compiled loop of a statistic, perhaps of one seen through a function of blocks."""
        if not isinstance(stat, Composed):
            return kernel_of(stat, self.whole)
        if not isinstance(stat.stat, Compilable | Composed):
            return None
        known = self._seen.get(id(stat.of_block))
        if known is None:  # the function is kept with its answer, so that no other takes its id
            if len(self._seen) >= 16:
                self._seen.clear()
            known = self._seen[id(stat.of_block)] = stat.of_block, self._beside(stat.of_block)
        return None if known[1] is None else known[1]._kernel(stat.stat)

    def reduce(self, stat: Callable[[Block], Statistic]) -> Statistic:
        if self.on_device:  # sums stay there until the last block
            total = tree_sum(on_block(stat, block) for block in self)
            return to_numpy_tuple(total) if isinstance(total, Totals) else total
        if not isinstance(stat, Several):
            kernel = self._kernel(stat)
            return super().reduce(stat) if kernel is None else in_ranges(kernel, self.n_rows)
        kernels = [self._kernel(one) for one in stat.stats]
        plain = tuple(one for one, k in zip(stat.stats, kernels, strict=True) if k is None)
        shared = iter(super().reduce(Several(plain)) if plain else ())
        by_part: dict[int, list[CompiledLoop[Any]]] = {}
        for kernel in kernels:
            if kernel is not None:
                by_part.setdefault(kernel.part, []).append(kernel)
        found: dict[int, Any] = {}
        for loops in by_part.values():
            sums = in_ranges(LoopsTogether(loops), self.n_rows)
            found.update(zip(map(id, loops), sums, strict=True))
        return Totals(*(next(shared) if k is None else found[id(k)] for k in kernels))

    def gather(self) -> Block:
        return self.whole

    def sample(self, rows: int) -> Blocks:
        step = max(1, self.n_rows // max(rows, 1))
        whole = self.whole
        if isinstance(whole.X, np.ndarray):  # by all threads, which `every` would not use
            X = copied(whole.X[-whole.start % step :: step])
            beside = stride(replace(whole, X=whole.X[:, :0]), step)
            return ArrayBlocks(replace(beside, X=X), self.names)
        return ArrayBlocks(stride(whole, step), self.names)
