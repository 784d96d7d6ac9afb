"""Gini coefficient and Kolmogorov-Smirnov statistic."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ks_2samp, norm
from sklearn.metrics import roc_auc_score

from fenchel import Curve, auc, curve_gini, curve_ks, gini, ks_statistic


def scores(n=60, m=90, apart=1.0, seed=0, digits=None):
    rng = np.random.default_rng(seed)
    score = np.concatenate([rng.normal(apart, 1.0, n), rng.normal(0.0, 1.0, m)])
    y = np.repeat([1, 0], [n, m])
    return y, score if digits is None else score.round(digits)


@pytest.mark.parametrize("digits", [None, 0, 1])
@pytest.mark.parametrize("apart", [0.0, 0.5, 3.0])
def test_against_scipy_and_scikit_learn(apart, digits):
    y, score = scores(apart=apart, digits=digits)
    expected = ks_2samp(score[y == 1], score[y == 0], alternative="less").statistic
    assert ks_statistic(y, score) == pytest.approx(expected, rel=1e-12)
    assert gini(y, score) == pytest.approx(2.0 * roc_auc_score(y, score) - 1.0, rel=1e-12)


def test_intervals_hold_the_value_and_follow_the_area():
    y, score = scores()
    found, area = gini(y, score, level=0.9), auc(y, score, level=0.9)
    assert found.low == pytest.approx(2.0 * area.low - 1.0) and found.method == area.method
    ks = ks_statistic(y, score, level=0.9)
    assert 0.0 <= ks.low < ks < ks.high <= 1.0 and ks.level == 0.9


def test_a_weight_counts_rows_and_a_label_names_the_positives():
    y, score = scores()
    s = np.random.default_rng(1).integers(0, 4, len(y))
    again = np.repeat(y, s), np.repeat(score, s)
    assert ks_statistic(y, score, sample_weight=s) == pytest.approx(ks_statistic(*again))
    assert gini(y, score, sample_weight=s) == pytest.approx(gini(*again))
    named = np.where(y == 1, "bad", "good")
    assert ks_statistic(named, score, pos_label="bad") == ks_statistic(y, score)


def test_parts_of_a_table_add_up():
    y, score = scores()
    parts = [Curve.of(y[k::3], score[k::3], pos_label=1) for k in range(3)]
    assert curve_ks(sum(parts), 0.95) == ks_statistic(y, score)
    assert curve_gini(sum(parts), 0.95) == pytest.approx(gini(y, score))


def test_a_constant_score_is_exact():
    found = ks_statistic([0, 1, 1], [0.5, 0.5, 0.5], level=0.95)
    assert found == 0.0 and found.is_exact


def test_perfect_order():
    found = ks_statistic([0] * 20 + [1] * 20, range(40), level=0.95)
    assert found == 1.0 and found.high == 1.0 and found.low < 0.95


COVERED = [(30, 300, 0.0), (50, 50, 0.6), (200, 200, 1.0), (200, 200, 3.0)]


@pytest.mark.parametrize(("n", "m", "apart"), COVERED)
def test_coverage(n, m, apart):
    _covered(n, m, apart, 300, 0.90)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("n", "m"), [(12, 12), (30, 300), (50, 50), (200, 200), (500, 2000)])
@pytest.mark.parametrize("apart", [0.0, 0.15, 0.3, 0.6, 1.0, 2.0, 3.0, 4.5])
def test_coverage_everywhere(n, m, apart):
    _covered(n, m, apart, 2000, 0.92)


def _covered(n, m, apart, trials, least):
    true = 2.0 * norm.cdf(apart / 2.0) - 1.0
    found = [ks_statistic(*scores(n, m, apart, seed), level=0.95) for seed in range(trials)]
    assert np.mean([one.low <= true <= one.high for one in found]) >= least
