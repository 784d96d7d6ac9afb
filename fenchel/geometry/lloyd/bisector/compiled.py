"""The nearer of two centres in compiled loops: see `plane`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fenchel.geometry.compiled import INLINED, squared_distance
from fenchel.geometry.distance import LANES
from fenchel.geometry.lloyd.compiled import Floats, Integers, Labels, Rows, lowered, raised

Singles = NDArray[np.float32]
_settings: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(**INLINED, fastmath={"reassoc", "contract", "nnan", "nsz"})
def along(x: Rows, middle: Rows, direction: Floats) -> float:
    """Σ (xⱼ - middleⱼ) directionⱼ, in any order."""
    total = 0.0
    for j in range(direction.size):
        total += (np.float64(x[j]) - np.float64(middle[j])) * direction[j]
    return total


@njit(**_settings)
def lengths(squares: Floats, lo: int, hi: int, out: Singles) -> None:
    """‖y‖, rounded up."""
    for i in range(lo, hi):
        out[i] = raised(np.sqrt(squares[i]))


@njit(**_settings)
def doubtful(
    kept: Singles, length: Singles, a: float, b: float, lo: int, hi: int, found: Integers
) -> int:
    """The rows lo to hi - 1 whose κ does not exceed ‖y‖ a + b, and how many they are."""
    count = 0
    for i in range(lo, hi):
        found[count] = i
        count += not np.float64(kept[i]) > np.float64(length[i]) * a + b
    return count


@njit(**_settings)
def nearer_of_two(
    X: Rows,
    squares: Floats,
    C: Rows,
    middle: Rows,
    normal: Floats,
    threshold: float,
    slack: float,
    apart: float,
    turned: float,
    shifted: float,
    rows: Integers,
    kept: Singles,
    length: Singles,
    labels: Labels,
    changed: Integers,
    before: Labels,
) -> tuple[int, int]:
    """The nearer of two centres of some rows, ties to the first, and their κ.

    Rows whose centre is another than before go to `changed`, the old one to `before`. Returns how
    many those were, and how many rows the distances had to decide.
    """
    lanes = np.empty(LANES, np.float64)
    count, exact = 0, 0
    for p in range(rows.size):
        i = rows[p]
        side = along(X[i], middle, normal) - threshold
        limit = slack * squares[i] + apart
        if side > limit:
            nearest = 1
        elif side < -limit:
            nearest = 0
        else:
            exact += 1
            first = squared_distance(X[i], C[0], lanes)
            nearest = 1 if squared_distance(X[i], C[1], lanes) < first else 0
        rest = max(abs(side) - limit, 0.0)
        kept[i] = lowered(rest + np.float64(length[i]) * turned + shifted)
        a = labels[i]
        if a != nearest:
            changed[count] = i
            before[count] = a
            count += 1
            labels[i] = nearest
    return count, exact
