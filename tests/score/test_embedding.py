"""Quality of maps: definitions pair by pair, scikit-learn, ties, weights, scales, homes."""

from __future__ import annotations

import numpy as np
import oracles.spectral as naive
import pytest
import sklearn.manifold
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist, pdist
from sklearn.manifold import MDS

import fenchel
from fenchel import continuity, residual_variance, stress, threads, trustworthiness


def table(n=60, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, :2] + 0.4 * rng.normal(size=(n, 2))


@pytest.mark.parametrize("k", [1, 5, 12])
@pytest.mark.parametrize("d", [3, 17, 60])
def test_neighbours_are_those_of_scikit_learn_and_the_definition(d, k):
    X, Z = table(60, d)
    want = sklearn.manifold.trustworthiness(X, Z, n_neighbors=k)
    assert_allclose(trustworthiness(X, Z, n_neighbors=k), want, rtol=1e-14)
    assert_allclose(trustworthiness(X, Z, n_neighbors=k), naive.trustworthiness(X, Z, k))
    assert_allclose(continuity(X, Z, n_neighbors=k), naive.trustworthiness(Z, X, k))
    for metric in ("manhattan", "cosine"):
        D = cdist(X, X, "cityblock" if metric == "manhattan" else metric)
        want = sklearn.manifold.trustworthiness(D.copy(), Z, n_neighbors=k, metric="precomputed")
        assert_allclose(trustworthiness(X, Z, n_neighbors=k, metric=metric), want)
        assert_allclose(trustworthiness(D, Z, n_neighbors=k, metric="precomputed"), want)
        assert continuity(X, Z, n_neighbors=k, metric=metric) == continuity(
            D, Z, n_neighbors=k, metric="precomputed"
        )


@settings(max_examples=40, deadline=None)
@given(st.integers(4, 30), st.sampled_from([1, 2, 20]), st.integers(0, 10**6))
def test_ties_go_to_the_lower_number(n, d, seed):
    rng = np.random.default_rng(seed)
    X, Z = rng.integers(0, 3, (n, d)).astype(float), rng.integers(0, 3, (n, 1)).astype(float)
    k = max((n - 1) // 2 - 1, 1)
    assert_allclose(trustworthiness(X, Z, n_neighbors=k), naive.trustworthiness(X, Z, k))
    assert_allclose(continuity(X, Z, n_neighbors=k), naive.trustworthiness(Z, X, k))


def test_a_map_that_keeps_all_is_perfect_and_any_lies_between_0_and_1():
    X, Z = table(50)
    for found in (trustworthiness, continuity):
        assert found(X, 3.0 * X - 7.0, n_neighbors=6) == 1.0
        assert 0.0 < found(X, Z, n_neighbors=6) < 1.0
        worst = found(np.arange(20.0)[:, None], (np.arange(20) * 9 % 20.0)[:, None], n_neighbors=9)
        assert 0.0 <= worst < 0.6
    torn = np.where(X[:, :1] > 0.0, X[:, :1] + 50.0, X[:, :1])
    assert trustworthiness(X[:, :1], torn, n_neighbors=4) > continuity(
        X[:, :1], torn, n_neighbors=4
    )


def test_too_many_neighbours():
    X, Z = table(20)
    with pytest.raises(ValueError, match=r"n_neighbors \(10\) should be less than n_samples / 2"):
        trustworthiness(X, Z, n_neighbors=10)
    for k in (0, 2.5):
        with pytest.raises(ValueError, match="n_neighbors must be a whole number from 1 on"):
            continuity(X, Z, n_neighbors=k)
    with pytest.raises(ValueError, match="X has 20 rows and X_embedded has 9"):
        trustworthiness(X, Z[:9])
    with pytest.raises(ValueError, match=r"square matrix of distances, got \(20, 5\)"):
        stress(X, Z, metric="precomputed")
    with pytest.raises(ValueError, match="the distance in row 0, column 1 is -1"):
        stress(-np.ones((20, 20)) + np.eye(20) * 2 + np.eye(20, k=-1), Z, metric="precomputed")


def sums(delta, d):
    return np.square(delta - d).sum(), np.square(delta).sum(), np.square(d).sum()


@pytest.mark.parametrize("n", [2, 40, 300])
def test_stress_is_the_definition(n):
    X, Z = table(n)
    delta, d = pdist(X), pdist(Z)
    left, before, after = sums(delta, d)
    assert_allclose(stress(X, Z), np.sqrt(left / after))
    assert_allclose(stress(X, Z, kind="normalized"), np.sqrt(left / before))
    assert_allclose(stress(X, Z, kind="raw"), left)
    sammon = (np.square(delta - d) / delta).sum() / delta.sum()
    assert_allclose(stress(X, Z, kind="sammon"), sammon)
    D = cdist(X, X)
    assert_allclose(stress(D, Z, metric="precomputed"), stress(X, Z), rtol=1e-12)
    manhattan = stress(X, Z, metric="manhattan")
    assert_allclose(manhattan, stress(cdist(X, X, "cityblock"), Z, metric="precomputed"))


def test_stress_is_that_of_scikit_learn():
    X = table(40)[0]
    model = MDS(2, normalized_stress=True, n_init=1, init="random", random_state=0).fit(X)
    assert_allclose(stress(X, model.embedding_, kind="normalized"), model.stress_, rtol=0.05)


@pytest.mark.parametrize("kind", ["kruskal", "normalized", "raw", "sammon"])
def test_a_scaled_map_has_the_least_stress(kind):
    X, Z = table(30)
    least = stress(X, Z, kind=kind, scaled=True)
    factors = np.geomspace(0.1, 10.0, 400)
    tried = [stress(X, a * Z, kind=kind) for a in factors]
    assert least <= min(tried) + 1e-12 and least >= min(tried) - 1e-3 * min(tried)
    assert_allclose(stress(X, 1e-3 * Z, kind=kind, scaled=True), least)
    if kind != "raw":  # of a map that is the table, nothing is left
        assert stress(X, 4.0 * X, kind=kind, scaled=True) < 1e-15
        assert stress(X, X, kind=kind) == 0.0
        assert stress(X, X + 1e-9 * X[::-1], kind=kind) > 0.0


@pytest.mark.parametrize("n", [3, 40, 300])
def test_residual_variance_is_the_definition(n):
    X, Z = table(n)
    want = 1.0 - np.corrcoef(pdist(X), pdist(Z))[0, 1] ** 2
    assert_allclose(residual_variance(X, Z), want, atol=1e-14)
    D = cdist(X, X)
    assert_allclose(residual_variance(D, Z, metric="precomputed"), want, atol=1e-14)
    assert_allclose(residual_variance(X, 8.0 * Z + 3.0), want, rtol=1e-9)


def test_a_small_residual_variance_has_its_digits():
    X = table(50)[0]
    nearly = X + 1e-9 * table(50, seed=1)[0]
    delta, d = pdist(X).astype(np.longdouble), pdist(nearly).astype(np.longdouble)
    delta, d = delta - delta.mean(), d - d.mean()
    slope = (delta * d).sum() / (d * d).sum()
    want = float(np.square(delta - slope * d).sum() / np.square(delta).sum())
    assert 0.0 < want < 1e-16
    assert_allclose(residual_variance(X, nearly), want, rtol=1e-4)


def test_equal_distances_have_no_correlation():
    X, Z = table(3)
    with pytest.raises(ValueError, match="all distances of X are equal"):
        residual_variance(np.eye(3), Z)
    with pytest.raises(ValueError, match="all distances of X_embedded are equal"):
        residual_variance(X, np.zeros((3, 2)))
    assert stress(X, np.zeros((3, 2))) == np.inf
    assert stress(X, np.zeros((3, 2)), kind="normalized") == 1.0
    assert stress(np.zeros((3, 1)), np.zeros((3, 2))) == 0.0


@pytest.mark.parametrize("kind", ["kruskal", "normalized", "raw", "sammon", "residual"])
def test_whole_weights_are_equal_rows(kind):
    X, Z = table(30)
    s = np.arange(30) % 4

    def found(X, Z, s=None):
        if kind == "residual":
            return residual_variance(X, Z, sample_weight=s)
        return stress(X, Z, kind=kind, sample_weight=s)

    many = found(np.repeat(X, s, axis=0), np.repeat(Z, s, axis=0))
    assert_allclose(found(X, Z, s), many, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
def test_any_scale(scale):
    X, Z = table(40)
    for found in (trustworthiness, continuity, stress, residual_variance):
        assert_allclose(found(X * scale, Z * scale), found(X, Z), rtol=1e-6)
        D = cdist(X, X)
        given = found(D * scale, Z * scale, metric="precomputed")
        assert_allclose(given, found(D, Z, metric="precomputed"), rtol=1e-6)
    assert_allclose(trustworthiness(X * scale, Z), trustworthiness(X, Z))


def test_inputs_stay_as_they_are():
    X, Z = table(30)
    D = cdist(X, X)
    before = D.copy(), Z.copy()
    for found in (trustworthiness, continuity, stress, residual_variance):
        found(D, Z, metric="precomputed")
        np.testing.assert_array_equal(D, before[0])
        np.testing.assert_array_equal(Z, before[1])


def test_homes_and_threads():
    X, Z = table(300, 30)
    X[np.abs(X) < 0.5] = 0.0
    for found in (trustworthiness, continuity, stress, residual_variance):
        want = found(X, Z)
        with threads(1):
            assert found(X, Z) == want
        assert_allclose(found(csr_array(X), Z), want, rtol=1e-12)
        assert_allclose(found(fenchel.as_blocks(X), np.asfortranarray(Z)), want, rtol=1e-12)
        single = found(X.astype(np.float32), Z.astype(np.float32))
        assert_allclose(single, want, rtol=1e-5)
