"""Estimators with kernels of strings: rows of any container, proofs, copies, refusals."""

from __future__ import annotations

import pickle
import re
import warnings

import numpy as np
import oracles.strings as oracle
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from estimators import answer
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV, cross_val_score
from test_sklearn import ESTIMATORS

import fenchel
from fenchel import certify, kernels
from fenchel.data.blocks import Block
from fenchel.data.design.kernel import KernelDesign, gram_matrix
from fenchel.data.in_memory import ArrayBlocks
from fenchel.data.intake import as_blocks
from fenchel.data.strings import string_column

KERNEL = kernels.Spectrum(3) + 0.5 * kernels.Subsequence(2)
FITTED = [
    fenchel.SVC(C=2.0),
    fenchel.SVC(C=np.inf),
    fenchel.SVC(probability=True),
    fenchel.SVR(epsilon=0.01),
    fenchel.OneClassSVM(nu=0.2),
    fenchel.KernelRidge(alpha=0.1),
    fenchel.KernelRidgeCV([0.01, 1.0]),
    fenchel.KernelLogisticRegression(C=10.0),
    fenchel.KernelFisherDiscriminant(),
    fenchel.KNeighborsClassifier(3, weights="distance"),
    fenchel.KNeighborsClassifier("auto"),
    fenchel.KNeighborsRegressor(3),
    fenchel.NearestNeighbors(n_neighbors=2),
]


def motifs(n, seed=0):
    """Sequences with one of two motifs somewhere in them, and which."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    rows = []
    for label in y:
        noise = "".join(rng.choice(list("ACGT"), rng.integers(4, 14)))
        at = int(rng.integers(0, len(noise)))
        rows.append(noise[:at] + ("TATAAT", "GGCGCC")[label] + noise[at:])
    return rows, np.array(["box", "site"])[y]


X, Y = motifs(60)
NEW, THEIRS = motifs(20, seed=1)
T = np.array([row.count("G") / len(row) for row in X])


def with_kernel(model, given=KERNEL):
    return clone(model).set_params(kernel=given)


def target(model):
    return Y if is_classifier(model) else T if is_regressor(model) else None


@pytest.mark.parametrize("model", FITTED, ids=repr)
def test_every_container_gives_the_same_answer(model):
    fitted = with_kernel(model).fit(X, target(model))
    expected = answer(fitted, NEW)
    assert fitted.n_features_in_ == 1
    for name in ("predict_proba", "decision_function", "transform", "score_samples"):
        if hasattr(fitted, name):
            assert getattr(fitted, name)(NEW).dtype == np.float64
    assert not is_regressor(model) or expected.dtype == np.float64
    held = np.empty(60, object)
    held[:] = X
    for make in (
        np.array,
        lambda v: np.array(v)[:, None],
        pd.Series,
        pl.Series,
        pa.array,
        lambda v: pl.DataFrame({"sequence": v}),
        lambda v: pd.DataFrame({"sequence": v}),
        lambda v: [one.encode() for one in v],
    ):
        rows = make(X)
        y = target(model)
        again = with_kernel(model).fit(rows, y)
        assert np.array_equal(answer(again, make(NEW)), expected)
    assert np.array_equal(answer(fitted, np.array(NEW)), expected)
    before = list(X)
    with_kernel(model).fit(held, target(model))
    assert held.tolist() == X == before


@pytest.mark.parametrize("model", FITTED[:9], ids=repr)
def test_the_answer_is_that_of_the_gram_matrix(model):
    K, across = gram_matrix(KERNEL, X), KERNEL.tile(NEW, X)
    fitted = with_kernel(model).fit(X, target(model))
    given = with_kernel(model, "precomputed").fit(K, target(model))
    expected = answer(given, across)
    if expected.dtype.kind == "f":
        np.testing.assert_allclose(answer(fitted, NEW), expected, rtol=1e-6, atol=1e-8)
    else:
        assert np.array_equal(answer(fitted, NEW), expected)
    proof = certify(fitted, X, target(model))
    assert proof.value == pytest.approx(fitted.certificate_.value, rel=1e-9)
    assert proof.relative_gap <= max(2.0 * fitted.certificate_.relative_gap, 1e-8)


@pytest.mark.parametrize("model", FITTED, ids=repr)
def test_copies_and_names(model):
    fitted = with_kernel(model).fit(pd.DataFrame({"sequence": X}), target(model))
    assert fitted.feature_names_in_.tolist() == ["sequence"]
    frame = pd.DataFrame({"sequence": NEW})
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(answer(again, frame), answer(fitted, frame))
    with pytest.raises(ValueError, match="feature names should match"):
        answer(fitted, pd.DataFrame({"other": NEW}))
    assert clone(fitted).kernel == KERNEL
    assert fitted.__sklearn_tags__().input_tags.string
    assert not with_kernel(model, kernels.Gaussian()).__sklearn_tags__().input_tags.string


@pytest.mark.parametrize("model", FITTED, ids=repr)
def test_faults_are_named(model):
    y = target(model)
    bad = [*X[:5], None, *X[6:]]
    with pytest.raises(ValueError, match=r"row 5 of X is missing \(None\)"):
        with_kernel(model).fit(bad, y)
    with pytest.raises(ValueError, match=r"row 0 of X holds .*where a string is needed"):
        with_kernel(model).fit(np.zeros((60, 4)), y)
    fitted = with_kernel(model).fit(X, y)
    with pytest.raises(ValueError, match=r"row 1 of X holds 3 \(int\)"):
        answer(fitted, [X[0], 3])
    with pytest.raises(ValueError, match=r"is bytes and '.*' is str: decode"):
        answer(fitted, [one.encode() for one in NEW])
    with pytest.raises(ValueError, match=r"numbers are needed, '.*' at row 0: encode them first"):
        with_kernel(model, kernels.Gaussian()).fit(X, y)


def test_blocks_of_the_other_kind_are_refused():
    numbers, strings = as_blocks(np.zeros((60, 1)), T), as_blocks(X, T, strings=True)
    for model in (fenchel.SVR(), fenchel.OneClassSVM(), fenchel.KNeighborsRegressor()):
        with pytest.raises(ValueError, match="needs rows of strings, and these blocks hold numb"):
            with_kernel(model).fit(numbers)
    for model in (fenchel.SVR(), fenchel.Ridge(), fenchel.KMeans(), fenchel.PCA()):
        with pytest.raises(ValueError, match="needs rows of numbers, and these blocks hold str"):
            model.fit(strings)


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda one: re.sub(r"\s+", " ", repr(one)))
def test_every_other_estimator_refuses_strings(model):
    X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, "GATTACA"], [7.0, 8.0]] * 5, object)
    y = np.tile([0, 1], 10)
    with pytest.raises(ValueError, match=r"needed, 'GATTACA' at row \d, column 1: encode"):
        clone(model).fit(X, y)


def test_local_averages_have_no_bandwidth_for_strings():
    for model in (fenchel.NadarayaWatson(), fenchel.NadarayaWatsonClassifier()):
        with pytest.raises(ValueError, match="compares strings, and a local average divides"):
            with_kernel(model).fit(X, target(model))


def test_weights_count_rows():
    """A row of weight 2 is two rows, and one of weight 0 is not there."""
    s = np.arange(60) % 3
    repeated = [row for row, count in zip(X, s, strict=True) for _ in range(count)]
    for model in (fenchel.KernelRidge(alpha=0.1), fenchel.SVR(tol=1e-9)):
        weighted = with_kernel(model).fit(X, T, sample_weight=s)
        whole = with_kernel(model).fit(repeated, np.repeat(T, s))
        np.testing.assert_allclose(weighted.predict(NEW), whole.predict(NEW), atol=1e-6)
        proof = certify(weighted, X, T, s.astype(float))
        assert proof.value == pytest.approx(weighted.certificate_.value, rel=1e-9)


def test_several_classes_and_targets():
    rng = np.random.default_rng(2)
    rows = ["".join(rng.choice(list(letters), 12)) for letters in ("ab", "bc", "ca") * 15]
    kinds = np.tile(["x", "y", "z"], 15)
    for against in ("ovo", "ovr"):
        model = fenchel.SVC(kernel=kernels.Spectrum(1), multi_class=against, C=10.0)
        assert model.fit(rows, kinds).score(rows, kinds) > 0.95
    counts = np.array([[row.count("a"), row.count("b")] for row in rows], float)
    ridge = fenchel.KernelRidge(alpha=1e-6, kernel=kernels.Spectrum(1, normalised=False))
    np.testing.assert_allclose(ridge.fit(rows, counts).predict(["aab", "cc"]), [[2, 1], [0, 0]],
                               atol=1e-4)  # fmt: skip


def test_searches_over_kernels():
    grid = {"kernel": [kernels.Spectrum(1), kernels.Spectrum(4), kernels.Mismatch(4, 1, "ACGT")]}
    search = GridSearchCV(fenchel.SVC(), grid, cv=3).fit(X, Y)
    assert search.best_params_["kernel"] == kernels.Spectrum(4) and search.score(NEW, THEIRS) > 0.8
    scores = cross_val_score(fenchel.SVC(kernel=kernels.Spectrum(4)), np.array(X), Y, cv=3)
    assert scores.mean() == pytest.approx(search.best_score_)
    for rows in (X, pd.Series(X)):
        found = fenchel.cross_validate(fenchel.SVC(kernel=kernels.Spectrum(4)), rows, Y, cv=3)
        assert 0.7 < float(found.mean()) <= 1.0


def test_many_rows_need_no_gram_matrix():
    """Beyond 2,048 rows the rows of K are made as they are needed."""
    rows, y = motifs(2200, seed=3)
    model = fenchel.SVC(kernel=kernels.Spectrum(4), C=10.0).fit(rows, y)
    assert model.converged_ and model.score(NEW, THEIRS) > 0.8
    design = KernelDesign(kernels.Spectrum(4), ArrayBlocks(Block(0, string_column(X), T)), 0.0)
    K, v = gram_matrix(kernels.Spectrum(4), X), np.arange(60.0)
    assert not design.in_memory
    np.testing.assert_allclose(design.product(v), K @ v, rtol=1e-12)
    assert np.array_equal(design.columns(np.array([3, 40])), K[:, [3, 40]])
    made = np.zeros((2, 60))
    design.row_maker(np.array([5]), True)(slice(10, 20), made, np.array([1]))
    assert np.array_equal(made[1, 10:20], K[5, 10:20]) and not made[0].any()
    assert np.array_equal(design.diagonal(), np.ones(60))


def test_edit_distance_neighbours():
    model = fenchel.NearestNeighbors(n_neighbors=3, kernel=kernels.EditDistance(0.1, False))
    distances, numbers = model.fit(X).kneighbors(NEW)
    for new, found, d in zip(NEW, numbers, distances, strict=True):
        edits = np.array([oracle.edit_distance(new, row) for row in X])
        assert np.array_equal(found, np.argsort(edits, kind="stable")[:3])
        np.testing.assert_allclose(d**2, 2.0 - 2.0 * np.exp(-0.1 * edits[found]), rtol=1e-9)


def test_an_indefinite_kernel_is_said_with_its_smallest_eigenvalue():
    rows = ["a", "b", "aa", "ba", "bb", "ab", "aab", "abb", "bba", "baa"]
    bad = kernels.EditDistance(0.02, normalised=False)
    least = np.linalg.eigvalsh(gram_matrix(bad, rows))[0]
    assert least < -1e-5
    with pytest.warns(UserWarning, match="not positive semi-definite.*smallest eigenvalue.*is -"):
        fenchel.SVC(kernel=bad).fit(rows, np.tile([0, 1], 5))
    with pytest.raises(ValueError, match="not positive semi-definite, so the problem"):
        KernelDesign(bad, ArrayBlocks(Block(0, string_column(rows), np.ones(10))))


def test_no_support_vectors():
    model = fenchel.SVR(kernel=kernels.Spectrum(2), epsilon=5.0).fit(X, T)
    assert len(model.support_) == 0 and model.support_vectors_.shape == (0, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.ptp(model.predict(NEW)) == 0.0
