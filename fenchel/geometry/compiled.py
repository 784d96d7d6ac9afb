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
# every machine. The minimum of a block alone may assume that nothing is NaN, so that it vectorises:
# rows are checked when they come in.
_settings: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
# Of functions of a row: a call counts references to its arrays in atomic steps, 45 ns together (16
# columns take 5), for which threads wait on each other. Inlined they are not counted.
INLINED: dict[str, Any] = {"nogil": True, "error_model": "numpy", "forceinline": True}
BLOCK = 32  # values whose minimum is taken at once: two vectors of sixteen float32


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


@njit(**INLINED, fastmath={"nnan", "nsz"})
def lowest_sum(g: Rows, n: Rows) -> Any:
    """min gⱼ + nⱼ."""
    low = g[0] + n[0]
    for j in range(g.size):
        v = g[j] + n[j]
        low = v if v < low else low
    return low


@njit(**INLINED, fastmath={"nnan", "nsz"})
def lowest(g: Rows) -> Any:
    """min gⱼ."""
    low = g[0]
    for j in range(g.size):
        low = g[j] if g[j] < low else low
    return low


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
                if lowest(part) <= near[k - 1]:
                    for j in range(part.size):
                        if part[j] <= near[k - 1]:
                            insert(part[j], lo + start + j, near, which)


@njit(**_settings)
def nearest_among(
    X: Rows, P: Rows, candidates: Integers, values: Floats, numbers: Integers
) -> None:
    """The k nearest to each row of some points, candidates (n, c) of them, each at most once."""
    lanes = np.empty(LANES, np.float64)
    for i in range(X.shape[0]):
        for j in candidates[i]:
            insert(squared_distance(X[i], P[j], lanes), j, values[i], numbers[i])


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


@njit(**_settings)
def centred(X: Rows, lo: int, centre: Floats, scale: float, out: Rows, squares: Floats) -> None:
    """scale (xᵢ - centre) in the type of `out`, and its squared norm."""
    work = out.dtype.type
    for i in range(out.shape[0]):
        x, z = X[lo + i], out[i]
        for j in range(x.size):
            z[j] = work((np.float64(x[j]) - centre[j]) * scale)
        total = 0.0
        for j in range(z.size):
            e = np.float64(z[j])
            total += e * e
        squares[i] = total


@njit(**_settings)
def nearest_by_products(
    X: Rows, points: Bounds, tile_rows: int, tile_points: int, values: Floats, numbers: Integers
) -> int:
    """The k nearest points to each row: a product for a lower bound of every distance, and the
    distance itself where the bound does not exclude the point. Returns how many those were."""
    P, doubled, norms, slack = points.rows, points.doubled, points.norms, points.slack
    limit, work = points.limit, doubled.dtype.type
    (n, d), m, k = X.shape, P.shape[0], values.shape[1]
    rows_buffer = np.empty(tile_rows * d, doubled.dtype)
    products_buffer = np.empty(tile_rows * tile_points, doubled.dtype)
    squares = np.empty(tile_rows, np.float64)
    lows = np.empty(tile_points // BLOCK + 1, doubled.dtype)
    seeds, seeded = np.empty(k, np.float64), np.empty(k, np.int64)
    lanes = np.empty(LANES, np.float64)
    exact = 0
    for row in range(0, n, tile_rows):
        height = min(tile_rows, n - row)
        Z = rows_buffer[: height * d].reshape(height, d)
        centred(X, row, points.centre, points.scale, Z, squares)
        for lo in range(0, m, tile_points):
            width = min(tile_points, m - lo)
            G = products_buffer[: height * width].reshape(height, width)
            np.dot(Z, doubled[lo : lo + width].T, G)
            tile_norms = norms[lo : lo + width]
            blocks = (width + BLOCK - 1) // BLOCK
            for i in range(height):
                x, near, which = X[row + i], values[row + i], numbers[row + i]
                base = squares[i] * (1.0 - slack) - points.tiny
                if not squares[i] <= limit:
                    compare(x, P, lo, lo + width, lanes, near, which)
                    exact += width
                    continue
                g = G[i]
                for b in range(blocks):
                    start = b * BLOCK
                    lows[b] = lowest_sum(
                        g[start : start + BLOCK], tile_norms[start : start + BLOCK]
                    )
                if near[k - 1] == np.inf:
                    # The k lowest bounds of the tile: their distances give a first threshold.
                    seeds[:] = np.inf
                    seeded[:] = -1
                    for b in range(blocks):
                        if lows[b] < seeds[k - 1]:
                            for j in range(b * BLOCK, min((b + 1) * BLOCK, width)):
                                v = g[j] + tile_norms[j]
                                if v < seeds[k - 1]:
                                    insert(v, j, seeds, seeded)
                    for q in range(k):
                        j = seeded[q]
                        if j >= 0:
                            compare(x, P, lo + j, lo + j + 1, lanes, near, which)
                            g[j] = np.inf
                            exact += 1
                top = work(threshold(near[k - 1], base, points))
                for b in range(blocks):
                    if lows[b] <= top:
                        for j in range(b * BLOCK, min((b + 1) * BLOCK, width)):
                            # Infinite: has been compared already.
                            if g[j] + tile_norms[j] <= top and g[j] < np.inf:
                                exact += 1
                                compare(x, P, lo + j, lo + j + 1, lanes, near, which)
                                top = work(threshold(near[k - 1], base, points))
    return exact


@njit(**INLINED)
def two_lowest(g: Rows, n: Any, j: Any, low: Rows, next_low: Rows, at: Rows) -> None:
    """Take gᵢ + n, the bound of point j, into the two lowest of every row i."""
    for i in range(g.size):
        v, old = g[i] + n, low[i]
        worse = old if v < old else v
        low[i] = v if v < old else old
        at[i] = j if v < old else at[i]
        next_low[i] = worse if worse < next_low[i] else next_low[i]


@njit(**_settings)
def nearest_one_by_products(
    X: Rows, points: Bounds, tile_rows: int, tile_points: int, values: Floats, numbers: Integers
) -> int:
    """`nearest_by_products` for k = 1: products lie with the rows side by side, so that the two
    lowest bounds of all rows are found without a comparison within a row. Where the second exceeds
    the distance of the first, that is the nearest.
    """
    P, doubled, norms, slack = points.rows, points.doubled, points.norms, points.slack
    limit, work = points.limit, doubled.dtype.type
    (n, d), m = X.shape, P.shape[0]
    rows_buffer = np.empty(tile_rows * d, doubled.dtype)
    products_buffer = np.empty(tile_rows * tile_points, doubled.dtype)
    squares = np.empty(tile_rows, np.float64)
    lows, next_lows = np.empty(tile_rows, doubled.dtype), np.empty(tile_rows, doubled.dtype)
    places = np.empty(tile_rows, doubled.dtype)  # whole numbers below 2²⁴, in the lanes of a bound
    lanes = np.empty(LANES, np.float64)
    exact = 0
    for row in range(0, n, tile_rows):
        height = min(tile_rows, n - row)
        Z = rows_buffer[: height * d].reshape(height, d)
        centred(X, row, points.centre, points.scale, Z, squares)
        low, next_low, at = lows[:height], next_lows[:height], places[:height]
        for lo in range(0, m, tile_points):
            width = min(tile_points, m - lo)
            G = products_buffer[: width * height].reshape(width, height)
            np.dot(doubled[lo : lo + width], Z.T, G)
            low[:], next_low[:], at[:] = np.inf, np.inf, 0.0
            for j in range(width):
                two_lowest(G[j], norms[lo + j], work(j), low, next_low, at)
            for i in range(height):
                x, near, which = X[row + i], values[row + i], numbers[row + i]
                if not squares[i] <= limit:
                    compare(x, P, lo, lo + width, lanes, near, which)
                    exact += width
                    continue
                base = squares[i] * (1.0 - slack) - points.tiny
                top = work(threshold(near[0], base, points))
                if low[i] > top:
                    continue
                first = np.int64(at[i])
                exact += 1
                compare(x, P, lo + first, lo + first + 1, lanes, near, which)
                top = work(threshold(near[0], base, points))
                if next_low[i] > top:
                    continue
                for j in range(width):
                    if j != first and G[j, i] + norms[lo + j] <= top:
                        exact += 1
                        compare(x, P, lo + j, lo + j + 1, lanes, near, which)
                        top = work(threshold(near[0], base, points))
    return exact


@njit(**_settings)
def count_by_products(
    X: Rows, points: Bounds, square: float, tile_rows: int, tile_points: int, counts: Integers
) -> int:
    """Add the number of points with a squared distance of at most `square`: by two bounds, and by
    the distance itself between them. Returns how many distances were made."""
    P, doubled, norms, slack = points.rows, points.doubled, points.norms, points.slack
    limit, work = points.limit, doubled.dtype.type
    (n, d), m = X.shape, P.shape[0]
    rows_buffer = np.empty(tile_rows * d, doubled.dtype)
    products_buffer = np.empty(tile_rows * tile_points, doubled.dtype)
    squares = np.empty(tile_rows, np.float64)
    lanes = np.empty(LANES, np.float64)
    exact = 0
    for row in range(0, n, tile_rows):
        height = min(tile_rows, n - row)
        Z = rows_buffer[: height * d].reshape(height, d)
        centred(X, row, points.centre, points.scale, Z, squares)
        for lo in range(0, m, tile_points):
            width = min(tile_points, m - lo)
            G = products_buffer[: height * width].reshape(height, width)
            np.dot(Z, doubled[lo : lo + width].T, G)
            tile_norms = norms[lo : lo + width]
            largest = np.float64(tile_norms[0])
            for j in range(width):
                largest = max(largest, np.float64(tile_norms[j]))
            for i in range(height):
                x, found = X[row + i], np.int64(0)
                if not squares[i] <= limit:
                    for j in range(width):
                        found += np.int64(squared_distance(x, P[lo + j], lanes) <= square)
                    exact += width
                    counts[row + i] += found
                    continue
                base = squares[i] * (1.0 - slack) - points.tiny
                high = work(threshold(square, base, points))
                # A lower bound of a squared distance is at most twice δ(‖x‖² + ‖p‖²) below it.
                t = square * points.scale * points.scale - base
                t -= 2.5 * slack * (squares[i] + largest) + 4.0 * points.tiny
                low = work(t - abs(t) * points.eps - points.tiny)
                g, within = G[i], np.int64(0)
                for j in range(width):
                    v = g[j] + tile_norms[j]
                    found += np.int64(v <= low)
                    within += np.int64(v <= high)
                if within != found:
                    for j in range(width):
                        v = g[j] + tile_norms[j]
                        if low < v <= high:
                            exact += 1
                            found += np.int64(squared_distance(x, P[lo + j], lanes) <= square)
                counts[row + i] += found
    return exact


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
