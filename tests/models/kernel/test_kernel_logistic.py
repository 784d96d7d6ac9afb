"""Kernel logistic regression: the optimum to fifty digits, its proof under attack, every home."""

from __future__ import annotations

import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from oracles.kernel import gaussian_matrix, logistic_optimum, logistic_value
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression as Theirs
from sklearn.preprocessing import SplineTransformer

import fenchel
from fenchel import (
    KernelLogisticRegression,
    LogisticRegression,
    NotCertified,
    certify,
    kernels,
    load,
    save,
)
from fenchel.data.design.kernel import gram_matrix


def classes(n=150, K=2, seed=0, d=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    f = np.sin(2.0 * X[:, 0]) + X[:, -1] + 0.3 * rng.standard_normal(n)
    return X, np.digitize(f, np.quantile(f, np.arange(1, K) / K)), rng.integers(0, 3, n) * 1.0


def exact(model, K, y, s):
    """The value at the model's coefficients and the optimum, to fifty digits."""
    n = len(y)
    alpha = np.asarray(model.dual_coef_, np.float64).reshape(n, -1)
    b = np.asarray(model.intercept_, np.float64)
    value = logistic_value(K, y, s, model.C, alpha, b)
    return value, logistic_optimum(K, y, s, model.C, alpha, b, model.fit_intercept)


def holds(proof, value, best):
    assert proof.kind == "duality"
    assert Decimal(proof.bound) <= best <= value
    assert abs(Decimal(proof.value) - value) <= Decimal(proof.gap) + value * Decimal("1e-15")


# ------------------------------------------------------------------------------------ the proof


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("C", [1e-6, 1.0, 1e5])
def test_the_proof_holds_to_fifty_digits(C, K, intercept):
    X, y, _ = classes(9, K)
    s = np.array([1.0, 2.0, 0.5, 1.0, 1.0, 3.0, 0.25, 1.0, 1.0])
    model = KernelLogisticRegression(C=C, gamma=0.7, fit_intercept=intercept).fit(X, y, s)
    there = gaussian_matrix(X, 0.7)
    value, best = exact(model, there, y, s)
    holds(model.certificate_, value, best)
    assert model.certificate_.relative_gap < 1e-6
    rng = np.random.default_rng(1)
    for step in (1e-10, 1e-5, 0.1):  # what the proof says of other coefficients
        model.dual_coef_ = model.dual_coef_ * (
            1.0 + step * rng.standard_normal(model.dual_coef_.shape)
        )
        moved = certify(model, X, y, s)
        value = logistic_value(there, y, s, C, model.dual_coef_.reshape(9, -1), model.intercept_)
        holds(moved, value, best)


@pytest.mark.parametrize(
    ("name", "X", "weight"),
    [
        ("huge weights", np.arange(8.0)[:, None], 1e150),
        ("tiny weights", np.arange(8.0)[:, None], 1e-150),
        ("twins of both classes", np.repeat(np.arange(4.0), 2)[:, None], 1.0),
        ("far from zero", 1e6 + np.arange(8.0)[:, None], 1.0),
        ("nearly one row", 1e-9 * np.arange(8.0)[:, None], 1.0),
        ("float32", np.linspace(0.1, 2.3, 8, dtype=np.float32)[:, None], 1.0),
    ],
)
@pytest.mark.parametrize("size", [1e-2, 1e2, 1e7])
def test_the_proof_under_attack(name, X, weight, size):
    """Closed or said to be open, and true in both cases: losses near zero are among these."""
    y, s = np.arange(8) % 2, weight * np.array([1.0, 2.0, 1.0, 1.0, 1.5, 1.0, 1.0, 0.5])
    model = KernelLogisticRegression(C=size / weight, gamma=1.0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(X, y, s)
    said = [one for one in told if issubclass(one.category, NotCertified)]
    assert model.converged_ != bool(said)
    value, best = exact(model, gaussian_matrix(X, 1.0), y, s)
    holds(model.certificate_, value, best)


def test_a_loss_near_zero_is_proved():
    X = np.array([[0.0], [1.0], [5.0], [6.0]])
    y = np.array([0, 0, 1, 1])
    model = KernelLogisticRegression(C=1e12, gamma=0.1).fit(X, y)
    mean = model.certificate_.value / (model.C * 4.0)
    assert model.converged_ and mean < 1e-8
    value, best = exact(model, gaussian_matrix(X, 0.1), y, np.ones(4))
    holds(model.certificate_, value, best)


# ---------------------------------------------------------------------------------- the answers


@pytest.mark.parametrize("K", [2, 4])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_a_linear_kernel_is_the_linear_model(K, intercept, weighted):
    X, y, s = classes(K=K)
    s = s if weighted else None
    settings = {"C": 3.0, "fit_intercept": intercept, "class_weight": "balanced", "tol": 1e-10}
    model = KernelLogisticRegression(kernel="linear", **settings).fit(X, y, s)
    plane = LogisticRegression(**settings).fit(X, y, s)
    np.testing.assert_allclose(model.predict_proba(X), plane.predict_proba(X), atol=1e-5)
    value = plane.certificate_.value
    assert model.certificate_.value == pytest.approx(value, rel=1e-8)


def test_the_answers_of_scikit_learn_on_the_root_of_the_matrix():
    X, y, s = classes(80, 3)
    kernel = kernels.Laplacian(0.3) + 0.1 * kernels.Gaussian(0.5)
    values, vectors = np.linalg.eigh(gram_matrix(kernel, X))
    R = vectors * np.sqrt(np.maximum(values, 0.0))
    model = KernelLogisticRegression(C=5.0, kernel=kernel, tol=1e-9).fit(X, y, s)
    theirs = Theirs(C=5.0, tol=1e-8, solver="newton-cg").fit(R, y, s)
    np.testing.assert_allclose(model.predict_proba(X), theirs.predict_proba(R), atol=1e-5)
    np.testing.assert_array_equal(model.predict(X), theirs.predict(R))


def test_splines_are_a_kernel():
    X, y, _ = classes(120, 2, d=1)
    S = SplineTransformer(5).fit_transform(X)
    given = KernelLogisticRegression(kernel="precomputed", C=10.0, tol=1e-9).fit(S @ S.T, y)
    plain = LogisticRegression(C=10.0, tol=1e-10).fit(S, y)
    np.testing.assert_allclose(given.predict_proba(S @ S.T), plain.predict_proba(S), atol=1e-5)
    assert certify(given, S @ S.T, y).closed(1e-6)


@pytest.mark.parametrize("K", [2, 3])
def test_whole_weights_are_repeated_rows(K):
    X, y, s = classes(120, K)
    many = np.repeat(np.arange(len(y)), s.astype(int))
    once = KernelLogisticRegression(tol=1e-10).fit(X, y, s)
    again = KernelLogisticRegression(tol=1e-10).fit(X[many], y[many])
    np.testing.assert_allclose(once.decision_function(X), again.decision_function(X), atol=1e-5)
    assert not once.dual_coef_[s == 0.0].any()


def test_the_optimum_of_a_larger_table():
    X, y, _ = classes(1500, 2)
    model = KernelLogisticRegression(C=10.0, tol=1e-8).fit(X, y)
    assert model.converged_ and "is kept in memory" in model.storage_
    # α = -C s θ at the optimum.
    p = model.predict_proba(X)[:, 1]
    np.testing.assert_allclose(model.dual_coef_, 10.0 * (y - p), atol=2e-3)
    assert abs(model.dual_coef_.sum()) < 1e-3


def test_the_same_bits_for_any_threads():
    X, y, _ = classes(700, 3)
    found = []
    for count in (1, 3):
        with fenchel.threads(count):
            found.append(KernelLogisticRegression(C=3.0).fit(X, y).dual_coef_)
    np.testing.assert_array_equal(*found)


def test_warm_start_needs_fewer_steps():
    X, y, _ = classes(300)
    model = KernelLogisticRegression(C=100.0, warm_start=True).fit(X, y)
    before = model.n_iter_
    assert model.fit(X, y).n_iter_ < before and model.converged_


def test_labels_and_probabilities():
    X, y, _ = classes(150, 3)
    names = np.array(["low", "mid", "top"])[y]
    model = KernelLogisticRegression().fit(X, names)
    p = model.predict_proba(X)
    assert model.classes_.tolist() == ["low", "mid", "top"] and p.shape == (150, 3)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(np.log(p), model.predict_log_proba(X))
    np.testing.assert_array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])


# ------------------------------------------------------------------------------------- the homes


@pytest.mark.torch
def test_homes(tmp_path):
    X, y, _ = classes()
    frame = pd.DataFrame(X, columns=list("abc"))
    frame.assign(y=y).to_parquet(tmp_path / "t.parquet")
    torch, da = pytest.importorskip("torch"), pytest.importorskip("dask.array")
    plain = KernelLogisticRegression(gamma=0.4).fit(X, y)
    for rows, target in [
        (csr_array(X), y),
        (frame, y),
        (fenchel.scan(tmp_path / "t.parquet", target="y"), None),
        (da.from_array(X, chunks=(40, 3)), da.from_array(y, chunks=40)),
        (torch.from_numpy(X), torch.from_numpy(y)),
    ]:
        model = KernelLogisticRegression(gamma=0.4).fit(rows, target)
        np.testing.assert_allclose(model.dual_coef_, plain.dual_coef_, atol=1e-9)
        p = np.asarray(model.predict_proba(rows))
        np.testing.assert_allclose(p, plain.predict_proba(X), atol=1e-9)
        assert certify(model, rows, target).closed(1e-6)


@pytest.mark.parametrize("K", [2, 3])
def test_float32_rows_and_the_model_file(K, tmp_path):
    X, y, _ = classes(K=K)
    single = X.astype(np.float32)
    model = KernelLogisticRegression().fit(single, y)
    assert model.dual_coef_.dtype == np.float32 and model.converged_
    assert model.decision_function(single).dtype == np.float32
    assert certify(model, single, y).closed(1e-6)
    save(model, tmp_path / "m.fen")
    again = load(tmp_path / "m.fen")
    np.testing.assert_array_equal(again.predict_proba(single), model.predict_proba(single))
    assert again.certificate_ == model.certificate_ and again.loss_ == model.loss_


def test_strings():
    rng = np.random.default_rng(0)
    rows = ["".join(rng.choice(list("ACGT"), 12)) for _ in range(60)]
    y = np.array([row.count("A") > row.count("C") for row in rows])
    model = KernelLogisticRegression(kernel=kernels.Spectrum(1), C=100.0).fit(rows, y)
    assert model.score(rows, y) > 0.9 and certify(model, rows, y).closed(1e-6)


# ------------------------------------------------------------------------------------- bad input


def test_bad_input():
    X, y, s = classes(30)
    with pytest.raises(ValueError, match="C=inf leaves no penalty"):
        KernelLogisticRegression(C=np.inf).fit(X, y)
    with pytest.raises(ValueError, match=r"kernel='sigmoid' is not positive semi-definite"):
        KernelLogisticRegression(kernel="sigmoid").fit(X, y)
    with pytest.raises(ValueError, match="gamma"):
        KernelLogisticRegression(gamma=0.0).fit(X, y)
    with pytest.raises(ValueError, match="string"):
        KernelLogisticRegression(kernel=kernels.Spectrum(2)).fit(X, y)
    with pytest.raises(ValueError, match="is none in float64"):
        KernelLogisticRegression(C=1e-300).fit(X, y, np.full(30, 1e-200))
    model = KernelLogisticRegression().fit(X, y, s)
    with pytest.raises(ValueError, match="fitted on 30 rows and X has 29"):
        certify(model, X[1:], y[1:])
    with pytest.raises(ValueError, match="pass the weights of the fit"):
        certify(model, X, y, np.roll(s, 1))
    with pytest.warns(NotCertified, match="Raise max_iter"):
        assert not KernelLogisticRegression(C=1e4, max_iter=1).fit(X, y).converged_
