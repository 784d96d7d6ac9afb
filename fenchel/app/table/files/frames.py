"""Dataframes of any library as polars, with types that the rest of the tables work with."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from fenchel.app.errors import BadUsage


def polars_frame(table: Any) -> pl.DataFrame:
    """A pandas or polars DataFrame, a pyarrow Table or a dict of columns as polars.

    pandas goes column by column, so that pyarrow need not be installed. BadUsage for what is no
    table.
    """
    if isinstance(table, pl.DataFrame):
        return table
    if isinstance(table, pl.LazyFrame):
        raise BadUsage("table is a lazy frame, which has no rows yet: call .collect()")
    try:
        if type(table).__module__.partition(".")[0] == "pandas":
            return pl.DataFrame([_series(str(name), table[name]) for name in table.columns])
        return pl.DataFrame(table)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise BadUsage(
            f"{type(table).__name__} is not a table: give a DataFrame, a dict of columns or the "
            f"path of a file ({str(error).splitlines()[0]})"
        ) from None


def _series(name: str, column: Any) -> pl.Series:
    """One column of pandas: numbers, truth values and times by their array, all else as text."""
    kind = getattr(column.dtype, "kind", "O")
    missing = np.asarray(column.isna(), dtype=bool)
    if kind in "iuf" and not missing.any():
        return pl.Series(name, column.to_numpy(dtype=f"{'f8' if kind == 'f' else 'i8'}"))
    if kind in "iuf":
        return pl.Series(name, column.to_numpy(dtype="f8", na_value=np.nan)).fill_nan(None)
    if kind == "b":
        values = [None if gone else bool(one) for one, gone in zip(column, missing, strict=True)]
        return pl.Series(name, values, dtype=pl.Boolean)
    if kind == "M":
        plain = column.dt.tz_localize(None) if getattr(column.dt, "tz", None) else column
        return pl.Series(name, plain.to_numpy(dtype="datetime64[us]"))
    if kind == "m":
        return pl.Series(name, column.to_numpy(dtype="timedelta64[us]"))
    values = [None if gone else one for one, gone in zip(column.tolist(), missing, strict=True)]
    try:
        return pl.Series(name, values)
    except (TypeError, pl.exceptions.PolarsError):  # mixed: as its text
        return pl.Series(
            name, [None if one is None else str(one) for one in values], dtype=pl.String
        )
