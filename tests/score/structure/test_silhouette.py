"""Silhouettes against their definition, pair by pair, and against scikit-learn."""

from __future__ import annotations

import numpy as np
import oracles.score as oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.metrics import silhouette_samples as peer
from sklearn.metrics import silhouette_score

import fenchel
from fenchel import silhouette, silhouette_samples

IRIS = load_iris()


def drawn(n: int, d: int, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.integers(k, size=n)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([1, 2, 20]), st.booleans())
def test_they_are_what_they_say(seed, d, ties):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 25))
    X = rng.normal(size=(n, d))
    X = X[rng.integers(3, size=n)] if ties else X
    labels = rng.integers(4, size=n)
    labels[:4] = [0, 0, 1, 1]
    weight = rng.integers(0, 4, size=n)
    weight[:4] = rng.integers(1, 4, size=4)
    found = silhouette_samples(X, labels, sample_weight=weight)
    assert found == pytest.approx(oracles.silhouettes(X, labels, weight), abs=1e-12)
    assert (np.abs(found) <= 1.0).all()
    mean = silhouette(X, labels, sample_weight=weight)
    repeated = np.repeat(np.arange(n), weight)
    assert mean == pytest.approx(silhouette(X[repeated], labels[repeated]), abs=1e-12)


@pytest.mark.parametrize("shape", [(300, 3, 4), (300, 40, 150), (2500, 5, 7)])
def test_it_agrees_with_the_peer(shape):
    X, labels = drawn(*shape)
    assert silhouette_samples(X, labels) == pytest.approx(peer(X, labels), abs=1e-12)
    assert silhouette(X, labels) == pytest.approx(silhouette_score(X, labels), abs=1e-12)


@pytest.mark.parametrize("d", [3, 30])
@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1e150, 1e300])
def test_no_scale_changes_them(scale, d):
    X, labels = drawn(200, d, 3)
    first = silhouette_samples(X, labels)
    assert silhouette_samples(scale * X, labels) == pytest.approx(first, abs=1e-11)
    far = np.round(X * 64.0) / 64.0
    assert silhouette_samples(far + 2.0**30, labels) == pytest.approx(
        silhouette_samples(far, labels), abs=1e-12
    )
    heavy = silhouette_samples(X, labels, sample_weight=np.full(200, 1e306))
    assert heavy == pytest.approx(first, abs=0.02)


def test_any_home_any_labels_any_threads(tmp_path):
    X, codes = drawn(700, 4, 3)
    labels = np.array(["a", "b", "c"])[codes]
    first = silhouette_samples(X, codes)
    with fenchel.threads(1):
        assert np.array_equal(first, silhouette_samples(X, labels))
    np.save(tmp_path / "rows.npy", X)
    for rows in (X.tolist(), np.asfortranarray(X), fenchel.scan(tmp_path / "rows.npy")):
        assert np.array_equal(first, silhouette_samples(rows, codes))
    kept = X.copy()
    silhouette_samples(kept, codes)
    assert np.array_equal(kept, X)
    single = X.astype(np.float32)
    assert silhouette_samples(single, codes) == pytest.approx(first, abs=1e-5)
    thin = sparse.random_array((300, 50), density=0.1, rng=np.random.default_rng(0), format="csr")
    found = silhouette_samples(thin, codes[:300])
    assert found == pytest.approx(silhouette_samples(thin.toarray(), codes[:300]), abs=1e-13)
    assert silhouette_samples(1e200 * thin, codes[:300]) == pytest.approx(found, abs=1e-12)


def test_rows_that_have_no_other():
    assert silhouette_samples([[0.0], [3.0], [4.0]], [0, 1, 1])[0] == 0.0
    assert not silhouette_samples(np.eye(3), [0, 1, 2]).any()
    assert not silhouette_samples(np.ones((6, 2)), [0, 0, 0, 1, 1, 1]).any()
    # A cluster without weight is no neighbour, and its rows have silhouettes all the same.
    found = silhouette_samples([[0.0], [1.0], [1.1], [9.0]], [0, 0, 1, 2], [1.0, 1.0, 0.0, 1.0])
    assert found.round(3).tolist() == [0.889, 0.875, 0.0, 0.0]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: silhouette(IRIS.data, np.zeros(150)), "of 1: give 2 or more"),
        (lambda: silhouette(IRIS.data, IRIS.target, IRIS.target == 0), "of 1: give 2 or more"),
        (lambda: silhouette(IRIS.data, IRIS.target[:9]), "one for each of 150 rows"),
        (lambda: silhouette([[np.nan], [1.0]], [0, 1]), "NaN"),
        (lambda: silhouette([[0.0], [1.0]], [0.0, np.nan]), "labels is .*nan.* in row 1"),
    ],
)
def test_faults_are_named(call, said):
    with pytest.raises(ValueError, match=said):
        call()
