"""Losses of probabilities: definitions, scikit-learn, faults, measured coverage."""

from __future__ import annotations

import math

import numpy as np
import oracles.score as oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, log_expit
from sklearn import metrics

from fenchel import Estimate, binomial_interval, brier, log_loss
from fenchel.score.intervals.binomial import upper_bound

LABELS = {
    "int": np.array([0, 1, 2, 3]),
    "text": np.array(["ant", "bee", "cat", "dog"]),
    "float": np.array([1.0, 2.0, 5.0, 7.0]),
    "bool": np.array([False, True]),
}


@st.composite
def forecasts(draw):
    """(y, probabilities, labels, weights); zeros and ones among the probabilities."""
    labels = LABELS[draw(st.sampled_from(sorted(LABELS)))]
    labels = labels[: draw(st.integers(2, len(labels)))]
    n = draw(st.integers(1, 20))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    proba = rng.dirichlet(np.full(len(labels), draw(st.sampled_from([0.01, 1.0]))), size=n)
    y = labels[rng.integers(len(labels), size=n)]
    weight = rng.integers(1, 5, size=n) / 2 if draw(st.booleans()) else None
    return y, proba, labels, weight


@settings(max_examples=150)
@given(forecasts())
def test_values_are_scikit_learns(case):
    y, proba, labels, weight = case
    how = {"sample_weight": weight, "labels": labels}
    expected = metrics.log_loss(y, proba, **how)
    assert log_loss(y, proba, **how) == pytest.approx(expected, rel=1e-12, abs=1e-15)
    for half in (True, False, "auto"):
        expected = metrics.brier_score_loss(y, proba, scale_by_half=half, **how)
        found = brier(y, proba, scale_by_half=half, **how)
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-15)
    if len(labels) == 2 and len(set(y)) == 2:
        one = proba[:, 1]
        expected = metrics.log_loss(y, one, sample_weight=weight)
        assert log_loss(y, one, sample_weight=weight) == pytest.approx(expected, rel=1e-12)
        for half in (True, False, "auto"):
            how = {"sample_weight": weight, "pos_label": labels[1], "scale_by_half": half}
            expected = metrics.brier_score_loss(y, one, **how)
            assert brier(y, one, **how) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@settings(max_examples=60)
@given(forecasts())
def test_values_are_their_definitions(case):
    y, proba, labels, weight = case
    squares, logs = oracles.row_losses(y, proba, labels, np.finfo(float).eps)
    how = {"sample_weight": weight, "labels": labels}
    assert log_loss(y, proba, **how) == pytest.approx(np.average(logs, weights=weight))
    found = brier(y, proba, scale_by_half=False, **how)
    assert found == pytest.approx(np.average(squares, weights=weight), abs=1e-14)


LOSSES = [brier, log_loss]


def sample(n=80, seed=0):
    rng = np.random.default_rng(seed)
    proba = rng.random(n)
    return (rng.random(n) < proba).astype(int), proba, rng.exponential(size=n) + 0.1


@pytest.mark.parametrize("loss", LOSSES)
def test_an_interval_goes_with_the_value(loss):
    y, proba, weight = sample()
    for s in (None, weight):
        found, plain = loss(y, proba, sample_weight=s, level=0.9), loss(y, proba, sample_weight=s)
        assert isinstance(found, Estimate) and type(plain) is float
        assert found == pytest.approx(plain, rel=1e-14)
        assert 0.0 < found.low < found < found.high and found.level == 0.9
        wider = loss(y, proba, sample_weight=s, level=0.99)
        assert wider.low < found.low and wider.high > found.high


@pytest.mark.parametrize("loss", LOSSES)
def test_one_column_is_two(loss):
    y, proba, weight = sample()
    two = np.stack([1 - proba, proba], axis=1)
    first = loss(y, proba, sample_weight=weight, level=0.95)
    for other in (
        loss(y, two, sample_weight=weight, level=0.95),
        loss(y, proba[:, None], sample_weight=weight, level=0.95),
        loss(y, 1 - proba, pos_label=0, sample_weight=weight, level=0.95),
        loss(np.where(y, "yes", "no"), proba, sample_weight=5 * weight, level=0.95),
        loss(2 * y - 1, proba, sample_weight=weight, level=0.95),
        loss(y.astype(bool), proba.tolist(), sample_weight=weight, level=0.95),
    ):
        assert (other, other.low, other.high) == pytest.approx((first, first.low, first.high))


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_are_repeats_for_values(loss):
    y, proba, _ = sample()
    times = np.random.default_rng(2).integers(0, 4, size=y.size)
    found = loss(y, proba, sample_weight=times)
    assert found == pytest.approx(loss(np.repeat(y, times), np.repeat(proba, times)), rel=1e-12)
    equal = loss(y, proba, sample_weight=np.full(y.size, 2.5), level=0.95)
    plain = loss(y, proba, level=0.95)
    assert (equal.low, equal.high) == pytest.approx((plain.low, plain.high))


@pytest.mark.parametrize("loss", LOSSES)
def test_inputs_are_left_alone(loss):
    y, proba, weight = sample()
    two = np.stack([1 - proba, proba], axis=1)
    for array in (y, proba, weight, two):
        array.flags.writeable = False
    loss(y, proba, sample_weight=weight, level=0.95)
    loss(y, two, sample_weight=weight, level=0.95)


@pytest.mark.parametrize(("kind", "costs"), [(np.float64, 36.04), (np.float32, 15.94)])
def test_what_was_called_impossible_costs_a_finite_loss(kind, costs):
    proba = np.array([0.0, 1.0, 0.5], dtype=kind)
    found = log_loss([1, 1, 0], proba)
    assert found == pytest.approx((costs + math.log(2)) / 3, rel=1e-3)
    assert found == pytest.approx(metrics.log_loss([1, 1, 0], proba), rel=1e-6)


def test_one_class_may_be_named():
    assert log_loss([1, 1], [0.5, 0.5]) == pytest.approx(math.log(2))
    assert brier(["a", "a"], [0.1, 0.1], pos_label="b") == pytest.approx(0.01)
    assert brier(["a", "a"], [[0.9, 0.1]] * 2, labels=["a", "b"]) == pytest.approx(0.01)


# ------------------------------------------------------------------ losses that show no spread


def test_equal_losses_are_no_certainty():
    y = np.arange(50) % 2
    unseen = upper_bound(0, 50, 0.025)
    assert unseen == binomial_interval(0, 50)[1]
    found = brier(y, y.astype(float), level=0.95)
    assert found == found.low == 0.0 and found.high == pytest.approx(unseen)
    found = brier(y, np.full(50, 0.5), level=0.95)
    assert (found.low, found.high) == pytest.approx(((1 - unseen) / 4, 0.25 + 0.75 * unseen))
    found = brier(y, 1.0 - y, level=0.95)
    assert found == found.high == 1.0 and found.low == pytest.approx(1 - unseen)
    found = log_loss(y, y.astype(float), level=0.95)
    assert found < 1e-15 and found.high == pytest.approx(36.04 * unseen, rel=1e-3)
    assert "all losses being equal" in found.method
    single = brier([1], [0.8], level=0.95)
    assert single == pytest.approx(0.04) and single.low < 0.01 and single.high > 0.9


def test_intervals_stay_where_losses_can_be():
    """One bad row of many: a symmetric interval would begin below 0 or end above 1."""
    y, proba = np.ones(30), np.ones(30)
    proba[0] = 0.0
    found = brier(y, proba, level=0.95)
    assert 0.0 <= found.low < found == 1 / 30 < found.high <= 1.0
    found = brier(y, 1 - proba, level=0.95)
    assert 0.0 <= found.low < found < found.high <= 1.0
    narrow = brier(y, proba, level=0.01)
    assert narrow.low <= narrow <= narrow.high


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    ("args", "how", "message"),
    [
        (([0, 1], [0.5]), {}, r"y_true has 2 rows and y_proba has shape \(1,\)"),
        (([0, 1], [[[0.5]], [[0.5]]]), {}, "shape"),
        (([], []), {}, "empty"),
        (([0, 1], ["a", "b"]), {}, "must hold numbers"),
        (([0, 1], [0.5, math.nan]), {}, "y_proba is nan in row 1: a probability lies between"),
        (([0, 1], [0.5, 1.2]), {}, "y_proba is 1.2 in row 1"),
        (([0, 1], [[0.5, 0.5], [-0.1, 1.1]]), {}, "y_proba is -0.1 in row 1, column 0"),
        (([0, 1], [[0.5, 0.5], [0.2, 0.2]]), {}, "probabilities of row 1 sum to 0.4, not 1"),
        (([0, 1, 2], [0.1, 0.2, 0.3]), {}, "holds 3 classes, 0 to 2: give y_proba one column"),
        (([0, 1], [[0.5, 0.3, 0.2]] * 2), {}, "3 columns and the labels are 2, 0 to 1"),
        (([0, 1], [[0.5, 0.5]] * 2), {"labels": [1, 0]}, "labels must be sorted, 0 first"),
        (([0, 3], [[0.5, 0.5]] * 2), {"labels": [0, 1]}, "holds 3, which is not among labels"),
        (([0, 1], [[0.5, 0.5]] * 2), {"labels": [0, 1, 1]}, "twice"),
        (([0, 1], [0.5, 0.5]), {"pos_label": 7}, "pos_label=7 is not a label: y_true holds 0"),
        ((["a", "a"], [0.5, 0.5]), {}, "one class only, 'a': name the positive class"),
        (([0.5, 1], [0.5, 0.5]), {}, "y_true is 0.5 in row 0"),
        (([0, 1], [0.5, 0.5]), {"level": 0.0}, "level must lie strictly"),
        (([0, 1], [0.5, 0.5]), {"sample_weight": [1, -2]}, "row 1 has -2"),
    ],
)
def test_errors_name_what_is_wrong(loss, args, how, message):
    with pytest.raises(ValueError, match=message):
        loss(*args, **how)


def test_half_is_yes_or_no():
    with pytest.raises(ValueError, match="scale_by_half must be True, False or 'auto', got 2"):
        brier([0, 1], [0.5, 0.5], scale_by_half=2)


# ----------------------------------------------------------------------------------- coverage


def drawn(rng, size, shift, slope, sharper):
    """Labels of a logistic law and the probabilities of a model `sharper` times as sure."""
    score = shift + slope * rng.standard_normal(size)
    return rng.random(size) < expit(score), expit(sharper * score)


SETTINGS = {
    "calibrated": (0.0, 1.5, 1.0),
    "too sure": (0.0, 1.5, 2.0),
    "accurate": (0.0, 6.0, 1.0),
    "rare": (-2.8, 1.5, 1.0),
}


SIZES = [(50, False), (200, False), (1000, False), (300, True)]
# Every law and every size each time, and of few rows the rare class, where an interval fails first.
SHORT = {*zip(SETTINGS, SIZES, strict=True), ("rare", (50, False))}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "n", "weighted"),
    [
        pytest.param(kind, *size, marks=() if (kind, size) in SHORT else pytest.mark.exhaustive)
        for kind in SETTINGS
        for size in SIZES
    ],
)
def test_coverage(kind, n, weighted):
    law, repeats = SETTINGS[kind], 10_000 if n == 50 else 3000
    grid = np.linspace(-9.0, 9.0, 200_001)
    share = np.exp(-0.5 * grid**2) / np.exp(-0.5 * grid**2).sum()
    score = law[0] + law[1] * grid
    eta, told = expit(score), expit(law[2] * score)
    truth = [
        share @ (eta * (1 - told) ** 2 + (1 - eta) * told**2),
        -share @ (eta * log_expit(law[2] * score) + (1 - eta) * log_expit(-law[2] * score)),
    ]
    rng, hits = np.random.default_rng(8), np.zeros(2)
    for _ in range(repeats):
        y, proba = drawn(rng, n, *law)
        # Weights that are independent of the loss leave its mean where it is.
        weight = np.exp(0.5 * rng.standard_normal(n)) if weighted else None
        for j, loss in enumerate(LOSSES):
            found = loss(y, proba, sample_weight=weight, pos_label=1, level=0.95)
            hits[j] += found.low <= truth[j] <= found.high
    # Five rows of a rare class carry the loss: as of a count, its interval is on the safe side.
    most = 0.98 if (kind, n) == ("rare", 50) else 0.97
    assert ((hits >= 0.93 * repeats) & (hits <= most * repeats)).all(), hits / repeats


@pytest.mark.parametrize(("n", "errors"), [(50, 0.3), (200, 0.1), (1000, 0.05)])
def test_coverage_of_losses_that_are_counts(n, errors):
    """Certain forecasts: the Brier loss is an error rate, no worse than its exact interval."""
    rng, hits = np.random.default_rng(9), 0
    for k in rng.binomial(n, errors, size=3000):
        found = brier(np.arange(n) >= k, np.ones(n), pos_label=1, level=0.95)
        hits += found.low <= errors <= found.high
    assert 0.93 <= hits / 3000 <= 0.97, hits / 3000
