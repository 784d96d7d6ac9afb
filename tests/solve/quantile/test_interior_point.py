"""The barrier method: against scipy's linear programs, and a quadratic by its optimality."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog

from fenchel.solve.quantile.interior_point import BlockLP
from fenchel.solve.robust.zero_scale import RowsWithConstant


def setting(seed, n=40, d=3, copies=2):
    rng = np.random.default_rng(seed)
    X = np.append(rng.standard_normal((n, d)), np.ones((n, 1)), axis=1)
    m, cost = rng.uniform(0.5, 1.5, n), rng.standard_normal((n, copies))
    ends = -rng.uniform(0.1, 1.0, copies), rng.uniform(0.1, 1.0, copies)
    side = rng.standard_normal((copies * (d + 1), 5))
    return X, m, cost, ends, side


def test_as_scipy(global_random_seed):
    X, m, cost, ends, side = setting(global_random_seed)
    low, high = np.array([0.0, 0.0, -1.0, -1.0, 0.0]), np.array([np.inf, np.inf, 1.0, 2.0, 3.0])
    program = BlockLP(RowsWithConstant(X), m, cost, ends, side, low, high)
    x, u, pi = program.solve(np.full(5, 0.5), 1e-10)
    fit = (X * m[:, None]).T
    A = np.block([[fit, 0.0 * fit, side[:4]], [0.0 * fit, fit, side[4:]]])
    bounds = [(a, b) for a, b in zip(*ends, strict=True) for _ in m]
    bounds += list(zip(low, high, strict=True))
    c = np.append(cost.T.ravel(), np.zeros(5))
    best = linprog(c, A_eq=A, b_eq=np.zeros(8), bounds=bounds)
    assert_allclose((cost * x).sum(), best.fun, rtol=1e-7)
    assert_allclose(A @ np.append(x.T.ravel(), u), 0.0, atol=1e-7)
    assert_allclose(pi, best.eqlin.marginals, atol=1e-5)


@pytest.mark.parametrize("strength", [1e-3, 1.0, 1e3])
def test_a_quadratic_with_free_unknowns(strength):
    """min Σ c x + g|u|²/2, u = Σ m x x̃, |x| ≤ h: x is where c + g m x̃·u leaves it."""
    X, m, cost, _, _ = setting(0, copies=1)
    size, free = X.shape[1], np.full(X.shape[1], np.inf)
    ends = (np.full(1, -0.7), np.full(1, 0.7))
    bend = np.full(size, strength)
    program = BlockLP(RowsWithConstant(X), m, cost, ends, -np.eye(size), -free, free, bend)
    x, u, pi = program.solve(np.zeros(size), 1e-11)
    assert_allclose(u, X.T @ (m * x[:, 0]), atol=1e-7)
    assert_allclose(pi, -strength * u, rtol=1e-6, atol=1e-9)
    slope = cost[:, 0] + strength * m * (X @ u)
    inside = np.abs(x[:, 0]) < 0.7 - 1e-5
    assert_allclose(slope[inside], 0.0, atol=1e-4 * max(1.0, np.abs(slope).max()))
    assert (np.sign(x[~inside, 0]) == -np.sign(slope[~inside])).all()
