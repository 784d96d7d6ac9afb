"""Regularised discriminants and their exact leave-one-out errors against n fits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.discriminant import friedman, left_out, log_joint
from scipy import sparse
from sklearn.datasets import load_iris, load_wine

from fenchel import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
    RankDeficient,
    RegularizedDiscriminantAnalysis,
    RegularizedDiscriminantAnalysisCV,
    certify,
)


def rows(seed, n=40, d=3, K=3):
    rng = np.random.default_rng(seed)
    y = np.r_[np.repeat(np.arange(K), 6), rng.integers(0, K, n - 6 * K)]
    return rng.normal(size=(n, d)) * [1.0, 2.0, 0.5][:d] + 1.5 * rng.normal(size=(K, d))[y], y


@given(st.integers(0, 10**6), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_densities_by_definition(seed, lam, gamma):
    X, y = rows(seed)
    s = np.random.default_rng(seed).random(len(y)) + 0.1
    model = RegularizedDiscriminantAnalysis(lam, gamma, store_covariance=True).fit(X, y, s)
    parts = friedman(X, y, lam, gamma, s)
    np.testing.assert_allclose(model.covariance_, parts[2], rtol=1e-10, atol=1e-10)
    want = log_joint(X, *parts)
    np.testing.assert_allclose(model.predict_joint_log_proba(X), want, rtol=1e-7, atol=1e-7)
    assert model.certificate_.closed(1e-11) and certify(model, X, y, s).closed(1e-11)


def test_the_corners_are_quadratic_and_linear_analysis_and_nearest_means():
    X, y = load_wine(return_X_y=True)
    for lam, kind in ((0.0, QuadraticDiscriminantAnalysis), (1.0, LinearDiscriminantAnalysis)):
        found = RegularizedDiscriminantAnalysis(lam).fit(X, y).predict_proba(X)
        np.testing.assert_allclose(found, kind().fit(X, y).predict_proba(X), atol=1e-9)
    equal = np.full(3, 1 / 3)
    nearest = RegularizedDiscriminantAnalysis(1.0, 1.0, priors=equal).fit(X, y)
    means = np.array([X[y == k].mean(0) for k in range(3)])
    by_distance = ((X[:, None] - means) ** 2).sum(2).argmin(1)
    np.testing.assert_array_equal(nearest.predict(X), by_distance)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_leave_one_out_is_n_fits(seed, weighted):
    X, y = rows(seed, n=30)
    s = np.random.default_rng(seed).random(len(y)) if weighted else np.ones(len(y))
    lams, gammas = (0.0, 0.3, 1.0), (0.0, 0.4, 1.0)
    model = RegularizedDiscriminantAnalysisCV(lams, gammas).fit(X, y, s)
    for i, lam in enumerate(lams):
        for j, gamma in enumerate(gammas):
            z = left_out(X, y, lam, gamma, s)
            wrong = s @ (z.argmax(1) != y) / s.sum()
            own = z[np.arange(len(y)), y]
            loss = s @ (np.logaddexp.reduce(z, axis=1) - own) / s.sum()
            assert model.errors_[i, j] == pytest.approx(wrong, abs=1e-12)
            assert model.losses_[i, j] == pytest.approx(loss, rel=1e-7, abs=1e-9)
    best = model.errors_ == model.errors_.min()
    loss = np.where(best, model.losses_, np.inf)
    i, j = np.unravel_index(loss.argmin(), loss.shape)
    assert (model.lam_, model.gamma_) == (lams[i], gammas[j])
    same = RegularizedDiscriminantAnalysis(model.lam_, model.gamma_).fit(X, y, s)
    np.testing.assert_array_equal(model.predict_proba(X), same.predict_proba(X))


def test_a_weight_is_a_repetition_of_which_one_is_left_out():
    X, y = rows(5)
    s = np.random.default_rng(0).integers(1, 4, len(y))
    a = RegularizedDiscriminantAnalysisCV().fit(X, y, s)
    b = RegularizedDiscriminantAnalysisCV().fit(np.repeat(X, s, 0), np.repeat(y, s))
    np.testing.assert_allclose(a.errors_, b.errors_, atol=1e-12)
    np.testing.assert_allclose(a.losses_, b.losses_, rtol=1e-9)
    assert (a.lam_, a.gamma_) == (b.lam_, b.gamma_)


@pytest.mark.parametrize("factor", [1e150, 1e-150, np.array([1e140, 1e140, 1e140])], ids=str)
def test_scale_and_sparse_rows_change_nothing(factor):
    X, y = rows(2)
    plain = RegularizedDiscriminantAnalysisCV().fit(X, y)
    far = RegularizedDiscriminantAnalysisCV().fit(X * factor, y)
    np.testing.assert_allclose(far.errors_, plain.errors_, atol=1e-12)
    np.testing.assert_allclose(far.losses_, plain.losses_, rtol=1e-9)
    np.testing.assert_allclose(far.predict_proba(X * factor), plain.predict_proba(X), atol=1e-9)
    rough = RegularizedDiscriminantAnalysisCV().fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(rough.losses_, plain.losses_, rtol=1e-9)


def test_pairs_whose_covariance_is_singular_are_not_admitted():
    X, y = load_iris(return_X_y=True)
    few = np.r_[0:4, 50:100, 100:150]  # four rows of class 0 in four columns
    model = RegularizedDiscriminantAnalysisCV().fit(X[few], y[few])
    assert np.isinf(model.errors_[0, 0]) and np.isfinite(model.errors_[1:]).all()
    assert model.score(X, y) > 0.95
    one = np.r_[0:1, 50:150]
    assert RegularizedDiscriminantAnalysis(0.5).fit(X[one], y[one]).score(X, y) > 0.9
    found = RegularizedDiscriminantAnalysisCV().fit(X[one], y[one])
    assert found.lam_ > 0.0 and found.errors_.min() >= 1 / 101 - 1e-12
    wide = np.c_[X[few], X[few] @ np.random.default_rng(0).normal(size=(4, 3))]
    with pytest.raises(ValueError, match="add a gamma above 0"):
        RegularizedDiscriminantAnalysisCV(gammas=[0.0]).fit(wide, y[few])
    with pytest.warns(RankDeficient):
        RegularizedDiscriminantAnalysis(0.5).fit(wide, y[few])


def test_bad_grids_and_parameters_are_refused():
    X, y = rows(0)
    for options in ({"lam": 1.5}, {"gamma": -0.1}, {"lam": np.nan}):
        with pytest.raises(ValueError, match="must be a float in the range"):
            RegularizedDiscriminantAnalysis(**options).fit(X, y)
    for options in ({"lams": [0.5, 2.0]}, {"gammas": [np.nan]}):
        with pytest.raises(ValueError, match=r"must lie in \[0, 1\]"):
            RegularizedDiscriminantAnalysisCV(**options).fit(X, y)
    with pytest.raises(ValueError, match="list of numbers"):
        RegularizedDiscriminantAnalysisCV(lams=[]).fit(X, y)


@pytest.mark.parametrize(
    ("priors", "said"),
    [
        ([0.5, 0.5], r"priors has shape \(2,\), but there are 3 classes"),
        ([-0.5, 0.7, 0.8], "priors must be non-negative and finite, but that of class 0 is -0.5"),
        ([0.0, 0.0, 0.0], "priors are all zero"),
    ],
)
def test_priors_are_looked_at_before_the_grid(priors, said):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), np.repeat([0, 1, 2], 10)
    with pytest.raises(ValueError, match=said):
        RegularizedDiscriminantAnalysisCV(priors=priors).fit(X, y)
    with pytest.warns(UserWarning, match="do not sum to 1") as seen:
        RegularizedDiscriminantAnalysisCV(priors=[0.5, 0.2, 0.2]).fit(X, y)
    assert len(seen) == 1
