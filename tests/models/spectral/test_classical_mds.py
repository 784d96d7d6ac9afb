"""ClassicalMDS: distances come back, new rows too, in every home, at any scale."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn.manifold
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles.spectral import doubly_centred
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.utils.estimator_checks import check_estimator

import fenchel
from fenchel import ClassicalMDS, threads


def rows(n=50, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * np.linspace(3.0, 1.0, d) + 2.0


@settings(max_examples=20)
@given(
    n=st.integers(4, 30),
    d=st.integers(1, 6),
    scale=st.sampled_from([1.0, 1e-150, 1e150, 1e-6]),
    form=st.sampled_from(["rows", "distances", "squares"]),
    weighted=st.booleans(),
    seed=st.integers(0, 99),
)
def test_distances_of_rows_come_back(n, d, scale, form, weighted, seed):
    X = np.random.default_rng(seed).normal(size=(n, d))
    D = cdist(X, X)
    s = np.random.default_rng(seed).integers(1, 4, n).astype(float) if weighted else None
    given_rows = {"rows": X * scale, "distances": D * scale, "squares": (D * scale) ** 2}[form]
    if form == "squares" and scale < 1e-100:
        given_rows = D**2 * 1e-200
        scale = 1e-100
    metric = "euclidean" if form == "rows" else "precomputed"
    model = ClassicalMDS(min(n, d), metric=metric, squared=form == "squares")
    Z = model.fit(given_rows, sample_weight=s).embedding_
    assert_allclose(cdist(Z / scale, Z / scale), D, atol=1e-6)
    assert_allclose(model.transform(given_rows) / scale, Z / scale, atol=1e-7)
    assert model.certificate_.closed(1e-12) and model.converged_
    weight = np.ones(n) if s is None else s
    assert_allclose(weight @ (Z / scale), 0.0, atol=1e-9)
    assert_allclose(weight @ (Z / scale) ** 2, model.eigenvalues_ / scale / scale, atol=1e-9)


@pytest.mark.parametrize("metric", ["manhattan", "cosine", "precomputed"])
def test_is_the_decomposition_of_the_centred_squares(metric):
    X = rows()
    D = cdist(X, X, "cityblock" if metric != "cosine" else "cosine")
    A = doubly_centred(-0.5 * D**2)
    with pytest.warns(UserWarning, match="smallest eigenvalue of their centred matrix is -"):
        model = ClassicalMDS(2, metric=metric).fit(D if metric == "precomputed" else X)
    values = np.linalg.eigvalsh(A)
    assert_allclose(model.eigenvalues_, values[::-1][:2], rtol=1e-10)
    assert_allclose(model.smallest_eigenvalue_, values[0], rtol=1e-6)
    assert_allclose(model.embedding_ @ model.embedding_.T, _rank(A, 2), atol=1e-9)


def _rank(A, k):
    values, V = np.linalg.eigh(A)
    return (V[:, -k:] * values[-k:]) @ V[:, -k:].T


def test_agrees_with_scikit_learn():
    X = rows(200, 6)
    ours, theirs = ClassicalMDS(3).fit(X), sklearn.manifold.ClassicalMDS(3).fit(X)
    assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-10)
    assert_allclose(np.abs(ours.embedding_), np.abs(theirs.embedding_), atol=1e-9)


def test_many_distances_by_krylov_steps():
    X = rows(700, 4)
    D = cdist(X, X)
    model = ClassicalMDS(2, metric="precomputed").fit(D)
    assert_allclose(model.eigenvalues_, ClassicalMDS(2).fit(X).eigenvalues_, rtol=1e-9)
    assert model.certificate_.closed(1e-9)
    assert_allclose(model.transform(D[:50]), model.embedding_[:50], atol=1e-7)


@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
def test_whole_weights_are_repeated_rows(metric):
    X, s = rows(), np.arange(50) % 3
    again = np.repeat(X, s, axis=0)
    seen = X if metric == "euclidean" else cdist(X, X)
    repeated = again if metric == "euclidean" else cdist(again, again)
    weighted = ClassicalMDS(2, metric=metric).fit(seen, sample_weight=s.astype(float))
    plain = ClassicalMDS(2, metric=metric).fit(repeated)
    assert_allclose(weighted.eigenvalues_, plain.eigenvalues_, rtol=1e-10)
    at = np.repeat(np.arange(50), s)
    assert_allclose(np.abs(weighted.embedding_[at]), np.abs(plain.embedding_), atol=1e-6)
    assert fenchel.certify(weighted, seen, sample_weight=s.astype(float)).closed(1e-10)


@pytest.mark.parametrize("metric", ["euclidean", "precomputed", "manhattan"])
@pytest.mark.filterwarnings("ignore:the distances are not Euclidean")
def test_landmarks_place_all_rows(metric):
    X = rows(300)
    D = cdist(X, X, "cityblock" if metric == "manhattan" else "euclidean")
    seen = D if metric == "precomputed" else X
    model = ClassicalMDS(3, metric=metric, n_landmarks=40).fit(seen)
    assert len(model.landmarks_) == 40 and model.embedding_.shape == (300, 3)
    assert_allclose(model.transform(seen), model.embedding_, atol=1e-9)
    if metric != "manhattan":  # exact: three dimensions are spanned by the landmarks
        assert_allclose(cdist(model.embedding_, model.embedding_), D, atol=1e-7)
    assert fenchel.certify(model, seen).closed(1e-9)
    with pytest.raises(ValueError, match="n_landmarks=400 is more than the 300 rows"):
        ClassicalMDS(3, metric=metric, n_landmarks=400).fit(seen)
    with pytest.raises(ValueError, match="raise n_landmarks"):
        ClassicalMDS(3, metric=metric, n_landmarks=2).fit(seen)


def test_columns_beyond_the_rank_are_zero():
    model = ClassicalMDS(5).fit(rows())
    assert_array_equal(model.embedding_[:, 3:], 0.0)
    assert_array_equal(ClassicalMDS(2).fit(np.ones((6, 3))).embedding_, 0.0)
    with pytest.raises(ValueError, match="n_components=51"):
        ClassicalMDS(51).fit(rows())


def test_entries_that_are_no_distances_are_named():
    D = cdist(rows(6), rows(6))

    def fault(i, j, value, both=True):
        wrong = D.copy()
        wrong[i, j] = value
        if both:
            wrong[j, i] = value
        return wrong

    model = ClassicalMDS(metric="precomputed")
    with pytest.raises(ValueError, match="row 2, column 4, -1, is negative"):
        model.fit(fault(2, 4, -1.0))
    with pytest.raises(ValueError, match="row 1, column 3, 9, is not that of column and row"):
        model.fit(fault(1, 3, 9.0, both=False))
    with pytest.raises(ValueError, match="row 2, column 2, 7, is not zero"):
        model.fit(fault(2, 2, 7.0))
    with pytest.raises(ValueError, match="must be square"):
        model.fit(D[:5])
    with pytest.raises(ValueError, match="row 0 has the negative distance -1 to point 1"):
        model.fit(D).transform(fault(0, 1, -1.0)[:2])


@pytest.mark.torch
def test_same_map_in_every_home(tmp_path):
    X = np.round(rows(), 3)
    plain = ClassicalMDS().fit(X)
    np.save(tmp_path / "t.npy", X)
    torch = pytest.importorskip("torch")
    da = pytest.importorskip("dask.array")
    frame = pd.DataFrame(X, columns=list("abc"))
    homes = [csr_array(X), frame, fenchel.scan(tmp_path / "t.npy"), torch.from_numpy(X)]
    for home in [*homes, da.from_array(X, chunks=(20, 3))]:
        model = ClassicalMDS().fit(home)
        assert_allclose(np.asarray(model.embedding_), plain.embedding_, atol=1e-12)
        assert_allclose(np.asarray(model.transform(home)), plain.embedding_, atol=1e-12)
    single = ClassicalMDS().fit(X.astype(np.float32))
    assert single.embedding_.dtype == single.transform(X.astype(np.float32)).dtype == np.float32
    assert_allclose(single.embedding_, plain.embedding_, atol=1e-5)


def test_same_bits_for_any_number_of_threads_and_inputs_unchanged():
    X = rows(5000, 5)
    kept = X.copy()
    with threads(1):
        one = ClassicalMDS().fit(X).embedding_
    with threads(2):
        assert_array_equal(ClassicalMDS().fit(X).embedding_, one)
    assert_array_equal(X, kept)


@pytest.mark.filterwarnings("ignore:the distances are not Euclidean")
def test_a_model_file_keeps_metrics(tmp_path):
    for metric, params in [("minkowski", {"p": 1.5}), ("seuclidean", None), ("manhattan", None)]:
        model = ClassicalMDS(metric=metric, metric_params=params).fit(rows())
        fenchel.save(model, tmp_path / "m.fen")
        loaded = fenchel.load(tmp_path / "m.fen")
        assert_array_equal(loaded.transform(rows(9, seed=1)), model.transform(rows(9, seed=1)))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:the distances are not Euclidean")
def test_common_checks_of_given_distances():
    check_estimator(ClassicalMDS(metric="precomputed"))
