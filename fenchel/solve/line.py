"""Moving along a line: (w, b) as one vector, its gradient, and the step that descends enough."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.penalty import L2
from fenchel.convex.problem import Evaluation, Problem
from fenchel.data.design import MatrixDesign, Point

Floats = NDArray[np.float64]


def ridge(problem: Problem) -> float:
    """λ of the penalty λ|w|²/2, zero where there is none."""
    assert isinstance(problem.penalty, L2)
    return problem.penalty.lam


def pack(problem: Problem, point: Point) -> Floats:
    """(w, b) as one vector, or one column for each class."""
    w, b = point
    return np.concatenate([w, np.reshape(b, (1, *w.shape[1:]))]) if problem.intercept else w


def unpack(problem: Problem, v: Floats) -> Point:
    if problem.intercept:
        return v[:-1], v[-1] if v.ndim == 2 else float(v[-1])
    return v, problem.origin()[1]


def gradient(problem: Problem, point: Point, seen: Evaluation) -> Floats:
    """∇P under an L2 penalty."""
    return pack(problem, (seen.pull + ridge(problem) * point[0], seen.level))


def is_double(problem: Problem) -> bool:
    """Whether the rows are float64, so that an ordinary pass is an exact one."""
    design = problem.design
    return not isinstance(design, MatrixDesign) or design.blocks.dtype == np.float64


def descend(
    problem: Problem, point: Point, seen: Evaluation, p: Floats, exact: bool
) -> tuple[Point, Evaluation] | None:
    """The first of the steps 1, ½, ¼ … along -p that lowers the objective enough; None if none.

    Where the value has no digits left to compare, the slope along p must shrink instead.
    """
    v = pack(problem, point)
    slope = float(np.vdot(gradient(problem, point, seen), p))
    noise = (1e-14 if exact else 1e-7) * abs(seen.value)
    t = 1.0
    for _ in range(25):
        there = unpack(problem, v - t * p)
        found = problem.evaluate(there, exact=exact)
        if found.value <= seen.value - 1e-4 * t * slope:
            return there, found
        if found.value <= seen.value + noise:
            after = abs(float(np.vdot(gradient(problem, there, found), p)))
            if after <= 0.9 * slope:
                return there, found
            if t * slope <= noise:
                return None
        t *= 0.5
    return None
