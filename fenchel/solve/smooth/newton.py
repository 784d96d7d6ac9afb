"""Subsampled Newton's method with L-BFGS corrections.

The problem is first solved on a sample of its rows, which is a smaller problem for the same
solver; the sample's Hessian then preconditions quasi-Newton steps on all rows, one pass each.
A new Hessian is made when the observed rate says that it pays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.hessian.dense import HessianFactor, LossHessian, column_centre, curvature
from fenchel.convex.hessian.kronecker import at_point, kronecker
from fenchel.convex.problem import Evaluation, Problem
from fenchel.data.design.matrix import Point
from fenchel.data.in_memory import ArrayBlocks
from fenchel.solve.line_search import descend, gradient, is_double, pack, unpack
from fenchel.solve.line_search import ridge as ridge_of
from fenchel.solve.needs import ExplicitRows, RowLosses, SingleTargetOnly, SmoothLoss, SmoothPenalty
from fenchel.solve.smooth.huber_continuation import warm_start
from fenchel.solve.smooth.multinomial_newton import HessianOperator
from fenchel.solve.solver import Solver, State

Floats = NDArray[np.float64]
MAX_JOINT_HESSIAN = 600  # the largest Hessian of all classes together that is worth making


@dataclass(frozen=True, slots=True)
class NewtonMemory:
    """What a Newton state remembers: curvature, its factor, recent pairs, the next direction."""

    curvature: LossHessian | HessianOperator
    factor: HessianFactor | HessianOperator
    ridge: float
    own: bool  # whether the curvature is that of all the problem's rows, not of a sample's
    fresh: bool  # and at this very point
    pairs: tuple[tuple[Floats, Floats], ...] = ()
    direction: Floats | None = None  # None where it costs passes: made when it is needed
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Newton(Solver):
    """Newton steps by Cholesky, quasi-Newton in between. Smooth losses, L2 penalty, moderate d.

    Parameters: pairs, the corrections kept between Hessians; sample, whether to begin on a sample.

    Reference: Byrd, Chin, Neveitt, Nocedal, 2011 (sampled Hessians); Nocedal, 1980 (pairs).
    """

    pairs: int = 10
    sample: bool = True
    needs: ClassVar = (RowLosses, SmoothPenalty, SmoothLoss, SingleTargetOnly, ExplicitRows)

    def init(self, problem: Problem, start: Point | State | None) -> State:
        ridge = ridge_of(problem)
        if isinstance(start, State):
            known = start.memory.curvature
            memory = NewtonMemory(
                known, known.factor(ridge), ridge, own=start.memory.own, fresh=False
            )
            return self._arrive(problem, memory, _path_predictor(start, ridge))
        if start is None:
            bends = math.isinf(problem.loss.threshold)  # the loss has curvature at the origin
            start = problem.origin() if bends else warm_start(problem, self)
        point = start
        small = self._sample(problem)
        if small is None:
            known = _curve(problem, point, column_centre(problem))
            memory = NewtonMemory(known, known.factor(ridge), ridge, own=True, fresh=True)
            return self._arrive(problem, memory, point)
        centre = column_centre(small)
        # The optimum of a few rows for each column is no better a start than none.
        if small.design.n_rows > 40 * small.design.dimension or not _whole(small):
            point = self._solve_small(small, point).point
        known = _curve(small, point, centre)
        if isinstance(known, LossHessian):
            known = known.shrunk(small.design.n_rows)
        memory = NewtonMemory(known, known.factor(ridge), ridge, own=False, fresh=False)
        return self._arrive(problem, memory, point)

    def _sample(self, problem: Problem) -> Problem | None:
        n, d = problem.design.n_rows, problem.design.dimension
        rows = max(n // 8, 8 * (d + 1), 2048)
        if not problem.table.blocks.local:  # what comes to the driver must not grow with n
            rows = max(min(rows, 2**23 // (d + 1)), 8 * (d + 1), 2048)
        if not self.sample or 3 * rows > n or _is_quick(problem):
            return None
        return problem.sampled(rows)

    def _solve_small(self, small: Problem, point: Point) -> State:
        # Beyond d/n the sample's optimum says nothing about that of all rows.
        tol = 0.02 * min(1.0, (small.design.dimension + 1) / small.design.n_rows)
        state = self.init(small, point)
        for _ in range(30):
            if state.stalled or state.decrement <= tol * abs(state.seen.value):
                break
            state = self.step(small, state)
        return state

    def sharpened(self, goal: float) -> Newton:
        return self

    def step(self, problem: Problem, state: State) -> State:
        memory: NewtonMemory = state.memory
        direction = memory.direction
        if direction is None:
            direction = _apply(problem, memory, gradient(problem, state.point, state.seen))
        moved = descend(problem, state.point, state.seen, direction, _is_exact(problem, memory))
        if moved is None:
            if not memory.fresh:
                return self._renewed(problem, state)
            if not memory.exact:
                return self._arrive(problem, replace(memory, exact=True, pairs=()), state.point)
            return replace(state, stalled=True)
        point, seen = moved
        s = pack(problem, point) - pack(problem, state.point)
        y = gradient(problem, point, seen) - gradient(problem, state.point, state.seen)
        pairs = memory.pairs
        if np.vdot(s, y) > 1e-12 * np.linalg.norm(s) * np.linalg.norm(y):
            pairs = (*pairs, (s, y))[-self.pairs :]
        new = self._at(problem, replace(memory, pairs=pairs, fresh=False), point, seen)
        if self._worth_renewing(problem, state.decrement, new):
            return self._renewed(problem, new)
        return new

    def _worth_renewing(self, problem: Problem, before: float, new: State) -> bool:
        """Whether a Hessian (as dear as 1 + d/30 passes) saves more passes than it costs."""
        goal = 1e-9 * abs(new.seen.value)
        if new.decrement <= goal or goal == 0.0:  # a loss of zero is the least there is
            return False
        rate = min(new.decrement / max(before, 1e-300), 0.999)
        left = math.log(new.decrement / goal) / -math.log(rate) if rate > 0 else 0.0
        if not _whole(problem):  # a Hessian known by its products is new at no cost
            return new.memory.own or left > 25.0
        n, size = problem.design.n_rows, problem.design.dimension + 1
        each = size * ((problem.outputs or 1) + 1) / 2
        if n * size * each < 3e6 or _is_quick(problem):  # too small for a pass to count
            return left > 1.0
        return left > 3.0 + 2.0 * (1.0 + each / 30.0)

    def _renewed(self, problem: Problem, state: State) -> State:
        memory: NewtonMemory = state.memory
        known = memory.curvature
        if isinstance(known, HessianOperator):
            known = HessianOperator(
                problem, state.point, at_point(known.rough, problem, state.point)
            )
        else:
            known = _curve(problem, state.point, known.centre)
        factor = known.factor(memory.ridge)
        memory = replace(memory, curvature=known, factor=factor, own=True, fresh=True, pairs=())
        return self._at(problem, memory, state.point, state.seen)

    def _arrive(self, problem: Problem, memory: NewtonMemory, point: Point) -> State:
        seen = problem.evaluate(point, exact=_is_exact(problem, memory))
        return self._at(problem, memory, point, seen)

    def _at(self, problem: Problem, memory: NewtonMemory, point: Point, seen: Evaluation) -> State:
        """The state at a point: the direction is made now, since it also tells the decrement."""
        g = gradient(problem, point, seen)
        if isinstance(memory.factor, HessianOperator):
            rough = pack(problem, memory.factor.rough.solve(*unpack(problem, g)))
            slope = float(np.vdot(g, rough))
            still = not slope > 1e-29 * abs(seen.value)
            return State(point, seen, 0.5 * slope, still, replace(memory, direction=None))
        direction = _apply(problem, memory, g)
        slope = float(np.vdot(g, direction))
        if not slope > 0.0 and memory.pairs:  # rounding has spoiled the pairs
            memory = replace(memory, pairs=())
            direction = _apply(problem, memory, g)
            slope = float(np.vdot(g, direction))
        memory = replace(memory, direction=direction)
        still = not slope > 1e-29 * abs(seen.value)  # nothing is left that float64 could gain
        return State(point, seen, 0.5 * max(slope, 0.0), still, memory)


def _curve(problem: Problem, point: Point, centre: Floats) -> LossHessian | HessianOperator:
    """∇²P at a point: written down, or known by its products where it is too large for that."""
    if _whole(problem):
        return curvature(problem, point, centre)
    return HessianOperator(problem, point, kronecker(problem, point, centre))


def _path_predictor(last: State, ridge: float) -> Point:
    """Where the path of solutions goes from one penalty to the next: dw/d log λ = -λH⁻¹w, followed
    as far as a tangent can be trusted."""
    w, b = last.point
    memory: NewtonMemory = last.memory
    if not (memory.ridge > 0.0 and ridge > 0.0) or isinstance(memory.factor, HessianOperator):
        return last.point
    dw, db = memory.factor.solve(memory.ridge * w, 0.0 * np.asarray(b))
    along = min(max(math.log(ridge / memory.ridge), -1.0), 1.0)
    return w - along * dw, b - along * db if np.ndim(b) else float(b - along * db)


def _is_exact(problem: Problem, memory: NewtonMemory) -> bool:
    """Whether passes are made in float64."""
    return memory.exact or is_double(problem)


def _is_quick(problem: Problem) -> bool:
    """Whether a pass takes no longer than its launches on a device, so that a sample's takes as
    long: an H200 reads so many values in the time of twenty launches."""
    blocks = problem.table.blocks
    on_device = isinstance(blocks, ArrayBlocks) and blocks.on_device
    return on_device and blocks.n_rows * blocks.n_cols <= 2**27


def _whole(problem: Problem) -> bool:
    size = problem.design.dimension + problem.intercept
    return problem.outputs is None or size * problem.outputs <= MAX_JOINT_HESSIAN


def _apply(problem: Problem, memory: NewtonMemory, g: Floats) -> Floats:
    """The inverse Hessian's best guess times g: the factor, corrected by the recent pairs."""
    q, kept = g.copy(), []
    for s, y in reversed(memory.pairs):
        rho = 1.0 / float(np.vdot(s, y))
        alpha = rho * float(np.vdot(s, q))
        q -= alpha * y
        kept.append((s, y, rho, alpha))
    d = problem.design.dimension
    level = q[d] if problem.intercept else problem.origin()[1]
    r = pack(problem, memory.factor.solve(q[:d], level))
    for s, y, rho, alpha in reversed(kept):
        r = r + s * (alpha - rho * float(np.vdot(y, r)))
    return r
