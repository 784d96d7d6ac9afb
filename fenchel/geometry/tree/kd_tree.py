"""The k-d tree: points split at medians of their widest coordinate, each node with its box.

The search looks at the leaves from the nearest on and leaves out a node where the distance of its
box exceeds that of the k-th point so far. Both are made by the same operations in float64, and
rounding is monotone: a box is never further than a point inside, so that the answer is that of
comparing with every point, to the bit, ties to the lower number.

A sample of the rows tells the upper levels, which group rows and queries by one pass; each group is
split by itself, and its queries are answered one after the other, while it lies in the cache.
O(m log m) to build, O(2ᵈ + log m) leaves a query.

Reference: Friedman, Bentley and Finkel, An algorithm for finding best matches in logarithmic
expected time, ACM Trans. Math. Software 3 (1977).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from fenchel.data.parallel import parallel_map, thread_count
from fenchel.geometry.tree.compiled import (
    Nodes,
    empty_nodes,
    grouped,
    grown,
    grown_in_order,
    joined,
    nearest_in_tree,
    scattered,
    united,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
LEAF = 32  # points: 1,000,000 x 3 and 200,000 queries took 0.57, 0.53, 0.53 s for 16, 32, 48
# Points of a group: 0.4 MB with their nodes, a part of a core's second cache. A million points are
# 122 groups: with twice as many, 16 threads wait for the interpreter between them.
GROUP = 8192
SAMPLED = 64  # points of the sample in each group: groups differ by an eighth in size
MEDIAN, UPPER_MEDIAN = 31, 255  # points that tell a median, below the groups and above
PART = 2**15  # rows that a thread groups at once
QUERIES = 4096  # rows that a thread answers at once


@final
@dataclass(frozen=True, eq=False)
class KDTree:
    """nodes; columns (d, m) and numbers: the points in the order of the leaves; groups: the upper
    nodes, whose leaves group queries; depth; widest: the most points of a leaf."""

    nodes: Nodes = field(repr=False)
    columns: Floats = field(repr=False)
    numbers: Integers = field(repr=False)
    groups: Nodes = field(repr=False)
    depth: int
    widest: int

    @classmethod
    def of(cls, X: NDArray[Any]) -> Self:
        """Of finite points whose squared distances do not overflow."""
        X = np.ascontiguousarray(X, np.float64)
        m, d = X.shape
        upper, above = _upper_nodes(X)
        roots = np.flatnonzero(upper.spans[:, 1])
        starts, rows, numbers = _by_group(X, upper)
        columns, ordered = np.empty((d, m)), np.empty(m, np.int64)
        places = [slice(starts[g], starts[g + 1]) for g in roots]

        def grow(place: slice) -> tuple[Nodes, int, int]:
            beside = columns[:, place], ordered[place]
            return grown_in_order(rows[place], numbers[place], LEAF, MEDIAN, *beside)

        parts = parallel_map(grow, places)
        rest = len(upper.lowest) + np.cumsum([0, *(used - 1 for _, used, _ in parts)])
        nodes = empty_nodes(int(rest[-1]), d)

        def join(g: int) -> None:
            part, used, _ = parts[g]
            place = places[g]
            joined(part, used, ordered[place], roots[g], rest[g], place.start, nodes)

        parallel_map(join, range(len(roots)))
        inner = np.flatnonzero(upper.spans[:, 1] == 0)[::-1]
        nodes.spans[inner] = upper.spans[inner]
        united(nodes, inner)
        leaves = nodes.spans[nodes.spans[:, 1] > 0]
        widest = int((leaves[:, 1] - leaves[:, 0]).max())
        depth = above + max(below for *_, below in parts)
        return cls(nodes, columns, ordered, upper, depth, widest)

    def nearest(self, Q: NDArray[Any], k: int) -> tuple[Integers, Floats]:
        """The k nearest points of each row: numbers and squared distances, nearest first, ties to
        the lower number."""
        n = len(Q)
        squares, numbers = np.empty((n, k)), np.empty((n, k), np.int64)
        _, rows, places = _by_group(np.ascontiguousarray(Q, np.float64), self.groups)
        points = self.nodes, self.columns, self.numbers, self.depth, self.widest
        step = max(1, min(QUERIES, -(-n // thread_count())))

        def search(part: slice) -> None:
            nearest_in_tree(*points, rows[part], places[part], squares, numbers)

        parallel_map(search, [slice(lo, lo + step) for lo in range(0, n, step)])
        return numbers, squares


def _upper_nodes(X: NDArray[Any]) -> tuple[Nodes, int]:
    """Nodes whose leaves hold about GROUP rows each, as a sample tells, and their depth."""
    m = len(X)
    count = m // GROUP
    sample = X[:: m // (count * SAMPLED)] if count > 1 else X[:1]
    # Equal points are one group: a cut between them would send all rows to one side.
    sample = np.ascontiguousarray(sample)
    nodes, used, depth = grown(sample, np.arange(len(sample)), SAMPLED, False, UPPER_MEDIAN)
    return Nodes(*(values[:used].copy() for values in nodes)), depth


def _by_group(X: NDArray[Any], upper: Nodes) -> tuple[Integers, NDArray[Any], Integers]:
    """Where the rows of each upper node begin, the rows of each together in order, and their
    numbers."""
    n, count = len(X), len(upper.lowest)
    if count == 1:
        return np.array([0, n]), X, np.arange(n)
    parts = [slice(lo, min(lo + PART, n)) for lo in range(0, n, PART)]
    group_of, counts = np.empty(n, np.int64), np.zeros((len(parts), count), np.int64)
    rows, numbers = np.empty(X.shape), np.empty(n, np.int64)

    def group(p: int) -> None:
        grouped(X[parts[p]], upper, group_of[parts[p]], counts[p])

    parallel_map(group, range(len(parts)))
    starts = np.concatenate([[0], np.cumsum(counts.sum(axis=0))])
    places = starts[:-1] + np.cumsum(counts, axis=0) - counts

    def scatter(p: int) -> None:
        scattered(X[parts[p]], parts[p].start, group_of[parts[p]], places[p], rows, numbers)

    parallel_map(scatter, range(len(parts)))
    return starts, rows, numbers
