"""Curves with as few vertices as the eye needs."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.score.curves.score_counts import Floats

MOST = 400  # vertices of a curve
SIDE = 400.0  # pixels across a figure, where a pixel's size is not given
HALF = 0.5
CELL = 0.125  # of a pixel: vertices within one such cell are one to the eye
MANY = 4096


def thin(
    x: Any, y: Any, most: int = MOST, *, pixel: tuple[float, float] | None = None
) -> NDArray[np.intp]:
    """Places of the vertices to keep, in order, both ends among them.

    The line through them passes every vertex that is left out at less than half a pixel. Only where
    that takes more than `most` vertices is the line farther away; then those that move it most are
    kept. A vertex is split off where the line misses most (Ramer, Douglas and Peucker).

    Parameters
    ----------
    x, y : array of shape (n,)
        A line, in any direction; finite.
    most : int
    pixel : (float, float), optional
        The size of a pixel in units of x and of y; by default 1/400 of the range.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.show import thin
    >>> thin(np.arange(1000), np.arange(1000)).tolist()
    [0, 999]
    """
    points = np.column_stack([np.asarray(x, np.float64), np.asarray(y, np.float64)])
    if not np.isfinite(points).all():
        raise ValueError("a line must be finite: leave out what is not before thinning it")
    n = len(points)
    if n <= 2:
        return np.arange(n)
    span = np.ptp(points, axis=0)
    size = np.asarray(pixel, np.float64) if pixel is not None else span / SIDE
    points = (points - points[0]) / np.where(size > 0.0, size, 1.0)
    places, reach = np.arange(n), HALF
    if n > MANY:
        places = _one_per_cell(points)
        reach = HALF - CELL * 2.0**0.5
    return places[_split(points[places], max(most, 2), reach)]


def _one_per_cell(points: Floats) -> NDArray[np.intp]:
    """First and last vertex of each stay in a cell: those between lie in the same cell."""
    cell = np.floor(points / CELL)
    moved = (cell[1:] != cell[:-1]).any(axis=1)
    first, last = np.append(True, moved), np.append(moved, True)
    return np.flatnonzero(first | last)


def _split(points: Floats, most: int, reach: float) -> NDArray[np.intp]:
    kept = [0, len(points) - 1]
    heap = [_farthest(points, 0, len(points) - 1)]
    while heap and -heap[0][0] >= reach and len(kept) < most:
        _, begin, at, end = heapq.heappop(heap)
        kept.append(at)
        for part in ((begin, at), (at, end)):
            if part[1] - part[0] > 1:
                heapq.heappush(heap, _farthest(points, *part))
    return np.sort(np.asarray(kept, dtype=np.intp))


def _farthest(points: Floats, begin: int, end: int) -> tuple[float, int, int, int]:
    """(-distance, begin, place, end) of the vertex farthest from the line between two others."""
    away = distances(points[begin + 1 : end], points[begin], points[end])
    at = int(away.argmax()) if away.size else -1
    return (-float(away[at]) if away.size else 0.0), begin, begin + 1 + at, end


def distances(points: Floats, start: Floats, end: Floats) -> Floats:
    """From each point to the nearest of a stretch of line."""
    along = end - start
    length2 = float(along @ along)
    away = points - start
    if length2 > 0.0:
        part = np.clip(away @ along / length2, 0.0, 1.0)
        away = away - part[:, None] * along
    return np.hypot(away[:, 0], away[:, 1])
