"""Histograms: counts of bins of equal width, and of the levels of a category for each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fenchel.app.table.text.cells import cells

BINS = 20
Counts = tuple[int, ...]


def bin_counts(x: NDArray[np.float64], low: float, high: float) -> tuple[Counts, tuple[float, ...]]:
    """(counts, edges) of the values between these ends; the last bin holds its upper edge."""
    most = max(abs(low), abs(high), np.finfo(np.float64).tiny)
    width = high / most - low / most  # of scaled values: a range beyond the floats has no width
    if not width > 0.0:
        return (len(x),), (low, high)
    counts, _ = np.histogram((x / most - low / most) / width, BINS, (0.0, 1.0))
    inner = ((low / most + (k / BINS) * width) * most for k in range(1, BINS))
    return tuple(int(count) for count in counts), (low, *inner, high)


def level_counts(
    column: pl.Series, levels: Sequence[str], target: NDArray[Any], classes: int
) -> tuple[Counts, ...]:
    """For each class, the rows of each of these levels."""
    text = column.cast(pl.String)
    text = cells(text) if column.dtype == pl.String else text
    places = text.replace_strict(
        list(levels), list(range(len(levels))), default=None, return_dtype=pl.Int64
    )
    codes = places.fill_null(len(levels)).to_numpy()
    table = np.zeros((classes, len(levels) + 1), np.int64)
    np.add.at(table, (target, codes), 1)
    return tuple(tuple(int(count) for count in row[:-1]) for row in table)
