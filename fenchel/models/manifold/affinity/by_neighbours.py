"""Affinities by neighbours: w(x, z) = ½ [z is a neighbour of x] + ½ [x is a neighbour of z].

A new row is a neighbour of a row of the fit if it is nearer to it than the last of its neighbours
there. So w is one function of two points, in the fit and after it.

Reference: von Luxburg, A tutorial on spectral clustering, Statistics and Computing 17 (2007),
section 2.2; Bengio, Paiement, Vincent, Delalleau, Le Roux and Ouimet, Out-of-sample extensions for
LLE, Isomap, MDS, eigenmaps and spectral clustering, NIPS 16 (2003).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from fenchel.data.arrays import is_sparse
from fenchel.geometry.graph.components import joined
from fenchel.geometry.graph.edges import edge_list, of_edges, undirected
from fenchel.geometry.search.all_pairs import smallest
from fenchel.geometry.search.euclidean import EuclideanSearch
from fenchel.geometry.search.search import without_own
from fenchel.models.manifold.affinity.graph import AffinityGraph, affinity_graph
from fenchel.models.manifold.affinity.random_walk import numbers_of, shares, steps
from fenchel.models.manifold.vertices import Vertices
from fenchel.models.spectral.eigenfunctions import SparseMemory

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# Rows whose neighbours reach about as far are searched together: at most so many groups, each of
# which reaches half as far as the one before.
GROUPS = 6


@dataclass(frozen=True, slots=True, eq=False)
class NeighbourLists:
    """numbers: (n, k), the neighbours of each vertex, -1 where it has fewer; radii: the distance of
    the last of them; bridges: (e, 2), pairs that were joined besides."""

    numbers: Integers = field(repr=False)
    radii: Floats = field(repr=False)
    bridges: Integers = field(repr=False)

    def graph(self) -> csr_array:
        """W."""
        n, k = self.numbers.shape
        tails, heads = np.repeat(np.arange(n), k), self.numbers.ravel()
        there = heads >= 0
        tails, heads = tails[there], heads[there]
        ends = self.bridges
        tails = np.concatenate([tails, ends[:, 0], ends[:, 1]])
        heads = np.concatenate([heads, ends[:, 1], ends[:, 0]])
        return undirected(of_edges(tails, heads, np.ones(len(tails)), n), "mean")

    def chosen(self, some: Integers) -> NeighbourLists:
        """Of vertices outside of which none of them has an edge."""
        place = np.full(len(self.numbers) + 1, -1)
        place[some] = np.arange(len(some))
        bridges = place[self.bridges]
        return NeighbourLists(
            place[self.numbers[some]], self.radii[some], bridges[(bridges >= 0).all(axis=1)]
        )

    def steps_from(self, new: csr_array, equal: Integers, mass: Floats) -> csr_array:
        """P of rows with the affinities `new`, but those of the fit that they equal."""
        here, shape = np.flatnonzero(equal >= 0), new.shape
        share, copies = shares(mass)
        W = csr_array(new @ diags_array(share))
        if len(here):
            own = equal[here]
            picked = csr_array(
                (np.ones(len(here)), (here, np.arange(len(here)))), shape=(shape[0], len(here))
            )
            known = picked @ (self.graph()[own] @ diags_array(share))
            among = csr_array((copies[own], (here, own)), shape=shape)
            W = csr_array(diags_array((equal < 0).astype(np.float64)) @ W + known + among)
        return csr_array(steps(W, equal))


@dataclass(frozen=True, slots=True, eq=False)
class NeighbourAffinities(SparseMemory):
    """The rows of a graph, and their neighbours among each other."""

    rows: NDArray[Any] = field(repr=False)
    mass: Floats = field(repr=False)
    lists: NeighbourLists
    n_neighbors: int

    def chosen(self, some: Integers) -> NeighbourAffinities:
        return NeighbourAffinities(
            self.rows[some], self.mass[some], self.lists.chosen(some), self.n_neighbors
        )

    def extend(self, X: Any) -> csr_array:
        points = np.ascontiguousarray(X.toarray() if is_sparse(X) else X)
        (m, _), n = points.shape, len(self.rows)
        k = min(self.n_neighbors, n)
        numbers, distances = EuclideanSearch(self.rows).nearest(points, k)
        equal = np.where(distances[:, 0] == 0.0, numbers[:, 0], -1)
        starts = np.arange(0, m * k + 1, k)
        near = csr_array((np.full(m * k, 0.5), numbers.ravel(), starts), shape=(m, n))
        others = np.flatnonzero(equal < 0)
        tails, heads = self._reached(points[others])
        halves = np.full(len(tails), 0.5)
        back = csr_array((halves, (others[tails], heads)), shape=(m, n))
        return self.lists.steps_from(csr_array(near + back), equal, self.mass)

    def _reached(self, points: NDArray[Any]) -> tuple[Integers, Integers]:
        """Pairs of a new row and a vertex to which it is nearer than the last neighbour."""
        found: list[tuple[Integers, Integers]] = [(np.empty(0, np.int64), np.empty(0, np.int64))]
        left = np.flatnonzero(self.lists.radii > 0.0)
        for group in range(GROUPS):
            if not len(left) or not len(points):
                break
            top = float(self.lists.radii[left].max())
            far = self.lists.radii[left] > 0.5 * top
            some = left if group == GROUPS - 1 else left[far]
            left = left[:0] if group == GROUPS - 1 else left[~far]
            seen = EuclideanSearch(self.rows[some]).within(points, top)
            tails = np.repeat(np.arange(len(points)), np.diff(seen.starts))
            heads = some[seen.numbers]
            inside = seen.distances < self.lists.radii[heads]
            found.append((tails[inside], heads[inside]))
        tails, heads = (np.concatenate(side) for side in zip(*found, strict=True))
        return tails, heads

    def matrix(self) -> csr_array:
        """The affinities of the rows with each other, their own among them."""
        return _with_own(self.lists)


@dataclass(frozen=True, slots=True, eq=False)
class NeighboursByDistances(SparseMemory):
    """The same where rows hold their distances to the rows of the fit: dense, or sparse with those
    of their neighbours.

    columns: the vertices among all rows of the fit; keys: `row_keys` of their distances.
    """

    columns: Integers = field(repr=False)
    keys: Integers = field(repr=False)
    mass: Floats = field(repr=False)
    lists: NeighbourLists
    n_neighbors: int

    def chosen(self, some: Integers) -> NeighboursByDistances:
        return NeighboursByDistances(
            self.columns[some],
            self.keys[some],
            self.mass[some],
            self.lists.chosen(some),
            self.n_neighbors,
        )

    def extend(self, X: Any) -> csr_array:
        equal = numbers_of(self.keys, X)
        D = checked_distances(X[:, self.columns])
        m, n = D.shape
        near = nearest_stored(D, self.n_neighbors)[0]
        tails, heads = np.repeat(np.arange(m), near.shape[1]), near.ravel()
        there = heads >= 0
        forth = csr_array((np.full(there.sum(), 0.5), (tails[there], heads[there])), shape=(m, n))
        rows, columns, distances = edge_list_of(D)
        inside = distances < self.lists.radii[columns]
        back = csr_array(
            (np.full(inside.sum(), 0.5), (rows[inside], columns[inside])), shape=(m, n)
        )
        return self.lists.steps_from(csr_array(forth + back), equal, self.mass)

    def matrix(self) -> csr_array:
        """The affinities of the rows with each other, their own among them."""
        return _with_own(self.lists)


def _with_own(lists: NeighbourLists) -> csr_array:
    return csr_array(lists.graph() + diags_array(np.ones(len(lists.numbers))))


def neighbour_graph(vertices: Vertices, k: int, join: bool) -> AffinityGraph:
    """The graph of the k nearest others of each vertex; join: whether the shortest edges between
    its components are added."""
    rows, n = vertices.rows, len(vertices)
    search = EuclideanSearch(rows)
    numbers, distances = without_own(*search.nearest(rows, k + 1), np.arange(n))
    lists = NeighbourLists(numbers, distances[:, -1].copy(), np.empty((0, 2), np.int64))
    if join:
        lists = _bridged(lists, rows)
    memory = NeighbourAffinities(rows, vertices.mass, lists, k)
    return _graph_of(lists, vertices, memory)


def distance_graph(vertices: Vertices, n_neighbors: int, keys: Integers) -> AffinityGraph:
    """The graph of the n_neighbors nearest entries of each row of distances, those of the vertices,
    where the row itself counts if it is given; keys: `row_keys` of all rows."""
    D = checked_distances(vertices.rows)
    n = len(vertices)
    numbers, distances = nearest_stored(D, n_neighbors, own=True)
    numbers[numbers == np.arange(n)[:, None]] = -1
    radii = np.where(numbers >= 0, distances, 0.0).max(axis=1, initial=0.0)
    lists = NeighbourLists(numbers, radii, np.empty((0, 2), np.int64))
    columns = vertices.members
    memory = NeighboursByDistances(
        columns, keys[columns], vertices.mass, lists, max(n_neighbors - 1, 1)
    )
    return _graph_of(lists, vertices, memory)


def _graph_of(lists: NeighbourLists, vertices: Vertices, memory: Any) -> AffinityGraph:
    return affinity_graph(_with_own(lists), vertices, memory)


def _bridged(lists: NeighbourLists, rows: NDArray[Any]) -> NeighbourLists:
    """With the shortest edges that make the graph connected."""
    graph = lists.graph()
    whole, added = joined(graph, rows, lambda some: EuclideanSearch(rows[some]))
    if not added:
        return lists
    before = set(zip(*(side.tolist() for side in edge_list(graph)[:2]), strict=True))
    tails, heads, _ = edge_list(whole)
    pairs = zip(tails.tolist(), heads.tolist(), strict=True)
    new = [pair for pair in pairs if pair[0] < pair[1] and pair not in before]
    return NeighbourLists(lists.numbers, lists.radii, np.array(new, np.int64))


def checked_distances(D: Any) -> Any:
    """Distances in float64, dense or CSR; an error names one that is negative or not finite."""
    D = csr_array(D) if is_sparse(D) else np.asarray(D)
    values = D.data if is_sparse(D) else D
    wrong = ~((values >= 0.0) & np.isfinite(values))
    if wrong.any():
        rows, columns, distances = edge_list_of(D)
        at = int(wrong.ravel().argmax())
        ahead = "Negative values in data: " if distances[at] < 0.0 else ""
        raise ValueError(
            f"{ahead}the distance in row {int(rows[at])}, column {int(columns[at])} is "
            f"{distances[at]:.6g}: distances are finite and not negative"
        )
    return D.astype(np.float64)


def edge_list_of(D: Any) -> tuple[Integers, Integers, Floats]:
    """Row, column and value of each entry, or of each that is stored."""
    if is_sparse(D):
        rows = np.repeat(np.arange(D.shape[0]), np.diff(D.indptr))
        return rows, D.indices.astype(np.int64), D.data
    m, n = D.shape
    return np.repeat(np.arange(m), n), np.tile(np.arange(n), m), np.asarray(D).ravel()


def nearest_stored(D: Any, k: int, own: bool = False) -> tuple[Integers, Floats]:
    """The columns of the k smallest entries of each row, and these; -1 and infinity where fewer are
    stored. Ties go to the row itself (own), then to the lower column."""
    m, n = D.shape
    if not is_sparse(D):
        D = np.array(D)
        if own:
            diagonal = np.arange(m)
            D[diagonal, diagonal] = np.where(D[diagonal, diagonal] == 0.0, -1.0, D.diagonal())
        numbers = smallest(D, min(k, n))
        return numbers, np.maximum(np.take_along_axis(D, numbers, axis=1), 0.0)
    rows, columns, distances = edge_list_of(D)
    later = (columns != rows) if own else np.zeros(len(rows), bool)
    order = np.lexsort((columns, later, distances, rows))
    rank = np.arange(len(rows)) - np.repeat(D.indptr[:-1], np.diff(D.indptr))
    kept = rank < k  # entries are in order within their rows
    numbers, found = np.full((m, k), -1), np.full((m, k), np.inf)
    numbers[rows[kept], rank[kept]] = columns[order][kept]
    found[rows[kept], rank[kept]] = distances[order][kept]
    return numbers, found
