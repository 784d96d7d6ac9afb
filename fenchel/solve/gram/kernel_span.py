"""A kernel problem solved in the coordinates of the kernel's span: K = LL', scores Lw.

Any solver for tables solves P(Lw, b) + λ‖w‖²/2; the coefficients of the same function are
α = -sθ/λ at the optimum, θ the dual point, plus a correction L⁻'(w - L'α) that vanishes there. The
certificate is that of the kernel problem itself, so that rounding in L cannot falsify it.

Reference: Bach and Jordan, Kernel independent component analysis, JMLR 3 (2002), section 4
(incomplete Cholesky decompositions in kernel methods).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.problem import Problem
from fenchel.data.arrays import Array
from fenchel.data.design.kernel import KernelExpansion
from fenchel.data.design.kernel_coordinates import KernelCoordinates
from fenchel.data.design.matrix import Point
from fenchel.solve.needs import Need, NeedsKernel, PositiveL2, RowLosses, SingleTargetOnly
from fenchel.solve.solver import Solver, State

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SpanMemory:
    """The problem on the table L, and where its solver stands."""

    problem: Problem
    solver: Solver
    state: State
    goal: float


@dataclass(frozen=True, slots=True)
class KernelSpan(Solver):
    """The solver that fits the table of the kernel's coordinates. Any loss, L2 penalty.

    choose: picks the solver for the table; goal: the relative gap to aim at.
    """

    choose: Callable[[Problem, float], Solver]
    goal: float = 1e-6

    # Without a penalty the kernel's functions fit any target, and the dual has one point.
    needs: ClassVar[tuple[type[Need], ...]] = (RowLosses, NeedsKernel, PositiveL2, SingleTargetOnly)

    def init(self, problem: Problem, start: Point | State | None) -> State:
        coordinates = _coordinates(problem)
        inner = replace(problem, design=coordinates.design)
        solver = self.choose(inner, self.goal)
        reason = solver.refuses(inner)
        if reason is not None:
            raise ValueError(reason)
        begin: Any = None
        if isinstance(start, State):
            known = start.memory
            same = isinstance(known, SpanMemory) and known.problem.design is inner.design
            begin = known.state if same else (coordinates.of(start.point[0]), start.point[1])
        elif start is not None:
            begin = coordinates.of(start[0]), start[1]
        return _mapped(problem, SpanMemory(inner, solver, solver.init(inner, begin), self.goal))

    def step(self, problem: Problem, state: State) -> State:
        memory: SpanMemory = state.memory
        solver = memory.solver
        if self.goal < memory.goal:
            solver = solver.sharpened(self.goal) or solver
        new = replace(memory, solver=solver, goal=self.goal)
        return _mapped(problem, replace(new, state=solver.step(memory.problem, memory.state)))

    def sharpened(self, goal: float) -> KernelSpan:
        return replace(self, goal=goal)


def _coordinates(problem: Problem) -> KernelCoordinates:
    assert isinstance(problem.design, KernelExpansion)
    return problem.design.explicit()


def _mapped(problem: Problem, memory: SpanMemory) -> State:
    """The state of the kernel problem: coefficients, and the dual point that proves them."""
    coordinates, inner = _coordinates(problem), memory.state
    w, b = inner.point
    theta = inner.dual
    if theta is None:
        loss = problem.loss

        def gradient(y: Array, z: Array) -> Array:
            return loss.gradient(y, z)

        theta = memory.problem.design.map_rows(inner.point, gradient)
    s = coordinates.design.weights() / coordinates.design.weight
    near = -(theta * (s if theta.ndim == 1 else s[:, None])) / problem.penalty.l2
    point = coordinates.coefficients(w, near), b
    left = inner.decrement
    if inner.dual is None:
        left = memory.problem.gap_estimate(inner.point, inner.seen)
    return State(point, inner.seen, left, inner.stalled, memory, theta)
