"""Kinked losses under every penalty: against linear programs, quadratic programs and each other."""

from __future__ import annotations

import warnings

import numpy as np
import oracles.convex as oracles
import pytest
from scipy import sparse
from sklearn.svm import LinearSVC

from fenchel import NotCertified
from fenchel.convex.loss.distance import Absolute, EpsilonInsensitive, Huber, Pinball
from fenchel.convex.loss.hinge import Hinge
from fenchel.convex.loss.margin import Logistic
from fenchel.convex.penalty import L1, L2, ElasticNet, NonNegative
from fenchel.convex.problem import Problem
from fenchel.data.design.matrix import MatrixDesign
from fenchel.data.intake import as_blocks
from fenchel.solve.minimise import minimise
from fenchel.solve.piecewise.augmented_lagrangian import AugmentedLagrangian
from fenchel.solve.select import select

LOSSES = [Hinge(), Absolute(), Pinball(0.9), EpsilonInsensitive(0.3), Huber(0.05)]
PENALTIES = [
    L2(0.1),
    L2(1e-4),
    L2(0.0),
    L1(0.02),
    ElasticNet(0.05, 0.5),
    L1(0.02, positive=True),
    ElasticNet(0.05, 0.3, positive=True),
    NonNegative(),
]


def table(n=120, d=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1, 1, d) + 1.0
    y = X @ (rng.standard_normal(d) / 10.0) + rng.standard_t(2, n) + 2.0
    return X, y


def problem_of(loss, penalty, X, y, s=None, intercept=True):
    y = np.where(y > np.median(y), 1.0, -1.0) if isinstance(loss, Hinge) else y
    return Problem(loss, penalty, MatrixDesign(as_blocks(X, y, s)), intercept)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_gap_closes_and_the_value_is_that_of_a_program(loss, penalty, intercept):
    X, y = table()
    s = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    problem = problem_of(loss, penalty, X, y, s, intercept)
    solution = minimise(problem, AugmentedLagrangian(), tol=1e-7, max_steps=400)
    assert solution.converged and solution.certificate.kind == "duality"
    w, b = solution.point
    target = np.where(y > np.median(y), 1.0, -1.0) if isinstance(loss, Hinge) else y
    value = s @ loss.value(target, X @ w + b) / s.sum() + penalty.value(w, np.dot)
    assert solution.certificate.value == pytest.approx(value, rel=1e-10)
    if isinstance(penalty, L1 | NonNegative) and not isinstance(loss, Huber):
        best = oracles.linear_program(loss, penalty, X, target, s / s.sum(), intercept)
        assert solution.certificate.bound <= best * (1 + 1e-9)
        assert value == pytest.approx(best, rel=2e-7)


@pytest.mark.parametrize("loss", LOSSES[:4], ids=repr)
def test_bounds_hold_at_every_step(loss):
    X, y = table(60, 3, seed=3)
    problem = problem_of(loss, L2(1e-3), X, y)
    best = minimise(problem, tol=1e-9, max_steps=500).certificate.value
    for steps in range(12):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotCertified)
            solution = minimise(problem, AugmentedLagrangian(), tol=1e-13, max_steps=steps)
        assert solution.certificate.bound <= best * (1 + 1e-10)
        assert solution.certificate.value >= best * (1 - 1e-10)


@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_hinge_agrees_with_liblinear(C, kind):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 250)) * (rng.random((300, 250)) < 0.2)
    y = np.where(X @ rng.standard_normal(250) + rng.standard_normal(300) > 0, 1.0, -1.0)
    problem = Problem(Hinge(), L2(1 / (C * 300)), MatrixDesign(as_blocks(kind(X), y)), False)
    solution = minimise(problem, tol=1e-8)
    theirs = LinearSVC(C=C, loss="hinge", fit_intercept=False, tol=1e-8, max_iter=10**6, dual=True)
    w = theirs.fit(X, y).coef_.ravel()
    assert np.allclose(solution.point[0], w, atol=1e-4 * np.abs(w).max())


@pytest.mark.parametrize("intercept", [True, False])
def test_wide_sparse_rows_with_weights_and_empty_ones(intercept):
    rng = np.random.default_rng(2)
    X = sparse.random_array((500, 900), density=0.02, rng=rng, format="csr")
    X = sparse.csr_array(sparse.vstack([X, sparse.csr_array((3, 900))]))
    y = np.where(rng.random(503) < 0.4, 1.0, -1.0)
    s = rng.integers(0, 3, 503).astype(float)
    for loss in (Hinge(), EpsilonInsensitive(0.1)):
        design = MatrixDesign(as_blocks(X, y, s))
        wide = minimise(Problem(loss, L2(1e-3), design, intercept), tol=1e-7)
        assert wide.converged
        dense = MatrixDesign(as_blocks(X.toarray(), y, s))
        other = minimise(Problem(loss, L2(1e-3), dense, intercept), tol=1e-7)
        assert wide.certificate.value == pytest.approx(other.certificate.value, rel=2e-7)


def test_weight_is_repetition_and_no_weight_absence():
    X, y = table(80, 4)
    s = np.random.default_rng(0).integers(0, 3, 80)
    whole = problem_of(Absolute(), L2(0.01), X, y, s.astype(float))
    rows = np.repeat(np.arange(80), s)
    twice = problem_of(Absolute(), L2(0.01), X[rows], y[rows])
    one, two = (minimise(p, tol=1e-9, max_steps=300).certificate for p in (whole, twice))
    assert one.value == pytest.approx(two.value, rel=2e-9)


@pytest.mark.parametrize("scale", [1e-100, 1e-6, 1e6, 1e100])
def test_scale_of_the_target_changes_nothing(scale):
    X, y = table(100, 4)
    plain = minimise(problem_of(Absolute(), L2(0.0), X, y), tol=1e-8, max_steps=300)
    scaled = minimise(problem_of(Absolute(), L2(0.0), X, scale * y), tol=1e-8, max_steps=300)
    assert scaled.converged
    assert scaled.certificate.value == pytest.approx(scale * plain.certificate.value, rel=2e-8)


def test_float32_rows_are_proved_in_float64():
    X, y = table(4000, 8)
    problem = problem_of(Hinge(), L2(1e-2), X.astype(np.float32), y)
    assert minimise(problem, tol=1e-6, max_steps=200).converged


def test_a_neighbour_is_a_good_start():
    X, y = table(5000, 10)
    first = minimise(problem_of(Pinball(0.3), L2(0.1), X, y), tol=1e-6)
    problem = problem_of(Pinball(0.3), L2(0.09), X, y)
    warm = minimise(problem, tol=1e-6, start=first.state)
    cold = minimise(problem, AugmentedLagrangian(sample=False), tol=1e-6)
    assert warm.converged and warm.steps < cold.steps


def test_refusals_say_why():
    X, y = table(20, 2)
    reason = AugmentedLagrangian().refuses(problem_of(Logistic(), L2(1.0), X, y))
    assert reason is not None and "straight pieces" in reason
    assert isinstance(select(problem_of(Hinge(), L1(0.1), X, y)), AugmentedLagrangian)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_rows_left_out_and_rough_copies_change_nothing(loss, monkeypatch):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((6000, 30)) @ rng.standard_normal((30, 30)) + 1.0
    y = X @ rng.standard_normal(30) + rng.standard_t(2, 6000)
    s = rng.random(6000) * (rng.random(6000) < 0.9)
    for penalty in (L2(1e-3), L2(0.0)):
        found = []
        for limit in (1000, 10**12):
            monkeypatch.setattr("fenchel.solve.piecewise.subproblem.SINGLE", limit)
            found.append(minimise(problem_of(loss, penalty, X, y, s), tol=1e-7, max_steps=300))
        one, two = (solution.certificate for solution in found)
        assert found[0].converged and found[1].converged
        assert one.value >= two.bound * (1 - 1e-12) and two.value >= one.bound * (1 - 1e-12)


@pytest.mark.parametrize("penalty", [L2(0.0), NonNegative()], ids=repr)
@pytest.mark.parametrize("loss", [Pinball(0.9), Huber(0.01), Hinge()], ids=repr)
def test_value_of_fewer_weighted_rows_than_columns_is_the_naive_one(loss, penalty):
    rng = np.random.default_rng(4)
    for n, d in ((3, 2), (6, 9), (20, 25)):
        X, s = rng.standard_normal((n, d)) + 1.0, (np.arange(n) % 3 != 1).astype(float)
        y = np.sign(X[:, 0] - np.median(X[:, 0]) + 1e-9) if loss == Hinge() else X[:, 0] + X[:, -1]
        problem = Problem(loss, penalty, MatrixDesign(as_blocks(X, y, s)), True)
        w, b = rng.random(d), 0.3
        value = s @ loss.value(y, X @ w + b) / s.sum()
        for theta in (None, np.zeros(n)):
            assert problem.certify((w, b), dual=theta).value == pytest.approx(value, rel=1e-12)


def test_a_row_of_hardly_any_weight_may_carry_the_optimum():
    X, y, s = np.array([[1.0], [-1.0], [1e21]]), np.array([1.0, -1.0, 1.0]), [1.0, 1.0, 1e-20]
    problem = Problem(Hinge(), L2(0.0), MatrixDesign(as_blocks(X, y, np.array(s))), False)
    assert problem.certify((np.zeros(1), 0.0), dual=-y).bound <= 1e-9  # w = 1 has no loss
    assert minimise(problem).certificate.value <= 1e-9


@pytest.mark.parametrize("loss", [*LOSSES, Logistic()], ids=repr)
def test_a_start_outside_the_domain_is_brought_inside(loss):
    X, y = table(100, 4)
    y = np.where(y > np.median(y), 1.0, -1.0) if loss == Logistic() else y
    start = (np.full(4, -0.2), 5.0)
    for penalty in (L2(0.1), L1(0.02, positive=True), NonNegative()):
        problem = problem_of(loss, penalty, X, y, intercept=False)
        warm, cold = (minimise(problem, tol=1e-6, max_steps=500, start=p) for p in (start, None))
        assert warm.converged and warm.point[1] == 0.0
        assert warm.certificate.value == pytest.approx(cold.certificate.value, rel=2e-6)
