"""Thresholds: the order statistic and its promise, the least cost, Bayes' rule."""

from __future__ import annotations

import copy
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from oracles.score import binomial_below, costs_at, order_statistic
from scipy.special import bdtr

from fenchel import (
    Curve,
    GaussianClasses,
    bayes_threshold,
    cost_threshold,
    negatives_needed,
    neyman_pearson_threshold,
)

# ---------------------------------------------------------------------- the order statistic


@pytest.mark.parametrize("alpha", [1e-3, 0.01, 0.05, 0.1, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("delta", [1e-9, 0.01, 0.05, 0.5, 0.99])
def test_the_order_statistic_is_the_least_by_exact_arithmetic(alpha, delta):
    for n in (1, 2, 7, 59, 200):
        k = order_statistic(n, alpha, delta)
        scores = np.random.default_rng(n).normal(size=n)
        if k is None:
            assert n < negatives_needed(alpha, delta)
            with pytest.raises(ValueError, match="negatives, got"):
                neyman_pearson_threshold(scores, alpha, delta)
            continue
        assert n >= negatives_needed(alpha, delta)
        found = neyman_pearson_threshold(scores, alpha, delta)
        assert (found.k, found.n, found.alpha, found.delta) == (k, n, alpha, delta)
        assert float(found) == np.sort(scores)[k - 1]
        exact = binomial_below(n, n - k, alpha)
        assert found.violation == pytest.approx(float(exact), rel=1e-13)
        assert found.violation <= delta


@pytest.mark.parametrize(("alpha", "delta"), [(1e-9, 1e-3), (1e-12, 0.5), (1e-6, 1e-300)])
def test_the_smallest_levels_keep_their_digits(alpha, delta):
    needed = negatives_needed(alpha, delta)
    each, target = Fraction(alpha), math.log(delta)
    # log (1 − α) between −α − α² and −α, for α this small
    assert needed >= -target / float(each + each * each) * (1 - 1e-9)
    assert (needed - 1) * -math.log1p(-alpha) < -target * (1 + 1e-9)
    scores = np.arange(100.0)
    with pytest.raises(ValueError, match=f"at least {needed} negatives, got 100"):
        neyman_pearson_threshold(scores, alpha, delta)


def test_ten_million_negatives():
    n = 10_000_000
    scores = np.random.default_rng(0).permutation(n).astype(np.float32)
    found = neyman_pearson_threshold(scores, 1e-4, 1e-6)
    above = n - found.k
    assert bdtr(above, n, 1e-4) <= 1e-6 < bdtr(above + 1, n, 1e-4)
    assert found.violation == pytest.approx(bdtr(above, n, 1e-4), rel=1e-7)
    assert float(found) == found.k - 1


def test_how_many_negatives_are_needed():
    assert negatives_needed(0.05, 0.05) == 59
    assert negatives_needed() == 59
    assert [negatives_needed(0.5, 0.25), negatives_needed(0.1, 0.81)] == [2, 2]
    assert negatives_needed(0.1, 0.729) == 3
    assert negatives_needed(0.9, 0.5) == 1
    message = "alpha=0.05 and delta=0.05 take at least 59 negatives, got 58"
    with pytest.raises(ValueError, match=message):
        neyman_pearson_threshold(np.arange(58.0))
    assert neyman_pearson_threshold(np.arange(59.0)) == 58.0
    with pytest.raises(ValueError, match="got 0"):
        neyman_pearson_threshold([])


def test_ties_and_infinite_scores():
    scores = [1.0] * 50 + [np.inf] * 30 + [-np.inf] * 20
    found = neyman_pearson_threshold(scores, 0.4, 0.05)
    assert found == 1.0 or found == np.inf
    assert found.flags([np.inf]).tolist() == [found < np.inf]
    top = neyman_pearson_threshold(scores, 0.05, 0.05)
    assert top == np.inf and not top.flags([np.inf, 1.0]).any()
    low = neyman_pearson_threshold([-np.inf] * 100, 0.05, 0.05)
    assert low.flags([-np.inf, 0.0]).tolist() == [False, True]
    assert neyman_pearson_threshold(np.full(60, 3, dtype=np.int8)).flags([3, 4]).tolist() == [0, 1]


def test_a_threshold_is_a_float_that_remembers():
    scores = np.arange(100.0)
    before = scores.copy()
    found = neyman_pearson_threshold(scores, 0.1, 0.1)
    np.testing.assert_array_equal(scores, before)
    assert isinstance(found, float) and found + 1.0 == float(found) + 1.0
    np.testing.assert_array_equal(scores > found, found.flags(scores))
    for same in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert same == found and (same.k, same.violation) == (found.k, found.violation)
    assert repr(found).startswith("Threshold(94.0, k=95, n=100, alpha=0.1, delta=0.1")
    assert str(found).startswith("score > 94 flags at most 10 % of the negatives")


def test_weights_must_be_equal():
    scores = np.arange(100.0)
    plain = neyman_pearson_threshold(scores[50:], 0.1, 0.1)
    half = neyman_pearson_threshold(scores, 0.1, 0.1, sample_weight=np.repeat([0.0, 2.0], 50))
    assert (half, half.n) == (plain, 50)
    with pytest.raises(ValueError, match="equal weights"):
        neyman_pearson_threshold(scores, 0.1, 0.1, sample_weight=np.arange(1.0, 101.0))


@pytest.mark.parametrize(
    ("scores", "alpha", "delta", "message"),
    [
        ([0.0, np.nan], 0.5, 0.5, "NaN in row 1"),
        ([[0.0, 1.0]], 0.5, 0.5, "one column"),
        (["a"], 0.5, 0.5, "must be numbers"),
        ([0.0], 0.0, 0.5, "alpha must lie strictly"),
        ([0.0], 0.5, 1.0, "delta must lie strictly"),
    ],
)
def test_faults_of_thresholds_are_named(scores, alpha, delta, message):
    with pytest.raises(ValueError, match=message):
        neyman_pearson_threshold(scores, alpha, delta)


@pytest.mark.parametrize(
    ("alpha", "delta", "n"), [(0.05, 0.05, 100), (0.1, 0.2, 30), (0.3, 0.5, 2)]
)
def test_the_promise_holds(alpha, delta, n):
    """Violations of continuous scores have the exact probability that the threshold reports."""
    repeats = 20_000
    draw = np.random.default_rng(5).random((repeats, n))  # a uniform law: the rate is 1 − t
    found = neyman_pearson_threshold(draw[0], alpha, delta)
    rates = 1.0 - np.sort(draw, axis=1)[:, found.k - 1]
    share = (rates > alpha).mean()
    noise = 4.0 * math.sqrt(delta / repeats)
    assert share <= delta + noise
    assert abs(share - found.violation) <= noise


@pytest.mark.parametrize("levels", [2, 5, 40])
def test_the_promise_holds_for_discrete_scores(levels):
    """Flagging score > t with t a tied order statistic: never more often than δ above α."""
    repeats, n, alpha, delta = 4000, 120, 0.1, 0.1
    rng = np.random.default_rng(levels)
    law = rng.dirichlet(np.ones(levels))
    tail = np.append(np.cumsum(law[::-1])[::-1][1:], 0.0)  # P(score > level)
    draws = np.sort(rng.choice(levels, size=(repeats, n), p=law), axis=1)
    k = neyman_pearson_threshold(draws[0], alpha, delta).k
    thresholds = draws[:, k - 1]
    assert neyman_pearson_threshold(draws[7], alpha, delta) == thresholds[7]
    share = (tail[thresholds] > alpha).mean()
    assert share <= delta + 3.0 * math.sqrt(delta / repeats), share


# ------------------------------------------------------------------------------- the least cost


@pytest.mark.parametrize("prior", [None, 0.01, 0.5, 0.9])
@pytest.mark.parametrize(("cost_fp", "cost_fn"), [(1, 1), (5, 1), (1, 20), (0, 1), (1, 0)])
def test_the_cheapest_threshold(global_random_seed, prior, cost_fp, cost_fn):
    rng = np.random.default_rng(global_random_seed)
    y = rng.random(200) < 0.3
    score = np.round(y + rng.normal(size=200), 1)
    found = cost_threshold(y, score, prior=prior, cost_fp=cost_fp, cost_fn=cost_fn)
    share = y.mean() if prior is None else prior
    costs = costs_at(y, score, share, cost_fp, cost_fn)
    best = min(cost for _, cost, _ in costs)
    assert found.cost == pytest.approx(best, abs=1e-15)
    equal = [(fpr, t) for t, cost, fpr in costs if cost <= best + 1e-12]
    assert float(found) == min(equal)[1] or found.fpr == min(equal)[0]
    flagged = found.flags(score)
    assert flagged[~y].mean() == found.fpr and flagged[y].mean() == found.tpr
    curve = Curve.of(y, score)
    assert cost_threshold(curve, prior=prior, cost_fp=cost_fp, cost_fn=cost_fn) == found
    if cost_fp and cost_fn:
        corner = (curve.fpr[curve.hull()], curve.tpr[curve.hull()])
        assert (found.fpr, found.tpr) in set(zip(*corner, strict=True))


def test_ties_in_cost_go_to_fewer_false_alarms():
    # Flag nothing, the first, or all: the same cost.
    found = cost_threshold([1, 0, 1, 0], [0.9, 0.5, 0.5, 0.1])
    assert (float(found), found.fpr) == (0.9, 0.0)
    nothing = cost_threshold([0, 0, 0, 1], [0.9, 0.5, 0.4, 0.1])
    assert float(nothing) == math.inf and not nothing.flags([0.9]).any()


def test_weights_prior_and_labels_of_costs():
    y, score = np.array(["b", "a", "b", "a"]), np.array([0.1, 0.2, 0.3, 0.4])
    assert cost_threshold(y, score, pos_label="a") == 0.4
    twice = cost_threshold(np.repeat(y, [1, 2, 1, 3]), np.repeat(score, [1, 2, 1, 3]))
    weighed = cost_threshold(y, score, sample_weight=[1, 2, 1, 3])
    assert (twice, twice.cost) == (weighed, pytest.approx(weighed.cost))
    found = cost_threshold(y, score, prior=0.2)
    assert found.prior == 0.2
    same = pickle.loads(pickle.dumps(found))
    assert (same, same.cost, same.tpr) == (found, found.cost, found.tpr)
    assert repr(found).startswith("CostThreshold(")


def test_infinite_scores_of_costs():
    found = cost_threshold([0, 1, 1], [-np.inf, 0.0, np.inf])
    assert float(found) == 0.0 and found.cost == 0.0
    with pytest.raises(ValueError, match="score of \\+inf"):
        cost_threshold([1, 0, 0, 0], [0.0, np.inf, np.inf, 1.0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cost_fp": -1.0}, "cost_fp must be a finite number"),
        ({"cost_fn": math.inf}, "cost_fn must be a finite number"),
        ({"cost_fp": 0.0, "cost_fn": 0.0}, "both 0"),
        ({"prior": 0.0}, "prior must lie strictly"),
    ],
)
def test_faults_of_costs_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        cost_threshold([0, 1], [0.0, 1.0], **arguments)


def test_a_curve_brings_its_scores():
    with pytest.raises(ValueError, match="leave y_score"):
        cost_threshold(Curve.of([0, 1], [0.0, 1.0]), [0.0, 1.0])
    with pytest.raises(ValueError, match="both classes"):
        cost_threshold(Curve.of([1, 1], [0.0, 1.0], pos_label=1))


def test_bayes_threshold():
    assert bayes_threshold() == 0.5
    assert bayes_threshold(1, 4) == 0.2
    assert bayes_threshold(0, 1) == 0.0 and bayes_threshold(1, 0) == 1.0
    assert bayes_threshold(3, 2, prior=0.3, sample_prior=0.3) == pytest.approx(0.6)
    with pytest.raises(ValueError, match="both prior and sample_prior"):
        bayes_threshold(prior=0.1)
    with pytest.raises(ValueError, match="cost_fp"):
        bayes_threshold(-1)


def test_bayes_threshold_is_the_cheapest_under_a_changed_prior():
    sample, truth = 0.5, 0.1
    balanced = GaussianClasses([0.0, 1.5], prior=sample)
    changed = GaussianClasses([0.0, 1.5], prior=truth)
    X = np.linspace(-5.0, 7.0, 2001)[:, None]
    cut = bayes_threshold(2.0, 7.0, prior=truth, sample_prior=sample)
    flagged = balanced.eta(X) > cut
    np.testing.assert_array_equal(flagged, 7.0 * changed.eta(X) > 2.0 * (1.0 - changed.eta(X)))


def test_costs_whose_sum_overflows():
    assert bayes_threshold(1e308, 1e308) == 0.5
    assert bayes_threshold(0.0, 1.0) == 0.0 and bayes_threshold(1.0, 0.0) == 1.0
