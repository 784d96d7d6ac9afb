"""Kernels by scikit-learn's names, rules for bandwidths, centring, distances of features."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.preprocessing import KernelCenterer
from sklearn.svm import SVC

from fenchel import as_blocks, kernels
from fenchel.data.design.kernel import KernelDesign, gram_matrix
from fenchel.geometry.bandwidth import bandwidth_fault, entry_variance, median_gamma, scale_gamma
from fenchel.geometry.kernel.centring import Centred, centred_gram, kernel_distances
from fenchel.geometry.kernel.named_kernel import fitted_kernel, named_kernel

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
BLOCKS = as_blocks(X)


@pytest.mark.parametrize("gamma", [None, 0.3])
@pytest.mark.parametrize(
    "name", ["linear", "poly", "polynomial", "rbf", "laplacian", "sigmoid", "cosine"]
)
def test_names_are_those_of_scikit_learn(name, gamma):
    found = named_kernel(name, BLOCKS, gamma=gamma, degree=2, coef0=0.7)
    more = {"gamma": gamma, "degree": 2, "coef0": 0.7}
    expected = pairwise_kernels(X, metric=name, filter_params=True, **more)
    np.testing.assert_allclose(found.tile(X, X), expected, rtol=1e-12, atol=1e-14)


def test_a_matrix_a_function_and_a_kernel():
    K = X @ X.T
    given = named_kernel("precomputed", as_blocks(K))
    assert isinstance(given, kernels.Precomputed) and (given.K == K).all()
    rows = fitted_kernel(given, K, given=True)
    np.testing.assert_array_equal(rows.kernel.tile(rows.rows, rows.rows), K)
    np.testing.assert_array_equal(rows.outside.tile(K[:5], rows.rows[[3, 0]]), K[:5][:, [3, 0]])
    with pytest.raises(ValueError, match="does not know"):
        rows.outside.diagonal(K)
    for function, kind in ((lambda a, b: a @ b, "rows"), (lambda A, B: A @ B.T, "tables")):
        found = named_kernel(function, BLOCKS, function_of=kind)
        np.testing.assert_allclose(found.tile(X[:4], X), K[:4], rtol=1e-12)
        np.testing.assert_allclose(found.diagonal(X), np.diagonal(K), rtol=1e-12)
        assert fitted_kernel(found, X).outside is found
    scaled = named_kernel(lambda a, b, c: c * (a @ b), BLOCKS, parameters={"c": 2.0})
    np.testing.assert_allclose(scaled.tile(X, X), 2.0 * K, rtol=1e-12)
    own = kernels.Gaussian(0.5) + 0.1 * kernels.Polynomial(3)
    assert named_kernel(own, BLOCKS, gamma=9.0) is own
    # What is no kernel is found out by the factor of its matrix.
    wrong = named_kernel(lambda a, b: -(a @ b), BLOCKS)
    with pytest.raises(ValueError, match="not positive semi-definite on these rows"):
        KernelDesign(wrong, as_blocks(X, X[:, 0])).explicit()


@pytest.mark.parametrize(
    ("kernel", "more", "message"),
    [
        ("rbf", {"gamma": 0.0}, "gamma must be positive and finite, got 0.0"),
        ("rbf", {"gamma": -1}, "gamma must be positive"),
        ("rbf", {"gamma": np.nan}, "gamma must be positive"),
        ("rbf", {"gamma": "wide"}, "gamma must be a positive number or one of"),
        ("rbf", {"gamma": True}, "gamma must be a positive number"),
        ("poly", {"gamma": "median"}, "a rule for kernels of distances"),
        ("poly", {"degree": 2.5}, "degree must be a whole number"),
        ("gauss", {}, "kernel='gauss' is not known: take one of linear, poly"),
        ("precomputed", {}, r"must be a square matrix, got \(40, 3\)"),
    ],
)
def test_bad_names_and_parameters(kernel, more, message):
    with pytest.raises(ValueError, match=message):
        named_kernel(kernel, BLOCKS, **more)
    table = named_kernel(lambda A, B: A, BLOCKS, function_of="tables")
    with pytest.raises(ValueError, match="one value for each pair"):
        table.tile(X, X)


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("size", [1.0, 1e-100, 1e100])
def test_the_variance_rule(offset, size):
    rows = (X + offset) * size
    assert scale_gamma(as_blocks(rows)) == pytest.approx(1.0 / (3.0 * rows.var()), rel=1e-6)
    twice, s = np.vstack([rows, rows[:7]]), np.ones(40)
    s[:7] = 2.0
    known = scale_gamma(as_blocks(rows, None, s))
    assert known == pytest.approx(scale_gamma(as_blocks(twice)), rel=1e-6)


def test_the_variance_rule_elsewhere():
    zeros = np.where(np.abs(X) < 0.5, 0.0, X)
    for rows in (zeros, csr_array(zeros), zeros.astype(np.float32)):
        assert scale_gamma(as_blocks(rows)) == pytest.approx(1.0 / (3.0 * zeros.var()), rel=1e-6)
        libsvm = SVC(gamma="scale").fit(rows, np.arange(40) % 2)
        assert scale_gamma(as_blocks(rows)) == pytest.approx(libsvm._gamma, rel=1e-6)
    for constant in (0.0, 0.1, 1e8):
        assert scale_gamma(as_blocks(np.full((30, 2), constant))) == 1.0
    s = RNG.random(40)
    expected = np.average((zeros - np.average(zeros.mean(1), weights=s)) ** 2, axis=0, weights=s)
    for rows in (zeros, csr_array(zeros)):
        assert entry_variance(as_blocks(rows, None, s)) == pytest.approx(expected.mean())


def test_the_median_rule():
    squares = [((X[i] - X[j]) ** 2).sum() for i in range(40) for j in range(i)]
    assert median_gamma(BLOCKS) == pytest.approx(0.5 / np.median(squares))
    sums = [np.abs(X[i] - X[j]).sum() for i in range(40) for j in range(i)]
    assert median_gamma(BLOCKS, absolute=True) == pytest.approx(1.0 / np.median(sums))
    assert named_kernel("rbf", BLOCKS, gamma="median") == kernels.Gaussian(median_gamma(BLOCKS))
    many = as_blocks(RNG.normal(size=(5000, 3)))
    assert median_gamma(many) == median_gamma(many)
    assert median_gamma(as_blocks(np.ones((9, 2)))) == 1.0
    removed = as_blocks(np.vstack([X, 1e6 * X]), None, np.repeat([1.0, 0.0], 40))
    assert median_gamma(removed) == median_gamma(BLOCKS)


def test_a_bandwidth_that_tells_nothing():
    for kernel, words in (
        (kernels.Gaussian(1e-12), "too wide"),
        (kernels.Gaussian(1e5), "too narrow"),
        (kernels.Laplacian(1e-12), "too wide"),
        (kernels.Laplacian(1e5), "too narrow"),
        (kernels.Matern(0.5, 1e10), "too wide"),
        (2.0 * kernels.Matern(2.5, 1e-4), "too narrow"),
    ):
        fault = bandwidth_fault(kernel, BLOCKS)
        assert fault is not None and words in fault and "95 % of all distances" in fault
    nearest = np.sort(np.linalg.norm(X[:, None] - X, axis=2), axis=1)[:, 1]
    assert f"median {np.median(nearest):.3g}" in str(bandwidth_fault(kernels.Gaussian(1e5), BLOCKS))
    for kernel in (kernels.Gaussian(), kernels.Linear(), kernels.Laplacian(0.1), kernels.Cosine()):
        assert bandwidth_fault(kernel, BLOCKS) is None
    doubled = as_blocks(np.repeat(X, 2, axis=0))  # equal rows are similar at any bandwidth
    assert bandwidth_fault(kernels.Gaussian(1e5), doubled) is None
    assert bandwidth_fault(kernels.Gaussian(1e-12), as_blocks(np.ones((9, 2)))) is None


def test_centring():
    kernel = kernels.Gaussian(0.3)
    K = gram_matrix(kernel, X)
    expected = KernelCenterer().fit_transform(K.copy())
    found = centred_gram(K)
    np.testing.assert_allclose(found, expected, atol=1e-14)
    assert (found == found.T).all()
    centred = Centred(kernel, X)
    np.testing.assert_allclose(gram_matrix(centred, X), expected, atol=1e-14)
    new = RNG.normal(size=(5, 3))
    other = KernelCenterer().fit(K).transform(kernel.tile(new, X))
    np.testing.assert_allclose(centred.tile(new, X), other, atol=1e-14)
    # A linear kernel centred is that of centred rows; integer weights are repeated rows.
    s = np.arange(40) % 3
    rows = X - s @ X / s.sum()
    weighted = Centred(kernels.Linear(), X, s)
    np.testing.assert_allclose(weighted.tile(X, X), rows @ rows.T, atol=1e-12)
    np.testing.assert_allclose(centred_gram(X @ X.T, s), rows @ rows.T, atol=1e-12)
    assert not Centred(kernels.Sigmoid(), X).is_psd and centred.is_psd


def test_distances_of_features():
    A, B = X[:9], X[5:]
    squares = ((A[:, None] - B) ** 2).sum(axis=2)
    found = kernel_distances(kernels.Linear(), A, B)
    np.testing.assert_allclose(found, squares, atol=1e-13)
    wide = kernel_distances(kernels.Gaussian(0.5), A, B)
    np.testing.assert_allclose(wide, 2.0 - 2.0 * np.exp(-0.5 * squares), atol=1e-15)
    assert (found >= 0.0).all() and (wide >= 0.0).all()
