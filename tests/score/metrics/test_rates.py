"""Rates of decisions: definitions, scikit-learn, invariances, samples that show no error."""

from __future__ import annotations

import math
import warnings

import numpy as np
import oracles.score as oracles
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics
from sklearn.exceptions import UndefinedMetricWarning

from fenchel import (
    Estimate,
    accuracy,
    balanced_accuracy,
    binomial_interval,
    f1,
    matthews_correlation,
    precision,
    recall,
    specificity,
)

MANY = {
    accuracy: metrics.accuracy_score,
    balanced_accuracy: metrics.balanced_accuracy_score,
    matthews_correlation: metrics.matthews_corrcoef,
}
ONE = {f1: metrics.f1_score, precision: metrics.precision_score, recall: metrics.recall_score}
LABELS = {
    "int": np.array([0, 1, 2, 3]),
    "bool": np.array([False, True]),
    "sign": np.array([-1, 1]),
    "float": np.array([1.0, 2.0, 5.0, 7.0]),
    "far": np.array([-(10**9), 0, 7, 10**12]),
    "text": np.array(["ant", "bee", "cat", "dog"]),
    "object": np.array(["ant", "bee", "cat", "dog"], dtype=object),
    "byte": np.array([3, 250], dtype=np.uint8),
}


def things(*values):
    return np.array(values, dtype=object)


def quietly(function, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)


@st.composite
def decisions(draw):
    """(y, predicted, weights) of any kind of label, with classes that only one side has."""
    labels = LABELS[draw(st.sampled_from(sorted(LABELS)))]
    rows = st.tuples(
        st.integers(0, len(labels) - 1), st.integers(0, len(labels) - 1), st.integers(1, 5)
    )
    y, said, weight = zip(*draw(st.lists(rows, min_size=1, max_size=25)), strict=True)
    weight = np.array(weight) / 3.0 if draw(st.booleans()) else None
    return labels[list(y)], labels[list(said)], weight


@settings(max_examples=150)
@given(decisions())
def test_values_are_scikit_learns(case):
    y, said, weight = case
    for ours, theirs in MANY.items():
        expected = quietly(theirs, y, said, sample_weight=weight)
        assert ours(y, said, sample_weight=weight) == pytest.approx(expected, abs=1e-12)
    for ours, theirs in ONE.items():
        for average in ("macro", "micro", "weighted"):
            found = quietly(ours, y, said, sample_weight=weight, average=average)
            expected = quietly(theirs, y, said, sample_weight=weight, average=average)
            assert found == pytest.approx(expected, abs=1e-12)
    labels = sorted(set(y.tolist()) | set(said.tolist()))
    if len(labels) == 2:
        for label in labels:
            for ours, theirs in ONE.items():
                found = quietly(ours, y, said, sample_weight=weight, pos_label=label)
                expected = quietly(theirs, y, said, sample_weight=weight, pos_label=label)
                assert found == pytest.approx(expected, abs=1e-12)


@settings(max_examples=100)
@given(decisions())
def test_values_are_their_definitions(case):
    y, said, weight = case
    expected = oracles.balanced(y, said, weight)
    assert balanced_accuracy(y, said, sample_weight=weight) == pytest.approx(expected, abs=1e-12)
    expected = oracles.matthews(y, said, weight)
    assert matthews_correlation(y, said, sample_weight=weight) == pytest.approx(expected, abs=1e-9)
    labels = sorted(set(y.tolist()) | set(said.tolist()))
    if len(labels) == 2:
        rates = oracles.detection_rates(y, said, weight, labels[1])
        for rate, expected in zip((precision, recall, specificity, f1), rates, strict=True):
            found = quietly(rate, y, said, sample_weight=weight, pos_label=labels[1])
            assert found == pytest.approx(expected, abs=1e-12)


RATES = [*MANY, *ONE, specificity]


def sample(seed=0, n=60, right=0.8):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size=n)
    return y, np.where(rng.random(n) < right, y, 1 - y), rng.exponential(size=n) + 0.1


def ends(found):
    return float(found), found.low, found.high, found.standard_error


@pytest.mark.parametrize("rate", RATES)
def test_an_interval_goes_with_the_value(rate):
    y, said, weight = sample()
    for s in (None, weight):
        found = rate(y, said, sample_weight=s, level=0.9)
        plain = rate(y, said, sample_weight=s)
        assert isinstance(found, Estimate) and type(plain) is float and found == plain
        assert found.low < found < found.high and found.level == 0.9
        wider = rate(y, said, sample_weight=s, level=0.99)
        assert wider.low < found.low and wider.high > found.high
        assert 0.5 < (found.high - found.low) / (2 * 1.645 * found.standard_error) < 1.5


@pytest.mark.parametrize("rate", RATES)
def test_the_order_and_the_names_of_rows_do_not_matter(rate):
    y, said, weight = sample()
    first = rate(y, said, sample_weight=weight, level=0.95)
    order = np.random.default_rng(1).permutation(y.size)
    moved = rate(y[order], said[order], sample_weight=weight[order], level=0.95)
    assert ends(moved) == pytest.approx(ends(first), rel=1e-9)
    names = np.array(["no", "yes"])
    named = rate(names[y], names[said], sample_weight=3.0 * weight, level=0.95)
    assert ends(named) == pytest.approx(ends(first), rel=1e-9)


@pytest.mark.parametrize("rate", RATES)
def test_weights_are_repeats_for_values(rate):
    y, said, _ = sample()
    times = np.random.default_rng(2).integers(0, 4, size=y.size)
    weighed = rate(y, said, sample_weight=times)
    assert weighed == pytest.approx(rate(np.repeat(y, times), np.repeat(said, times)), abs=1e-12)
    equal = rate(y, said, sample_weight=np.full(y.size, 2.5), level=0.95)
    assert ends(equal) == ends(rate(y, said, level=0.95))


@pytest.mark.parametrize("rate", RATES)
def test_inputs_are_left_alone(rate):
    y, said, weight = sample()
    for array in (y, said, weight):
        array.flags.writeable = False
    rate(y, said, sample_weight=weight, level=0.95)


def test_the_seed_decides():
    y, said, _ = sample()
    first, again = (matthews_correlation(y, said, level=0.95) for _ in range(2))
    other = matthews_correlation(y, said, level=0.95, random_state=1)
    more = matthews_correlation(y, said, level=0.95, n_bootstrap=4000)
    assert ends(first) == ends(again)
    assert ends(first) != ends(other) and ends(first) != ends(more)
    assert first.method == "Bayesian bootstrap, a right and a wrong row added, 10000 draws"


def test_exact_intervals():
    y = np.repeat([1, 1, 0, 0], [12, 8, 5, 25])
    said = np.repeat([1, 0, 1, 0], [12, 8, 5, 25])
    for rate, hits, among in (
        (accuracy, 37, 50),
        (recall, 12, 20),
        (precision, 12, 17),
        (specificity, 25, 30),
    ):
        found = rate(y, said, level=0.95)
        assert (found.low, found.high) == binomial_interval(hits, among)
        assert found == hits / among and found.method.startswith("exact binomial")
    found = f1(y, said, level=0.95)
    low, high = binomial_interval(12, 25)
    assert (found.low, found.high) == pytest.approx((2 * low / (1 + low), 2 * high / (1 + high)))
    assert found == pytest.approx(24 / 37)
    micro = f1(y, said, level=0.95, average="micro")
    assert ends(micro) == ends(accuracy(y, said, level=0.95))


def test_exchanging_the_sides():
    y, said, _ = sample()
    assert precision(y, said) == recall(said, y)
    assert f1(y, said) == f1(said, y)
    assert matthews_correlation(y, said) == pytest.approx(matthews_correlation(said, y))
    assert specificity(y, said) == recall(y, said, pos_label=0)
    assert specificity(y, said, pos_label=0) == recall(y, said)


# --------------------------------------------------------------- samples that show one thing only


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_perfect_sample_is_no_certainty(rate, weighted):
    y = np.arange(40) % 2
    weight = np.linspace(1.0, 2.0, 40) if weighted else None
    found = rate(y, y, sample_weight=weight, level=0.95)
    assert found == found.high == 1.0 and 0.6 < found.low < 0.97
    many = rate(np.tile(y, 100), np.tile(y, 100), level=0.95)
    assert found.low < many.low < 1.0


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_hopeless_sample_is_no_certainty(rate, weighted):
    y = np.arange(40) % 2
    weight = np.linspace(1.0, 2.0, 40) if weighted else None
    found = rate(y, 1 - y, sample_weight=weight, level=0.95)
    worst = -1.0 if rate is matthews_correlation else 0.0
    assert found == found.low == worst and worst + 0.03 < found.high < worst + 0.4


@pytest.mark.parametrize(
    ("rate", "y", "said", "message"),
    [
        (precision, [0, 1, 1], [0, 0, 0], "among the rows taken for the class 1"),
        (recall, [0, 0, 0], [0, 1, 1], "among the rows of the class 1"),
        (specificity, [1, 1, 1], [0, 1, 1], "among the rows of the class 0"),
        (f1, [0, 0, 0], [0, 0, 0], "of the class or taken for it 1"),
        (f1, [-1, -1], [-1, -1], "of the class or taken for it 1"),
        (recall, ["a", "a"], ["a", "b"], "among the rows of the class 'b'"),
    ],
)
def test_a_share_of_none_is_nothing_known(rate, y, said, message):
    with pytest.warns(UndefinedMetricWarning, match=message):
        assert rate(y, said) == 0.0
    with pytest.warns(UndefinedMetricWarning, match=message):
        found = rate(y, said, level=0.95)
    assert (found.low, found, found.high) == (0.0, 0.0, 1.0)
    with pytest.warns(UndefinedMetricWarning, match=message):
        found = rate(y, said, sample_weight=np.arange(1.0, len(y) + 1), level=0.95)
    assert found == 0.0 and found.high > 0.3


def test_one_class_only():
    found = matthews_correlation([1, 1, 1], [1, 1, 1], level=0.95)
    assert found == 0.0 and found.low <= 0.0 <= found.high
    assert accuracy(["a"], ["a"], level=0.95).low == pytest.approx(0.025)
    assert balanced_accuracy([3, 3], [3, 4]) == 0.5
    assert recall([True, True], [True, True]) == 1.0
    assert f1(["x", "x"], ["x", "x"], pos_label="x") == 1.0


def test_many_classes():
    rng = np.random.default_rng(0)
    y, said = rng.integers(0, 5000, size=(2, 20_000))
    assert accuracy(y, said) == metrics.accuracy_score(y, said)
    with pytest.raises(ValueError, match="different labels, more than 4096"):
        matthews_correlation(y, said)


@pytest.mark.parametrize(
    ("rate", "args", "settings", "message"),
    [
        (accuracy, ([0, 1], [0]), {}, "y_true has 2 rows and y_pred has 1"),
        (accuracy, ([], []), {}, "empty"),
        (accuracy, ([0, 1], [[0, 1]]), {}, "y_pred must be one column"),
        (accuracy, ([0, 1], ["0", "1"]), {}, "0 in row 0 of y_true and '0' in row 0 of y_pred"),
        (accuracy, (things("a", None), ["a", "b"]), {}, "y_true is None .* in row 1"),
        (accuracy, (["a", "b"], things("a", math.nan)), {}, "y_pred is nan .* in row 1"),
        (accuracy, (things(1, math.nan), [0, 1]), {}, "y_true is nan .* in row 1"),
        (accuracy, (["a", "b"], things("a", pd.NA)), {}, "y_pred is <NA> .* in row 1"),
        (accuracy, (things("a", 1), ["a", "b"]), {}, "'a' in row 0 of y_true and 1 in row 1"),
        (accuracy, (things(1j, 2j), things(1j, 2j)), {}, "have no order"),
        (accuracy, ([0.0, math.nan], [0, 1]), {}, "y_true is nan in row 1"),
        (accuracy, ([0, 1], [0.2, 0.7]), {}, "y_pred is 0.2 in row 0, .* threshold first"),
        (accuracy, ([0, 1], [0, 1]), {"sample_weight": [1, -1]}, "row 1 has -1"),
        (accuracy, ([0, 1], [0, 1]), {"sample_weight": [0, 0]}, "zero"),
        (accuracy, ([0, 1], [0, 1]), {"level": 95}, "level must lie strictly between"),
        (matthews_correlation, ([0, 1], [0, 1]), {"level": 2}, "level must lie strictly"),
        (
            matthews_correlation,
            ([0, 1], [0, 1]),
            {"level": 0.99, "n_bootstrap": 100},
            "n_bootstrap=100 is too few",
        ),
        (f1, ([0, 1, 2], [0, 1, 2]), {}, "hold 3 classes, 0 to 2: give average="),
        (f1, ([0, 1], [0, 1]), {"average": "mean"}, "average must be one of 'binary'"),
        (f1, ([0, 1], [0, 1]), {"pos_label": 3}, "pos_label=3 is not a label: .* 0 and 1"),
        (f1, (["a"], ["a"]), {}, "one class only, 'a': name the positive class"),
        (f1, ([0, 1], [0, 1]), {"level": 0.0}, "level must lie strictly"),
    ],
)
def test_errors_name_what_is_wrong(rate, args, settings, message):
    with pytest.raises(ValueError, match=message):
        rate(*args, **settings)
