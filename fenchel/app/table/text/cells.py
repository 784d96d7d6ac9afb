"""Cells of text as values: what is missing, a number, a truth value, a date."""

from __future__ import annotations

import math
from collections import Counter

import polars as pl

MARKERS = (
    *("", "?", "-", "NA", "N/A", "n/a", "na", "#N/A", "<NA>"),
    *("NaN", "nan", "NAN", "null", "NULL", "Null"),
)
ISO = "ISO"
_DAYS = ("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y")
_TIMES = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S%.f")
DATE_FORMATS = (ISO, *(day + time for day in _DAYS[1:] for time in _TIMES[:3]))
DATE_PATTERN = r"^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})(\D|$)"
_LOOK = 1000  # cells that a date format is told from, before all are tried
ENOUGH = 0.99  # share of cells that makes the kind of a column; the rest is named


def cells(column: pl.Series, markers: Counter[str] | None = None, strip: bool = True) -> pl.Series:
    """Text without blanks around it, null where it says that a value is missing."""
    if strip:
        column = column.str.strip_chars()
    missing = column.is_in(MARKERS)
    if not missing.any():
        return column
    if markers is not None:
        for text, count in column.filter(missing).value_counts().iter_rows():
            if text:
                markers[text] += count
    return column.set(missing, None)


def numbers(column: pl.Series) -> pl.Series:
    """A column as float64, null where there is no finite number."""
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.Duration:
        column = column.dt.total_microseconds().cast(pl.Float64) / 1e6
    elif column.dtype == pl.Time:
        column = column.cast(pl.Int64).cast(pl.Float64) / 1e9
    plain = column.cast(pl.Float64, strict=False)
    if column.dtype == pl.String and plain.null_count() > column.null_count():
        plain = column.str.strip_chars().cast(pl.Float64, strict=False)
    if not plain.null_count() and math.isfinite(plain.sum()):
        return plain
    finite = plain.is_finite()
    return plain if finite.all() else plain.set(~finite, None)


def truths(column: pl.Series) -> pl.Series:
    """A column as truth values, null where there is none."""
    if column.dtype == pl.Boolean:
        return column
    if column.dtype.is_numeric():
        return column.replace_strict([0, 1], [False, True], default=None, return_dtype=pl.Boolean)
    text = column.cast(pl.String).str.strip_chars().str.to_lowercase()
    words = {"true": True, "false": False, "1": True, "0": False}
    return text.replace_strict(words, default=None, return_dtype=pl.Boolean)


def days(column: pl.Series, written: str | None = None) -> pl.Series:
    """Dates as float64 days since 1970-01-01, null where there is none."""
    if column.dtype == pl.Date:
        return column.cast(pl.Int32).cast(pl.Float64)
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        column = moments(column.str.strip_chars(), written or ISO)
    if column.dtype == pl.Datetime:
        return column.dt.epoch("us").cast(pl.Float64) / 86_400e6
    return pl.Series(column.name, [None] * len(column), dtype=pl.Float64)


def moments(column: pl.Series, written: str) -> pl.Series:
    """Text as points in time; `written` is a format, or ISO for a date with or without a time."""
    if written != ISO:
        return column.str.to_datetime(written, strict=False, time_unit="us", time_zone=None)
    column = column.set(~column.str.contains(r"^\d{4}-"), None)  # else years of one digit
    plain = column.str.replace("T", " ", literal=True).str.replace(r"(Z|[+-]00:?00)$", "")
    found = pl.Series(column.name, [None] * len(column), dtype=pl.Datetime("us"))
    for time in _TIMES:
        left = found.is_null() & plain.is_not_null()
        if not left.any():
            break
        more = plain.str.to_datetime(_DAYS[0] + time, strict=False, time_unit="us")
        found = found.zip_with(~left, more)
    return found


def labels_of(values: pl.Series) -> pl.Series:
    """Values as names: 1.0 is called 1, so that files of any kind agree."""
    if values.dtype.is_float():
        whole = values.cast(pl.Int64, strict=False)
        texts = values.cast(pl.String)
        return whole.cast(pl.String).zip_with((whole == values).fill_null(False), texts)
    return values.cast(pl.String)


def date_format(column: pl.Series) -> tuple[str, str | None] | None:
    """How the dates of a text column are written, or None; with a remark if that has two answers.

    Day and month told apart by a day above 12; otherwise the column stays text.
    """
    held = column.drop_nulls()
    if not len(held) or not held[:_LOOK].str.contains(DATE_PATTERN).all():
        return None
    if moments(held[:_LOOK], ISO).is_not_null().mean() == 1.0:
        return (ISO, None) if _share(held, ISO) >= ENOUGH else None
    fits = []
    for written in DATE_FORMATS[1:]:
        if _share(held[:_LOOK], written) == 1.0 and (share := _share(held, written)) >= ENOUGH:
            fits.append((share, written))
    if not fits:
        return None
    best = max(fits)[0]
    ways = [written for share, written in fits if share == best]
    if len(ways) == 1:
        return ways[0], None
    return "", (
        f"column '{column.name}' holds dates such as '{held[0]}' whose day and month cannot be "
        "told apart: it is kept as text; write them as 2024-12-31"
    )


def _share(column: pl.Series, written: str) -> float:
    return 1.0 - moments(column, written).null_count() / len(column)
