"""Which solver for which problem, in plain if-statements."""

from __future__ import annotations

from fenchel.convex.problem import Problem
from fenchel.data.design import MatrixDesign
from fenchel.solve.conjugate import NewtonCG
from fenchel.solve.descent import GradientDescent
from fenchel.solve.newton import Newton
from fenchel.solve.solver import Solver


def choose(problem: Problem, tol: float = 0.0) -> Solver:
    """Newton by Cholesky for moderate d, by conjugate gradients for large or sparse d."""
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
