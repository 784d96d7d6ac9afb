"""Spectral clustering: scikit-learn, least cuts by brute force, new rows, weights, components."""

from __future__ import annotations

import numpy as np
import oracles.manifold as naive
import pytest
import sklearn.cluster
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

import fenchel
from fenchel import SpectralClustering, kernels, threads
from fenchel.models.cluster.spectral.rounding import cluster_qr, discretize, unit_rows

METHODS = ["kmeans", "discretize", "cluster_qr"]
TABLES = {
    "moons": (make_moons(300, noise=0.07, random_state=0), 2, {"gamma": 30.0}),
    "circles": (make_circles(300, noise=0.05, factor=0.5, random_state=0), 2, {"gamma": 30.0}),
    "blobs": (make_blobs(300, centers=4, cluster_std=0.8, random_state=8), 4, {"gamma": 0.5}),
    "joined moons": (
        make_moons(300, noise=0.09, random_state=0),
        2,
        {"affinity": "nearest_neighbors", "n_neighbors": 16},
    ),
}


def rbf(X, Z, gamma=1.0):
    return np.exp(-gamma * cdist(X, Z, "sqeuclidean"))


def cloud(n=60, seed=0):
    return make_blobs(n, centers=3, cluster_std=1.0, random_state=seed)[0]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("table", TABLES)
def test_clusters_are_those_of_scikit_learn(table, method):
    (X, truth), k, kinds = TABLES[table]
    model = SpectralClustering(k, assign_labels=method, **kinds).fit(X)
    other = sklearn.cluster.SpectralClustering(k, assign_labels=method, random_state=0, **kinds)
    assert adjusted_rand_score(other.fit_predict(X), model.labels_) > 0.97
    assert adjusted_rand_score(truth, model.labels_) > 0.85
    assert_array_equal(model.predict(X), model.labels_)
    assert model.labels_.dtype == np.int32 and model.converged_
    difference = abs(model.affinity_matrix_ - other.affinity_matrix_)
    assert difference.max() < 1e-12
    # The value is the cut, and the relaxation is below it.
    W = model.affinity_matrix_
    W = W if isinstance(W, np.ndarray) else W.toarray()
    certificate = model.certificate_
    assert_allclose(certificate.value, naive.normalised_cut(W, model.labels_), rtol=1e-10)
    assert certificate.kind == "spectral" and 0.0 < certificate.bound <= certificate.value
    assert certificate.bound <= model.relaxation_ <= certificate.bound + 1e-8
    again = fenchel.certify(model, X)
    assert_allclose([again.value, again.bound], [certificate.value, certificate.bound], rtol=1e-6)
    assert model.eigen_certificate_.closed(1e-8)
    assert (method == "kmeans") == ("kmeans_certificate_" in vars(model))


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 7), st.integers(1, 3), st.integers(0, 10**6), st.sampled_from([1, 4, 12]))
def test_the_bound_is_below_the_least_cut(n, k, seed, power):
    rng = np.random.default_rng(seed)
    W = rng.random((n, n)) ** power
    W = W + W.T
    np.fill_diagonal(W, rng.random(n))
    k = min(k, n)
    least = min(naive.normalised_cut(W, labels) for labels in naive.partitions(n, k))
    for prove in (True, False):
        model = SpectralClustering(k, affinity="precomputed", prove=prove).fit(W)
        certificate = model.certificate_
        found = len(np.unique(model.labels_))
        if found < k:
            continue
        assert certificate.bound <= least + 1e-12 * least
        assert certificate.value >= least * (1.0 - 1e-9)
        values = naive.eigenmaps(W, 1)[0]
        assert_allclose(model.relaxation_, max(k - values[:k].sum(), 0.0), atol=1e-10)
        if prove:  # nothing but rounding is lost
            assert certificate.bound >= min(model.relaxation_, certificate.value) - 1e-9
        else:
            assert certificate.bound == 0.0 or certificate.kind == "exact"


def test_the_bound_holds_for_equal_rows_and_weights():
    X = cloud(7)
    s = np.array([1, 2, 1, 3, 1, 1, 2])
    model = SpectralClustering(3, gamma=0.05).fit(X, sample_weight=s)
    many = np.repeat(X, s, axis=0)
    W = rbf(many, many, 0.05)
    place = np.repeat(np.arange(7), s)
    least = min(naive.normalised_cut(W, labels[place]) for labels in naive.partitions(7, 3))
    assert 0.0 < model.certificate_.bound <= least
    value = naive.normalised_cut(W, model.labels_[place])
    assert_allclose(model.certificate_.value, value, rtol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_whole_weights_are_equal_rows(method):
    X, s = cloud(), 1 + np.arange(60) % 3
    weighted = SpectralClustering(3, gamma=0.1, assign_labels=method).fit(X, sample_weight=s)
    many = SpectralClustering(3, gamma=0.1, assign_labels=method).fit(np.repeat(X, s, axis=0))
    assert_array_equal(many.labels_, np.repeat(weighted.labels_, s))
    assert_allclose(many.certificate_.value, weighted.certificate_.value)
    assert_array_equal(many.predict(X), weighted.labels_)
    weightless = SpectralClustering(3, gamma=0.1, assign_labels=method)
    weightless.fit(np.concatenate([X, X[:5] + 0.1]), sample_weight=np.repeat([1.0, 0.0], [60, 5]))
    plain = SpectralClustering(3, gamma=0.1, assign_labels=method).fit(X)
    assert_array_equal(weightless.labels_, plain.predict(np.concatenate([X, X[:5] + 0.1])))


@pytest.mark.filterwarnings("ignore:.*2 components of 300 and 300 rows")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("affinity", ["rbf", "nearest_neighbors"])
def test_new_rows_go_to_the_cluster_that_they_lie_in(affinity, method):
    X, truth = make_circles(600, noise=0.04, factor=0.5, random_state=0)
    new, inner = make_circles(200, noise=0.04, factor=0.5, random_state=1)
    kinds = {"gamma": 30.0} if affinity == "rbf" else {}
    model = SpectralClustering(2, affinity=affinity, assign_labels=method, **kinds).fit(X)
    label = model.labels_[np.flatnonzero(truth == 1)[0]]
    assert_array_equal(model.labels_ == label, truth == 1)
    assert_array_equal(model.predict(new) == label, inner == 1)


def test_rows_are_the_eigenvectors_made_to_length_one():
    X = cloud()
    model = SpectralClustering(3, gamma=0.1).fit(X)
    W = rbf(X, X, 0.1)
    np.fill_diagonal(W, 0.0)
    d = W.sum(axis=1)
    values, U = np.linalg.eigh(W / np.sqrt(np.outer(d, d)))
    assert_allclose(model.eigenvalues_, values[::-1][:3], atol=1e-10)
    Y = U[:, ::-1][:, :3]
    assert naive.up_to_signs(model.embedding_, Y / np.linalg.norm(Y, axis=1)[:, None]) < 1e-7
    means = [Y / np.linalg.norm(Y, axis=1)[:, None]][0]
    for label in range(3):
        centre = model.embedding_[model.labels_ == label].mean(axis=0)
        assert_allclose(model.assignment_.centers[label], centre, atol=1e-7)
    inertia = sum(
        np.square(means[model.labels_ == j] - means[model.labels_ == j].mean(axis=0)).sum()
        for j in range(3)
    )
    assert_allclose(model.kmeans_certificate_.value, inertia, rtol=1e-6)


def test_kernels_functions_and_given_affinities_agree():
    X = cloud()
    W = rbf(X, X, 0.1)
    plain = SpectralClustering(3, gamma=0.1).fit(X)
    models = [
        SpectralClustering(3, affinity=kernels.Gaussian(0.1)).fit(X),
        SpectralClustering(
            3,
            affinity=lambda a, b, rate: np.exp(-rate * ((a - b) ** 2).sum()),
            kernel_params={"rate": 0.1},
        ).fit(X),
        SpectralClustering(3, gamma=0.1).fit(csr_array(X)),
        SpectralClustering(3, gamma=0.1).fit(fenchel.as_blocks(X)),
    ]
    for model in models:
        assert_array_equal(model.labels_, plain.labels_)
        assert_array_equal(model.predict(X[::3] + 0.01), plain.predict(X[::3] + 0.01))
    for form in (np.asarray, csr_array):
        given = SpectralClustering(3, affinity="precomputed").fit(form(W))
        assert_array_equal(given.labels_, plain.labels_)
        assert_array_equal(given.predict(form(W[::2])), plain.labels_[::2])
    distances = SpectralClustering(3, affinity="precomputed_nearest_neighbors").fit(cdist(X, X))
    near = SpectralClustering(3, affinity="nearest_neighbors").fit(X)
    assert_array_equal(distances.labels_, near.labels_)
    for name in ("laplacian", "poly", "cosine", "chi2", "sigmoid", "linear"):
        rows = np.abs(X) / 10.0
        model = SpectralClustering(3, affinity=name).fit(rows)
        assert_array_equal(model.predict(rows), model.labels_)


def test_as_many_components_as_clusters_are_cut_apart_for_nothing():
    X = np.concatenate([cloud(40), cloud(30) + 1e3, cloud(20) - 1e3])
    part = np.repeat([0, 1, 2], [40, 30, 20])
    for kinds in ({"gamma": 0.05}, {"affinity": "nearest_neighbors", "n_neighbors": 15}):
        for method in METHODS:
            with pytest.warns(UserWarning, match="3 components of 40, 30 and 20 rows. Each has an"):
                model = SpectralClustering(3, assign_labels=method, **kinds).fit(X)
            assert_array_equal(model.labels_, part)
            assert_array_equal(model.predict(X), part)
            assert model.certificate_.kind == "exact" and model.certificate_.value == 0.0
            assert_array_equal(model.component_sizes_, [40, 30, 20])
            assert_array_equal(model.predict(X + 0.01), part)


def test_of_more_components_the_largest_are_the_clusters():
    X = np.concatenate([cloud(40), cloud(30) + 1e3, cloud(20) + 1.1e3])
    with pytest.warns(UserWarning, match="3 components .* The 2 largest are the clusters"):
        model = SpectralClustering(2, affinity="nearest_neighbors", n_neighbors=15).fit(X)
    assert_array_equal(model.labels_, np.repeat([0, 1], [40, 50]))
    assert_array_equal(model.predict(X), model.labels_)
    assert model.certificate_.value == 0.0
    joined = SpectralClustering(
        2, affinity="nearest_neighbors", n_neighbors=15, disconnected="join"
    ).fit(X)
    assert_array_equal(joined.labels_, np.repeat([1, 0], [40, 50]))
    assert 0.0 < joined.certificate_.bound <= joined.certificate_.value < 0.1


def test_few_rows():
    assert_array_equal(np.sort(SpectralClustering(2).fit(np.eye(2)).labels_), [0, 1])
    with pytest.raises(ValueError, match="n_samples=2 should be >= n_clusters=3"):
        SpectralClustering(3).fit(np.eye(2))
    with pytest.warns(ConvergenceWarning, match=r"clusters \(2\) found smaller than .* \(3\)"):
        model = SpectralClustering(3).fit(np.repeat(np.eye(2), 3, axis=0))
    assert_array_equal(model.labels_, [0, 0, 0, 1, 1, 1])
    one = SpectralClustering(1).fit(cloud())
    assert one.certificate_.kind == "exact" and (one.labels_ == 0).all()


def test_more_eigenvectors_than_clusters_and_fewer():
    X = cloud(90)
    for p in (2, 5):
        model = SpectralClustering(3, n_components=p, gamma=0.1).fit(X)
        assert model.embedding_.shape == (90, p) and len(np.unique(model.labels_)) == 3
        certificate = model.certificate_
        values = naive.eigenmaps(rbf(X, X, 0.1), 1)[0]
        assert certificate.bound <= 3.0 - values[:3].sum() + 1e-12
        assert_array_equal(model.predict(X), model.labels_)


def test_clusters_are_numbered_by_size_and_do_not_depend_on_the_order():
    X = np.concatenate([cloud(30), cloud(60, seed=4) + 15.0])
    order = np.random.default_rng(0).permutation(90)
    for method in METHODS:
        model = SpectralClustering(2, gamma=0.02, assign_labels=method).fit(X)
        assert_array_equal(model.labels_, np.repeat([1, 0], [30, 60]))
        other = SpectralClustering(2, gamma=0.02, assign_labels=method).fit(X[order])
        assert_array_equal(other.labels_, model.labels_[order])


def test_the_same_bits_for_any_number_of_threads():
    X = cloud(700)
    for kinds in ({"gamma": 0.1}, {"affinity": "nearest_neighbors", "n_neighbors": 30}):
        model = SpectralClustering(3, **kinds).fit(X)
        with threads(1):
            other = SpectralClustering(3, **kinds).fit(X)
        assert_array_equal(other.embedding_, model.embedding_)
        assert other.certificate_.value == model.certificate_.value


def test_rotations_find_clusters_on_axes():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, 200)
    Q = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    rows = (Q[labels] + 0.05 * rng.normal(size=(200, 4))) * rng.uniform(0.1, 1.0, (200, 1))
    for found in (cluster_qr(rows), discretize(rows, unit_rows(rows), np.ones(200))):
        assert adjusted_rand_score(labels, found(rows)) == 1.0
        assert_allclose(found.rotation.T @ found.rotation, np.eye(4), atol=1e-12)
    # The last labels and rotation are best for each other.
    rows = rng.normal(size=(200, 3))
    Y, mass = unit_rows(rows), rng.uniform(0.5, 2.0, 200)
    found = discretize(rows, Y, mass)

    def value(R, labels):
        return float(mass @ (Y @ R)[np.arange(200), labels])

    best = value(found.rotation, found(Y))
    start = cluster_qr(rows).rotation
    assert best >= value(start, (Y @ start).argmax(axis=1))
    for _ in range(50):
        turn = np.linalg.qr(np.eye(3) + 1e-3 * rng.normal(size=(3, 3)))[0]
        turn *= np.sign(np.diagonal(turn))
        assert value(found.rotation @ turn, found(Y)) <= best + 1e-12


def test_nothing_is_proved_of_wide_graphs_unless_asked(monkeypatch):
    from fenchel.models.cluster.spectral import normalised_cut

    X = np.random.default_rng(0).normal(size=(300, 3))
    for name in ("FACTORED", "MADE_DENSE"):
        monkeypatch.setattr(normalised_cut, name, 0)
    monkeypatch.setattr(normalised_cut, "is_narrow", lambda A: False)
    for kinds in ({"affinity": "nearest_neighbors"}, {"gamma": 5.0}):
        quick = SpectralClustering(3, **kinds).fit(X)
        asked = SpectralClustering(3, prove=True, **kinds).fit(X)
        assert quick.certificate_.bound < 1e-12 < 0.01 < asked.certificate_.bound
        assert quick.relaxation_ == pytest.approx(asked.certificate_.bound, rel=1e-6)
    wide = SpectralClustering(3, gamma=0.05).fit(X)  # of whose affinities norms say something
    assert 0.0 < wide.certificate_.bound <= wide.relaxation_
