"""A table as row blocks, and `reduce`, which sums a statistic over them.

`Blocks.reduce(statistic)` is the only pass over the data there is. Partial results meet in a
binary tree whose shape depends on the number of blocks alone, so the answer has the same bits
for any number of threads or workers and any order of arrival.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import answer_type, is_sparse, is_strings
from fenchel.data.block import (
    Block,
    ChosenRows,
    RowValues,
    block_rows,
    column_label,
    concatenate,
    part_of,
    row_numbers,
    stride,
)
from fenchel.data.design.column_sizes import ColumnSizes
from fenchel.data.memory import free_memory
from fenchel.data.parallel import (
    keep_pages,
    map_ordered,
    one_blas_thread,
    one_thread,
    thread_count,
    threads,
)
from fenchel.data.reduction import Maximum, Optional, Statistic, Totals, TreeSum, tree_sum
from fenchel.data.statistic import Composed, on_block

if TYPE_CHECKING:
    from fenchel.data.in_memory import ArrayBlocks

__all__ = [
    "Block",
    "Blocks",
    "MappedBlocks",
    "TreeSum",
    "IndexedBlocks",
    "Totals",
    "block_rows",
    "free_memory",
    "one_blas_thread",
    "one_thread",
    "map_ordered",
    "thread_count",
    "threads",
    "tree_sum",
]


class Blocks(ABC):
    """A table as row blocks that can be read again: two passes give the same rows in order."""

    n_rows: int
    n_cols: int
    dtype: np.dtype[Any]  # of X, and of what is computed from the rows: float64 for strings
    names: tuple[str, ...] | None  # None where the source had no column names
    classes: NDArray[Any] | None = None  # sorted labels, where y holds codes for them

    @abstractmethod
    def __iter__(self) -> Iterator[Block]: ...

    @abstractmethod
    def reduce(self, stat: Callable[[Block], Statistic]) -> Statistic:
        """Σ over blocks of stat(block), merged in the fixed tree."""

    @property
    @abstractmethod
    def local(self) -> bool:
        """Whether the rows are held in this process's memory."""

    @property
    @abstractmethod
    def sparse(self) -> bool:
        """Whether the blocks are sparse."""

    @property
    def strings(self) -> bool:
        """Whether the rows are strings, one in each; such rows are held in memory."""
        return self.local and bool(self.of_first(lambda block: is_strings(block.X)))

    @property
    def longest(self) -> int:
        """At least the number of rows in the longest block."""
        return self.n_rows

    @property
    def column_sizes(self) -> NDArray[np.float64]:
        """The largest absolute value of each column: one pass, made once for the same rows."""
        if "column sizes" not in self._known:
            found: Maximum = self.reduce(ColumnSizes())
            self._known["column sizes"] = found.values
        sizes: NDArray[np.float64] = self._known["column sizes"]
        return sizes

    @cached_property
    def _known(self) -> dict[str, Any]:
        """What passes have found out about X; tables with the same rows share it.

        No cached property is a pass itself: until Python 3.12 those hold one lock for all tables,
        and passes of several fits may wait for each other.
        """
        return {}

    def of_first(self, fn: Callable[[Block], Any]) -> Any:
        """fn(block) of the first block."""
        found: tuple[Any, ...] = self.reduce(lambda b: (fn(b),) if b.start == 0 else ())
        return found[0]

    def map(
        self,
        fn: Callable[[Block], Block],
        n_cols: int | None = None,
        *,
        dtype: Any = None,
        sparse: bool | None = None,
    ) -> Blocks:
        """The table with fn applied to each block, lazily, inside the next pass.

        n_cols, dtype, sparse: of the rows that fn makes. The number of columns is the table's
        unless given; what is not said of the other two is looked up in the first block once
        somebody asks.
        """
        shape = self.n_cols if n_cols is None else n_cols
        return MappedBlocks(self, fn, shape, dtype, sparse)

    def map_targets(self, fn: Callable[[Block], Block]) -> Blocks:
        """`map` for a function that leaves X as it is: targets, weights and aux change alone."""
        seen = self.map(fn, dtype=self.dtype, sparse=self.sparse)
        if isinstance(seen, MappedBlocks):
            seen.keeps_rows = True
        return seen

    def with_aux(self, **columns: NDArray[Any]) -> Blocks:
        """The table with further values beside each row: arrays of n_rows entries, by name."""
        for name, values in columns.items():
            if len(values) != self.n_rows:
                count = f"{len(values)} entries for {self.n_rows} rows"
                raise ValueError(f"{name} has {count}: one is needed for each")
        return self.map_targets(RowValues(columns))

    def take(self, rows: Any) -> Block:
        """The rows of these numbers, in this order, in memory; a row may be asked for twice.

        Reads what holds them and nothing else: one pass at most.
        """
        numbers = row_numbers(rows, self.n_rows)
        order = np.argsort(numbers, kind="stable")
        found = concatenate(self.reduce(ChosenRows(numbers[order])))
        return part_of(found, np.argsort(order), 0)

    def pairs(self, other: Blocks | None, stat: Callable[[Block, Block], Statistic]) -> Statistic:
        """Σ of stat(block, part) over the blocks of this table and the parts of another; None: of
        this table itself, each two blocks once (part.start ≤ block.start).

        A pass over this table for each part of the other; the sums of the passes meet in the
        fixed tree. For what is n x n: memory is that of two blocks and the sum.
        """

        def against(part: Block) -> Statistic:
            if other is not None:
                return self.reduce(lambda block: stat(block, part))
            kept = self.reduce(
                lambda block: Optional(stat(block, part) if block.start >= part.start else None)
            )
            return kept.value

        return tree_sum(against(part) for part in (self if other is None else other))

    def column(self, j: int) -> str:
        """The name of the j-th column in error messages."""
        return column_label(self.names, j)

    def gather(self) -> Block:
        """All rows in memory as one block; refuses, with the gigabytes needed, what cannot fit."""
        need = self.dtype.itemsize * self.n_rows * self.n_cols  # no bound for sparse blocks
        have = free_memory()
        if not self.sparse and need > have:
            raise MemoryError(
                f"holding {self.n_rows} x {self.n_cols} values needs {need / 2**30:.1f} GiB and "
                f"{have / 2**30:.1f} GiB are free: use a method that works block by block"
            )
        return concatenate(self.reduce(lambda block: (block,)))

    def with_target(self, y: Any, weight: Any = None) -> ArrayBlocks:
        """The rows in memory, with this target and weight: what is known of them stays known."""
        from fenchel.data.in_memory import ArrayBlocks

        seen = ArrayBlocks(Block(0, self.gather().X, y, weight), self.names)
        seen.__dict__["_known"] = self._known
        return seen

    def sample(self, rows: int) -> Blocks:
        """About `rows` rows, evenly spaced through the table, held in memory."""
        step = max(1, self.n_rows // max(rows, 1))
        from fenchel.data.in_memory import ArrayBlocks

        # A pass like any other, so that rows on a cluster are chosen where they lie.
        chosen: tuple[Block, ...] = self.reduce(lambda block: (stride(block, step),))
        return ArrayBlocks(concatenate(chosen), self.names)


def _dtype_of(block: Block) -> np.dtype[Any]:
    return answer_type(block.X)


class MappedBlocks(Blocks):
    """A table seen through a function of its blocks."""

    def __init__(
        self,
        base: Blocks,
        fn: Callable[[Block], Block],
        n_cols: int,
        dtype: Any = None,
        sparse: bool | None = None,
    ) -> None:
        self.base, self.fn = base, fn
        self.n_rows, self.n_cols = base.n_rows, n_cols
        self.names = base.names if n_cols == base.n_cols else None
        self.classes = base.classes
        self._dtype, self._sparse = dtype if dtype is None else np.dtype(dtype), sparse
        self.keeps_rows = False  # whether fn leaves X as it is

    @property
    def column_sizes(self) -> NDArray[np.float64]:
        return self.base.column_sizes if self.keeps_rows else super().column_sizes

    @property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        if self._dtype is None:
            self._dtype = self.of_first(_dtype_of)
        return self._dtype

    def of_first(self, fn: Callable[[Block], Any]) -> Any:
        return self.base.of_first(lambda block: fn(self.fn(block)))

    @property
    def local(self) -> bool:
        return self.base.local

    @property
    def sparse(self) -> bool:
        if self._sparse is None:
            self._sparse = bool(self.of_first(lambda block: is_sparse(block.X)))
        return self._sparse

    @property
    def longest(self) -> int:
        return self.base.longest

    def __iter__(self) -> Iterator[Block]:
        return map(self.fn, self.base)

    def reduce(self, stat: Callable[[Block], Statistic]) -> Statistic:
        return self.base.reduce(Composed(stat, self.fn))


class IndexedBlocks(Blocks):
    """A table whose blocks this process fetches by number: a pass runs on its own threads."""

    rows: int  # in every block but the last

    @abstractmethod
    def block(self, i: int) -> Block: ...

    def of_first(self, fn: Callable[[Block], Any]) -> Any:
        return fn(self.block(0))

    @property
    def longest(self) -> int:
        return min(self.rows, self.n_rows)

    @property
    def count(self) -> int:
        """The number of blocks."""
        return -(-self.n_rows // self.rows)

    @property
    def workers(self) -> int:
        """The number of threads a pass uses."""
        return thread_count()

    def visit(self, i: int, stat: Callable[[Block], Statistic]) -> Statistic:
        """The statistic of block i."""
        return on_block(stat, self.block(i))

    def __iter__(self) -> Iterator[Block]:
        return map(self.block, range(self.count))

    def reduce(self, stat: Callable[[Block], Statistic]) -> Statistic:
        count, workers = self.count, self.workers
        if count == 1:
            keep_pages()
            with one_blas_thread():
                return self.visit(0, stat)
        # Whole subtrees go to the threads: the same tree, an eighth of the hand-overs.
        run = 1
        while run * workers * 8 < count:
            run *= 2

        def subtree(first: int) -> Statistic:
            with one_blas_thread():
                return tree_sum(self.visit(i, stat) for i in range(first, min(first + run, count)))

        keep_pages()
        with one_blas_thread():
            return tree_sum(map_ordered(subtree, range(0, count, run), workers))
