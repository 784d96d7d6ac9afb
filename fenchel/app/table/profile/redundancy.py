"""Rows and columns that repeat others: nearly equal columns, and rows that hold totals."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fenchel.app.table.profile.association import correlations_of_pairs
from fenchel.app.table.profile.column_profile import ColumnProfile
from fenchel.app.table.text.cells import cells, numbers

MOST_COLUMNS = 200  # above it pairs are not looked at
MOST_ROWS = 20_000  # of a sample that is always the same, on which columns are compared
ALIKE = 0.98  # share of equal cells, or of rows that a one-to-one translation of levels explains
LINEAR = 0.9995  # |correlation|
_TOTAL = re.compile(
    r"(?i)^\W*(grand[\s_-]*)?(totals?|sum|sums|subtotal|overall|average|mean|summe|gesamt|total "
    r"général|totale|suma)\W*$"
)
_CLOSE = 1e-6  # relative difference of a total and the sum that it states, rounded as written


@dataclass(frozen=True)
class NearDuplicate:
    """Two columns that say nearly the same, and in what sense."""

    first: str
    second: str
    words: str


@dataclass(frozen=True)
class TotalRow:
    """A row, counted from 1, that sums up the others, and how it is known."""

    row: int
    words: str


def near_duplicates(
    frame: pl.DataFrame, profiles: tuple[ColumnProfile, ...]
) -> tuple[NearDuplicate, ...]:
    """Pairs of columns that are nearly equal, on a line, or one-to-one; exact copies left out."""
    used = [one for one in profiles if one.same_as is None and one.distinct > 1]
    if frame.height > MOST_ROWS:
        picks = np.random.default_rng(0).choice(frame.height, MOST_ROWS, replace=False)
        frame = frame[np.sort(picks)]
    found = [
        *_alike_numbers(frame, [one.name for one in used if one.kind == "number"]),
        *_alike_levels(frame, [one.name for one in used if one.kind == "category"]),
    ]
    return tuple(found)


def _alike_numbers(frame: pl.DataFrame, names: list[str]) -> list[NearDuplicate]:
    if not 2 <= len(names) <= MOST_COLUMNS or frame.height < 20:
        return []
    X = np.column_stack([numbers(frame[name]).fill_null(np.nan).to_numpy() for name in names])
    there = np.isfinite(X)
    R, _ = correlations_of_pairs(X)
    found = []
    for j in range(1, len(names)):
        for i in range(j):
            both = there[:, i] & there[:, j]
            if both.sum() < 20:
                continue
            equal = float(np.mean(X[both, i] == X[both, j]))
            if equal >= ALIKE:
                words = f"equal in {100.0 * equal:.4g} % of the rows"
            elif abs(R[i, j]) >= LINEAR:
                words = f"correlation {R[i, j]:.5f}"
            else:
                continue
            found.append(NearDuplicate(names[i], names[j], words))
    return found


def _alike_levels(frame: pl.DataFrame, names: list[str]) -> list[NearDuplicate]:
    if len(names) > MOST_COLUMNS or frame.height < 20:
        return []
    codes = {name: _codes(frame[name]) for name in names}
    found = []
    for j, second in enumerate(names):
        for first in names[:j]:
            share = _translated(codes[first], codes[second])
            if share >= ALIKE:
                words = f"one level for each of the other's in {100.0 * share:.4g} % of the rows"
                found.append(NearDuplicate(first, second, words))
    return found


def _codes(column: pl.Series) -> NDArray[np.int64]:
    text = column.cast(pl.String)
    text = cells(text) if column.dtype == pl.String else text
    return (text.rank("dense").cast(pl.Int64) - 1).fill_null(-1).to_numpy().astype(np.int64)


def _translated(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    """Share of the rows in the most frequent pairing of levels, both ways."""
    both = (first >= 0) & (second >= 0)
    if both.sum() < 20:
        return 0.0
    first, second = first[both], second[both]
    m, k = int(first.max()) + 1, int(second.max()) + 1
    if not 0.5 <= m / k <= 2.0 or m * k > 4_000_000:
        return 0.0
    table = np.bincount(first * k + second, minlength=m * k).reshape(m, k)
    return float(min(table.max(axis=0).sum(), table.max(axis=1).sum()) / len(first))


def total_rows(frame: pl.DataFrame) -> tuple[TotalRow, ...]:
    """Rows at the ends of the table that sum up the others, or hold next to nothing.

    The first row and the last three are looked at. A total holds the sums of the other rows in at
    least two columns, or in one beside a word such as "total"; the word alone is enough where the
    row leaves most other cells empty. A footnote leaves all cells empty but one, at most.
    """
    n = frame.height
    if n < 6:
        return ()
    places = sorted({0, n - 3, n - 2, n - 1})
    ends = {place: frame.row(place) for place in places}
    middle = frame.slice(1, n - 4)
    found = [
        TotalRow(place + 1, words)
        for place, row in ends.items()
        if (words := _summary(frame, middle, ends, place, row))
    ]
    return tuple(found)


def _summary(
    frame: pl.DataFrame, middle: pl.DataFrame, ends: dict[int, Any], place: int, row: Any
) -> str:
    """How a row at an end is known to sum up the others; empty if it does not."""
    words = [value for value in row if isinstance(value, str) and _TOTAL.match(value.strip())]
    sums = []
    for at, (name, value) in enumerate(zip(frame.columns, row, strict=True)):
        if isinstance(value, bool) or not isinstance(value, int | float) or not value:
            continue
        inside = numbers(middle[name]).drop_nulls()
        if (
            len(inside) >= 2
            and inside.n_unique() > 1
            and _is_sum(at, float(value), inside, ends, place)
        ):
            sums.append(name)
    if len(sums) >= 2 or (sums and words):
        listed = ", ".join(f"'{name[:40]}'" for name in sums[:3])
        more = f" and {len(sums) - 3} more" if len(sums) > 3 else ""
        return f"it holds the sums of the other rows in {listed}{more}"
    empty = sum(value is None for value in row)
    if words and empty >= 0.3 * (len(row) - 1):
        return f"it is called '{words[0].strip()[:40]}'"
    if place > 0 and len(row) > 3 and empty >= len(row) - 1:
        return "all its cells but one, at most, are empty, as in a footnote"
    return ""


def _is_sum(at: int, value: float, inside: Any, ends: dict[int, Any], place: int) -> bool:
    """Whether the value is the sum of the column, with or without the other rows at the ends, any
    of which may be a total or a footnote itself."""
    rest = [
        float(row[at])
        for other, row in ends.items()
        if other != place and isinstance(row[at], int | float) and not isinstance(row[at], bool)
    ]
    whole, most = float(inside.sum()), float(inside.abs().max())
    for mask in range(1 << len(rest)):
        total = whole + sum(x for k, x in enumerate(rest) if mask >> k & 1)
        if abs(value - total) <= _CLOSE * max(abs(total), most):
            return True
    return False
