"""Kernels: the laws, the textbook's formulas, compositions, bad parameters."""

from __future__ import annotations

import inspect
from dataclasses import asdict

import numpy as np
import oracles.geometry as oracles_geometry
import pytest
from geometry.cases import COMPOSED, GIVEN, SIMPLE, STRINGS
from scipy.sparse import csr_array

from fenchel import kernels
from fenchel.geometry.kernel import centring as kernel_centring
from fenchel.geometry.kernel import vector_kernels as module
from fenchel.geometry.strings import edit_distance, mismatch, spectrum, subsequence
from fenchel.testing import check_kernel


def test_every_kernel_is_a_case():
    """A new kernel joins the laws by a line in cases.py."""
    cases = [*SIMPLE, *COMPOSED, *STRINGS, *(kernel for kernel, _ in GIVEN)]
    found = {type(case) for case in cases}
    public = {getattr(kernels, name) for name in kernels.__all__}
    concrete = {kind for kind in public if not inspect.isabstract(kind)}
    assert found == concrete
    defined = {
        value
        for home in (module, kernel_centring, spectrum, mismatch, subsequence, edit_distance)
        for value in vars(home).values()
        if inspect.isclass(value) and issubclass(value, module.KernelFunction)
    }
    assert {kind for kind in defined if not inspect.isabstract(kind)} == concrete


@pytest.mark.parametrize("kernel", [*SIMPLE, *COMPOSED, *STRINGS], ids=repr)
def test_laws(kernel, global_random_seed):
    check_kernel(kernel, seed=global_random_seed)


@pytest.mark.parametrize("kernel, rows", GIVEN)
def test_laws_of_given_matrices(kernel, rows):
    check_kernel(kernel, rows=rows)


@pytest.mark.parametrize("kernel", SIMPLE, ids=repr)
@pytest.mark.parametrize("d", [1, 4, 25])
def test_the_textbook_formula(kernel, d):
    rng = np.random.default_rng(d)
    A, B = rng.normal(size=(6, d)) / d**0.5, rng.normal(size=(5, d)) / d**0.5
    B[0], B[1] = A[0], 0.0
    formula = getattr(oracles_geometry, type(kernel).__name__.lower())
    expected = [[formula(a, b, **asdict(kernel)) for b in B] for a in A]
    for cast in (np.asarray, np.asfortranarray, csr_array):
        np.testing.assert_allclose(kernel.tile(cast(A), cast(B)), expected, rtol=1e-9, atol=1e-13)
        np.testing.assert_allclose(
            kernel.diagonal(cast(A)), np.diagonal(kernel.tile(A, A)), rtol=1e-12
        )


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("d", [2, 30])
def test_offsets_and_equal_rows_cost_no_digits(d, offset):
    rng = np.random.default_rng(3)
    A = rng.integers(-50, 50, size=(40, d)) / 4.0  # exact at the offset, too
    A[7] = A[2]
    near, far = (module.Matern(0.5, 3.0).tile(X, X) for X in (A, A + offset))
    np.testing.assert_allclose(far, near, rtol=1e-12)
    assert (np.diagonal(far) == 1.0).all() and far[7, 2] == 1.0


def test_laws_bite():
    class Skew(module.KernelFunction):
        def tile(self, A, B):
            return module.Linear().tile(A, 2.0 * B) + A[:, :1]

        def diagonal(self, A):
            return module.Linear().diagonal(A)

    class Claims(module.KernelFunction):
        def tile(self, A, B):
            return -module.Gaussian().tile(A, B)

        def diagonal(self, A):
            return -np.ones(len(A))

    class Diagonal(module.KernelFunction):
        def tile(self, A, B):
            return module.Linear().tile(A, B)

        def diagonal(self, A):
            return np.ones(len(A))

    for kernel, law in ((Skew(), "symmetry"), (Claims(), "eigenvalue"), (Diagonal(), "diagonal")):
        with pytest.raises(AssertionError, match=law):
            check_kernel(kernel)


def test_composition_is_a_value():
    k = kernels
    both = k.Gaussian(0.5) + 0.1 * k.Polynomial(3)
    assert both == k.Sum(k.Gaussian(0.5), k.Scaled(0.1, k.Polynomial(3)))
    assert hash(both) == hash(k.Gaussian(0.5) + k.Polynomial(3) * 0.1)
    assert np.float64(2.0) * k.Linear() == k.Scaled(2.0, k.Linear())
    assert both.is_psd and not (both * k.Sigmoid()).is_psd
    assert not (2.0 * k.Sigmoid()).is_psd and not k.Polynomial(2, 1.0, -0.5).is_psd
    for wrong in (lambda: k.Linear() + 1.0, lambda: k.Linear() * "2", lambda: "2" * k.Linear()):
        with pytest.raises(TypeError):
            wrong()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: kernels.Gaussian(0.0), "gamma must be positive and finite, got 0.0"),
        (lambda: kernels.Gaussian(float("nan")), "gamma must be positive"),
        (lambda: kernels.Laplacian(-1.0), "gamma must be positive"),
        (lambda: kernels.Polynomial(2.5), "degree must be a whole number"),
        (lambda: kernels.Polynomial(0), "degree must be a whole number"),
        (lambda: kernels.Polynomial(2, -1.0), "gamma must be positive"),
        (lambda: kernels.Polynomial(2, 1.0, np.inf), "coef0 must be finite"),
        (lambda: kernels.Sigmoid(coef0=np.nan), "coef0 must be finite"),
        (lambda: kernels.Matern(2.0), "nu must be 0.5, 1.5 or 2.5"),
        (lambda: kernels.Matern(1.5, 0.0), "length_scale must be positive"),
        (lambda: 0.0 * kernels.Linear(), "the factor of a kernel must be positive"),
        (lambda: kernels.Precomputed(np.ones((2, 3))), "must be a square matrix"),
        (lambda: kernels.Precomputed(np.array([[1.0, 2.0], [3.0, 1.0]])), "row 0, column 1 is 2"),
        (lambda: kernels.Precomputed(np.array([[1.0, np.nan], [3.0, 1.0]])), "row 0, column 1"),
        (lambda: kernels.Precomputed(np.eye(2)).diagonal([2]), "whole numbers from 0 to 1"),
        (lambda: kernels.Precomputed(np.eye(2)).diagonal([0.5]), "whole numbers from 0 to 1"),
        (lambda: kernels.Gaussian().tile(np.ones((2, 2)), np.ones((2, 3))), "2 columns"),
        (lambda: kernels.Laplacian().tile(np.ones((2, 2)), np.ones((2, 3))), "2 columns"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_given_matrix_says_whether_it_is_semi_definite():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 4))
    assert kernels.Precomputed(A @ A.T).is_psd
    assert not kernels.Precomputed(A @ A.T - 0.1 * np.eye(30)).is_psd
    assert kernels.Precomputed(np.zeros((3, 3))).is_psd


def test_cosine_of_extreme_rows():
    A = np.array([[3e200, 4e200], [3e-200, 4e-200], [0.0, 0.0]])
    expected = [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    np.testing.assert_allclose(kernels.Cosine().tile(A, A), expected, rtol=1e-15)
