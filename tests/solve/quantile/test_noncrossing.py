"""Quantiles that do not cross: against the textbook's linear program, and the proof of it."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
import sklearn.linear_model as sk
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import linprog

import fenchel.solve.quantile.noncrossing as crossing
from fenchel import NotCertified, as_blocks
from fenchel.solve.quantile.noncrossing import noncrossing

Q = np.array([0.05, 0.3, 0.5, 0.7, 0.95])


def table(n=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * [1.0, 10.0, 0.1][:d] + [0.0, 5.0, -1.0][:d]
    y = X[:, 0] + rng.standard_normal(n) * (1.0 + 2.0 * np.abs(X[:, 0]))
    return X, y, rng.uniform(0.2, 2.0, n)


def value(X, y, s, q, alpha, w, b):
    r = y[:, None] - X @ w - b
    return float(s @ np.maximum(q * r, (q - 1) * r).sum(axis=1) / s.sum() + alpha * np.abs(w).sum())


def least_gaps(X, w, b):
    """min over the box of the rows of x·(wₖ₊₁ - wₖ) + bₖ₊₁ - bₖ."""
    D = np.diff(w, axis=1)
    low, high = X.min(axis=0)[:, None], X.max(axis=0)[:, None]
    return np.diff(b) + np.minimum(low * D, high * D).sum(axis=0)


def textbook(X, y, s, q, alpha, intercept):
    """The optimum of the primal program, written out: w⁺, w⁻, b, v, r⁺, r⁻ of every quantile, with
    v ≥ -(lower and upper product) of each column."""
    (n, d), K = X.shape, len(q)
    s, low, high = s / s.sum(), X.min(axis=0), X.max(axis=0)
    size = 2 * d + 1 + 2 * n
    cost, eq, rhs, ub = [], [], [], []
    for k in range(K):
        cost += [alpha] * (2 * d) + [0.0] + list(q[k] * s) + list((1 - q[k]) * s)
        row = np.zeros((n, K * size + (K - 1) * d))
        row[:, k * size : (k + 1) * size] = np.hstack(
            [X, -X, np.ones((n, 1)) * intercept, np.eye(n), -np.eye(n)]
        )
        eq.append(row)
        rhs.append(y)
    cost += [0.0] * ((K - 1) * d)
    for k in range(K - 1):
        total = np.zeros(len(cost))
        total[[k * size + 2 * d, (k + 1) * size + 2 * d]] = [1.0 * intercept, -1.0 * intercept]
        for j in range(d):
            v = K * size + k * d + j
            total[v] = 1.0
            for edge in (low[j], high[j]):  # -v ≤ edge · D
                row = np.zeros(len(cost))
                row[v] = -1.0
                for at, sign in ((k, 1.0), (k + 1, -1.0)):
                    row[at * size + j] += sign * edge
                    row[at * size + d + j] -= sign * edge
                ub.append(row)
        ub.append(total)
    free = ([(0, None)] * (2 * d) + [(None, None)] + [(0, None)] * (2 * n)) * K
    free += [(None, None)] * ((K - 1) * d)
    found = linprog(
        cost, np.array(ub) if ub else None, np.zeros(len(ub)) if ub else None,
        np.concatenate(eq), np.concatenate(rhs), free,
    )  # fmt: skip
    assert found.status == 0
    return found.fun


@pytest.mark.parametrize("method", ["simplex", "barrier"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 0.05])
def test_the_optimum_of_the_textbook(alpha, intercept, method):
    limit = 0 if method == "barrier" else 10**9
    X, y, s = table()
    found = noncrossing(as_blocks(X, y, s), Q, alpha, intercept, 1e-6, simplex_entries=limit)
    best = textbook(X, y, s, Q, alpha, intercept)
    assert found.certificate.relative_gap <= 1e-6
    assert_allclose(value(X, y, s, Q, alpha, found.w, found.b), best, rtol=1e-7)
    assert_allclose(found.certificate.value, best, rtol=1e-7)
    assert found.certificate.bound <= best * (1 + 1e-9)
    assert least_gaps(X, found.w, found.b).min() >= -1e-12
    if not intercept:
        assert not found.b.any()


def test_they_would_cross_on_their_own_and_do_not():
    X, y, _ = table(40, 3, 3)
    alone = np.stack(
        [sk.QuantileRegressor(quantile=q, alpha=0.0).fit(X, y).predict(X) for q in Q], axis=1
    )
    assert np.diff(alone, axis=1).min() < -1e-3
    found = noncrossing(as_blocks(X, y), Q, 0.0, True, 1e-6)
    assert np.diff(X @ found.w + found.b, axis=1).min() >= 0.0
    inside = np.random.default_rng(0).uniform(X.min(axis=0), X.max(axis=0), (5000, 3))
    corners = np.array(np.meshgrid(*zip(X.min(axis=0), X.max(axis=0), strict=True))).reshape(3, -1)
    for rows in (inside, corners.T):
        assert np.diff(rows @ found.w + found.b, axis=1).min() >= -1e-12


def test_one_quantile_is_quantile_regression():
    X, y, s = table()
    for alpha in (0.0, 0.02):
        found = noncrossing(as_blocks(X, y, s), Q[1:2], alpha, True, 1e-6)
        theirs = sk.QuantileRegressor(quantile=Q[1], alpha=alpha).fit(X, y, s)
        at = value(X, y, s, Q[1:2], alpha, theirs.coef_[:, None], theirs.intercept_)
        assert_allclose(found.certificate.value, at, rtol=1e-9)


@pytest.mark.parametrize("method", ["simplex", "barrier"])
def test_the_bound_holds_for_any_multipliers(method, global_random_seed):
    """Whatever θ, λ, ν are given, no feasible point lies below the bound."""
    limit = 0 if method == "barrier" else 10**9
    rng = np.random.default_rng(global_random_seed)
    X, y, s = table(50, 2, global_random_seed)
    for alpha, intercept in ((0.0, True), (0.03, True), (0.03, False)):
        found = noncrossing(as_blocks(X, y, s), Q, alpha, intercept, 1e-6, simplex_entries=limit)
        rows = crossing.QuantileTable.of(as_blocks(X, y, s), intercept)
        program = crossing.Program(rows, Q, alpha)
        best = found.certificate.value
        exact = crossing.CrossingProof.of(as_blocks(X, y, s), Q, alpha, intercept)
        w, b = found.w, found.b
        _, _, dual = program.solve(method, 1e-6)
        for size in (1e-9, 1e-3, 0.1, 1.0):
            noise = crossing.Dual(
                dual.theta + size * rng.standard_normal(dual.theta.shape),
                dual.lam + size * rng.standard_normal(dual.lam.shape),
                dual.nu + size * rng.standard_normal(dual.nu.shape),
            )
            off = rng.standard_normal(len(Q)) * size * intercept
            for at in ((w, b), (w + size * rng.standard_normal(w.shape), b + off)):
                proof = program.prove(exact, *at, noise)
                assert proof.bound * exact.unit <= best * (1 + 1e-12)


def test_weights_are_repeats_and_zero_weights_removed_rows():
    X, y, _ = table()
    times = np.random.default_rng(2).integers(0, 3, len(y)).astype(float)
    X[times == 0] *= 100.0  # outside the box of the others
    weighted = noncrossing(as_blocks(X, y, times), Q, 0.01, True, 1e-6)
    again = times.astype(int)
    repeated = as_blocks(np.repeat(X, again, axis=0), np.repeat(y, again))
    other = noncrossing(repeated, Q, 0.01, True, 1e-6)
    assert_allclose(weighted.certificate.value, other.certificate.value, rtol=1e-8)
    assert weighted.certificate.relative_gap <= 1e-8


@pytest.mark.parametrize("kind", ["csr", "float32", "torch"])
def test_containers_agree(kind):
    X, y, s = table(200)
    X[np.abs(X) < 0.5] = 0.0
    X, y, s = (np.round(v, 2) for v in (X, y, s))
    dense = noncrossing(as_blocks(X, y, s), Q, 0.02, True, 1e-6)
    if kind == "torch":
        torch = pytest.importorskip("torch")
        other = torch.from_numpy(X)
    else:
        other = sparse.csr_array(X) if kind == "csr" else X.astype(np.float32)
    found = noncrossing(as_blocks(other, y, s), Q, 0.02, True, 1e-4)
    assert_allclose(found.certificate.value, dense.certificate.value, rtol=1e-6)
    if kind == "float32":
        w, b = found.w.astype(np.float32), found.b.astype(np.float32)
        assert np.diff(other @ w + b, axis=1).min() >= 0.0


@pytest.mark.parametrize("c", [1e-60, 1e60])
def test_units(c):
    X, y, _ = table()
    plain = noncrossing(as_blocks(X, y), Q, 0.0, True, 1e-6)
    far = noncrossing(as_blocks(X * c, y / c), Q, 0.0, True, 1e-6)
    assert far.certificate.relative_gap <= 1e-6
    assert_allclose(far.certificate.value * c, plain.certificate.value, rtol=1e-8)


def test_exact_fits_and_dependent_columns():
    X, y, _ = table()
    for t in (X[:, 0], np.full(len(y), 3.0)):
        found = noncrossing(as_blocks(X, t), Q, 0.0, True, 1e-6)
        assert_allclose(X @ found.w + found.b, np.stack([t] * len(Q), axis=1), atol=1e-8)
    twice = np.hstack([X, X, np.ones((len(y), 1))])
    a = noncrossing(as_blocks(twice, y), Q, 0.0, True, 1e-6)
    b = noncrossing(as_blocks(X, y), Q, 0.0, True, 1e-6)
    assert_allclose(a.certificate.value, b.certificate.value, rtol=1e-8)


def test_thousands_of_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 6))
    y = X[:, 0] + rng.standard_t(2, 4000) * (1 + np.abs(X[:, 1]))
    found = noncrossing(as_blocks(X, y), Q, 0.001, True, 1e-6)
    assert found.certificate.relative_gap <= 1e-8
    below = (y[:, None] <= X @ found.w + found.b).mean(axis=0)
    assert_allclose(below, Q, atol=0.02)


def test_what_cannot_be_asked():
    blocks = as_blocks(*table()[:2])
    for wrong in ([0.0, 0.5], [0.5, 1.0], []):
        with pytest.raises(ValueError, match="strictly between 0 and 1"):
            noncrossing(blocks, np.array(wrong), 0.0, True, 1e-6)
    with pytest.raises(ValueError, match="increase"):
        noncrossing(blocks, np.array([0.5, 0.5]), 0.0, True, 1e-6)
    with pytest.warns(NotCertified, match="asked tol=0"):
        noncrossing(blocks, np.array([0.3, 0.5]), 0.0, True, 0.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_plane_crosses_another_in_exact_arithmetic(dtype):
    """At every corner of the box of the rows, with the coefficients as returned."""
    rng = np.random.default_rng(4)
    for intercept in (True, False):
        X = (rng.standard_normal((20, 2)) + (0.0 if intercept else 5.0)).astype(dtype)
        y = X.sum(axis=1) + rng.standard_normal(20)
        found = noncrossing(as_blocks(X, y), np.array([0.3, 0.5, 0.7]), 0.0, intercept, 1e-6)
        w, b = found.w.astype(dtype), found.b.astype(dtype)
        assert np.array_equal(w, found.w) and np.array_equal(b, found.b)
        for corner in itertools.product(*zip(X.min(axis=0), X.max(axis=0), strict=True)):
            point = [Fraction(float(x)) for x in corner]
            scores = [
                Fraction(float(b[k]))
                + sum(x * Fraction(float(v)) for x, v in zip(point, w[:, k], strict=True))
                for k in range(3)
            ]
            assert scores[0] <= scores[1] <= scores[2]
