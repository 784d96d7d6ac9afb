"""Pairs of rows and points: squared distances, and what is decided by them, in compiled loops.

Each loop takes a range of rows, runs on the thread that calls it and holds no interpreter lock; its
matrix products are BLAS calls on tiles that fit the cache. Bounds and their proof: `distance`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fenchel.geometry.distance import LANES, Bounds

Rows = NDArray[Any]  # float32 or float64
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# Without `fastmath`: a squared distance is one fixed sequence of float64 operations, the same on
# every machine.
_settings: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
# Of functions of a row: a call counts references to its arrays in atomic steps, 45 ns together (16
# columns take 5), for which threads wait on each other. Inlined they are not counted.
INLINED: dict[str, Any] = {"nogil": True, "error_model": "numpy", "forceinline": True}
# Values that are compared with a threshold at once. Counting vectorises (28 ns for 512 sums of
# float32, where their minimum takes 270).
BLOCK = 64


@njit(**INLINED)
def squared_distance(x: Rows, c: Rows, lanes: Floats) -> float:
    """Σ (xₗ - cₗ)² in float64, by the lanes of `distance`."""
    d, width, total = x.size, lanes.size, 0.0
    if d <= width:  # then each lane is one coordinate
        for r in range(d):
            e = np.float64(x[r]) - np.float64(c[r])
            total += e * e
        return total
    whole = d - d % width
    lanes[:] = 0.0
    for start in range(0, whole, width):
        xs, cs = x[start : start + width], c[start : start + width]
        for r in range(width):
            e = np.float64(xs[r]) - np.float64(cs[r])
            lanes[r] += e * e
    xs, cs = x[whole:], c[whole:]
    for r in range(xs.size):
        e = np.float64(xs[r]) - np.float64(cs[r])
        lanes[r] += e * e
    for r in range(width):
        total += lanes[r]
    return total


@njit(**INLINED)
def distances_to(x: Rows, columns: Floats, lo: int, out: Floats) -> None:
    """out[j] = Σₗ (xₗ - columns[l, lo + j])², for at most LANES coordinates: then the lanes are
    one coordinate each, and their sum is taken in order."""
    d, m = x.size, out.size
    out[:] = 0.0
    four = d - d % 4
    for q in range(0, four, 4):  # four at a time read and write the sums a quarter as often
        x0, x1 = np.float64(x[q]), np.float64(x[q + 1])
        x2, x3 = np.float64(x[q + 2]), np.float64(x[q + 3])
        c0, c1 = columns[q][lo : lo + m], columns[q + 1][lo : lo + m]
        c2, c3 = columns[q + 2][lo : lo + m], columns[q + 3][lo : lo + m]
        for j in range(m):
            e0, e1, e2, e3 = x0 - c0[j], x1 - c1[j], x2 - c2[j], x3 - c3[j]
            out[j] = (((out[j] + e0 * e0) + e1 * e1) + e2 * e2) + e3 * e3
    for q in range(four, d):
        a, c = np.float64(x[q]), columns[q][lo : lo + m]
        for j in range(m):
            e = a - c[j]
            out[j] += e * e


@njit(**_settings)
def sums_within(g: Rows, n: Rows, top: Any) -> int:
    """How many gⱼ + nⱼ are at most `top`."""
    count = 0
    for j in range(g.size):
        count += int(g[j] + n[j] <= top)
    return count


@njit(**_settings)
def within(g: Rows, top: float) -> int:
    """How many gⱼ are at most `top`."""
    count = 0
    for j in range(g.size):
        count += int(g[j] <= top)
    return count


@njit(**INLINED)
def insert(value: float, number: int, values: Floats, numbers: Integers) -> None:
    """Keep the smallest (value, number), in order."""
    p = values.size - 1
    if not (value < values[p] or (value == values[p] and number < numbers[p])):
        return  # also NaN
    while p > 0 and (values[p - 1] > value or (values[p - 1] == value and numbers[p - 1] > number)):
        values[p], numbers[p] = values[p - 1], numbers[p - 1]
        p -= 1
    values[p], numbers[p] = value, number


@njit(**INLINED)
def compare(
    x: Rows, P: Rows, lo: int, hi: int, lanes: Floats, values: Floats, numbers: Integers
) -> None:
    """Make the distances of points lo to hi - 1, and keep those among the smallest."""
    for j in range(lo, hi):
        insert(squared_distance(x, P[j], lanes), j, values, numbers)


@njit(**_settings)
def lowest_sums(g: Rows, n: Rows, sums: Floats, places: Integers) -> None:
    """The lowest gⱼ + nⱼ, in order, and their j; -1 where there are fewer."""
    for q in range(sums.size):
        sums[q], places[q] = np.inf, -1
    for j in range(g.size):
        v = g[j] + n[j]
        if v < sums[sums.size - 1]:
            insert(v, j, sums, places)


@njit(**_settings)
def threshold(square: float, base: float, points: Bounds) -> float:
    """What a bound without its row's part must exceed to exclude a point, rounded upward."""
    t = square * points.scale * points.scale - base
    return t + abs(t) * points.eps + points.tiny


@njit(**_settings)
def nearest_directly(
    X: Rows, columns: Floats, tile: int, values: Floats, numbers: Integers
) -> None:
    """The k nearest of m points to each row, all distances made directly; d ≤ LANES.

    columns (d, m): the points; values, numbers (n, k): inf and -1, or what is known so far.
    """
    m = columns.shape[1]
    buffer = np.empty(tile, np.float64)
    k = values.shape[1]
    for lo in range(0, m, tile):
        width = min(tile, m - lo)
        out = buffer[:width]
        for i in range(X.shape[0]):
            distances_to(X[i], columns, lo, out)
            near, which = values[i], numbers[i]
            for start in range(0, width, BLOCK):
                part = out[start : start + BLOCK]
                if within(part, near[k - 1]):
                    for j in range(part.size):
                        if part[j] <= near[k - 1]:
                            insert(part[j], lo + start + j, near, which)


@njit(**_settings)
def count_directly(X: Rows, columns: Floats, square: float, tile: int, counts: Integers) -> None:
    """Add the number of points with a squared distance of at most `square`; d ≤ LANES."""
    m = columns.shape[1]
    buffer = np.empty(tile, np.float64)
    for lo in range(0, m, tile):
        out = buffer[: min(tile, m - lo)]
        for i in range(X.shape[0]):
            distances_to(X[i], columns, lo, out)
            found = np.int64(0)
            for j in range(out.size):
                found += np.int64(out[j] <= square)
            counts[i] += found


@njit(**_settings)
def fill_directly(X: Rows, columns: Floats, out: Floats) -> None:
    """All squared distances; d ≤ LANES."""
    for i in range(X.shape[0]):
        distances_to(X[i], columns, 0, out[i])


@njit(**_settings, fastmath={"reassoc", "contract"})
def square_sum(z: Rows) -> float:
    """‖z‖² in float64, in any order."""
    total = 0.0
    for j in range(z.size):
        e = np.float64(z[j])
        total += e * e
    return total


@njit(**_settings)
def largest_square(X: Rows, lo: int, hi: int, centre: Floats) -> float:
    """max ‖xᵢ - centre‖² of the rows lo to hi - 1."""
    left, top = np.empty(centre.size, np.float64), 0.0
    for i in range(lo, hi):
        x = X[i]
        for j in range(x.size):
            left[j] = np.float64(x[j]) - centre[j]
        top = max(top, square_sum(left))
    return top


@njit(**_settings)
def doubled_rows(
    X: Rows,
    lo: int,
    hi: int,
    centre: Floats,
    scale: float,
    slack: float,
    doubled: Rows,
    norms: Rows,
) -> None:
    """-2 ẑᵢ and (1 - slack) ‖ẑᵢ‖² of the rows lo to hi - 1, ẑ = scale (x - centre) as stored."""
    work, two = doubled.dtype.type, doubled.dtype.type(-2.0)
    for i in range(lo, hi):
        x, z = X[i], doubled[i]
        for j in range(x.size):
            z[j] = work((np.float64(x[j]) - centre[j]) * scale)
        norms[i] = work(square_sum(z) * (1.0 - slack))
        for j in range(x.size):
            z[j] *= two


@njit(**_settings)
def centred(X: Rows, lo: int, centre: Floats, scale: float, out: Rows, squares: Floats) -> None:
    """scale (xᵢ - centre) in the type of `out`, and its squared norm."""
    work = out.dtype.type
    for i in range(out.shape[0]):
        x, z = X[lo + i], out[i]
        for j in range(x.size):
            z[j] = work((np.float64(x[j]) - centre[j]) * scale)
        squares[i] = square_sum(z)


@njit(**_settings)
def two_lowest(g: Rows, n: Any, j: Any, low: Rows, next_low: Rows, at: Rows) -> None:
    """Take gᵢ + n, the bound of point j, into the two lowest of every row i."""
    for i in range(g.size):
        v, old = g[i] + n, low[i]
        worse = old if v < old else v
        low[i] = v if v < old else old
        at[i] = j if v < old else at[i]
        next_low[i] = worse if worse < next_low[i] else next_low[i]


@njit(**_settings)
def refine(
    X: Floats, P: Floats, row_squares: Floats, point_squares: Floats, share: float, out: Floats
) -> None:
    """out + ‖xᵢ‖² + ‖pⱼ‖² for out = -2 xᵢ·pⱼ; made directly where that is at most a share of
    ‖xᵢ‖² + ‖pⱼ‖², since the difference has then lost digits, or where it has overflowed."""
    lanes = np.empty(LANES, np.float64)
    for i in range(out.shape[0]):
        g, a, lost = out[i], row_squares[i], np.int64(0)
        for j in range(g.size):
            total = a + point_squares[j]
            g[j] += total
            lost += np.int64(not g[j] > share * total)
        if lost:
            for j in range(g.size):
                if not g[j] > share * (a + point_squares[j]):
                    g[j] = squared_distance(X[i], P[j], lanes)
