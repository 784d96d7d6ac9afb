"""The k-d tree in compiled loops: splitting points at medians, and the search. See `kd_tree`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fenchel.geometry.compiled import distances_to, insert

Rows = NDArray[np.float64]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_settings: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
# Multiples of the golden ratio are spread evenly and share no period with the order of the rows.
GOLDEN = 0.6180339887498949


class Nodes(NamedTuple):
    """The nodes of a tree, a parent before its children, which lie side by side.

    spans (N, 2): of a leaf the first of its points and the one after its last; of another node the
    first child and 0. boxes (N, 2, d): the least and the largest coordinates. lowest: the least
    number of a point. axes, cuts: a point is in the second child where its coordinate is at least
    the cut.
    """

    spans: Integers
    boxes: Floats
    lowest: Integers
    axes: Integers
    cuts: Floats


@njit(**_settings)
def median(rows: Rows, order: Integers, lo: int, hi: int, axis: int, some: Floats) -> float:
    """The median of a coordinate over all points, or over as many as `some` holds."""
    count = min(hi - lo, some.size)
    for i in range(count):
        at = i if count == hi - lo else np.int64((hi - lo) * ((i * GOLDEN) % 1.0))
        v, p = rows[order[lo + at], axis], i
        while p > 0 and some[p - 1] > v:
            some[p] = some[p - 1]
            p -= 1
        some[p] = v
    return some[count // 2]


@njit(**_settings)
def box_of(rows: Rows, order: Integers, lo: int, hi: int, box: Floats) -> None:
    """The least and the largest coordinates of some points."""
    low, high = box[0], box[1]
    for q in range(low.size):
        low[q], high[q] = np.inf, -np.inf
    for i in range(lo, hi):
        x = rows[order[i]]
        for q in range(low.size):
            low[q] = min(low[q], x[q])
            high[q] = max(high[q], x[q])


@njit(**_settings)
def parted(rows: Rows, order: Integers, lo: int, hi: int, axis: int, cut: float) -> int:
    """Put the points below a cut first; where the others begin. No branch depends on a value."""
    place = lo
    for i in range(lo, hi):
        number = order[i]
        order[i] = order[place]
        order[place] = number
        place += int(rows[number, axis] < cut)
    return place


@njit(**_settings)
def empty_nodes(count: int, d: int) -> Nodes:
    """Room for so many nodes."""
    return Nodes(
        np.zeros((count, 2), np.int64),
        np.empty((count, 2, d), np.float64),
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
        np.zeros(count, np.float64),
    )


@njit(**_settings)
def enlarged(nodes: Nodes) -> Nodes:
    """The same nodes, with room for as many more."""
    count, d = nodes.lowest.size, nodes.boxes.shape[2]
    more = empty_nodes(2 * count, d)
    for i in range(count):
        more.lowest[i], more.axes[i], more.cuts[i] = nodes.lowest[i], nodes.axes[i], nodes.cuts[i]
        for j in range(2):
            more.spans[i, j] = nodes.spans[i, j]
            for q in range(d):
                more.boxes[i, j, q] = nodes.boxes[i, j, q]
    return more


@njit(**_settings)
def grown(
    rows: Rows, order: Integers, leaf: int, copies: bool, most: int
) -> tuple[Nodes, int, int]:
    """Split points at medians of their widest coordinate until at most `leaf` are together.

    order: of the rows, which is put into that of the leaves; copies: whether equal points are
    split too, anywhere, so that those with the least numbers are found soon; most: points that
    tell a median. Returns the nodes, how many they are, and the depth.
    """
    used, depth = 1, 0
    nodes = empty_nodes(4 * (order.size // leaf) + 1, rows.shape[1])
    some = np.empty(most, np.float64)
    waiting = [(0, 0, order.size, 1)]
    while len(waiting):
        node, lo, hi, level = waiting.pop()
        depth = max(depth, level)
        box = nodes.boxes[node]
        box_of(rows, order, lo, hi, box)
        axis, width = 0, box[1, 0] - box[0, 0]
        for q in range(1, rows.shape[1]):
            if box[1, q] - box[0, q] > width:
                axis, width = q, box[1, q] - box[0, q]
        if hi - lo <= leaf or (width <= 0.0 and not copies):
            nodes.spans[node, 0], nodes.spans[node, 1] = lo, hi
            continue
        low, high = box[0, axis], box[1, axis]
        cut, middle = low, (lo + hi) // 2
        if width > 0.0:
            cut = median(rows, order, lo, hi, axis, some)
            if cut <= low:  # many points have the least coordinate
                cut = low + 0.5 * (high - low)
                cut = cut if low < cut else high
            middle = parted(rows, order, lo, hi, axis, cut)
        if used + 2 > nodes.lowest.size:
            nodes = enlarged(nodes)
        nodes.spans[node, 0], nodes.spans[node, 1] = used, 0
        nodes.axes[node], nodes.cuts[node] = axis, cut
        waiting.append((used + 1, middle, hi, level + 1))
        waiting.append((used, lo, middle, level + 1))
        used += 2
    return nodes, used, depth


@njit(**_settings)
def group_of(x: Floats, nodes: Nodes) -> int:
    """The leaf that a point falls into."""
    node = 0
    while nodes.spans[node, 1] == 0:
        step = np.int64(x[nodes.axes[node]] >= nodes.cuts[node])
        node = nodes.spans[node, 0] + step
    return node


@njit(**_settings)
def grouped(X: Rows, nodes: Nodes, groups: Integers, counts: Integers) -> None:
    """The leaf of each row, and how many fall into each."""
    for i in range(X.shape[0]):
        groups[i] = group_of(X[i], nodes)
        counts[groups[i]] += 1


@njit(**_settings)
def scattered(
    X: Rows, first: int, groups: Integers, places: Integers, rows: Rows, numbers: Integers
) -> None:
    """Write the rows of each group together, in order; first: the number of the first row."""
    for i in range(X.shape[0]):
        place = places[groups[i]]
        places[groups[i]] += 1
        numbers[place] = first + i
        for q in range(X.shape[1]):
            rows[place, q] = X[i, q]


@njit(**_settings)
def grown_in_order(
    rows: Rows, numbers: Integers, leaf: int, most: int, columns: Floats, ordered: Integers
) -> tuple[Nodes, int, int]:
    """`grown`; the points are written in the order of the leaves, by columns, and their numbers."""
    order = np.arange(rows.shape[0])
    nodes, used, depth = grown(rows, order, leaf, True, most)
    for i in range(order.size):
        ordered[i] = numbers[order[i]]
    for q in range(rows.shape[1]):
        column = columns[q]
        for i in range(order.size):
            column[i] = rows[order[i], q]
    return nodes, used, depth


@njit(**_settings)
def joined(
    part: Nodes, used: int, ordered: Integers, root: int, rest: int, first: int, whole: Nodes
) -> None:
    """Put a part's nodes into the whole: its root at one place, the others from `rest` on; its
    points, in order, begin at the place `first`."""
    for i in range(used - 1, -1, -1):
        at = root if i == 0 else rest + i - 1
        lo, hi = part.spans[i]
        if hi > 0:
            low = ordered[lo]
            for j in range(lo, hi):
                low = min(low, ordered[j])
            whole.spans[at, 0], whole.spans[at, 1] = lo + first, hi + first
        else:
            low = min(part.lowest[lo], part.lowest[lo + 1])
            whole.spans[at, 0], whole.spans[at, 1] = lo + rest - 1, 0
        part.lowest[i] = whole.lowest[at] = low
        whole.axes[at], whole.cuts[at] = part.axes[i], part.cuts[i]
        for j in range(2):
            for q in range(part.boxes.shape[2]):
                whole.boxes[at, j, q] = part.boxes[i, j, q]


@njit(**_settings)
def united(nodes: Nodes, inner: Integers) -> None:
    """Boxes and least numbers of some nodes from their children's, a parent after its children."""
    for i in inner:
        child, box = nodes.spans[i, 0], nodes.boxes[i]
        a, b = nodes.boxes[child], nodes.boxes[child + 1]
        nodes.lowest[i] = min(nodes.lowest[child], nodes.lowest[child + 1])
        for q in range(box.shape[1]):
            box[0, q] = min(a[0, q], b[0, q])
            box[1, q] = max(a[1, q], b[1, q])


@njit(**_settings)
def box_square(x: Floats, box: Floats) -> float:
    """The squared distance to the nearest point of a box, by the operations of a squared distance
    to a point: rounding is monotone, so that of no point inside is below it."""
    total = 0.0
    for q in range(x.size):
        e = max(max(box[0, q] - x[q], x[q] - box[1, q]), 0.0)
        total += e * e
    return total


@njit(**_settings)
def nearest_in_tree(
    nodes: Nodes,
    columns: Floats,
    point_numbers: Integers,
    depth: int,
    widest: int,
    Q: Rows,
    places: Integers,
    values: Floats,
    numbers: Integers,
) -> None:
    """The k nearest points to each row, written at its place: the leaves from the nearest on,
    without those whose box has no point that could be among them."""
    spans, boxes, lowest = nodes.spans, nodes.boxes, nodes.lowest
    waiting, bounds = np.empty(depth + 1, np.int64), np.empty(depth + 1, np.float64)
    buffer, k = np.empty(widest, np.float64), values.shape[1]
    for i in range(Q.shape[0]):
        x, near, which = Q[i], values[places[i]], numbers[places[i]]
        near[:], which[:] = np.inf, np.int64(-1)
        node, top = 0, 0
        while True:
            while spans[node, 1] == 0:
                a = spans[node, 0]
                first, second = box_square(x, boxes[a]), box_square(x, boxes[a + 1])
                nearer = first < second or (first == second and lowest[a] < lowest[a + 1])
                waiting[top] = a + 1 if nearer else a
                bounds[top] = second if nearer else first
                top += 1
                node = a if nearer else a + 1
            lo, hi = spans[node]
            out = buffer[: hi - lo]
            distances_to(x, columns, lo, out)
            for j in range(out.size):
                if out[j] <= near[k - 1]:
                    insert(out[j], point_numbers[lo + j], near, which)
            found = False
            while top > 0 and not found:
                top -= 1
                node, bound = waiting[top], bounds[top]
                found = bound < near[k - 1] or (
                    bound == near[k - 1] and lowest[node] < which[k - 1]
                )
            if not found:
                break
