"""The locked part and the folds: at random, by group, in time."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from fenchel.app.errors import BadData, BadUsage
from fenchel.app.report.split import Folder, Grouping, all_rows, split_rows
from fenchel.app.table.task import find_task


def patients(seed=0, groups=40):
    """Rows that come in groups of unlike size, with a class and a date."""
    rng = np.random.default_rng(seed)
    who = rng.integers(groups, size=400)
    return pl.DataFrame(
        {
            "x": rng.normal(size=400),
            "who": [f"p{k}" for k in who],
            "when": pl.Series(rng.integers(0, 300, size=400)).cast(pl.Date),
            "y": np.where(rng.random(400) < 0.3, "ill", "well"),
        }
    )


@pytest.mark.parametrize("seed", range(5))
def test_a_group_lies_in_one_part_and_in_one_fold(seed):
    frame = patients(seed)
    task = find_task(frame, "y")
    parts = split_rows(frame, task, 0.25, seed, Grouping(groups="who"))
    who = parts.frame["who"].to_numpy()
    assert not set(who[parts.train]) & set(who[parts.test])
    assert sorted([*parts.train, *parts.test]) == list(range(400))
    assert 60 <= len(parts.test) <= 140
    codes = task.codes(parts.frame)
    assert abs(codes[parts.test].mean() - codes.mean()) < 0.05  # the best of several draws
    folder = parts.folder()
    folds = folder.folds(codes[parts.train], 5, seed)
    for train, test in folds:
        assert not set(who[parts.train][train]) & set(who[parts.train][test])
    half = np.arange(0, len(parts.train), 2)
    assert np.array_equal(folder.of(half).groups, folder.groups[half])
    again = split_rows(frame, task, 0.25, seed, Grouping(groups="who"))
    assert np.array_equal(parts.test, again.test)


def test_rows_without_a_group_are_groups_of_one():
    frame = patients().with_columns(
        who=pl.when(pl.arange(400) < 100).then(None).otherwise(pl.col("who"))
    )
    parts = split_rows(frame, find_task(frame, "y"), 0.25, 0, Grouping(groups="who"))
    _, counts = np.unique(parts.groups, return_counts=True)
    assert (counts == 1).sum() >= 100


@pytest.mark.parametrize("kind", ["date", "number", "text"])
def test_test_rows_are_the_latest(kind):
    frame = patients()
    if kind == "number":
        frame = frame.with_columns(when=pl.col("when").cast(pl.Int32).cast(pl.Float64))
    if kind == "text":
        frame = frame.with_columns(when=pl.col("when").cast(pl.String))
    frame = frame.with_columns(
        when=pl.when(pl.arange(400) < 7).then(None).otherwise(pl.col("when"))
    )
    parts = split_rows(frame, find_task(frame, "y"), 0.25, 0, Grouping(time="when"))
    when = parts.frame["when"].to_numpy()
    assert parts.without_time == 7 and parts.frame.height == 393
    assert when[parts.train].max() < when[parts.test].min()
    assert frame["when"].to_numpy()[parts.numbers - 1].tolist() == when.tolist()
    y = parts.task.codes(parts.frame)[parts.train]
    for train, test in parts.folder().folds(y, 5, 0):
        assert train.max() < test.min()


def test_a_number_is_split_likewise():
    frame = patients().with_columns(y=pl.col("x") + 1.0)
    task = find_task(frame, "y")
    for by in (Grouping(groups="who"), Grouping(time="when")):
        parts = split_rows(frame, task, 0.25, 0, by)
        assert len(parts.train) + len(parts.test) == 400
        assert parts.folder().folds(parts.frame["y"].to_numpy()[parts.train], 5, 0)
    assert len(all_rows(frame, task, Grouping(groups="who")).train) == 400


@pytest.mark.parametrize(
    ("by", "error", "words"),
    [
        (
            {"groups": "whom"},
            BadUsage,
            "--groups 'whom' is not a column of the table: did you mean",
        ),
        ({"time": "then"}, BadUsage, "--time 'then' is not a column"),
        ({"groups": "y"}, BadUsage, "'y' is the target"),
        ({"time": "who"}, BadData, "holds neither numbers nor dates that can be read"),
        ({"groups": "few"}, BadData, "holds 3 groups, and at least 8 are needed"),
        ({"time": "late"}, BadData, "the test part has 0 rows of class 'well'"),
    ],
)
def test_columns_that_cannot_split(by, error, words):
    frame = (
        patients()
        .sort("y", descending=True)
        .with_columns(late=pl.arange(400), few=pl.arange(400) % 3)
    )
    with pytest.raises(error, match=words):
        split_rows(frame, find_task(frame, "y"), 0.25, 0, Grouping(**by))


def test_one_way_to_split():
    with pytest.raises(BadUsage, match="give one of them"):
        Grouping("who", "when")


def test_a_fold_without_a_class_is_said():
    y = np.repeat([0, 1], [60, 40])
    with pytest.raises(BadData, match="in order of time leave a fold of 20 training rows without"):
        Folder(False, ordered=True).folds(y, 4, 0)
