"""The Peng-Wei relaxation: no dual point proves too much, and no proof of optimality is false."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.cluster import optimum, partition_matrix, partitions
from oracles.geometry import squared_distances

from fenchel.convex.partition.bounded_mean import mean_lower_bound, stakes
from fenchel.convex.partition.closed_form import start_of
from fenchel.convex.partition.relaxation import PartitionRelaxation, PrimalDual

ERROR = 1e-13


def relaxation(X, k, weight=None):
    return PartitionRelaxation.of_distances(squared_distances(X, X), weight, k, ERROR)


def rows(seed, n, d, kind):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return {
        "plain": X,
        "far": X + 1e8,
        "whole": np.round(2.0 * X),
        "repeated": X[rng.integers(max(n // 2, 1), size=n)],
        "apart": X * 1e-3 + 5.0 * rng.normal(size=(3, d))[rng.integers(3, size=n)],
    }[kind]


KINDS = ["plain", "far", "whole", "repeated", "apart"]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**20), n=st.integers(3, 7), k=st.integers(1, 3),
    kind=st.sampled_from(KINDS), weighted=st.booleans(), size=st.sampled_from([0.0, 0.1, 1.0, 1e6]),
)  # fmt: skip
def test_no_dual_point_proves_more_than_the_optimum(seed, n, k, kind, weighted, size):
    """Whatever is handed in as B: random, not symmetric, huge, or from the closed form."""
    rng = np.random.default_rng(seed)
    X = rows(seed, n, 2, kind)
    weight = 10.0 ** rng.uniform(-6, 6, n) if weighted else None
    k = min(k, n - 1)
    best, labels = optimum(X, k, weight)
    problem = relaxation(X, k, weight)
    scale = problem.cost.max()
    start = start_of(problem, np.asarray(labels))
    guesses = [
        size * scale * rng.random((n, n)),
        start.B * (1.0 + 0.1 * rng.random((n, n))),
        start.B,
        np.full((n, n), np.nan),
        np.maximum(problem.cost * rng.normal(size=(n, n)), 0.0),
    ]
    for B in guesses:
        assert problem.bound(B) <= best


def test_the_spectral_bound_is_that_of_no_dual_point_and_any_is_at_least_it():
    X = rows(0, 30, 4, "plain")
    Z = X - X.mean(axis=0)
    values = np.linalg.eigvalsh(Z.T @ Z)[::-1]
    for k in (1, 2, 4):
        problem = relaxation(X, k)
        spectral = (Z * Z).sum() - values[: k - 1].sum()
        assert problem.bound(np.zeros((30, 30))) == pytest.approx(spectral, rel=1e-9)
        assert problem.bound(np.full((30, 30), 1e9)) == problem.bound(np.zeros((30, 30)))


def test_a_partition_is_feasible_and_costs_its_scatter():
    rng = np.random.default_rng(1)
    X, labels = rows(1, 12, 3, "plain"), rng.integers(3, size=12)
    weight = rng.uniform(0.5, 2.0, 12)
    problem = relaxation(X, 3, weight)
    Z = partition_matrix(labels, weight)
    naive = 0.0
    for a in range(3):
        mine, s = X[labels == a], weight[labels == a]
        naive += float(s @ ((mine - s @ mine / s.sum()) ** 2).sum(axis=1))
    seen = problem.evaluate(PrimalDual(Z, np.zeros_like(Z)))
    assert seen.value == pytest.approx(naive, rel=1e-9)
    start = start_of(problem, labels)
    np.testing.assert_allclose(start.Z, Z, atol=1e-12)
    assert (start.B >= 0.0).all() and np.allclose(start.B, start.B.T)
    assert (start.B[labels[:, None] == labels] == 0.0).all()
    # Entries below zero are taken back towards the centre, so that the value is one of the domain.
    odd = problem.evaluate(PrimalDual(Z - 0.01, np.zeros_like(Z)))
    assert np.isfinite(odd.value) and odd.value >= problem.bound(start.B)


def test_the_centre_is_feasible():
    weight = np.array([1.0, 2.0, 0.5, 4.0, 1.0])
    problem = relaxation(rows(2, 5, 2, "plain"), 2, weight)
    Z = problem.centre
    assert np.trace(Z) == pytest.approx(2.0) and (Z >= 0.0).all()
    np.testing.assert_allclose(Z @ problem.root, problem.root)
    assert np.linalg.eigvalsh(Z)[0] >= -1e-12


@pytest.mark.parametrize("k", [0, 5])
def test_a_number_of_clusters_that_leaves_nothing_is_refused(k):
    with pytest.raises(ValueError, match="at least 1 and less than the 5 rows"):
        relaxation(rows(0, 5, 2, "plain"), k)


def test_partitions_are_all_there_are():
    assert sum(1 for _ in partitions(5, 5)) == 52  # Bell's number


LAWS = {
    "narrow": (lambda rng, n: np.clip(rng.normal(0.9, 0.02, n), 0.0, 1.0), 0.9),
    "beta": (lambda rng, n: rng.beta(2.0, 2.0, n), 0.5),
    "coin": (lambda rng, n: (rng.random(n) < 0.9) * 1.0, 0.9),
    "rare": (lambda rng, n: (rng.random(n) < 0.03) * 1.0, 0.03),
    "spoilt": (lambda rng, n: np.where(rng.random(n) < 0.02, 0.0, 0.92), 0.92 * 0.98),
}


@pytest.mark.parametrize("law", list(LAWS))
@pytest.mark.parametrize("confidence", [0.9, 0.99])
def test_the_mean_is_above_its_bound_as_often_as_promised(law, confidence):
    draw, mean = LAWS[law]
    rng = np.random.default_rng(5)
    trials = 600
    wrong = sum(mean_lower_bound(draw(rng, 40), confidence) > mean for _ in range(trials))
    # Three standard deviations above the share that is allowed.
    allowed = (1.0 - confidence) * trials
    assert wrong <= allowed + 3.0 * np.sqrt(allowed)


def test_the_bound_of_a_mean_is_near_the_best_there_is():
    """Of n equal draws no bound without assumptions is above x δ^{1/n}: a law with a share of
    zeros of 1 - δ^{1/n} would break it."""
    for n in (10, 100, 1000):
        most = 0.9 * 0.01 ** (1.0 / n)
        assert 0.97 * most <= mean_lower_bound(np.full(n, 0.9), 0.99) <= most
    assert mean_lower_bound(np.zeros(20), 0.99) == 0.0
    assert mean_lower_bound(np.array([]), 0.99) == 0.0
    assert mean_lower_bound(np.array([np.nan, 0.5]), 0.99) == 0.0
    assert mean_lower_bound(np.full(50, 7.0), 0.99) <= 1.0  # larger ones count as 1
    with pytest.raises(ValueError, match="confidence"):
        mean_lower_bound(np.ones(3), 1.0)


def test_stakes_look_at_earlier_draws_alone():
    x = np.random.default_rng(0).random(30)
    other = x.copy()
    other[20:] = 0.123
    np.testing.assert_array_equal(stakes(x, 0.99)[:21], stakes(other, 0.99)[:21])
    assert ((stakes(x, 0.99) >= 0.0) & (stakes(x, 0.99) < 1.0)).all()
