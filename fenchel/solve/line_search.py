"""Backtracking line search with Armijo's condition; (w, b) as one vector, and its gradient.

The first t of 1, ½, ¼ … with P(v - tp) ≤ P(v) - 10⁻⁴ t ⟨∇P, p⟩.

Reference: Nocedal and Wright, Numerical Optimization (2006), section 3.1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.problem import Evaluation, Problem
from fenchel.data.design.matrix import MatrixDesign, Point

Floats = NDArray[np.float64]
T = TypeVar("T")


def ridge(problem: Problem) -> float:
    """λ of the penalty λ|w|²/2, zero where there is none."""
    return problem.penalty.l2


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
    return pack(problem, (seen.grad_w + ridge(problem) * point[0], seen.grad_b))


def is_double(problem: Problem) -> bool:
    """Whether the rows are float64, so that an ordinary pass is an exact one."""
    design = problem.design
    return not isinstance(design, MatrixDesign) or design.blocks.dtype == np.float64


@dataclass(frozen=True, slots=True)
class StepTrial(Generic[T]):
    """What lies t along a line: the value, its slope there, made when it is asked for, and what
    else the caller knows of the place."""

    value: float
    slope: Callable[[], float]
    place: T


def backtrack(
    value: float, slope: float, noise: float, look: Callable[[float], StepTrial[T]]
) -> StepTrial[T] | None:
    """The first of the steps 1, ½, ¼ … that lowers the value enough; None if none.

    slope: by how much the value falls at first; noise: the value's own rounding. Where that hides
    what is gained, the slope must shrink instead.
    """
    t = 1.0
    for _ in range(25):
        there = look(t)
        if there.value <= value - 1e-4 * t * slope:
            return there
        if there.value <= value + noise:
            if abs(there.slope()) <= 0.9 * slope:
                return there
            if t * slope <= noise:
                return None
        t *= 0.5
    return None


def descend(
    problem: Problem, point: Point, seen: Evaluation, p: Floats, exact: bool
) -> tuple[Point, Evaluation] | None:
    """The first of the steps 1, ½, ¼ … along -p that lowers the objective enough; None if none."""
    v = pack(problem, point)

    def look(t: float) -> StepTrial[tuple[Point, Evaluation]]:
        there = unpack(problem, v - t * p)
        found = problem.evaluate(there, exact=exact)

        def slope() -> float:
            return float(np.vdot(gradient(problem, there, found), p))

        return StepTrial(found.value, slope, (there, found))

    slope = float(np.vdot(gradient(problem, point, seen), p))
    noise = (1e-14 if exact else 1e-7) * abs(seen.value)
    found = backtrack(seen.value, slope, noise, look)
    return None if found is None else found.place
