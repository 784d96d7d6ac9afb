"""KernelRidgeCV: every leave-one-out error against a fit without that row, and the choice."""

from __future__ import annotations

import numpy as np
import pytest
from oracles.kernel import left_out_residuals
from scipy.sparse import csr_array
from sklearn.model_selection import GridSearchCV, LeaveOneOut

from fenchel import KernelRidge, KernelRidgeCV, RidgeCV, certify, kernels, load, save
from fenchel.data.design.kernel import gram_matrix

ALPHAS = [1e-6, 1e-3, 0.1, 1.0, 30.0]


def noisy(n=60, seed=0, d=3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.sin(2.0 * X[:, 0]) + 0.3 * rng.standard_normal(n)
    return X, y, rng.integers(0, 3, n) * 0.75


@pytest.mark.parametrize("weighted", [False, True])
def test_every_error_is_that_of_a_fit_without_the_row(weighted):
    X, y, s = noisy()
    s = s if weighted else np.ones(60)
    Y = np.column_stack([y, 1e3 * y**2])
    model = KernelRidgeCV(ALPHAS, kernel="rbf", gamma=0.4, store_cv_results=True)
    model.fit(X, Y, s if weighted else None)
    K, some = gram_matrix(kernels.Gaussian(0.4), X), np.flatnonzero(s)
    for k in range(2):
        for a, alpha in enumerate(ALPHAS):
            left = left_out_residuals(K[np.ix_(some, some)], Y[some, k], s[some], alpha)
            np.testing.assert_allclose(model.cv_results_[some, k, a], left**2 * s[some], rtol=1e-6)
            whole = KernelRidge(alpha, kernel="rbf", gamma=0.4).fit(X, Y[:, k], s)
            gone = s == 0.0
            missed = KernelRidgeCV([alpha], kernel="rbf", gamma=0.4, scoring="r2",
                                   store_cv_results=True).fit(X, Y[:, k], s)  # fmt: skip
            np.testing.assert_allclose(
                missed.cv_results_[gone, 0], whole.predict(X)[gone], rtol=1e-7, atol=1e-9
            )
    means = model.cv_results_.mean(axis=(0, 1))
    assert model.alpha_ == ALPHAS[means.argmin()]
    assert model.best_score_ == pytest.approx(-means.min())
    quick = KernelRidgeCV(ALPHAS, kernel="rbf", gamma=0.4).fit(X, Y, s if weighted else None)
    assert quick.alpha_ == model.alpha_
    assert quick.best_score_ == pytest.approx(model.best_score_, rel=1e-9)


def test_the_choice_is_that_of_a_search_and_the_fit_that_of_kernel_ridge():
    X, y, s = noisy()
    own = {"kernel": "laplacian", "gamma": 0.3}
    model = KernelRidgeCV(ALPHAS, scoring="neg_mean_absolute_error", **own).fit(X, y)
    search = GridSearchCV(
        KernelRidge(**own), {"alpha": ALPHAS}, cv=LeaveOneOut(), scoring="neg_mean_absolute_error"
    ).fit(X, y)
    assert model.alpha_ == search.best_params_["alpha"]
    assert model.best_score_ == pytest.approx(search.best_score_, rel=1e-9)
    alone = KernelRidge(model.alpha_, **own).fit(X, y)
    np.testing.assert_array_equal(model.dual_coef_, alone.dual_coef_)
    assert model.converged_ and certify(model, X, y).closed(1e-9)
    folds = KernelRidgeCV(ALPHAS, cv=3, **own).fit(X, y, s)
    assert folds.alpha_ in ALPHAS and certify(folds, X, y, s).closed(1e-6)


def test_a_linear_kernel_is_ridge_without_an_intercept():
    X, y, s = noisy()
    Y = np.column_stack([y, X[:, 1], -y + X[:, 2]])
    ours = KernelRidgeCV(ALPHAS, alpha_per_target=True).fit(X, Y, s)
    plain = RidgeCV(ALPHAS, fit_intercept=False, alpha_per_target=True).fit(X, Y, s)
    np.testing.assert_array_equal(ours.alpha_, plain.alpha_)
    np.testing.assert_allclose(ours.best_score_, plain.best_score_, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(ours.predict(X), plain.predict(X), atol=1e-8)


@pytest.mark.parametrize("exponent", [-200, 200])
def test_any_scale_of_the_target(exponent):
    X, y, _ = noisy()
    plain = KernelRidgeCV(ALPHAS, kernel="rbf").fit(X, y)
    far = KernelRidgeCV(ALPHAS, kernel="rbf").fit(X, y * 10.0**exponent)
    assert far.alpha_ == plain.alpha_
    np.testing.assert_allclose(far.predict(X) / 10.0**exponent, plain.predict(X), atol=1e-10)


def test_sparse_rows_precomputed_float32_and_the_model_file(tmp_path):
    X, y, s = noisy()
    plain = KernelRidgeCV(ALPHAS, kernel="rbf", gamma=0.4).fit(X, y, s)
    K = gram_matrix(kernels.Gaussian(0.4), X)
    given = KernelRidgeCV(ALPHAS, kernel="precomputed").fit(K, y, s)
    sparse = KernelRidgeCV(ALPHAS, kernel="rbf", gamma=0.4).fit(csr_array(X), y, s)
    single = KernelRidgeCV(ALPHAS, kernel="rbf", gamma=0.4).fit(X.astype(np.float32), y, s)
    for model in (given, sparse, single):
        assert model.alpha_ == plain.alpha_
        np.testing.assert_allclose(model.dual_coef_, plain.dual_coef_, rtol=1e-3, atol=1e-4)
    save(plain, tmp_path / "m.fen")
    again = load(tmp_path / "m.fen")
    np.testing.assert_array_equal(again.predict(X), plain.predict(X))
    assert again.alpha_ == plain.alpha_ and again.certificate_ == plain.certificate_


def test_bad_input(monkeypatch):
    X, y, _ = noisy()
    with pytest.raises(ValueError, match=r"alphas\[1\]"):
        KernelRidgeCV([1.0, 0.0]).fit(X, y)
    with pytest.raises(ValueError, match="alphas is empty"):
        KernelRidgeCV([]).fit(X, y)
    with pytest.raises(ValueError, match="at least two with weight, got n_samples=1"):
        KernelRidgeCV().fit(X[:2], y[:2], [1.0, 0.0])
    with pytest.raises(ValueError, match="not positive semi-definite on these rows"):
        KernelRidgeCV(kernel="sigmoid", coef0=0.2).fit(X, y)
    monkeypatch.setattr("fenchel.solve.least_squares.leave_one_out.free_memory", lambda: 1e4)
    with pytest.raises(MemoryError, match=r"60 x 60 numbers, .* GiB are free: fit fewer rows"):
        KernelRidgeCV().fit(X, y)
