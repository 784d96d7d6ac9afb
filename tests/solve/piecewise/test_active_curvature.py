"""Factors that follow the rows at a joint: the same answer as a new factor's."""

from __future__ import annotations

import numpy as np
import pytest

from fenchel import as_blocks
from fenchel.convex.hessian.dense import PSDFactor
from fenchel.data.design.matrix import MatrixDesign
from fenchel.data.passes.sweep import Unit
from fenchel.solve.piecewise.active_curvature import FEW, ActiveCurvature


def matrix_of(table, h, centre, free):
    d = table.dimension
    active = table.weighted_subset(h)
    size = d + free
    return active.gram((np.zeros(d), 0.0), Unit(), centre if free else None)[:size, :size]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("free", [True, False])
def test_few_rows_more_or_less_give_the_answer_of_a_new_factor(free, dtype):
    rng = np.random.default_rng(0)
    n, d, lam = 400, 40, 0.1
    X = (rng.standard_normal((n, d)) + 3.0).astype(dtype)
    table = MatrixDesign(as_blocks(X, np.ones(n)))
    centre = np.full(d, 3.0) if free else np.zeros(d)
    h = np.where(rng.random(n) < 0.3, rng.random(n), 0.0)
    known = ActiveCurvature.of(table, h, matrix_of(table, h, centre, free), lam, centre, free)
    assert known.at(table, h, lam) is not None
    new = h.copy()
    new[np.flatnonzero(h)[:2]] = 0.0
    new[np.flatnonzero(h == 0.0)[:2]] = 0.7
    new[np.flatnonzero(h)[5]] *= 2.0
    assert np.count_nonzero(new != h) <= d // FEW
    near = known.at(table, new, lam)
    exact = ActiveCurvature.of(
        table, new, matrix_of(table, new, centre, free), lam, centre, free
    ).factor
    g, level = rng.standard_normal(d), 0.3 if free else 0.0
    for a, b in zip(near.solve(g, level), exact.solve(g, level), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9 if dtype == "float64" else 1e-3, atol=1e-9)


def test_a_factor_is_made_anew_for_another_table_penalty_or_many_rows():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 20))
    table, other = (MatrixDesign(as_blocks(X, np.ones(200))) for _ in range(2))
    h = np.where(np.arange(200) < 60, 1.0, 0.0)
    known = ActiveCurvature.of(
        table, h, matrix_of(table, h, np.zeros(20), True), 0.1, np.zeros(20), True
    )
    assert known.at(other, h, 0.1) is None
    assert known.at(table, h, 0.2) is None
    assert known.at(table, np.ones(200), 0.1) is None


def test_rows_taken_away_that_leave_no_positive_matrix_are_refused():
    H = np.diag([1.0, 2.0, 3.0])
    factor = PSDFactor.of(H)
    gone = np.array([[1.1], [0.0], [0.0]])
    assert factor.updated(gone, np.array([-1.0])) is None
    assert factor.updated(np.array([[1.0], [0.0], [0.0]]), np.array([-1.0])) is None
    less = factor.updated(0.5 * gone, np.array([-1.0]))
    g = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(
        less.solve(g), np.linalg.solve(H - 0.25 * gone @ gone.T, g), rtol=1e-14
    )
