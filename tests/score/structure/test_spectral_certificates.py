"""Clusterings and projections against all there are, and the number of clusters."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import oracles.score as oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.decomposition import PCA

from fenchel import certify_clusters, certify_projection, gap_statistic
from fenchel.convex.partition.spectral_bounds import CentredRows

EPS = np.finfo(np.float64).eps


def cloud(seed: int, kind: str, n: int = 7, d: int = 2) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return {
        "plain": X,
        "far": X + 1e8,
        "large": 1e150 * X,
        "small": 1e-150 * X,
        "squares are denormal": 1e-162 * X,
        "denormal": 1e-310 * X,
        "float32": X.astype(np.float32),
        "repeated": X[rng.integers(3, size=n)],
        "line": X[:, :1] * np.ones(d),
        "constant": np.full((n, d), 0.1),
        "columns of other scales": X * 10.0 ** np.arange(0, -4 * d, -4),
        "wide": rng.normal(size=(n, 20)),
    }[kind]


KINDS = [
    *("plain", "far", "large", "small", "float32", "repeated", "line", "constant"),
    *("columns of other scales", "wide", "squares are denormal", "denormal"),
]


@pytest.mark.parametrize("k", [1, 2, 3, 7])
@pytest.mark.parametrize("kind", KINDS)
def test_no_clustering_is_below_the_bound(kind, k):
    for seed in range(3):
        X = cloud(seed, kind)
        best, labels = oracles.least_scatter(X, k)
        found = certify_clusters(X, labels)
        # The oracle is a ratio of whole numbers: exact.
        assert found.kind == "spectral" and found.bound <= best
        held = CentredRows(X)
        assert held.bound(k - 1) <= best / Fraction(2) ** (2 * held.exponent)
        assert found.value == pytest.approx(float(best), rel=1e-7, abs=found.floor)


@given(st.integers(0, 10_000), st.integers(1, 6), st.sampled_from(KINDS))
def test_the_bound_holds_for_any_labels(seed, k, kind):
    rng = np.random.default_rng(seed)
    X = cloud(seed, kind, n=int(rng.integers(2, 30)), d=int(rng.integers(1, 6)))
    found = certify_clusters(X, rng.integers(k, size=len(X)))
    assert 0.0 <= found.bound <= found.value < np.inf


def test_the_bound_is_met_where_clusters_are_points_on_a_line():
    X = np.repeat([[0.0, 0.0], [3.0, 4.0]], 50, axis=0)
    proof = certify_clusters(X, X[:, 0] > 1.0)
    assert proof.value == 0.0 and proof.relative_gap == 0.0
    one = certify_clusters(X, np.zeros(100))
    assert one.value == pytest.approx(625.0) and one.relative_gap <= 1e-12


def test_it_is_tight_enough_to_tell_something():
    X = load_iris().data
    model = KMeans(2, n_init=10, random_state=0).fit(X)
    proof = certify_clusters(X, model.labels_)
    assert proof.value == pytest.approx(model.inertia_)
    assert 0.3 < proof.bound / proof.value <= 1.0


def test_any_home_and_any_labels():
    X = load_iris().data
    labels = np.array(["a", "b", "c"])[np.arange(150) % 3]
    first = certify_clusters(X, labels)
    assert certify_clusters(sparse.csr_array(X), labels) == first
    assert certify_clusters(X.tolist(), list(labels)) == first
    kept = X.copy()
    certify_clusters(kept, labels)
    assert np.array_equal(kept, X)


def test_principal_components_are_proved():
    X = load_breast_cancer().data
    for r in (1, 2, 5, 30):
        pca = PCA(r).fit(X)
        proof = certify_projection(X, pca.components_)
        naive = np.sum((X - pca.inverse_transform(pca.transform(X))) ** 2)
        assert proof.kind == "eigen" and proof.relative_gap <= 1e-6
        assert proof.value == pytest.approx(naive, rel=1e-6, abs=1e-12 * X.var(axis=0).sum())
    held = CentredRows(X)
    values = [held.outside(value) / 568 for value in held.values[:5]]
    assert values == pytest.approx(pca.explained_variance_[:5])


@given(st.integers(0, 10_000), st.sampled_from(KINDS))
def test_no_projection_is_below_the_bound(seed, kind):
    rng = np.random.default_rng(seed)
    X = cloud(seed, kind, n=12, d=4)
    d = X.shape[1]
    W = rng.normal(size=(int(rng.integers(1, d + 1)), d))
    W[-1] = W[0]  # a direction twice is one direction
    proof = certify_projection(X, W)
    # The residual of least squares on those directions, column by column, is the same thing.
    Z = np.asarray(X, np.float64) - np.asarray(X, np.float64).mean(axis=0)
    fitted = np.linalg.lstsq(W.T, Z.T, rcond=None)[0]
    naive = np.sum((Z.T - W.T @ fitted) ** 2)
    assert 0.0 <= proof.bound <= proof.value
    assert proof.value == pytest.approx(naive, rel=1e-6, abs=1e3 * proof.floor)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: certify_clusters(np.eye(3), [0, 1]), "one for each of 3 rows"),
        (lambda: certify_clusters([[np.nan]], [0]), "NaN"),
        (lambda: certify_clusters(np.eye(3), ["a", None, "b"]), "labels is None in row 1"),
        (lambda: certify_clusters(np.eye(3), [0.0, np.nan, 1.0]), "labels is .*nan.* in row 1"),
        (lambda: certify_projection(np.eye(3), np.eye(2)), "3 columns"),
        (lambda: certify_projection(np.eye(2), [[np.inf, 0.0]]), "finite"),
        (lambda: gap_statistic(KMeans(), np.eye(3), [2, 1]), "increase"),
        (lambda: gap_statistic(KMeans(), np.eye(3), [1, 4]), "4 clusters need as many rows"),
        (lambda: gap_statistic(KMeans(), np.eye(3), [1, 2], draws=1), "draws"),
        (lambda: gap_statistic(KMeans(), np.eye(3), [1, 2], draws=2.5), "draws"),
        (lambda: gap_statistic(KMeans(), np.eye(3), [1.5, 2.5]), "whole numbers"),
        (lambda: gap_statistic(KMeans(), [[np.nan], [1.0]], [1]), "NaN"),
    ],
)
def test_faults_are_named(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def blobs(centres: list[list[float]], seed: int, each: int = 60) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(c, 0.5, (each, len(c))) for c in centres])


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_as_many_clusters_as_there_are(count):
    centres = [[0.0, 0.0, 0.0], [6.0, 0.0, 0.0], [0.0, 6.0, 0.0], [0.0, 0.0, 6.0]][:count]
    for seed in range(3):
        X = blobs(centres, seed)
        found = gap_statistic(KMeans(n_init=2, random_state=0), X, range(1, 6), random_state=seed)
        assert found.chosen == count, seed


def test_the_gap_is_what_it_says():
    X = blobs([[0.0, 0.0], [4.0, 0.0]], 0)
    estimator = KMeans(n_init=4, random_state=0)
    found = gap_statistic(estimator, X, (1, 2, 4), draws=5)
    for place, k in enumerate((1, 2, 4)):
        fit = KMeans(k, n_init=4, random_state=0).fit(X)
        assert found.scatter[place] == pytest.approx(fit.inertia_)
        assert np.array_equal(found.labels[place], fit.labels_)
    assert found.gap == pytest.approx(np.log(found.reference) - np.log(found.scatter))
    again = gap_statistic(estimator, X, (1, 2, 4), draws=5)
    assert np.array_equal(found.gap, again.gap) and np.array_equal(found.error, again.error)
    # One cluster of evenly drawn rows has the scatter of a box.
    sides = np.ptp((X - X.mean(axis=0)) @ PCA().fit(X).components_.T, axis=0)
    assert found.reference[0] == pytest.approx(len(X) * np.sum(sides**2) / 12, rel=0.15)


def test_points_that_repeat_leave_nothing():
    X = np.repeat([[0.0, 0.0], [1.0, 5.0]], 20, axis=0)
    found = gap_statistic(KMeans(n_init=2, random_state=0), X, (1, 2))
    assert found.scatter[1] == 0.0 and np.isfinite(found.gap).all() and found.chosen == 2


def test_squares_beyond_the_floats():
    """A value that no float holds is infinite, and the bound the largest float: still below."""
    for top in (1e300, 1.5e308):
        found = certify_clusters([[top], [0.0]], [0, 0])
        assert found.value == np.inf and found.bound == np.finfo(np.float64).max
        assert certify_projection([[top, 0.0], [0.0, top]], [[1.0, 0.0]]).bound < np.inf


@pytest.mark.parametrize("scale", [1e-160, 1e200])
def test_the_scale_does_not_move_the_number_of_clusters(scale):
    X = blobs([[0.0, 0.0], [6.0, 0.0]], 0)
    estimator = KMeans(n_init=2, random_state=0)
    first, found = (gap_statistic(estimator, s * X, (1, 2, 3)) for s in (1.0, scale))
    assert found.chosen == first.chosen == 2
    assert found.gap == pytest.approx(first.gap, rel=1e-6)
    sparse_rows = gap_statistic(estimator, sparse.csr_array(X), (1, 2, 3))
    assert np.array_equal(sparse_rows.gap, first.gap)


class Seen(KMeans):
    """What it was given."""

    spans: tuple[float, ...] = ()

    def fit_predict(self, X, y=None, sample_weight=None):
        Seen.spans += (float(np.ptp(X[:, 0])),)
        return super().fit_predict(X, y, sample_weight)


def test_an_estimator_is_given_rows_in_their_own_units():
    X = 1000.0 + 40.0 * blobs([[0.0, 0.0], [6.0, 0.0]], 0)
    Seen.spans = ()
    gap_statistic(Seen(n_init=1, random_state=0), X, (1, 2), draws=2)
    assert Seen.spans[0] == pytest.approx(np.ptp(X[:, 0]))
    assert all(0.5 * Seen.spans[0] < span < 2.0 * Seen.spans[0] for span in Seen.spans)


def test_clusters_in_clusters_are_not_stopped_at():
    """Eight corners of a cube: two, then four of them are shoulders of the gap."""
    corners = [[a, b, c] for a in (0.0, 6.0) for b in (0.0, 6.0) for c in (0.0, 6.0)]
    X = blobs(corners, 0, each=40)
    found = gap_statistic(KMeans(n_init=4, random_state=0), X, range(1, 11))
    assert found.chosen == 8 and found.is_clear


def test_what_goes_on_to_grow_is_not_clear():
    """Points that run away: each further cluster gains more than it does among even ones."""
    X = np.geomspace(1.0, 1e30, 60)[:, None]
    found = gap_statistic(KMeans(n_init=4, random_state=0), X, range(1, 7))
    assert not found.is_clear and found.chosen == 6


def test_means_of_many_clusters_take_no_loop():
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    found = certify_clusters(X, np.arange(20_000))
    assert found.value == 0.0 and found.bound == 0.0
