"""The threshold table: counts by hand, bounds by bisection, coverage by simulation."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from oracles.score import clopper_pearson, rates_at
from sklearn.metrics import precision_score, recall_score

from fenchel import GaussianClasses, neyman_pearson_threshold, threshold_table
from fenchel.score.intervals.binomial import binomial_interval
from fenchel.score.intervals.binomial_spline import spline_intervals

CLASSES = GaussianClasses([0.0, 1.5], prior=0.3)
BOUNDED = ("tpr", "fpr", "precision", "flagged", "cost")


def rows(n=60, seed=0):
    X, y = CLASSES.sample(n, random_state=seed)
    return y, np.round(CLASSES.score(X), 1)


@pytest.mark.parametrize("prior", [None, 0.05])
@pytest.mark.parametrize(("cost_fp", "cost_fn"), [(1.0, 1.0), (2.0, 7.0)])
def test_every_row_by_its_definition(prior, cost_fp, cost_fn):
    y, score = rows()
    table = threshold_table(y, score, prior=prior, cost_fp=cost_fp, cost_fn=cost_fn)
    np.testing.assert_array_equal(table.threshold, [np.inf, *np.unique(score)[::-1]])
    share = y.mean() if prior is None else prior
    assert table.prior == share and (table.n_positive, table.n_negative) == (y.sum(), 60 - y.sum())
    for i, t in enumerate(table.threshold):
        tpr, fpr = rates_at(y, score, t)
        flagged = share * tpr + (1 - share) * fpr
        assert table.tpr[i] == pytest.approx(tpr) and table.fpr[i] == pytest.approx(fpr)
        assert table.flagged[i] == pytest.approx(flagged)
        cost = share * cost_fn * (1 - tpr) + (1 - share) * cost_fp * fpr
        assert table.cost[i] == pytest.approx(cost)
        if not (score >= t).any():
            assert np.isnan([table.precision[i], table.precision_low[i]]).all()
            continue
        assert table.precision[i] == pytest.approx(share * tpr / flagged)
        if prior is None:
            assert table.precision[i] == pytest.approx(precision_score(y, score >= t))
            assert table.tpr[i] == pytest.approx(recall_score(y, score >= t))


def test_bounds_are_those_of_clopper_and_pearson():
    y, score = rows()
    P, N = int(y.sum()), int(60 - y.sum())
    table = threshold_table(y, score, level=0.9, cost_fn=3.0)
    for i in (0, 5, len(table) // 2, len(table) - 1):
        tp, fp = int(table.tp[i]), int(table.fp[i])
        pairs = [("tpr", tp, P), ("fpr", fp, N), ("flagged", tp + fp, 60)]
        if tp + fp:
            pairs.append(("precision", tp, tp + fp))
        for name, k, n in pairs:
            low, high = clopper_pearson(k, n, 0.9)
            assert getattr(table, f"{name}_low")[i] == pytest.approx(low, abs=1e-9)
            assert getattr(table, f"{name}_high")[i] == pytest.approx(high, abs=1e-9)
        missed, raised = clopper_pearson(P - tp, 60, 0.95), clopper_pearson(fp, 60, 0.95)
        assert table.cost_low[i] == pytest.approx(3 * missed[0] + raised[0], abs=1e-9)
        assert table.cost_high[i] == pytest.approx(3 * missed[1] + raised[1], abs=1e-9)
    equal = threshold_table(y, score, level=0.9, cost_fn=2.0, cost_fp=2.0)
    errors = (P - equal.tp) + equal.fp
    low, high = binomial_interval(errors, 60, 0.9)
    np.testing.assert_allclose(equal.cost_low, 2 * low)
    np.testing.assert_allclose(equal.cost_high, 2 * high)


def test_bounds_under_another_prior_come_from_the_pair():
    y, score = rows()
    table = threshold_table(y, score, prior=0.02, level=0.9)
    wide = threshold_table(y, score, level=0.95)
    low = 0.02 * wide.tpr_low / (0.02 * wide.tpr_low + 0.98 * wide.fpr_high)
    np.testing.assert_allclose(table.precision_low[1:], low[1:])
    np.testing.assert_allclose(
        table.cost_high, 0.02 * (1 - wide.tpr_low) + 0.98 * wide.fpr_high, atol=1e-15
    )
    assert (table.precision_high[table.fp == 0][1:] == 1.0).all()


@pytest.mark.parametrize("prior", [None, 0.3])
def test_bounds_enclose_and_columns_make_a_frame(prior):
    y, score = rows(200)
    before = y.copy(), score.copy()
    table = threshold_table(y, score, prior=prior, cost_fn=4.0)
    np.testing.assert_array_equal(y, before[0])
    np.testing.assert_array_equal(score, before[1])
    for name in BOUNDED:
        value, low, high = (getattr(table, name + end)[1:] for end in ("", "_low", "_high"))
        assert (low <= value + 1e-12).all() and (value <= high + 1e-12).all(), name
    columns = table.to_dict()
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns)):
        assert len(frame) == len(table) == table.threshold.size
        assert list(frame.columns)[:3] == ["threshold", "tp", "fp"]


def test_a_row_for_any_threshold():
    y, score = rows()
    table = threshold_table(y, score)
    for t in (-100.0, -0.55, 0.1, 0.3, 99.0, math.inf):
        row = table.at(t)
        assert (row["tpr"], row["fpr"]) == pytest.approx(rates_at(y, score, t))
    cut = neyman_pearson_threshold(score[y == 0], 0.2, 0.2)
    assert table.at(cut)["fp"] == (score[y == 0] > cut).sum()
    chosen = threshold_table(y, score, thresholds=[0.0, 0.55, 9.0, 0.0])
    np.testing.assert_array_equal(chosen.threshold, [9.0, 0.55, 0.0])
    assert chosen.at(0.55) == pytest.approx({**table.at(0.55), "threshold": 0.55}, nan_ok=True)
    for absent in (0.3, 10.0):
        with pytest.raises(ValueError, match="not in the table"):
            chosen.at(absent)


def test_infinite_scores_and_labels():
    table = threshold_table(["n", "y", "n", "y"], [np.inf, np.inf, -np.inf, 0.0])
    np.testing.assert_array_equal(table.threshold, [np.inf, 0.0, -np.inf])
    assert table.tp.tolist() == [1, 2, 2] and table.fp.tolist() == [1, 1, 2]
    flipped = threshold_table(["n", "y", "n", "y"], [0.0, 1.0, 2.0, 3.0], pos_label="n")
    assert flipped.tp.tolist() == [0, 0, 1, 1, 2]
    with pytest.raises(ValueError, match="none of them NaN"):
        threshold_table([0, 1], [0.0, 1.0], thresholds=[np.nan])
    with pytest.raises(ValueError, match="one class"):
        threshold_table([1, 1], [0.0, 1.0])
    with pytest.raises(ValueError, match="level must lie"):
        threshold_table([0, 1], [0.0, 1.0], level=95)


@pytest.mark.parametrize("prior", [None, 0.1])
def test_coverage_of_every_bound(prior):
    """At a fixed threshold all five pairs hold with the probability promised, and not much more."""
    threshold, repeats, n = 0.0, 2000, 300
    fpr, tpr = CLASSES.true_rates(threshold)
    share = CLASSES.prior if prior is None else prior
    flagged = share * tpr + (1 - share) * fpr
    truth = {
        "tpr": tpr,
        "fpr": fpr,
        "precision": share * tpr / flagged,
        "flagged": flagged,
        "cost": share * 3.0 * (1 - tpr) + (1 - share) * fpr,
    }
    rng = np.random.default_rng(11)
    hits = dict.fromkeys(BOUNDED, 0)
    for _ in range(repeats):
        X, y = CLASSES.sample(n, rng)
        table = threshold_table(
            y, CLASSES.score(X), thresholds=[threshold], prior=prior, cost_fn=3.0
        )
        for name in BOUNDED:
            low, high = getattr(table, name + "_low")[0], getattr(table, name + "_high")[0]
            hits[name] += low <= truth[name] <= high
    noise = 3.0 * math.sqrt(0.05 * 0.95 / repeats)
    rates = {name: count / repeats for name, count in hits.items()}
    assert all(rate >= 0.95 - noise for rate in rates.values()), rates
    tight = ("tpr", "fpr") if prior else ("tpr", "fpr", "precision", "flagged")
    assert all(rates[name] <= 0.985 for name in tight), rates


# ---------------------------------------------------------------------------- very many counts


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("n", [60_000, 1_000_000])
def test_many_bounds_of_one_number_of_trials(level, n):
    low, high = spline_intervals(np.arange(n + 1), n, level)
    some = np.unique(np.concatenate([np.arange(60), n - np.arange(60), np.linspace(0, n, 300)]))
    some = some.astype(int)
    exact = binomial_interval(some, n, level)
    for found, right in ((low[some], exact[0]), (high[some], exact[1])):
        np.testing.assert_allclose(found, right, rtol=1e-8)
        np.testing.assert_allclose(1 - found, 1 - right, rtol=1e-8)
    assert (np.diff(low) > 0).all() and (np.diff(high) > 0).all()


@pytest.mark.parametrize("rate", [0.0, 0.001, 0.3, 0.999, 1.0])
def test_many_bounds_of_growing_numbers_of_trials(rate):
    n = 200_000
    k = np.cumsum(np.random.default_rng(0).random(n) < rate)
    trials = np.arange(1, n + 1)
    found = spline_intervals(k, trials, 0.95)
    some = np.unique(np.concatenate([np.arange(1200), np.linspace(0, n - 1, 500)])).astype(int)
    exact = binomial_interval(k[some], trials[some], 0.95)
    for have, right in zip(found, exact, strict=True):
        np.testing.assert_allclose(have[some], right, rtol=1e-7)
        np.testing.assert_allclose(1 - have[some], 1 - right, rtol=1e-7)


def test_many_counts_of_few_trials_are_direct():
    k = np.tile(np.arange(11), 10_000)
    low, high = spline_intervals(k, 10, 0.9)
    np.testing.assert_array_equal(low[:11], binomial_interval(np.arange(11), 10, 0.9)[0])
    np.testing.assert_array_equal(high, np.tile(high[:11], 10_000))


def test_large_tables_agree_with_small_ones():
    X, y = CLASSES.sample(200_000, random_state=2)
    score = CLASSES.score(X)
    table = threshold_table(y, score, cost_fn=2.0)
    assert len(table) == 200_001
    picked = table.threshold[[100, 5000, 100_000, 199_000]]
    few = threshold_table(y, score, cost_fn=2.0, thresholds=picked)
    for name in few.to_dict():
        want = [table.at(t)[name] for t in picked]
        np.testing.assert_allclose(getattr(few, name), want, rtol=1e-8)


def test_rows_that_the_table_does_not_have():
    negatives = np.append(np.full(3, math.inf), np.arange(57.0))
    y, score = np.append(np.zeros(60), np.ones(3)), np.append(negatives, [math.inf, 1.0, 2.0])
    table = threshold_table(y, score)
    never = neyman_pearson_threshold(negatives)
    assert never == math.inf and not never.flags(score).any()
    with pytest.raises(ValueError, match="score > inf flags nothing"):
        table.at(never)
    assert table.at(math.inf)["fp"] == 3  # score ≥ inf
    with pytest.raises(ValueError, match="nan is not in the table"):
        table.at(math.nan)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"thresholds": ["a"]}, "thresholds must be numbers"),
        ({"cost_fp": "a"}, "cost_fp must be a finite number"),
        ({"level": "a"}, "level must lie strictly between 0 and 1"),
    ],
)
def test_arguments_of_the_wrong_type(settings, message):
    with pytest.raises(ValueError, match=message):
        threshold_table(*rows(), **settings)
