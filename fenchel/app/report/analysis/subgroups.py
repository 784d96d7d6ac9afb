"""Where the model errs: groups of rows, and the rows it errs on most."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fenchel.app.report.estimates import plain, with_interval
from fenchel.app.table.encoding.encoder import Encoder
from fenchel.app.table.profile.column_profile import ColumnProfile
from fenchel.app.table.task import Task
from fenchel.score.intervals.binomial import binomial_rate
from fenchel.score.intervals.skewness_corrected_mean import mean_estimate
from fenchel.show.formatting import number

Floats = NDArray[np.float64]
LEAST = 20  # test rows of a group
MOST_COLUMNS, MOST_LEVELS = 8, 6
WORST = 10


def subgroups(
    frame: pl.DataFrame,
    profiles: tuple[ColumnProfile, ...],
    task: Task,
    y: NDArray[Any],
    said: NDArray[Any],
    level: float,
) -> list[dict[str, Any]]:
    """The error of the test rows of each frequent level of the columns with few of them.

    Levels of all columns together share one error: each interval has the level
    1 - (1 - level) / number of groups, so that all hold at once.
    """
    cuts = list(_groups(frame, profiles))
    number = task.kind == "number"
    error = np.abs(said - y) if number else (said != y)
    whole = float(error.mean())
    found = []
    for column, name, mask in cuts:
        each = 1.0 - (1.0 - level) / len(cuts)
        here = error[mask]
        if number:
            entry = with_interval(mean_estimate(here, each, within=(0.0, np.inf)))
        else:
            entry = with_interval(binomial_rate(int(here.sum()), int(mask.sum()), each))
        worse = "low" in entry and entry["low"] > whole
        found.append(
            {
                "column": column,
                "group": name,
                "rows": int(mask.sum()),
                "error": entry,
                "worse": worse,
            }
        )
    return sorted(found, key=lambda one: -one["error"]["value"])


def _groups(frame: pl.DataFrame, profiles: tuple[ColumnProfile, ...]) -> Any:
    """(column, group, mask) of levels of categories and of quarters of numbers."""
    ranked = sorted(
        (one for one in profiles if one.kind in ("category", "truth value")),
        key=lambda one: -(one.association or 0.0),
    )
    for one in ranked[:MOST_COLUMNS]:
        values = frame[one.name].cast(pl.String).to_numpy()
        for name, _ in one.levels[:MOST_LEVELS]:
            mask = values == name
            if mask.sum() >= LEAST:
                yield one.name, name, mask
    numbers = sorted(
        (one for one in profiles if one.kind == "number" and one.counts),
        key=lambda one: -(one.association or 0.0),
    )
    for one in numbers[: MOST_COLUMNS // 2]:
        values = frame[one.name].cast(pl.Float64, strict=False).to_numpy()
        held = values[np.isfinite(values)]
        if held.size < 4 * LEAST:
            continue
        ends = np.unique(np.quantile(held, [0.25, 0.5, 0.75]))
        edges = [-np.inf, *ends.tolist(), np.inf]
        for low, high in pairwise(edges):
            mask = (values > low) & (values <= high)
            if mask.sum() >= LEAST:
                yield one.name, _between(low, high), mask


def _between(low: float, high: float) -> str:
    if low == -np.inf:
        return f"at most {number(high, 4)}"
    if high == np.inf:
        return f"above {number(low, 4)}"
    return f"above {number(low, 4)}, at most {number(high, 4)}"


def worst_rows(
    frame: pl.DataFrame,
    numbers: NDArray[np.int64],
    task: Task,
    y: NDArray[Any],
    said: NDArray[Any],
    loss: Floats,
    encoder: Encoder,
    show_rows: bool,
) -> list[dict[str, Any]]:
    """The test rows with the largest loss; their cells only where rows may be shown."""
    order = np.argsort(-loss, kind="stable")[:WORST]
    wrong = [k for k in order if loss[k] > 0.0]
    found = []
    for k in wrong:
        row: dict[str, Any] = {"row": int(numbers[k]), "loss": plain(loss[k])}
        if task.classes:
            row |= {"true": task.classes[int(y[k])], "predicted": task.classes[int(said[k])]}
        if show_rows:
            row |= {} if task.classes else {"true": plain(y[k]), "predicted": plain(said[k])}
            held = frame.row(int(k), named=True)
            row["cells"] = {name: plain(held[name]) for name in encoder.columns}
        found.append(row)
    return found
