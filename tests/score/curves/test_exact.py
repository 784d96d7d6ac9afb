"""What a prediction that is constant by construction reaches: exactly, where every law says so."""

from __future__ import annotations

import numpy as np
import pytest

from fenchel import (
    accuracy,
    auc,
    balanced_accuracy,
    f1,
    matthews_correlation,
    precision,
    recall,
    specificity,
)

Y = np.array([0, 0, 0, 1, 1, 0, 1, 0, 0, 0])
WORDS = np.where(Y == 1, "yes", "no")
THREE = np.arange(10) % 3


@pytest.mark.parametrize(
    ("found", "value"),
    [
        (lambda **how: auc(Y, 0.3, **how), 0.5),
        (lambda **how: auc(WORDS, -7, pos_label="no", **how), 0.5),
        (lambda **how: auc(Y, 0.3, sample_weight=1.0 + np.arange(10), **how), 0.5),
        (lambda **how: balanced_accuracy(Y, 0, **how), 0.5),
        (lambda **how: balanced_accuracy(WORDS, "yes", **how), 0.5),
        (lambda **how: balanced_accuracy(THREE, 2, **how), 1 / 3),
        (lambda **how: balanced_accuracy(THREE, 7, **how), 0.0),
        (lambda **how: matthews_correlation(Y, 1, **how), 0.0),
        (lambda **how: matthews_correlation(THREE, 0, **how), 0.0),
        (lambda **how: recall(Y, 1, **how), 1.0),
        (lambda **how: recall(Y, 0, **how), 0.0),
        (lambda **how: specificity(Y, 0, **how), 1.0),
        (lambda **how: specificity(WORDS, "yes", pos_label="yes", **how), 0.0),
        (lambda **how: f1(Y, 0, **how), 0.0),
    ],
)
def test_a_constant_has_no_sampling_error(found, value):
    assert found() == pytest.approx(value)
    with_level = found(level=0.9)
    assert with_level == pytest.approx(value)
    assert with_level.is_exact and with_level.method == "exact: the prediction is constant"
    assert with_level.low == with_level.high == float(with_level)
    assert with_level.standard_error == 0.0 and with_level.level == 0.9
    with pytest.raises(ValueError, match="level must lie strictly between 0 and 1"):
        found(level=95)


@pytest.mark.parametrize(
    "found",
    [
        lambda: accuracy(Y, 0, level=0.95),
        lambda: f1(Y, 1, level=0.95),
        lambda: precision(Y, 1, level=0.95),
        lambda: recall(THREE, 1, average="weighted", level=0.95),
    ],
    ids=["accuracy", "f1 of what is always predicted", "precision", "weighted recall"],
)
def test_what_follows_the_law_of_the_rows_keeps_its_interval(found):
    estimate = found()
    assert not estimate.is_exact and estimate.low < estimate < estimate.high


def test_a_column_that_happens_to_be_constant_proves_nothing():
    """A model that says the same of these rows may say something else of the next."""
    for estimate in (
        auc(Y, np.full(10, 0.3), level=0.95),
        balanced_accuracy(Y, np.zeros(10, int), level=0.95),
        matthews_correlation(Y, np.zeros(10, int), level=0.95),
        specificity(Y, np.zeros(10, int), level=0.95),
    ):
        assert not estimate.is_exact and estimate.low < estimate.high


def test_the_rare_class_that_a_sample_misses():
    """A rule that flags 2 % of the rows is constant on two samples of 20 of three: certainty would
    be wrong as often."""
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(300):
        y = np.arange(20) % 2
        said = (rng.random(20) < 0.02) & (y == 1)
        found = balanced_accuracy(y, said.astype(int), level=0.95)
        inside += found.low <= 0.5 * (1.0 + 0.02) <= found.high
    assert inside >= 0.95 * 300


def test_one_label_is_a_label_for_every_row():
    assert accuracy(WORDS, "no", level=0.95) == accuracy(WORDS, np.full(10, "no"), level=0.95)
    with pytest.raises(ValueError, match="y_true is empty"):
        balanced_accuracy([], 0)
    with pytest.raises(ValueError, match="one class only"):
        auc([1, 1], 0.5, level=0.95)
