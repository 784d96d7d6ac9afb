"""Which rows learn, which rows judge, and how much work a table of this size is given."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

from fenchel.app.fault import BadData, BadUsage
from fenchel.app.table.task import Task, find_task

Rows = NDArray[np.intp]

LEAST_OF_CLASS = 8  # rows: then every fold of every fold has the class
LEAST_OF_NUMBER = 20
CONTEST_ROWS = 40_000  # above it, models are compared on a sample of the training rows


@dataclass(frozen=True, eq=False)
class Parts:
    """The rows of a study.

    Attributes
    ----------
    frame : the rows that are used
    numbers : their places in the file, from 1
    task : the task of these rows
    train, test : places in `frame`
    read, without_target : rows of the file, and those left out for want of a target
    rare : classes left out for want of rows, and how many they had
    """

    frame: pl.DataFrame
    numbers: NDArray[np.int64]
    task: Task
    train: Rows
    test: Rows
    read: int
    without_target: int
    rare: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Effort:
    """How many folds, how many sizes of a learning curve, and how many processes."""

    outer: int
    inner: int
    shares: tuple[float, ...]
    n_jobs: int | None


def effort(rows: int, columns: int, classes: int, n_jobs: int | None) -> Effort:
    """Fewer folds where a fit is dear; processes are started where they earn their start."""
    if n_jobs is None and rows * columns * max(classes - 1, 1) > 1_500_000:
        n_jobs = min(os.cpu_count() or 1, 8)
    if classes > 10:  # a plane for each of them
        return Effort(3, 2, (0.2, 0.5, 1.0), n_jobs)
    if rows > 10_000:
        return Effort(5, 3, (0.1, 0.4, 1.0), n_jobs)
    return Effort(5, 3, (0.1, 0.325, 0.55, 0.775, 1.0), n_jobs)


def parted(frame: pl.DataFrame, task: Task, test_share: float, seed: int) -> Parts:
    """The rows that have a target, less classes too rare to be judged, in two parts.

    The test part is drawn at random with the shares of the classes kept, and is locked: it is
    looked at once, when everything has been chosen.
    """
    place = "row"
    while place in frame.columns:
        place += "_"
    kept = task.kept(frame.with_row_index(place, offset=1))
    numbers = kept[place].to_numpy().astype(np.int64)
    kept = kept.drop(place)
    kept, numbers, task, rare = _without_rare(kept, numbers, task)
    strata = None
    if task.kind == "number" and kept.height < LEAST_OF_NUMBER:
        raise BadData(
            f"the table has {_rows(kept.height)} with a target, and at least {LEAST_OF_NUMBER} are "
            "needed to compare models: give it more rows"
        )
    if task.kind != "number":
        strata = task.codes(kept)
        test_share = _share(strata, task, test_share)
    everything = np.arange(kept.height)
    train, test = train_test_split(
        everything, test_size=test_share, random_state=seed, shuffle=True, stratify=strata
    )
    dropped = frame.height - kept.height - sum(count for _, count in rare)
    return Parts(kept, numbers, task, np.sort(train), np.sort(test), frame.height, dropped, rare)


def _share(strata: NDArray[Any], task: Task, asked: float) -> float:
    """The share of the test part, large enough to hold two rows of every class."""
    counts = np.bincount(strata, minlength=len(task.classes))
    least = int(counts.min())
    if least * (1.0 - asked) < LEAST_OF_CLASS - 2:
        name = task.classes[int(counts.argmin())][:60]
        raise BadUsage(
            f"a test share of {asked:g} leaves fewer than {LEAST_OF_CLASS - 2} of the {least} rows "
            f"of class '{name}' to learn from: give a smaller one"
        )
    return max(asked, 2.0 / least)


def _without_rare(
    kept: pl.DataFrame, numbers: NDArray[np.int64], task: Task
) -> tuple[pl.DataFrame, NDArray[np.int64], Task, tuple[tuple[str, int], ...]]:
    """The rows of classes with enough of them; two classes cannot do without either."""
    if task.kind == "number" or task.target is None:
        return kept, numbers, task, ()
    codes = task.codes(kept)
    counts = np.bincount(codes, minlength=len(task.classes))
    few = counts < LEAST_OF_CLASS
    if not few.any():
        return kept, numbers, task, ()
    rare = tuple((task.classes[k], int(counts[k])) for k in np.flatnonzero(few))
    if len(task.classes) - len(rare) < 2:
        name, count = rare[0]
        raise BadData(
            f"the class '{name[:60]}' of the target '{task.target}' has {_rows(count)}, and "
            f"at least {LEAST_OF_CLASS} of each of two classes are needed to compare models: "
            "give it more rows"
        )
    good = ~few[codes]
    kept = kept.filter(pl.Series(good))
    fewer = find_task(kept, task.target)
    if fewer.kind == "number":  # whole numbers that stay the classes they were
        fewer = find_task(kept, task.target, task.kind)
    return kept, numbers[good], replace(fewer, reason=task.reason, notes=task.notes), rare


def folds_of(task: Task, y: NDArray[Any], count: int, seed: int) -> list[tuple[Rows, Rows]]:
    """Shuffled folds, stratified for classes: one list for every model."""
    kind = KFold if task.kind == "number" else StratifiedKFold
    return list(kind(count, shuffle=True, random_state=seed).split(np.zeros(len(y)), y))


def splitter_of(task: Task, count: int, seed: int) -> Any:
    """The same as a rule, for folds inside of folds."""
    kind = KFold if task.kind == "number" else StratifiedKFold
    return kind(count, shuffle=True, random_state=seed)


def sampled(task: Task, y: NDArray[Any], seed: int) -> Rows:
    """The training rows that models are compared on: all of them, or a sample."""
    n = len(y)
    if n <= CONTEST_ROWS:
        return np.arange(n)
    strata = None if task.kind == "number" else y
    if strata is not None and np.bincount(strata).min() * CONTEST_ROWS < LEAST_OF_CLASS * n:
        # A class would vanish from a sample: its rows stay, the others are drawn.
        counts = np.bincount(strata)
        rare = counts[strata] * CONTEST_ROWS < LEAST_OF_CLASS * n
        rng = np.random.default_rng(seed)
        others = rng.choice(np.flatnonzero(~rare), CONTEST_ROWS - int(rare.sum()), replace=False)
        return np.sort(np.concatenate([np.flatnonzero(rare), others]))
    found, _ = train_test_split(
        np.arange(n), train_size=CONTEST_ROWS, random_state=seed, stratify=strata
    )
    return np.sort(found)


def _rows(count: int) -> str:
    return f"{count} row{'' if count == 1 else 's'}"
