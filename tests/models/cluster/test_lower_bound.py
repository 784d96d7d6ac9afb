"""`kmeans_lower_bound` against all partitions and optima on a line: never above, not far below."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.cluster import line_optimum, optimum
from sklearn.datasets import load_iris, load_wine

from fenchel import KMeans, certify, kmeans_lower_bound, load, save, scan, threads
from fenchel.convex.certificate import Certificate
from fenchel.models.cluster.bounds.best import FoundBound
from fenchel.models.cluster.bounds.parts import (
    LabelledRows,
    RelaxationEffort,
    parts_bound,
    parts_of,
)


def blobs(n=300, d=3, k=4, seed=0, spread=10.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + spread * rng.normal(size=(k, d))[rng.integers(0, k, n)]


@settings(max_examples=80, deadline=None)
@given(
    n=st.integers(3, 8), d=st.integers(1, 3), k=st.integers(1, 4), seed=st.integers(0, 2**20),
    kind=st.sampled_from(["plain", "whole", "repeated", "line", "apart"]),
    offset=st.sampled_from([0.0, 1e3, 1e8]), scale=st.sampled_from([1.0, 1.0, 1e150, 1e-150]),
    weights=st.sampled_from(["none", "whole", "wild", "some zero"]), single=st.booleans(),
    forced=st.booleans(),
)  # fmt: skip
def test_no_bound_is_above_the_optimum(n, d, k, seed, kind, offset, scale, weights, single, forced):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X = {
        "plain": X,
        "whole": np.round(2.0 * X),
        "repeated": X[rng.integers(0, max(n // 2, 1), n)],
        "line": X[:, :1] * np.ones(d),
        "apart": 0.01 * X + 4.0 * rng.normal(size=(k, d))[rng.integers(0, k, n)],
    }[kind]
    X = (X + offset) * scale
    if single and scale == 1.0:
        X = X.astype(np.float32)
    weight = {
        "none": None,
        "whole": rng.integers(1, 5, n).astype(float),
        "wild": 10.0 ** rng.uniform(-8, 8, n),
        "some zero": np.append(1.0, rng.integers(0, 3, n - 1)),
    }[weights]
    k = min(k, n)
    best, _ = optimum(X, k, weight)
    effort = {"sample_size": max(k + 1, 3), "samples": 2} if forced and k + 1 <= n else {}
    found = kmeans_lower_bound(X, k, sample_weight=weight, **effort)
    assert Fraction(found.bound) <= best
    assert found.bound <= found.value and found.value >= float(best) * (1.0 - 1e-9)
    if found.kind == "exact" and best:
        assert abs(Fraction(found.value) / best - 1) <= 1e-9


@settings(max_examples=60, deadline=None)
@given(n=st.integers(4, 8), k=st.integers(2, 3), seed=st.integers(0, 2**20), spread=st.floats(0, 8))
def test_no_other_clustering_is_called_the_best(n, k, seed, spread):
    """From centres of any partition: kind "exact" is for the optimum alone."""
    rng = np.random.default_rng(seed)
    X = 0.3 * rng.normal(size=(n, 2)) + spread * rng.normal(size=(k, 2))[rng.integers(0, k, n)]
    if seed % 3 == 0:
        X = np.round(X)
    labels = np.append(np.arange(k), rng.integers(0, k, n - k))
    C = np.array([X[labels == j].mean(axis=0) for j in range(k)])
    best, _ = optimum(X, k)
    found = kmeans_lower_bound(X, k, centers=C)
    assert Fraction(found.bound) <= best
    if found.kind == "exact":
        assert found.value <= float(best) * (1.0 + 1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("scale", [1.0, 1e150, 1e-150])
@pytest.mark.parametrize("weighted", [False, True])
def test_clusters_far_apart_are_proved_to_be_the_best(offset, scale, weighted):
    X = (blobs(400, seed=3, spread=20.0) + offset) * scale
    weight = np.random.default_rng(0).uniform(0.2, 3.0, 400) if weighted else None
    found = kmeans_lower_bound(X, 4, sample_weight=weight)
    assert found.kind == "exact" and found.confidence == 1.0
    assert found.bound <= found.value <= found.bound * (1.0 + 1e-9)
    assert found.words() == "which is the best possible"
    model = KMeans(4, prove="auto", n_init=4).fit(X, sample_weight=weight)
    assert model.certificate_.kind == "exact" and model.certificate_.relative_gap <= 1e-9
    # One cluster more has none of the gaps that such a proof needs.
    other = kmeans_lower_bound(X, 5, sample_weight=weight)
    assert other.kind == "sdp" and 0.85 * other.value < other.bound < other.value


def test_clusters_in_single_precision_are_proved_to_be_the_best():
    X = blobs(200, seed=3, spread=20.0).astype(np.float32)
    model = KMeans(4, prove="auto").fit(X)
    assert model.certificate_.kind == "exact" and model.certificate_.relative_gap <= 1e-9


@pytest.mark.parametrize("forced", [{}, {"sample_size": 40}, {"sample_size": 30, "samples": 8}])
@pytest.mark.parametrize("weighted", [False, True])
def test_bounds_on_a_line_are_below_its_optimum_and_near(forced, weighted):
    rng = np.random.default_rng(7)
    x = np.concatenate([rng.normal(c, 1.0, 100) for c in (0.0, 4.0, 9.0)])
    weight = rng.integers(1, 4, 300) if weighted else None
    for k in (2, 3, 5):
        best = line_optimum(x, k, weight)
        found = kmeans_lower_bound(x[:, None], k, sample_weight=weight, **forced)
        assert found.bound <= best * (1.0 + 1e-12) and found.value >= best * (1.0 - 1e-12)
        # The relaxation itself is 20 % below for 5 clusters where there are 3; few samples say
        # little.
        least = {2: 0.92, 3: 0.97, 5: 0.75}[k] * (1.0 if not forced else 0.85)
        least = 0.1 if "samples" in forced else least
        assert found.bound >= least * best
        assert (found.confidence == 0.99) == ("random samples" in found.method)


def test_parts_are_disjoint_and_alike():
    X = blobs(1003, 5, 4)
    labels = KMeans(4, prove=False).fit(X).labels_
    rows = LabelledRows(X, None, labels)
    parts = parts_of(rows, 100)
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(1003))
    assert len(parts) == 11 and max(map(len, parts)) <= 100
    shares = np.array([np.bincount(labels[part], minlength=4) / len(part) for part in parts])
    assert np.ptp(shares, axis=0).max() <= 0.03
    even = parts_bound(rows, 4, 100, RelaxationEffort())[0]
    drawn = np.random.default_rng(0).permutation(1003)
    anyhow = sum(
        parts_bound(rows.at(drawn[i::11]), 4, 100, RelaxationEffort())[0] for i in range(11)
    )  # fmt: skip
    assert even > anyhow
    assert even <= KMeans(4, n_init=5, prove=False).fit(X).inertia_


def test_same_bits_for_any_threads():
    X = blobs(900, 3, 5, spread=2.0)
    seen = []
    for count in (1, 2, 16):
        with threads(count):
            found = [kmeans_lower_bound(X, 5, sample_size=60, samples=n) for n in (20, 10)]
        seen.append([one.bound for one in found])
    assert seen[0] == seen[1] == seen[2]


@pytest.mark.torch
def test_homes_agree(tmp_path):
    torch = pytest.importorskip("torch")
    X = load_iris().data
    path = tmp_path / "iris.csv"
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.to_csv(path, index=False)
    C = KMeans(3, n_init=5).fit(X).cluster_centers_
    homes = [X, np.asfortranarray(X), frame, sp.csr_array(X), torch.from_numpy(X.copy())]
    homes += [scan(path)]
    for effort in ({}, {"sample_size": 40}, {"sample_size": 30, "samples": 3}):
        found = [kmeans_lower_bound(home, 3, centers=C, **effort) for home in homes]
        for one in found[1:]:
            assert one.method == found[0].method
            assert one.bound == pytest.approx(found[0].bound, rel=1e-6)
    kept = X.copy()
    kmeans_lower_bound(kept, 3)
    assert np.array_equal(kept, X)


def test_weights_of_whole_numbers_are_repeated_rows_and_of_zero_none():
    X = blobs(60, 2, 3, spread=2.0)
    weight = np.random.default_rng(0).integers(0, 4, 60)
    C = KMeans(3, n_init=5).fit(X, sample_weight=weight).cluster_centers_
    a = kmeans_lower_bound(X, 3, sample_weight=weight, centers=C)
    b = kmeans_lower_bound(X[weight > 0], 3, sample_weight=weight[weight > 0], centers=C)
    c = kmeans_lower_bound(np.repeat(X, weight, axis=0), 3, centers=C)
    assert a.bound == b.bound and a.value == b.value
    assert a.value == pytest.approx(c.value) and a.bound == pytest.approx(c.bound, rel=1e-2)


def test_the_relaxation_is_far_above_the_spectrum():
    for X, k, least in ((load_iris().data, 3, 0.95), (load_iris().data, 8, 0.85)):
        relaxed, spectral = (kmeans_lower_bound(X, k, method) for method in ("sdp", "spectral"))
        assert relaxed.bound >= least * relaxed.value and spectral.bound < 0.2 * relaxed.value
        assert math.isnan(spectral.value) and math.isnan(spectral.excess)
    X = load_wine().data
    with_value = kmeans_lower_bound(X, 3, "spectral", centers=KMeans(3).fit(X).cluster_centers_)
    assert with_value.kind == "spectral" and with_value.excess > 0.0


def test_one_cluster_few_rows_and_constant_ones():
    X = load_iris().data
    one = kmeans_lower_bound(X, 1)
    assert one.excess <= 1e-9 and "1 centre costs at least" in str(one)
    for rows, k in ((np.full((7, 2), 3.0), 2), (X[:3], 3), (np.repeat(X[:2], 5, axis=0), 4)):
        none = kmeans_lower_bound(rows, k)
        assert (none.bound, none.value, none.kind) == (0.0, 0.0, "exact") and none.excess == 0.0
    line = kmeans_lower_bound(X[:, :1], 2)
    assert line.bound <= line_optimum(X[:, 0], 2)


def test_a_result_is_a_table_that_hides_no_confidence():
    sure = kmeans_lower_bound(load_iris().data, 3)
    assert sure.to_frame("pandas").shape == (1, 6) and "confidence" not in str(sure)
    assert str(sure) in sure.caption() and sure.certificate.kind == "sdp"
    drawn = FoundBound(9.0, "sdp", 0.99).certificate(10.0, 0)
    assert "optimum at least 9 (with confidence 99 %)" in str(drawn)
    assert "(with confidence 99 %)" in drawn.reached() and drawn.columns()["confidence"] == [0.99]
    both = drawn + Certificate(1.0, 1.0, "exact")
    assert both.confidence == 0.99 and (drawn + drawn).confidence == pytest.approx(0.98)
    assert drawn.scaled(2.0).confidence == 0.99 and drawn.excess == pytest.approx(1.0 / 9.0)
    X = blobs(2000, 2, 5, spread=1.0)
    found = kmeans_lower_bound(X, 7, sample_size=40, samples=30)
    assert found.confidence == 0.99 and "(with confidence 99 %)" in str(found)
    assert found.columns()["confidence"] == [0.99]


def test_kmeans_proves_as_it_is_asked(tmp_path):
    X = load_wine().data
    asked = (True, "spectral", "auto", "sdp", False)
    plain, spectral, auto, sdp, none = (KMeans(3, n_init=4, prove=how).fit(X) for how in asked)
    assert plain.certificate_.bound == spectral.certificate_.bound
    assert plain.certificate_.kind == "spectral" and none.certificate_.bound == 0.0
    for model in (auto, sdp):
        proof = model.certificate_
        assert proof.kind == "sdp" and proof.value == model.inertia_ == plain.inertia_
        assert plain.certificate_.bound < proof.bound <= proof.value
        again = certify(model, X)
        assert again.value == pytest.approx(proof.value) and again.bound > 0.9 * proof.bound
    assert certify(plain, X).bound > plain.certificate_.bound
    # A bound with a confidence lives on in a file, in the history too.
    sdp.certificate_ = Certificate(2.0, 1.0, "sdp", confidence=0.99)
    sdp.history_ = (*sdp.history_[:-1], sdp.certificate_)
    save(sdp, tmp_path / "m.fen")
    loaded = load(tmp_path / "m.fen")
    assert loaded.certificate_ == sdp.certificate_ and loaded.history_ == sdp.history_


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda X: kmeans_lower_bound(X, 0), "k must be a whole number, 1 or more"),
        (lambda X: kmeans_lower_bound(X, True), "k must be a whole number"),
        (lambda X: kmeans_lower_bound(X, 151), "n_samples=150 should be >= k=151: lower k"),
        (lambda X: kmeans_lower_bound(X, 3, "best"), "method must be one of spectral, sdp"),
        (lambda X: kmeans_lower_bound(X, 3, confidence=1.0), "confidence must lie between 0 and 1"),
        (lambda X: kmeans_lower_bound(X, 3, sample_size=3), "above k=3 and at most 600, got 3"),
        (lambda X: kmeans_lower_bound(X, 3, samples=0), "samples must be a whole number"),
        (lambda X: kmeans_lower_bound(X, 3, centers=X[:2]), "centers must be of shape"),
        (lambda X: kmeans_lower_bound(X, 1, centers=[[np.nan] * 4]), "centers must be finite"),
        (lambda X: kmeans_lower_bound(np.where(X > 7.0, np.nan, X), 2), "NaN"),
        (lambda X: kmeans_lower_bound(X, 2, sample_weight=-np.ones(150)), "weight"),
    ],
)
def test_faults_are_named(call, said):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=said):
            call(load_iris().data)
