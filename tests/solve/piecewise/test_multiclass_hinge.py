"""The multiclass hinge solved: its bound by hand, in every home, on hard tables."""

from __future__ import annotations

import math

import numpy as np
import oracles.convex as oracles
import pytest
from scipy.sparse import csr_array, random_array
from sklearn.datasets import load_digits, load_iris
from sklearn.svm import LinearSVC as Peer

from fenchel import L1, L2, MatrixDesign, MulticlassHinge, Problem, as_blocks, minimise
from fenchel.solve.piecewise.multiclass_hinge import MulticlassLagrangian
from fenchel.solve.select import select


def table(n=60, d=3, K=4, seed=0, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1, 1, d) + 1.0
    scores = ((X - 1.0) / X.std(axis=0)) @ rng.normal(size=(d, K)) + noise * rng.normal(size=(n, K))
    return X, scores.argmax(axis=1)


def problem_of(X, y, lam, s=None, intercept=True):
    K = int(np.max(y)) + 1
    return Problem(MulticlassHinge(K), L2(lam), MatrixDesign(as_blocks(X, y, s)), intercept)


def objective(X, y, s, point, lam):
    w, b = point
    losses = [oracles.multiclass_hinge(c, z) for c, z in zip(y, X @ w + b, strict=True)]
    return np.dot(s, losses) / np.sum(s) + lam / 2 * np.sum(w * w)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("lam", [1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("weighted", [True, False])
def test_value_and_bound_by_hand(lam, intercept, weighted):
    X, y = table()
    rng = np.random.default_rng(1)
    s = rng.integers(0, 4, len(y)) + 0.5 if weighted else np.ones(len(y))
    problem = problem_of(X, y, lam, s if weighted else None, intercept)
    solution = minimise(problem, tol=1e-8, max_steps=300)
    proof, (w, b) = solution.certificate, solution.point
    assert solution.converged
    assert proof.value == pytest.approx(objective(X, y, s, (w, b), lam), rel=1e-12)
    for _ in range(50):  # no other point is below the bound
        other = w + 0.1 * rng.normal(size=w.shape), b + 0.1 * rng.normal(size=b.shape) * intercept
        assert objective(X, y, s, other, lam) >= proof.bound
    theta = solution.state.dual
    q = theta + np.eye(theta.shape[1])[y]
    assert (q >= -1e-15).all() and np.abs(q.sum(axis=1) - 1.0).max() <= 1e-12
    p = s / s.sum()
    if intercept:
        assert np.abs(p @ theta).max() <= 1e-6
    pull = (p[:, None] * X).T @ theta
    dual = -p @ theta[np.arange(len(y)), y] - np.sum(pull * pull) / (2 * lam)
    assert dual == pytest.approx(proof.bound, rel=1e-5)


def test_two_classes_are_the_hinge():
    X, y = table(K=2)
    both = minimise(problem_of(X, y, 1e-2), tol=1e-9, max_steps=300)
    from fenchel import Hinge

    one = Problem(Hinge(), L2(0.5e-2), MatrixDesign(as_blocks(X, 2.0 * y - 1.0)))
    single = minimise(one, tol=1e-9)
    assert both.certificate.value == pytest.approx(single.certificate.value, rel=1e-7)
    w = both.point[0]
    np.testing.assert_allclose(w[:, 1] - w[:, 0], single.point[0], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("load", [load_iris, load_digits])
def test_no_worse_than_liblinear(load, C):
    X, y = load(return_X_y=True)
    X = X / X.max(axis=0).clip(1e-9)
    lam = 1.0 / (C * len(y))
    solution = minimise(problem_of(X, y, lam, intercept=False), tol=1e-6, max_steps=500)
    assert solution.converged
    peer = Peer(multi_class="crammer_singer", fit_intercept=False, C=C, tol=1e-3, max_iter=20000)
    W = peer.fit(X, y).coef_.T
    theirs = objective(X, y, np.ones(len(y)), (W, 0.0), lam)
    assert solution.certificate.bound <= theirs
    assert solution.certificate.value <= theirs * (1.0 + 1e-6)


def test_tables_that_are_separable_far_off_or_badly_scaled():
    X, y = load_iris(return_X_y=True)
    apart = np.array([[0.0, 3.0], [3.0, -3.0], [-3.0, -3.0]])[y] + 0.1 * X[:, :2]
    for rows, lam in (
        (apart, 1e-9),
        (apart, 1e3),
        (X * [1e4, 1.0, 1e-3, 1.0] + [1e5, 0.0, 0.0, 0.0], 1e-3),
        (X + 1e3, 1e-4),
        (np.hstack([X, X]), 1e-4),
        (np.zeros((150, 2)), 1.0),
    ):
        solution = minimise(problem_of(rows, y, lam), tol=1e-6, max_steps=500)
        assert solution.converged, (lam, solution.certificate)


@pytest.mark.parametrize("home", ["csr", "float32", "torch", "dask", "wide"])
def test_homes(home):
    X, y = table(400, 5)
    y = np.where(np.arange(len(y)) < 4, np.arange(len(y)), y)
    lam, intercept = 1e-3, True
    want = minimise(problem_of(X, y, lam), tol=1e-9, max_steps=300).certificate.value
    rows, target = X, y
    if home == "csr":
        rows = csr_array(X)
    elif home == "float32":
        rows = X.astype(np.float32)
    elif home == "torch":
        torch = pytest.importorskip("torch")
        rows, target = torch.asarray(X), torch.asarray(y)
    elif home == "dask":
        import dask.array as da

        rows, target = da.from_array(X, chunks=(90, 5)), da.from_array(y, chunks=90)
    else:
        wide = random_array((300, 900), density=0.02, rng=np.random.default_rng(0), format="csr")
        y = np.random.default_rng(1).integers(0, 4, 300)
        for intercept in (True, False):
            problem = problem_of(csr_array(wide), y, lam, intercept=intercept)
            assert minimise(problem, tol=1e-6, max_steps=300).converged
            dense = problem_of(wide.toarray(), y, lam, intercept=intercept)
            a, b = (minimise(p, tol=1e-7, max_steps=300).certificate for p in (problem, dense))
            assert a.value == pytest.approx(b.value, rel=1e-6)
        return
    K = 4
    blocks = as_blocks(rows, target)
    problem = Problem(MulticlassHinge(K), L2(lam), MatrixDesign(blocks), intercept)
    solution = minimise(problem, tol=1e-6, max_steps=300)
    assert solution.converged and solution.certificate.value == pytest.approx(want, rel=1e-5)


def test_a_start_from_the_solution_and_from_its_state():
    X, y = table()
    problem = problem_of(X, y, 1e-3)
    solution = minimise(problem, tol=1e-7, max_steps=300)
    again = minimise(problem, tol=1e-6, max_steps=300, start=solution.state)
    assert again.converged and again.steps <= 2
    near = minimise(problem_of(X, y, 2e-3), tol=1e-6, max_steps=300, start=solution.point)
    assert near.converged


def test_what_it_cannot_take_is_said():
    X, y = table()
    problem = problem_of(X, y, 1e-3)
    assert isinstance(select(problem, 1e-6), MulticlassLagrangian)
    design = problem.design
    for penalty in (L2(0.0), L1(0.1)):
        with pytest.raises(ValueError, match="needs a positive L2 penalty"):
            minimise(Problem(MulticlassHinge(4), penalty, design))
    assert math.isinf(MulticlassHinge(3).smoothness)
    with pytest.raises(ValueError, match="n_classes must be at least 2"):
        MulticlassHinge(1)
    with pytest.raises(ValueError, match="one number for each class"):
        problem.certify(problem.origin(), dual=np.zeros(len(y)))
