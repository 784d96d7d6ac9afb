"""Distances along a graph: of vertices, of new rows, within a radius, of stored distances."""

from __future__ import annotations

import numpy as np
import oracles.graph as naive
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from fenchel.geometry.graph.edges import part_of_graph
from fenchel.geometry.graph.geodesics import (
    Geodesics,
    Neighbourhoods,
    make_symmetric,
    stored_distances,
)
from fenchel.geometry.graph.shortest_paths import shortest_paths
from fenchel.geometry.search.metric import GivenDistances, NamedMetric


def rows(n=60, seed=0):
    return np.random.default_rng(seed).random((n, 2))


@pytest.mark.parametrize("metric", [None, NamedMetric("cityblock"), GivenDistances()])
@pytest.mark.parametrize(("k", "radius"), [(5, None), (None, 0.3)])
def test_new_rows_go_to_their_neighbours_first(k, radius, metric):
    X, new = rows(), np.vstack([rows(8, seed=1), [[5.0, 5.0]]])  # the last is far from all
    name = "cityblock" if isinstance(metric, NamedMetric) else "euclidean"
    D, far = cdist(X, X, name), cdist(new, X, name)
    given = isinstance(metric, GivenDistances)
    near = Neighbourhoods(np.arange(60) if given else X, metric, k, radius)
    graph = near.graph(D if given else X)
    W = naive.lengths(graph)
    assert_array_equal(W, W.T)
    paths = naive.shortest_paths(W)
    columns = np.array([0, 7, 31])
    lengths = np.ascontiguousarray(shortest_paths(graph)[:, columns])
    found = Geodesics(near, lengths).tile(far if given else new, np.arange(3))
    for i in range(9):
        order = np.argsort(far[i], kind="stable")
        chosen = order[:k] if radius is None else np.flatnonzero(far[i] <= radius)
        chosen = order[:1] if len(chosen) == 0 else chosen
        expected = (far[i, chosen, None] + paths[np.ix_(chosen, columns)]).min(axis=0)
        assert_allclose(found[i], expected, rtol=1e-12)
    same = Geodesics(near, lengths).tile(D if given else X, np.arange(3))
    assert_allclose(same, paths[:, columns], rtol=1e-12)
    assert_array_equal(Geodesics(near, lengths).tile(D if given else X, [1]), same[:, 1:2])


def test_part_of_a_graph_keeps_its_edges():
    W = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 2.0], [0.0, 2.0, 0.0]])
    graph = csr_array(W)
    graph.data[:] = [1.0, 1.0, 0.0, 0.0]  # an edge of length zero
    part = part_of_graph(graph, np.array([1, 2]))
    assert part.nnz == 2 and part.indices.tolist() == [1, 0] and part.shape == (2, 2)


def test_a_matrix_is_made_symmetric_in_place():
    A = np.random.default_rng(0).normal(size=(600, 600))
    expected = 0.5 * (A + A.T)
    make_symmetric(A)
    assert_array_equal(A, expected)


def test_distances_that_are_not_stored_are_not_known():
    X = csr_array(np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 3.0]]))
    inf = np.inf
    expected = [[inf, 2.0, inf], [2.0, inf, inf], [inf, inf, 3.0]]
    assert_array_equal(stored_distances(X), expected)
    near = Neighbourhoods(np.arange(3), GivenDistances(), 2, None)
    with pytest.raises(ValueError, match="row 0 has known distances to 1 rows, and n_neighbors=2"):
        Geodesics(near, np.zeros((3, 3))).tile(X, np.arange(3))
