"""Pairs of rows and points: squared distances, and what is decided by them, in compiled loops.

Each loop takes a range of rows, runs on the thread that calls it and holds no interpreter lock; its
matrix products are BLAS calls on tiles that fit the cache. Bounds and their proof: `distance`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fenchel.geometry.distance import LANES

# Without `fastmath`: a squared distance is one fixed sequence of float64 operations, the same on
# every machine. The minimum of a block alone may assume that nothing is NaN, so that it vectorises:
# rows are checked when they come in.
_settings: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
BLOCK = 32  # values whose minimum is taken at once: two vectors of sixteen float32


@njit(**_settings)
def squared_distance(x: NDArray[Any], c: NDArray[Any], lanes: NDArray[np.float64]) -> float:
    """Σ (xₗ - cₗ)² in float64, by the lanes of `distance`."""
    d, width = x.size, lanes.size
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
    total = 0.0
    for r in range(min(width, d)):
        total += lanes[r]
    return total


@njit(**_settings)
def distances_to(
    x: NDArray[Any], columns: NDArray[np.float64], lo: int, out: NDArray[np.float64]
) -> None:
    """out[j] = Σₗ (xₗ - columns[l, lo + j])², for at most LANES coordinates: then the lanes are
    one coordinate each, and their sum is taken in order."""
    out[:] = 0.0
    for coordinate in range(x.size):
        a = np.float64(x[coordinate])
        c = columns[coordinate][lo : lo + out.size]
        for j in range(out.size):
            e = a - c[j]
            out[j] += e * e


@njit(**_settings, fastmath={"nnan", "nsz"})
def lowest_sum(g: NDArray[Any], n: NDArray[Any]) -> Any:
    """min gⱼ + nⱼ."""
    low = g[0] + n[0]
    for j in range(g.size):
        v = g[j] + n[j]
        low = v if v < low else low
    return low


@njit(**_settings, fastmath={"nnan", "nsz"})
def lowest(g: NDArray[Any]) -> Any:
    """min gⱼ."""
    low = g[0]
    for j in range(g.size):
        low = g[j] if g[j] < low else low
    return low


@njit(**_settings)
def insert(
    value: float, number: int, values: NDArray[np.float64], numbers: NDArray[np.int64]
) -> None:
    """Keep the smallest (value, number), in order."""
    p = values.size - 1
    if not (value < values[p] or (value == values[p] and number < numbers[p])):
        return  # also NaN
    while p > 0 and (values[p - 1] > value or (values[p - 1] == value and numbers[p - 1] > number)):
        values[p], numbers[p] = values[p - 1], numbers[p - 1]
        p -= 1
    values[p], numbers[p] = value, number


@njit(**_settings)
def nearest_directly(
    X: NDArray[Any],
    columns: NDArray[np.float64],
    tile: int,
    values: NDArray[np.float64],
    numbers: NDArray[np.int64],
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
def count_directly(
    X: NDArray[Any],
    columns: NDArray[np.float64],
    square: float,
    tile: int,
    counts: NDArray[np.int64],
) -> None:
    """Add the number of points with a squared distance of at most `square`; d ≤ LANES."""
    m = columns.shape[1]
    buffer = np.empty(tile, np.float64)
    for lo in range(0, m, tile):
        out = buffer[: min(tile, m - lo)]
        for i in range(X.shape[0]):
            distances_to(X[i], columns, lo, out)
            found = 0
            for j in range(out.size):
                found += np.int64(out[j] <= square)
            counts[i] += found


@njit(**_settings)
def fill_directly(X: NDArray[Any], columns: NDArray[np.float64], out: NDArray[np.float64]) -> None:
    """All squared distances; d ≤ LANES."""
    for i in range(X.shape[0]):
        distances_to(X[i], columns, 0, out[i])


@njit(**_settings)
def centred(
    X: NDArray[Any],
    lo: int,
    centre: NDArray[np.float64],
    scale: float,
    out: NDArray[Any],
    squares: NDArray[np.float64],
) -> None:
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
    X: NDArray[Any],
    P: NDArray[Any],
    centre: NDArray[np.float64],
    scale: float,
    doubled: NDArray[Any],
    norms: NDArray[Any],
    slack: float,
    limit: float,
    tile_rows: int,
    tile_points: int,
    values: NDArray[np.float64],
    numbers: NDArray[np.int64],
) -> int:
    """The k nearest of the points P to each row: a product for a lower bound of every distance, and
    the distance itself where the bound does not exclude the point. Returns how many those were.

    doubled: -2 scale (P - centre); norms: lower bounds of the squared norms of scale (P - centre);
    slack: δ of `distance`; limit: the squared norm of a row beyond which products may overflow.
    """
    work = doubled.dtype.type
    (n, d), m, k = X.shape, P.shape[0], values.shape[1]
    rows_buffer = np.empty(tile_rows * d, doubled.dtype)
    products_buffer = np.empty(tile_rows * tile_points, doubled.dtype)
    squares = np.empty(tile_rows, np.float64)
    lows = np.empty(tile_points // BLOCK + 1, doubled.dtype)
    seeds, seeded = np.empty(k, np.float64), np.empty(k, np.int64)
    lanes = np.empty(LANES, np.float64)
    eps = np.float64(np.finfo(doubled.dtype).eps)
    tiny = np.float64(np.finfo(doubled.dtype).tiny) * (4 * d + 16)
    exact = 0
    for row in range(0, n, tile_rows):
        height = min(tile_rows, n - row)
        Z = rows_buffer[: height * d].reshape(height, d)
        centred(X, row, centre, scale, Z, squares)
        for lo in range(0, m, tile_points):
            width = min(tile_points, m - lo)
            G = products_buffer[: height * width].reshape(height, width)
            np.dot(Z, doubled[lo : lo + width].T, G)
            tile_norms = norms[lo : lo + width]
            blocks = (width + BLOCK - 1) // BLOCK
            for i in range(height):
                x, near, which = X[row + i], values[row + i], numbers[row + i]
                base = squares[i] * (1.0 - slack) - tiny
                if not squares[i] <= limit:
                    for j in range(width):
                        insert(squared_distance(x, P[lo + j], lanes), lo + j, near, which)
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
                            insert(squared_distance(x, P[lo + j], lanes), lo + j, near, which)
                            g[j] = np.inf
                            exact += 1
                t = near[k - 1] * scale * scale - base
                top = work(t + abs(t) * eps + tiny)
                for b in range(blocks):
                    if lows[b] <= top:
                        for j in range(b * BLOCK, min((b + 1) * BLOCK, width)):
                            # Infinite: has been compared already.
                            if g[j] + tile_norms[j] <= top and g[j] < np.inf:
                                exact += 1
                                insert(
                                    squared_distance(x, P[lo + j], lanes),
                                    lo + j,
                                    near,
                                    which,
                                )
                                t = near[k - 1] * scale * scale - base
                                top = work(t + abs(t) * eps + tiny)
    return exact


@njit(**_settings)
def count_by_products(
    X: NDArray[Any],
    P: NDArray[Any],
    centre: NDArray[np.float64],
    scale: float,
    doubled: NDArray[Any],
    norms: NDArray[Any],
    slack: float,
    limit: float,
    square: float,
    tile_rows: int,
    tile_points: int,
    counts: NDArray[np.int64],
) -> int:
    """Add the number of points with a squared distance of at most `square`: by two bounds, and by
    the distance itself between them. Returns how many distances were made."""
    work = doubled.dtype.type
    (n, d), m = X.shape, P.shape[0]
    rows_buffer = np.empty(tile_rows * d, doubled.dtype)
    products_buffer = np.empty(tile_rows * tile_points, doubled.dtype)
    squares = np.empty(tile_rows, np.float64)
    lanes = np.empty(LANES, np.float64)
    eps = np.float64(np.finfo(doubled.dtype).eps)
    tiny = np.float64(np.finfo(doubled.dtype).tiny) * (4 * d + 16)
    exact = 0
    for row in range(0, n, tile_rows):
        height = min(tile_rows, n - row)
        Z = rows_buffer[: height * d].reshape(height, d)
        centred(X, row, centre, scale, Z, squares)
        for lo in range(0, m, tile_points):
            width = min(tile_points, m - lo)
            G = products_buffer[: height * width].reshape(height, width)
            np.dot(Z, doubled[lo : lo + width].T, G)
            tile_norms = norms[lo : lo + width]
            largest = np.float64(tile_norms[0])
            for j in range(width):
                largest = max(largest, np.float64(tile_norms[j]))
            for i in range(height):
                x, found = X[row + i], 0
                if not squares[i] <= limit:
                    for j in range(width):
                        found += np.int64(squared_distance(x, P[lo + j], lanes) <= square)
                    exact += width
                    counts[row + i] += found
                    continue
                t = square * scale * scale - squares[i] * (1.0 - slack) + tiny
                high = work(t + abs(t) * eps + tiny)
                # A lower bound of a squared distance is at most twice δ(‖x‖² + ‖p‖²) below it.
                t -= 2.5 * slack * (squares[i] + largest) + 4.0 * tiny
                low = work(t - abs(t) * eps - tiny)
                g, within = G[i], 0
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
    X: NDArray[np.float64],
    P: NDArray[np.float64],
    row_squares: NDArray[np.float64],
    point_squares: NDArray[np.float64],
    share: float,
    out: NDArray[np.float64],
) -> None:
    """out + ‖xᵢ‖² + ‖pⱼ‖² for out = -2 xᵢ·pⱼ; made directly where that is at most a share of
    ‖xᵢ‖² + ‖pⱼ‖², since the difference has then lost digits, or where it has overflowed."""
    lanes = np.empty(LANES, np.float64)
    for i in range(out.shape[0]):
        g, a, lost = out[i], row_squares[i], 0
        for j in range(g.size):
            total = a + point_squares[j]
            g[j] += total
            lost += np.int64(not g[j] > share * total)
        if lost:
            for j in range(g.size):
                if not g[j] > share * (a + point_squares[j]):
                    g[j] = squared_distance(X[i], P[j], lanes)
