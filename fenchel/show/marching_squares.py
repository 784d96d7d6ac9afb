"""Marching squares: the lines where a rule passes from one class to another, in a plane.

The rule is asked at the nodes of a grid. Along a side of a cell whose two ends differ, the place of
the change is found by halving; the changes on the sides of one cell are joined, in its middle where
more than two classes meet. A change that begins and ends within one side is not seen.

Cost: (g + 1)(h + 1) places and those of `STEPS` halvings of each side that is crossed.

Reference: Lorensen, Cline, Marching cubes, 1987, in two dimensions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.score.curves.score_counts import Floats

Rule = Callable[[Floats], Any]  # the class at each of some places (m, 2)
# A side of ten pixels is halved down to less than a tenth of one.
STEPS = 8


def classes_at(rule: Rule, places: Floats) -> NDArray[Any]:
    """What a rule says at some places: one class for each."""
    found = np.asarray(rule(places))
    if found.shape != (len(places),):
        raise ValueError(
            f"a rule must give one class for each of {len(places)} places, and gave an array of "
            f"shape {found.shape}"
        )
    return found


def grid(across: Floats, up: Floats) -> Floats:
    """The nodes of a grid, (h · g, 2), line by line."""
    return np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)


def changes(rule: Rule, start: Floats, end: Floats, first: NDArray[Any]) -> Floats:
    """Where between two places (m, 2) a rule leaves the class `first` that it gives at `start`."""
    low, high = start.copy(), end.copy()
    for _ in range(STEPS if len(start) else 0):
        middle = 0.5 * (low + high)
        same = classes_at(rule, middle) == first
        low[same], high[~same] = middle[same], middle[~same]
    return 0.5 * (low + high)


def boundaries(rule: Rule, across: Floats, up: Floats) -> list[Floats]:
    """The lines between the classes as lists of places (m, 2), over evenly spaced nodes."""
    g, h = len(across), len(up)
    said = classes_at(rule, grid(across, up)).reshape(h, g)
    nodes = grid(across, up).reshape(h, g, 2)
    # Sides are numbered: those along the lines first, then those from line to line.
    level, steep = said[:, 1:] != said[:, :-1], said[1:] != said[:-1]
    sides = np.flatnonzero(np.concatenate([level.ravel(), steep.ravel()]))
    starts = np.concatenate([nodes[:, :-1].reshape(-1, 2), nodes[:-1].reshape(-1, 2)])[sides]
    ends = np.concatenate([nodes[:, 1:].reshape(-1, 2), nodes[1:].reshape(-1, 2)])[sides]
    firsts = np.concatenate([said[:, :-1].ravel(), said[:-1].ravel()])[sides]
    place = dict(zip(sides.tolist(), changes(rule, starts, ends, firsts), strict=True))
    joined = list(_joined(rule, said, nodes, place))
    return [np.array([place[node] for node in chain]) for chain in _chains(joined)]


def _joined(
    rule: Rule, said: NDArray[Any], nodes: Floats, place: dict[int, Floats]
) -> Iterator[tuple[int, int]]:
    """Pairs of changes that a line joins, cell by cell; middles of cells are added to the places,
    with negative numbers."""
    h, g = said.shape
    rows = h * (g - 1)
    a, b, c, d = said[:-1, :-1], said[:-1, 1:], said[1:, :-1], said[1:, 1:]
    middles = 0.25 * (nodes[:-1, :-1] + nodes[:-1, 1:] + nodes[1:, :-1] + nodes[1:, 1:])
    # Of a saddle, two classes at opposite corners each, the middle says which corners are one.
    saddle = (a == d) & (b == c) & (a != b)
    is_rising = np.zeros(saddle.shape, dtype=bool)
    if saddle.any():
        is_rising[saddle] = classes_at(rule, middles[saddle]) == a[saddle]
    for j, i in np.argwhere((a != b) | (c != d) | (a != c) | (b != d)).tolist():
        low, high = j * (g - 1) + i, (j + 1) * (g - 1) + i
        left, right = rows + j * g + i, rows + j * g + i + 1
        around = [side for side in (low, right, high, left) if side in place]
        if saddle[j, i]:
            both = ((low, right), (left, high)) if is_rising[j, i] else ((low, left), (right, high))
            yield from both
        elif len(around) == 2:
            yield around[0], around[1]
        else:
            middle = -1 - (j * g + i)
            place[middle] = np.mean([place[side] for side in around], axis=0)
            yield from ((side, middle) for side in around)


def _chains(pairs: list[tuple[int, int]]) -> Iterator[list[int]]:
    """The pairs strung into lines, which end where one or more than two begin; then the rings."""
    near: dict[int, list[int]] = defaultdict(list)
    for a, b in pairs:
        near[a].append(b)
        near[b].append(a)
    left = {frozenset(pair) for pair in pairs}

    def walk(start: int, then: int) -> list[int]:
        chain = [start]
        while frozenset((chain[-1], then)) in left:
            left.discard(frozenset((chain[-1], then)))
            chain.append(then)
            if len(near[then]) != 2:
                break
            then = next(node for node in near[then] if node != chain[-2])
        return chain

    ends = [node for node in near if len(near[node]) != 2]
    for start in (*ends, *near):
        for then in near[start]:
            if frozenset((start, then)) in left:
                yield walk(start, then)
