"""Sequential minimal optimisation in blocks, against exact fractions and other solvers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.svm import exact_dual

from fenchel import (
    L2,
    Absolute,
    EpsilonInsensitive,
    GramDesign,
    Hinge,
    Huber,
    KernelDesign,
    NotCertified,
    Pinball,
    Problem,
    as_blocks,
    minimise,
    threads,
)
from fenchel.geometry.kernel.single_rows import single_rows
from fenchel.geometry.kernel.vector_kernels import Gaussian, Linear
from fenchel.solve.decomposition.block_smo import BlockSMO
from fenchel.solve.decomposition.dual_box import DualBox
from fenchel.solve.decomposition.row_cache import RowCache
from fenchel.solve.gram.kernel_span import KernelSpan
from fenchel.solve.select import select

LOSSES = [
    Hinge(),
    EpsilonInsensitive(0.2),
    Absolute(),
    Pinball(0.3),
    Huber(0.5),
]


def table(loss, n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    z = X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(n)
    return X, np.where(z > 0, 1.0, -1.0) if isinstance(loss, Hinge) else z


def gaussian_problem(loss, C=3.0, n=60, seed=0, s=None, intercept=True, **design):
    X, y = table(loss, n, seed)
    rows = KernelDesign(Gaussian(0.5), as_blocks(X, y, s), **design)
    return Problem(loss, L2(1.0 / (C * rows.weight)), rows, intercept)


@given(st.integers(0, 10**6), st.sampled_from([0.1, 1.0, 30.0]), st.booleans())
@settings(max_examples=12, deadline=None)
def test_the_optimum_in_exact_fractions(seed, C, weighted):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-3, 4, (5, 2)).astype(float), np.array([1.0, -1, 1, -1, 1])
    s = rng.integers(1, 4, 5).astype(float) if weighted else np.ones(5)
    K = X @ X.T + 0.25 * np.eye(5)
    low, high = np.where(y > 0, 0.0, -C * s), np.where(y > 0, C * s, 0.0)
    value, beta = exact_dual(K, y, low, high)
    problem = Problem(Hinge(), L2(1.0 / (C * s.sum())), GramDesign(K, y, s), True)
    found = minimise(problem, BlockSMO(goal=1e-12), tol=1e-11)
    factor = C * s.sum()
    assert found.certificate.value * factor == pytest.approx(-value, rel=1e-9)
    assert found.certificate.bound * factor <= -value * (1 + 1e-12)
    assert np.allclose(found.point[0], beta, atol=1e-5 * C)


def test_a_flat_zone_in_exact_fractions():
    X = np.array([[0.0], [1.0], [2.0], [4.0]])
    y, C, eps = np.array([0.0, 1.5, 1.0, 3.0]), 0.7, 0.25
    K = X @ X.T + np.eye(4)
    value, beta = exact_dual(K, y, np.full(4, -C), np.full(4, C), eps)
    problem = Problem(EpsilonInsensitive(eps), L2(1.0 / (4 * C)), GramDesign(K, y), True)
    found = minimise(problem, BlockSMO(goal=1e-12), tol=1e-11)
    assert found.certificate.bound * 4 * C == pytest.approx(-value, rel=1e-9)
    assert np.allclose(found.point[0], beta, atol=1e-7)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_other_solvers_agree(loss, intercept):
    s = np.random.default_rng(3).integers(0, 3, 60).astype(float)
    problem = gaussian_problem(loss, s=s, intercept=intercept)
    other = minimise(problem, KernelSpan(select, goal=1e-9), tol=1e-9).certificate
    own = minimise(problem, BlockSMO(goal=1e-8, block=16), tol=1e-8, max_steps=300).certificate
    assert own.relative_gap <= 1e-8
    assert own.value == pytest.approx(other.value, rel=1e-7)
    again = problem.certify(minimise(problem, BlockSMO(), tol=1e-6).point)
    assert again.value >= other.bound


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_rows_in_single_precision_change_nothing_that_is_proved(loss):
    X, _ = table(loss, 400)
    rough = gaussian_problem(loss, n=400, memory_budget=0.0, single=single_rows(Gaussian(0.5), X))
    exact = gaussian_problem(loss, n=400)
    few = BlockSMO(goal=1e-9, block=32, memory=1.0)  # of a store of 64 rows
    own = minimise(rough, few, tol=1e-9, max_steps=500).certificate
    other = minimise(exact, BlockSMO(goal=1e-9), tol=1e-9).certificate
    assert own.relative_gap <= 1e-9
    assert own.value == pytest.approx(other.value, rel=1e-8)


def test_rows_out_of_single_precision():
    """Inner products of 1e12 whose differences decide: rows in float64 take over."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 2)) + 1e5
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(300) > 1e5, 1.0, -1.0)
    design = KernelDesign(Linear(), as_blocks(X, y), 0.0, single_rows(Linear(), X))
    problem = Problem(Hinge(), L2(1.0 / 300), design, True)
    found = minimise(problem, BlockSMO(goal=1e-3, measure="kkt", block=64), tol=1e-3, polish=0)
    assert found.converged
    assert found.state.memory.cache.dtype == np.float64
    centred = KernelDesign(Linear(), as_blocks(X - 1e5, y))
    other = minimise(Problem(Hinge(), L2(1.0 / 300), centred, True), tol=1e-9).certificate
    assert found.certificate.bound <= other.value * (1 + 1e-9)
    assert found.certificate.value >= other.bound * (1 - 1e-9)


def test_same_bits_for_any_number_of_threads():
    points = []
    for count in (1, 2, 5):
        with threads(count):
            X, _ = table(Hinge(), 3000)
            problem = gaussian_problem(
                Hinge(), n=3000, memory_budget=0.0, single=single_rows(Gaussian(0.5), X)
            )
            solver = BlockSMO(goal=1e-3, measure="kkt", block=128)
            points.append(minimise(problem, solver, tol=1e-3, polish=0))
    first, *rest = points
    for one in rest:
        assert np.array_equal(one.point[0], first.point[0]) and one.point[1] == first.point[1]
        assert one.certificate.value == first.certificate.value


def test_a_warm_start_goes_on():
    cold = minimise(gaussian_problem(Hinge(), C=3.0), BlockSMO(goal=1e-9), tol=1e-9)
    near = gaussian_problem(Hinge(), C=3.1)
    warm = minimise(near, BlockSMO(goal=1e-9), tol=1e-9, start=cold.state)
    again = minimise(near, BlockSMO(goal=1e-9), tol=1e-9)
    assert warm.certificate.value == pytest.approx(again.certificate.value, rel=1e-8)
    assert warm.state.memory.pairs < again.state.memory.pairs


def test_a_start_outside_the_box_is_brought_inside():
    problem = gaussian_problem(Hinge())
    box = DualBox.of(problem)
    beta = box.feasible(np.random.default_rng(0).standard_normal(60) * 100.0)
    assert (box.low <= beta).all() and (beta <= box.high).all()
    assert abs(beta.sum()) <= 1e-10 * np.abs(beta).sum()


def test_what_rounding_left_of_the_sum_moves_no_coefficient_from_its_bound():
    """A rounding off its bound, a row that misses the margin counts as a violation."""
    box = DualBox.of(gaussian_problem(Hinge()))
    upper, lower = np.flatnonzero(box.high > 0.0), np.flatnonzero(box.low < 0.0)
    beta = np.zeros(60)
    beta[upper[:5]] = box.high[upper[:5]]  # the heavier side has no other coefficient
    beta[lower[:4]] = box.low[lower[:4]]
    beta[lower[4:6]] = 0.5 * box.low[lower[4]] * (1.0 - 4e-16)
    assert beta.sum() > 0.0
    assert np.array_equal(box.feasible(beta), beta)


def test_a_store_gives_each_row_its_own_place():
    """Hands that come round within one call have given a place twice."""
    rng = np.random.default_rng(0)
    problem = gaussian_problem(Hinge(), n=200, memory_budget=0.0)
    cache = RowCache(problem.design, 40, 0.0, single=False)
    K = np.exp(-0.5 * ((table(Hinge(), 200)[0][:, None] - table(Hinge(), 200)[0]) ** 2).sum(2))
    for _ in range(50):
        numbers = rng.choice(200, 40, replace=False)
        assert np.allclose(cache.rows[cache.places(numbers)], K[numbers], atol=1e-14)
        assert len(set(cache.slot[cache.slot >= 0])) == (cache.slot >= 0).sum()


def test_too_few_steps_are_told():
    with pytest.warns(NotCertified, match="relative duality gap|residual"):
        minimise(gaussian_problem(Hinge()), BlockSMO(goal=1e-9, max_pairs=3), tol=1e-9)
