"""Shortest paths in compiled loops: Dijkstra's order by a binary heap, and many sources a sweep."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_settings: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}


@njit(**_settings)
def _push(keys: Floats, rows: Integers, size: int, key: float, row: int) -> None:
    """Add to a binary heap of `size` entries."""
    at = size
    while at > 0:
        parent = (at - 1) >> 1
        if not key < keys[parent]:
            break
        keys[at], rows[at] = keys[parent], rows[parent]
        at = parent
    keys[at], rows[at] = key, row


@njit(**_settings)
def _pop(keys: Floats, rows: Integers, size: int) -> None:
    """Take the first of `size` entries away."""
    key, row = keys[size - 1], rows[size - 1]
    at, child = 0, 1
    while child < size - 1:
        if child + 1 < size - 1 and keys[child + 1] < keys[child]:
            child += 1
        if not keys[child] < key:
            break
        keys[at], rows[at] = keys[child], rows[child]
        at, child = child, 2 * child + 1
    keys[at], rows[at] = key, row


@njit(**_settings)
def dijkstra(
    starts: Integers,
    heads: NDArray[np.int32],
    lengths: Floats,
    source: int,
    waiting: NDArray[np.bool_],
    wanted: int,
    order: Integers,
) -> int:
    """Dijkstra: rows in the order of their distances from the source, until so many that wait have
    been met; their number."""
    n = starts.size - 1
    near, done = np.full(n, np.inf), np.zeros(n, np.bool_)
    keys, rows = np.empty(heads.size + 1), np.empty(heads.size + 1, np.int64)
    keys[0], rows[0], near[source] = 0.0, source, 0.0
    size, count, met = 1, 0, 0
    while size > 0 and met < wanted:
        row = rows[0]
        _pop(keys, rows, size)
        size -= 1
        if done[row]:
            continue
        done[row] = True
        order[count] = row
        count += 1
        if waiting[row]:
            met += 1
        for e in range(starts[row], starts[row + 1]):
            head, length = heads[e], near[row] + lengths[e]
            if length < near[head]:
                near[head] = length
                _push(keys, rows, size, length, head)
                size += 1
    return count


@njit(**_settings)
def grouped(
    starts: Integers,
    heads: NDArray[np.int32],
    lengths: Floats,
    waiting: NDArray[np.bool_],
    size: int,
) -> tuple[Integers, Integers]:
    """Those that wait, in groups: each the lowest one left and the nearest to it along the graph.

    All of them in the order of the groups, and where each group ends."""
    n = starts.size - 1
    visited = np.empty(n, np.int64)
    out, ends = np.empty(n, np.int64), np.empty(n, np.int64)
    filled, groups = 0, 0
    for seed in range(n):
        if waiting[seed]:
            count = dijkstra(starts, heads, lengths, seed, waiting, size, visited)
            for i in range(count):
                if waiting[visited[i]]:
                    waiting[visited[i]] = False
                    out[filled] = visited[i]
                    filled += 1
            ends[groups] = filled
            groups += 1
    return out[:filled], ends[:groups]


@njit(**_settings)
def lower_together(
    starts: Integers,
    heads: NDArray[np.int32],
    lengths: Floats,
    sources: Integers,
    near: Floats,
) -> None:
    """The distances of all rows from each source, one a column of `near`; further columns hold
    infinity."""
    n, lanes = near.shape
    order = np.empty(n, np.int64)
    nobody = np.zeros(n, np.bool_)
    count = dijkstra(starts, heads, lengths, sources[0], nobody, 1, order)
    place = np.empty(n, np.int64)
    for i in range(n):
        place[i] = -1
    for i in range(count):
        place[order[i]] = i
    for i in range(n):
        for lane in range(lanes):
            near[i, lane] = np.inf
    changed = np.zeros(n, np.bool_)
    for lane in range(sources.size):
        near[sources[lane], lane] = 0.0
        changed[sources[lane]] = True
    again = True
    while again:
        again = False
        for i in range(count):
            row = order[i]
            if changed[row]:
                changed[row] = False
                own = near[row]
                for e in range(starts[row], starts[row + 1]):
                    head, length, other = heads[e], lengths[e], near[heads[e]]
                    lowered = 0
                    for lane in range(lanes):
                        through, before = own[lane] + length, other[lane]
                        lowered |= through < before
                        other[lane] = through if through < before else before
                    if lowered:
                        changed[head] = True
                        if place[head] < i:
                            again = True
