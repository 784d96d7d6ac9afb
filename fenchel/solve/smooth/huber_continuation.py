"""Where to begin when nothing bends at the origin."""

from __future__ import annotations

from dataclasses import replace

from fenchel.convex.loss.distance import Huber
from fenchel.convex.problem import Problem
from fenchel.data.design.matrix import Point
from fenchel.solve.solver import Solver

NEARLY = 0.05  # of the residuals' size: a zone below it holds too few rows for Newton's method


def is_nearly_absolute(problem: Problem) -> bool:
    """Whether Huber's zone is narrow against the residuals about the middle: one pass."""
    loss = problem.loss
    return isinstance(loss, Huber) and loss.eps < NEARLY * _residual_scale(problem)


def _residual_scale(problem: Problem) -> float:
    """About the mean size of the residuals before any fit."""
    w, b = problem.origin()
    assert isinstance(problem.loss, Huber)
    b = float(problem.middle) if problem.intercept else b
    return problem.evaluate((w, b), exact=True).value / problem.loss.eps


def warm_start(problem: Problem, solver: Solver) -> Point:
    """The origin, but for Huber's loss the optimum of a wider one.

    Far outside its zone Huber's loss is linear and Newton's step has no length. The zone is first
    as wide as the residuals are, then a quarter of that, and so on.
    """
    point, loss = problem.origin(), problem.loss
    if not isinstance(loss, Huber):
        return point
    if problem.intercept:
        point = (point[0], float(problem.middle))
    eps = _residual_scale(problem)
    while eps > 2.0 * loss.eps:
        wide = replace(problem, loss=Huber(eps))
        state = solver.init(wide, point)
        for _ in range(10):
            if state.stalled or state.decrement <= 1e-2 * state.seen.value:
                break
            state = solver.step(wide, state)
        point, eps = state.point, 0.25 * eps
    return point
