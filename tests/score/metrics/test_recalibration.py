"""Calibration slope and intercept."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from fenchel import calibration_intercept, calibration_slope


def forecasts(n=400, slope=1.0, shift=0.0, seed=0):
    """Probabilities whose true logit is shift + slope times theirs."""
    rng = np.random.default_rng(seed)
    z = rng.normal(0.0, 1.5, n)
    return rng.random(n) < expit(shift + slope * z), expit(z)


def test_the_slope_is_that_of_a_logistic_regression():
    y, p = forecasts(slope=0.6, shift=0.4)
    peer = LogisticRegression(C=np.inf, tol=1e-12, max_iter=1000).fit(logit(p)[:, None], y)
    assert calibration_slope(y, p) == pytest.approx(peer.coef_[0, 0], rel=1e-6)


def test_the_intercept_makes_the_mean_right():
    y, p = forecasts(shift=0.7)
    a = calibration_intercept(y, p)
    assert expit(a + logit(p)).mean() == pytest.approx(y.mean(), rel=1e-10)


def test_what_is_wrong_is_told_apart():
    y, p = forecasts(5000, slope=0.5)
    assert calibration_slope(y, p, level=0.95).high < 0.7
    y, p = forecasts(5000, shift=0.5)
    assert calibration_intercept(y, p, level=0.95).low > 0.3


def test_weights_count_rows():
    y, p = forecasts()
    s = np.random.default_rng(1).integers(0, 4, len(y))
    again = np.repeat(y, s), np.repeat(p, s)
    assert calibration_slope(y, p, sample_weight=s) == pytest.approx(calibration_slope(*again))
    whole = calibration_intercept(y, p, sample_weight=s)
    assert whole == pytest.approx(calibration_intercept(*again))


def test_a_certain_forecast_is_finite():
    y, p = forecasts()
    p[:2], y[:2] = [0.0, 1.0], [False, True]
    assert np.isfinite(calibration_slope(y, p, level=0.95).low)


@pytest.mark.parametrize(
    ("y", "p", "words"),
    [
        ([0, 1, 1, 0], [0.3] * 4, "all equal"),
        ([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4], "separate the classes"),
        ([0, 0, 1, 1], [0.1, 0.2, 1.3, 0.4], r"y_proba\[2\] is 1.3"),
    ],
)
def test_no_slope(y, p, words):
    with pytest.raises(ValueError, match=words):
        calibration_slope(y, p)


@pytest.mark.parametrize("n", [60, 400])
def test_coverage(n):
    slopes = [calibration_slope(*forecasts(n, seed=seed), level=0.95) for seed in range(400)]
    shifts = [calibration_intercept(*forecasts(n, seed=seed), level=0.95) for seed in range(400)]
    assert np.mean([one.low <= 1.0 <= one.high for one in slopes]) >= 0.91
    assert np.mean([one.low <= 0.0 <= one.high for one in shifts]) >= 0.91


def test_extreme_probabilities_without_an_error_tell_next_to_nothing():
    """Calibrated, and hardly an error is expected: the interval must not shrink with residuals."""
    hits = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        z = np.where(rng.random(150) < 0.3, 1.0, -1.0) * rng.uniform(5.0, 9.0, 150)
        found = calibration_intercept(rng.random(150) < expit(z), expit(z), level=0.95)
        hits += found.low <= 0.0 <= found.high
    assert hits / 200 >= 0.9  # the sandwich alone: 0.22
