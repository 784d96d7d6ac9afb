"""The constraint w ≥ 0 alone: coordinate descent under a ridge of 1e-10 of the curvature."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from fenchel.convex.penalty import ElasticNet
from fenchel.convex.problem import Problem
from fenchel.data.design.matrix import Point
from fenchel.solve.needs import (
    ConeOnly,
    ExplicitRows,
    RowLosses,
    SingleScore,
    SingleTargetOnly,
    SmoothLoss,
)
from fenchel.solve.solver import Solver, State
from fenchel.solve.sparse.coordinate_descent import CoordinateDescent


@dataclass(frozen=True, slots=True)
class NonNegativeDescent(Solver):
    """w ≥ 0 by way of λ|w|²/2 with a λ that changes nothing. Smooth losses.

    λ is 1e-10 of the curvature that a column can have, so that the value changes by about as
    little; the certificate is that of the constraint alone.
    """

    goal: float = 0.0
    needs: ClassVar = (RowLosses, ConeOnly, SingleScore, SmoothLoss, SingleTargetOnly, ExplicitRows)

    def init(self, problem: Problem, start: Point | State | None) -> State:
        held = _regularised(problem)
        if isinstance(start, State):
            start = start.point
        return self._state(problem, held, CoordinateDescent(0.1 * self.goal).init(held, start))

    def step(self, problem: Problem, state: State) -> State:
        held, inner = state.memory
        return self._state(problem, held, CoordinateDescent(0.1 * self.goal).step(held, inner))

    def _state(self, problem: Problem, held: Problem, inner: State) -> State:
        seen = problem.evaluate(inner.point, exact=True)
        return State(inner.point, seen, max(inner.decrement, 0.0), inner.stalled, (held, inner))


def _regularised(problem: Problem) -> Problem:
    few = problem.table.blocks.sample(256).gather().X
    bend = min(problem.loss.smoothness, 1.0)
    square = float((few * few).sum()) / max(math.prod(few.shape), 1)
    return replace(problem, penalty=ElasticNet(1e-10 * bend * max(square, 1e-280), 0.0, True))
