"""Medians and quantiles against linear programs and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import QuantileRegressor as TheirQuantile
from sklearn.metrics import d2_pinball_score

from fenchel import LeastAbsoluteDeviations, QuantileRegressor

X, Y = load_diabetes(return_X_y=True)
X = 20.0 * X


def pinball(q, r):
    return np.maximum(q * r, (q - 1) * r)


@pytest.mark.parametrize("alpha", [0.0, 0.01, 0.5, 10.0])
@pytest.mark.parametrize("quantile", [0.05, 0.5, 0.8])
def test_against_the_linear_program(quantile, alpha):
    s = np.random.default_rng(0).integers(0, 3, len(Y)).astype(float)
    ours = QuantileRegressor(quantile=quantile, alpha=alpha).fit(X, Y, sample_weight=s)
    other = TheirQuantile(quantile=quantile, alpha=alpha).fit(X, Y, sample_weight=s)

    def value(model):
        loss = pinball(quantile, Y - model.predict(X))
        return s @ loss / s.sum() + alpha * np.abs(model.coef_).sum()

    assert ours.converged_
    assert ours.certificate_.value == pytest.approx(value(ours), rel=1e-9)
    assert value(ours) == pytest.approx(value(other), rel=2e-6)
    assert ours.certificate_.bound <= value(other) * (1 + 1e-9)


def test_the_share_below_is_the_quantile():
    for q in (0.1, 0.5, 0.9):
        model = QuantileRegressor(quantile=q, alpha=0.0).fit(X, Y)
        assert (model.predict(X) > Y + 1e-6).mean() == pytest.approx(q, abs=0.03)


def test_several_quantiles_at_once():
    qs = [0.9, 0.1, 0.5]
    together = QuantileRegressor(quantile=qs, alpha=0.1).fit(X, Y)
    assert together.coef_.shape == (3, 10) and together.predict(X).shape == (len(Y), 3)
    parts = [QuantileRegressor(quantile=q, alpha=0.1).fit(X, Y) for q in qs]
    assert np.allclose(together.coef_, [p.coef_ for p in parts])
    total = sum(p.certificate_.value for p in parts)
    assert together.certificate_.value == pytest.approx(total)


def test_non_crossing_quantiles_keep_their_order():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((60, 4))
    t = Z[:, 0] + rng.standard_normal(60) * (1 + np.abs(Z[:, 1]))
    qs = [0.7, 0.3, 0.5, 0.6, 0.4]
    plain = QuantileRegressor(quantile=qs, alpha=0.0).fit(Z, t)
    order = np.argsort(qs)
    assert (np.diff(plain.predict(Z)[:, order], axis=1) < -1e-6).any()
    model = QuantileRegressor(quantile=qs, alpha=0.0, non_crossing=True).fit(Z, t)
    assert model.converged_
    assert (np.diff(model.predict(Z)[:, order], axis=1) >= 0.0).all()
    inside = rng.uniform(Z.min(axis=0), Z.max(axis=0), (2000, 4))
    assert (np.diff(model.predict(inside)[:, order], axis=1) >= -1e-9).all()
    assert model.certificate_.value >= plain.certificate_.bound * (1 - 1e-9)


def test_least_absolute_deviations_is_the_median():
    model = LeastAbsoluteDeviations().fit(np.ones((5, 1)), [1.0, 2.0, 3.0, 4.0, 100.0])
    assert model.predict([[1.0]])[0] == pytest.approx(3.0)
    model = LeastAbsoluteDeviations(tol=1e-9).fit(X, Y)
    half = QuantileRegressor(quantile=0.5, alpha=0.0).fit(X, Y)
    assert model.certificate_.value == pytest.approx(2 * half.certificate_.value, rel=2e-6)
    off = Y - model.predict(X)
    wild = Y + np.where(np.abs(off) > 100.0, 1e5 * np.sign(off), 0.0)  # no sign changes
    again = LeastAbsoluteDeviations(tol=1e-9).fit(X, wild)
    assert np.allclose(again.predict(X), model.predict(X), rtol=1e-3)


@pytest.mark.parametrize("quantile", [0.0, 1.0, 1.5, [0.5, 1.0], [], [[0.5]], [0.2, 0.2], ["a"]])
def test_quantiles_outside_the_open_interval_are_refused(quantile):
    with pytest.raises(ValueError, match="quantile"):
        QuantileRegressor(quantile=quantile).fit(X, Y)


def test_negative_alpha_is_refused():
    with pytest.raises(ValueError, match="'alpha' parameter"):
        LeastAbsoluteDeviations(alpha=-1.0).fit(X, Y)


def test_the_score_of_several_quantiles_is_their_mean():
    each = [QuantileRegressor(quantile=q, alpha=0.1).fit(X, Y).predict(X) for q in (0.2, 0.7)]
    both = QuantileRegressor(quantile=[0.2, 0.7], alpha=0.1).fit(X, Y)
    d2 = [d2_pinball_score(Y, z, alpha=q) for z, q in zip(each, (0.2, 0.7), strict=True)]
    assert both.score(X, Y) == pytest.approx(np.mean(d2), rel=1e-4)


def test_exact_fits_and_float32_are_proved():
    x = np.arange(10.0)[:, None]
    for model in (LeastAbsoluteDeviations(), QuantileRegressor(quantile=0.8, alpha=0.0)):
        model.fit(x, 2.0 * x[:, 0] + 1.0)
        assert model.converged_ and model.n_iter_ < 100 and model.coef_[0] == pytest.approx(2.0)
    wide = np.random.default_rng(0).standard_normal((10, 30))
    assert LeastAbsoluteDeviations().fit(wide, wide[:, 0] ** 2).converged_
    model = LeastAbsoluteDeviations().fit(X.astype(np.float32), Y)
    assert model.converged_ and model.coef_.dtype == np.float32
