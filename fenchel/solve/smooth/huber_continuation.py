"""Continuation in the threshold of Huber's loss: a starting point for Newton's method.

Beyond its threshold ε the loss is linear: where all residuals lie there the Hessian is zero and a
Newton step has no length. The threshold begins at the mean size of the residuals about their middle
and is divided by four until it is within twice the loss's own; each problem begins at the optimum
of the last, to a relative decrement of 1e-2. Cost: at most ten Newton steps for each threshold.

Reference: Nocedal and Wright, Numerical Optimization (2006), section 11.3.
"""

from __future__ import annotations

import math
from dataclasses import replace

from fenchel.convex.problem import Problem
from fenchel.data.design.matrix import Point
from fenchel.solve.solver import Solver

# Relative to the residuals: a narrower quadratic zone holds too few rows for Newton's method.
NARROW = 0.05


def is_nearly_absolute(problem: Problem) -> bool:
    """Whether the loss's quadratic zone is narrow against the residuals about their middle: one
    pass where the loss has a threshold."""
    eps = problem.loss.threshold
    return eps < math.inf and eps < NARROW * _residual_scale(problem)


def _residual_scale(problem: Problem) -> float:
    """About the mean size of the residuals before any fit."""
    w, b = problem.origin()
    b = float(problem.middle) if problem.intercept else b
    return problem.evaluate((w, b), exact=True).value / problem.loss.threshold


def warm_start(problem: Problem, solver: Solver) -> Point:
    """The optimum of the problem with a wider threshold, of a loss that has one."""
    point, loss = problem.origin(), problem.loss
    if problem.intercept:
        point = (point[0], float(problem.middle))
    eps = _residual_scale(problem)
    while eps > 2.0 * loss.threshold:
        wide = replace(problem, loss=loss.with_threshold(eps))
        state = solver.init(wide, point)
        for _ in range(10):
            if state.stalled or state.decrement <= 1e-2 * state.seen.value:
                break
            state = solver.step(wide, state)
        point, eps = state.point, 0.25 * eps
    return point
