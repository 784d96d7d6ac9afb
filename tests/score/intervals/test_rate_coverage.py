"""Measured coverage of the intervals of rates: of 95 % between 93 and 97, exact ones above 95."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from fenchel import (
    accuracy,
    balanced_accuracy,
    binomial_interval,
    f1,
    matthews_correlation,
    precision,
    recall,
)

LONG = pytest.mark.exhaustive
# rows, share of positives, true positive rate, true negative rate
BINARY = [
    (50, 0.5, 0.8, 0.8),
    (50, 0.1, 0.8, 0.9),
    (50, 0.5, 0.95, 0.95),
    (50, 0.1, 0.5, 0.97),
    (200, 0.1, 0.6, 0.95),
    (200, 0.5, 0.95, 0.98),
    (200, 0.3, 0.5, 0.5),
    (1000, 0.1, 0.7, 0.97),
]
# Few rows and few positives, and a rate near its end: where an interval fails first.
HARDEST = [(50, 0.1, 0.5, 0.97), (200, 0.5, 0.95, 0.98)]


def table(prior, tpr, tnr):
    """Probabilities of the cells 00, 01, 10, 11 (true, predicted)."""
    return np.array(
        [(1 - prior) * tnr, (1 - prior) * (1 - tnr), prior * (1 - tpr), prior * tpr]
    ).reshape(2, 2)


def columns(counts):
    """Labels with those counts of true and predicted classes."""
    cell = np.repeat(np.arange(counts.size), counts.ravel())
    return np.divmod(cell, counts.shape[1])


def truth_of(rate, law, **how):
    """The rate of the law itself: a sample in exact proportion."""
    cell = np.arange(law.size)
    return rate(*np.divmod(cell, law.shape[1]), sample_weight=law.ravel(), **how)


def coverage(rate, law, n, repeats, **how):
    """Share of samples whose interval holds the truth; each distinct table is judged once."""
    drawn = np.random.default_rng(11).multinomial(n, law.ravel(), size=repeats)
    tables, times = np.unique(drawn, axis=0, return_counts=True)
    truth = truth_of(rate, law, **how)
    hits = 0
    for counts, repeated in zip(tables, times, strict=True):
        found = rate(*columns(counts.reshape(law.shape)), level=0.95, **how)
        hits += repeated * (found.low <= truth <= found.high)
    return hits / repeats


@pytest.mark.slow
@pytest.mark.parametrize("rate", [balanced_accuracy, matthews_correlation])
@pytest.mark.parametrize(
    ("n", "prior", "tpr", "tnr"),
    [pytest.param(*law, marks=() if law in HARDEST else LONG) for law in BINARY],
)
def test_two_classes(rate, n, prior, tpr, tnr):
    found = coverage(rate, table(prior, tpr, tnr), n, 10_000 if n == 50 else 2000)
    assert 0.93 <= found <= 0.97, found


THREE = np.array([[0.40, 0.05, 0.05], [0.04, 0.24, 0.02], [0.01, 0.01, 0.18]])
FIVE = 0.01 * np.ones((5, 5)) + np.diag([0.31, 0.19, 0.12, 0.08, 0.05])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "how"),
    [
        (balanced_accuracy, {}),
        (matthews_correlation, {}),
        (f1, {"average": "macro"}),
        (f1, {"average": "weighted"}),
        (precision, {"average": "macro"}),
    ],
)
@pytest.mark.parametrize(
    ("law", "n"),
    [
        (THREE, 100),
        pytest.param(THREE, 500, marks=LONG),
        pytest.param(FIVE, 300, marks=LONG),
    ],
)
def test_many_classes(rate, how, law, n):
    # A generator instead of a seed: so few draws would share their luck over all samples.
    how = {**how, "n_bootstrap": 1000, "random_state": np.random.default_rng(13)}
    found = coverage(rate, law, n, 2000, **how)
    assert 0.93 <= found <= 0.97, found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "n", "prior", "tpr", "tnr"),
    [
        ("lognormal", 100, 0.5, 0.8, 0.8),
        pytest.param("lognormal", 400, 0.2, 0.8, 0.9, marks=LONG),
        pytest.param("class", 100, 0.5, 0.8, 0.8, marks=LONG),
        ("class", 400, 0.2, 0.8, 0.9),
    ],
)
def test_weights(kind, n, prior, tpr, tnr):
    """Weights that vary on their own, and weights that make the classes alike."""
    rng, repeats = np.random.default_rng(12), 2000
    how = {"level": 0.95, "n_bootstrap": 1000, "random_state": rng}
    law = table(prior, tpr, tnr)
    if kind == "class":
        law = law / law.sum(axis=1, keepdims=True)
    rates = [accuracy, balanced_accuracy, matthews_correlation, f1, precision, recall]
    truths = [truth_of(rate, law) for rate in rates]
    hits = np.zeros(len(rates))
    for _ in range(repeats):
        y = rng.random(n) < prior
        said = rng.random(n) < np.where(y, tpr, 1 - tnr)
        if kind == "class":
            weight = np.where(y, 1 / prior, 1 / (1 - prior))
        else:
            weight = np.exp(0.5 * rng.standard_normal(n))
        for j, rate in enumerate(rates):
            found = rate(y, said, sample_weight=weight, **how)
            hits[j] += found.low <= truths[j] <= found.high
    assert ((hits >= 0.93 * repeats) & (hits <= 0.97 * repeats)).all(), hits / repeats


@pytest.mark.parametrize("n", [50, 200, 1000])
@pytest.mark.parametrize("right", [0.6, 0.9, 0.95])
def test_accuracy_is_exact(n, right):
    """Summed over the binomial law: at least 95 %, and no more than the steps of a count force."""
    k = np.arange(n + 1)
    low, high = binomial_interval(k, n)
    found = binom.pmf(k, n, right)[(low <= right) & (right <= high)].sum()
    assert 0.95 <= found <= (0.99 if n == 50 else 0.975), found


@pytest.mark.parametrize("rate", [f1, precision, recall])
@pytest.mark.parametrize(("n", "prior", "tpr", "tnr"), BINARY)
def test_shares_of_random_numbers_of_rows_are_exact(rate, n, prior, tpr, tnr):
    """Over the numbers of rows too; what one count cannot tell from the next makes it more."""
    law = table(prior, tpr, tnr)
    (_, fp), (fn, tp) = law
    among = {f1: tp + fp + fn, precision: tp + fp, recall: tp + fn}[rate]
    found = 0.0
    for m in range(1, n + 1):
        if (chance := binom.pmf(m, n, among)) < 1e-9:
            continue
        k = np.arange(m + 1)
        low, high = binomial_interval(k, m)
        inside = (low <= tp / among) & (tp / among <= high)
        found += chance * binom.pmf(k, m, tp / among)[inside].sum()
    found += binom.pmf(0, n, among)
    assert 0.95 - 1e-6 <= found <= (0.997 if n * min(tp, among - tp) < 10 else 0.98), found
