"""Folds of a table: training rows, and the scores of many points on the held-out rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from array_api_compat import is_torch_array
from numpy.typing import NDArray

from fenchel.data.arrays import to_numpy
from fenchel.data.blocks import Block, Blocks, Totals, thread_count, threads
from fenchel.data.design.block_products import forward
from fenchel.data.design.matrix import Point
from fenchel.data.in_memory import ArrayBlocks
from fenchel.data.intake import as_dtype_of, total_weight
from fenchel.data.passes.shared_pass import SharedPass, View
from fenchel.models.cross_validation.scoring import Scoring
from fenchel.models.estimator import as_numpy

Floats = NDArray[np.float64]
T = TypeVar("T")


class TrainingFold(ABC):
    """A part to fit, as a view that gives no weight to the other rows, and a part to judge."""

    train: View
    test: Blocks

    @abstractmethod
    def scores(self, points: Sequence[Point], scoring: Scoring | None) -> list[float]:
        """The judgement of each point on the test part; None is accuracy."""


@dataclass(frozen=True)
class MemoryFold(TrainingFold):
    """A fold of rows in memory: any scorer of scikit-learn.

    own makes a table of the part to fit alone; rows are the numbers of those to judge.
    """

    train: View
    test: Blocks
    own: Callable[[], Blocks]
    rows: NDArray[np.int64]

    def scores(self, points: Sequence[Point], scoring: Scoring | None) -> list[float]:
        if scoring is None:
            return accuracies(self.test, points)
        return scoring.scores(self.test.gather(), points, self.rows)


def memory_folds(
    blocks: Blocks, splitter: Any, labels: Any = None, judged: Blocks | None = None, **routed: Any
) -> list[MemoryFold]:
    """scikit-learn's splits of rows held in memory; routed goes to the splitter.

    labels: the target as the splitter is to see it, if not as the blocks have it; judged: the same
    rows with the weights to judge by, if those differ.
    """
    whole = blocks.gather()
    y = to_numpy(whole.y) if labels is None else labels
    n = len(y)

    def part(rows: NDArray[Any], of: Blocks) -> Blocks:
        block = of.gather()
        assert block.y is not None
        weight = None if block.weight is None else block.weight[rows]
        return ArrayBlocks(Block(0, block.X[rows], block.y[rows], weight), blocks.names)

    def fitted(rows: NDArray[Any]) -> Blocks:
        found = part(rows, blocks)
        if not total_weight(found) > 0.0:
            raise ValueError("a fold leaves no row with weight to fit: use other folds")
        return found

    folds: list[MemoryFold] = []
    X = as_numpy(whole.X) if is_torch_array(whole.X) else whole.X
    for train, test in splitter.split(X, y, **routed):
        fit, rows = np.arange(n)[train], np.arange(n)[test]
        times = np.bincount(fit, minlength=n)  # a row may come twice
        own = partial(fitted, fit)
        test_part = part(rows, blocks if judged is None else judged)
        folds.append(MemoryFold(_weighing(times), test_part, own, rows))
    return folds


def own_tables(folds: Sequence[MemoryFold], job: Callable[[Blocks], T], n_jobs: Any) -> list[T]:
    """job of each part to fit, held as a table of its own: for solvers that want columns, not
    passes. As many at a time as there are cores, or n_jobs; the answers do not depend on it."""
    if n_jobs == 0:
        raise ValueError(
            "n_jobs=0 has no meaning: give None for every core, or a number of processes"
        )
    cores = thread_count()
    jobs = cores if n_jobs is None else n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)
    jobs = min(jobs, len(folds))
    if jobs == 1:
        return [job(fold.own()) for fold in folds]

    def alone(fold: MemoryFold) -> T:
        with threads(1):
            return job(fold.own())

    with ThreadPoolExecutor(jobs) as pool:
        return [f.result() for f in [pool.submit(copy_context().run, alone, x) for x in folds]]


def trained(
    blocks: Blocks, folds: Sequence[TrainingFold], job: Callable[[Blocks], T], n_jobs: Any = None
) -> list[T]:
    """job of the part to fit of each fold: tables of their own, or side by side over one table
    that stays where it is."""
    held = [fold for fold in folds if isinstance(fold, MemoryFold)]
    if len(held) == len(folds):
        return own_tables(held, job, n_jobs)
    return SharedPass(blocks).run([job] * len(folds), [fold.train for fold in folds])


def _weighing(times: NDArray[Any]) -> View:
    """Rows seen as many times as `times` says."""

    def view(block: Block) -> Block:
        here = times[block.start : block.start + block.n_rows]
        return _reweighted(block, here)

    return view


def _reweighted(block: Block, factor: NDArray[Any]) -> Block:
    weight = as_dtype_of(factor.astype(np.float64), block.X)
    if block.weight is not None:
        weight = weight * block.weight
    return Block(block.start, block.X, block.y, weight)


@dataclass(frozen=True)
class StreamFold(TrainingFold):
    """A fold of rows that stay where they are: weight zero outside it. Accuracy only."""

    train: View
    test: Blocks

    def scores(self, points: Sequence[Point], scoring: Scoring | None) -> list[float]:
        if scoring is not None:
            raise ValueError(
                "scoring must be None (accuracy) for tables that stay on disk or on a cluster"
            )
        return accuracies(self.test, points)


def judgements(
    test: Blocks, points: Sequence[Point], judge: Callable[[Floats, Floats], NDArray[Any]]
) -> list[float]:
    """The weighted mean over the rows of judge(y, z), z (n, P) or (n, K, P) the scores of all P
    points, in one pass."""
    W = np.stack([p[0] for p in points], axis=-1)  # (d, P) or (d, K, P)
    B = np.stack([np.asarray(p[1], dtype=np.float64) for p in points], axis=-1)

    def stat(block: Block) -> Totals:
        y = to_numpy(block.y)
        flat = W.reshape(len(W), -1)
        z = to_numpy(forward(block.X, flat)).reshape(len(y), *W.shape[1:]) + B
        s = np.ones(len(y)) if block.weight is None else to_numpy(block.weight)
        return Totals(s @ judge(y, z), float(s.sum()))

    sums, total = test.reduce(stat)
    if not total > 0.0:
        raise ValueError("a fold has no row with weight to judge by: use fewer folds")
    return [float(part / total) for part in sums]


def accuracies(test: Blocks, points: Sequence[Point]) -> list[float]:
    """The share of weight put into the right class."""

    def right(y: Floats, z: Floats) -> NDArray[Any]:
        return (z > 0) == (y > 0)[:, None] if z.ndim == 2 else z.argmax(axis=1) == y[:, None]

    return judgements(test, points, right)


def squared_errors(test: Blocks, points: Sequence[Point]) -> list[float]:
    """The weighted mean of (y - z)²."""
    return judgements(test, points, lambda y, z: (z - y[:, None]) ** 2)


def stratified_folds(
    blocks: Blocks, n_classes: int, cv: Any, judged: Blocks | None = None
) -> list[TrainingFold]:
    """The folds of scikit-learn's StratifiedKFold without shuffling, for rows never gathered;
    judged as in `memory_folds`.

    Of each class in row order, the first share goes to fold 0, the next to fold 1, and so on: a
    row's fold follows from its rank in its class, and that from the counts of earlier blocks.
    """
    k = _fold_count(cv)
    counts = blocks.reduce(lambda block: _Ledger(((block.start, _count(block, n_classes)),)))
    before: dict[int, NDArray[np.int64]] = {}
    total = np.zeros(n_classes, dtype=np.int64)
    for start, count in sorted(counts, key=lambda entry: entry[0]):
        before[start] = total.copy()
        total = total + count
    if cv is None:
        k = min(k, max(2, int(total.max())))
    if (total < k).all():
        raise ValueError(f"n_splits={k} cannot exceed the members in each class, {total.max()}")
    cuts = np.cumsum(_shares(total, k), axis=0)  # rank thresholds, (k, K)

    def fold_of(block: Block) -> NDArray[np.int64]:
        codes = _codes(block)
        fold = np.empty(len(codes), dtype=np.int64)
        for c in range(n_classes):
            here = np.flatnonzero(codes == c)
            rank = before[block.start][c] + np.arange(len(here))
            fold[here] = np.searchsorted(cuts[:, c], rank, side="right")
        return fold

    return _stream_folds(blocks if judged is None else judged, fold_of, k)


def default_folds(codes: NDArray[Any]) -> int:
    """5, or as many as the largest class has members if those are fewer."""
    return min(5, max(2, int(np.unique(codes, return_counts=True)[1].max())))


def contiguous_folds(blocks: Blocks, cv: Any) -> list[TrainingFold]:
    """The folds of scikit-learn's KFold without shuffling, for rows never gathered: as many rows
    in each as in any other, or one more in the first ones."""
    k, n = _fold_count(cv), blocks.n_rows
    if not 2 <= k <= n:
        raise ValueError(f"cv={k} folds need at least 2 folds and as many rows, got {n} rows")
    cuts = np.cumsum(n // k + (np.arange(k) < n % k))

    def fold_of(block: Block) -> NDArray[np.int64]:
        return np.searchsorted(cuts, block.start + np.arange(block.n_rows), side="right")

    return _stream_folds(blocks, fold_of, k)


def _fold_count(cv: Any) -> int:
    if not (cv is None or isinstance(cv, int)):
        raise ValueError("cv must be None or an int for tables that stay on disk or on a cluster")
    return 5 if cv is None else int(cv)


def _stream_folds(
    judged: Blocks, fold_of: Callable[[Block], NDArray[np.int64]], k: int
) -> list[TrainingFold]:
    def view(number: int, inside: bool) -> View:
        return lambda block: _reweighted(block, (fold_of(block) == number) == inside)

    return [StreamFold(view(i, False), judged.map_targets(view(i, True))) for i in range(k)]


class _Ledger(tuple[Any, ...]):
    """Entries of many blocks side by side."""

    __slots__ = ()

    def __add__(self, other: Any) -> _Ledger:
        return _Ledger((*self, *other))


def _codes(block: Block) -> NDArray[np.int64]:
    y = to_numpy(block.y)
    return y.astype(np.int64) if y.dtype.kind in "iu" else (y > 0).astype(np.int64)


def _count(block: Block, n_classes: int) -> NDArray[np.int64]:
    return np.bincount(_codes(block), minlength=n_classes)


def _shares(total: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Members of each class in each fold, as scikit-learn deals them: every k-th of the sorted.

    Class c fills places [o, o + t) of the sorted labels; fold i takes those that are i modulo k.
    """
    end = np.cumsum(total)
    fold = np.arange(k)[:, None]
    return (end - fold + k - 1) // k - (end - total - fold + k - 1) // k
