"""Nearest points and counts by tiles of products, in compiled loops.

A product gives a lower bound of every distance and the distance is at most a known width above it.
The k lowest bounds of a row exclude most points; the distances of those that are left decide.
Bounds and their proof: `fenchel.geometry.distance`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fenchel.geometry.compiled import (
    BLOCK,
    centred,
    compare,
    insert,
    squared_distance,
    sums_within,
    threshold,
    two_lowest,
)
from fenchel.geometry.distance import LANES, Bounds

Rows = NDArray[Any]  # float32 or float64
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_settings: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(**_settings)
def excess(square: float, largest: float, points: Bounds) -> float:
    """How far the bound of a squared distance is below it at most: twice δ(‖x‖² + ‖p‖²)."""
    return 2.5 * points.slack * (square + largest) + 4.0 * points.tiny


@njit(**_settings)
def reached(low: float, base: float, width: float, near: float, points: Bounds) -> float:
    """What a bound must exceed to exclude a point: so many points as are asked have bounds of at
    most `low`, hence distances of at most `width` more; near: the k-th distance decided so far."""
    t = low + width
    return min(t + abs(t) * points.eps + points.tiny, threshold(near, base, points))


@njit(**_settings)
def kept(bounds: Rows, candidates: Integers, count: int, top: Any) -> int:
    """Leave out candidates whose bound exceeds `top`; how many are left."""
    place = 0
    for c in range(count):
        bounds[place], candidates[place] = bounds[c], candidates[c]
        place += int(bounds[c] <= top)
    return place


@njit(**_settings)
def decide(
    x: Rows,
    P: Rows,
    bounds: Rows,
    candidates: Integers,
    count: int,
    top: Any,
    lanes: Floats,
    values: Floats,
    numbers: Integers,
) -> int:
    """Make the distances of candidates whose bound is at most `top`; how many those are."""
    made = 0
    for c in range(count):
        if bounds[c] <= top:
            compare(x, P, candidates[c], candidates[c] + 1, lanes, values, numbers)
            made += 1
    return made


@njit(**_settings)
def nearest_by_products(
    X: Rows, points: Bounds, tile_rows: int, tile_points: int, values: Floats, numbers: Integers
) -> int:
    """The k nearest points to each row: a product for a lower bound of every distance, and the
    distance itself of the points that the k lowest bounds do not exclude. Returns how many
    distances were made."""
    P, doubled, norms, slack = points.rows, points.doubled, points.norms, points.slack
    limit, work = points.limit, doubled.dtype.type
    (n, d), m, k = X.shape, P.shape[0], values.shape[1]
    rows_buffer = np.empty(tile_rows * d, doubled.dtype)
    products_buffer = np.empty(tile_rows * tile_points, doubled.dtype)
    squares = np.empty(tile_rows, np.float64)
    sums, of_sums = np.empty((tile_rows, k), np.float64), np.empty((tile_rows, k), np.int64)
    room = 4 * k + 64
    bounds, candidates = (
        np.empty((tile_rows, room), doubled.dtype),
        np.empty((tile_rows, room), np.int64),
    )
    counts, lanes = np.empty(tile_rows, np.int64), np.empty(LANES, np.float64)
    largest, exact = 0.0, 0
    for j in range(m):
        largest = max(largest, np.float64(norms[j]))
    for row in range(0, n, tile_rows):
        height = min(tile_rows, n - row)
        Z = rows_buffer[: height * d].reshape(height, d)
        centred(X, row, points.centre, points.scale, Z, squares)
        counts[:], sums[:], of_sums[:] = 0, np.inf, -1
        for lo in range(0, m, tile_points):
            width = min(tile_points, m - lo)
            G = products_buffer[: height * width].reshape(height, width)
            np.dot(Z, doubled[lo : lo + width].T, G)
            tile_norms = norms[lo : lo + width]
            for i in range(height):
                x, near, which = X[row + i], values[row + i], numbers[row + i]
                if not squares[i] <= limit:
                    compare(x, P, lo, lo + width, lanes, near, which)
                    exact += width
                    continue
                g, low, v = G[i], sums[i], bounds[i]
                base = squares[i] * (1.0 - slack) - points.tiny
                blur = excess(squares[i], largest, points)
                top = work(reached(low[k - 1], base, blur, near[k - 1], points))
                if not sums_within(g, tile_norms, top):  # as for most rows of most tiles
                    continue
                for start in range(0, width, BLOCK):
                    stop = min(start + BLOCK, width)
                    if not sums_within(g[start:stop], tile_norms[start:stop], top):
                        continue
                    for j in range(start, stop):
                        if not g[j] + tile_norms[j] <= top:
                            continue
                        if counts[i] == room:
                            counts[i] = kept(v, candidates[i], room, top)
                            if counts[i] > room // 2:
                                exact += decide(
                                    x, P, v, candidates[i], counts[i], top, lanes, near, which
                                )
                                counts[i] = 0
                        v[counts[i]], candidates[i, counts[i]] = g[j] + tile_norms[j], lo + j
                        counts[i] += 1
                        insert(np.float64(g[j] + tile_norms[j]), lo + j, low, of_sums[i])
                        top = work(reached(low[k - 1], base, blur, near[k - 1], points))
        for i in range(height):
            x, near, which = X[row + i], values[row + i], numbers[row + i]
            base = squares[i] * (1.0 - slack) - points.tiny
            blur = excess(squares[i], largest, points)
            top = work(reached(sums[i, k - 1], base, blur, near[k - 1], points))
            exact += decide(x, P, bounds[i], candidates[i], counts[i], top, lanes, near, which)
    return exact


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
                t = square * points.scale * points.scale - base
                t -= excess(squares[i], largest, points)
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
