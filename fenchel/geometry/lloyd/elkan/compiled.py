"""Elkan's loop: a row is compared with those centres alone that its bounds do not exclude."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fenchel.geometry.compiled import INLINED, squared_distance
from fenchel.geometry.distance import LANES
from fenchel.geometry.lloyd.compiled import (
    DOWN,
    Floats,
    Integers,
    Labels,
    Moves,
    Rows,
    lowered,
    raised,
)

Singles = NDArray[np.float32]
_settings: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
SHRINK = np.float32(DOWN)
GROUP = 128  # rows of 784 float32 columns: what a core's second cache holds


@njit(**INLINED, fastmath={"reassoc", "contract", "nnan", "nsz"})
def quick_square(x: Rows, c: Rows) -> Any:
    """‖x - c‖² in the precision of the rows, in any order: off by (d + 4) roundings at most."""
    total = x[0] * 0
    for j in range(x.size):
        e = x[j] - c[j]
        total += e * e
    return total


@njit(**INLINED, fastmath={"nnan", "nsz"})
def least_bound(bounds: Singles, risen: Singles, halves: Singles) -> Any:
    """minⱼ max(lⱼ, half the distance from the own centre to centre j); its own has infinity."""
    low = np.float32(np.inf)
    for j in range(bounds.size):
        b = (bounds[j] - risen[j]) * SHRINK
        b = b if b > halves[j] else halves[j]
        low = b if b < low else low
    return low


@njit(**_settings)
def nearest_by_bounds(
    X: Rows,
    C: Rows,
    moves: Moves,
    halves: Singles,
    stored: Floats,
    risen: Singles,
    scale: float,
    guard: float,
    slack: float,
    tiny: float,
    labels: Labels,
    upper: Singles,
    lower: Singles,
    each: Singles,
    lo: int,
    hi: int,
    changed: Integers,
    before: Labels,
) -> tuple[int, int]:
    """The nearest centre of rows lo to hi - 1, ties to the lower number, and their bounds.

    each (n, k): lower bounds of distances, plus how far the centre had moved by then; stored,
    risen: how far each has moved by now, rounded down and up; halves (k, k): half the distances
    between centres, rounded down. slack, tiny: of `quick_square`. Rows whose centre is another than
    before go to `changed`, the old one to `before`. Returns how many those were, and how many rows
    were compared with other centres than their own.
    """
    k = C.shape[0]
    lanes = np.empty(LANES, np.float64)
    number = np.empty(k, np.int64)
    lows, highs = np.empty(k, np.float64), np.empty(k, np.float64)
    doubted = np.empty(GROUP, np.int64)
    limits, squares = np.empty(GROUP, np.float32), np.empty(GROUP, X.dtype)
    count, searched = 0, 0
    for start in range(lo, hi, GROUP):
        # Each of these loops reads rows that do not wait for one another.
        some = 0
        for i in range(start, min(start + GROUP, hi)):
            a = labels[i]
            u = raised(np.float64(upper[i]) + moves.own[a])
            low = lowered(np.float64(lower[i]) - moves.other[a])
            upper[i], lower[i] = u, low
            doubted[some] = i
            some += not np.float64(u) * guard < max(np.float64(low), moves.half[a])
        left = 0
        for p in range(some):
            i = doubted[p]
            limit = least_bound(each[i], risen, halves[labels[i]])
            if np.float64(upper[i]) * guard < np.float64(limit):
                lower[i] = lowered(np.float64(limit))
            else:
                doubted[left], limits[left] = i, limit
                left += 1
        for p in range(left):
            squares[p] = quick_square(X[doubted[p]], C[labels[doubted[p]]])
        for p in range(left):
            i = doubted[p]
            a, limit = labels[i], np.float64(limits[p])
            square = np.float64(squares[p])
            own_low = np.sqrt(max(square * (1.0 - slack) - tiny, 0.0)) * scale
            u = raised(np.sqrt(square * (1.0 + slack) + tiny) * scale)
            each[i, a] = lowered(own_low + stored[a])
            if np.float64(u) * guard < limit:
                upper[i], lower[i] = u, lowered(limit)
                continue
            searched += 1
            reach = best = np.float64(u)
            rest = np.inf
            number[0], lows[0], highs[0] = a, own_low, best
            found, nearest = 1, np.int64(a)
            for j in range(k):
                if j == a:
                    continue
                bound = np.float64((each[i, j] - risen[j]) * SHRINK)
                half = np.float64(halves[a, j])
                # d(x, cⱼ) ≥ 2 half - d(x, c(a)): more than half where that is more than d(x, c(a)).
                if half > reach * guard and half > bound:
                    bound = half
                if bound > best * guard:
                    rest = min(rest, bound)
                    continue
                square = np.float64(quick_square(X[i], C[j]))
                low_j = np.sqrt(max(square * (1.0 - slack) - tiny, 0.0)) * scale
                high_j = np.float64(raised(np.sqrt(square * (1.0 + slack) + tiny) * scale))
                each[i, j] = lowered(low_j + stored[j])
                number[found], lows[found], highs[found] = j, low_j, high_j
                found += 1
                if high_j < best:
                    best, nearest = high_j, np.int64(j)
            top, rivals = best * guard, 0
            for q in range(found):
                rivals += lows[q] <= top
            if rivals > 1:
                least = np.inf
                nearest = np.int64(k)
                for q in range(found):
                    if lows[q] <= top:
                        square = squared_distance(X[i], C[number[q]], lanes)
                        if square < least or (square == least and number[q] < nearest):
                            least, nearest = square, number[q]
            for q in range(found):
                if number[q] == nearest:
                    best = highs[q]
                else:
                    rest = min(rest, lows[q])
            upper[i], lower[i] = raised(best), lowered(rest)
            if nearest != a:
                changed[count] = i
                before[count] = a
                count += 1
                labels[i] = nearest
    return count, searched
