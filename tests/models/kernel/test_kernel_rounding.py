"""Certificates of kernel machines on rows whose kernel loses digits, against exact arithmetic."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
from convex.audit.exact import exact, solve

from fenchel import SVC, KernelRidge, OneClassSVM, kernels

U = 2.0**-53


def rows(far, n=7, d=2, seed=0):
    rng = np.random.default_rng(seed)
    return far + rng.integers(-50, 50, (n, d)) / 8.0


def inner(X, Z):
    """x·z of all rows, in fractions."""
    A, B = [exact(x) for x in X], [exact(z) for z in Z]
    return [[sum(a * b for a, b in zip(x, z, strict=True)) for z in B] for x in A]


def centred(X, weight):
    """The centred linear kernel over its rows, in fractions."""
    s = exact(weight)
    s = [v / sum(s) for v in s]
    middle = [sum(v * c for v, c in zip(s, column, strict=True)) for column in map(exact, X.T)]
    moved = [[a - m for a, m in zip(exact(x), middle, strict=True)] for x in X]
    return [[sum(a * b for a, b in zip(x, z, strict=True)) for z in moved] for x in moved]


def fitted(model, X, y=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)


@pytest.mark.parametrize("far", [0.0, 1e3, 1e7])
def test_values_of_a_centred_kernel_are_as_near_as_they_say(far):
    X, s = rows(far), np.arange(1.0, 8.0)
    kernel = kernels.Centred(kernels.Linear(), X, s)
    (table,) = kernel.prepared(X)
    K, sizes = kernel.tile(table, table), kernel.sizes(table)
    truth = centred(X, s)
    off = np.array(
        [[float(abs(Fraction(K[i, j]) - truth[i][j])) for j in range(7)] for i in range(7)]
    )
    allowed = U * kernel.rounding(2) * np.sqrt(np.multiply.outer(sizes, sizes))
    assert (off <= allowed).all() and (sizes >= np.diagonal(K)).all()
    if far:
        assert off.max() > U * np.diagonal(K).max()  # the diagonal alone would promise too much
    twice = 2.0 * kernel + kernels.Linear()
    assert (twice.sizes(X) >= 2.0 * sizes).all()


@pytest.mark.parametrize("far", [0.0, 1e4, 1e7])
def test_ridge_in_a_centred_kernel_bounds_the_exact_optimum(far):
    X, alpha = rows(far), 0.25
    y = np.arange(7.0) - 2.0
    model = fitted(KernelRidge(alpha, kernel=kernels.Centred(kernels.Linear(), X)), X, y)
    K, t = centred(X, np.ones(7)), exact(y)
    A = [[K[i][j] + Fraction(alpha) * (i == j) for j in range(7)] for i in range(7)]
    c = solve(A, t)
    least = Fraction(alpha) * sum(a * b for a, b in zip(t, c, strict=True))  # of y'(K + αI)⁻¹y
    proof = model.certificate_
    assert Fraction(proof.bound) <= least
    own = exact(model.dual_coef_)
    f = [sum(k * a for k, a in zip(row, own, strict=True)) for row in K]
    value = sum((a - b) ** 2 for a, b in zip(t, f, strict=True))
    value += Fraction(alpha) * sum(a * b for a, b in zip(own, f, strict=True))
    assert abs(Fraction(proof.value) - value) <= Fraction(proof.value) - Fraction(proof.bound)
    assert model.converged_ == proof.closed(model.tol)


@pytest.mark.parametrize("far", [0.0, 1e3, 1e6])
def test_one_class_bounds_the_exact_optimum(far):
    X, nu = rows(far, 8), 0.4
    model = fitted(OneClassSVM(kernel="linear", nu=nu), X)
    alpha = [Fraction(0)] * 8
    for i, v in zip(model.support_, exact(model.dual_coef_), strict=True):
        alpha[i] = v
    K = inner(X, X)
    f = [sum(k * a for k, a in zip(row, alpha, strict=True)) for row in K]
    rho, total = Fraction(-float(model.intercept_[0])), Fraction(nu) * 8
    value = sum(a * b for a, b in zip(alpha, f, strict=True)) / 2 - total * rho
    value += sum(max(Fraction(0), rho - v) for v in f)
    proof = model.certificate_
    assert Fraction(proof.bound) <= value and proof.bound <= proof.value
    assert abs(Fraction(proof.value) - value) <= Fraction(proof.value) - Fraction(proof.bound)


@pytest.mark.parametrize("far", [0.0, 1e3])
@pytest.mark.parametrize("C", [1.0, np.inf])
def test_machines_bound_the_exact_objective(far, C):
    X = np.array([[0.0, 1.0], [1.0, 0.5], [0.5, 0.0], [4.0, 3.0], [3.0, 4.0], [5.0, 4.5]]) + far
    y = np.array([-1.0, -1.0, -1.0, 1.0, 1.0, 1.0])
    model = fitted(SVC(C=C, kernel="linear", tol=1e-6), X, y)
    coef = [Fraction(0)] * 6
    for i, v in zip(model.support_, exact(model.dual_coef_), strict=True):
        coef[i] = v
    K, b = inner(X, X), Fraction(float(model.intercept_[0]))
    f = [sum(k * a for k, a in zip(row, coef, strict=True)) for row in K]
    value = sum(a * v for a, v in zip(coef, f, strict=True)) / 2
    margins = [Fraction(t) * (v + b) for t, v in zip(y.tolist(), f, strict=True)]
    if C == 1.0:
        value += sum(max(Fraction(0), 1 - m) for m in margins)
    proof = model.certificate_
    assert Fraction(proof.bound) <= value and proof.bound <= proof.value
    assert abs(Fraction(proof.value) - value) <= Fraction(proof.value) - Fraction(proof.bound)
