"""Values of a number column that are probably no measurements: missing-value codes and cells that
dominate the scale.

With S the interquartile range of the other values (or, where that is 0, their 1 % to 99 % range, or
their range):

- a *code* is a value at one end of the column, in at least three rows, at a distance of more than S
  from every other value if it is written like a code (-999, 9999, 0 below nothing but larger
  numbers), of more than S/4 if it is besides the only negative value (-1 among ages); otherwise of
  more than 3 S, in at most a tenth of the rows, beside ten other values or more. Two codes may
  stand together (998, 999);
- a *repeated* value is written like a code (0, -1, three or more nines) and stands in 2 to 30 % of
  the rows of a column whose other values hardly repeat (half of them or more are different);
- a cell *dominates* where it lies more than 20 S from the median, at most 0.5 % of the cells (or
  two) do, and these hold more than half of the sum of squares about the median.

Cost: one sort.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEAST_ROWS = 20  # below, quartiles say too little
LEAST_REPEATS = 3  # two equal extreme values are a coincidence in rounded data
CODE_GAP, NEGATIVE_GAP, OTHER_GAP = 1.0, 0.25, 3.0  # in S: the likelier a code, the less is asked
FAR = 20.0  # in S: a normal law is beyond it with probability 1e-160
REPEATED, MOST_REPEATED = 0.02, 0.3  # shares of rows: more zeros than that are a matter of course
LEAST_OTHERS = 10  # other values, where the one that stands apart is not written like a code
MOST_CODES = 2  # at each end, such as 998 (refused) and 999 (unknown)


@dataclass(frozen=True)
class SuspectValue:
    """A value that stands apart.

    kind: "code" where it repeats far from all others, "repeated" where it repeats among values that
    do not, "dominant" where one or a few cells make the scale. `written` tells whether it is
    customary as a code; only a code that is so written is taken for missing. rows: the first few
    that hold it, counted from 0. nearest: the other value nearest to it.
    """

    cell: float  # the value
    count: int
    kind: str
    written: bool
    nearest: float
    rows: tuple[int, ...] = ()


def suspect_values(
    x: Floats, customary: frozenset[float] = frozenset()
) -> tuple[SuspectValue, ...]:
    """Codes and dominating cells of a column; NaN is missing.

    `customary`: further values that are used as codes, such as the day 9999-12-31.
    """
    there = np.flatnonzero(~np.isnan(x))
    held = x[there]
    if len(held) < LEAST_ROWS:
        return ()
    found, held = _codes(held, customary)
    found += _repeated(held)
    found += _dominant(held)
    return tuple(
        SuspectValue(
            one.cell,
            one.count,
            one.kind,
            one.written,
            one.nearest,
            tuple(int(row) for row in np.flatnonzero(x == one.cell)[:3]),
        )
        for one in found
    )


def spread(x: Floats) -> tuple[float, float]:
    """Median and S of the values; quarters are subtracted, so that no difference overflows."""
    x = x / 4.0
    low, q1, median, q3, high = np.quantile(x, [0.01, 0.25, 0.5, 0.75, 0.99])
    widths = (b - a for a, b in ((q1, q3), (low, high), (x.min(), x.max())))
    width = next((float(width) for width in widths if width > 0.0), 0.0)
    return 4.0 * float(median), 4.0 * min(width, np.finfo(np.float64).max / 4.0)


def _codes(held: Floats, customary: frozenset[float]) -> tuple[list[SuspectValue], Floats]:
    """The codes at both ends, and the values without them."""
    found: list[SuspectValue] = []
    for sign in (1.0, -1.0):  # the lower end, then the upper one as that of the negatives
        here: list[SuspectValue] = []
        while len(here) < MOST_CODES:
            more = next(
                (
                    one
                    for k in range(1, MOST_CODES + 1)
                    if (one := _outermost(sign, held, k, customary))
                ),
                None,
            )
            if more is None:
                break
            here += more
            held = held[~np.isin(held, [one.cell for one in more])]
        found += here
    return found, held


def _outermost(
    sign: float, held: Floats, k: int, customary: frozenset[float]
) -> list[SuspectValue] | None:
    """The k lowest values (of sign times the column) as codes, if they are."""
    values, counts = np.unique(sign * held, return_counts=True)
    if len(values) < k + 3:  # three others make a spread
        return None
    outer, nearest = sign * values[:k], float(sign * values[k])
    rest = held[~np.isin(held, outer)]
    if counts[:k].min() < LEAST_REPEATS or 2 * counts[:k].sum() > len(held):
        return None
    written = any(float(v) in customary or is_code(float(v), rest) for v in outer)
    if not written and (len(values) - k < LEAST_OTHERS or 10 * counts[:k].sum() > len(held)):
        return None  # one of a few values, or of many rows: nothing speaks for a code
    alone = written and sign > 0.0 and outer[-1] < 0.0 <= rest.min()
    asked = NEGATIVE_GAP if alone else CODE_GAP if written else OTHER_GAP
    if not abs(outer[-1] / 2.0 - nearest / 2.0) > asked * spread(rest)[1] / 2.0:
        return None
    return [
        SuspectValue(float(value), int(count), "code", written, nearest)
        for value, count in zip(outer, counts[:k], strict=True)
    ]


def _repeated(held: Floats) -> list[SuspectValue]:
    """Values written like codes that repeat in a column of different values."""
    values, counts = np.unique(held, return_counts=True)
    found = []
    often = (counts >= max(5, REPEATED * len(held))) & (counts <= MOST_REPEATED * len(held))
    for k in np.flatnonzero(often):
        value, rest = float(values[k]), len(held) - int(counts[k])
        code = value in (0.0, -1.0) or (abs(value) >= 100.0 and _is_nines(value))
        if code and rest >= LEAST_ROWS and len(values) - 1 >= 0.5 * rest:
            others = np.delete(values, k)
            nearest = float(others[np.argmin(np.abs(others - value))])
            found.append(SuspectValue(value, int(counts[k]), "repeated", True, nearest))
    return found


def _is_nines(value: float) -> bool:
    digits = f"{abs(value):.0f}"
    return value == round(value) and abs(value) < 1e15 and set(digits) == {"9"}


def is_code(value: float, rest: Floats) -> bool:
    """Whether a value is customary for "missing": -1, 0 below larger numbers, 99, -999, 8888, …"""
    if value == 0.0:
        return bool(rest.min() > 0.0)
    if value == -1.0:
        return bool(rest.min() >= 0.0)
    digits = f"{abs(value):.0f}"
    whole = value == round(value) and abs(value) < 1e15
    return whole and digits == digits[0] * len(digits) and digits[0] in "789"


def _dominant(held: Floats) -> list[SuspectValue]:
    """The farthest of a few cells that make most of the sum of squares."""
    if len(held) < LEAST_ROWS:
        return []
    median, width = spread(held)
    if not width > 0.0:
        return []
    with np.errstate(over="ignore"):
        apart = np.abs(held / width - median / width)
    far = apart > FAR
    count = int(far.sum())
    if not 0 < count <= max(2, len(held) // 200):
        return []
    most = apart.max()
    squares = (apart / most) ** 2 if np.isfinite(most) else far.astype(np.float64)
    if not squares[far].sum() > 0.5 * squares.sum():
        return []
    value = float(held[int(np.argmax(apart))])
    others = held[~far]
    nearest = float(others.max() if value > median else others.min())
    return [SuspectValue(value, count, "dominant", False, nearest)]


def clip_limits(x: Floats) -> tuple[float, float] | None:
    """The range of the other cells, where a few cells dominate the scale; None elsewhere."""
    if not _dominant(x):
        return None
    median, width = spread(x)
    others = x[np.abs(x / width - median / width) <= FAR]
    return float(others.min()), float(others.max())
