"""Certificates where no penalty holds the coefficients, against optima in exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog, nnls

from fenchel.convex.loss.distance import Absolute, Huber, Pinball, Square
from fenchel.convex.penalty import L2, NonNegative
from fenchel.convex.problem import Problem
from fenchel.data.design.matrix import MatrixDesign
from fenchel.data.intake import as_blocks


def problem(loss, penalty, X, y, s=None, intercept=True):
    return Problem(loss, penalty, MatrixDesign(as_blocks(X, y, s)), intercept)


def least_squares(X, y, s, intercept, lam):
    """min Σ s (y - x·w - b)²/2 + λ|w|²/2 with Σ s = 1, in rational arithmetic: no rounding."""
    A = [[Fraction(float(v)) for v in row] + [Fraction(1)] * intercept for row in X]
    t, total = [Fraction(float(v)) for v in y], sum(Fraction(float(v)) for v in s)
    s = [Fraction(float(v)) / total for v in s]
    d = len(A[0])
    n = range(len(A))
    H = [[sum(s[k] * A[k][i] * A[k][j] for k in n) for j in range(d)] for i in range(d)]
    g = [sum(s[k] * A[k][i] * t[k] for k in n) for i in range(d)]
    for i in range(d - intercept):
        H[i][i] += Fraction(lam)
    least = sum(s[k] * t[k] ** 2 for k in n)
    for i in range(d):  # Gauss: each pivot explains g²/H of what is left; a zero one nothing
        if H[i][i] == 0:
            continue
        least -= g[i] ** 2 / H[i][i]
        for k in range(i + 1, d):
            c = H[k][i] / H[i][i]
            g[k] -= c * g[i]
            H[k] = [H[k][j] - c * H[i][j] for j in range(d)]
    return float(least / 2)


def regression_data():
    rng = np.random.default_rng(0)
    n = 25
    X = rng.normal(size=(n, 3))
    y = X @ [1.0, 2.0, -1.0] + rng.normal(size=n)
    one, noise = np.ones(n), rng.normal(size=n)
    yield "plain", X, y, one
    yield "duplicate column", np.c_[X, X[:, 0]], y, one
    yield "constant and zero columns", np.c_[X, 3.7 * one, 0.0 * one], y, one
    for power in (4, 8, 12):
        yield f"condition 1e{power}", np.c_[X, X[:, 0] + 10.0**-power * noise], y, one
    yield "column at 1e8", X + np.array([1e8, 0.0, 0.0]), y, one
    yield "columns from 1e-100 to 1e100", X * [1e-100, 1e100, 1.0], y, one
    yield "target at 1e8", X, y + 1e8, one
    yield "target at 1e150", X, 1e150 * y, one
    yield "target at 1e-140", X, 1e-140 * y, one
    yield "exact fit", X, X @ [1.0, 2.0, -1.0], one
    yield "more columns than rows", X[:2], y[:2], one[:2]
    yield "weights over 12 orders", X, y, 10.0 ** rng.uniform(-6.0, 6.0, n)
    yield "zero weights", X, y, (rng.random(n) < 0.4) * 1.0


def regression_points(X, y, s, intercept, lam):
    """The solution as lstsq finds it, its neighbourhood, and points that are far off."""
    rng = np.random.default_rng(1)
    n, d = X.shape
    A = np.c_[X, np.ones(n)] if intercept else X
    root = np.sqrt(s / s.sum())
    rows = np.vstack([A * root[:, None], math.sqrt(lam) * np.eye(A.shape[1])[:d]])
    right = np.r_[y * root, np.zeros(d)]
    for cut in (None, 1e-9):
        v = np.linalg.lstsq(rows, right, rcond=cut)[0]
        yield v
        yield v * (1.0 + 1e-6 * rng.normal(size=len(v)))
    yield 0.0 * v
    yield rng.normal(size=len(v))
    yield 1e6 * rng.normal(size=len(v))


@pytest.mark.parametrize("lam", [0.0, 1e-12, 1e-3, 1e8])
@pytest.mark.parametrize("data", list(regression_data()), ids=lambda data: data[0])
def test_least_squares_bounds_hold_exactly(data, lam):
    """Against the optimum in rational arithmetic; closed where float64 can tell the directions."""
    name, X, y, s = data
    # Scores of large coefficients that cancel, or of a far column, are right to fewer digits.
    loose = {"condition 1e4": 1e-10, "condition 1e8": 1e-6, "condition 1e12": 1e-2}
    loose |= {"column at 1e8": 1e-6, "target at 1e8": 1e-6}
    for intercept in (True, False):
        optimum = least_squares(X, y, s, intercept, lam)
        p = problem(Square(), L2(lam), X, y, s, intercept)
        missing = math.inf
        for v in regression_points(X, y, s, intercept, lam):
            point = (v[: X.shape[1]], float(v[-1]) if intercept else 0.0)
            proof = p.certify(point)
            if proof.kind == "estimate":  # which claims no bound
                assert name == "condition 1e16"
                continue
            assert proof.bound <= optimum * (1.0 + 1e-13), (name, intercept, proof, optimum)
            missing = min(missing, optimum - proof.bound)
        if lam == 0.0:  # whatever the point, a Newton step in the dual finds the bound
            floor = 1e-15 * float(y @ y) if name in ("exact fit", "more columns than rows") else 0.0
            assert missing <= loose.get(name, 1e-12) * optimum + floor, (name, intercept, missing)


@pytest.mark.parametrize("seed", range(12))
def test_a_penalty_that_rounding_hides(seed):
    """Columns up to 1e30 beside λ down to 1e-20: |∇P|²/(2λ) is noise, and the bound still true.

    A bound made as if no optimum's coefficient were more than twice the fitted one was once above
    the optimum here.
    """
    rng = np.random.default_rng(seed)
    unit = 10.0 ** rng.integers(-2, 30, 3)
    X = rng.normal(size=(20, 3))
    y, s = rng.normal(size=20) + X @ rng.normal(size=3), rng.random(20)
    lam = 10.0 ** rng.integers(-20, 2)
    for intercept in (True, False):
        optimum = least_squares(X * unit, y, s, intercept, lam)
        p = problem(Square(), L2(lam), X * unit, y, s, intercept)
        A = np.c_[X, np.ones(20)] if intercept else X
        root = np.sqrt(s / s.sum())
        small = np.diag(np.r_[math.sqrt(lam) / unit, [0.0] * intercept])
        rows, right = np.vstack([A * root[:, None], small]), np.r_[y * root, np.zeros(len(small))]
        v = np.linalg.lstsq(rows, right, rcond=None)[0]
        for noise in (0.0, 1e-12, 1e-6, 1e-2):
            u = v * (1.0 + noise * rng.normal(size=len(v)))
            proof = p.certify((u[:3] / unit, float(u[3]) if intercept else 0.0))
            assert proof.bound <= optimum * (1.0 + 1e-13), (noise, lam, unit)
            if noise == 0.0:
                assert proof.bound >= optimum * (1.0 - 1e-9), (lam, unit)


def test_a_small_target_is_no_small_gap():
    """The relative gap does not depend on the unit of the target, nor on its mean."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 3))
    y = X @ [1.0, 2.0, 3.0] + rng.normal(size=40)
    w = np.array([1.0, 2.0, 0.0])
    gaps = []
    for unit, mean in ((1.0, 0.0), (1e-20, 0.0), (1e-150, 0.0), (1e150, 0.0), (1.0, 1e9)):
        p = problem(Square(), L2(0.1), X, unit * y + mean)
        gaps.append(p.certify((unit * w, mean)).relative_gap)
    np.testing.assert_allclose(gaps, gaps[0], rtol=1e-5)


def test_overflow_proves_nothing():
    X = np.array([[1.0], [2.0], [3.0]])
    p = problem(Square(), L2(0.0), X, np.array([1e200, 2e200, 2e200]))
    with np.errstate(over="ignore", invalid="ignore"):
        proof = p.certify((np.zeros(1), 0.0))
    assert proof.value == math.inf and proof.bound <= 0.0 and proof.relative_gap == math.inf


@pytest.mark.parametrize("loss", [Absolute(), Pinball(0.9), Huber(1e-3)], ids=str)
def test_no_penalty_and_no_curvature_prove_nothing(loss):
    """Where l″ = 0 no Newton step makes Φ*(sθ) = 0; the residual must not pass for rounding."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(30, 2))
    y = X @ [5.0, -5.0] + 0.01 * rng.normal(size=30)
    p = problem(loss, L2(0.0), X, y)
    good = p.evaluate((np.array([5.0, -5.0]), 0.0), exact=True).value
    for scale in (0.0, 1.0):
        point = (scale * rng.normal(size=2), 0.0)
        assert p.certify(point).bound <= good


def test_w_not_negative():
    """Closed at the solution of scipy's nnls, valid elsewhere."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(50, 5))
    y = X @ [1.0, -2.0, 0.0, 3.0, -1.0] + rng.normal(size=50)
    w, norm = nnls(X, y)
    optimum = norm**2 / 100
    p = problem(Square(), NonNegative(), X, y, intercept=False)
    assert (w == 0.0).any() and (w > 0.0).any()
    proof = p.certify((w, 0.0))
    assert proof.relative_gap <= 1e-12
    for point in (0.0 * w, abs(rng.normal(size=5)), 0.9 * w, w + 1e-3):
        assert p.certify((point, 0.0)).bound <= optimum * (1.0 + 1e-12)
    assert p.certify((w - 10.0, 0.0)).value == math.inf


def test_a_given_dual_point_without_penalty():
    """Least absolute deviations: the linear program's dual closes the gap."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(40, 2))
    y = X @ [1.0, -1.0] + rng.standard_cauchy(40)
    A = np.c_[X, np.ones(40)]
    n, d = A.shape
    answer = linprog(
        np.r_[np.zeros(d), np.full(n, 1 / n)],
        A_ub=np.block([[A, -np.eye(n)], [-A, -np.eye(n)]]),
        b_ub=np.r_[y, -y],
        bounds=[(None, None)] * d + [(0, None)] * n,
    )
    v = answer.x[:d]
    theta = -n * (answer.ineqlin.marginals[:n] - answer.ineqlin.marginals[n:])
    p = problem(Absolute(), L2(0.0), X, y)
    point = (v[:2], float(v[2]))
    assert p.certify(point).bound == 0.0
    assert p.certify(point, dual=np.clip(theta, -1.0, 1.0)).relative_gap <= 1e-9
    wrong = np.clip(theta + 0.1, -1.0, 1.0)  # Φ*(sθ) = 0 by far no more, and charged
    optimum = p.certify(point).value
    assert p.certify(point, dual=wrong).bound < 0.5 * optimum
