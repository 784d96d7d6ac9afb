"""Bisecting k-means: the tree, its levels and thresholds, homes, weights, hazards, the proof."""

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
from oracles.cluster import optimum
from oracles.geometry import squared_distances
from sklearn.cluster import BisectingKMeans as Peer
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning

import fenchel.models.cluster.division as division
from fenchel import BisectingKMeans, certify, scan, threads


@pytest.fixture(scope="module")
def iris():
    return load_iris().data


def walk_down(model, x):
    """The cluster of a row, by the definition of the tree."""
    tree, node = model.tree_, 0
    while tree.parts[node, 0] >= 0:
        left, right = tree.parts[node]
        near = squared_distances(x[None], tree.centers[[left, right]])[0]
        node = right if near[1] < near[0] else left
    return tree.leaves().tolist().index(node)


@pytest.mark.parametrize("strategy", ["biggest_inertia", "largest_cluster", "biggest_gain"])
def test_the_tree_says_what_the_attributes_say(iris, strategy):
    model = BisectingKMeans(6, bisecting_strategy=strategy).fit(iris)
    tree = model.tree_
    assert_array_equal(model.labels_, [walk_down(model, x) for x in iris])
    assert_array_equal(model.predict(iris), model.labels_)
    assert_array_equal(model.cluster_centers_, tree.centers[tree.leaves()])
    J = ((iris - model.cluster_centers_[model.labels_]) ** 2).sum()
    assert_allclose(model.inertia_, J)
    assert_allclose(model.score(iris), -J)
    assert_array_equal(np.bincount(model.labels_), tree.mass[tree.leaves()])
    for step, node in enumerate(tree.divided):
        both = tree.mass[2 * step + 1 : 2 * step + 3]
        assert both.sum() == tree.mass[node] and both[0] >= both[1]
    whole = iris - iris.mean(axis=0)
    assert_allclose(tree.levels()[0], (whole**2).sum())
    assert all(b <= a for a, b in pairwise(tree.levels()))


def test_every_level_is_the_fit_that_stops_there(iris):
    model = BisectingKMeans(7).fit(iris)
    for k in range(1, 8):
        level, other = model.cut(k), BisectingKMeans(k).fit(iris)
        assert_array_equal(level.labels_, other.labels_)
        assert_array_equal(level.cluster_centers_, other.cluster_centers_)
        assert_array_equal(level.predict(iris), other.labels_)
        assert level.n_clusters_ == k and level.inertia_ == other.inertia_
        assert_allclose(level.certificate_.bound, other.certificate_.bound, rtol=1e-12)
        # each cluster lies in one of the coarser level's
        pairs = np.unique(np.stack([model.labels_, level.labels_]), axis=1)
        assert pairs.shape[1] == 7
    assert model.n_clusters_ == 7
    with pytest.raises(ValueError, match="between 1 and the tree's 7 clusters: fit with a larger"):
        model.cut(8)


def test_stops_where_no_division_gains_enough(iris):
    for strategy in ("biggest_inertia", "largest_cluster", "biggest_gain"):
        model = BisectingKMeans(min_gain=0.03, bisecting_strategy=strategy).fit(iris)
        total = model.tree_.inertia[0]
        assert (model.tree_.columns()["gain"] >= 0.03 * total).all()
        assert 1 < model.n_clusters_ < 10
        # every leaf was tried: the same clusters, whatever the order
        J = model.inertia_
        assert_allclose(J, BisectingKMeans(min_gain=0.03).fit(iris).inertia_)
    assert BisectingKMeans(min_gain=1.0).fit(iris).n_clusters_ == 1
    assert BisectingKMeans(4, min_gain=0.5).fit(iris).n_clusters_ == 2
    assert BisectingKMeans().fit(iris).n_clusters_ <= 100


def test_no_worse_than_scikit_learn():
    X = load_digits().data
    ours = [BisectingKMeans(10, random_state=seed).fit(X).inertia_ for seed in range(5)]
    theirs = [Peer(10, random_state=seed).fit(X).inertia_ for seed in range(5)]
    assert np.median(ours) <= 1.01 * np.median(theirs)


@settings(max_examples=20, deadline=None)
@given(
    n=st.integers(3, 8), d=st.integers(1, 3), k=st.integers(1, 4), seed=st.integers(0, 2**20),
    offset=st.sampled_from([0.0, 1e8]), weighted=st.booleans(), ties=st.booleans(),
)  # fmt: skip
def test_no_bound_of_any_level_is_above_the_optimum(n, d, k, seed, offset, weighted, ties):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 + offset
    X = np.round(X) if ties else X
    weight = rng.integers(1, 4, n).astype(float) if weighted else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = BisectingKMeans(min(k, n)).fit(X, sample_weight=weight)
    for level, proof in enumerate(model.history_, start=1):
        best = float(optimum(X, level, weight)[0])
        assert proof.bound <= best <= proof.value * (1.0 + 1e-9) + 1e-12
        if proof.kind == "exact":
            assert best == 0.0 == proof.value
    assert certify(model, X, sample_weight=weight).bound <= best


@pytest.mark.torch
def test_homes_agree(iris, tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    model = BisectingKMeans(5, tol=0.0).fit(iris)
    path = tmp_path / "iris.csv"
    frame = pd.DataFrame(iris, columns=list("abcd"))
    frame.to_csv(path, index=False)
    homes = [
        np.asfortranarray(iris), frame, sp.csr_array(iris), sp.csc_matrix(iris),
        torch.from_numpy(iris.copy()), scan(path),
    ]  # fmt: skip
    for home in homes:
        other = BisectingKMeans(5, tol=0.0).fit(home)
        assert_array_equal(np.asarray(other.labels_), model.labels_)
        assert_allclose(np.asarray(other.cluster_centers_), model.cluster_centers_, rtol=1e-12)
        assert_allclose(other.inertia_, model.inertia_, rtol=1e-12)
        assert_array_equal(np.asarray(other.predict(home)), model.labels_)
    monkeypatch.setattr(division, "HELD", 4000)  # the root and its heavier part stay in the file
    passed = BisectingKMeans(5, tol=0.0).fit(scan(path))
    assert_allclose(passed.inertia_, model.inertia_, rtol=0.1)
    assert_array_equal(passed.predict(scan(path)), passed.labels_)
    weight = np.repeat([1.0, 2.0, 0.0], 50)
    some = BisectingKMeans(3, tol=0.0).fit(scan(path), sample_weight=weight)
    assert some.tree_.mass[0] == 150.0
    assert_allclose(some.inertia_, -some.score(scan(path), sample_weight=weight))


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_a_weight_is_that_many_rows_and_order_is_nothing(iris, init):
    rng = np.random.default_rng(0)
    weight = rng.integers(0, 4, 150)
    order = rng.permutation(150)
    a = BisectingKMeans(5, init=init).fit(iris[order], sample_weight=weight[order])
    b = BisectingKMeans(5, init=init).fit(np.repeat(iris, weight, axis=0))
    assert_array_equal(a.predict(iris), b.predict(iris))
    assert_allclose(a.cluster_centers_, b.cluster_centers_, rtol=1e-12)
    assert_allclose(a.inertia_, b.inertia_)


def test_same_bits_for_any_threads_and_float32():
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((5000, 12)) + 6.0 * rng.integers(0, 3, (5000, 1))).astype(np.float32)
    seen = []
    for count in (1, 2, 16):
        with threads(count):
            model = BisectingKMeans(9, random_state=5).fit(X)
        seen.append((model.cluster_centers_.tobytes(), model.labels_.tobytes(), model.inertia_))
    assert seen[0] == seen[1] == seen[2]
    assert model.cluster_centers_.dtype == np.float32 and model.labels_.dtype == np.int32
    assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("distinct", [1, 3, 5])
def test_few_distinct_rows(distinct):
    rng = np.random.default_rng(0)
    points = rng.standard_normal((distinct, 3)) / 3.0
    X = points[np.concatenate([np.arange(distinct), rng.integers(0, distinct, 40)])]
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        model = BisectingKMeans(distinct + 1).fit(X)
    assert model.n_clusters_ == distinct and model.inertia_ == 0.0
    assert (model.cluster_centers_[model.labels_] == X).all()
    assert model.certificate_.kind == "exact"


@pytest.mark.parametrize("scale", [2.0**500, 2.0**-500, 2.0**1000])
def test_no_scale_breaks_it(iris, scale):
    model = BisectingKMeans(3).fit(iris * scale)
    assert_array_equal(model.labels_, BisectingKMeans(3).fit(iris).labels_)
    assert_array_equal(model.predict(iris * scale), model.labels_)
    assert model.certificate_.bound <= model.certificate_.value


def test_refusals(iris):
    with pytest.raises(ValueError, match=r"n_samples=150 should be >= n_clusters=151: lower"):
        BisectingKMeans(151).fit(iris)
    with pytest.raises(ValueError, match="min_gain=0 divides until every row is a cluster: give"):
        BisectingKMeans(min_gain=0).fit(iris)
    bad = iris.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN .* at row 3, column 1"):
        BisectingKMeans(3).fit(bad)
    with pytest.raises(ValueError, match="all sample_weight are zero"):
        BisectingKMeans(3).fit(iris, sample_weight=np.zeros(150))
