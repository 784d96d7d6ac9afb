"""The NP-ROC band: by its definition, against the threshold it belongs to, and by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from oracles.score import clopper_pearson

from fenchel import GaussianClasses, neyman_pearson_threshold, np_roc_band

CLASSES = GaussianClasses([0.0, 1.5])


def test_each_entry_by_its_definition():
    X, y = CLASSES.sample(60, random_state=0)
    score = np.round(CLASSES.score(X), 1)
    band = np_roc_band(y, score, delta=0.1)
    negatives, positives = np.sort(score[y == 0]), score[y == 1]
    n, P = negatives.size, positives.size
    assert band.alpha.size == n and band.delta == 0.1
    for i in range(0, n, 5):
        k = n - i
        assert band.threshold[i] == negatives[k - 1]
        # two-sided at 0.8 has tails of 0.1
        assert band.alpha[i] == pytest.approx(clopper_pearson(n - k, n, 0.8)[1], abs=1e-9)
        flagged = int((positives > negatives[k - 1]).sum())
        low, high = clopper_pearson(flagged, P, 0.8)
        assert band.lower[i] == pytest.approx(low, abs=1e-9)
        assert band.upper[i] == pytest.approx(high, abs=1e-9)
    assert (np.diff(band.alpha) > 0).all()
    assert (np.diff(band.lower) >= 0).all() and (np.diff(band.upper) >= 0).all()


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.3, 0.9])
@pytest.mark.parametrize("delta", [0.05, 0.3, 0.7])
def test_it_meets_the_neyman_pearson_threshold(alpha, delta):
    X, y = CLASSES.sample(500, random_state=1)
    score = CLASSES.score(X)
    threshold, lower, upper = np_roc_band(y, score, delta=delta).at(alpha)
    assert threshold == neyman_pearson_threshold(score[y == 0], alpha, delta)
    assert lower < upper or delta > 0.5


def test_order_alone_matters_and_labels_may_be_named():
    X, y = CLASSES.sample(200, random_state=2)
    score = CLASSES.score(X)
    plain = np_roc_band(y, score)
    for other in (np.exp(score), score.astype(np.float32) * 3):
        band = np_roc_band(np.where(y, "a", "b"), other, pos_label="a")
        np.testing.assert_array_equal(band.lower, plain.lower)
        np.testing.assert_array_equal(band.alpha, plain.alpha)
    order = np.random.default_rng(0).permutation(200)
    np.testing.assert_array_equal(np_roc_band(y[order], score[order]).upper, plain.upper)


def test_infinite_scores_and_faults():
    band = np_roc_band([0, 0, 1, 1], [-np.inf, np.inf, np.inf, 0.0], delta=0.4)
    assert band.threshold.tolist() == [np.inf, -np.inf]
    assert band.lower[0] == 0.0 and band.upper[1] == 1.0
    with pytest.raises(ValueError, match=r"alpha=0.05 is below 0.3675, the least rate that 2"):
        band.at(0.05)
    with pytest.raises(ValueError, match="delta must lie"):
        np_roc_band([0, 1], [0.0, 1.0], delta=0.0)
    with pytest.raises(ValueError, match="NaN in row 1"):
        np_roc_band([0, 1], [0.0, np.nan])


@pytest.mark.parametrize("digits", [None, 0])
def test_each_bound_holds_with_its_probability(digits):
    """Continuous and coarse scores; at fixed k the three bounds are missed at most δ of the time,
    and for continuous scores α is missed exactly as often."""
    repeats, delta, n, P = 4000, 0.1, 80, 70
    rng = np.random.default_rng(6)
    entries = np.array([0, 5, 20, 60])
    missed = np.zeros((3, entries.size))
    y = np.repeat([0, 1], [n, P])
    for _ in range(repeats):
        x = rng.normal(size=n + P) + 1.5 * y
        score = x if digits is None else np.round(x, digits)
        band = np_roc_band(y, score, delta=delta)
        cut = band.threshold[entries]
        # round(x) > m means x > m + 1/2
        edge = cut if digits is None else cut + 0.5
        fpr, tpr = (_tail(edge - mean) for mean in (0.0, 1.5))
        missed[0] += fpr > band.alpha[entries]
        missed[1] += tpr < band.lower[entries]
        missed[2] += tpr > band.upper[entries]
    noise = 3.0 * math.sqrt(delta / repeats)
    assert (missed / repeats <= delta + noise).all(), missed / repeats
    if digits is None:
        assert (np.abs(missed[0] / repeats - delta) <= noise).all(), missed[0] / repeats


def _tail(z):
    return 0.5 * np.array([math.erfc(v / math.sqrt(2.0)) for v in z])


def test_many_rows_are_quick():
    X, y = CLASSES.sample(1_000_000, random_state=0)
    band = np_roc_band(y, CLASSES.score(X))
    _, lower, upper = band.at(0.1)
    assert lower < CLASSES.true_roc(0.1) < upper + 0.01
