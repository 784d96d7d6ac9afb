"""Truncated Newton's method: directions by preconditioned conjugate gradients (Newton-CG).

    ∇²P p ≈ ∇P, to a residual of η|∇P| with η ~ √|∇P|;   Jacobi preconditioner

Cost: one pass a product with the Hessian. For tables too wide, or too sparse, for a d x d matrix.

Reference: Nocedal and Wright, Numerical Optimization (2006), section 7.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.loss.multiclass import Multinomial
from fenchel.convex.problem import Evaluation, Problem
from fenchel.convex.rows.statistics import LossCurvature
from fenchel.data.arrays import Array
from fenchel.data.design.matrix import Point
from fenchel.solve.line_search import descend, gradient, is_double, pack, ridge, unpack
from fenchel.solve.needs import ExplicitRows, PlainTargets, RowLosses, SmoothLoss, SmoothPenalty
from fenchel.solve.smooth.huber_continuation import warm_start
from fenchel.solve.solver import Solver, State

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class NewtonCGMemory:
    """The preconditioner, the first gradient's size, and the precision of the passes."""

    rough: JacobiPreconditioner
    first: float
    exact: bool


@dataclass(frozen=True, slots=True)
class JacobiPreconditioner:
    """The diagonal of ∇²P in the coordinates (w, b + centre·w), where slopes and intercept
    hardly interact; rows themselves are never centred."""

    slopes: Floats
    levels: Any
    centre: Floats
    intercept: bool

    @classmethod
    def of(
        cls, squares: Floats, sums: Floats, mass: Any, lam: Any, intercept: bool
    ) -> JacobiPreconditioner:
        """From Σ sᵢhᵢxᵢ², Σ sᵢhᵢxᵢ and Σ sᵢhᵢ, the penalty being lam|w|²/2."""
        centre = np.zeros_like(sums)
        if intercept:
            centre = sums / np.where(mass > 0.0, mass, 1.0)
            squares = np.maximum(squares - centre * sums, 0.0)
        slopes = squares + lam
        levels = np.where(mass > 0.0, mass, 1.0)
        return cls(np.where(slopes > 0.0, slopes, 1.0), levels, centre, intercept)

    def solve(self, r: Floats) -> Floats:
        if not self.intercept:
            return r / self.slopes
        slopes, level = r[:-1], r[-1]
        dw = (slopes - self.centre * level) / self.slopes
        db = level / self.levels - (self.centre * dw).sum(axis=0)
        return np.concatenate([dw, np.reshape(db, (1, *dw.shape[1:]))])


@dataclass(frozen=True, slots=True)
class NewtonCG(Solver):
    """Newton steps by preconditioned conjugate gradients, solved no better than they deserve.

    The residual asked of each step is min(0.1, √(|∇|/|∇₀|)), superlinear in the end, but no less
    than reaches the relative gap `goal`. Smooth losses, L2 penalty; a pass for each product.

    Reference: Dembo, Eisenstat, Steihaug, 1982.
    """

    goal: float = 0.0
    max_products: int = 200
    needs: ClassVar = (RowLosses, SmoothPenalty, SmoothLoss, PlainTargets, ExplicitRows)

    def init(self, problem: Problem, start: Point | State | None) -> State:
        point: Point | None = start.point if isinstance(start, State) else start
        if point is None:
            bends = math.isinf(problem.loss.threshold)  # the loss has curvature at the origin
            point = problem.origin() if bends else warm_start(problem, self)
        exact = is_double(problem)
        seen = problem.evaluate(point, exact=exact)
        first = float(np.linalg.norm(gradient(problem, point, seen)))
        return self._at(
            problem, point, seen, NewtonCGMemory(_diagonal(problem, point), first, exact)
        )

    def sharpened(self, goal: float) -> NewtonCG:
        return replace(self, goal=min(self.goal, goal))

    def step(self, problem: Problem, state: State) -> State:
        memory: NewtonCGMemory = state.memory
        p = self._direction(problem, state)
        moved = descend(problem, state.point, state.seen, p, memory.exact)
        if moved is not None:
            return self._at(problem, *moved, memory)
        if memory.exact:
            # Products in float32 see curvature where there is none: the diagonal's step is short.
            p = memory.rough.solve(gradient(problem, state.point, state.seen))
            moved = (
                None if is_double(problem) else descend(problem, state.point, state.seen, p, True)
            )
            if moved is not None:
                return self._at(problem, *moved, memory)
            return replace(state, stalled=True)
        seen = problem.evaluate(state.point, exact=True)
        return self._at(problem, state.point, seen, replace(memory, exact=True))

    def _at(
        self, problem: Problem, point: Point, seen: Evaluation, memory: NewtonCGMemory
    ) -> State:
        g = gradient(problem, point, seen)
        # The decrement with the diagonal for the Hessian: an order of magnitude, no more.
        decrement = 0.5 * float(np.vdot(g, memory.rough.solve(g)))
        return State(point, seen, decrement, decrement == 0.0, memory)

    def _direction(self, problem: Problem, state: State) -> Floats:
        memory: NewtonCGMemory = state.memory
        design, loss, lam = problem.table, problem.loss, ridge(problem)
        curvature = LossCurvature(loss) if problem.outputs is None else loss.curvature
        product = design.hessian_product(state.point, curvature, loss.curvature_product)
        g = gradient(problem, state.point, state.seen)
        size = float(np.linalg.norm(g))
        eta = min(0.1, math.sqrt(size / max(memory.first, 1e-300))) ** 2
        if lam > 0.0 and self.goal > 0.0:
            enough = self.goal * abs(state.seen.value)
            eta = max(eta, min(0.1 * enough / problem.gap_estimate(state.point, state.seen), 0.01))

        def hessian(p: Floats) -> Floats:
            u = unpack(problem, p)
            pull, level = product(u)
            return pack(problem, (pull / design.weight + lam * u[0], level / design.weight))

        rough = memory.rough
        x = conjugate_gradients(hessian, rough.solve, g, eta, self.max_products)
        return x if np.any(x) else rough.solve(g)


def conjugate_gradients(
    product: Callable[[Floats], Floats],
    precondition: Callable[[Floats], Floats],
    g: Floats,
    eta: float,
    limit: int,
) -> Floats:
    """x with H x ≈ g: the preconditioned residual's square falls to eta times that of g.

    Reference: Hestenes and Stiefel, 1952.
    """
    x = np.zeros_like(g)
    r = g.copy()
    p = precondition(r)
    rho = float(np.vdot(r, p))
    goal, length = eta * rho, rho
    for _ in range(limit):
        q = product(p)
        curved = float(np.vdot(p, q))
        # length is p'Mp, M the preconditioner: along p a curvature so small beside it is rounding,
        # and a step of rho/curved would leave the range of floats.
        if not curved > 1e-14 * length:
            break
        alpha = rho / curved
        x += alpha * p
        r -= alpha * q
        z = precondition(r)
        before, rho = rho, float(np.vdot(r, z))
        if rho <= goal:
            break
        p = z + (rho / before) * p
        length = rho + (rho / before) ** 2 * length  # z and the last p are M-orthogonal
    return x


def _diagonal(problem: Problem, point: Point) -> JacobiPreconditioner:
    """The diagonal of ∇²P at the start, about the mean of the rows weighted by their curvature."""
    design, loss = problem.table, problem.loss

    def own(y: Array, z: Array) -> Array:
        h = loss.curvature(y, z)
        return h * (1.0 - h) if isinstance(loss, Multinomial) else h

    squares, sums, mass = (part / design.weight for part in design.hessian_diagonal(point, own))
    return JacobiPreconditioner.of(squares, sums, mass, ridge(problem), problem.intercept)
