"""Habits of scikit-learn that a user's code relies on."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import fenchel
from fenchel import (
    ElasticNet,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    NotCertified,
    Perceptron,
    Ridge,
    certify,
)


def table(n=40, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) + rng.normal(size=n)


def test_a_fit_without_proof_is_a_convergence_warning():
    X, y = table()
    assert issubclass(NotCertified, ConvergenceWarning)
    with pytest.warns(ConvergenceWarning):
        LogisticRegression(max_iter=1, tol=1e-12).fit(X, y > 0)


def test_small_tables_get_all_digits_whatever_tol():
    X, y = table(60, 4)
    for model in (LogisticRegression(), LogisticRegression(l1_ratio=1.0), LogisticRegression(C=50)):
        loose = clone(model).set_params(tol=1e-3).fit(X, y > 0)
        sharp = clone(model).set_params(tol=1e-13).fit(X, y > 0)
        np.testing.assert_allclose(loose.coef_, sharp.coef_, rtol=1e-7, atol=1e-9)
        assert loose.converged_ and loose.certificate_.gap >= 0.0
        assert len(loose.history_) == loose.n_iter_[0] + 1
    stopped = LogisticRegression(max_iter=3, tol=0.1).fit(X, y > 0)
    assert stopped.n_iter_[0] <= 3


def test_a_model_whose_coefficients_were_set_by_hand_predicts():
    X, _ = table()
    w = np.array([1.0, -2.0, 0.5])
    for model in (Ridge(), LinearRegression(), Lasso(), LinearSVR(), HuberRegressor()):
        model.coef_, model.intercept_ = w, 3.0
        np.testing.assert_allclose(model.predict(X), X @ w + 3.0)
        with pytest.raises(ValueError, match=r"X has 2 features, but \w+ is expecting 3"):
            model.predict(X[:, :2])
    for model in (LogisticRegression(), LinearSVC(), Perceptron()):
        model.coef_, model.intercept_ = w[None], np.array([3.0])
        model.classes_ = np.array(["no", "yes"])
        np.testing.assert_array_equal(model.predict(X) == "yes", X @ w + 3.0 > 0)


@pytest.mark.parametrize("interface", ["spmatrix", "sparray"])
def test_sparse_coefficients(interface, tmp_path):
    X, y = table(60, 8)
    model = LogisticRegression(l1_ratio=1.0, C=0.1).fit(X, y > 0)
    dense, scores = model.coef_.copy(), model.decision_function(X)
    with config_context(sparse_interface=interface):
        assert model.sparsify() is model
        kind = sparse.csr_matrix if interface == "spmatrix" else sparse.csr_array
        assert type(model.coef_) is kind
        assert type(Lasso(alpha=0.1).fit(X, y).sparse_coef_) is kind
    np.testing.assert_array_equal(model.decision_function(X), scores)
    np.testing.assert_array_equal(model.decision_function(sparse.csr_array(X)), scores)
    assert certify(model, X, y > 0).relative_gap <= 1e-6
    fenchel.save(model, tmp_path / "m.fen")
    np.testing.assert_array_equal(fenchel.load(tmp_path / "m.fen").decision_function(X), scores)
    again = clone(model).set_params(warm_start=True)
    again.coef_, again.intercept_ = model.coef_, model.intercept_
    assert again.fit(X, y > 0).n_iter_[0] <= 1
    np.testing.assert_array_equal(model.densify().coef_, dense)
    with pytest.raises(NotFittedError):
        LinearSVC().sparsify()


def test_the_intercept_of_a_support_vector_regression_is_an_array():
    X, y = table()
    for scaling in (None, 2.0):
        model = LinearSVR(intercept_scaling=scaling, warm_start=True).fit(X, y)
        assert model.intercept_.shape == (1,) and model.predict(X).shape == y.shape
        assert model.fit(X, y).intercept_.shape == (1,)
    assert LinearSVR(fit_intercept=False).fit(X, y).intercept_ == 0.0


def test_a_warm_start_needs_no_intercept():
    X, y = table()
    for model, target in (
        (Lasso(alpha=0.1, warm_start=True), y),
        (LogisticRegression(warm_start=True), y > 0),
        (LinearSVC(warm_start=True), y > 0),
        (LinearSVR(warm_start=True), y),
        (HuberRegressor(warm_start=True), y),
    ):
        cold = clone(model).fit(X, target)
        model.coef_ = cold.coef_.copy()
        np.testing.assert_allclose(model.fit(X, target).coef_, cold.coef_, rtol=1e-2, atol=1e-4)


def test_check_input_is_taken():
    X, y = table()
    for model in (Lasso(alpha=0.1), ElasticNet(alpha=0.1)):
        checked = clone(model).fit(X, y).coef_
        np.testing.assert_array_equal(model.fit(X, y, check_input=False).coef_, checked)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_log_probabilities_are_logarithms_of_probabilities(dtype, classes):
    z = np.linspace(-30.0, 200.0, 500).astype(dtype)
    model = LogisticRegression()
    model.classes_, model.n_features_in_ = np.arange(classes), 1
    model.coef_ = np.ones((1, 1)) if classes == 2 else np.array([[0.0], [0.5], [1.0]])
    model.intercept_ = np.zeros(len(model.coef_))
    p, logs = model.predict_proba(z[:, None]), model.predict_log_proba(z[:, None])
    assert p.dtype == logs.dtype == dtype and np.isfinite(logs).all()
    assert (logs[p == 1.0] == 0.0).all()
    normal = p > np.finfo(dtype).tiny
    np.testing.assert_allclose(logs[normal], np.log(p[normal]), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("weighted", [False, True])
def test_labels_of_many_rows_are_those_that_sorting_finds(weighted):
    from fenchel.models.estimator import classes_of

    rng = np.random.default_rng(0)
    y = np.array([-3, 0, 7, 2000])[rng.integers(0, 4, 300_000)]
    weight = rng.random(len(y)) * (y != 7) if weighted else None
    classes, codes = classes_of(y, weight)
    expected, inverse = np.unique(y, return_inverse=True)
    if weighted:
        assert classes.tolist() == [-3, 0, 2000] and (codes[y == 7] == -1).all()
        assert np.array_equal(classes[codes[y != 7]], y[y != 7])
    else:
        assert np.array_equal(classes, expected) and np.array_equal(codes, inverse)
