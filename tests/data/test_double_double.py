from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from fenchel.data.linear_algebra.double_double import (
    DoubleDouble,
    OzakiMatrix,
    slices,
    two_product,
    two_sum,
)

numbers = st.floats(-1e100, 1e100).filter(lambda x: x == 0.0 or abs(x) > 1e-100)


def exactly(x: DoubleDouble, i: int, k: int) -> Fraction:
    return Fraction(float(x.hi[i, k])) + Fraction(float(x.lo[i, k]))


@given(numbers, numbers)
def test_sums_and_products_lose_nothing(a, b):
    s, e = two_sum(a, b)
    assert Fraction(s) + Fraction(e) == Fraction(a) + Fraction(b)
    p, e = two_product(a, b)
    assert Fraction(p) + Fraction(e) == Fraction(a) * Fraction(b)


@given(numbers, numbers, numbers)
def test_pairs_keep_106_bits(a, b, c):
    x = DoubleDouble(*two_sum(a, b))
    y = x.plus(c)
    exact = Fraction(a) + Fraction(b) + Fraction(c)
    size = abs(Fraction(a)) + abs(Fraction(b)) + abs(Fraction(c))
    assert abs(Fraction(y.hi) + Fraction(y.lo) - exact) <= size * Fraction(2) ** -104
    both = x + DoubleDouble(*two_sum(c, a))
    exact = 2 * Fraction(a) + Fraction(b) + Fraction(c)
    size += abs(Fraction(a))
    assert abs(Fraction(both.hi) + Fraction(both.lo) - exact) <= size * Fraction(2) ** -103
    product = x.times(c)
    exact = (Fraction(x.hi) + Fraction(x.lo)) * Fraction(c)
    error = abs(Fraction(product.hi) + Fraction(product.lo) - exact)
    assert error <= abs(exact) * Fraction(2) ** -102


def test_slices_add_up_to_the_matrix():
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (40, 3))
    parts = list(slices(X, 20))
    assert len(parts) <= 4
    np.testing.assert_array_equal(sum(parts[::-1]), X)
    for p, part in enumerate(parts, 1):
        scaled = np.ldexp(part, 20 * p)
        np.testing.assert_array_equal(scaled, np.round(scaled))
    assert len(list(slices(np.array([[1.0, -0.5]]), 20))) == 1
    assert not list(slices(np.zeros((2, 2)), 20))


@pytest.mark.parametrize("kind", ["dense", "sparse", "torch"])
def test_products_to_a_hundred_bits(kind):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(37, 5)) * 10.0 ** rng.integers(-4, 4, (37, 5)) * [1, 1e40, 1e-40, 1, 1]
    X[rng.random(X.shape) < 0.3] = 0.0
    w = DoubleDouble(rng.normal(size=(5, 2)) * [1, 1e10], rng.normal(size=(5, 2)) * 1e-17)
    matrix, right = X, w
    if kind == "sparse":
        matrix = sp.csr_array(X)
    if kind == "torch":
        torch = pytest.importorskip("torch")
        matrix, right = torch.tensor(X), DoubleDouble(torch.tensor(w.hi), torch.tensor(w.lo))
    cut = OzakiMatrix.of(matrix)
    z = cut.forward(right)
    g = cut.adjoint(z)
    A = [[Fraction(v) for v in row] for row in X.tolist()]
    for k in range(2):
        for i in range(37):
            terms = [A[i][j] * exactly(w, j, k) for j in range(5)]
            size = sum(abs(t) for t in terms)
            # Slices are cut at 2⁻¹⁰⁰ of the largest entry of a column, hence not of each term.
            top = sum(abs(X[:, j]).max() * Fraction(abs(w.hi[j, k])) for j in range(5))
            error = abs(exactly(z, i, k) - sum(terms))
            assert error <= size * Fraction(2) ** -100 + Fraction(top) * Fraction(2) ** -115
        for j in range(5):
            terms = [A[i][j] * exactly(z, i, k) for i in range(37)]
            assert abs(exactly(g, j, k) - sum(terms)) <= sum(map(abs, terms)) * Fraction(2) ** -98


def test_no_rows_give_zero():
    cut = OzakiMatrix.of(np.zeros((0, 3)))
    assert cut.forward(DoubleDouble.of(np.ones((3, 2)))).hi.shape == (0, 2)
    np.testing.assert_array_equal(
        cut.adjoint(DoubleDouble.of(np.ones((0, 2)))).hi, np.zeros((3, 2))
    )
