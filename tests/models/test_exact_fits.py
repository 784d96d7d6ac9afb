"""Tables that a model meets exactly, and columns that depend on others: no step may break."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import QuantileRegressor as Peer

import fenchel
from fenchel import LinearSVR, LogisticRegression, NotCertified, QuantileRegressor, certify


def test_certifying_a_fit_whose_loss_vanishes():
    """Newton's step asked how many passes were left until 1e-9 of a loss of zero."""
    X, y = np.array([[1.0], [0.0], [2.0]]), [2, 0, 1]
    with pytest.warns(NotCertified, match="separated"):
        model = LogisticRegression(C=np.inf).fit(X, y)
    proof = certify(model, X, y)
    assert 0.0 <= proof.bound <= proof.value < 2.0


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_a_target_that_a_plane_meets(loss):
    rng = np.random.default_rng(0)
    for n, d in ((2, 1), (3, 2), (6, 2), (4, 8)):
        X = rng.integers(-3, 4, (n, d)).astype(float)
        y = X @ rng.integers(-2, 3, d) + 1.0
        model = LinearSVR(loss=loss, epsilon=0.5, C=1e6).fit(X, y)
        assert certify(model, X, y).relative_gap <= 1e-6
        exact = LinearSVR(loss=loss, epsilon=100.0).fit(X, y)
        assert exact.certificate_.value == 0.0 and certify(exact, X, y).gap == 0.0


def test_certifying_coefficients_that_meet_every_row():
    """The multipliers' scale was that of the losses, and those were rounding alone: 1e-307."""
    X = np.array([[-2.0, -1, -4, -1, 2, 1], [2, -1, 1, 2, -3, -1], [0, -1, -4, -1, 1, 1]])
    y = np.array([72990352.44668616, 72990347.7234404, 72990352.92424046])
    given = {"alpha": 0.0127, "fit_intercept": False}
    theirs = Peer(**given).fit(X, y)
    ours = QuantileRegressor(**given).fit(X, y)
    assert ours.converged_
    for model in (theirs, ours):
        assert certify(model, X, y).relative_gap <= 1e-6


def test_quantiles_of_tiny_tables(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    for _ in range(25):
        n, d = int(rng.integers(1, 6)), int(rng.integers(1, 7))
        X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-6, 6, d)
        X[:, rng.integers(d)] = X[:, 0] * rng.normal()
        y = rng.choice([0.0, 1.0, 1e6]) + X @ rng.normal(size=d) * rng.integers(0, 2)
        q, alpha = float(rng.uniform(0.05, 0.95)), float(rng.choice([0.0, 1e-6, 0.1]))
        model = QuantileRegressor(quantile=q, alpha=alpha, fit_intercept=bool(rng.integers(2)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotCertified)
            model.fit(X, y)
        assert np.isfinite(model.coef_).all()
        proof = certify(model, X, y)
        assert np.isfinite(proof.value) and proof.bound <= proof.value * (1.0 + 1e-9) + 1e-12


def test_nonnegative_columns_that_depend_on_each_other():
    """A slope of rounding sent the coefficients of an exchange to 1e15, and then to NaN."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 150)) * 10.0 ** rng.uniform(-2, 2, 150)
    X[:, 75:78] = X[:, :3] * [1.0, -1.0, 2.0]
    y = X[:, :5] @ rng.normal(size=5) + rng.normal(size=30)
    model = fenchel.Lasso(alpha=1e-6, positive=True, fit_intercept=False).fit(X, y)
    assert model.converged_ and np.abs(model.coef_).max() < 1e3
