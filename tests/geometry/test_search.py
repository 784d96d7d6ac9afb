"""Searches of neighbours: any metric against the naive one, radii, ties, extremes, threads."""

from __future__ import annotations

import numpy as np
import oracles.geometry as naive
import oracles.neighbours as oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from fenchel.data.blocks import threads
from fenchel.geometry.kernel.vector_kernels import Gaussian, Linear
from fenchel.geometry.search.all_pairs import AllPairs, smallest
from fenchel.geometry.search.euclidean import EuclideanSearch
from fenchel.geometry.search.metric import METRICS, NAMED, KernelMetric, is_euclidean, metric_of
from fenchel.geometry.search.search import without_own, without_own_within


@pytest.mark.parametrize("d", [1, 3, 16, 17, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_within_a_radius(d, dtype):
    rng = np.random.default_rng(d)
    X = np.round(rng.normal(size=(900, d)), 1).astype(dtype)
    Q = np.concatenate([X[:30], np.round(rng.normal(size=(370, d)), 1).astype(dtype)])
    squares = naive.squared_distances(Q, X)
    radius = float(np.sqrt(np.quantile(squares, 0.02)))
    for rows in (Q, np.asfortranarray(Q), csr_array(Q)):
        for count in (1, 3):
            with threads(count):
                found = EuclideanSearch(X).within(rows, radius)
            where, numbers = np.nonzero(squares <= radius * radius)
            np.testing.assert_array_equal(found.numbers, numbers)
            np.testing.assert_array_equal(np.diff(found.starts), np.bincount(where, minlength=400))
            np.testing.assert_array_equal(found.distances, np.sqrt(squares[where, numbers]))


def test_no_point_and_all_points_within():
    X = np.arange(12.0)[:, None]
    found = EuclideanSearch(X).within(np.array([[100.0], [3.0]]), 0.0)
    assert found.starts.tolist() == [0, 0, 1] and found.numbers.tolist() == [3]
    assert len(EuclideanSearch(X).within(X, 1e3).numbers) == 144


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 24),
    m=st.integers(1, 60),
    scale=st.sampled_from([1.0, 2.0**-530, 2.0**-1060, 2.0**460]),
)
def test_whole_numbers_are_ordered_as_exact_arithmetic_orders_them(seed, d, m, scale):
    rng = np.random.default_rng(seed)
    X, Q = rng.integers(-3, 4, size=(m, d)).astype(float), rng.integers(-3, 4, (5, d)).astype(float)
    k = int(rng.integers(1, m + 1))
    expected = oracle.exact_nearest(Q, X, k)
    numbers, distances = EuclideanSearch(X * scale).nearest(Q * scale, k)
    np.testing.assert_array_equal(numbers, expected)
    exact = np.array(
        [
            [float(oracle.exact_squares(q, X[[j]])[0]) for j in js]
            for q, js in zip(Q, expected, strict=True)
        ]
    )
    np.testing.assert_allclose(distances, np.sqrt(exact) * scale, rtol=1e-14)


def rows_for(name, rng):
    X = np.round(rng.normal(size=(80, 4)), 1)
    return np.abs(X) if name in ("braycurtis", "canberra") else X


PARAMETERS = {"minkowski": {"p": 3}, "p": {"p": 1.5, "w": np.array([1.0, 2.0, 0.0, 0.5])}}


@pytest.mark.parametrize("name", sorted(NAMED))
def test_metrics_of_scipy(name):
    rng = np.random.default_rng(0)
    X, Q = rows_for(name, rng), rows_for(name, rng)[:23]
    Q[0] = X[7]
    given = PARAMETERS.get(name, {})
    search = AllPairs(metric_of(name, 2, given, X), X)
    known = dict(given)
    if name == "seuclidean":
        known["V"] = X.var(axis=0, ddof=1)
    if name == "mahalanobis":
        known["VI"] = np.linalg.inv(np.cov(X.T))
    truth = name in ("dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule")
    pair = (Q != 0, X != 0) if truth else (Q, X)
    D = cdist(*pair, NAMED[name], **known)
    for count in (1, 16):
        with threads(count):
            numbers, distances = search.nearest(Q, 9)
            within = search.within(Q, float(np.quantile(D, 0.1)))
        np.testing.assert_allclose(distances, np.sort(D, axis=1)[:, :9], rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(
            distances, np.take_along_axis(search.metric.tile(Q, X), numbers, axis=1)
        )
        np.testing.assert_array_equal(numbers, oracle.nearest(search.metric.tile(Q, X), 9))
        assert len(within.numbers) == (np.quantile(D, 0.1) >= D).sum()


def test_metrics_by_function_by_kernel_and_on_the_sphere():
    rng = np.random.default_rng(1)
    X, Q = rng.normal(size=(40, 2)), rng.normal(size=(6, 2))
    own = AllPairs(metric_of(lambda a, b: np.abs(a - b).max(), None, None, X), X)
    other = AllPairs(metric_of("infinity", None, None, X), X)
    for a, b in zip(own.nearest(Q, 5), other.nearest(Q, 5), strict=True):
        np.testing.assert_array_equal(a, b)
    linear = AllPairs(KernelMetric(Linear()), X).nearest(Q, 5)
    plain = EuclideanSearch(X).nearest(Q, 5)
    np.testing.assert_array_equal(linear[0], plain[0])
    np.testing.assert_allclose(linear[1], plain[1])
    X[1] = X[0]
    numbers, distances = AllPairs(KernelMetric(Gaussian(0.3)), X).nearest(X[:1], 3)
    assert numbers[0, :2].tolist() == [0, 1] and distances[0, :2].tolist() == [0.0, 0.0]
    from sklearn.metrics.pairwise import haversine_distances

    sphere = AllPairs(metric_of("haversine", None, None, X), X)
    np.testing.assert_allclose(sphere.nearest(Q, 40)[1], np.sort(haversine_distances(Q, X), axis=1))


def test_cosine_of_a_zero_row():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    search = AllPairs(metric_of("cosine", None, None, X), X)
    numbers, distances = search.nearest(np.array([[2.0, 0.0], [0.0, 0.0]]), 3)
    assert numbers.tolist() == [[1, 0, 2], [0, 1, 2]]
    assert distances.tolist() == [[0.0, 1.0, 2.0], [1.0, 1.0, 1.0]]


def test_what_is_euclidean():
    assert is_euclidean("minkowski", 2, None) and is_euclidean("l2", 7, None)
    assert is_euclidean("minkowski", 1, {"p": 2})
    assert not is_euclidean("minkowski", 2, {"w": [1.0]})
    assert not is_euclidean("sqeuclidean", 2, None) and not is_euclidean(max, 2, None)
    assert {"euclidean", "haversine", "precomputed", "minkowski"} <= set(METRICS)


@pytest.mark.parametrize(
    ("metric", "p", "params", "message"),
    [
        ("chess", 2, None, "metric='chess' is not known"),
        ("minkowski", -1, None, "p must be positive"),
        ("minkowski", 3, {"w": [1.0]}, "w of metric_params must hold 4"),
        ("minkowski", 3, {"w": [-1.0] * 4}, "w of metric_params must hold 4"),
    ],
)
def test_faults_of_metrics(metric, p, params, message):
    with pytest.raises(ValueError, match=message):
        metric_of(metric, p, params, np.ones((5, 4)))


def test_a_metric_that_is_nan_is_named():
    X = np.array([[1.0, 1.0], [1.0, 2.0]])
    with pytest.raises(ValueError, match="the metric correlation is NaN between row 0 and point 0"):
        AllPairs(metric_of("correlation", None, None, X), X).nearest(X, 1)


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(1, 40))
def test_the_smallest_columns(seed, k, m):
    values = np.random.default_rng(seed).integers(0, 4, size=(7, m)).astype(float)
    k = min(k, m)
    np.testing.assert_array_equal(smallest(values, k), oracle.nearest(values, k))


@given(st.integers(0, 10**6), st.integers(1, 6))
def test_neighbours_among_the_others(seed, k):
    X = np.random.default_rng(seed).integers(0, 3, size=(12, 2)).astype(float)
    search = EuclideanSearch(X)
    numbers, distances = without_own(*search.nearest(X, k + 1), np.arange(12))
    D = naive.squared_distances(X, X)
    np.fill_diagonal(D, np.inf)
    np.testing.assert_array_equal(numbers, oracle.nearest(D, k))
    np.testing.assert_array_equal(distances, np.sqrt(np.sort(D, axis=1)[:, :k]))
    found = without_own_within(search.within(X, 1.0), np.arange(12))
    np.testing.assert_array_equal(np.diff(found.starts), (D <= 1.0).sum(axis=1))
    np.testing.assert_array_equal(found.numbers, np.nonzero(D <= 1.0)[1])
