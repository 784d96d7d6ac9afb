"""Which solver for which problem, in plain if-statements."""

from __future__ import annotations

from fenchel.convex.multiclass import MulticlassHinge
from fenchel.convex.objective import Objective
from fenchel.convex.penalty import L2, NonNegative
from fenchel.convex.problem import Problem
from fenchel.convex.ranking import Ranking
from fenchel.data.design import MatrixDesign
from fenchel.data.kernel_design import KernelExpansion
from fenchel.solve.augmented import AugmentedLagrangian
from fenchel.solve.cone import Cone
from fenchel.solve.conjugate import NewtonCG
from fenchel.solve.coordinate import CoordinateDescent
from fenchel.solve.descent import GradientDescent
from fenchel.solve.kernel_span import KernelSpan
from fenchel.solve.multiclass_hinge import MulticlassLagrangian
from fenchel.solve.newton import Newton
from fenchel.solve.pairwise import PairNewton
from fenchel.solve.solver import Solver, is_kinked
from fenchel.solve.wider import is_nearly_kinked


def choose(problem: Objective, tol: float = 0.0) -> Solver:
    """A kink in the loss asks for multipliers, one in the penalty for coordinates; without either
    Newton by Cholesky for moderate d, by conjugate gradients for large or sparse d."""
    if isinstance(problem, Ranking):
        return PairNewton(goal=tol)
    assert isinstance(problem, Problem)
    if isinstance(problem.design, KernelExpansion):
        return KernelSpan(choose, goal=tol)
    if isinstance(problem.loss, MulticlassHinge):
        return MulticlassLagrangian(goal=tol)
    if is_kinked(problem.loss) or is_nearly_kinked(problem):
        return AugmentedLagrangian(goal=tol)
    if isinstance(problem.penalty, NonNegative):
        return Cone(goal=tol)
    if not isinstance(problem.penalty, L2):
        return CoordinateDescent(goal=tol)
    design = problem.design
    d = design.dimension
    if isinstance(design, MatrixDesign) and design.blocks.sparse and d > 200:
        return NewtonCG(goal=tol)
    return Newton() if d <= 2000 else NewtonCG(goal=tol)


def by_name(name: str, problem: Problem, tol: float = 0.0) -> Solver:
    """The solver an estimator's `solver` names; any name not listed here means the best choice."""
    if name in ("newton", "newton-cholesky"):
        return Newton()
    if name == "newton-cg":
        return NewtonCG(goal=tol)
    if name == "gradient-descent":
        return GradientDescent()
    return choose(problem, tol)
