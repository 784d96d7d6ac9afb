"""The band of a whole curve: definition, order, measured coverage of the true ROC."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from fenchel import Curve, curve_roc_band, roc_band

GRID = np.concatenate([[0.0], np.geomspace(1e-6, 0.02, 200), np.linspace(0.02, 1.0, 400)[1:]])


def truth(shift):
    """The ROC of normal scores whose means differ by `shift`, of one deviation."""
    return ndtr(shift + ndtri(GRID))


def draw(rng, positives, negatives, shift):
    y = np.arange(positives + negatives) < positives
    return y, rng.standard_normal(y.size) + shift * y


def covered(method, sizes, shift, repeats, seed):
    rng = np.random.default_rng(seed)
    curve = truth(shift)
    bands = (roc_band(*draw(rng, *sizes, shift), method=method) for _ in range(repeats))
    return sum(band.contains(GRID, curve) for band in bands) / repeats


def test_the_exact_band_is_made_of_massarts_distances():
    y, score = draw(np.random.default_rng(0), 40, 60, 1.0)
    band, curve = roc_band(y, score, method="exact"), Curve.of(y, score)
    delta = 1.0 - math.sqrt(0.95)
    up, right = (math.sqrt(math.log(2.0 / delta) / (2.0 * n)) for n in (40, 60))
    for t in np.linspace(0.0, 0.999, 57):
        low, high = band.at(t)
        # The curve, moved by both distances: no rate beyond it is left in.
        above = curve.tpr[curve.fpr <= min(t + right, 1.0)].max() + up
        below = curve.tpr[curve.fpr <= max(t - right, 0.0)].max() - up if t >= right else 0.0
        assert high <= min(above, 1.0) + 1.0 / 40 + 1e-12
        assert low >= max(below, 0.0) - 1.0 / 40 - 1e-12
        assert low <= high


def test_bands_hold_their_own_curve_and_rise():
    rng = np.random.default_rng(1)
    for sizes in ((5, 5), (30, 100), (400, 50)):
        y, score = draw(rng, *sizes, 1.5)
        curve = Curve.of(y, np.round(score, 1))
        for method in ("exact", "bootstrap"):
            band = curve_roc_band(curve, method=method)
            assert band.contains(curve.fpr, curve.tpr)
            assert (np.diff(band.lower) >= 0.0).all() and (np.diff(band.upper) >= 0.0).all()
            assert band.lower.min() >= 0.0 and band.upper.max() <= 1.0
            wider = curve_roc_band(curve, method=method, level=0.99)
            low, high = wider.at(GRID)
            inner_low, inner_high = band.at(GRID)
            assert (low <= inner_low + 1e-12).all() and (high >= inner_high - 1e-12).all()


def test_the_same_seed_gives_the_same_band_and_order_is_all_that_counts():
    y, score = draw(np.random.default_rng(2), 30, 30, 1.0)
    one, two = roc_band(y, score), roc_band(y, np.exp(score))
    np.testing.assert_array_equal(one.lower, two.lower)
    np.testing.assert_array_equal(one.upper, two.upper)


def test_the_exact_band_covers_at_least_its_level():
    assert covered("exact", (40, 60), 1.0, 500, seed=3) >= 0.95


@pytest.mark.parametrize(
    ("sizes", "shift"),
    [((60, 60), 1.0), pytest.param((40, 120), 2.0, marks=pytest.mark.exhaustive)],
)
def test_coverage_of_the_bootstrap_band(sizes, shift):
    """A little too much: 98.2 % in 1000 samples of 60 and 60 rows, as its docstring says."""
    assert 0.94 <= covered("bootstrap", sizes, shift, 250, seed=4) <= 0.99


@pytest.mark.exhaustive
@pytest.mark.parametrize("sizes", [(30, 30), (60, 60), (40, 200), (300, 300)])
@pytest.mark.parametrize("shift", [0.5, 1.5, 2.5])
def test_coverage_of_the_bootstrap_band_at_length(sizes, shift):
    assert 0.94 <= covered("bootstrap", sizes, shift, 1000, seed=5) <= 0.99


def test_errors_name_what_is_wrong():
    y, score = draw(np.random.default_rng(0), 10, 10, 1.0)
    weighted = Curve.of(y, score, sample_weight=np.arange(1.0, 21.0))
    with pytest.raises(ValueError, match="without sample_weight"):
        curve_roc_band(weighted)
    with pytest.raises(ValueError, match="method"):
        roc_band(y, score, method="x")
    band = roc_band(y, score)
    with pytest.raises(ValueError, match="between 0 and 1"):
        band.at(1.5)
    with pytest.raises(ValueError, match="must rise"):
        band.contains([0.0, 0.5, 1.0], [0.0, 0.7, 0.5])
