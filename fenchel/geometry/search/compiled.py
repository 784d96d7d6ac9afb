"""Neighbours in compiled loops: the points within a radius."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fenchel.geometry.compiled import centred, distances_to, squared_distance, threshold
from fenchel.geometry.distance import LANES, Bounds

Rows = NDArray[Any]  # float32 or float64
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_settings: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(**_settings)
def collect_directly(
    X: Rows,
    columns: Floats,
    square: float,
    tile: int,
    places: Integers,
    numbers: Integers,
    squares: Floats,
) -> None:
    """Write the points with a squared distance of at most `square`; d ≤ LANES."""
    m = columns.shape[1]
    buffer = np.empty(tile, np.float64)
    for lo in range(0, m, tile):
        out = buffer[: min(tile, m - lo)]
        for i in range(X.shape[0]):
            distances_to(X[i], columns, lo, out)
            place = places[i]
            for j in range(out.size):
                if out[j] <= square:
                    numbers[place], squares[place] = lo + j, out[j]
                    place += 1
            places[i] = place


@njit(**_settings)
def collect_by_products(
    X: Rows,
    points: Bounds,
    square: float,
    tile_rows: int,
    tile_points: int,
    places: Integers,
    numbers: Integers,
    found: Floats,
) -> None:
    """Write the points with a squared distance of at most `square`: the distance itself is made of
    all that a product does not exclude."""
    P, doubled, norms, slack = points.rows, points.doubled, points.norms, points.slack
    limit, work = points.limit, doubled.dtype.type
    (n, d), m = X.shape, P.shape[0]
    rows_buffer = np.empty(tile_rows * d, doubled.dtype)
    products_buffer = np.empty(tile_rows * tile_points, doubled.dtype)
    norms_buffer = np.empty(tile_rows, np.float64)
    lanes = np.empty(LANES, np.float64)
    for row in range(0, n, tile_rows):
        height = min(tile_rows, n - row)
        Z = rows_buffer[: height * d].reshape(height, d)
        centred(X, row, points.centre, points.scale, Z, norms_buffer)
        for lo in range(0, m, tile_points):
            width = min(tile_points, m - lo)
            G = products_buffer[: height * width].reshape(height, width)
            np.dot(Z, doubled[lo : lo + width].T, G)
            tile_norms = norms[lo : lo + width]
            for i in range(height):
                x, g, place = X[row + i], G[i], places[row + i]
                base = norms_buffer[i] * (1.0 - slack) - points.tiny
                top = work(threshold(square, base, points))
                if not norms_buffer[i] <= limit:
                    top = work(np.inf)  # products may have overflowed: all are made
                for j in range(width):
                    if not g[j] + tile_norms[j] > top:
                        v = squared_distance(x, P[lo + j], lanes)
                        if v <= square:
                            numbers[place], found[place] = lo + j, v
                            place += 1
                places[row + i] = place
