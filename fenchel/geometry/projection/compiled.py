"""The k nearest points by projections, in compiled loops. The bounds' proof: `axes`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fenchel.geometry.compiled import BLOCK, centred, compare, lowest_sums, sums_within, threshold
from fenchel.geometry.distance import LANES, Bounds
from fenchel.geometry.projection.axes import Projection

Rows = NDArray[Any]  # float32 or float64
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_settings: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(**_settings, fastmath={"reassoc", "contract", "nnan", "nsz"})
def product(z: Rows, c: Rows) -> Any:
    """z·c in their precision, in any order."""
    total = z[0] * c[0]
    for j in range(1, z.size):
        total += z[j] * c[j]
    return total


@njit(**_settings)
def project(
    Z: Rows, axes: Floats, wide: Floats, inside: Floats, out: Rows, squares: Floats
) -> None:
    """T of some scaled rows, and the squared norms of what is stored."""
    p = axes.shape[1]
    wide[:] = Z
    np.dot(wide, axes, inside)
    for i in range(Z.shape[0]):
        left, total, w, y, t = 0.0, 0.0, wide[i], inside[i], out[i]
        for j in range(w.size):
            left += w[j] * w[j]
        for j in range(p):
            left -= y[j] * y[j]
            t[j] = y[j]
        t[p] = np.sqrt(max(left, 0.0))
        for j in range(p + 1):
            e = np.float64(t[j])
            total += e * e
        squares[i] = total


@njit(**_settings)
def nearest_by_projections(
    X: Rows,
    points: Bounds,
    projection: Projection,
    tile_rows: int,
    tile_points: int,
    values: Floats,
    numbers: Integers,
) -> int:
    """The k nearest points to each row: a product of a few columns for a lower bound of every
    distance, one of all columns where that does not exclude the point, and the distance itself
    where that does not. Returns how many the projections left open."""
    P, full, full_norms = points.rows, points.doubled, points.norms
    doubled, norms, slack = projection.doubled, projection.norms, projection.slack
    limit, work = points.limit, doubled.dtype.type
    (n, d), m, k, p = X.shape, P.shape[0], values.shape[1], projection.axes.shape[1]
    Z_buffer, squares = np.empty(tile_rows * d, full.dtype), np.empty(tile_rows, np.float64)
    wide_buffer, inside_buffer = np.empty(tile_rows * d), np.empty(tile_rows * p)
    T_buffer, short = np.empty(tile_rows * (p + 1), doubled.dtype), np.empty(tile_rows)
    products_buffer = np.empty(tile_rows * tile_points, doubled.dtype)
    seeds, seeded = np.empty(k, np.float64), np.empty(k, np.int64)
    lanes = np.empty(LANES, np.float64)
    tried = 0
    for row in range(0, n, tile_rows):
        height = min(tile_rows, n - row)
        Z = Z_buffer[: height * d].reshape(height, d)
        centred(X, row, points.centre, points.scale, Z, squares)
        T = T_buffer[: height * (p + 1)].reshape(height, p + 1)
        wide = wide_buffer[: height * d].reshape(height, d)
        inside = inside_buffer[: height * p].reshape(height, p)
        project(Z, projection.axes, wide, inside, T, short)
        for lo in range(0, m, tile_points):
            width = min(tile_points, m - lo)
            G = products_buffer[: height * width].reshape(height, width)
            np.dot(T, doubled[lo : lo + width].T, G)
            tile_norms = norms[lo : lo + width]
            for i in range(height):
                x, near, which = X[row + i], values[row + i], numbers[row + i]
                if not squares[i] <= limit:
                    compare(x, P, lo, lo + width, lanes, near, which)
                    tried += width
                    continue
                base = short[i] * (1.0 - slack) - points.tiny
                whole = squares[i] * (1.0 - points.slack) - points.tiny
                g = G[i]
                if near[k - 1] == np.inf:
                    # The k lowest bounds of the tile: their distances give a first threshold.
                    lowest_sums(g, tile_norms, seeds, seeded)
                    for q in range(k):
                        j = seeded[q]
                        if j >= 0:
                            compare(x, P, lo + j, lo + j + 1, lanes, near, which)
                            g[j] = np.inf
                top = work(threshold(near[k - 1], base, points))
                second = work(threshold(near[k - 1], whole, points))
                for start in range(0, width, BLOCK):
                    stop = min(start + BLOCK, width)
                    if not sums_within(g[start:stop], tile_norms[start:stop], top):
                        continue
                    for j in range(start, stop):
                        # Infinite: has been compared already.
                        if g[j] + tile_norms[j] <= top and g[j] < np.inf:
                            tried += 1
                            v = product(Z[i], full[lo + j]) + full_norms[lo + j]
                            if v <= second:
                                compare(x, P, lo + j, lo + j + 1, lanes, near, which)
                                top = work(threshold(near[k - 1], base, points))
                                second = work(threshold(near[k - 1], whole, points))
    return tried
