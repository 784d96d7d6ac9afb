"""Every solver closes, or refuses in one sentence, every loss under every penalty on all rows."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from solve.cases import LOSSES, PENALTIES, ROWS, SOLVERS, kernel_problem, problem_of, table

import fenchel.solve
from fenchel import (
    L1,
    L2,
    GradientDescent,
    Hinge,
    Logistic,
    MatrixDesign,
    Multinomial,
    Newton,
    Problem,
    Square,
    as_blocks,
    minimise,
)
from fenchel.convex.loss.distance import Distance
from fenchel.convex.loss.multiclass import MulticlassHinge
from fenchel.convex.penalty import NonNegative
from fenchel.convex.ranking.objective import Ranking
from fenchel.data.pairs.target_tree import TargetPairs
from fenchel.solve.piecewise.multiclass_hinge import MulticlassLagrangian
from fenchel.solve.select import refusal, select
from fenchel.solve.solver import Solver
from fenchel.solve.sparse.nonnegative import NonNegativeDescent
from fenchel.testing import check_solver


def test_every_public_solver_is_a_case():
    """A new solver joins `SOLVERS` of solve/cases.py."""
    public = {getattr(fenchel.solve, name) for name in fenchel.solve.__all__}
    solvers = {one for one in public if isinstance(one, type) and issubclass(one, Solver)}
    # Gradient descent takes hundreds of steps, and has a test of its own below.
    assert {type(one) for one in SOLVERS} | {Solver, GradientDescent} == solvers


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_what_is_chosen_closes(loss, rows) -> None:
    for penalty in PENALTIES:
        problem = problem_of(loss, penalty, rows)
        check_solver(select(problem, 1e-6), [problem])


@pytest.mark.parametrize("solver", SOLVERS, ids=str)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_a_solver_closes_or_refuses(loss, solver) -> None:
    some = ("float64, weights, no intercept", "float32, weights", "CSR, weights")
    check_solver(solver, (problem_of(loss, p, rows) for p in PENALTIES for rows in some))


@pytest.mark.parametrize("kind", ["accelerated", "line"])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_gradient_descent_closes_or_refuses(loss, kind) -> None:
    """To four digits, and where its hundreds of steps are affordable."""
    solver = GradientDescent(kind, keep_path=False)
    penalties = [*(p for p in PENALTIES if not isinstance(p, L2)), L2(1.0), L2(0.1)]
    some = ("float64", "CSR float32, no intercept")
    problems = (problem_of(loss, p, rows) for p in penalties for rows in some)
    check_solver(solver, problems, tol=1e-4)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("solver", [*SOLVERS, GradientDescent(keep_path=False)], ids=str)
def test_kernels_close_or_are_refused(solver, intercept) -> None:
    problems = [
        kernel_problem(loss, penalty, intercept)
        for loss in LOSSES
        for penalty in (L2(0.1), L2(3.0))
    ]
    check_solver(solver, problems, tol=1e-4)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("loss", [one for one in LOSSES if isinstance(one, Distance)], ids=str)
def test_several_targets_close_or_are_refused(loss, intercept) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    Y = X @ rng.standard_normal((3, 2)) + rng.standard_normal((40, 2))
    design = MatrixDesign(as_blocks(X, Y))
    for penalty in (L2(0.1), L2(0.0), L1(0.1), NonNegative()):
        problem = Problem(loss, penalty, design, intercept, targets=2)
        for solver in (select(problem), *SOLVERS, GradientDescent(keep_path=False)):
            check_solver(solver, [problem], tol=1e-4)


def test_refusals_say_what_would_work() -> None:
    rows = "float64"
    for solver, problem, sentence in (
        (
            Newton(),
            problem_of(Hinge(), L2(0.1), rows),
            "Newton needs a loss without kinks, not Hinge(); AugmentedLagrangian takes it",
        ),
        (
            Newton(),
            problem_of(Logistic(), L1(0.1), rows),
            "Newton needs the L2 penalty or none, not L1(lam=0.1, positive=False); "
            "CoordinateDescent takes it",
        ),
        (
            Newton(),
            kernel_problem(Logistic(), L2(0.1), True),
            "Newton needs the rows of a table, not GramDesign; KernelNewton takes it",
        ),
        (
            GradientDescent(),
            kernel_problem(Hinge(), L2(0.1), True),
            "GradientDescent needs a loss without kinks, not Hinge(); BlockSMO takes it",
        ),
        (
            MulticlassLagrangian(),
            problem_of(MulticlassHinge(3), L2(0.0), rows),
            "MulticlassLagrangian needs a positive L2 penalty, not L2(lam=0.0); no other solver "
            "takes it",
        ),
        (
            NonNegativeDescent(),
            problem_of(Multinomial(3), NonNegative(), rows),
            "NonNegativeDescent needs a loss of one score a row, "
            "not Multinomial(n_classes=3): use a little L1 "
            "with positive=True, or a loss that sets each class against the rest",
        ),
        (
            Newton(),
            ranking(),
            "Newton needs a sum of losses over rows, not Ranking; RankingNewton takes it",
        ),
    ):
        assert refusal(solver, problem) == sentence
        with pytest.raises(ValueError, match=re.escape(sentence)):
            minimise(problem, solver)


def test_ours_takes_the_place_of_a_broken_solver() -> None:
    """The law finds solvers that stop short, that leave the domain, and that say nothing."""

    class Idle(Newton):
        def step(self, problem, state):
            return replace(state, stalled=True)

    class Mute(Newton):
        def refuses(self, problem):
            return "No. Try again."

    class Outside(Newton):
        def init(self, problem, start):
            return super().init(replace(problem, intercept=True), start)

        def step(self, problem, state):
            return super().step(replace(problem, intercept=True), state)

    problem = problem_of(Logistic(), L2(0.1), "float64, weights, no intercept")
    check_solver(Newton(), [problem])
    for solver, law in (
        (Idle(sample=False), "the certificate closes"),
        (Mute(), "a refusal is one sentence"),
        (Outside(), "the point lies in the domain"),
    ):
        with pytest.raises(AssertionError, match=law):
            check_solver(solver, [problem])


def ranking() -> Ranking:
    X, y = table(Square())
    pairs = TargetPairs.of(y, None, None)
    return Ranking(Logistic(), L2(0.1), MatrixDesign(as_blocks(X)), pairs)
