"""KMeans by batches and by itself: `partial_fit`, n_clusters="auto", plain seeding, bad tables."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from oracles.cluster import assign
from sklearn.cluster import MiniBatchKMeans
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from fenchel import BisectingKMeans, KMeans, certify, load, save, scan, threads
from fenchel.models.cluster.seeding import kmeans_plus_plus


def blobs(n=300, d=3, k=4, seed=0, spread=8.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + spread * rng.normal(size=(k, d))[rng.integers(0, k, n)]


def naive(C, mass, batches, weights):
    """Every centre the mean of what it ever had: row sums, batch by batch."""
    C, mass = np.array(C, np.float64), np.array(mass, np.float64)
    for X, s in zip(batches, weights, strict=True):
        labels, _ = assign(X, C)
        for j in range(len(C)):
            own = s[labels == j].sum()
            if own > 0.0:
                total = mass[j] * C[j] + s[labels == j] @ X[labels == j]
                mass[j] += own
                C[j] = total / mass[j]
    return C, mass


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_centres_are_the_means_of_all_their_rows(weighted, offset):
    X = blobs(400) + offset
    batches = np.array_split(X, 8)
    rng = np.random.default_rng(1)
    weights = [rng.integers(0, 3, len(b)) * 1.0 if weighted else np.ones(len(b)) for b in batches]
    start = X[:4]
    model = KMeans(4, init=start)
    for batch, s in zip(batches, weights, strict=True):
        model.partial_fit(batch, sample_weight=s if weighted else None)
    C, mass = naive(start, np.zeros(4), batches, weights)
    assert_allclose(model.cluster_centers_, C, rtol=1e-12)
    assert_allclose(model.counts_, mass)
    assert model.n_iter_ == 8 and model.n_clusters_ == 4
    labels, squares = assign(batches[-1], model.cluster_centers_)
    assert_array_equal(model.labels_, labels)
    assert_allclose(model.inertia_, weights[-1] @ squares)
    assert model.certificate_.kind == "estimate" and not model.converged_
    assert_array_equal(model.predict(X), assign(X, model.cluster_centers_)[0])


def test_batches_go_on_after_a_fit_and_a_fit_begins_anew():
    X, Y = blobs(300, seed=0), blobs(80, seed=0)[::-1].copy()
    s = np.random.default_rng(0).uniform(0.5, 2.0, 300)
    model = KMeans(4, tol=0.0).fit(X, sample_weight=s)
    assert_allclose(model.counts_, np.bincount(model.labels_, s))
    C, mass = naive(model.cluster_centers_, model.counts_, [Y], [np.ones(80)])
    first = model.cluster_centers_.copy()
    model.partial_fit(Y)
    assert_allclose(model.cluster_centers_, C, rtol=1e-12)
    assert_allclose(model.counts_, mass)
    model.fit(X, sample_weight=s)
    assert_array_equal(model.cluster_centers_, first)
    assert "running_means_" not in vars(model)


def test_single_precision_keeps_its_means_in_double():
    X = blobs(4000, seed=2).astype(np.float32)
    model = KMeans(4, init=X[:4])
    for batch in np.array_split(X, 200):
        model.partial_fit(batch)
    assert model.cluster_centers_.dtype == np.float32
    ones = [np.ones(len(b)) for b in np.array_split(X, 200)]
    C, _ = naive(X[:4], np.zeros(4), [b.astype(float) for b in np.array_split(X, 200)], ones)
    assert_allclose(model.running_means_, C, rtol=1e-6)


@pytest.mark.torch
def test_every_home_and_any_threads_give_the_same(tmp_path):
    torch = pytest.importorskip("torch")
    X = load_iris().data
    path = tmp_path / "iris.csv"
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.to_csv(path, index=False)
    first = KMeans(3, random_state=1).partial_fit(X).partial_fit(X)
    for home in (np.asfortranarray(X), frame, sp.csr_array(X), torch.from_numpy(X), scan(path)):
        other = KMeans(3, random_state=1, init=X[[0, 60, 120]])
        same = KMeans(3, random_state=1, init=X[[0, 60, 120]]).partial_fit(X).partial_fit(X)
        other.partial_fit(home).partial_fit(home)
        assert_allclose(other.cluster_centers_, same.cluster_centers_, rtol=1e-12)
    with threads(7):
        again = KMeans(3, random_state=1).partial_fit(X).partial_fit(X)
    assert again.cluster_centers_.tobytes() == first.cluster_centers_.tobytes()
    kept = X.copy()
    KMeans(3).partial_fit(kept)
    assert_array_equal(kept, X)


def test_a_stream_ends_near_the_fit_of_all_rows():
    X = blobs(6000, 5, 6, seed=4)
    whole = KMeans(6, n_init=3, prove=False).fit(X)
    model = KMeans(6)
    for batch in np.array_split(X, 30):
        model.partial_fit(batch)
    peer = MiniBatchKMeans(6, random_state=0, n_init=1)
    for batch in np.array_split(X, 30):
        peer.partial_fit(batch)
    assert -model.score(X) <= 1.05 * whole.inertia_
    assert -model.score(X) <= 1.05 * -peer.score(X)


def test_centres_without_rows_wait_for_some():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 5, axis=0)
    model = KMeans(4).partial_fit(X)
    assert model.cluster_centers_.shape == (4, 2) and (model.counts_ == 0.0).sum() == 2
    model.partial_fit([[9.0, 9.0], [9.0, 9.2], [-9.0, 3.0], [0.0, 0.0]])
    assert (model.counts_ > 0.0).all() and model.n_reseeds_ == 2
    assert len(np.unique(model.predict([[0.0, 0.0], [1.0, 1.0], [9.0, 9.1], [-9.0, 3.0]]))) == 4


@pytest.mark.parametrize("scale", [1e150, 1e-150])
def test_no_scale_breaks_a_stream(scale):
    X = blobs(200)
    plain, large = KMeans(4, init=X[:4]), KMeans(4, init=scale * X[:4])
    for part in np.array_split(np.arange(200), 4):
        plain.partial_fit(X[part])
        large.partial_fit(scale * X[part])
    assert_allclose(large.cluster_centers_ / scale, plain.cluster_centers_, rtol=1e-9)


def test_a_stream_is_kept_in_a_model_file_and_can_be_certified(tmp_path):
    X = blobs(300)
    model = KMeans(4).partial_fit(X[:150])
    save(model, tmp_path / "m.fen")
    loaded = load(tmp_path / "m.fen").partial_fit(X[150:])
    model.partial_fit(X[150:])
    assert_array_equal(loaded.cluster_centers_, model.cluster_centers_)
    proof = certify(model, X)
    assert proof.kind in ("sdp", "exact") and 0.0 < proof.bound <= proof.value


def test_faults_of_a_stream_are_named():
    X = blobs(50)
    with pytest.raises(ValueError, match="n_samples=2 should be >= n_clusters=4: lower"):
        KMeans(4).partial_fit(X[:2])
    model = KMeans(4).partial_fit(X)
    with pytest.raises(ValueError, match="expecting 3 features"):
        model.partial_fit(X[:, :2])
    with pytest.raises(ValueError, match="all sample_weight are zero"):
        model.partial_fit(X, sample_weight=np.zeros(50))
    with pytest.raises(ValueError, match=r"NaN .* at row 0, column 1"):
        model.partial_fit(np.array([[0.0, np.nan, 1.0]]))


def test_the_number_of_clusters_is_found():
    X = blobs(200, 2, 4, seed=3, spread=12.0)
    model = KMeans("auto").fit(X)
    assert model.n_clusters_ == 4 == len(model.cluster_centers_)
    assert model.get_feature_names_out().tolist() == [f"kmeans{j}" for j in range(4)]
    assert KMeans("auto").partial_fit(X).n_clusters_ == 4
    one = KMeans("auto").fit(np.random.default_rng(0).normal(size=(150, 2)))
    assert one.n_clusters_ == 1
    with pytest.raises(ValueError, match="n_clusters='auto' needs a named init"):
        KMeans("auto", init=X[:3]).fit(X)
    few = KMeans("auto").fit(X[:3])
    assert few.n_clusters_ == 1


def test_plain_seeding_draws_one_row_for_each_centre():
    X = blobs(500, 2, 6)
    greedy, plain = (KMeans(6, init=init, max_iter=1, tol=0.0).fit(X).history_[0].value
                     for init in ("k-means++", "plain-k-means++"))  # fmt: skip
    assert plain != greedy
    seeds = [kmeans_plus_plus(X, None, 6, np.random.default_rng(i), 1) for i in range(400)]
    optimum = KMeans(6, n_init=20, prove=False).fit(X).inertia_
    # The theorem: at most 8 (2 + ln k) times the optimum in expectation.
    costs = [assign(X, C)[1].sum() for C in seeds]
    assert optimum <= np.mean(costs) <= 8.0 * (2.0 + np.log(6)) * optimum
    better = [
        assign(X, kmeans_plus_plus(X, None, 6, np.random.default_rng(i)))[1].sum()
        for i in range(100)
    ]
    assert np.mean(better) < np.mean(costs)
    for home in (X, sp.csr_array(X)):
        model = KMeans(6, init="plain-k-means++", n_init=5).fit(home)
        assert len(model.start_values_) == 5 and model.inertia_ <= 1.5 * optimum


@pytest.mark.parametrize("make", [lambda: KMeans(2), lambda: KMeans(2, prove="auto")])
def test_bad_tables(make):
    X = blobs(40)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        constant = make().fit(np.full((9, 3), 0.1))
    assert constant.inertia_ == 0.0 and constant.cluster_centers_.shape == (1, 3)
    assert constant.certificate_.kind == "exact"
    assert [one.category for one in caught] == [ConvergenceWarning]
    column = make().fit(X[:, :1])
    assert column.cluster_centers_.shape == (2, 1) and column.certificate_.bound <= column.inertia_
    with pytest.raises(ValueError, match="Expected a table of two dimensions"):
        make().fit(X[:, 0])
    # A target is none of a clusterer's business: it changes nothing, whatever it holds.
    target = np.array(["a", None] * 20, dtype=object)
    assert_array_equal(make().fit(X, target).labels_, make().fit(X).labels_)
    with pytest.raises(ValueError, match="'n_clusters' parameter"):
        make().set_params(n_clusters=-1).fit(X)
    with pytest.raises(ValueError, match="'n_clusters' parameter"):
        make().set_params(n_clusters="many").fit(X)


def test_the_tree_of_divisions_is_certified_by_the_relaxation_too():
    X = load_iris().data
    model = BisectingKMeans(4).fit(X)
    proof = certify(model, X)
    assert proof.kind == "sdp" and proof.bound > model.certificate_.bound
    assert proof.bound <= KMeans(4, n_init=10).fit(X).inertia_ <= proof.value
