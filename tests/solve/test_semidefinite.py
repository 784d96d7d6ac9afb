"""Semidefinite programs over partition matrices: projections by definition, gaps that close."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.cluster import line_optimum
from oracles.geometry import squared_distances
from sklearn.datasets import load_iris

from fenchel.convex.partition.closed_form import start_of
from fenchel.convex.partition.relaxation import PartitionRelaxation
from fenchel.solve.minimise import minimise
from fenchel.solve.semidefinite.alternating_directions import AlternatingDirections
from fenchel.solve.semidefinite.spectrahedron import capped_simplex, projected
from fenchel.solve.smooth.newton import Newton


def naive_capped_simplex(values, total):
    """By bisection on the shift."""
    low, high = values.min() - 2.0, values.max() + 1.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if np.clip(values - middle, 0.0, 1.0).sum() > total:
            low = middle
        else:
            high = middle
    return np.clip(values - high, 0.0, 1.0)


@given(st.integers(0, 2**20), st.integers(1, 12), st.sampled_from([0.05, 1.0, 30.0]), st.booleans())
def test_the_capped_simplex_is_reached(seed, n, scale, ties):
    rng = np.random.default_rng(seed)
    values = np.sort(scale * rng.normal(size=n))
    if ties:
        values = np.sort(np.round(values))
    total = float(rng.integers(0, n + 1)) if ties else float(rng.uniform(0.0, n))
    found = capped_simplex(values, total)
    assert found.sum() == pytest.approx(total, abs=1e-9)
    np.testing.assert_allclose(found, naive_capped_simplex(values, total), atol=1e-9)


@pytest.mark.parametrize("guess", [1, 3, 40])
def test_the_projection_is_that_of_all_eigenvalues(guess):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 30))
    A = A + A.T
    values, V = np.linalg.eigh(A)
    x = naive_capped_simplex(values, 4.0)
    columns, weights = projected(A, 4, guess)
    np.testing.assert_allclose((columns * weights) @ columns.T, (V * x) @ V.T, atol=1e-9)


def relaxation(X, k):
    return PartitionRelaxation.of_distances(squared_distances(X, X), None, k, 1e-13)


@pytest.mark.parametrize("k", [2, 5])
def test_the_gap_closes_from_anywhere(k):
    problem = relaxation(load_iris().data[::2], k)
    labels = np.random.default_rng(0).integers(k, size=problem.m)
    values = []
    for start in (None, start_of(problem, labels)):
        found = minimise(problem, AlternatingDirections(), tol=3e-3, max_steps=600, start=start)
        proof = found.certificate
        assert found.converged and proof.kind == "duality" and proof.relative_gap <= 3e-3
        assert proof.bound <= proof.value
        values.append((proof.bound, proof.value))
    (low, high), (below, above) = values  # both hold the optimum
    assert low <= above and below <= high


def test_the_relaxation_of_clear_clusters_on_a_line_is_tight():
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.normal(c, 0.3, 20) for c in (0.0, 4.0, 9.0)])
    problem = relaxation(x[:, None], 3)
    found = minimise(problem, AlternatingDirections(), tol=1e-4, max_steps=2000)
    best = line_optimum(x, 3)
    assert found.certificate.bound <= best <= found.certificate.value * (1.0 + 1e-9)
    assert found.certificate.bound >= best * (1.0 - 2e-4)


def test_a_good_start_is_worth_many_steps():
    X = load_iris().data
    problem = relaxation(X, 3)
    labels = (X[:, 2] > 2.5).astype(int) + (X[:, 2] > 4.9)
    bounds = []
    for start in (None, start_of(problem, labels)):
        found = minimise(
            problem, AlternatingDirections(), tol=0.0, max_steps=10, start=start, proof=False
        )
        bounds.append(found.state.memory.best)
    assert bounds[0] < 0.97 * bounds[1]


def test_other_objectives_are_refused_in_a_sentence():
    assert "PartitionRelaxation" in str(Newton().refuses(relaxation(np.eye(4), 2)))
    refused = AlternatingDirections().refuses(3)
    assert refused is not None and "needs the semidefinite relaxation of a clustering" in refused
