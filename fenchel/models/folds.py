"""Folds of a classification table: rows to fit on, and scores of many points on the others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import host
from fenchel.data.blocks import Block, Blocks, InMemory, Totals
from fenchel.data.convoy import View
from fenchel.data.design import Point, forward
from fenchel.data.table import follow

Floats = NDArray[np.float64]


class Fold(ABC):
    """A part to fit, as a view that gives no weight to the other rows, and a part to judge."""

    train: View
    test: Blocks

    @abstractmethod
    def scores(self, estimator: Any, points: Sequence[Point], scorer: Any) -> list[float]:
        """The judgement of each point on the test part; scorer None is accuracy."""


@dataclass(frozen=True)
class MemoryFold(Fold):
    """A fold of rows in memory: any scorer of scikit-learn."""

    train: View
    test: Blocks

    def scores(self, estimator: Any, points: Sequence[Point], scorer: Any) -> list[float]:
        if scorer is None:
            return accuracies(self.test, points)
        whole = self.test.gather()
        classes = estimator.classes_
        codes = host(whole.y)
        codes = codes if len(classes) > 2 else (codes > 0)
        weight = {} if whole.weight is None else {"sample_weight": host(whole.weight)}
        judged = []
        for w, b in points:
            judge = _Judge(classes, np.atleast_2d(w.T), np.atleast_1d(b), type(estimator))
            judged.append(
                float(scorer(judge.model(), whole.X, classes[codes.astype(int)], **weight))
            )
        return judged


@dataclass(frozen=True)
class _Judge:
    """A fitted classifier around a point, for scorers that ask for one."""

    classes: NDArray[Any]
    coef: Floats
    intercept: Floats
    kind: type

    def model(self) -> Any:
        model = self.kind()
        model.classes_, model.coef_, model.intercept_ = self.classes, self.coef, self.intercept
        model.n_features_in_ = self.coef.shape[1]
        return model


def memory_folds(blocks: Blocks, splitter: Any) -> list[Fold]:
    """scikit-learn's splits of rows held in memory."""
    whole = blocks.gather()
    target = whole.y
    assert target is not None
    y = host(target)

    def part(rows: NDArray[Any]) -> Blocks:
        weight = None if whole.weight is None else whole.weight[rows]
        return InMemory(Block(0, whole.X[rows], target[rows], weight), blocks.names)

    folds: list[Fold] = []
    for train, test in splitter.split(np.zeros((len(y), 1)), y):
        times = np.bincount(np.arange(len(y))[train], minlength=len(y))  # a row may come twice
        folds.append(MemoryFold(_weighing(times), part(test)))
    return folds


def _weighing(times: NDArray[Any]) -> View:
    """Rows seen as many times as `times` says."""

    def view(block: Block) -> Block:
        here = times[block.start : block.start + block.n_rows]
        return _reweighted(block, here)

    return view


def _reweighted(block: Block, factor: NDArray[Any]) -> Block:
    weight = follow(factor.astype(np.float64), block.X)
    if block.weight is not None:
        weight = weight * block.weight
    return Block(block.start, block.X, block.y, weight)


@dataclass(frozen=True)
class StreamFold(Fold):
    """A fold of rows that stay where they are: weight zero outside it. Accuracy only."""

    train: View
    test: Blocks

    def scores(self, estimator: Any, points: Sequence[Point], scorer: Any) -> list[float]:
        if scorer is not None:
            raise ValueError(
                "scoring must be None (accuracy) for tables that stay on disk or on a cluster"
            )
        return accuracies(self.test, points)


def accuracies(test: Blocks, points: Sequence[Point]) -> list[float]:
    """The share of weight put into the right class, for all points in one pass."""
    W = np.stack([p[0] for p in points], axis=-1)  # (d, P) or (d, K, P)
    B = np.stack([np.asarray(p[1], dtype=np.float64) for p in points], axis=-1)

    def stat(block: Block) -> Totals:
        y = host(block.y)
        flat = W.reshape(len(W), -1)
        z = host(forward(block.X, flat)).reshape(len(y), *W.shape[1:]) + B
        right = (z > 0) == (y > 0)[:, None] if W.ndim == 2 else z.argmax(axis=1) == y[:, None]
        s = np.ones(len(y)) if block.weight is None else host(block.weight)
        return Totals(s @ right, float(s.sum()))

    hits, total = test.reduce(stat)
    return [float(h / total) for h in hits]


def stratified_folds(blocks: Blocks, n_classes: int, cv: Any) -> list[Fold]:
    """The folds of scikit-learn's StratifiedKFold without shuffling, for rows never gathered.

    Of each class in row order, the first share goes to fold 0, the next to fold 1, and so on: a
    row's fold follows from its rank in its class, and that from the counts of earlier blocks.
    """
    if not (cv is None or isinstance(cv, int)):
        raise ValueError("cv must be None or an int for tables that stay on disk or on a cluster")
    k = 5 if cv is None else int(cv)
    counts = blocks.reduce(lambda block: _Ledger(((block.start, _count(block, n_classes)),)))
    before: dict[int, NDArray[np.int64]] = {}
    total = np.zeros(n_classes, dtype=np.int64)
    for start, count in sorted(counts, key=lambda entry: entry[0]):
        before[start] = total.copy()
        total = total + count
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

    def view(number: int, inside: bool) -> View:
        return lambda block: _reweighted(block, (fold_of(block) == number) == inside)

    return [StreamFold(view(i, False), blocks.map(view(i, True))) for i in range(k)]


class _Ledger(tuple[Any, ...]):
    """Entries of many blocks side by side."""

    __slots__ = ()

    def __add__(self, other: Any) -> _Ledger:
        return _Ledger((*self, *other))


def _codes(block: Block) -> NDArray[np.int64]:
    y = host(block.y)
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
