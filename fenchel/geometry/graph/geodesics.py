"""Distances along a graph of neighbours: lengths of shortest paths, and those of new rows.

    d(x, v) = min over the neighbours u of x of |x - u| + D(u, v)

D holds the lengths of shortest paths between vertices, by `shortest_paths`. Of a vertex, which is
its own nearest neighbour, d(x, v) = D(x, v).

Cost: a search of k neighbours, and k numbers for each v, a row.

Reference: Tenenbaum, de Silva and Langford, A global geometric framework for nonlinear
dimensionality reduction, Science 290 (2000); Bengio and others, Out-of-sample extensions for LLE,
Isomap, MDS, eigenmaps and spectral clustering, NIPS 16 (2003).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fenchel.data.arrays import Array, is_sparse
from fenchel.data.parallel import parallel_map
from fenchel.geometry.distance import rows_in_order
from fenchel.geometry.graph.edges import nearest_graph, radius_graph, undirected
from fenchel.geometry.search.all_pairs import AllPairs
from fenchel.geometry.search.euclidean import EuclideanSearch
from fenchel.geometry.search.metric import GivenDistances, RowMetric
from fenchel.geometry.search.search import NeighbourSearch

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
SIDE = 256  # of the squares of a matrix that are made symmetric at once: half a megabyte


@final
@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """Vertices, and who is a neighbour of whom: the n_neighbors nearest, or all within the radius.

    points: the vertices as the metric takes them (of given distances, numbers of columns); metric:
    None for the Euclidean one.
    """

    points: NDArray[Any] = field(repr=False)
    metric: RowMetric | None
    n_neighbors: int | None
    radius: float | None

    @cached_property
    def search(self) -> NeighbourSearch:
        """Of all vertices."""
        return self.search_among(np.arange(len(self.points)))

    def search_among(self, some: Integers) -> NeighbourSearch:
        """Of the vertices with these numbers."""
        points = self.points[some]
        return EuclideanSearch(points) if self.metric is None else AllPairs(self.metric, points)

    def graph(self, rows: Array) -> csr_array:
        """The undirected graph; rows: the vertices as a question."""
        if self.n_neighbors is not None:
            found = nearest_graph(self.search, rows, self.n_neighbors)
            if not np.isfinite(found.data).all():
                refuse_unknown(found.data.reshape(len(self.points), -1), self.n_neighbors)
            return undirected(found)
        return undirected(radius_graph(self.search, rows, float(self.radius or 0.0)))

    def chosen(self, some: Integers) -> Neighbourhoods:
        return Neighbourhoods(self.points[some], self.metric, self.n_neighbors, self.radius)

    def of_rows(self, rows: Array) -> tuple[Integers, Integers, Floats]:
        """The neighbours of new rows: where those of each row begin, their numbers and distances;
        of a row with none within the radius its nearest vertex."""
        m = int(rows.shape[0])
        if self.n_neighbors is not None:
            k = min(self.n_neighbors, len(self.points))
            numbers, distances = self.search.nearest(rows, k)
            if not np.isfinite(distances[:, -1]).all():
                refuse_unknown(distances, k)
            return np.arange(0, m * k + 1, k), numbers.ravel(), distances.ravel()
        found = self.search.within(rows, float(self.radius or 0.0))
        alone = np.flatnonzero(np.diff(found.starts) == 0)
        if not len(alone):
            return found
        numbers, distances = self.search.nearest(rows[alone], 1)
        at = found.starts[alone]
        starts = found.starts + np.searchsorted(alone, np.arange(m + 1))
        return (
            starts,
            np.insert(found.numbers, at, numbers[:, 0]),
            np.insert(found.distances, at, distances[:, 0]),
        )


@final
@dataclass(frozen=True, slots=True, eq=False)
class Geodesics(RowMetric):
    """The distance along the graph; the points are numbers of columns of `lengths`.

    lengths: (v, q), from each vertex to q of them.
    """

    name = "geodesic"
    near: Neighbourhoods
    lengths: Floats = field(repr=False)

    def tile(self, A: Array, B: Array) -> Floats:
        columns = np.asarray(B).reshape(-1)
        given = isinstance(self.near.metric, GivenDistances) and is_sparse(A)
        rows = stored_distances(A) if given else rows_in_order(A)
        starts, numbers, distances = self.near.of_rows(rows)
        out = np.full((len(starts) - 1, len(columns)), np.inf)
        counts = np.diff(starts)
        lengths = self.lengths
        if len(columns) < lengths.shape[1]:
            lengths = lengths[:, columns]
        for nth in range(int(counts.max(initial=0))):
            rows = np.flatnonzero(counts > nth)
            at = starts[rows] + nth
            through = lengths[numbers[at]]
            through += distances[at][:, None]
            if len(rows) == len(out):
                np.minimum(out, through, out=out)
            else:
                out[rows] = np.minimum(out[rows], through)
        return out


def stored_distances(X: Array) -> Floats:
    """A sparse matrix of distances in full: what is not stored is not known, and infinite."""
    X = csr_array(X)
    out = np.full(X.shape, np.inf)
    out[np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), X.indices] = X.data
    return out


def refuse_unknown(distances: Floats, k: int) -> None:
    """An error for the first row with fewer than k known distances."""
    known = np.isfinite(distances).sum(axis=1)
    i = int(np.flatnonzero(known < k)[0])
    raise ValueError(
        f"row {i} has known distances to {int(known[i])} rows, and n_neighbors={k}: give more "
        "distances, or lower n_neighbors"
    )


def make_symmetric(D: Floats) -> None:
    """D ← (D + D')/2: lengths of a path added up from either end differ by rounding."""
    n = len(D)

    def strip(lo: int) -> None:
        for left in range(lo, n, SIDE):
            here, there = slice(lo, lo + SIDE), slice(left, left + SIDE)
            mean = 0.5 * (D[here, there] + D[there, here].T)
            D[here, there], D[there, here] = mean, mean.T

    parallel_map(strip, range(0, n, SIDE))
