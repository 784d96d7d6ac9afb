"""Exact bounds of a rate, the number that carries its interval, and the check of two classes."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betaincinv
from scipy.stats import binom, binomtest

from fenchel import Estimate, binomial_interval
from fenchel.score.estimate import check_share
from fenchel.score.intervals.binomial import binomial_rate, lower_bound, upper_bound
from fenchel.score.labels import marked


@given(st.integers(1, 400), st.data(), st.sampled_from([0.5, 0.9, 0.95, 0.999]))
def test_the_interval_is_scipys(n, data, level):
    k = data.draw(st.integers(0, n))
    other = binomtest(k, n).proportion_ci(level, method="exact")
    assert binomial_interval(k, n, level) == pytest.approx((other.low, other.high), abs=1e-9)


def test_arrays_go_entry_by_entry():
    k, n = np.array([0, 3, 10]), np.array([10, 10, 10])
    low, high = binomial_interval(k, n)
    assert low[0] == 0.0 and high[2] == 1.0 and (low <= k / n).all() and (k / n <= high).all()
    for j in range(3):
        assert (low[j], high[j]) == binomial_interval(int(k[j]), 10)


@pytest.mark.parametrize("n", [1, 10, 50, 200])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_coverage_never_falls_short(n, level):
    """Summed over the binomial law itself, on a fine grid of rates and at the ends' own jumps."""
    k = np.arange(n + 1)
    low, high = binomial_interval(k, n, level)
    jumps = np.concatenate([low - 1e-12, high + 1e-12])
    grid = np.concatenate([np.linspace(0.0, 1.0, 2001), jumps[(jumps > 0.0) & (jumps < 1.0)]])
    law = binom.pmf(k[:, None], n, grid)
    inside = (low[:, None] <= grid) & (grid <= high[:, None])
    coverage = (law * inside).sum(axis=0)
    assert coverage.min() >= level - 1e-9
    if n == 200:
        assert coverage[(grid > 0.2) & (grid < 0.8)].max() < 1.0 - 0.2 * (1.0 - level)


@pytest.mark.parametrize("delta", [0.05, 1e-3, 1e-12])
def test_one_sided_bounds_hold_their_error(delta):
    n, k = 60, np.arange(61)
    upper, lower = upper_bound(k, n, delta), lower_bound(k, n, delta)
    assert binom.cdf(k[:-1], n, upper[:-1]) == pytest.approx(delta, rel=1e-8)
    assert binom.sf(k[1:] - 1, n, lower[1:]) == pytest.approx(delta, rel=1e-8)
    assert upper[-1] == 1.0 and lower[0] == 0.0
    assert 1.0 - lower[::-1] == pytest.approx(upper, rel=1e-12)
    assert upper_bound(0, 59, 0.05) < 0.05 < upper_bound(0, 58, 0.05)


def test_large_counts_and_small_errors():
    n = 10**9
    assert upper_bound(0, n, 1e-15) == pytest.approx(-math.log(1e-15) / n, rel=1e-6)
    assert lower_bound(n, n, 0.05) == pytest.approx(betaincinv(n, 1.0, 0.05), rel=1e-12)


def test_the_rate_carries_its_interval():
    rate = binomial_rate(3, 12, 0.9)
    assert rate == 0.25 and rate.level == 0.9 and rate.method == "exact binomial"
    assert (rate.low, rate.high) == binomial_interval(3, 12, 0.9)
    assert rate.standard_error == pytest.approx(math.sqrt(0.25 * 0.75 / 12))


@pytest.mark.parametrize(("k", "n"), [(-1, 5), (6, 5), (0, 0), (math.nan, 5)])
def test_impossible_counts(k, n):
    with pytest.raises(ValueError, match="between 0 and n"):
        binomial_interval(k, n)


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, 95, math.nan])
def test_a_share_lies_between(share):
    with pytest.raises(ValueError, match="level must lie strictly between 0 and 1"):
        binomial_interval(1, 2, level=share)
    with pytest.raises(ValueError, match="alpha must lie"):
        check_share(share, "alpha")


# ---------------------------------------------------------------------------------- the number


def test_an_estimate_is_a_float():
    found = Estimate(0.5, 0.25, 0.75, level=0.9, method="exact", standard_error=0.1)
    assert isinstance(found, float) and found == 0.5 and found * 2 == 1.0
    assert type(found + 0.0) is float and np.asarray(found).dtype == np.float64
    assert f"{found:.1f}" == "0.5" and hash(found) == hash(0.5)
    assert repr(found) == "Estimate(0.5, low=0.25, high=0.75, level=0.9, method='exact')"
    assert str(found) == "0.5 [0.25, 0.75] (90 %, exact)"
    assert math.isnan(Estimate(0.5, 0, 1, level=0.9, method="").standard_error)


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_an_estimate_survives_copies(again):
    found = Estimate(0.5, 0.25, 0.75, level=0.9, method="exact", standard_error=0.1)
    other = again(found)
    assert type(other) is Estimate and other == found
    for name in ("low", "high", "level", "method", "standard_error"):
        assert getattr(other, name) == getattr(found, name)


# ------------------------------------------------------------------------------------ two classes


@pytest.mark.parametrize(
    ("y", "pos_label", "positive"),
    [
        ([0, 1, 1], None, [0, 1, 1]),
        ([0, 1, 1], 0, [1, 0, 0]),
        ([-1, 1, -1], None, [0, 1, 0]),
        ([2.0, 5.0, 2.0], None, [0, 1, 0]),
        ([True, False, True], None, [1, 0, 1]),
        ([True, False, True], False, [0, 1, 0]),
        (["no", "yes", "no"], None, [0, 1, 0]),
        (["no", "yes", "no"], "no", [1, 0, 1]),
        (np.array(["b", "a", "b"], dtype=object), None, [1, 0, 1]),
        ([[0], [1], [1]], None, [0, 1, 1]),
    ],
)
def test_the_positive_class(y, pos_label, positive):
    rows = marked(y, [0.5, 1.5, 2.5], None, pos_label)
    assert rows.positive.tolist() == [bool(p) for p in positive]
    assert rows.score.dtype == np.float64 and rows.weight is None


def test_rows_without_weight_are_left_out():
    rows = marked([0, 1, 2, 1], [math.inf, -math.inf, 0.0, 1], [1.0, 2.0, 0.0, 0.5])
    assert rows.positive.tolist() == [False, True, True]
    assert rows.score.tolist() == [math.inf, -math.inf, 1.0] and rows.weight.tolist() == [1, 2, 0.5]


def test_a_part_of_a_table_may_have_one_class():
    assert marked([1, 1], [0.0, 1.0], pos_label=1, one_class=True).positive.all()
    assert not marked([0, 0], [0.0, 1.0], pos_label=1, one_class=True).positive.any()


def test_a_mark_leaves_its_inputs_alone():
    y, score, weight = np.array([0, 1, 1]), np.array([0.1, 0.2, 0.3]), np.array([1.0, 0.0, 2.0])
    for array in (y, score, weight):
        array.flags.writeable = False
    marked(y, score, weight)


@pytest.mark.parametrize(
    ("y", "score", "weight", "pos_label", "message"),
    [
        ([0, 1], [0.1, math.nan], None, None, "score is NaN in row 1"),
        ([0.0, math.nan], [0.1, 0.2], None, None, "y is NaN in row 1"),
        ([1, 1], [0.1, 0.2], None, None, "one class only, 1"),
        (["a", "a"], [0.1, 0.2], None, None, "one class only, 'a'"),
        ([0, 1, 2], [0.1, 0.2, 0.3], None, None, "more than two classes: 0, 2 and, in row 1, 1"),
        ([0, 1], [0.1, 0.2], None, 3, "pos_label=3 is not a label of y"),
        ([0, 1], [0.1, 0.2, 0.3], None, None, "y has 2 rows and the scores have 3"),
        ([0, 1], ["a", "b"], None, None, "scores must be numbers"),
        ([0, 1], [[0.1, 0.2], [0.3, 0.4]], None, None, r"one column of values, got shape \(2, 2\)"),
        ([], [], None, None, "empty"),
        (np.array([0, "a"], dtype=object), [0.1, 0.2], None, None, "different types"),
        ([0, 1], [0.1, 0.2], [1.0, -1.0], None, "row 1 has -1.0"),
        ([0, 1], [0.1, 0.2], [0.0, 0.0], None, "zero"),
        ([0, 1], [0.1, 0.2], [1.0], None, "sample_weight has 1"),
    ],
)
def test_errors_name_what_is_wrong(y, score, weight, pos_label, message):
    with pytest.raises(ValueError, match=message):
        marked(y, score, weight, pos_label)
