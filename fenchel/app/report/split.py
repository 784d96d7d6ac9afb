"""The split of a table: training rows, locked test rows, folds; at random, by group or in time.

Rows of one group stay together (`groups`), or every test row is later than every training row
(`time`), in the locked part and in every fold alike. With neither, rows are drawn at random, and
classes keep their shares.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    train_test_split,
)

from fenchel.app.errors import BadData, BadUsage
from fenchel.app.table.task import Task, find_task, near
from fenchel.app.table.text.cells import days, numbers
from fenchel.data.display.counts import counted

Rows = NDArray[np.intp]
Fold = tuple[Rows, Rows]

LEAST_OF_CLASS = 8  # rows: then every fold of every fold has the class
LEAST_OF_NUMBER = 20
LEAST_GROUPS = 8  # of which the locked part takes two, and five outer folds one each
CONTEST_ROWS = 40_000  # above it, models are compared on a sample of the training rows
_DRAWS = 50  # of groups, of which the one with the shares of all rows is taken


@dataclass(frozen=True)
class Grouping:
    """The column whose values hold rows together, or that orders them; neither: at random."""

    groups: str | None = None
    time: str | None = None

    def __post_init__(self) -> None:
        if self.groups is not None and self.time is not None:
            raise BadUsage("--groups and --time are two ways to split the rows: give one of them")

    @property
    def column(self) -> str | None:
        """The column by which rows are split, which then describes no row."""
        return self.groups or self.time

    def left_out(self, drop: Sequence[str]) -> dict[str, str]:
        """The columns that describe no row, with the reason: those in `drop`, and the one by which
        the rows are split."""
        split = {} if self.column is None else {self.column: "the rows are split by it"}
        return {**split, **dict.fromkeys(drop, "as asked")}

    @property
    def words(self) -> str:
        """How the rows are split."""
        if self.groups is not None:
            return f"by group: all rows of one '{self.groups}' are in the same part"
        if self.time is not None:
            return f"in time: the test rows are the latest by '{self.time}'"
        return "at random"


AT_RANDOM = Grouping()


@dataclass(frozen=True, eq=False)
class Split:
    """The rows of a study.

    Attributes
    ----------
    frame : the rows that are used, in order of time where they are split in time
    numbers : their places in the file, from 1
    task : the task of these rows
    train, test : places in `frame`
    read, without_target, without_time : rows of the file, and those left out for want of a value
    rare : classes left out for want of rows, and how many they had
    by : the column by which they were split, if any
    groups : for each row of `frame` the number of its group; None without groups
    """

    frame: pl.DataFrame
    numbers: NDArray[np.int64]
    task: Task
    train: Rows
    test: Rows
    read: int
    without_target: int
    rare: tuple[tuple[str, int], ...]
    by: Grouping = AT_RANDOM
    groups: NDArray[np.int64] | None = None
    without_time: int = 0

    def folder(self) -> Folder:
        """Draws folds of the training rows."""
        groups = None if self.groups is None else self.groups[self.train]
        return Folder(self.task.kind == "number", groups, self.by.time is not None)


@dataclass(frozen=True, eq=False)
class Folder:
    """Draws folds: at random (stratified for classes), by group, or in time."""

    number: bool
    groups: NDArray[np.int64] | None = None
    ordered: bool = False

    def of(self, rows: Rows) -> Folder:
        """The same for some of the rows."""
        return replace(self, groups=None if self.groups is None else self.groups[rows])

    def splitter(self, count: int, seed: int) -> Any:
        """The folds as a rule, for folds inside of folds."""
        if self.ordered:
            return TimeSeriesSplit(count)
        if self.groups is not None:
            kind = GroupKFold if self.number else StratifiedGroupKFold
            return kind(count, shuffle=True, random_state=seed)
        kind = KFold if self.number else StratifiedKFold
        return kind(count, shuffle=True, random_state=seed)

    def folds(self, y: NDArray[Any], count: int, seed: int) -> list[Fold]:
        """One list of folds for every model."""
        found = list(self.splitter(count, seed).split(np.zeros(len(y)), y, self.groups))
        for fit, test in found:
            if not self.number and len(np.unique(y[fit])) < len(np.unique(y)):
                how = "in order of time" if self.ordered else "by group"
                raise BadData(
                    f"rows split {how} leave a fold of {len(fit)} training rows without one of the "
                    "classes: use fewer, larger groups of time, or split at random"
                )
            assert len(test)
        return found


@dataclass(frozen=True)
class FoldEffort:
    """How many folds, how many sizes of a learning curve, and how many processes."""

    outer: int
    inner: int
    shares: tuple[float, ...]
    n_jobs: int | None


def effort(rows: int, columns: int, classes: int, n_jobs: int | None) -> FoldEffort:
    """Fewer folds where a fit is dear; processes are started where they earn their start."""
    if n_jobs is None and rows * columns * max(classes - 1, 1) > 1_500_000:
        n_jobs = min(os.cpu_count() or 1, 8)
    if classes > 10:  # a plane for each of them
        return FoldEffort(3, 2, (0.2, 0.5, 1.0), n_jobs)
    if rows > 10_000:
        return FoldEffort(5, 3, (0.1, 0.4, 1.0), n_jobs)
    return FoldEffort(5, 3, (0.1, 0.325, 0.55, 0.775, 1.0), n_jobs)


def split_rows(
    frame: pl.DataFrame, task: Task, test_share: float, seed: int, by: Grouping = AT_RANDOM
) -> Split:
    """The rows that have a target, less classes too rare to be judged, in two parts.

    The test part is locked: it is looked at once, when everything has been chosen.
    """
    whole = all_rows(frame, task, by)
    kept, numbers_, task, rare = _without_rare(whole.frame, whole.numbers, task)
    codes = None if task.kind == "number" else task.codes(kept)
    if codes is None and kept.height < LEAST_OF_NUMBER:
        raise BadData(
            f"the table has {counted(kept.height, 'row')} with a target, and at least "
            f"{LEAST_OF_NUMBER} are needed to compare models: give it more rows"
        )
    groups = None
    if by.groups is not None:
        groups = _group_codes(kept[by.groups])
        train, test = _by_group(groups, codes, test_share, seed, by.groups)
    elif by.time is not None:
        train, test = _by_time(kept[by.time], test_share)
    else:
        share = test_share if codes is None else _share(codes, task, test_share)
        train, test = train_test_split(
            np.arange(kept.height), test_size=share, random_state=seed, stratify=codes
        )
    _check_parts(codes, train, test, task, by)
    return replace(
        whole,
        frame=kept,
        numbers=numbers_,
        task=task,
        train=np.sort(train),
        test=np.sort(test),
        rare=rare,
        groups=groups,
    )


def all_rows(frame: pl.DataFrame, task: Task, by: Grouping = AT_RANDOM) -> Split:
    """The rows that have a target, all of them for training."""
    if by.column is not None and by.column not in frame.columns:
        option = "--groups" if by.groups is not None else "--time"
        hint = near(by.column, frame.columns)
        raise BadUsage(f"{option} '{by.column}' is not a column of the table: {hint}")
    if by.column is not None and by.column == task.target:
        raise BadUsage(f"'{by.column}' is the target: rows cannot be split by it")
    place = "row"
    while place in frame.columns:
        place += "_"
    with_target = task.kept(frame.with_row_index(place, offset=1))
    kept, without_time = _in_order(with_target, by.time)
    rows = kept[place].to_numpy().astype(np.int64)
    kept = kept.drop(place)
    return Split(
        frame=kept,
        numbers=rows,
        task=task,
        train=np.arange(kept.height),
        test=np.arange(0),
        read=frame.height,
        without_target=frame.height - with_target.height,
        rare=(),
        by=by,
        groups=None if by.groups is None else _group_codes(kept[by.groups]),
        without_time=without_time,
    )


def _in_order(frame: pl.DataFrame, time: str | None) -> tuple[pl.DataFrame, int]:
    """The rows in order of time, and how many had none."""
    if time is None:
        return frame, 0
    moments = _moments(frame[time])
    there = moments.is_not_null()
    if not there.any():
        first = next((str(value) for value in frame[time].drop_nulls().head(1)), "nothing")
        raise BadData(
            f"--time '{time}' holds neither numbers nor dates that can be read ('{first[:40]}'): "
            "write dates as 2024-12-31, or choose another column"
        )
    kept = frame.filter(there)
    order = moments.filter(there).arg_sort()
    return kept[order], frame.height - kept.height


def _moments(column: pl.Series) -> pl.Series:
    """Dates and numbers as numbers in the order of time."""
    if column.dtype in (pl.Date, pl.Datetime):
        return days(column)
    found = numbers(column)
    return days(column) if column.dtype == pl.String and not found.is_not_null().any() else found


def _by_time(column: pl.Series, share: float) -> tuple[Rows, Rows]:
    """The latest rows, all of the moment at which they begin among them."""
    moments = _moments(column).to_numpy()
    cut = moments[len(moments) - max(1, round(share * len(moments)))]
    later = moments >= cut
    return np.flatnonzero(~later), np.flatnonzero(later)


def _group_codes(column: pl.Series) -> NDArray[np.int64]:
    """A number for every group; a row without a group is one of its own."""
    text = column.cast(pl.String)
    codes = (text.rank("dense").cast(pl.Int64) - 1).fill_null(-1).to_numpy().astype(np.int64)
    alone = codes < 0
    codes[alone] = codes.max(initial=-1) + 1 + np.arange(int(alone.sum()))
    return codes


def _by_group(
    groups: NDArray[np.int64], codes: NDArray[Any] | None, share: float, seed: int, name: str
) -> tuple[Rows, Rows]:
    """Whole groups drawn at random until they hold the share of the rows.

    Of several draws the one whose classes come nearest to the shares of all rows.
    """
    sizes = np.bincount(groups)
    if len(sizes) < LEAST_GROUPS:
        raise BadData(
            f"--groups '{name}' holds {len(sizes)} groups, and at least {LEAST_GROUPS} are needed: "
            "split at random, or by another column"
        )
    mixed = np.ones((len(groups), 1)) if codes is None else np.eye(int(codes.max()) + 1)[codes]
    whole = mixed.mean(axis=0)
    best, chosen = np.inf, groups < 0
    for draw in range(_DRAWS if codes is not None else 1):
        order = np.random.default_rng([seed, draw]).permutation(len(sizes))
        total = np.cumsum(sizes[order])
        count = int(np.argmin(np.abs(total - share * len(groups)))) + 1
        test = np.isin(groups, order[:count])
        if test.all():
            continue
        off = float(np.abs(mixed[test].mean(axis=0) - whole).sum())
        if off < best:
            best, chosen = off, test
    if not chosen.any():
        raise BadData(f"one group of '{name}' holds nearly all rows: split by another column")
    return np.flatnonzero(~chosen), np.flatnonzero(chosen)


def _check_parts(
    codes: NDArray[Any] | None, train: Rows, test: Rows, task: Task, by: Grouping
) -> None:
    """Enough rows of every class on both sides, which only random splits see to by themselves."""
    if by.column is None:
        return
    if codes is None:
        if min(len(train), len(test)) < LEAST_OF_NUMBER // 4 or len(train) < LEAST_OF_NUMBER // 2:
            raise BadData(
                f"split by '{by.column}', {len(train)} training and {len(test)} test rows are "
                "left: change --test-share, or split at random"
            )
        return
    for part, least, words in ((train, LEAST_OF_CLASS - 2, "training"), (test, 2, "test")):
        counts = np.bincount(codes[part], minlength=len(task.classes))
        if counts.min() < least:
            name = task.classes[int(counts.argmin())][:60]
            raise BadData(
                f"split by '{by.column}', the {words} part has "
                f"{counted(int(counts.min()), 'row')} of class '{name}', and {least} "
                "are needed: change --test-share, or split at random"
            )


def _share(strata: NDArray[Any], task: Task, asked: float) -> float:
    """The share of the test part, large enough to hold two rows of every class."""
    counts = np.bincount(strata, minlength=len(task.classes))
    least = int(counts.min())
    if least * (1.0 - asked) < LEAST_OF_CLASS - 2:
        name = task.classes[int(counts.argmin())][:60]
        raise BadUsage(
            f"a test share of {asked:g} leaves fewer than {LEAST_OF_CLASS - 2} of the {least} rows "
            f"of class '{name}' for training: give a smaller one"
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
            f"the class '{name[:60]}' of the target '{task.target}' has {counted(count, 'row')}, "
            f"and at least {LEAST_OF_CLASS} of each of two classes are needed to compare models: "
            "give it more rows"
        )
    good = ~few[codes]
    kept = kept.filter(pl.Series(good))
    fewer = find_task(kept, task.target)
    if fewer.kind == "number":  # whole numbers that stay the classes they were
        fewer = find_task(kept, task.target, task.kind)
    return kept, numbers[good], replace(fewer, reason=task.reason, notes=task.notes), rare


def sampled(task: Task, y: NDArray[Any], seed: int) -> Rows:
    """The training rows that models are compared on, in their order: all of them, or a sample."""
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
