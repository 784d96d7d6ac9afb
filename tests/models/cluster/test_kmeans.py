"""k-means: fixed points, descent, homes of the data, weights, hazards and the certificate."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles.cluster import assign, lloyd, optimum
from sklearn.cluster import KMeans as Peer
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning

from fenchel import KMeans, certify, scan, threads


@pytest.fixture(scope="module")
def iris():
    return load_iris().data


def blobs(n=300, d=4, k=5, seed=0, spread=6.0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) + spread * rng.standard_normal((k, d))[rng.integers(0, k, n)]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("tol", [0.0, 1e-4])
def test_same_answer_as_scikit_learn_from_the_same_start(dtype, tol):
    for X, k in ((load_iris().data, 3), (load_digits().data, 10)):
        X = X.astype(dtype)
        C = X[np.random.default_rng(1).choice(len(X), k, replace=False)]
        ours = KMeans(k, init=C, tol=tol).fit(X)
        # In float64, whose means are right: in float32 theirs depend on the threads of BLAS, and
        # 5/178 came out as 0.0280743.
        theirs = Peer(k, init=C.astype(np.float64), n_init=1, tol=tol).fit(X.astype(np.float64))
        assert_allclose(ours.inertia_, theirs.inertia_, rtol=1e-6)
        assert_array_equal(ours.labels_, theirs.labels_)
        assert_allclose(ours.cluster_centers_, theirs.cluster_centers_, rtol=1e-6, atol=1e-7)
        assert abs(ours.n_iter_ - theirs.n_iter_) <= 1
        assert ours.cluster_centers_.dtype == dtype and ours.labels_.dtype == np.int32


def test_the_walk_is_that_of_the_definition(iris):
    C = iris[[0, 1, 2, 60, 120]]
    model = KMeans(5, init=C, tol=0.0).fit(iris)
    values, _ = lloyd(iris, C, len(model.history_))
    assert_allclose([one.value for one in model.history_], values, rtol=1e-12)
    assert model.converged_ and all(b <= a * (1 + 1e-13) for a, b in pairwise(values))
    labels, squares = assign(iris, model.cluster_centers_)
    assert_array_equal(model.labels_, labels)
    assert_allclose(model.inertia_, squares.sum(), rtol=1e-14)
    means = [iris[labels == j].mean(axis=0) for j in range(5)]
    assert_allclose(model.cluster_centers_, means, rtol=1e-14)  # a fixed point


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(3, 8), d=st.integers(1, 3), k=st.integers(1, 4), seed=st.integers(0, 2**20),
    offset=st.sampled_from([0.0, 1e8]), weighted=st.booleans(), ties=st.booleans(),
)  # fmt: skip
def test_no_bound_is_above_the_optimum(n, d, k, seed, offset, weighted, ties):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 + offset
    X = np.round(X) if ties else X
    weight = rng.integers(1, 4, n).astype(float) if weighted else None
    k = min(k, n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = KMeans(k, n_init=3).fit(X, sample_weight=weight)
    best = float(optimum(X, k, weight)[0])
    proof = model.certificate_
    assert proof.bound <= best
    assert proof.value >= best * (1.0 - 1e-9) - 1e-12
    if proof.kind == "exact":
        assert best == 0.0 == proof.value
    assert certify(model, X, sample_weight=weight).bound <= best


@pytest.mark.torch
def test_homes_agree(iris, tmp_path):
    torch = pytest.importorskip("torch")
    C = iris[[3, 70, 130]]
    model = KMeans(3, init=C, tol=0.0).fit(iris)
    path = tmp_path / "iris.csv"
    frame = pd.DataFrame(iris, columns=list("abcd"))
    frame.to_csv(path, index=False)
    homes = [
        np.asfortranarray(iris), frame, sp.csr_array(iris), sp.csc_matrix(iris),
        torch.from_numpy(iris.copy()), scan(path),
    ]  # fmt: skip
    for home in homes:
        other = KMeans(3, init=C, tol=0.0).fit(home)
        assert_array_equal(np.asarray(other.labels_), model.labels_)
        assert_allclose(np.asarray(other.cluster_centers_), model.cluster_centers_, rtol=1e-12)
        assert_allclose(other.inertia_, model.inertia_, rtol=1e-12)
        assert_allclose(other.certificate_.bound, model.certificate_.bound, rtol=1e-9)
        assert_array_equal(np.asarray(other.predict(home)), model.labels_)
        assert_allclose(np.asarray(other.transform(home)), model.transform(iris), atol=1e-12)
        assert_allclose(other.score(home), -model.inertia_, rtol=1e-12)
    assert isinstance(homes[4], torch.Tensor) and torch.is_tensor(model.predict(homes[4]))


@pytest.mark.torch
@pytest.mark.parametrize("init", ["k-means++", "k-means||", "random"])
def test_every_start_from_every_home(iris, init, tmp_path):
    torch = pytest.importorskip("torch")
    path = tmp_path / "iris.csv"
    pd.DataFrame(iris, columns=list("abcd")).to_csv(path, index=False)
    for home in (iris, sp.csr_array(iris), scan(path), torch.from_numpy(iris.copy())):
        model = KMeans(3, init=init, n_init=6, random_state=3).fit(home)
        assert model.inertia_ < 80.0
        again = KMeans(3, init=init, n_init=6, random_state=3).fit(home)
        assert again.cluster_centers_.tobytes() == model.cluster_centers_.tobytes()


@pytest.mark.parametrize("init", ["k-means++", "k-means||", "random"])
def test_a_weight_is_that_many_rows_and_order_is_nothing(init):
    X = blobs(60)
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 4, 60)
    order = rng.permutation(60)
    a = KMeans(5, init=init).fit(X[order], sample_weight=weight[order])
    b = KMeans(5, init=init).fit(np.repeat(X, weight, axis=0))
    assert_array_equal(a.predict(X), b.predict(X))
    assert_allclose(a.cluster_centers_, b.cluster_centers_, rtol=1e-12)
    assert_allclose(a.inertia_, b.inertia_)
    assert_allclose(a.certificate_.bound, b.certificate_.bound)
    assert_allclose(a.score(X, sample_weight=weight), -a.inertia_)


def test_same_bits_for_any_threads():
    X = blobs(5000, 12, 8).astype(np.float32)
    seen = []
    for count in (1, 2, 16):
        with threads(count):
            model = KMeans(9, random_state=5).fit(X)
        seen.append((model.cluster_centers_.tobytes(), model.labels_.tobytes(), model.inertia_))
    assert seen[0] == seen[1] == seen[2]


@pytest.mark.parametrize("home", [np.asarray, sp.csr_array])
def test_empty_centres_teleport_and_never_raise_the_objective(home):
    X = blobs(200, 3, 6, spread=20.0)
    C = np.concatenate([X[:2], np.full((4, 3), 1e3) + np.arange(4)[:, None]])
    model = KMeans(6, init=C, tol=0.0).fit(home(X))
    assert model.n_reseeds_ >= 4 and len(np.unique(model.labels_)) == 6
    values = [one.value for one in model.history_]
    assert all(b <= a * (1.0 + 1e-12) for a, b in pairwise(values))
    assert model.converged_


@pytest.mark.parametrize("home", [np.asarray, sp.csr_array])
def test_empty_centres_are_dropped_on_request(home):
    X = blobs(200, 3, 6, spread=20.0)
    C = np.concatenate([X[:3], np.full((4, 3), 1e3) + np.arange(4)[:, None]])[[3, 0, 4, 1, 2, 5, 6]]
    model = KMeans(7, init=C, tol=0.0, empty="drop").fit(home(X))
    plain = KMeans(3, init=X[:3], tol=0.0).fit(X)
    assert model.cluster_centers_.shape == (3, 3) and model.n_reseeds_ == 0
    assert_array_equal(model.labels_, plain.labels_)
    assert_allclose(model.cluster_centers_, plain.cluster_centers_)


@pytest.mark.parametrize("distinct", [1, 3, 4])
def test_few_distinct_rows_leave_nothing(distinct):
    rng = np.random.default_rng(0)
    points = rng.standard_normal((distinct, 3)) / 3.0
    X = points[np.concatenate([np.arange(distinct), rng.integers(0, distinct, 40)])]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = KMeans(4).fit(X)
    assert model.cluster_centers_.shape == (distinct, 3) and model.inertia_ == 0.0
    assert (model.cluster_centers_[model.labels_] == X).all()
    assert model.certificate_.kind == "exact" and model.certificate_.relative_gap == 0.0
    assert [w.category for w in caught] == [ConvergenceWarning] * (distinct < 4)
    assert model.transform(X).shape == (40 + distinct, distinct)


@pytest.mark.parametrize("scale", [1e150, 1e-150, 1e-310, 1e300])
def test_no_scale_breaks_it(iris, scale):
    plain = KMeans(3, init=iris[[3, 70, 130]]).fit(iris)
    model = KMeans(3, init=iris[[3, 70, 130]] * scale).fit(iris * scale)
    assert np.isfinite(model.cluster_centers_).all()
    if scale != 1e-310:
        assert_array_equal(model.labels_, plain.labels_)
    assert (np.bincount(model.labels_) > 20).all()
    assert (np.bincount(KMeans(3).fit(iris * scale).labels_) > 20).all()
    assert_array_equal(model.predict(iris * scale), model.labels_)
    assert model.certificate_.bound <= model.certificate_.value


def test_offset_and_one_feature_and_constant_columns():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.standard_normal((50, 1)), rng.standard_normal((50, 1)) + 50.0])
    model = KMeans(2).fit(X + 1e8)
    assert (model.labels_[:50] == model.labels_[0]).all() and len(set(model.labels_[50:])) == 1
    assert_allclose(model.inertia_, KMeans(2).fit(X).inertia_, rtol=1e-6)
    wide = np.column_stack([np.full(100, 7.0), X, np.zeros(100)])
    assert_allclose(KMeans(2).fit(wide).inertia_, KMeans(2).fit(X).inertia_, rtol=1e-12)


def test_refusals(iris):
    with pytest.raises(ValueError, match=r"n_samples=150 should be >= n_clusters=151: lower"):
        KMeans(151).fit(iris)
    with pytest.raises(ValueError, match=r"'n_clusters' parameter of KMeans must be .* or an int"):
        KMeans(0).fit(iris)
    bad = iris.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN .* at row 3, column 1"):
        KMeans(3).fit(bad)
    with pytest.raises(ValueError, match="does not match n_clusters=3"):
        KMeans(3, init=iris[:2]).fit(iris)
    with pytest.raises(ValueError, match="all sample_weight are zero"):
        KMeans(3).fit(iris, sample_weight=np.zeros(150))
    with pytest.warns(RuntimeWarning, match="performing only one init"):
        KMeans(3, init=iris[:3], n_init=4).fit(iris)


def test_callable_start_is_given_the_rows(iris):
    def first(X, n_clusters, random_state):
        assert X.shape == (150, 4)
        return X[random_state.permutation(150)[:n_clusters]]

    model = KMeans(3, init=first, random_state=0).fit(iris)
    assert model.inertia_ < 79.0


def test_input_is_left_alone_and_read_only_is_fine(iris):
    X = iris.copy()
    X.flags.writeable = False
    KMeans(3).fit(X)
    assert_array_equal(X, iris)
