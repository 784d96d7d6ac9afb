"""How one column goes with the target, and whether it gives the target away."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fenchel.score.area.auc import auc

SUSPECT = 0.99  # AUC, share of rows told right, or correlation, above which a column is suspected
SUSPECT_FLAG = 0.95  # the same for a column of two levels
_LEAST = 10  # rows of the rarest class below which nothing is suspected
_FEW = 100  # distinct numbers that are looked at as levels too
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Association:
    """A measure of one column with the target: 0 (or 1/2 for an AUC) is nothing, 1 everything."""

    measure: str
    strength: float
    leak: str | None = None


def with_classes(x: Floats, y: Ints, classes: int) -> Association | None:
    """A number with classes: AUC for two (turned round below 1/2), else the correlation ratio."""
    there = ~np.isnan(x)
    x, y = x[there], y[there]
    if len(np.unique(y)) < 2 or x.min() == x.max():
        return None
    enough = np.bincount(y, minlength=classes).min() >= _LEAST
    if classes == 2:
        area = auc(y, x, pos_label=1)
        area = max(area, 1.0 - area)
        leak = f"alone it gives AUC {area:.4f}" if enough and area > SUSPECT else None
        found = Association("AUC", area, leak)
    else:
        leak = "its order alone tells the classes apart" if enough and _ordered(x, y) else None
        found = Association("correlation ratio", correlation_ratio(y, x), leak)
    if found.leak is None and enough:
        values, codes = np.unique(x, return_inverse=True)
        if len(values) <= _FEW:
            leak = _levels_leak(codes, y, classes)
            found = Association(found.measure, found.strength, leak)
    return found


def _ordered(x: Floats, y: Ints) -> bool:
    """Whether classes lie one after the other: all neighbours apart by more than AUC 0.99."""
    codes = np.unique(y)
    means = [x[y == code].mean() for code in codes]
    order = codes[np.argsort(means)]
    for low, high in pairwise(order):
        both = (y == low) | (y == high)
        if auc(y[both] == high, x[both]) <= SUSPECT:
            return False
    return True


def levels_with_classes(codes: Ints, y: Ints, classes: int) -> Association | None:
    """A category (code -1 is missing) with classes: Cramér's V, less the bias of many levels."""
    there = codes >= 0
    codes, y = codes[there], y[there]
    if len(np.unique(y)) < 2 or len(np.unique(codes)) < 2:
        return None
    enough = np.bincount(y, minlength=classes).min() >= _LEAST
    leak = _levels_leak(codes, y, classes) if enough else None
    return Association("Cramér's V", _cramers_v(_table(codes, y, classes)), leak)


def _table(codes: Ints, y: Ints, classes: int) -> Floats:
    """Rows of each level (down) in each class (across)."""
    levels = int(codes.max()) + 1
    counts = np.bincount(codes * classes + y, minlength=levels * classes)
    return counts.reshape(levels, classes).astype(np.float64)


def _cramers_v(table: Floats) -> float:
    """Bergsma's correction of Cramér's V: independence gives about 0, whatever the table's size."""
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    n = table.sum()
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / n
    phi = ((table - expected) ** 2 / expected).sum() / n
    rows, columns = table.shape
    phi = max(0.0, phi - (rows - 1) * (columns - 1) / (n - 1))
    rows_less = rows - (rows - 1) ** 2 / (n - 1)
    columns_less = columns - (columns - 1) ** 2 / (n - 1)
    most = min(rows_less, columns_less) - 1.0
    return float(min(1.0, np.sqrt(phi / most))) if most > 0 else 0.0


def _levels_leak(codes: Ints, y: Ints, classes: int) -> str | None:
    """Levels that tell the class; silent where there are so many that chance would."""
    table = _table(codes, y, classes)
    used = int((table.sum(axis=1) > 0).sum())
    if used > len(y) / 10:
        return None
    if classes == 2:
        rate = table[:, 1] / np.maximum(table.sum(axis=1), 1.0)
        area = auc(y, rate[codes], pos_label=1)
        # A flag that agrees with the class in nearly every row is likelier a copy than a cause.
        limit = SUSPECT_FLAG if used == 2 else SUSPECT
        return f"its levels alone give AUC {area:.4f}" if area > limit else None
    right, base = table.max(axis=1).sum() / len(y), table.sum(axis=0).max() / len(y)
    told = (right - base) / (1.0 - base) if base < 1.0 else 0.0
    return (
        f"its levels alone tell the class of {100.0 * right:.2f} % of rows"
        if told > SUSPECT
        else None
    )


def absence_leak(missing: NDArray[np.bool_], y: Any, classes: int) -> str | None:
    """Whether it is the absence of a value that gives the target away."""
    both = min(int(missing.sum()), int((~missing).sum()))
    if both < _LEAST:
        return None
    if classes:
        codes = missing.astype(np.int64)
        enough = np.bincount(y, minlength=classes).min() >= _LEAST
        leak = _levels_leak(codes, y, classes) if enough else None
        return None if leak is None else leak.replace("its levels alone", "whether it is missing")
    strength = correlation_ratio(missing.astype(np.int64), y)
    return "whether it is missing alone gives the number" if strength > SUSPECT else None


def with_number(x: Floats, y: Floats) -> Association | None:
    """A number with a number: |correlation|; suspected by rank too, so that log y is noticed."""
    there = ~np.isnan(x)
    x, y = x[there], y[there]
    if len(x) < 2 or x.min() == x.max() or y.min() == y.max():
        return None
    strength = _correlation(x, y)
    leak = None
    if len(x) >= 2 * _LEAST:
        rank = _correlation(_ranks(x), _ranks(y))
        if strength > SUSPECT and _of_most_rows(x, y) > SUSPECT:
            leak = f"alone it has a correlation of {strength:.4f} with the target"
        elif rank > SUSPECT:
            leak = f"alone it has a rank correlation of {rank:.4f} with the target"
    return Association("|correlation|", strength, leak)


def _of_most_rows(x: Floats, y: Floats) -> float:
    """|correlation| without the hundredth of the rows that make most of it: a total of both
    columns among the rows gives 1, whatever the others are."""
    pull = np.abs((x - np.median(x)) * (y - np.median(y)))
    kept = np.argsort(pull, kind="stable")[: len(x) - math.ceil(len(x) / 100)]
    x, y = x[kept], y[kept]
    return _correlation(x, y) if np.ptp(x) > 0.0 and np.ptp(y) > 0.0 else 0.0


def _ranks(x: Floats) -> Floats:
    return pl.Series(x).rank("average").to_numpy()


def _correlation(x: Any, y: Any) -> float:
    """|correlation|, of numbers scaled first so that squares cannot overflow."""
    x, y = x / np.abs(x).max(), y / np.abs(y).max()
    x, y = x - x.mean(), y - y.mean()
    squares = (x @ x) * (y @ y)
    return float(min(1.0, abs(x @ y) / np.sqrt(squares))) if squares > 0 else 0.0


def levels_with_number(codes: Ints, y: Floats) -> Association | None:
    """A category (code -1 is missing) with a number: the correlation ratio."""
    there = codes >= 0
    codes, y = codes[there], y[there]
    if len(np.unique(codes)) < 2 or y.min() == y.max():
        return None
    strength = correlation_ratio(codes, y)
    few = len(np.unique(codes)) <= len(y) / 10
    leak = "its levels alone give the number" if few and strength > SUSPECT else None
    return Association("correlation ratio", strength, leak)


def correlation_ratio(codes: Ints, x: Floats) -> float:
    """√ of the share of x's variance between levels, less what chance gives that many levels."""
    x = x / np.abs(x).max() if np.any(x) else x
    counts = np.bincount(codes).astype(np.float64)
    sums = np.bincount(codes, x)
    used = counts > 0
    total = float(((x - x.mean()) ** 2).sum())
    between = float((counts[used] * (sums[used] / counts[used] - x.mean()) ** 2).sum())
    levels, n = int(used.sum()), len(x)
    if total <= 0.0 or n <= levels:
        return 0.0
    share = 1.0 - (1.0 - between / total) * (n - 1) / (n - levels)
    return float(np.sqrt(min(max(share, 0.0), 1.0)))


def is_copy(codes: Ints, y: Ints, classes: int) -> bool:
    """Whether the levels are the classes under other names: one to one, no row missing."""
    if len(y) < 2 * _LEAST or codes.min() < 0:
        return False
    table = _table(codes, y, classes) > 0
    table = table[table.any(axis=1)]
    return len(table) == classes and bool((table.sum(axis=0) == 1).all() and table.sum() == classes)


def correlations_of_pairs(X: Floats) -> tuple[Floats, Floats]:
    """Correlations and numbers of rows of all pairs, over the rows that have both values.

    Columns are centred and divided by their largest entry first, so that no digit is lost and no
    square overflows.
    """
    held = np.isfinite(X)
    M = held.astype(np.float64)
    count = M.T @ M
    Z = np.where(held, X, 0.0)
    Z = Z / np.maximum(np.abs(Z).max(axis=0, initial=0.0), 1e-300)
    Z = np.where(held, Z - Z.sum(axis=0) / np.maximum(M.sum(axis=0), 1.0), 0.0)
    Z = Z / np.maximum(np.abs(Z).max(axis=0, initial=0.0), 1e-300)
    with np.errstate(divide="ignore", invalid="ignore"):
        sums = Z.T @ M
        cross = Z.T @ Z - sums * sums.T / count
        squares = (Z * Z).T @ M - sums**2 / count
        r = cross / np.sqrt(squares * squares.T)
    smallest = np.minimum(squares, squares.T)
    enough = (count >= 4.0) & (smallest > 1e-12 * count)
    return np.where(enough, np.clip(r, -1.0, 1.0), np.nan), count
