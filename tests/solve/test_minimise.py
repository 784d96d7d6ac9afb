"""The one loop: every smooth solver closes every smooth problem, stops when told, and says so."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from convex.cases import LOSSES

from fenchel import (
    L1,
    L2,
    GradientDescent,
    Hinge,
    Logistic,
    MatrixDesign,
    Multinomial,
    Newton,
    NewtonCG,
    NotCertified,
    Problem,
    Square,
    as_blocks,
    convergence_profile,
    minimise,
)
from fenchel.convex.certification import proof
from fenchel.convex.loss.distance import Distance
from fenchel.models.lasso.elastic_net_path import ElasticNetPath
from fenchel.solve.sparse import coordinate_descent

SMOOTH = [loss for loss in LOSSES if np.isfinite(loss.smoothness)]
SOLVERS = [Newton(), Newton(sample=False), NewtonCG(), GradientDescent("line")]


def problem_of(loss, lam=0.1, intercept=True, n=60, d=3, seed=0, weighted=True) -> Problem:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    z = X @ rng.normal(size=d)
    if isinstance(loss, Multinomial):
        y = rng.integers(0, loss.n_classes, n)
    elif isinstance(loss, Distance):
        y = z + rng.normal(size=n)
    else:
        y = np.sign(z + rng.normal(size=n))
    s = rng.integers(0, 3, n).astype(float) if weighted else None
    return Problem(loss, L2(lam), MatrixDesign(as_blocks(X, y, s)), intercept)


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_every_smooth_problem_closes(loss, intercept, solver) -> None:
    problem = problem_of(loss, intercept=intercept)
    solution = minimise(problem, solver, tol=1e-7, max_steps=3000)
    assert solution.converged and solution.certificate.relative_gap <= 1e-7
    w, b = solution.point
    rng = np.random.default_rng(1)
    for scale in (1e-3, 1e-1, 1.0):  # no neighbour is better than the bound
        near = (w + scale * rng.normal(size=w.shape), b + scale * intercept)
        assert problem.evaluate(near, exact=True).value >= solution.certificate.bound


@pytest.mark.parametrize("kind", ["plain", "accelerated", "line"])
def test_gradient_descent_records_its_path(kind) -> None:
    problem = problem_of(Logistic())
    solution = minimise(problem, GradientDescent(kind), tol=1e-5, max_steps=5000)
    path = solution.state.memory.path
    assert solution.converged
    np.testing.assert_array_equal(path[0], np.zeros(4))
    np.testing.assert_allclose(path[-1][:3], solution.point[0])


def test_gradient_descent_follows_its_profile() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3)) * [1.0, 2.0, 4.0]
    y = X @ [1.0, -1.0, 0.5] + rng.normal(size=50)
    problem = Problem(Square(), L2(0.3), MatrixDesign(as_blocks(X, y)), False)
    H = X.T @ X / 50 + 0.3 * np.eye(3)
    best = np.linalg.solve(H, X.T @ y / 50)
    step = 1.3 / np.linalg.eigvalsh(H)[-1]
    solver = GradientDescent("plain", step_size=step)
    with pytest.warns(NotCertified, match="max_iter=20"):
        solution = minimise(problem, solver, tol=1e-15, max_steps=20)
    profile = convergence_profile(H, step)
    errors = np.array([profile.eigenvectors.T @ (w - best) for w in solution.state.memory.path])
    np.testing.assert_allclose(errors, profile.error(-best, 20), atol=1e-12)
    assert profile.converges and profile.rate < 1


@pytest.mark.parametrize(("step", "converges"), [(0.49, True), (0.51, False), (0.24, True)])
def test_the_limit_is_two_over_the_largest_eigenvalue(step, converges) -> None:
    assert convergence_profile(np.diag([1.0, 4.0]), step).converges is converges


@pytest.mark.parametrize(
    ("H", "step", "message"),
    [
        (np.ones((2, 3)), 1.0, "symmetric"),
        (np.diag([1.0, -1.0]), 1.0, "negative eigenvalue"),
        (np.eye(2), 0.0, "step must be positive"),
    ],
)
def test_profile_refuses_what_is_no_quadratic(H, step, message) -> None:
    with pytest.raises(ValueError, match=message):
        convergence_profile(H, step)


def test_solvers_refuse_in_one_sentence() -> None:
    for solver in SOLVERS:
        with pytest.raises(ValueError, match="without kinks"):
            minimise(problem_of(Hinge()), solver)
        with pytest.raises(ValueError, match="L2 penalty or none"):
            minimise(dataclasses.replace(problem_of(Logistic()), penalty=L1(0.1)), solver)


def test_the_callback_sees_every_step_and_may_stop() -> None:
    seen = []

    def stop(step, point, certificate):
        seen.append((step, certificate))
        return step == 2

    solution = minimise(problem_of(Logistic(), 1e-4), tol=1e-12, callback=stop)
    assert [step for step, _ in seen] == [0, 1, 2]
    assert solution.reason == "stopped by the callback" and not solution.converged
    assert solution.certificate.kind == "duality"  # stopped, and still with its gap


def test_ctrl_c_is_raised_or_returns_the_last_point_with_its_gap() -> None:
    def interrupt(step, point, certificate):
        if step == 1:
            raise KeyboardInterrupt

    problem = problem_of(Logistic(), 1e-4)
    with pytest.raises(KeyboardInterrupt):
        minimise(problem, tol=1e-12, callback=interrupt)
    with pytest.warns(NotCertified, match="interrupted: relative duality gap"):
        solution = minimise(problem, tol=1e-12, callback=interrupt, on_interrupt="return")
    assert solution.reason == "interrupted" and not solution.converged
    assert np.isfinite(solution.certificate.gap) and np.isfinite(solution.point[0]).all()


def test_starts_where_told() -> None:
    problem = problem_of(Logistic())
    first = minimise(problem, tol=1e-10)
    assert minimise(problem, tol=1e-8, start=first.point).steps == 0
    assert minimise(problem, tol=1e-8, start=first.state).steps == 0


def test_without_proof_no_warning_and_no_certificate() -> None:
    solution = minimise(problem_of(Logistic()), tol=1e-6, proof=False)
    assert solution.converged and solution.certificate.kind == "estimate"


@pytest.mark.parametrize("loss", [Logistic(), Multinomial(3), Square()], ids=str)
def test_steps_after_the_proof_make_no_pass_in_pairs(loss, monkeypatch) -> None:
    """They are there for the digits of the coefficients: a pass in pairs of floats costs more than
    the whole fit of a small table, and the proof that was asked for stands."""
    passes = []
    pairs = proof.pair_evidence
    monkeypatch.setattr(proof, "pair_evidence", lambda *given: passes.append(1) or pairs(*given))
    problem = problem_of(loss)
    solution = minimise(problem, Newton(), tol=1e-6)
    assert solution.converged and not passes
    assert solution.certificate.relative_gap <= 1e-9
    w, b = solution.point
    seen = problem.evaluate((w, b), exact=True)
    assert np.abs(seen.grad_w + 0.1 * w).max() <= 2e-8  # √(2λP · 1e-15)
    assert np.abs(seen.grad_b).max() <= 2e-8


def test_a_path_makes_one_proof_a_step(monkeypatch) -> None:
    """A point is not proved again under the next penalty, where its gap is wide open."""
    proofs = []
    evidence = coordinate_descent.evidence_of
    monkeypatch.setattr(
        coordinate_descent, "evidence_of", lambda *given: proofs.append(1) or evidence(*given)
    )
    design = problem_of(Square(), d=8).design
    walk = ElasticNetPath(1.0, tol=1e-4, polish=0.0)
    fits = walk.fits(design, walk.grid(design, 1e-2, 30))
    assert all(fit.converged and fit.certificate.kind == "duality" for fit in fits)
    assert len(proofs) == 1 + sum(fit.steps for fit in fits) <= 45
