"""A quadratic with corners over columns that depend on each other: its minimum, and soon."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import nnls

from fenchel.solve.sparse import compiled
from fenchel.solve.sparse import lasso_qp as quadratic
from fenchel.solve.sparse.active_set import compiled as active_set
from fenchel.solve.sparse.lasso_qp import L1L2Part, solve_lasso_qp

CORNERS = [
    L1L2Part(0.01, 0.0, False),
    L1L2Part(1e-5, 0.0, False),
    L1L2Part(0.01, 0.0, True),
    L1L2Part(1e-5, 1e-9, True),
    L1L2Part(1e-3, 0.05, False),
    L1L2Part(0.0, 0.0, True),
    L1L2Part(0.0, 1e-3, False),
]


def table(n, m, seed, spread=1.0):
    """Columns of many sizes, more than rows or a few of them twice, one of them zero."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m)) * 10.0 ** rng.uniform(-spread, spread, m)
    X[:, m // 2 : m // 2 + 3] = X[:, :3] * [1.0, -1.0, 2.0]
    X[:, -1] = 0.0
    return X, X[:, :5] @ rng.normal(size=5) + rng.normal(size=n)


@pytest.mark.parametrize("spread", [0.0, 2.0])
@pytest.mark.parametrize("shape", [(40, 12), (12, 40), (30, 150)])
@pytest.mark.parametrize("corners", CORNERS, ids=str)
@pytest.mark.parametrize("exchange", [True, False])
def test_no_slope_misses_its_corner(corners, shape, spread, exchange, monkeypatch) -> None:
    """By exchanges alone and in the end, from zero and from a support larger than the rank."""
    if exchange:
        monkeypatch.setattr(quadratic, "EASY", 0)
    (n, m), (X, y) = shape, table(*shape, 0, spread)
    room = np.full((m + 2, m + 2), np.nan)  # G is the corner of a larger array
    room[:m, :m] = X.T @ X / n
    scale = float(np.abs(X.T @ y).max() / n)
    corners = L1L2Part(scale * corners.a, scale * corners.b, corners.positive)
    values = []
    for w in (np.zeros(m), np.abs(np.random.default_rng(1).normal(size=m))):
        g = X.T @ (X @ w - y) / n
        limit = 1e-9 * scale
        u = solve_lasso_qp(room, g, w, corners, limit)
        slopes = X.T @ (X @ u - y) / n
        size = float(np.linalg.norm(X, axis=0) @ (np.abs(u) + np.abs(w))) / n
        noise = 1e-14 * (scale + size * float(np.linalg.norm(X, axis=0).max()))
        assert float(corners.violation(slopes, u).max()) <= limit + noise
        assert not corners.positive or u.min() >= 0.0
        values.append(np.square(X @ u - y).sum() / (2 * n) + corners.value(u))
        start = np.square(X @ w - y).sum() / (2 * n) + corners.value(w)
        assert values[-1] <= start
    assert values[0] == pytest.approx(values[1], rel=1e-6, abs=1e-9 * np.square(y).sum() / n)


@pytest.mark.parametrize("shape", [(40, 12), (12, 40)])
def test_nonnegative_least_squares_agree(shape) -> None:
    X, y = table(*shape, 3, 0.5)
    u = solve_lasso_qp(X.T @ X, -X.T @ y, np.zeros(shape[1]), L1L2Part(0.0, 0.0, True), 1e-10)
    assert np.linalg.norm(X @ u - y) == pytest.approx(nnls(X, y)[1], rel=1e-8, abs=1e-8)


def test_a_support_larger_than_the_rank_is_settled_in_few_rounds(monkeypatch) -> None:
    """Epochs refill such a support as fast as Newton's steps empty it."""
    rounds, descent = [], compiled.gram_descent
    monkeypatch.setattr(
        compiled, "gram_descent", lambda *given: rounds.append(1) or descent(*given)
    )
    for seed in range(5):
        X, y = table(30, 150, seed)
        G, g = X.T @ X / 30, -X.T @ y / 30
        corners = L1L2Part(1e-4 * float(np.abs(g).max()), 0.0, False)
        u = solve_lasso_qp(G, g, np.zeros(150), corners, 1e-3 * corners.a)
        assert float(corners.violation(g + G @ u, u).max()) <= 1.01e-3 * corners.a
        assert np.count_nonzero(u) <= 30
    assert len(rounds) <= 6 * 5


def test_the_multiplications_of_an_exchange_are_counted_and_bounded(monkeypatch) -> None:
    """A support of few columns that never settles would hold up a fit: what it may take is
    proportional to m³, and a descent ends within one change of what it was given."""
    X, y = table(60, 40, 0)
    g, corners, given = -X.T @ y, L1L2Part(1e-3, 0.0, False), []
    descent = active_set.active_set_descent

    def counted(*arguments):
        left = descent(*arguments)
        given.append((len(arguments[2]), arguments[11], left))
        return left

    monkeypatch.setattr(active_set, "active_set_descent", counted)
    monkeypatch.setattr(quadratic, "EASY", 0)
    for m in (3, 10, 40):
        solve_lasso_qp(X[:, :m].T @ X[:, :m], g[:m], np.zeros(m), corners, 1e-9)
    for m, work, left in given:
        assert work <= min(quadratic.WORK, 1000.0 * m**3) + 200.0 * m * m
        assert 0.0 < left < work  # settled, and counted
    m, work = 40, 6000.0  # of the 156,000 that it takes
    room, order, shut = np.empty((6, m)), np.empty(m, np.int64), np.empty(m, np.bool_)
    left = descent(
        X.T @ X, g.copy(), np.zeros(m), np.empty((m, m)), order, 0, order[:0], 1e-3, 0.0, False,
        1e-9, work, room, shut,
    )  # fmt: skip
    assert 0.0 >= left >= -m * (5.0 * m + 8.0)  # at most one step and the slopes after it


@pytest.mark.parametrize("seed", [4, 20, 27])
def test_an_indefinite_matrix_leaves_finite_coefficients(seed) -> None:
    """Cancellation may leave nothing of G but rounding, of either sign: descent has no end."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(8, 8))
    g = 1e-10 * rng.normal(size=8)
    with np.errstate(over="ignore", invalid="ignore"):
        u = solve_lasso_qp(1e-6 * (A + A.T), g, np.zeros(8), L1L2Part(1e-20, 0.0, False), 1e-12)
    assert np.isfinite(u).all()


def test_a_factor_follows_its_columns() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 8))
    K, b = X.T @ X, 0.1
    L, order, kept = np.empty((8, 8)), np.empty(8, np.int64), []
    for j in (3, 5, 0, 7, 1, 6):
        left = active_set.factor_append(K, b, L, order, len(kept), j)
        assert left > 0.0
        kept.append(j)
    for at in (2, 0, 3):
        active_set.factor_delete(L, order, len(kept), at)
        del kept[at]
        k = len(kept)
        assert order[:k].tolist() == kept
        H = K[np.ix_(kept, kept)] + b * np.eye(k)
        x = rng.normal(size=k)
        np.testing.assert_allclose(np.tril(L[:k, :k]) @ np.tril(L[:k, :k]).T, H, rtol=1e-12)
        found = x.copy()
        active_set.factor_solve(L, k, found)
        np.testing.assert_allclose(found, np.linalg.solve(H, x), rtol=1e-10)
