"""Compiled loops over Voronoi cells: half-planes cut from polygons, and pixels under polygons.

A polygon is written from its own centre: places near the centre keep their digits, wherever the
domain lies.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_settings: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
FULL, OPEN = 1, 2  # a polygon has no room left; neighbours beyond those named may cut it
SAFE = 4.0 + 1e-6  # squares of distances beyond which a neighbour cuts nothing, over the reach's


@njit(**_settings)
def clip_cells(
    C: Floats,
    neighbours: Integers,
    cells: Integers,
    boundary: Floats,
    room: int,
    every: bool,
    vertices: Floats,
    sides: Integers,
    counts: Integers,
    states: Integers,
) -> None:
    """The cell of each centre: the boundary, cut by the bisectors with its neighbours, nearest
    first.

    vertices (m, room, 2), from the centre; sides (m, room): the neighbour behind the side that
    begins at the vertex, or -1 - the boundary's side; every: the neighbours are all others.
    """
    px, py, pe = np.empty(room), np.empty(room), np.empty(room, np.int64)
    qx, qy, qe = np.empty(room), np.empty(room), np.empty(room, np.int64)
    signs = np.empty(room)
    for at in range(cells.size):
        i = cells[at]
        n = boundary.shape[0]
        reach = 0.0
        for v in range(n):
            px[v], py[v], pe[v] = boundary[v, 0] - C[i, 0], boundary[v, 1] - C[i, 1], -1 - v
            reach = max(reach, px[v] * px[v] + py[v] * py[v])
        closed, full = every, False
        for t in range(neighbours.shape[1]):
            j = neighbours[at, t]
            if j == i:
                continue
            dx, dy = C[j, 0] - C[i, 0], C[j, 1] - C[i, 1]
            square = dx * dx + dy * dy
            if square > SAFE * reach:
                closed = True
                break
            half, outside, inside = 0.5 * square, 0, 0
            for v in range(n):
                signs[v] = px[v] * dx + py[v] * dy - half
                outside += signs[v] > 0.0
                inside += signs[v] < 0.0
            if outside == 0:
                continue
            if inside == 0:
                n, closed = 0, True
                break
            if n + 2 > room:
                full = True
                break
            count = 0
            for v in range(n):
                w = v + 1 if v + 1 < n else 0
                if signs[v] <= 0.0:
                    qx[count], qy[count] = px[v], py[v]
                    qe[count] = pe[v] if signs[v] < 0.0 or signs[w] <= 0.0 else j
                    count += 1
                if (signs[v] < 0.0 and signs[w] > 0.0) or (signs[v] > 0.0 and signs[w] < 0.0):
                    part = signs[v] / (signs[v] - signs[w])
                    qx[count] = px[v] + part * (px[w] - px[v])
                    qy[count] = py[v] + part * (py[w] - py[v])
                    qe[count] = j if signs[v] < 0.0 else pe[v]
                    count += 1
            n, reach = count, 0.0
            for v in range(n):
                px[v], py[v], pe[v] = qx[v], qy[v], qe[v]
                reach = max(reach, px[v] * px[v] + py[v] * py[v])
        states[at] = FULL if full else 0 if closed else OPEN
        counts[at] = n if n > 2 and closed and not full else 0
        for v in range(counts[at]):
            vertices[at, v, 0], vertices[at, v, 1], sides[at, v] = px[v], py[v], pe[v]


@njit(**_settings)
def _cut(P: Floats, n: int, axis: int, line: float, low: Floats, up: Floats) -> tuple[int, int]:
    """A convex polygon cut by the line where the coordinate of that axis is `line`: the part below
    and the part above."""
    below, above = 0, 0
    for v in range(n):
        w = v + 1 if v + 1 < n else 0
        a, b = P[v, axis] - line, P[w, axis] - line
        if a <= 0.0:
            low[below, 0], low[below, 1] = P[v, 0], P[v, 1]
            below += 1
        if a >= 0.0:
            up[above, 0], up[above, 1] = P[v, 0], P[v, 1]
            above += 1
        if (a < 0.0 and b > 0.0) or (a > 0.0 and b < 0.0):
            part = a / (a - b)
            other = P[v, 1 - axis] + part * (P[w, 1 - axis] - P[v, 1 - axis])
            low[below, axis], low[below, 1 - axis] = line, other
            up[above, axis], up[above, 1 - axis] = line, other
            below += 1
            above += 1
    return below if below > 2 else 0, above if above > 2 else 0


@njit(**_settings)
def _add_piece(P: Floats, n: int, height: float, sums: Floats, worst: Floats) -> None:
    """The integrals of a constant over a convex polygon: of 1, x, y and x² + y², and the place that
    is farthest from the origin where the piece costs more than any before."""
    ox, oy = P[0, 0], P[0, 1]
    area, mx, my, square = 0.0, 0.0, 0.0, 0.0
    ax, ay = P[1, 0] - ox, P[1, 1] - oy
    for v in range(2, n):
        bx, by = P[v, 0] - ox, P[v, 1] - oy
        twice = ax * by - ay * bx
        area += twice
        mx += twice * (ax + bx)
        my += twice * (ay + by)
        square += twice * (ax * ax + ay * ay + ax * bx + ay * by + bx * bx + by * by)
        ax, ay = bx, by
    area, mx, my, square = 0.5 * area, mx / 6.0, my / 6.0, square / 12.0
    if not area > 0.0:
        return
    energy = height * (area * (ox * ox + oy * oy) + 2.0 * (ox * mx + oy * my) + square)
    sums[0] += height * area
    sums[1] += height * (area * ox + mx)
    sums[2] += height * (area * oy + my)
    sums[3] += energy
    if energy > worst[0]:
        worst[0], far = energy, -1.0
        for v in range(n):
            here = P[v, 0] * P[v, 0] + P[v, 1] * P[v, 1]
            if here > far:
                far, worst[1], worst[2] = here, P[v, 0], P[v, 1]


@njit(**_settings)
def _add_columns(
    P: Floats, n: int, cx: float, across: Floats, heights: Floats, highest: Floats,
    low: Floats, up: Floats, sums: Floats, worst: Floats,
) -> None:  # fmt: skip
    """A polygon within one row of pixels, pixel by pixel; P is written to."""
    least = P[0, 0]
    for v in range(1, n):
        least = min(least, P[v, 0])
    last = heights.size - 1
    c = min(max(int((least + cx - across[0]) / (across[1] - across[0])), 0), last)
    while c > 0 and across[c] - cx > least:
        c -= 1
    while n > 2:
        below, above = n, 0
        if c < last:
            below, above = _cut(P, n, 0, across[c + 1] - cx, low, up)
        else:
            for v in range(n):
                low[v, 0], low[v, 1] = P[v, 0], P[v, 1]
        sums[4] = max(sums[4], highest[c])
        if below > 2 and heights[c] > 0.0:
            _add_piece(low, below, heights[c], sums, worst)
        n = above
        for v in range(n):
            P[v, 0], P[v, 1] = up[v, 0], up[v, 1]
        c += 1


@njit(**_settings)
def _add_run(
    first: int, last: int, cx: float, low: float, high: float, across: Floats, heights: Floats,
    highest: Floats, sums: Floats, worst: Floats,
) -> None:  # fmt: skip
    """Whole pixels of one row."""
    tall, y = high - low, 0.5 * (low + high)
    for c in range(first, last):
        height, sums[4] = heights[c], max(sums[4], highest[c])
        if not height > 0.0:
            continue
        left, right = across[c] - cx, across[c + 1] - cx
        wide, x = right - left, 0.5 * (left + right)
        mass = height * wide * tall
        energy = mass * (x * x + y * y + (wide * wide + tall * tall) / 12.0)
        sums[0] += mass
        sums[1] += mass * x
        sums[2] += mass * y
        sums[3] += energy
        if energy > worst[0]:
            worst[0] = energy
            worst[1] = left if x < 0.0 else right
            worst[2] = low if y < 0.0 else high


@njit(**_settings)
def _whole_columns(
    P: Floats, n: int, cx: float, low: float, high: float, across: Floats
) -> tuple[int, int]:
    """The columns whose pixels of a row lie inside a convex polygon that fills the row's height."""
    bottom, top = P[0, 1], P[0, 1]
    for v in range(1, n):
        bottom, top = min(bottom, P[v, 1]), max(top, P[v, 1])
    if bottom != low or top != high:
        return 0, 0
    # Between the places that both ends of the height have in common: the polygon is convex.
    a, b, c, d = np.inf, -np.inf, np.inf, -np.inf
    for v in range(n):
        if P[v, 1] == low:
            a, b = min(a, P[v, 0]), max(b, P[v, 0])
        if P[v, 1] == high:
            c, d = min(c, P[v, 0]), max(d, P[v, 0])
    left, right = max(a, c), min(b, d)
    wide, count = across[1] - across[0], across.size - 1
    first = min(max(int((left + cx - across[0]) / wide), 0), count)
    while first < count and across[first] - cx < left:
        first += 1
    last = min(max(int((right + cx - across[0]) / wide) + 1, 0), count)
    while last > 0 and across[last] - cx > right:
        last -= 1
    return (first, last) if first < last else (0, 0)


@njit(**_settings)
def pixel_moments(
    vertices: Floats, starts: Integers, C: Floats, first: int, last: int,
    across: Floats, up_to: Floats, image: Floats, around: Floats, room: int,
    sums: Floats, worst: Floats,
) -> None:  # fmt: skip
    """Integrals over cells first … last of a density that is constant on each pixel.

    across, up_to: the lines between columns and rows; around: the highest of each pixel and those
    next to it; sums (k, 5): ∫ 1, x, y, x² + y² from the centre, and the highest around; worst
    (k, 3): the largest energy of a pixel's part, and the place in it that is farthest from the
    centre.
    """
    rows = image.shape[0]
    P, Q, low, up = (
        np.empty((room, 2)), np.empty((room, 2)), np.empty((room, 2)), np.empty((room, 2)),
    )  # fmt: skip
    left, right = np.empty((room, 2)), np.empty((room, 2))
    tall = up_to[1] - up_to[0]
    for i in range(first, last):
        n, cx, cy = starts[i + 1] - starts[i], C[i, 0], C[i, 1]
        least = np.inf
        for v in range(n):
            P[v, 0], P[v, 1] = vertices[starts[i] + v, 0], vertices[starts[i] + v, 1]
            least = min(least, P[v, 1])
        r = 0
        if n > 2:
            r = min(max(int((least + cy - up_to[0]) / tall), 0), rows - 1)
        while r > 0 and up_to[r] - cy > least:
            r -= 1
        while n > 2:
            below, above = n, 0
            if r < rows - 1:
                below, above = _cut(P, n, 1, up_to[r + 1] - cy, Q, up)
            else:
                for v in range(n):
                    Q[v, 0], Q[v, 1] = P[v, 0], P[v, 1]
            n = above
            for v in range(n):
                P[v, 0], P[v, 1] = up[v, 0], up[v, 1]
            if below > 2:
                a, b = _whole_columns(Q, below, cx, up_to[r] - cy, up_to[r + 1] - cy, across)
                if a < b:
                    bottom, top = up_to[r] - cy, up_to[r + 1] - cy
                    _add_run(a, b, cx, bottom, top, across, image[r], around[r], sums[i], worst[i])
                    m, rest = _cut(Q, below, 0, across[a] - cx, left, right)
                    if m > 2:
                        _add_columns(
                            left, m, cx, across, image[r], around[r], low, up, sums[i], worst[i]
                        )
                    for v in range(rest):
                        Q[v, 0], Q[v, 1] = right[v, 0], right[v, 1]
                    _, below = _cut(Q, rest, 0, across[b] - cx, left, right)
                    for v in range(below):
                        Q[v, 0], Q[v, 1] = right[v, 0], right[v, 1]
                if below > 2:
                    _add_columns(
                        Q, below, cx, across, image[r], around[r], low, up, sums[i], worst[i]
                    )
            r += 1
