"""Statistics as values: a sum over rows with a definition in array code and, where it pays, a loop.

A statistic s has s(block), its definition, with `+` between the results of two blocks. It may offer
a `CompiledLoop` for a layout of rows: a compiled loop that makes the partial sums of many parts in
one call. A part is a fixed run of rows, whatever the threads; the partial sums meet in the tree of
`TreeSum`, so that the answer has the same bits for any number of threads.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from fenchel.data.block import Block

S = TypeVar("S")
Slots = tuple[NDArray[Any], ...]  # partial sums, one entry of the first axis for each part

# A part holds about half a megabyte of rows: 500,000 x 50 gives each of 16 threads 24 parts, so
# that none waits long for another.
PART = 2**19
# Values of a block from which on a compiled loop is used: the definition takes a third of a
# millisecond for so many, and whoever has no more need never wait for a compiler.
SMALL = 2**17


@dataclass(frozen=True, slots=True)
class RowLayout:
    """How the values of some rows lie in memory."""

    order: Literal["C", "F", "csr"]
    dtype: np.dtype[Any]
    n_cols: int


def layout_of(X: Any) -> RowLayout | None:
    """The layout of rows in this process's memory; None where no compiled loop knows it."""
    if issparse(X):
        if X.format != "csr" or X.dtype not in (np.float32, np.float64):
            return None
        return RowLayout("csr", X.dtype, int(X.shape[1]))
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype not in (np.float32, np.float64):
        return None
    unit = X.itemsize
    if X.strides[1] == unit or X.shape[1] == 1:
        return RowLayout("C", X.dtype, X.shape[1])
    return RowLayout("F", X.dtype, X.shape[1]) if X.strides[0] == unit else None


def part_rows(row_bytes: float, least: int = 64) -> int:
    """Rows in a part: a power of two, so that the parts of a file's blocks are those of the table
    in memory; at least 64, so that a part's sums are small beside the part."""
    return max(least, 1 << max(0, round(float(np.log2(PART / max(row_bytes, 1.0))))))


class CompiledLoop(ABC, Generic[S]):
    """A compiled loop over parts of a block."""

    part: int  # rows in a part
    # Parts that are worth waking a thread for, which takes as long as a fifth of a megabyte: four
    # of half a megabyte.
    least_parts: int = 4

    @abstractmethod
    def slots(self, parts: int) -> Slots:
        """Zeros for the partial sums of so many parts."""

    @abstractmethod
    def run(self, first: int, last: int, slots: Slots) -> None:
        """Fill the slots of parts first … last - 1, in one call that holds no interpreter."""

    @abstractmethod
    def result(self, sums: Slots) -> S:
        """The statistic from the sums over all parts."""

    def total(self, slots: Slots) -> S:
        """The statistic from the slots of all parts, which meet in the fixed tree."""
        return self.result(tree_of(slots))


class LoopsTogether(CompiledLoop[tuple[Any, ...]]):
    """Loops over the same parts in one call: a few parts are fetched from memory once for all."""

    RUN: ClassVar[int] = 4  # parts: two megabytes, a core's second cache

    def __init__(self, loops: Sequence[CompiledLoop[Any]]) -> None:
        self.loops, self.part = tuple(loops), loops[0].part
        self.least_parts = min(loop.least_parts for loop in loops)

    def slots(self, parts: int) -> Any:
        return tuple(loop.slots(parts) for loop in self.loops)

    def run(self, first: int, last: int, slots: Any) -> None:
        for start in range(first, last, self.RUN):
            for loop, own in zip(self.loops, slots, strict=True):
                loop.run(start, min(start + self.RUN, last), own)

    def total(self, slots: Any) -> tuple[Any, ...]:
        return tuple(loop.total(own) for loop, own in zip(self.loops, slots, strict=True))

    def result(self, sums: Slots) -> tuple[Any, ...]:
        raise NotImplementedError("each loop makes its own of its own sums: see total")


class Statistic(ABC, Generic[S]):
    """A sum over rows. A plain function of a block does as well, without a compiled loop."""

    __slots__ = ()

    @abstractmethod
    def __call__(self, block: Block) -> S:
        """The definition."""

    @abstractmethod
    def compiled(self, block: Block, layout: RowLayout) -> CompiledLoop[S] | None:
        """A loop over the parts of a block of this layout, or None: the definition is used."""


@dataclass(frozen=True, slots=True)
class Composed:
    """A statistic of rows seen through a function of blocks."""

    stat: Callable[[Block], Any]
    of_block: Callable[[Block], Block]

    def __call__(self, block: Block) -> Any:
        return on_block(self.stat, self.of_block(block))


@dataclass(frozen=True, slots=True)
class Several:
    """Statistics made in one pass, each with its own result."""

    stats: tuple[Callable[[Block], Any], ...]

    def __call__(self, block: Block) -> Any:
        from fenchel.data.reduction import Totals

        return Totals(*(on_block(stat, block) for stat in self.stats))


def kernel_of(
    stat: Callable[[Block], Any], block: Block, least: int = SMALL
) -> CompiledLoop[Any] | None:
    """The compiled loop of a statistic for a block of at least so many values, if there is one."""
    if not isinstance(stat, Statistic):
        return None
    layout = layout_of(block.X)
    if layout is None or block.n_rows == 0:
        return None
    values = block.X.nnz if layout.order == "csr" else block.X.size
    return stat.compiled(block, layout) if values >= least else None


def on_block(stat: Callable[[Block], Any], block: Block, least: int = SMALL) -> Any:
    """The statistic of a block, on this thread."""
    kernel = kernel_of(stat, block, least)
    if kernel is None:
        return stat(block)
    parts = -(-block.n_rows // kernel.part)
    slots = kernel.slots(parts)
    kernel.run(0, parts, slots)
    return kernel.total(slots)


def tree_of(slots: Slots) -> Slots:
    """The sum over the first axis of each array, in the tree of `TreeSum`."""
    return tuple(_summed(values) for values in slots)


def _summed(values: NDArray[Any]) -> NDArray[Any]:
    """The sum over the first axis, made in place; of many numbers each thread takes some."""
    from fenchel.data.parallel import parallel_map, thread_count

    flat = values.reshape(len(values), -1)
    # Two megabytes for each thread: it adds them in the time that it takes to wake it.
    runs = min(thread_count(), 1 + values.nbytes // 2**21)
    cuts = [flat.shape[1] * i // runs for i in range(runs + 1)]

    def add(i: int) -> None:
        part = flat[:, cuts[i] : cuts[i + 1]]
        while len(part) > 1:
            even = len(part) - len(part) % 2
            part[0:even:2] += part[1:even:2]
            part = part[::2]

    parallel_map(add, range(runs), runs)
    return values[0].copy()
