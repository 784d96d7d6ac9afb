"""Numbers that travel inside a chart: rounded to what a pixel can show, in few characters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np

from fenchel.score.curves.score_counts import Floats

SIDE = 400.0  # pixels across a figure
PART = 20.0  # a value is off by less than this part of a pixel


def rounded(values: Any, span: float | None = None) -> Floats:
    """The values with as many places as a pixel needs on an axis of that span."""
    given = np.asarray(values, dtype=np.float64)
    finite = given[np.isfinite(given)]
    reach = float(np.ptp(finite)) if span is None and finite.size else float(span or 0.0)
    size = float(np.abs(finite).max()) if finite.size else 0.0
    if reach <= 0.0:
        reach = size
    if not 0.0 < reach < math.inf:
        return given + 0.0
    places = math.ceil(-math.log10(2.0 * reach / (SIDE * PART)))
    return np.round(given, places) + 0.0


def significant(values: Any, digits: int = 4) -> Floats:
    """The values with so many significant digits, for logarithmic axes."""
    given = np.asarray(values, dtype=np.float64)
    return np.array([float(f"{v:.{digits}g}") for v in given.ravel()]).reshape(given.shape)


def table(**columns: Any) -> alt.InlineData:
    """Columns of numbers as comma separated text: half the size of records; NaN is left empty."""
    written = [[_written(v) for v in np.asarray(column).tolist()] for column in columns.values()]
    rows = (",".join(row) for row in zip(*written, strict=True))
    text = "\n".join([",".join(columns), *rows])
    parse = dict.fromkeys(columns, "number")
    return alt.InlineData(values=text, format=alt.CsvDataFormat(type="csv", parse=parse))


def records(**columns: Any) -> alt.InlineData:
    """Columns of numbers and of texts as records."""
    whole: Mapping[str, list[Any]] = {
        name: [_plain(v) for v in (c.tolist() if isinstance(c, np.ndarray) else c)]
        for name, c in columns.items()
    }
    rows = zip(*whole.values(), strict=True)
    return alt.InlineData(values=[dict(zip(whole, row, strict=True)) for row in rows])


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 1e15 else value
    return value


def _written(value: Any) -> str:
    found = _plain(value)
    return "" if found is None else repr(found)


def decades(values: Any, most: int = 7) -> list[float]:
    """Marks of a logarithmic axis: powers of ten, not more than so many, or else 1, 2 and 5."""
    given = np.asarray(values, dtype=np.float64)
    given = given[np.isfinite(given) & (given > 0.0)]
    if not given.size:
        return [1.0]
    low, high = math.log10(float(given.min())), math.log10(float(given.max()))
    first, last = math.ceil(low - 1e-9), math.floor(high + 1e-9)
    powers = range(first, last + 1, -(-(last - first + 1) // most) if last >= first else 1)
    if len(powers) >= 3:
        return [float(f"1e{k}") for k in powers]
    fine = [float(f"{m}e{k}") for k in range(first - 1, last + 1) for m in (1, 2, 5)]
    return [v for v in fine if low - 1e-9 <= math.log10(v) <= high + 1e-9] or [float(given.min())]
