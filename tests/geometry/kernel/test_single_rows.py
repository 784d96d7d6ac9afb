"""Tiles of products and of the Gaussian kernel that are made in registers."""

from __future__ import annotations

import numpy as np
import pytest

from fenchel import threads
from fenchel.data.design.kernel_tiles import gram_matrix, kernel_product, supported_product
from fenchel.data.passes.microkernel.compiled import ROWS, packed, points_of_panel, products
from fenchel.geometry.kernel.single_rows import SingleGaussians, rough_sums, single_rows
from fenchel.geometry.kernel.vector_kernels import Gaussian, Matern

SHAPES = [(1, 1), (7, 3), (33, 20), (70, 131), (1100, 5)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 2, 17, 50])
def test_products_in_registers_are_sums_from_left_to_right(d, dtype):
    """In integers every order gives the same: what is tested is which entry meets which."""
    rng, width = np.random.default_rng(d), points_of_panel(np.dtype(dtype).itemsize)
    A = rng.integers(-9, 10, (ROWS - 1, d)).astype(dtype)
    B = rng.integers(-9, 10, (width - 3, d)).astype(dtype)
    height, wide = np.full(ROWS * d, np.nan, dtype), np.full(width * d, np.nan, dtype)
    packed(A, ROWS, height)
    packed(B, width, wide)
    out = np.empty((ROWS, width), dtype)
    caller(height, wide, d, out)
    assert np.array_equal(out[: len(A), : len(B)], A @ B.T)
    assert not out[len(A) :].any() and not out[:, len(B) :].any()


def caller(height, wide, d, out):
    from numba import njit

    @njit
    def call(height, wide, d, out):
        places = height.ctypes.data, wide.ctypes.data, out.ctypes.data
        products(places[0], 1, ROWS, places[1], d, places[2], out.shape[1], out[0])

    call(height, wide, d, out)


def exact(X, gamma):
    return np.exp(-gamma * ((X[:, None, :] - X[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_gaussian_rows_in_single_precision(n, d):
    X = np.random.default_rng(n).standard_normal((n, d)) + 100.0
    K = exact(X, 1.0 / d)
    maker = single_rows(3.0 * Gaussian(1.0 / d), X)
    assert isinstance(maker, SingleGaussians)
    made = np.zeros((n + 2, n), np.float32)
    places = np.random.default_rng(0).permutation(n + 2)[:n]
    make, cut = maker.maker(np.arange(n)), min(n, 5)
    make(slice(0, cut), made, places)
    make(slice(cut, n), made, places)
    assert np.abs(made[places] - 3.0 * K).max() <= 3e-5
    assert np.array_equal(made[places], made[places].T)  # whatever the tiles
    assert not made[np.setdiff1d(np.arange(n + 2), places)].any()


def test_rows_out_of_the_range_of_single_precision():
    X = np.array([[0.0], [1e200]])
    assert single_rows(Gaussian(1.0), X) is None
    assert single_rows(Matern(), X) is None


@pytest.mark.parametrize(("n", "d"), SHAPES)
def test_a_product_with_a_support(n, d):
    rng = np.random.default_rng(n)
    X = rng.standard_normal((n, d))
    v = rng.standard_normal(n) * (rng.random(n) < 0.4)
    v[0] = 1.0
    K, found = exact(X, 1.0 / d), []
    for count in (1, 3):
        with threads(count):
            found.append(supported_product(Gaussian(1.0 / d), X, v))
            assert np.allclose(gram_matrix(Gaussian(1.0 / d), X), K, rtol=0.0, atol=1e-14)
    assert np.array_equal(*found)
    assert np.abs(found[0] - K @ v).max() <= 1e-13 * n


@pytest.mark.parametrize(
    ("n", "m", "d", "gamma", "scale"),
    [
        (300, 500, 50, 0.02, 1.0),
        (257, 700, 3, 5.0, 3.0),
        (40, 70, 1, 1e-3, 100.0),
        (60, 200, 200, 0.01, 1e-3),
        (60, 200, 8, 1.0, 1e3),
    ],
)
def test_sums_in_single_precision_are_within_their_bound(n, m, d, gamma, scale):
    rng = np.random.default_rng(d)
    X, Z = scale * rng.standard_normal((n, d)) + 7.0, scale * rng.standard_normal((m, d)) + 7.0
    c = rng.standard_normal((m, 2)) * np.array([1.0, 1e30])
    exact = kernel_product(2.0 * Gaussian(gamma), X, Z, c)
    found = []
    for count in (1, 3):
        with threads(count):
            found.append(rough_sums(2.0 * Gaussian(gamma), Z, c)(X))
    (sums, errors), (again, same) = found
    assert np.array_equal(sums, again) and np.array_equal(errors, same)
    known = np.isfinite(errors)
    assert (np.abs(sums - exact) <= errors + 1e-12 * np.abs(c).sum(axis=0))[known].all()
    assert known.all() or scale >= 1e3


def test_sums_in_single_precision_say_where_they_tell_nothing():
    Z, c = np.zeros((70, 2)), np.ones((70, 1))
    assert np.isinf(rough_sums(Gaussian(1.0), Z, c)(np.full((3, 2), 1e300))[1]).all()
    assert np.isinf(rough_sums(Gaussian(1.0), Z, c)(np.full((3, 2), 1e6))[1]).all()
    assert rough_sums(Gaussian(1.0), Z + 1e300 * np.eye(70, 2), c) is None
    assert rough_sums(Gaussian(1.0), Z, 0.0 * c) is None
    assert rough_sums(Matern(), Z, c) is None
