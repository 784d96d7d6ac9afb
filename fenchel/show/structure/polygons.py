"""Polygons in the plane as marks: outlines, and sides that two of them share drawn once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fenchel.score.curves.score_counts import Floats

SAME = 1e-6  # corners nearer than this part of the range are one


def checked_polygons(cells: Sequence[Any], count: int) -> list[Floats]:
    """One polygon (m, 2) for each centre; those of empty cells have no corners."""
    found = [np.asarray(cell, np.float64).reshape(-1, 2) for cell in cells]
    if len(found) != count:
        raise ValueError(f"cells must be one polygon for each of {count} centres, got {len(found)}")
    if not all(np.isfinite(cell).all() for cell in found):
        raise ValueError("corners of cells must be finite")
    return found


def frame_of(cells: Sequence[Floats]) -> tuple[tuple[float, float], tuple[float, float]]:
    """The ends of the rectangle around polygons, across and up."""
    whole = np.concatenate([*cells, np.zeros((0, 2))])
    if not len(whole):
        raise ValueError("no cell has corners: there is nothing to draw")
    low, high = whole.min(axis=0), whole.max(axis=0)
    if not (low < high).all():
        raise ValueError("the cells lie on a line: they need an inside")
    return (float(low[0]), float(high[0])), (float(low[1]), float(high[1]))


def outlines(cells: Sequence[Floats]) -> tuple[Floats, Any, Any]:
    """The corners of all cells (v, 2), the cell of each and its place around it."""
    counts = [len(cell) for cell in cells]
    owner = np.repeat(np.arange(len(cells)), counts)
    place = np.concatenate([np.arange(n) for n in counts] or [np.zeros(0, int)])
    return np.concatenate([*cells, np.zeros((0, 2))]), owner, place


def sides_once(cells: Sequence[Floats]) -> Floats:
    """The sides (s, 4) of polygons, x, y to x, y; one that two cells share comes once."""
    ends = [np.hstack([cell, np.roll(cell, -1, axis=0)]) for cell in cells if len(cell)]
    sides = np.concatenate([*ends, np.zeros((0, 4))])
    (x0, x1), (y0, y1) = frame_of(cells)
    step = SAME * max(x1 - x0, y1 - y0)
    steps = np.round((sides - [x0, y0, x0, y0]) / step)
    long = (steps[:, :2] != steps[:, 2:]).any(axis=1)
    sides, steps = sides[long], steps[long]
    turned = (steps[:, 0] > steps[:, 2]) | (
        (steps[:, 0] == steps[:, 2]) & (steps[:, 1] > steps[:, 3])
    )
    key = np.where(turned[:, None], steps[:, [2, 3, 0, 1]], steps)
    first = np.unique(key, axis=0, return_index=True)[1]
    return np.asarray(sides[np.sort(first)])
