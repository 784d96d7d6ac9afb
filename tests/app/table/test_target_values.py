"""Doubts about a target: named with value, count and row."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from fenchel.app.table.target_values import target_doubts
from fenchel.app.table.task import find_task

RNG = np.random.default_rng(0)


def doubts(values):
    frame = pl.DataFrame({"x": np.arange(len(values)), "y": values})
    task = find_task(frame, "y")
    return target_doubts(task.kept(frame), task)


def test_codes_and_garbage_in_a_number():
    loss = RNG.normal(100.0, 20.0, 400)
    loss[::20] = -999.0
    (said,) = doubts(loss)
    assert said.startswith("-999 stands in 20 rows, far from all other values")
    loss = RNG.normal(100.0, 20.0, 400)
    loss[57] = 99_999_999.0
    (said,) = doubts(loss)
    assert "99999999 in row 58" in said and "decides the squared error" in said


def test_two_classes_with_a_typing_error():
    y = RNG.integers(0, 2, 600).astype(float)
    y[40] = 11.0
    (said,) = doubts(y)
    assert said.startswith("599 of 600 values are 0 or 1, but row 41 holds 11")


def test_spellings_and_unknown_classes():
    (said,) = doubts(["yes", "Yes", "no", "yes", "no"] * 40)
    assert said.startswith("'Yes' (40 rows), 'yes' (80 rows) differ in spelling alone")
    (said,) = doubts(["yes", "no", "no", "unknown"] * 40)
    assert said.startswith("the class 'unknown' (40 rows) may mean that the class is not known")
    (said,) = doubts([0, 1, 1, -999] * 40)
    assert "'-999' (40 rows)" in said


@pytest.mark.parametrize(
    "values",
    [
        RNG.normal(size=200),
        RNG.lognormal(0.0, 1.0, 500),
        RNG.integers(0, 2, 300),
        ["a", "b", "c"] * 50,
        ["<=50K", ">50K"] * 50,
        RNG.integers(1, 6, 300),
        ["other", "none"] * 50,  # two classes: both are answers
    ],
    ids=["normal", "lognormal", "0 1", "letters", "census", "grades", "two words"],
)
def test_ordinary_targets(values):
    assert doubts(values) == ()
