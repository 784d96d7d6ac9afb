"""Resampling of counted rows: definitions, blocks and seeds, measured coverage."""

from __future__ import annotations

import math

import numpy as np
import oracles.score as oracles
import pytest
from scipy.stats import beta, bootstrap, ks_2samp

from fenchel import bootstrap_interval
from fenchel.score.intervals import bootstrap as resampling
from fenchel.score.intervals.bootstrap import bayesian_bootstrap


def mean_of(values):
    return lambda counts: counts @ values / counts.sum(axis=-1)


def share_of_first(cells):
    return cells[..., 0] / cells.sum(axis=-1)


def test_the_interval_is_scipys_up_to_the_draws():
    x = np.random.default_rng(0).exponential(size=40)
    found = bootstrap_interval(mean_of(x), np.ones(40), n_bootstrap=40_000, level=0.9)
    other = bootstrap(
        (x,), np.mean, confidence_level=0.9, n_resamples=40_000, method="BCa", rng=1, batch=2000
    )
    width = found.high - found.low
    assert found == pytest.approx(x.mean())
    assert found.low == pytest.approx(other.confidence_interval.low, abs=0.02 * width)
    assert found.high == pytest.approx(other.confidence_interval.high, abs=0.02 * width)
    assert found.standard_error == pytest.approx(other.standard_error, rel=0.02)
    assert found.level == 0.9 and found.method == "BCa bootstrap, 40000 resamples"


def test_acceleration_is_the_jackknifes(monkeypatch):
    rng = np.random.default_rng(1)
    x, counts = rng.exponential(size=30), rng.integers(0, 5, size=30)
    exact = oracles.jackknife_acceleration(mean_of(x), counts)
    found = resampling._acceleration(mean_of(x), counts.astype(float))
    assert found == pytest.approx(exact, rel=1e-10)
    monkeypatch.setattr(resampling, "BLOCK", 64)
    blocked = resampling._acceleration(mean_of(x), counts.astype(float))
    assert blocked == pytest.approx(found, rel=1e-12)


def test_groups_of_rows_give_the_same_acceleration():
    x = np.random.default_rng(2).exponential(size=20_000)
    grouped = resampling._acceleration(mean_of(x), np.ones(20_000))
    skew = ((x - x.mean()) ** 3).mean() / x.std() ** 3
    assert grouped == pytest.approx(skew / (6 * math.sqrt(20_000)), abs=4e-3)


@pytest.mark.parametrize("times", [1, 40])
def test_blocks_change_nothing(monkeypatch, times):
    """Both ways of drawing: indices of rows, and multinomial counts."""
    x, counts = np.arange(7.0), np.full(7, times)
    whole = bootstrap_interval(mean_of(x), counts, n_bootstrap=101)
    monkeypatch.setattr(resampling, "BLOCK", 5 * 7 * times)
    parts = bootstrap_interval(mean_of(x), counts, n_bootstrap=101)
    assert (whole.low, whole.high, whole.standard_error) == (
        parts.low,
        parts.high,
        parts.standard_error,
    )
    total = np.array([3.0, 2.0, 1.0])
    ask = {"level": 0.9, "n_bootstrap": 101, "random_state": 0}
    small = bayesian_bootstrap(share_of_first, total, total, **ask)
    monkeypatch.undo()
    assert bayesian_bootstrap(share_of_first, total, total, **ask) == small


def test_both_ways_of_drawing_have_one_law():
    x, counts = np.array([0.0, 1.0, 5.0]), np.array([70.0, 20.0, 10.0])
    by_counts = resampling._resampled(mean_of(x), counts, 4000, 0)
    rows = np.repeat(x, counts.astype(int))
    by_rows = resampling._resampled(mean_of(rows), np.ones(100), 4000, 1)
    assert ks_2samp(by_counts, by_rows).pvalue > 0.01


def test_memory_stays_in_blocks():
    widest = 0

    def statistic(counts):
        nonlocal widest
        widest = max(widest, counts.size)
        return counts[:, 0] / counts.sum(axis=1)

    bootstrap_interval(statistic, np.ones(30_000), n_bootstrap=100)
    assert widest <= resampling.BLOCK


def test_the_seed_decides():
    x, counts = np.random.default_rng(3).random(10), np.ones(10)
    first, again = (bootstrap_interval(mean_of(x), counts) for _ in range(2))
    other = bootstrap_interval(mean_of(x), counts, random_state=1)
    assert (first.low, first.high) == (again.low, again.high) != (other.low, other.high)


def test_a_statistic_that_never_moves():
    found = bootstrap_interval(mean_of(np.full(5, 2.0)), np.ones(5))
    assert found.low == found == found.high == 2.0


def test_undefined_resamples_are_left_out():
    """The mean of the rows of a class that few resamples lack."""

    def statistic(counts):
        inside = counts[:, :3].sum(axis=1)
        with np.errstate(invalid="ignore"):
            return counts[:, :3] @ np.array([1.0, 2.0, 4.0]) / inside

    found = bootstrap_interval(statistic, np.ones(12))
    assert 1.0 <= found.low < found < found.high <= 4.0
    with pytest.raises(ValueError, match="NaN on the sample"):
        bootstrap_interval(lambda counts: np.full(len(counts), math.nan), np.ones(3))


@pytest.mark.parametrize(
    ("counts", "settings", "message"),
    [
        ([[1, 2]], {}, "one row of numbers"),
        ([1.5, 2], {}, "whole numbers"),
        ([-1, 5], {}, "whole numbers"),
        ([1, math.nan], {}, "whole numbers"),
        ([1, math.inf], {}, "whole numbers"),
        ([1], {}, "at least two rows"),
        ([], {}, "at least two rows"),
        ([1, 1], {"level": 1.0}, "level must lie"),
        ([1, 1], {"n_bootstrap": 39}, "n_bootstrap=39 is too few for level=0.95: .* at least 40"),
    ],
)
def test_errors_name_what_is_wrong(counts, settings, message):
    with pytest.raises(ValueError, match=message):
        bootstrap_interval(lambda c: c[:, 0] / c.sum(axis=1), counts, **settings)


def test_equal_rows_make_beta_laws():
    total = np.array([7.5, 3.5])
    low, high, error = bayesian_bootstrap(
        share_of_first, total, total, level=0.9, n_bootstrap=200_000, random_state=3
    )
    law = beta(7.5, 3.5)
    assert (low, high, error) == pytest.approx((law.ppf(0.05), law.ppf(0.95), law.std()), abs=2e-3)
    # Three times the weight is the same law.
    heavy = bayesian_bootstrap(
        share_of_first, 3 * total, 9 * total, level=0.9, n_bootstrap=200_000, random_state=3
    )
    assert heavy == pytest.approx((low, high, error), rel=1e-12)


def test_cells_stand_for_their_rows():
    """Gamma laws of matched variance against exponential weights of all rows, one by one."""
    rng = np.random.default_rng(4)
    cell, weight = rng.integers(0, 3, size=120), np.exp(0.7 * rng.standard_normal(120))
    total = np.bincount(cell, weight)
    square = np.bincount(cell, weight**2)
    low, high, _ = bayesian_bootstrap(
        share_of_first, total, square, level=0.9, n_bootstrap=40_000, random_state=0
    )
    rows = oracles.reweighted_interval(share_of_first, cell, weight, 3, 0.9, 20_000, 5)
    assert (low, high) == pytest.approx(tuple(rows), abs=0.02 * (high - low))


def test_empty_cells_stay_empty():
    total = np.array([5.0, 0.0])
    found = bayesian_bootstrap(
        share_of_first, total, total, level=0.9, n_bootstrap=50, random_state=0
    )
    assert found == (1.0, 1.0, 0.0)


def deviation_of(x):
    def statistic(counts):
        n = counts.sum(axis=1)
        return np.sqrt(counts @ x**2 / n - (counts @ x / n) ** 2)

    return statistic


@pytest.mark.parametrize(
    ("draw", "statistic_of", "truth"),
    [
        (lambda rng: rng.standard_normal(200), deviation_of, 1.0),
        (lambda rng: rng.exponential(size=200), mean_of, 1.0),
    ],
    ids=["deviation", "mean"],
)
def test_coverage_of_smooth_statistics(draw, statistic_of, truth):
    rng, hits = np.random.default_rng(6), 0
    for _ in range(2000):
        found = bootstrap_interval(statistic_of(draw(rng)), np.ones(200), n_bootstrap=1000)
        hits += found.low <= truth <= found.high
    assert 0.93 <= hits / 2000 <= 0.97, hits / 2000
