"""Measured coverage of intervals that no other file measures: comparisons of parts, weights."""

from __future__ import annotations

from functools import partial

import numpy as np
import oracles.parts as oracles
import pytest

import fenchel
import fenchel.score.area.partial_auc as part_of_a_curve
from fenchel import Curve, compare_partial_auc
from fenchel.score.intervals.roc_bayesian_bootstrap import pivot_interval

MODEST = oracles.Binormal(1.0)


def covered(trial, repeats, seed=0):
    """Share of draws whose interval holds the truth."""
    rng = np.random.default_rng(seed)
    hits = 0
    for _ in range(repeats):
        found, truth = trial(rng)
        hits += found.low <= truth <= found.high
    return hits / repeats


@pytest.mark.parametrize(
    "box",
    [
        {"max_fpr": 0.2},
        pytest.param({"min_tpr": 0.8}, marks=pytest.mark.exhaustive),
        pytest.param({"max_fpr": 0.3, "min_tpr": 0.5}, marks=pytest.mark.exhaustive),
    ],
    ids=["few alarms", "few misses", "two-way"],
)
def test_coverage_of_the_difference_of_two_parts(box, monkeypatch):
    """Two scores of the same rows that share half of their noise."""
    # The intervals of the areas themselves are measured elsewhere, and dear.
    monkeypatch.setattr(part_of_a_curve, "pivot_interval", partial(pivot_interval, n_draws=80))
    first, second = oracles.Binormal(1.5), oracles.Binormal(1.0)
    names = ("min_fpr", "max_fpr", "min_tpr", "max_tpr")
    ends = [box.get(name, default) for name, default in zip(names, (0.0, 1.0) * 2, strict=True)]
    truth = first.area(*ends) - second.area(*ends)

    def trial(rng):
        y = np.arange(240) < 100
        shared, own, other = rng.standard_normal((3, y.size))
        a = 1.5 * y + np.sqrt(0.5) * (shared + own)
        b = 1.0 * y + np.sqrt(0.5) * (shared + other)
        return compare_partial_auc(y, a, b, **box).difference, truth

    assert 0.93 <= covered(trial, 800) <= 0.97


@pytest.mark.parametrize("method", ["logit", "plain"])
def test_coverage_of_the_area_by_either_method(method):
    truth = MODEST.area()

    def trial(rng):
        y = np.arange(200) < 80
        return fenchel.auc(y, MODEST.draw(rng, y), level=0.95, method=method), truth

    assert 0.93 <= covered(trial, 2000) <= 0.97


@pytest.mark.parametrize(
    "weigh",
    [lambda rng, s: rng.lognormal(0.0, 0.7, s.size), lambda rng, s: np.exp(0.5 * s)],
    ids=["lognormal", "with the score"],
)
def test_coverage_of_the_area_with_weights(weigh):
    rng = np.random.default_rng(1)
    y = rng.random(1_000_000) < 0.4
    s = MODEST.draw(rng, y)
    truth = Curve.of(y, s, sample_weight=weigh(rng, s)).auc()

    def trial(rng):
        y = rng.random(400) < 0.4
        s = MODEST.draw(rng, y)
        return fenchel.auc(y, s, sample_weight=weigh(rng, s), level=0.95), truth

    assert 0.93 <= covered(trial, 2000) <= 0.97
