"""Passes over kernel values at landmarks: the plain products, in every home, and their bounds."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import fenchel
from fenchel.data.blocks import Block
from fenchel.data.design.kernel_tiles import symmetric_product
from fenchel.data.design.landmark_table import LandmarkTable
from fenchel.data.in_memory import ArrayBlocks
from fenchel.geometry.kernel.vector_kernels import Gaussian, Polynomial
from fenchel.solve.gram.landmark_ridge import LandmarkRidge, sampled_rows


def plain(n=3000, m=150, d=3):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X, X[rng.choice(n, m, replace=False)], rng.standard_normal((m, 2)), rng


@pytest.mark.parametrize("kernel", [Gaussian(0.3), Polynomial(2)], ids=str)
def test_a_pass_is_the_plain_products(kernel):
    X, Z, C, rng = plain()
    s = rng.random(3000)[:, None]

    def rule(rows, scores):
        return s[rows] * scores, np.abs(scores).sum(axis=0)[None]

    table = LandmarkTable(kernel, Z, ArrayBlocks(Block(0, X)))
    K = kernel.tile(X, Z)
    pull, sums = table.sweep(C, rule)
    size = np.abs(K).T @ (s * (np.abs(K) @ np.abs(C)))
    bound = (table.sum_error + table.score_error + 2 * table.entry_error) * size
    assert (np.abs(pull - K.T @ (s * (K @ C))) <= 2.0 * bound).all()
    assert_allclose(sums[0], np.abs(K @ C).sum(axis=0))
    mapped = LandmarkTable(kernel, Z, ArrayBlocks(Block(0, X)).map(lambda block: block))
    assert_allclose(mapped.sweep(C, rule)[0], pull, atol=1e-12 * size.max())
    assert_allclose(table.diagonal(), kernel.diagonal(X))


def test_gram_matrices_of_some_rows():
    X, Z, _, rng = plain()
    kernel, some, s = Gaussian(0.3), np.sort(rng.choice(3000, 2500)), rng.random(2500)
    table = LandmarkTable(kernel, Z, ArrayBlocks(Block(0, X)))
    K = kernel.tile(X[some], Z)
    G = table.gram(some, s)
    assert np.array_equal(G, G.T)
    assert_allclose(G, K.T @ (s[:, None] * K), atol=1e-10)
    B = rng.standard_normal((150, 20))
    assert_allclose(table.gram(some, s, B), B.T @ G @ B, atol=1e-8)
    with fenchel.threads(1):
        assert np.array_equal(table.gram(some, s), G)


def test_the_product_of_a_whole_matrix_makes_each_value_once():
    X = plain(700)[0]
    V = np.random.default_rng(1).standard_normal((700, 2))
    kernel = Gaussian(0.3)
    assert_allclose(symmetric_product(kernel, X, V), kernel.tile(X, X) @ V, atol=1e-10)


@pytest.mark.parametrize("n", [3, 256, 520, 701])
@pytest.mark.parametrize("columns", [1, 6, 16, 19, 40])
def test_a_symmetric_product_of_any_shape(n, columns):
    """Sixteen columns at a time in registers, and tiles at the edges by BLAS."""
    X, kernel = plain(n, 3)[0], Gaussian(0.3)
    V = np.random.default_rng(1).standard_normal((n, columns))
    found = []
    for count in (1, 3):
        with fenchel.threads(count):
            found.append(symmetric_product(kernel, X, V))
    assert_allclose(found[0], kernel.tile(X, X) @ V, atol=1e-10)
    assert (found[0] == found[1]).all() and found[0].shape == V.shape


@pytest.mark.parametrize("weighted", [False, True])
def test_a_sample_preconditions_many_rows(weighted):
    """Each step divides the gap by the rows of the sample for each landmark, here 20: from 1 to
    1e-10 in eight."""
    n, m = 6000, 40
    X, Z, _, rng = plain(n, m)
    s = rng.integers(0, 4, n) * 1.0 if weighted else np.ones(n)
    kernel, y = Gaussian(0.3), rng.standard_normal((n, 2))
    L = np.linalg.cholesky(kernel.tile(Z, Z))
    table = LandmarkTable(kernel, Z, ArrayBlocks(Block(0, X)))
    alpha, random = np.array([1e-3, 1.0]), np.random.default_rng(0)
    parts = table, np.linalg.inv(L).T, np.ones(m), y, s, alpha
    found = LandmarkRidge(*parts, random, 20 * m).solve(1e-8)
    assert found.sampled == 20 * m and 2 <= found.steps <= 12
    phi = kernel.tile(X, Z) @ parts[1]
    for k in range(2):
        H = phi.T @ (s[:, None] * phi) + alpha[k] * np.eye(m)
        w = np.linalg.solve(H, phi.T @ (s * y[:, k]))
        assert_allclose(phi @ found.w[:, k], phi @ w, atol=1e-4 * np.abs(phi @ w).max())
    assert found.certificate.relative_gap < 1e-8


def test_few_rows_are_all_taken():
    assert sampled_rows(500, 400) == 500
    assert 10**4 < sampled_rows(10**7, 1000) < 10**6
