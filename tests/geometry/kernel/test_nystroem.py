"""Nyström's features and random pivots: exact at landmarks, what is left semi-definite."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fenchel.convex.loss.margin import Logistic
from fenchel.convex.penalty import L2
from fenchel.convex.problem import Problem
from fenchel.data.blocks import Block
from fenchel.data.design.kernel import KernelDesign
from fenchel.data.design.matrix import MatrixDesign
from fenchel.data.in_memory import ArrayBlocks
from fenchel.geometry.kernel.nystroem import NystroemFeatures, random_pivots
from fenchel.geometry.kernel.vector_kernels import Gaussian, Linear
from fenchel.solve.minimise import minimise


def drawn(K, count, seed=0, weight=None):
    random = np.random.default_rng(seed)
    return random_pivots(np.diagonal(K), lambda some: K[:, some], count, random, weight)


def rows(n=80, d=3):
    return np.random.default_rng(0).normal(size=(n, d))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_features_are_exact_at_landmarks_and_below_elsewhere(seed):
    X, kernel = rows(), Gaussian(0.3)
    K = kernel.tile(X, X)
    chosen = drawn(K, 15, seed)
    assert len(chosen) == 15 and len(np.unique(chosen)) == 15
    features = NystroemFeatures.of(kernel, X[chosen], K[np.ix_(chosen, chosen)])
    phi = features.rows(X)
    assert_allclose((phi @ phi.T)[:, chosen], K[:, chosen], atol=1e-9)
    assert np.linalg.eigvalsh(K - phi @ phi.T)[0] > -1e-9


def test_no_more_landmarks_than_the_rank_and_none_without_weight():
    X = rows()
    K = Linear().tile(X, X)
    assert len(drawn(K, 20)) == 3
    assert len(drawn(np.zeros((5, 5)), 3)) == 0
    weight = (np.arange(80) % 2).astype(float)
    assert (drawn(Gaussian(1.0).tile(X, X), 30, weight=weight) % 2 == 1).all()
    twice = np.repeat(X, 2, axis=0)
    assert len(np.unique(drawn(Gaussian(1.0).tile(twice, twice), 200) // 2)) == 80


def test_draws_are_by_what_is_left():
    """One landmark: by the diagonal; two: the second by what the first leaves."""
    a = np.sqrt(0.5)
    F = np.array([[1.0, 0.0], [a, a], [0.0, 2.0]])
    K = F @ F.T
    first, pairs = np.zeros(3), np.zeros((3, 3))
    for seed in range(800):
        first[drawn(K, 1, seed)] += 1.0
        i, j = drawn(K, 2, seed)
        pairs[i, j] += 1.0
    assert_allclose(first / 800, np.diagonal(K) / 6.0, atol=0.07)
    expected = np.zeros((3, 3))
    for i in range(3):
        left = np.diagonal(K) - K[i] ** 2 / K[i, i]
        for j in range(3):
            expected[min(i, j), max(i, j)] += K[i, i] / 6.0 * max(left[j], 0.0) / left.sum()
    assert_allclose(pairs / 800, expected, atol=0.07)


def test_a_kernel_that_has_no_features_is_refused():
    with pytest.raises(ValueError, match="the matrix of these has the eigenvalue -1"):
        NystroemFeatures.of(Linear(), np.eye(2), np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert_array_equal(NystroemFeatures.of(Linear(), np.eye(2)[:0], np.eye(0)).basis, np.eye(0))


def test_features_by_pivots_span_the_same_and_are_fewer():
    X, kernel = rows(), Gaussian(0.3)
    Z = np.concatenate([X[:12], X[:5]])  # five of them twice
    K = kernel.tile(Z, Z)
    features, kept = NystroemFeatures.by_pivots(kernel, Z, K)
    assert len(kept) == 12 and len(np.unique(kept % 12)) == 12
    assert_array_equal(features.points, Z[kept])
    phi, same = features.rows(X), NystroemFeatures.of(kernel, Z, K).rows(X)
    assert_allclose(phi @ phi.T, same @ same.T, atol=1e-9)
    root = NystroemFeatures.of(kernel, X[:12], K[:12, :12]).inverse_root
    assert_allclose(root @ K[:12, :12] @ root, np.eye(12), atol=1e-8)
    with pytest.raises(ValueError, match="matrix of these is not"):
        NystroemFeatures.by_pivots(kernel, Z[:2], np.array([[1.0, 2.0], [2.0, 1.0]]))


@pytest.mark.parametrize("memory", [0.0, None])
def test_features_as_a_table(memory):
    """Held or made anew, the rows of a linear machine: logistic regression over a kernel."""
    X, kernel = rows(), Gaussian(0.3)
    y = np.where(X[:, 0] * X[:, 1] > 0.0, 1.0, -1.0)
    blocks = ArrayBlocks(Block(0, X, y))
    features = NystroemFeatures.by_pivots(kernel, X, kernel.tile(X, X))[0]
    table = features.table(blocks, memory)
    assert table.n_cols == features.basis.shape[1] and table.n_rows == 80
    few = minimise(Problem(Logistic(), L2(0.1), MatrixDesign(table), True), tol=1e-9)
    whole = minimise(Problem(Logistic(), L2(0.1), KernelDesign(kernel, blocks), True), tol=1e-9)
    assert few.certificate.value == pytest.approx(whole.certificate.value, rel=1e-7)
