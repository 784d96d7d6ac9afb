"""Neighbourhood graphs: each row joined to its k nearest others, or to all within a radius.

A graph is a CSR array of lengths (n, n), columns in order. An edge of length zero, between equal
rows, is an entry that is stored; what is not stored is no edge.

Reference: von Luxburg, A tutorial on spectral clustering, Statistics and Computing 17 (2007),
section 2.2.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fenchel.data.arrays import Array, is_sparse
from fenchel.geometry.search.search import NeighbourSearch, without_own, without_own_within

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Rule = Literal["either", "both", "mean"]


def nearest_graph(search: NeighbourSearch, rows: Array, k: int) -> csr_array:
    """Row i holds the distances of row i to its k nearest others: directed.

    rows: the points of the search, in their order.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.geometry.graph.edges import nearest_graph
    >>> from fenchel.geometry.search.euclidean import EuclideanSearch
    >>> X = np.array([[0.0], [3.0], [1.0]])
    >>> nearest_graph(EuclideanSearch(X), X, 1).toarray().tolist()
    [[0.0, 0.0, 1.0], [0.0, 0.0, 2.0], [1.0, 0.0, 0.0]]
    """
    n = search.n_points
    if not 1 <= k < n:
        raise ValueError(
            f"Expected n_neighbors < n_samples_fit, but n_neighbors = {k}, n_samples_fit = {n}, "
            f"n_samples = {n}: lower n_neighbors"
        )
    numbers, distances = without_own(*search.nearest(rows, k + 1), np.arange(n))
    order = np.argsort(numbers, axis=1)
    numbers = np.take_along_axis(numbers, order, axis=1)
    distances = np.take_along_axis(distances, order, axis=1)
    starts = np.arange(0, n * k + 1, k)
    return csr_array((distances.ravel(), numbers.ravel(), starts), shape=(n, n))


def radius_graph(search: NeighbourSearch, rows: Array, radius: float) -> csr_array:
    """Row i holds the distances of row i to all others within the radius."""
    n = search.n_points
    found = without_own_within(search.within(rows, radius), np.arange(n))
    return csr_array((found.distances, found.numbers, found.starts), shape=(n, n))


def undirected(graph: Any, rule: Rule = "either") -> csr_array:
    """The symmetric graph of a directed one, without its loops.

    "either": an edge where either end has it, of the smaller length; "both": where both have it;
    "mean": ½ (G + G'), an edge that is missing counting as zero, which is meant for weights.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from fenchel.geometry.graph.edges import undirected
    >>> G = csr_array(np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 2.0], [1.0, 0.0, 0.0]]))
    >>> undirected(G).toarray().tolist()
    [[0.0, 0.0, 1.0], [0.0, 0.0, 2.0], [1.0, 2.0, 0.0]]
    """
    n = int(graph.shape[0])
    tails, heads, lengths = edge_list(graph)
    inside = tails != heads
    tails, heads, lengths = tails[inside], heads[inside], lengths[inside]
    low, high = np.minimum(tails, heads), np.maximum(tails, heads)
    key = low * n + high
    order = np.argsort(key, kind="stable")
    key, lengths = key[order], lengths[order]
    first = np.flatnonzero(np.append(True, key[1:] != key[:-1])) if len(key) else np.empty(0, int)
    counts = np.diff(np.append(first, len(key)))
    if rule == "mean":
        lengths = 0.5 * _folded(np.add, lengths, first)
    else:
        # A symmetric metric gives both ends the same length; of another the smaller is taken.
        lengths = _folded(np.minimum, lengths, first)
    key = key[first]
    if rule == "both":
        key, lengths = key[counts > 1], lengths[counts > 1]
    low, high = key // n, key % n
    return of_edges(
        np.concatenate([low, high]),
        np.concatenate([high, low]),
        np.concatenate([lengths, lengths]),
        n,
    )


def _folded(ufunc: np.ufunc, values: Floats, first: Integers) -> Floats:
    return np.asarray(ufunc.reduceat(values, first)) if len(first) else values


def of_edges(tails: Integers, heads: Integers, lengths: Floats, n: int) -> csr_array:
    """The graph of a list of distinct edges, zero lengths kept."""
    order = np.argsort(tails * n + heads, kind="stable")
    starts = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(tails, minlength=n), out=starts[1:])
    return csr_array((lengths[order], heads[order], starts), shape=(n, n))


def part_of_graph(graph: Any, some: Integers) -> csr_array:
    """The graph of the rows with these numbers, in order, and of the edges between them."""
    n = int(graph.shape[0])
    tails, heads, lengths = edge_list(graph)
    place = np.full(n, -1, np.int64)
    place[some] = np.arange(len(some))
    inside = (place[tails] >= 0) & (place[heads] >= 0)
    return of_edges(place[tails[inside]], place[heads[inside]], lengths[inside], len(some))


def edge_list(graph: Any) -> tuple[Integers, Integers, Floats]:
    """The ends and lengths of all edges, those of length zero among them."""
    graph = checked(graph)
    n = graph.shape[0]
    tails = np.repeat(np.arange(n, dtype=np.int64), np.diff(graph.indptr))
    return tails, graph.indices.astype(np.int64), np.asarray(graph.data, np.float64)


def checked(graph: Any) -> csr_array:
    """The graph in CSR; refused where it is not square, or a length is negative or not finite."""
    if not is_sparse(graph):
        raise TypeError(f"a graph is a sparse matrix of lengths, got {type(graph).__name__}")
    graph = csr_array(graph)
    n, m = graph.shape
    if n != m:
        raise ValueError(f"the graph must be square, got shape {graph.shape}")
    wrong = ~((graph.data >= 0.0) & np.isfinite(graph.data))
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        row = int(np.searchsorted(graph.indptr, at, side="right")) - 1
        raise ValueError(
            f"the edge from row {row} to row {int(graph.indices[at])} has the length "
            f"{float(graph.data[at])!r}: lengths must be finite and not negative"
        )
    return graph
