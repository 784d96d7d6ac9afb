"""Certificates under attack: a bound above the optimum would be worse than none."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from itertools import groupby

import numpy as np
import pytest
from convex.cases import LOSSES, PENALTIES
from scipy.optimize import minimize as scipy_minimize
from scipy.sparse import csr_array

from fenchel.convex.convergence import NotCertified
from fenchel.convex.loss.distance import Square
from fenchel.convex.loss.hinge import Hinge, SquaredHinge
from fenchel.convex.loss.margin import Exponential, Logistic, Margin
from fenchel.convex.loss.multiclass import Joint, Multinomial
from fenchel.convex.penalty import L1, L2, ElasticNet
from fenchel.convex.problem import Problem
from fenchel.data.design.kernel import GramDesign
from fenchel.data.design.matrix import MatrixDesign
from fenchel.data.intake import as_blocks
from fenchel.solve.minimise import minimise
from fenchel.testing import check_certificate


def problem(loss, penalty, X, y, s=None, intercept=True, targets=None):
    return Problem(loss, penalty, MatrixDesign(as_blocks(X, y, s)), intercept, targets)


def random_problem(loss, penalty, intercept, seed=0, n=30, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1.0, 3.0, 0.2] + [0.0, 1.0, 2.0]
    score = X @ [1.0, -0.3, 1.0] + rng.normal(size=n)
    if isinstance(loss, Joint):
        y = rng.integers(0, loss.n_classes, n)
    else:
        y = np.where(score > 0.0, 1.0, -1.0) if isinstance(loss, Margin) else score + 2.0
    s = rng.random(n) * (rng.random(n) < 0.8) if seed % 2 == 0 else None
    return problem(loss, penalty, X, y, s, intercept)


ALL = [
    (loss, penalty, free, seed)
    for loss in LOSSES
    for penalty in PENALTIES
    for free in (True, False)
    for seed in (0, 1)
]


def covering():
    """Every kind of loss with every penalty; its parameters, the intercept and the weights, which
    an even seed has, alternate, so that each of them meets each kind of the others too."""
    kinds = [list(group) for _, group in groupby(LOSSES, type)]
    for c, losses in enumerate(kinds):
        for j, penalty in enumerate(PENALTIES):
            turn, i = divmod(j, len(losses))
            yield losses[i], penalty, (turn + c) % 2 == 0, (turn + c) // 2 % 2


@pytest.mark.parametrize(("loss", "penalty", "intercept", "seed"), list(covering()), ids=str)
def test_laws(loss, penalty, intercept, seed):
    check_certificate(random_problem(loss, penalty, intercept, seed), seed=seed)


def test_laws_are_tried_with_every_loss_and_every_penalty_both_ways():
    tried = list(covering())
    for of in (0, 1):
        both = {(str(given[of]), given[2]) for given in tried}
        every = {(str(given[of]), free) for given in ALL for free in (True, False)}
        assert both == every
        assert {(str(g[of]), g[3]) for g in tried} == {(str(g[of]), g[3]) for g in ALL}
    assert {(type(given[0]), str(given[1])) for given in tried} == {
        (type(given[0]), str(given[1])) for given in ALL
    }


@pytest.mark.exhaustive
@pytest.mark.parametrize(("loss", "penalty", "intercept", "seed"), ALL, ids=str)
def test_laws_everywhere(loss, penalty, intercept, seed):
    check_certificate(random_problem(loss, penalty, intercept, seed), seed=seed)


# ---------------------------------------------------------------------------- classification data


def margin_data():
    rng = np.random.default_rng(3)
    n = 80
    X = rng.normal(size=(n, 3))
    y = np.where(X @ [1.0, -1.0, 0.5] + rng.normal(size=n) > 0.0, 1.0, -1.0)
    one = np.ones(n)
    yield "plain", X, y, one
    yield "duplicate columns", np.c_[X, X], y, one
    yield "condition 1e12", np.c_[X, X[:, 0] + 1e-12 * rng.normal(size=n)], y, one
    yield "constant column", np.c_[X, 5.0 * one], y, one
    yield "column at 1e6", X + np.array([1e6, 0.0, 0.0]), y, one
    yield "separable", X, np.where(X[:, 0] > 0.0, 1.0, -1.0), one
    yield "zero weights", X, y, (rng.random(n) < 0.5) * 1.0
    yield "weights over 12 orders", X, y, 10.0 ** rng.uniform(-6.0, 6.0, n)
    rare = np.where(np.arange(10_000) == 17, 1.0, -1.0)
    yield "one positive in 10,000", rng.normal(size=(10_000, 2)), rare, np.ones(10_000)


def best_value(p, starts):
    """The least value that Newton and scipy find, from several starts, at extreme tolerance."""
    values = []
    if isinstance(p.penalty, L2) and math.isfinite(p.loss.smoothness):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotCertified)
            found = minimise(p, tol=1e-13, max_steps=60)
        values.append(found.certificate.value)
    shape = p.origin()[0].shape

    def split(v):
        w = v[: np.prod(shape)].reshape(shape)
        rest = v[np.prod(shape) :]
        if not p.intercept:
            return w, p.origin()[1]
        return w, rest if len(shape) > 1 else float(rest[0])

    def both(v):
        point = split(v)
        seen = p.evaluate(point, exact=True)
        slope = seen.grad_w
        if isinstance(p.penalty, L2):
            slope = slope + p.penalty.lam * point[0]
        return seen.value, np.r_[slope.ravel(), np.ravel(seen.grad_b)[: len(v) - slope.size]]

    for start in starts:
        v = np.r_[np.ravel(start[0]), np.ravel(start[1])] if p.intercept else np.ravel(start[0])
        kinked = not math.isfinite(p.loss.smoothness)
        options = {"maxiter": 20 if kinked else 200, "ftol": 1e-16, "gtol": 1e-14}
        values.append(scipy_minimize(both, v, jac=True, method="L-BFGS-B", options=options).fun)
    return min(values)


def points_of(p, rng, scales=(0.0, 1e-2, 1.0, 30.0)):
    w, b = p.origin()
    for scale in scales:
        level = scale * rng.normal(size=np.shape(b)) if p.intercept else 0.0 * b
        yield scale * rng.normal(size=w.shape), level if np.ndim(b) else float(level)


@pytest.mark.parametrize("loss", [Logistic(), SquaredHinge(), Hinge()], ids=str)
@pytest.mark.parametrize("data", list(margin_data()), ids=lambda data: data[0])
def test_margin_bounds_hold(data, loss):
    name, X, y, s = data
    rng = np.random.default_rng(4)
    penalties = [L2(0.0), L2(1e-9), L2(1.0), L2(1e7)]
    if name == "one positive in 10,000":
        penalties = penalties[:3:2]
    for penalty in penalties:
        for intercept in (True, False):
            p = problem(loss, penalty, X, y, s, intercept)
            points = list(points_of(p, rng))
            best = best_value(p, points[:1])
            for point in points:
                proof = p.certify(point)
                assert proof.bound <= best * (1.0 + 1e-10) + 1e-15, (penalty, intercept, proof)
                assert proof.value >= best * (1.0 - 1e-10), (penalty, intercept, proof)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("lam", [0.0, 1e-6, 1e-2, 1e6])
def test_multinomial_with_a_rare_class(lam, intercept):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 2))
    y = np.where(X[:, 0] + rng.normal(size=400) > 0.0, 1, 0)
    y[3] = 2
    s = 10.0 ** rng.uniform(-3.0, 3.0, 400)
    p = problem(Multinomial(3), L2(lam), X, y, s, intercept)
    points = list(points_of(p, rng))
    best = best_value(p, points[:1])
    for point in points:
        assert p.certify(point).bound <= best * (1.0 + 1e-10)
    if lam > 0.0:
        found = minimise(p, tol=1e-9)
        assert found.certificate.relative_gap <= 1e-9


def test_separable_data_have_the_bound_zero():
    """No finite optimum: the infimum 0 is approached, never reached, and proved."""
    X = np.linspace(-1.0, 1.0, 30)[:, None]
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    p = problem(Logistic(), L2(0.0), X, y)
    for size in (0.0, 10.0, 1e4):
        proof = p.certify((np.array([size]), 0.0))
        assert 0.0 <= proof.bound <= proof.value
    assert proof.value < 1e-6


def test_a_given_dual_point():
    """For a kink: the gradient's bound is poor, the dual's own solution closes the gap."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] + rng.normal(size=60) > 0.0, 1.0, -1.0)
    lam, s = 0.05, np.full(60, 1 / 60)
    p = problem(Hinge(), L2(lam), X, y, intercept=False)
    theta = minimise(p, tol=1e-10).state.dual
    a = -y * theta * s / lam
    w = X.T @ (a * y)
    loose, tight = p.certify((w, 0.0)), p.certify((w, 0.0), dual=theta)
    assert tight.relative_gap <= 1e-8 < loose.relative_gap
    assert tight.value == loose.value
    # A free intercept centres what it is given; a point outside the domain proves nothing.
    free = replace(p, intercept=True)
    assert free.certify((w, 0.0), dual=theta).bound <= tight.bound + 1e-12
    assert p.certify((w, 0.0), dual=2.0 * theta).bound == 0.0
    with pytest.raises(ValueError, match="one number for each of 60 rows"):
        p.certify((w, 0.0), dual=theta[:-1])
    K = X @ X.T
    kernel = Problem(Hinge(), L2(lam), GramDesign(K, y), False)
    dual = kernel.certify((a * y, 0.0), dual=theta)
    np.testing.assert_allclose([dual.value, dual.bound], [tight.value, tight.bound], rtol=1e-10)


# ----------------------------------------------------------------------------------- other matters


@pytest.mark.parametrize("penalty", [L1(0.05), ElasticNet(0.1, 0.9), L1(1e-9), L1(10.0)], ids=str)
def test_shrinking_with_free_intercept_and_weights(penalty):
    """θ centred, then scaled into |Φ*(sθ)| ≤ λ, stays centred; the pass after it never misses."""
    rng = np.random.default_rng(10)
    X = 10.0 ** rng.uniform(-3.0, 3.0, 4) * rng.normal(size=(50, 4)) + 3.0
    y = np.where(X[:, 0] + 2.0 * rng.normal(size=50) > 3.0, 1.0, -1.0)
    p = problem(Logistic(), penalty, X, y, rng.random(50) * (rng.random(50) < 0.7))
    assert p.loss.conjugate(y, 0.0 * y).max() == 0.0  # θ = 0 proves that no value is below zero
    for point in points_of(p, rng, (0.0, 1e-3, 0.1)):
        proof = p.certify(point)
        assert 0.0 <= proof.bound <= proof.value
        assert proof.bound > 0.0 or not isinstance(penalty, L1) or proof.value > 10.0


def test_float32_and_sparse_rows_get_a_float64_proof():
    rng = np.random.default_rng(11)
    X = (rng.normal(size=(200, 5)) * (rng.random((200, 5)) < 0.5)).astype(np.float32)
    y = np.where(X[:, 0] + rng.normal(size=200) > 0.0, 1.0, -1.0)
    for lam in (0.0, 1e-3):
        wide = problem(Logistic(), L2(lam), X.astype(np.float64), y)
        point = minimise(wide, tol=1e-10).point
        expected = wide.certify(point)
        for rows in (X, csr_array(X)):
            proof = problem(Logistic(), L2(lam), rows, y).certify(point)
            assert proof.value == pytest.approx(expected.value, rel=1e-13)
            assert proof.bound == pytest.approx(expected.bound, rel=1e-11)


def test_several_targets_are_the_sum():
    rng = np.random.default_rng(12)
    s, b = rng.random(30), np.array([1e6, 0.0])
    X, Y = rng.normal(size=(30, 3)), rng.normal(size=(30, 2)) + b
    w = rng.normal(size=(3, 2))
    for lam in (0.0, 0.3):
        whole = problem(Square(), L2(lam), X, Y, s, targets=2).certify((w, b))
        parts = [
            problem(Square(), L2(lam), X, Y[:, k], s).certify((w[:, k], float(b[k])))
            for k in (0, 1)
        ]
        assert whole.value == pytest.approx(sum(p.value for p in parts), rel=1e-12)
        assert whole.bound == pytest.approx(sum(p.bound for p in parts), rel=1e-8)


def test_exponential_loss_far_out():
    """Huge values prove little, and no warning escapes."""
    rng = np.random.default_rng(13)
    X = rng.normal(size=(20, 2))
    y = np.where(X[:, 0] > 0.3, 1.0, -1.0)
    for penalty in (L2(0.1), L2(0.0), L1(0.1)):
        p = problem(Exponential(), penalty, X, y)
        proof = p.certify((np.array([-150.0, 0.0]), 0.0))
        assert 1e50 < proof.value < math.inf and 0.0 <= proof.bound <= 1.0


def test_a_point_changed_in_place_is_another_point():
    """Scores held from an earlier pass must not certify coefficients that have changed since."""
    p = random_problem(Logistic(), L2(0.1), True)
    w = np.zeros(3)
    p.certify((w, 0.0))
    w += 1.0
    assert p.certify((w, 0.0)) == random_problem(Logistic(), L2(0.1), True).certify((w, 0.0))


def test_blocks_do_not_matter():
    """Thousands of rows in many blocks give the certificate of one block."""
    rng = np.random.default_rng(14)
    X = rng.normal(size=(3000, 4)) + np.array([0.0, 1e3, 0.0, 0.0])
    y = X @ [1.0, 0.1, 0.0, 0.0] + rng.normal(size=3000)
    w = np.linalg.lstsq(np.c_[X, np.ones(len(X))], y, rcond=None)[0]
    for penalty in (L2(0.0), L2(1e-3), L1(1e-3)):
        proofs = []
        for rows in (3000, 64, 7):
            blocks = as_blocks(X, y)
            blocks.rows = rows
            p = Problem(Square(), penalty, MatrixDesign(blocks))
            proofs.append(p.certify((w[:4], float(w[4]))))
        for proof in proofs:
            assert proof.bound == pytest.approx(proofs[0].bound, rel=1e-10, abs=1e-15)
        if penalty == L2(0.0):
            assert proofs[-1].relative_gap <= 1e-10


def test_an_infinite_loss_of_a_row_without_weight_counts_nothing():
    X, y = np.array([[1.0, 0.0], [0.0, 1.0], [1e5, 0.0]]), np.array([1.0, -1.0, -1.0])
    s, point = np.array([1.0, 1.0, 0.0]), (np.ones(2), 0.0)
    whole = Problem(Exponential(), L2(0.1), MatrixDesign(as_blocks(X, y, s)))
    rest = Problem(Exponential(), L2(0.1), MatrixDesign(as_blocks(X[:2], y[:2])))
    assert whole.evaluate(point).value == rest.evaluate(point).value
    assert whole.certify(point).gap == pytest.approx(rest.certify(point).gap, rel=1e-9)
