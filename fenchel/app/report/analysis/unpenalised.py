"""Coefficients with intervals: the same columns fitted once more without a penalty.

Each category has a level of reference, the most frequent, which is left out; numbers are per
standard deviation. Two classes give odds ratios, a number to predict gives slopes.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fenchel.app.report.estimates import plain, with_interval
from fenchel.app.table.encoding.encoder import Encoder
from fenchel.app.table.task import Task
from fenchel.score.estimate import Estimate
from fenchel.score.intervals.wald import CoefficientTable, coefficient_intervals

MOST_COLUMNS = 100  # more are no table for a reader
LEAST_PER_COLUMN = 10  # rows of the rarer class (or rows) for each column: below, Wald misleads
WHY_NOT = (
    "a penalty draws coefficients towards zero by an unknown amount, so that no interval around a "
    "penalised coefficient has a known coverage"
)


def unpenalised(
    task: Task, encoder: Encoder, X: Any, y: NDArray[Any], level: float
) -> dict[str, Any]:
    """The coefficients of the unpenalised fit to these rows, or the reason why there are none."""
    if task.kind == "several classes":
        return {"reason": "odds ratios are those of two classes"}
    columns = _reference_coded(encoder)
    if sparse.issparse(X) or len(columns) > MOST_COLUMNS:
        return {"reason": f"there are more than {MOST_COLUMNS} encoded columns"}
    events = len(y) if task.kind == "number" else int(min(y.sum(), len(y) - y.sum()))
    if events < LEAST_PER_COLUMN * len(columns):
        rows = "rows" if task.kind == "number" else "rows of the rarer class"
        return {
            "reason": f"{events:,} {rows} for {len(columns)} columns, fewer than "
            f"{LEAST_PER_COLUMN} for each"
        }
    picked = X[:, [place for place, _, _ in columns]]
    varied = picked.std(axis=0) > 0.0
    columns = [one for one, keep in zip(columns, varied, strict=True) if keep]
    picked = np.ascontiguousarray(picked[:, varied])
    model = _fitted(task, picked, y)
    if isinstance(model, str):
        return {"reason": model}
    try:
        table = coefficient_intervals(model, picked, y, level=level)
    except ValueError as error:
        return {"reason": str(error)}
    return {
        "kind": "odds ratio" if task.kind == "two classes" else "slope",
        "method": table.method,
        "columns": [
            _entry(table, j, name, *_change(encoder, place, picked[:, j], unit))
            for j, (place, name, unit) in enumerate(columns)
        ],
    }


def _change(encoder: Encoder, place: int, x: NDArray[np.float64], unit: str) -> tuple[str, float]:
    """The change that a number is for: from the lower to the higher of two values, otherwise one
    unit of the encoded column."""
    values = np.unique(x)
    plan = encoder.origins[place]
    if plan.kind != "number" or len(values) != 2:
        return unit, 1.0
    low, high = (values * plan.scale + plan.center).tolist()
    return f"{high:.4g} against {low:.4g}", float(values[1] - values[0])


def _fitted(task: Task, X: NDArray[np.float64], y: NDArray[Any]) -> Any:
    """The fit, or the reason why it gives no estimates."""
    from fenchel.models.linear.linear_regression import LinearRegression
    from fenchel.models.linear.logistic import LogisticRegression

    model = LinearRegression() if task.kind == "number" else LogisticRegression(C=math.inf)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            model = model.fit(X, y)
        except ValueError as error:
            return str(error).splitlines()[0]
    if said:
        return " ".join(str(said[0].message).split())[:200]
    return model


def _reference_coded(encoder: Encoder) -> list[tuple[int, str, str]]:
    """(place, name, unit) of the encoded columns, without one level of each category."""
    found = []
    place = 0
    names = encoder.names
    for plan in encoder.plans:
        count = len(plan.outputs)
        levels = len(plan.levels) + plan.other
        for k in range(count):
            name = names[place + k]
            if plan.kind == "category":
                level_columns = count - plan.flag
                if k < level_columns and level_columns == levels and k == 0:
                    continue  # the level of reference
                unit = f"against '{plan.levels[0][:40]}'"
                if k >= level_columns:
                    unit = "missing, against the level of reference"
            elif plan.kind in ("number", "date") and name == plan.name:
                unit = f"per standard deviation ({plan.scale:.4g})"
            else:
                unit = "yes against no"
            found.append((place + k, name, unit))
        place += count
    return found


def _entry(table: CoefficientTable, j: int, name: str, unit: str, change: float) -> dict[str, Any]:
    if table.is_logistic:
        value = table.odds_ratio(j, change)
    else:
        ends = (change * float(end[j]) for end in (table.coefficient, table.low, table.high))
        value = Estimate(*ends, level=table.level, method=table.method)
    return {
        "column": name,
        "unit": unit,
        "estimate": with_interval(value),
        "p_value": plain(float(table.p_value[j])),
    }
