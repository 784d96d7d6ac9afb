"""Where dask keeps rows, and passes over them: in this process, or on the workers of a cluster."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from fenchel.data.blocks import Block, free_memory, map_ordered, thread_count, threads
from fenchel.data.in_memory import ArrayBlocks
from fenchel.data.reduction import Statistic, tree_sum

Delayed = Any  # a value that dask will compute
Node = tuple[int, int, Statistic]  # (k, i, sum): that of chunks i·2ᵏ … (i+1)·2ᵏ - 1
_NEAR = ("tcp://127.0.0.1:", "inproc://")  # addresses of workers on this machine
_FULL = 0.6  # of a worker's memory: above, dask moves values to its disk


class Chunk(Protocol):
    """The rows of one chunk, computed."""

    def blocks(self) -> ArrayBlocks: ...


class ChunkMemory(ABC):
    """Chunks that have been computed and stay where they are."""

    rows: Sequence[Any]  # a chunk each, or what stands for it on the cluster

    @abstractmethod
    def room(self) -> float:
        """Bytes that may be kept here beside what is here already."""

    @abstractmethod
    def has(self, collection: Any) -> bool:
        """Whether all chunks of a collection are here, so that nothing of it is yet to compute."""

    @abstractmethod
    def keep(self, rows: Sequence[Delayed]) -> ChunkMemory:
        """These chunks computed, and kept in such a place."""

    @abstractmethod
    def reduce(self, stat: Callable[[Block], Statistic]) -> Statistic:
        """Σ over the blocks of all chunks, merged in the fixed tree."""

    @abstractmethod
    def __iter__(self) -> Iterator[Block]: ...


def memory() -> ChunkMemory:
    """The memory of the workers, if a cluster computes what dask is given now; else our own."""
    from dask.base import get_scheduler

    get = get_scheduler()
    if inspect.ismethod(get) and type(get.__self__).__module__.startswith("distributed"):
        return Workers(get.__self__)
    return LocalMemory()


def _nodes(collection: Any) -> list[Any]:
    """The nodes of a collection's graph, without those that only give another node a new name."""
    nodes = dict(collection.__dask_graph__()).values()
    return [node for node in nodes if type(node).__name__ != "Alias"]


@dataclass(frozen=True, slots=True)
class LocalMemory(ChunkMemory):
    """Chunks in this process: a pass runs on its own threads."""

    rows: Sequence[Chunk] = ()

    def room(self) -> float:
        return free_memory() / 2  # the other half for what a chunk is made of, and for the fit

    def has(self, collection: Any) -> bool:
        from dask.core import istask

        return not any(istask(node) for node in _nodes(collection))

    def keep(self, rows: Sequence[Delayed]) -> LocalMemory:
        from dask import compute

        return LocalMemory(compute(*rows))

    def reduce(self, stat: Callable[[Block], Statistic]) -> Statistic:
        # Chunk by chunk with all threads inside, where there are too few to share them out.
        count = thread_count()
        workers = count if len(self.rows) >= 2 * count else 1
        return tree_sum(map_ordered(lambda chunk: chunk.blocks().reduce(stat), self.rows, workers))

    def __iter__(self) -> Iterator[Block]:
        for chunk in self.rows:
            yield from chunk.blocks()


@dataclass(frozen=True, slots=True)
class _Task:
    """The chunks that one task of a pass sums over, on this worker with so many threads."""

    worker: str
    threads: int
    numbers: list[int]


@dataclass(frozen=True, slots=True)
class Workers(ChunkMemory):
    """Chunks on the workers of a cluster: a pass is one task for each thread of a worker.

    A task adds up the chunks that lie with it as far as they are neighbours in the fixed tree,
    and one task more does the rest, so the bits do not depend on where the chunks lie. What a
    lost worker held is computed again by dask.
    """

    client: Any
    rows: Sequence[Any] = ()  # futures
    tasks: Sequence[_Task] = field(default=(), repr=False)

    @property
    def near(self) -> bool:
        """Whether totals come straight from a worker: by way of the scheduler takes four times as
        long, but not every cluster lets its workers be reached from outside."""
        return all(task.worker.startswith(_NEAR) for task in self.tasks)

    def room(self) -> float:
        free = self.client.run(_free)
        # Without a worker yet (they may come on demand) nothing is known against it.
        return float(sum(free.values())) if free else float("inf")

    def has(self, collection: Any) -> bool:
        from distributed import Future

        return all(isinstance(node, Future) for node in _nodes(collection))

    def keep(self, rows: Sequence[Delayed]) -> Workers:
        from distributed import wait

        futures = self.client.compute(list(rows))
        wait(futures)
        places = self.client.who_has(futures)
        held: dict[str, list[int]] = {}
        for number, future in enumerate(futures):
            # A chunk that failed lies nowhere: the first pass says why.
            held.setdefault(next(iter(places.get(future.key, ())), ""), []).append(number)
        return Workers(self.client, futures, list(_tasks(held, self.client.nthreads())))

    def reduce(self, stat: Callable[[Block], Statistic]) -> Statistic:
        parts = [
            self.client.submit(
                _sums,
                stat,
                task.numbers,
                [self.rows[i] for i in task.numbers],
                task.threads,
                pure=False,
                # Not only there: should that worker be lost, another one does it.
                **({"workers": [task.worker], "allow_other_workers": True} if task.worker else {}),
            )
            for task in self.tasks
        ]
        total = self.client.submit(_total, parts, pure=False)
        try:
            return self.client.gather(total, direct=self.near)
        except BaseException:
            self.client.cancel([total, *parts])
            raise

    def __iter__(self) -> Iterator[Block]:
        for future in self.rows:
            yield from future.result().blocks()


def _free(dask_worker: Any) -> float:
    """Bytes that this worker may hold before it begins to move values to its disk."""
    limit = dask_worker.memory_manager.memory_limit
    if not limit:
        return free_memory() / 2
    return max(0.0, _FULL * limit - dask_worker.monitor.get_process_memory())


def _tasks(held: dict[str, list[int]], counts: dict[str, int]) -> Iterator[_Task]:
    """Runs of chunks: one for each thread of the worker that they lie on."""
    for worker, numbers in held.items():
        count = counts.get(worker, 1)
        parts = min(count, len(numbers))
        for k in range(parts):
            run = numbers[k * len(numbers) // parts : (k + 1) * len(numbers) // parts]
            yield _Task(worker, max(1, count // parts), run)


def _push(stack: list[Node], node: Node) -> None:
    """Put the sum of a node to the right of those on the stack; two siblings make their parent."""
    level, place, part = node
    while place & 1 and stack and stack[-1][:2] == (level, place - 1):
        part = stack.pop()[2] + part
        level, place = level + 1, place >> 1
    stack.append((level, place, part))


def _sums(
    stat: Callable[[Block], Statistic], numbers: list[int], chunks: list[Chunk], count: int
) -> list[Node]:
    """The sums of the largest nodes of the tree that these chunks fill."""
    stack: list[Node] = []
    with threads(count):
        for number, chunk in zip(numbers, chunks, strict=True):
            _push(stack, (0, number, chunk.blocks().reduce(stat)))
    return stack


def _total(parts: list[list[Node]]) -> Statistic:
    """The sum in the tree of `TreeSum`, from nodes that make up all its chunks."""
    stack: list[Node] = []
    for node in sorted((n for part in parts for n in part), key=lambda n: n[1] << n[0]):
        _push(stack, node)
    total = stack.pop()[2]
    while stack:
        total = stack.pop()[2] + total
    return total
