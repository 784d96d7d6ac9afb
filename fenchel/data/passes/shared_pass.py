"""Several computations over one table, whose passes are made together.

Each runs in a thread of its own and sees the table through a view of its own. When all of them
wait for a pass, one pass over the rows serves them all: a block is fetched from memory once, and
stays in the cache while every statistic looks at it. The sums are those of separate passes, bit
for bit, since each statistic still meets the same blocks and merges in the same tree.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, TypeVar

from fenchel.data.blocks import Block, Blocks
from fenchel.data.reduction import Statistic
from fenchel.data.statistic import Composed, Several

T = TypeVar("T")
View = Callable[[Block], Block]
ABREAST = 16  # more jobs gain nothing from a block in the cache, and each needs a thread


class SharedPass:
    """Runs jobs side by side over a table; `run` returns when the last is done."""

    def __init__(self, base: Blocks) -> None:
        self.base = base
        self._turn = threading.Condition()
        self._asked: dict[int, Callable[[Block], Statistic]] = {}
        self._answers: dict[int, Any] = {}
        self._running = 0
        self._failure: BaseException | None = None

    def run(self, jobs: Sequence[Callable[[Blocks], T]], views: Sequence[View]) -> list[T]:
        """jobs[k] applied to the table as views[k] shows it, ABREAST of them at a time."""
        done: list[T] = []
        for first in range(0, len(jobs), ABREAST):
            some = slice(first, first + ABREAST)
            done += self._abreast(jobs[some], views[some])
        return done

    def _abreast(self, jobs: Sequence[Callable[[Blocks], T]], views: Sequence[View]) -> list[T]:
        self._running = len(jobs)
        with ThreadPoolExecutor(len(jobs)) as pool:
            futures = [
                pool.submit(copy_context().run, self._job, job, PassView(self, k, view))
                for k, (job, view) in enumerate(zip(jobs, views, strict=True))
            ]
            try:
                self._serve()
            except BaseException as failure:
                with self._turn:
                    self._failure = failure
                    self._turn.notify_all()
                raise
            return [future.result() for future in futures]

    def _job(self, job: Callable[[Blocks], T], blocks: Blocks) -> T:
        try:
            return job(blocks)
        finally:
            with self._turn:
                self._running -= 1
                self._turn.notify_all()

    def _serve(self) -> None:
        while True:
            with self._turn:
                self._turn.wait_for(lambda: len(self._asked) == self._running)
                if not self._running:
                    return
                asked = sorted(self._asked.items())
            sums = self.base.reduce(Several(tuple(stat for _, stat in asked)))
            with self._turn:
                self._answers.update(zip((k for k, _ in asked), sums, strict=True))
                self._asked.clear()
                self._turn.notify_all()

    def reduce(self, member: int, stat: Callable[[Block], Statistic]) -> Statistic:
        """What one job's pass gives, once every other job has asked for one too."""
        with self._turn:
            self._asked[member] = stat
            self._turn.notify_all()
            self._turn.wait_for(lambda: member in self._answers or self._failure is not None)
            if self._failure is not None:
                raise RuntimeError("a pass shared with others has failed") from self._failure
            return self._answers.pop(member)


class PassView(Blocks):
    """The table of a convoy as one of its jobs sees it."""

    def __init__(self, convoy: SharedPass, member: int, view: View) -> None:
        base = convoy.base
        self._convoy, self._member, self._view = convoy, member, view
        self.n_rows, self.n_cols, self.dtype = base.n_rows, base.n_cols, base.dtype
        self.names, self.classes = base.names, base.classes

    @property
    def local(self) -> bool:
        return self._convoy.base.local

    @property
    def sparse(self) -> bool:
        return self._convoy.base.sparse

    @property
    def longest(self) -> int:
        return self._convoy.base.longest

    def __iter__(self) -> Iterator[Block]:
        return map(self._view, self._convoy.base)

    def of_first(self, fn: Callable[[Block], Any]) -> Any:
        return self._convoy.base.of_first(lambda block: fn(self._view(block)))

    def reduce(self, stat: Callable[[Block], Statistic]) -> Statistic:
        return self._convoy.reduce(self._member, Composed(stat, self._view))
