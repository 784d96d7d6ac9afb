"""Connected components of a graph, and the shortest edges that join them.

Borůvka's algorithm: each component takes its shortest edge to another one, until one is left; the
edges are those of a minimum spanning tree of the components, with the distance of two components
that of their nearest rows.

Reference: Borůvka, O jistém problému minimálním (1926); Nešetřil, Milková and Nešetřilová, Otakar
Borůvka on minimum spanning tree problem, Discrete Mathematics 233 (2001).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from fenchel.data.arrays import Array
from fenchel.data.display.counts import counted
from fenchel.geometry.graph.edges import Floats, Integers, edge_list, of_edges
from fenchel.geometry.search.search import NeighbourSearch


@dataclass(frozen=True, slots=True, eq=False)
class GraphComponents:
    """labels: the component of each row, numbered by their first rows; sizes: of each component."""

    labels: NDArray[np.int64] = field(repr=False)
    sizes: NDArray[np.int64]

    @property
    def count(self) -> int:
        return len(self.sizes)

    @property
    def largest(self) -> Integers:
        """The rows of the largest component, of equal ones the first."""
        return np.flatnonzero(self.labels == int(self.sizes.argmax()))

    def named(self, most: int = 8) -> str:
        """The sizes in words, the largest first: '3 components of 50, 20 and 1 rows'."""
        sizes = np.sort(self.sizes)[::-1]
        shown = [f"{size}" for size in sizes[:most]]
        if len(sizes) > most:
            shown.append(f"{len(sizes) - most} smaller ones with {int(sizes[most:].sum())}")
        text = ", ".join(shown[:-1]) + " and " + shown[-1] if len(shown) > 1 else shown[0]
        return f"{counted(self.count, 'component')} of {text} rows"


def components_of(graph: Any) -> GraphComponents:
    """The connected components, an edge of either direction joining its ends.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from fenchel.geometry.graph.components import components_of
    >>> components_of(csr_array([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])).named()
    '2 components of 2 and 1 rows'
    """
    tails, heads, _ = edge_list(graph)
    n = graph.shape[0]
    # An entry of zero joins too, so the pattern is given ones.
    starts = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(tails, minlength=n), out=starts[1:])
    pattern = csr_array((np.ones(len(heads)), heads, starts), shape=(n, n))
    _, labels = connected_components(pattern, directed=False)
    return _in_order(labels)


def components_of_matrix(W: NDArray[Any]) -> GraphComponents:
    """The connected components of a symmetric matrix whose edges are its entries above zero.

    Time O(n²), and that of one look at the entries where none of them is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.geometry.graph.components import components_of_matrix
    >>> components_of_matrix(np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])).named()
    '2 components of 2 and 1 rows'
    """
    n = len(W)
    labels = np.full(n, -1)
    for component in range(n):
        unseen = labels < 0
        if not unseen.any():
            break
        front = np.flatnonzero(unseen)[:1]
        while len(front):
            labels[front] = component
            near = np.zeros(n, np.bool_)
            for lo in range(0, len(front), 64):
                near |= (W[front[lo : lo + 64]] > 0.0).any(axis=0)
                if (near | (labels >= 0)).all():
                    break
            front = np.flatnonzero(near & (labels < 0))
    return _in_order(labels)


def _in_order(labels: NDArray[Any]) -> GraphComponents:
    """Components numbered by their first rows."""
    first = np.unique(labels, return_index=True)[1]
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    labels = rank[labels]
    return GraphComponents(labels, np.bincount(labels, minlength=len(first)))


def joined(
    graph: csr_array, rows: Array, search_among: Callable[[Integers], NeighbourSearch]
) -> tuple[csr_array, int]:
    """The undirected graph with the shortest edges that make it connected, and their number.

    rows: those of the graph, as a search takes them; search_among: the search of some of them by
    their numbers. Of equal distances the edge of the lowest rows is taken. Time: that of one search
    of all rows among those of other components, for each of at most log₂ c rounds.
    """
    tails, heads, lengths = edge_list(graph)
    n, labels = graph.shape[0], components_of(graph).labels
    added = 0
    while labels.max(initial=0) > 0:
        new = _shortest_outward(labels, rows, search_among)
        low, high, length = (np.array(side) for side in zip(*sorted(new), strict=True))
        added += len(low)
        tails = np.concatenate([tails, low, high])
        heads = np.concatenate([heads, high, low])
        lengths = np.concatenate([lengths, length, length])
        labels = components_of(of_edges(tails, heads, lengths, n)).labels
    return of_edges(tails, heads, lengths, n), added


def _shortest_outward(
    labels: Integers, rows: Array, search_among: Callable[[Integers], NeighbourSearch]
) -> set[tuple[int, int, float]]:
    """The shortest edge from each component to another: (lower row, higher row, length)."""
    found: set[tuple[int, int, float]] = set()
    for component in range(int(labels.max()) + 1):
        inside, outside = labels == component, labels != component
        own, others = np.flatnonzero(inside), np.flatnonzero(outside)
        if len(own) > len(others):  # the smaller side asks: it is the cheaper question
            numbers, distances = search_among(own).nearest(rows[others], 1)
            ends = np.stack([own[numbers[:, 0]], others])
        else:
            numbers, distances = search_among(others).nearest(rows[own], 1)
            ends = np.stack([own, others[numbers[:, 0]]])
        low, high = ends.min(axis=0), ends.max(axis=0)
        best = int(np.lexsort((high, low, distances[:, 0]))[0])
        found.add((int(low[best]), int(high[best]), float(distances[best, 0])))
    return found


__all__ = ["GraphComponents", "Floats", "components_of", "components_of_matrix", "joined"]
