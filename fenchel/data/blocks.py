"""The data seam: a table as row blocks, and the one verb that sums over them.

`Blocks.reduce(statistic)` is the only pass over the data there is. Partial results meet in a
binary tree whose shape depends on the number of blocks alone, so the answer has the same bits
for any number of threads or workers and any order of arrival.
"""

from __future__ import annotations

import os
import sys
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from fenchel.data.arrays import is_sparse
from fenchel.data.rows import Block, column_label, every, join
from fenchel.data.tree import Merge, Statistic, Totals, tree_sum

__all__ = [
    "Block",
    "Blocks",
    "InMemory",
    "MappedBlocks",
    "Merge",
    "Numbered",
    "Totals",
    "threads",
    "tree_sum",
]
_THREADS: ContextVar[int | None] = ContextVar("threads", default=None)


@contextmanager
def threads(n: int) -> Iterator[None]:
    """Use n threads for the passes over the data inside this context (default: every core)."""
    if n < 1:
        raise ValueError(f"threads must be at least 1, got {n}")
    token = _THREADS.set(n)
    try:
        yield
    finally:
        _THREADS.reset(token)


def thread_count() -> int:
    """The number of threads the next pass will use."""
    chosen = _THREADS.get()
    if chosen is not None:
        return chosen
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


@lru_cache(maxsize=1)
def _blas() -> tuple[list[Any], list[Any]]:
    """The loaded BLAS libraries: those whose setting is the process's, and the thread's own."""
    import scipy.linalg  # noqa: F401  (its BLAS must be loaded before the controller looks)

    found = ThreadpoolController().select(user_api="blas").lib_controllers
    own = [lib for lib in found if lib.info().get("threading_layer") == "openmp"]
    return [lib for lib in found if lib not in own], own


def _set_blas(lib: Any, count: int) -> None:
    # threadpoolctl 3.7 lets one thread alone change OpenBLAS; a pass may begin in any thread.
    getattr(lib, "_real_set_num_threads", lib.set_num_threads)(count)


@lru_cache(maxsize=1)
def keep_pages() -> None:
    """Let the C library keep the memory of a block's temporary arrays from block to block.

    glibc returns free memory beyond twice the largest array freed so far; each block would then
    fault its temporaries in anew, which costs more than the arithmetic. One larger array, made
    and freed, raises that mark to 32 MiB.
    """
    np.empty(2**24, np.uint8)


class _OneBlasThread:
    """The setting of the process: the first pass to begin sets it and the last to end restores
    it, so passes that overlap in several threads cannot restore it wrongly."""

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._before: list[tuple[Any, int]] = []

    def enter(self, libs: list[Any]) -> None:
        with self._lock:
            if self._inside == 0:
                self._before = [(lib, lib.get_num_threads()) for lib in libs]
                for lib in libs:
                    _set_blas(lib, 1)
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                for lib, count in self._before:
                    _set_blas(lib, count)


_ONE_BLAS_THREAD = _OneBlasThread()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Matrix products run on the thread that asks for them, as long as this lasts."""
    shared, own = _blas()
    before = [(lib, lib.get_num_threads()) for lib in own]
    for lib in own:
        _set_blas(lib, 1)
    _ONE_BLAS_THREAD.enter(shared)
    try:
        yield
    finally:
        _ONE_BLAS_THREAD.leave()
        for lib, count in before:
            _set_blas(lib, count)


@contextmanager
def one_thread() -> Iterator[None]:
    """Compiled loops of other libraries too run on one thread: theirs add up in any order."""
    loops = ThreadpoolController().limit(limits=1, user_api="openmp")
    with one_blas_thread(), loops:
        yield


@lru_cache(maxsize=4)
def _pool(process: int, workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, thread_name_prefix="fenchel")


def _alone(work: Callable[[Any], Statistic], item: Any) -> Statistic:
    # A pass begun inside a statistic runs on the thread it is in: were it to wait for the pool,
    # every thread could wait for the others.
    _THREADS.set(1)
    return work(item)


def ordered(
    work: Callable[[Any], Statistic], items: Sequence[Any], workers: int
) -> Iterator[Statistic]:
    """work(item) for each item, in order, on a pool that runs at most `workers` ahead."""
    if workers <= 1 or len(items) <= 1:
        yield from map(work, items)
        return
    pool = _pool(os.getpid(), workers)
    waiting: deque[Future[Statistic]] = deque()
    try:
        for item in items:
            # In the caller's context, so that numpy.errstate reaches the threads.
            waiting.append(pool.submit(copy_context().run, _alone, work, item))
            if len(waiting) > workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


class Blocks(ABC):
    """A table as row blocks that can be read again: two passes give the same rows in order."""

    n_rows: int
    n_cols: int
    dtype: np.dtype[Any]
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

    def map(self, fn: Callable[[Block], Block], n_cols: int | None = None) -> Blocks:
        """The table with fn applied to each block, lazily, inside the next pass."""
        return MappedBlocks(self, fn, self.n_cols if n_cols is None else n_cols)

    def column(self, j: int) -> str:
        """The j-th column as error messages call it."""
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
        return join(self.reduce(lambda block: (block,)))

    def sample(self, rows: int) -> Blocks:
        """About `rows` rows, evenly spaced through the table, held in memory."""
        step = max(1, self.n_rows // max(rows, 1))
        # A pass like any other, so that rows on a cluster are chosen where they lie.
        chosen: tuple[Block, ...] = self.reduce(lambda block: (every(block, step),))
        return InMemory(join(chosen), self.names)


def free_memory() -> float:
    """Bytes that can be allocated without swapping; infinity where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:  # MemFree would leave out the page cache, which gives way
                if line.startswith("MemAvailable:"):
                    return 1024.0 * int(line.split()[1])
    except OSError:
        pass
    return float("inf")


class MappedBlocks(Blocks):
    """A table seen through a function of its blocks."""

    def __init__(self, base: Blocks, fn: Callable[[Block], Block], n_cols: int) -> None:
        self.base, self.fn = base, fn
        self.n_rows, self.n_cols, self.dtype = base.n_rows, n_cols, base.dtype
        self.names = base.names if n_cols == base.n_cols else None
        self.classes = base.classes

    @property
    def local(self) -> bool:
        return self.base.local

    @property
    def sparse(self) -> bool:
        return self.base.sparse

    def __iter__(self) -> Iterator[Block]:
        return map(self.fn, self.base)

    def reduce(self, stat: Callable[[Block], Statistic]) -> Statistic:
        fn = self.fn
        return self.base.reduce(lambda block: stat(fn(block)))


def block_rows(n_rows: int, n_cols: int, row_bytes: float) -> int:
    """Rows per block: near two megabytes, so that a second look at it comes from the cache, yet
    several times the columns, so that a block's statistic is smaller than the block."""
    rows = max(2**21 / max(row_bytes, 1.0), 2.0 * min(n_cols, 4096), 64.0)
    return min(1 << round(np.log2(rows)), max(n_rows, 1))


class Numbered(Blocks):
    """A table whose blocks this process fetches by number: a pass runs on its own threads."""

    rows: int  # in every block but the last

    @abstractmethod
    def block(self, i: int) -> Block: ...

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
        return stat(self.block(i))

    def __iter__(self) -> Iterator[Block]:
        return map(self.block, range(self.count))

    def reduce(self, stat: Callable[[Block], Statistic]) -> Statistic:
        count, workers = self.count, self.workers
        # Whole subtrees go to the threads: the same tree, an eighth of the hand-overs.
        run = 1
        while run * workers * 8 < count:
            run *= 2

        def subtree(first: int) -> Statistic:
            with one_blas_thread():
                return tree_sum(self.visit(i, stat) for i in range(first, min(first + run, count)))

        keep_pages()
        with one_blas_thread():
            return tree_sum(ordered(subtree, range(0, count, run), workers))


class InMemory(Numbered):
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
        else:  # a device wants few large launches
            rows = max(2**26 // max(8 * self.n_cols, 1), 1)
        self.rows = max(1, min(rows, self.n_rows))
        self.dtype = np.dtype(str(X.dtype).removeprefix("torch."))
        self._sparse_parts = self._cut_sparse() if is_sparse(X) else None

    @property
    def local(self) -> bool:
        return True

    @property
    def sparse(self) -> bool:
        return self._sparse_parts is not None

    @property
    def workers(self) -> int:
        device = self._sparse_parts is None and not isinstance(self.whole.X, np.ndarray)
        return 1 if device else thread_count()

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
        y = None if self.whole.y is None else self.whole.y[rows]
        weight = None if self.whole.weight is None else self.whole.weight[rows]
        return Block(self.whole.start + lo, X, y, weight)

    def gather(self) -> Block:
        return self.whole

    def sample(self, rows: int) -> Blocks:
        step = max(1, self.n_rows // max(rows, 1))
        return InMemory(every(self.whole, step), self.names)
