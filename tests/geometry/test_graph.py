"""Graphs of neighbours: edges, components, joining and shortest paths against naive ones."""

from __future__ import annotations

import numpy as np
import oracles.graph as naive
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from fenchel.data.blocks import threads
from fenchel.geometry.graph import shortest_paths as paths
from fenchel.geometry.graph.components import components_of, joined
from fenchel.geometry.graph.edges import checked, nearest_graph, radius_graph, undirected
from fenchel.geometry.search.euclidean import EuclideanSearch


def search_of(X):
    return EuclideanSearch(X)


def cloud(seed, n, d, ties=True):
    """Rows with ties, duplicates and rows far away."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    if ties:
        X = np.round(X, 1)
    X[rng.integers(n, size=n // 5)] = X[0]
    X[rng.integers(n)] += 50.0
    return X


CLOUD = {"seed": st.integers(0, 10**6), "n": st.integers(4, 40), "d": st.integers(1, 3)}


@settings(max_examples=30)
@given(**CLOUD, k=st.integers(1, 6))
def test_edges_and_rules(seed, n, d, k):
    X = cloud(seed, n, d)
    k = min(k, n - 1)
    G = nearest_graph(search_of(X), X, k)
    assert (np.diff(G.indptr) == k).all() and G.has_sorted_indices
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    for i in range(n):
        near = np.argsort(D[i], kind="stable")[:k]
        np.testing.assert_allclose(np.sort(naive.lengths(G)[i])[:k], D[i, near], rtol=1e-14)
    W = naive.lengths(G)
    both = np.isfinite(W) & np.isfinite(W.T)
    for rule, expected in (
        ("either", np.minimum(W, W.T)),
        ("both", np.where(both, np.minimum(W, W.T), np.inf)),
    ):
        np.testing.assert_array_equal(naive.lengths(undirected(G, rule)), expected)
    mean = undirected(G, "mean").toarray()
    np.testing.assert_array_equal(mean, 0.5 * (G.toarray() + G.toarray().T))


@settings(max_examples=20)
@given(**CLOUD, radius=st.sampled_from([0.0, 0.3, 1.0, 100.0]))
def test_radius(seed, n, d, radius):
    X = cloud(seed, n, d)
    W = naive.lengths(radius_graph(search_of(X), X, radius))
    D = np.sqrt(np.square(X[:, None] - X[None]).sum(axis=2))
    np.fill_diagonal(D, np.inf)
    np.testing.assert_array_equal(np.isfinite(W), radius >= D)
    np.testing.assert_array_equal(W, W.T)


@settings(max_examples=30)
@given(**CLOUD, k=st.integers(1, 4), batch=st.sampled_from([1, 3, 32]), ties=st.booleans())
def test_paths_are_the_least_rounded_sums(seed, n, d, k, batch, ties):
    X = cloud(seed, n, d, ties)
    G = undirected(nearest_graph(search_of(X), X, min(k, n - 1)))
    W = naive.lengths(G)
    before, paths.BATCH = paths.BATCH, batch
    try:
        D = paths.shortest_paths(G)
        for count in (1, 3):
            with threads(count):
                np.testing.assert_array_equal(paths.shortest_paths(G), D)
    finally:
        paths.BATCH = before
    np.testing.assert_allclose(D, naive.shortest_paths(W), rtol=1e-13)
    for source in range(n):
        np.testing.assert_array_equal(D[source], naive.least_rounded(W, source))
    some = np.random.default_rng(seed).integers(n, size=5)
    np.testing.assert_array_equal(paths.shortest_paths(G, some), D[some])


def test_paths_through_edges_of_length_zero_and_of_any_scale():
    W = np.full((6, 6), np.inf)
    for a, b, length in ((0, 1, 0.0), (1, 2, 0.0), (2, 3, 1e-150), (3, 4, 1e150)):
        W[a, b] = W[b, a] = length
    rows, columns = np.nonzero(np.isfinite(W))
    starts = np.searchsorted(rows, np.arange(7))
    G = csr_array((W[rows, columns], columns, starts), shape=(6, 6))
    D = paths.shortest_paths(G)
    assert D[0].tolist() == [0.0, 0.0, 0.0, 1e-150, 1e150, np.inf]
    assert np.isinf(D[5, :5]).all() and D[5, 5] == 0.0
    found = components_of(G)
    assert found.labels.tolist() == [0, 0, 0, 0, 0, 1] and found.named() == (
        "2 components of 5 and 1 rows"
    )
    assert paths.shortest_paths(G, np.empty(0, np.int64)).shape == (0, 6)


@settings(max_examples=30)
@given(**CLOUD, k=st.integers(1, 3))
def test_components_and_joining(seed, n, d, k):
    X = cloud(seed, n, d)
    G = undirected(nearest_graph(search_of(X), X, min(k, n - 1)))
    W = naive.lengths(G)
    found = components_of(G)
    np.testing.assert_array_equal(found.labels, naive.components(W))
    np.testing.assert_array_equal(found.sizes, np.bincount(found.labels))
    assert found.sizes.max() == len(found.largest)
    whole, added = joined(G, X, lambda chosen: search_of(X[chosen]))
    assert added == found.count - 1 and components_of(whole).count == 1
    V = naive.lengths(whole)
    np.testing.assert_array_equal(V, V.T)
    np.testing.assert_array_equal(V[np.isfinite(W)], W[np.isfinite(W)])
    new = np.isfinite(V) & ~np.isfinite(W)
    expected = naive.spanning_length(cdist(X, X), found.labels)
    np.testing.assert_allclose(V[new].sum() / 2.0, expected, rtol=1e-12, atol=1e-12)


def test_components_in_words_and_isolated_rows():
    G = csr_array((30, 30))
    found = components_of(G)
    assert found.count == 30 and found.named(3) == (
        "30 components of 1, 1, 1 and 27 smaller ones with 27 rows"
    )
    assert components_of(csr_array(np.ones((3, 3)))).named() == "1 component of 3 rows"
    assert np.isinf(paths.shortest_paths(G, np.array([4]))).sum() == 29


@pytest.mark.parametrize(
    ("graph", "error", "message"),
    [
        (np.ones((2, 2)), TypeError, "a graph is a sparse matrix"),
        (csr_array(np.ones((2, 3))), ValueError, "must be square"),
        (csr_array(np.array([[0.0, 0.0], [-1.0, 0.0]])), ValueError, "from row 1 to row 0 .* -1.0"),
        (
            csr_array(np.array([[0.0, np.nan], [0.0, 0.0]])),
            ValueError,
            "from row 0 to row 1 .* nan",
        ),
    ],
)
def test_what_is_no_graph(graph, error, message):
    with pytest.raises(error, match=message):
        checked(graph)


def test_too_many_neighbours_and_sources_without_a_row():
    X = np.arange(4.0)[:, None]
    with pytest.raises(ValueError, match="n_neighbors = 4, n_samples_fit = 4"):
        nearest_graph(search_of(X), X, 4)
    G = undirected(nearest_graph(search_of(X), X, 1))
    with pytest.raises(ValueError, match="from 0 to 3"):
        paths.shortest_paths(G, np.array([4]))


@pytest.mark.slow
def test_a_roll_of_two_thousand_rows_against_scipy():
    from scipy.sparse.csgraph import dijkstra

    rng = np.random.default_rng(0)
    t = 1.5 * np.pi * (1.0 + 2.0 * rng.random(2000))
    X = np.stack([t * np.cos(t), 21.0 * rng.random(2000), t * np.sin(t)], axis=1)
    G = undirected(nearest_graph(search_of(X), X, 8))
    np.testing.assert_array_equal(paths.shortest_paths(G), dijkstra(G, directed=False))
