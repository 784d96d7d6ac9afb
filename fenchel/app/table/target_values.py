"""Doubts about the values of a target: codes, garbage, typing errors, spellings of one class."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fenchel.app.table.profile.column_profile import spelling_variants
from fenchel.app.table.profile.suspect_values import is_code, suspect_values
from fenchel.app.table.task import Task
from fenchel.app.table.text.cells import labels_of, numbers
from fenchel.data.display.counts import counted

_FEW = 0.02  # share of rows beside two values that are likelier mistakes than numbers
_UNKNOWN = re.compile(
    r"(?i)^\W*(unknown|unk|missing|not (known|available|applicable|given)|undefined|unclear|tbd|"
    r"no answer|refused|other|nan|none|error|\?+|x+)\W*$"
)


def target_doubts(
    frame: pl.DataFrame, task: Task, rows: NDArray[np.int64] | None = None
) -> tuple[str, ...]:
    """What looks wrong with the target, one sentence each.

    `frame` has the rows with a target, `rows` their numbers in the file.
    """
    if task.target is None:
        return ()
    values = frame[task.target]
    places = np.arange(1, frame.height + 1) if rows is None else rows
    if task.kind == "number":
        return (*_nearly_two(values, places), *_numbers(values, places))
    return tuple(_labels(labels_of(values.drop_nulls()).cast(pl.String)))


def _nearly_two(values: pl.Series, places: NDArray[np.int64]) -> list[str]:
    """A number of which nearly all rows hold two values: classes with a typing error."""
    x = numbers(values)
    counted = x.drop_nulls().alias("value").value_counts(sort=True)
    n = len(x) - x.null_count()
    if counted.height < 3:
        return []
    two = counted["value"][:2].to_list()
    others = n - int(counted["count"][:2].sum())
    if others > max(3, _FEW * n) or int(counted["count"][1]) < 8:
        return []
    row = int((~x.is_in(two) & x.is_not_null()).arg_true()[0])
    pair = " or ".join(f"{value:g}" for value in sorted(two))
    return [
        f"{n - others:,} of {n:,} values are {pair}, but row {places[row]} holds {x[row]:g}: if "
        "that is a mistake, correct it, and the target is two classes"
    ]


def _numbers(values: pl.Series, places: NDArray[np.int64]) -> list[str]:
    x = numbers(values).fill_null(np.nan).to_numpy()
    told = []
    for one in suspect_values(x):
        rows = counted(one.count, "row")
        if one.kind == "dominant":
            told.append(
                f"{one.cell:.10g} in row {places[one.rows[0]]} is so far from all others (up to "
                f"{one.nearest:.6g}) that it alone decides the squared error"
            )
        else:
            apart = "far from all other values" if one.kind == "code" else "where others differ"
            told.append(f"{one.cell:.10g} stands in {rows}, {apart}: it may mean 'unknown'")
    return told


def _labels(labels: pl.Series) -> list[str]:
    counted = labels.alias("label").value_counts(sort=True)
    names = counted["label"].to_list()
    many = dict(zip(names, counted["count"].to_list(), strict=True))
    told = []
    for group in spelling_variants(names):
        listed = ", ".join(f"'{name}' ({many[name]:,} rows)" for name in group[:4])
        told.append(f"{listed} differ in spelling alone, and count as different classes")
    plain = [_value(name) for name in names]
    held = np.array([value for value in plain if value is not None])
    for name, value in zip(names, plain, strict=True):
        if len(names) < 3:
            break
        if value is None:
            suspicious = _UNKNOWN.match(name) is not None
        else:
            rest = held[held != value]
            far = abs(value) >= 9.0 and len(rest) > 1 and abs(value) > 3.0 * np.abs(rest).max()
            suspicious = bool(far and is_code(value, rest))
        if suspicious:
            told.append(
                f"the class '{name}' ({many[name]:,} rows) may mean that the class is not known: "
                "empty those cells to leave the rows out"
            )
    return told


def _value(name: str) -> float | None:
    try:
        return float(name)
    except ValueError:
        return None
