"""Locally linear embedding: the definition, scikit-learn, new points, weights, extremes."""

from __future__ import annotations

import numpy as np
import oracles.manifold as naive
import pytest
import sklearn.manifold
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

import fenchel
from fenchel import LocallyLinearEmbedding, threads
from fenchel.models.manifold.barycentric import barycentric_weights


def roll(n=200, seed=0):
    rng = np.random.default_rng(seed)
    t = 1.5 * np.pi * (1.0 + 2.0 * rng.random(n))
    return np.stack([t * np.cos(t), 10.0 * rng.random(n), t * np.sin(t)], axis=1)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("reg", [1e-3, 0.5])
def test_weights_are_those_of_each_row_alone(d, reg):
    rng = np.random.default_rng(d)
    X, Q = rng.normal(size=(30, d)), rng.normal(size=(7, d))
    numbers = rng.permuted(np.tile(np.arange(30), (7, 1)), axis=1)[:, :6]
    for scale in (1.0, 1e-150, 1e150, 1e-300):
        w = barycentric_weights(Q * scale, X * scale, numbers, reg)
        for i in range(7):
            assert_allclose(w[i], naive.barycentric(Q[i], X[numbers[i]], reg), rtol=1e-9)


def test_weights_that_are_not_determined():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    Q, numbers = np.array([[0.25, 0.5], [0.25, 0.5]]), np.array([[0, 1], [2, 2]])
    with pytest.raises(ValueError, match=r"row 1 do not determine its weights with reg=0.0: raise"):
        barycentric_weights(Q, X, numbers, 0.0)


@pytest.mark.parametrize("k", [4, 10])
def test_is_the_definition_and_scikit_learn(k):
    X = roll()
    model = LocallyLinearEmbedding(n_neighbors=k, n_components=2).fit(X)
    values, Y = naive.locally_linear(X, k, 2, 1e-3)
    assert_allclose(model.eigenvalues_, values, rtol=1e-6)
    assert naive.up_to_signs(model.embedding_, Y) < 1e-7
    other = sklearn.manifold.LocallyLinearEmbedding(
        n_neighbors=k, n_components=2, eigen_solver="dense"
    ).fit(X)
    assert naive.up_to_signs(model.embedding_, other.embedding_) < 1e-7
    assert_allclose(model.reconstruction_error_, other.reconstruction_error_, rtol=1e-6)
    new = roll(30, seed=1)
    assert naive.up_to_signs(model.transform(new), other.transform(new)) < 1e-7
    assert model.certificate_.closed(1e-9) and model.certificate_.kind == "eigen"
    assert_allclose(model.certificate_.value, model.reconstruction_error_)
    assert fenchel.certify(model, X).closed(1e-8) and model.converged_


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_of_the_fit_keep_their_places(weighted, dtype):
    X = roll().astype(dtype)
    X[50:60] = X[40:50]  # equal rows
    s = np.arange(200) % 3 if weighted else None
    model = LocallyLinearEmbedding(n_neighbors=9).fit(X, sample_weight=s)
    assert model.embedding_.dtype == dtype
    assert_array_equal(model.transform(X), model.embedding_)
    assert_array_equal(model.embedding_[50:60], model.embedding_[40:50])
    assert fenchel.certify(model, X, sample_weight=s).closed(1e-3)
    assert model.nbrs_.n_neighbors == 9


def test_whole_weights_are_equal_rows_and_the_naive_weighted_problem():
    X, s = roll(), 1 + np.arange(200) % 3
    weighted = LocallyLinearEmbedding(n_neighbors=8).fit(X, sample_weight=s)
    repeated = LocallyLinearEmbedding(n_neighbors=8).fit(np.repeat(X, s, axis=0))
    assert_allclose(repeated.embedding_, np.repeat(weighted.embedding_, s, axis=0), atol=1e-9)
    values, Y = naive.locally_linear(X, 8, 2, 1e-3, s)
    assert_allclose(weighted.eigenvalues_, values, rtol=1e-6)
    assert naive.up_to_signs(weighted.embedding_, Y) < 1e-7
    assert_allclose((s[:, None] * weighted.embedding_).sum(axis=0), 0.0, atol=1e-10)


@pytest.mark.parametrize("scale", [1e-150, 1e150, 1e-300])
def test_any_scale(scale):
    X = roll(80)
    one = LocallyLinearEmbedding(n_neighbors=7).fit(X)
    other = LocallyLinearEmbedding(n_neighbors=7).fit(X * scale)
    assert_allclose(other.embedding_, one.embedding_, atol=1e-8)
    new = roll(9, seed=2)
    assert_allclose(other.transform(new * scale), one.transform(new), atol=1e-8)


def test_homes_and_threads():
    X = np.round(roll(150), 2)
    model = LocallyLinearEmbedding(n_neighbors=7).fit(X)
    with threads(1):
        assert_array_equal(
            LocallyLinearEmbedding(n_neighbors=7).fit(X).embedding_, model.embedding_
        )
    sparse = LocallyLinearEmbedding(n_neighbors=7).fit(csr_array(X))
    assert_array_equal(sparse.embedding_, model.embedding_)
    assert_array_equal(sparse.transform(csr_array(X)), model.embedding_)
    blocks = fenchel.as_blocks(X)
    assert_array_equal(
        LocallyLinearEmbedding(n_neighbors=7).fit(blocks).embedding_, model.embedding_
    )


def test_components_that_do_not_hang_together():
    X = np.concatenate([roll(120), roll(40, seed=1) + 500.0])
    with pytest.warns(UserWarning, match="2 components of 120 and 40 rows"):
        model = LocallyLinearEmbedding(n_neighbors=6).fit(X)
    assert_array_equal(
        model.embedding_[:120], LocallyLinearEmbedding(n_neighbors=6).fit(X[:120]).embedding_
    )
    assert np.isfinite(model.embedding_).all()
    assert_array_equal(model.transform(X), model.embedding_)


def test_too_many_neighbours_and_components():
    X = roll(12)
    with pytest.raises(ValueError, match="n_neighbors = 12, n_samples_fit = 12"):
        LocallyLinearEmbedding(n_neighbors=12).fit(X)
    with pytest.raises(ValueError, match="n_components=12 must be below"):
        LocallyLinearEmbedding(n_neighbors=11, n_components=12).fit(X)
    assert LocallyLinearEmbedding(n_neighbors=11, n_components=11).fit(X).embedding_.shape[1] == 11
    with pytest.raises(ValueError, match=r"20 rows, of which 1 are different"):
        LocallyLinearEmbedding().fit(np.ones((20, 2)))
    with pytest.warns(UserWarning, match="Lower n_neighbors to at most 11"):
        LocallyLinearEmbedding(n_neighbors=12).fit(np.repeat(X, 2, axis=0))
