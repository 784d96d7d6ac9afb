"""Selection of a solver by loss, penalty and shape, and the solver to name where one refuses."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from fenchel.convex.loss.base import PiecewiseLinear
from fenchel.convex.loss.multiclass import MulticlassHinge
from fenchel.convex.objective import Objective
from fenchel.convex.penalty import L2, NonNegative
from fenchel.convex.problem import Problem
from fenchel.convex.ranking.objective import Ranking
from fenchel.data.design.kernel import KernelExpansion
from fenchel.data.design.matrix import MatrixDesign
from fenchel.solve.decomposition.block_smo import BlockSMO
from fenchel.solve.gram.kernel_newton import KernelNewton
from fenchel.solve.gram.kernel_span import KernelSpan
from fenchel.solve.gram.shifted_gram import factor_fits
from fenchel.solve.needs import is_piecewise_linear
from fenchel.solve.piecewise.augmented_lagrangian import AugmentedLagrangian
from fenchel.solve.piecewise.multiclass_hinge import MulticlassLagrangian
from fenchel.solve.ranking.newton import RankingNewton
from fenchel.solve.smooth.gradient_descent import GradientDescent
from fenchel.solve.smooth.huber_continuation import is_nearly_absolute
from fenchel.solve.smooth.newton import Newton
from fenchel.solve.smooth.newton_cg import NewtonCG
from fenchel.solve.solver import Solver
from fenchel.solve.sparse.coordinate_descent import CoordinateDescent
from fenchel.solve.sparse.nonnegative import NonNegativeDescent


def select(objective: Objective[Any], tol: float = 0.0) -> Solver:
    """The first solver, by what suits the objective best, that does not refuse it; where all do,
    the one that comes nearest."""
    suited = list(_suited(objective, tol))
    if not suited:
        raise ValueError(
            f"solver='auto' does not know {type(objective).__name__}: pass a solver made for it"
        )
    return next((solver for solver in suited if solver.missing(objective) is None), suited[0])


def _suited(objective: Objective[Any], tol: float) -> Iterator[Solver]:
    if isinstance(objective, Ranking):
        yield RankingNewton(goal=tol)
    elif isinstance(objective, Problem) and isinstance(objective.design, KernelExpansion):
        # Measured on 2,000 rows: a loss of straight pieces takes 0.05 to 5 s by decomposition, 1.5
        # to 60 s in coordinates of the span; a smooth one 0.05 s by Newton's method, 0.3 s there.
        if isinstance(objective.loss, PiecewiseLinear):
            yield BlockSMO(goal=tol)
        elif not is_piecewise_linear(objective.loss) and factor_fits(objective.design.n_rows):
            yield KernelNewton(goal=tol)
        yield KernelSpan(select, goal=tol)
    elif isinstance(objective, Problem):
        yield _by_shape(objective, tol)
        yield NewtonCG(goal=tol)  # several targets at once
        # Slower, but products with the rows are all that it asks for.
        yield GradientDescent("accelerated", keep_path=False)


def _by_shape(problem: Problem, tol: float) -> Solver:
    """Piecewise-linear loss: augmented Lagrangian. L1: coordinate descent on a working set. Smooth
    loss and penalty: Newton's method, by Cholesky factors for moderate d, by conjugate gradients
    for large or sparse d."""
    if isinstance(problem.loss, MulticlassHinge):
        return MulticlassLagrangian(goal=tol)
    if is_piecewise_linear(problem.loss) or _is_narrow(problem):
        return AugmentedLagrangian(goal=tol)
    if isinstance(problem.penalty, NonNegative):
        return NonNegativeDescent(goal=tol)
    if not isinstance(problem.penalty, L2):
        return CoordinateDescent(goal=tol)
    design = problem.design
    d = design.dimension
    # Measured: where most entries are zero, products cost less than a d x d matrix from here on.
    if isinstance(design, MatrixDesign) and design.blocks.sparse and d > 200:
        return NewtonCG(goal=tol)
    # d = 2000: 32 MiB for the Hessian and d³/3 = 2.7e9 multiplications for each of its factors.
    return Newton() if d <= 2000 else NewtonCG(goal=tol)


def _is_narrow(problem: Problem) -> bool:
    """Whether a threshold in the loss is so narrow that few rows have curvature: Newton's method
    then needs many steps, where multipliers treat it as the kink that it nearly is."""
    has_threshold = problem.targets is None and math.isfinite(problem.loss.threshold)
    return has_threshold and is_nearly_absolute(problem)


def solver_named(name: str, objective: Objective[Any], tol: float = 0.0) -> Solver:
    """The solver an estimator's `solver` names; any name not listed here means the best choice."""
    if name in ("newton", "newton-cholesky"):
        return Newton()
    if name == "newton-cg":
        return NewtonCG(goal=tol)
    if name == "gradient-descent":
        return GradientDescent()
    return select(objective, tol)


def refusal(solver: Solver, objective: Objective[Any]) -> str | None:
    """Why the solver cannot take the objective and what would work, in one sentence; None if it
    can."""
    reason = solver.refuses(objective)
    if reason is None:
        return None
    if not isinstance(objective, Problem | Ranking):
        return f"{reason}; pass a solver made for {type(objective).__name__}"
    other = select(objective)
    unmet = [need.words for need in other.needs if not need.met(objective)]
    if not unmet:
        return f"{reason}; {type(other).__name__} takes it"
    if type(other) is type(solver):
        need = solver.missing(objective)
        hinted = need is not None and bool(need.hint)
        return reason if hinted else f"{reason}; no other solver takes it"
    return f"{reason}; {type(other).__name__} takes it with {' and '.join(unmet)}"
