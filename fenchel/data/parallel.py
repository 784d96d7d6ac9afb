"""Threads of a pass: how many, with BLAS on one thread each, in ranges or in order."""

from __future__ import annotations

import itertools
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import lru_cache
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from fenchel.data.reduction import Statistic
from fenchel.data.statistic import CompiledLoop

_THREADS: ContextVar[int | None] = ContextVar("threads", default=None)
# Rows of an array that a thread takes at once in `by_rows`: half a millisecond of exponentials.
ROWS_OF_PART = 2**14


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


def map_ordered(
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


def parallel_map(
    work: Callable[[Any], Any], items: Sequence[Any], workers: int | None = None
) -> list[Any]:
    """[work(item) for item in items], each item by the thread that is free next.

    For many short pieces of work: a thread takes its next item by one step of a counter, where the
    future of an executor costs some 30 microseconds and two switches of threads.
    """
    workers = min(thread_count() if workers is None else workers, len(items))
    if workers <= 1:
        return [work(item) for item in items]
    results: list[Any] = [None] * len(items)
    numbers, stopped = itertools.count(), threading.Event()

    def take_turns() -> None:
        _THREADS.set(1)  # as in `_alone`
        try:
            while not stopped.is_set() and (i := next(numbers)) < len(items):
                results[i] = work(items[i])
        except BaseException:
            stopped.set()
            raise

    def run(*_: Any) -> None:  # in the caller's context, so that numpy.errstate reaches it
        context.copy().run(take_turns)

    context = copy_context()
    _on_range_workers(run, range(workers + 1), None)
    return results


def row_slices(n: int, rows: int = 2**17) -> list[slice]:
    """Runs of rows of a vector, by default a megabyte of float64 each: worth a thread's while."""
    return [slice(first, min(first + rows, n)) for first in range(0, n, rows)]


def by_rows(function: Callable[[Any], Any], values: Any, rows: int = ROWS_OF_PART) -> Any:
    """function(values), of arrays whose rows do not depend on each other: those of numpy that are
    long in parts of fixed length, by all threads, so that no bit depends on how many there are."""
    n = len(values)
    if not isinstance(values, np.ndarray) or n <= rows:
        return function(values)
    first_part, *others = row_slices(n, rows)
    first = function(values[first_part])
    out = np.empty((n, *first.shape[1:]), first.dtype)
    out[first_part] = first

    def work(part: slice) -> None:
        out[part] = function(values[part])

    parallel_map(work, others)
    return out


def in_ranges(kernel: CompiledLoop[Any], n_rows: int) -> Any:
    """A compiled statistic of some rows: each thread makes one call for a range of parts.

    A call holds no interpreter, so that threads do not wait for each other; the parts' sums meet in
    the fixed tree.
    """
    parts = -(-n_rows // kernel.part)
    slots = kernel.slots(parts)
    workers = min(thread_count(), -(-parts // kernel.least_parts))
    cuts = [parts * i // workers for i in range(workers + 1)]
    # A product inside a range runs on that range's thread: split further its bits would depend on
    # how many threads BLAS has, and each range would wake all of them.
    with one_blas_thread():
        _on_range_workers(kernel.run, cuts, slots)
    return kernel.total(slots)


def _on_range_workers(run: Callable[..., None], cuts: Sequence[int], slots: Any) -> None:
    """run(first, last, slots) for each range between two cuts, the first on the thread that asks.
    Returns when all have ended, and raises the failure of the first that failed."""
    ended: Ended = SimpleQueue()
    workers = len(cuts) - 1
    tasks = _range_workers(os.getpid()).ready(workers - 1)
    for i in range(1, workers):
        tasks.put((run, cuts[i], cuts[i + 1], slots, ended))
    try:
        run(cuts[0], cuts[1], slots)
    finally:  # the slots must not be written to after this call
        failures = dict(ended.get() for _ in range(1, workers))
    for first in sorted(failures):
        failure = failures[first]
        if failure is not None:
            raise failure


Ended = SimpleQueue[tuple[int, BaseException | None]]
Range = tuple[Callable[..., None], int, int, Any, Ended]


class _RangeWorkers:
    """Threads that wait for ranges of a compiled pass.

    Sixteen futures of an executor take half a millisecond to hand out and to collect, as long as
    many a pass itself; two queues take a tenth of that.
    """

    def __init__(self) -> None:
        self._lock, self._count = threading.Lock(), 0
        self._tasks: SimpleQueue[Range] = SimpleQueue()

    def ready(self, count: int) -> SimpleQueue[Range]:
        """The queue of tasks, with so many threads behind it."""
        with self._lock:
            while self._count < count:
                self._count += 1
                threading.Thread(target=_serve, args=(self._tasks,), daemon=True).start()
        return self._tasks


def _serve(tasks: SimpleQueue[Range]) -> None:
    while True:
        run, first, last, slots, ended = tasks.get()
        failure = None
        try:
            run(first, last, slots)
        except BaseException as error:  # raised again by the thread that waits
            failure = error
        ended.put((first, failure))
        del run, slots, ended, failure  # a table must not live on until the next pass


@lru_cache(maxsize=2)
def _range_workers(process: int) -> _RangeWorkers:
    return _RangeWorkers()


def copied(values: NDArray[Any], dtype: Any = None) -> NDArray[Any]:
    """A contiguous copy in rows, perhaps in another type, made by all threads."""
    out = np.empty(values.shape, dtype or values.dtype)
    n, workers = len(values), min(thread_count(), out.nbytes // 2**21 + 1)
    if workers <= 1:
        out[...] = values
        return out

    def work(i: int) -> None:
        rows = slice(n * i // workers, n * (i + 1) // workers)
        out[rows] = values[rows]

    parallel_map(work, range(workers), workers)
    return out
