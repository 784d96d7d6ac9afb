"""Wald intervals of unpenalised coefficients."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.linear_model as lm
from scipy import sparse
from scipy.optimize import approx_fprime
from scipy.special import expit

import fenchel
from fenchel import coefficient_intervals


def rows(n=300, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, rng.random(n) < expit(X[:, 0] - 0.5)


def test_logistic_errors_are_those_of_the_information_matrix():
    X, y = rows()
    model = fenchel.LogisticRegression(C=np.inf).fit(X, y)
    found = coefficient_intervals(model, X, y, level=0.95)
    A = np.column_stack([np.ones(len(X)), X])

    def gradient(v):
        return A.T @ (expit(A @ v) - y)

    point = np.concatenate([model.intercept_, model.coef_[0]])
    H = approx_fprime(point, gradient, 1e-6)
    error = np.sqrt(np.diagonal(np.linalg.inv(H)))
    np.testing.assert_allclose(found.standard_error, error[1:], rtol=1e-4)
    assert found.intercept.standard_error == pytest.approx(error[0], rel=1e-4)
    odds = found.odds_ratio(0, unit=2.0)
    assert odds == pytest.approx(np.exp(2.0 * found.coefficient[0]))
    assert odds.low < odds < odds.high and found.p_value[0] < 1e-6
    turned = found.odds_ratio(0, unit=-1.0)
    assert turned.low < turned < turned.high


def test_scikit_learn_sparse_rows_and_weights():
    X, y = rows()
    s = np.random.default_rng(1).integers(1, 4, len(y))
    ours = fenchel.LogisticRegression(C=np.inf).fit(X, y, s)
    theirs = lm.LogisticRegression(C=np.inf, tol=1e-10).fit(np.repeat(X, s, 0), np.repeat(y, s))
    a = coefficient_intervals(ours, sparse.csr_array(X), y, sample_weight=s)
    b = coefficient_intervals(theirs, np.repeat(X, s, 0), np.repeat(y, s))
    np.testing.assert_allclose(a.low, b.low, atol=1e-4)


def test_linear_errors_are_hc3():
    X, _ = rows()
    rng = np.random.default_rng(2)
    y = X[:, 0] + rng.normal(size=len(X)) * (1.0 + np.abs(X[:, 1]))
    model = fenchel.LinearRegression().fit(X, y)
    found = coefficient_intervals(model, X, y)
    A = np.column_stack([np.ones(len(X)), X])
    G = np.linalg.inv(A.T @ A)
    h = np.einsum("ij,jk,ik->i", A, G, A)
    r = (y - model.predict(X)) / (1.0 - h)
    cov = G @ (A.T * r**2) @ A @ G
    np.testing.assert_allclose(found.standard_error, np.sqrt(np.diagonal(cov))[1:], rtol=1e-8)
    with pytest.raises(ValueError, match="logistic"):
        found.odds_ratio(0)


def test_no_interval_and_why():
    X, y = rows()
    with pytest.raises(ValueError, match="the model is penalised"):
        coefficient_intervals(fenchel.LogisticRegression().fit(X, y), X, y)
    with pytest.raises(ValueError, match="Ridge has no interval of known coverage"):
        coefficient_intervals(fenchel.Ridge().fit(X, X[:, 0]), X, X[:, 0])
    twice = np.column_stack([X, X[:, 0]])
    model = lm.LogisticRegression(C=np.inf).fit(twice, y)
    with pytest.raises(ValueError, match="depend on each other"):
        coefficient_intervals(model, twice, y)
    model = lm.LogisticRegression(C=1e6, max_iter=1000).fit(X, X[:, 0] > 0.0)
    model.C = np.inf
    with pytest.raises(ValueError, match="a plane separates"):
        coefficient_intervals(model, X, X[:, 0] > 0.0)
    with pytest.raises(ValueError, match="two classes"):
        three = np.arange(len(X)) % 3
        coefficient_intervals(lm.LogisticRegression(C=np.inf).fit(X, three), X, three)
    with pytest.raises(ValueError, match="there is no interval"):
        coefficient_intervals(lm.LinearRegression().fit(X[:3], X[:3, 0]), X[:3], X[:3, 0])


def test_coverage():
    hits = []
    for seed in range(200):
        X, y = rows(200, 2, seed)
        found = coefficient_intervals(lm.LogisticRegression(C=np.inf).fit(X, y), X, y)
        hits.append(found.low[0] <= 1.0 <= found.high[0])
    assert np.mean(hits) >= 0.90
