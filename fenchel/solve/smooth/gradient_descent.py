"""Gradient descent: with constant step, accelerated (Nesterov), or with a line search; its rate.

    v ← v - η∇P(v);   on a quadratic the error along eigenvector i shrinks by 1 - ηλᵢ

Cost: one or two passes a step.

Reference: Nesterov, Introductory Lectures on Convex Optimization (2004), chapter 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.problem import Problem
from fenchel.data.arrays import Array
from fenchel.data.blocks import Totals
from fenchel.data.design.matrix import Point
from fenchel.solve.line_search import descend, gradient, pack, ridge, unpack
from fenchel.solve.needs import BoundedCurvature, RowLosses, SmoothLoss, SmoothPenalty
from fenchel.solve.solver import Solver, State

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class DescentMemory:
    """The step size, the iterates so far, and the momentum of the accelerated kind."""

    step: float
    path: tuple[Floats, ...]
    ahead: Floats
    momentum: float


@dataclass(frozen=True, slots=True)
class GradientDescent(Solver):
    """v ← v - η∇P(v), with its path recorded.

    kind "plain": constant step η = 1/L unless given, L the largest curvature the data allow;
    "accelerated": Nesterov's extrapolation with restarts where the objective rises;
    "line": η doubled and halved until the objective falls enough.
    Converges for η < 2/L. For lessons and for comparison: Newton is the solver to use.

    Reference: Nesterov, 1983; O'Donoghue and Candès, 2015 (restarts).
    """

    kind: Literal["plain", "accelerated", "line"] = "accelerated"
    step_size: float | None = None
    keep_path: bool = True
    needs: ClassVar = (RowLosses, SmoothPenalty, SmoothLoss, BoundedCurvature)

    def init(self, problem: Problem, start: Point | State | None) -> State:
        point = start.point if isinstance(start, State) else start or problem.origin()
        step = self.step_size or 1.0 / largest_curvature(problem)
        v = pack(problem, point)
        return self._at(problem, point, DescentMemory(step, (v,), v, 1.0))

    def step(self, problem: Problem, state: State) -> State:
        memory: DescentMemory = state.memory
        g = gradient(problem, state.point, state.seen)
        v = pack(problem, state.point)
        if self.kind == "line":
            trial = descend(problem, state.point, state.seen, 2.0 * memory.step * g, True)
            if trial is None:
                return replace(state, stalled=True)
            moved = pack(problem, trial[0])
            step = float(np.linalg.norm(moved - v)) / max(float(np.linalg.norm(g)), 1e-300)
            # Beyond the least along the line, to nearly as high on its other side: 1.99/L lowers
            # the objective enough for ever, and hardly. The next trial is half of it.
            if float(np.vdot(gradient(problem, *trial), g)) < 0.0:
                step *= 0.25
            return self._at(problem, trial[0], self._keep(memory, moved, moved, 1.0, step))
        if self.kind == "plain":
            moved = v - memory.step * g
            return self._at(problem, unpack(problem, moved), self._keep(memory, moved, moved, 1.0))
        ahead = problem.evaluate(unpack(problem, memory.ahead), exact=True)
        moved = memory.ahead - memory.step * gradient(problem, unpack(problem, memory.ahead), ahead)
        t = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * memory.momentum**2))
        new = self._at(problem, unpack(problem, moved), memory)
        if new.seen.value > state.seen.value:  # momentum has overshot: begin it again
            if memory.momentum == 1.0 and new.seen.value > state.seen.value * (1 + 1e-12):
                return replace(state, stalled=True)
            return replace(state, memory=replace(memory, ahead=v, momentum=1.0))
        pushed = moved + ((memory.momentum - 1.0) / t) * (moved - v)
        return replace(new, memory=self._keep(memory, moved, pushed, t))

    def _keep(
        self,
        memory: DescentMemory,
        v: Floats,
        ahead: Floats,
        momentum: float,
        step: float | None = None,
    ) -> DescentMemory:
        path = (*memory.path, v) if self.keep_path else ()
        return DescentMemory(step or memory.step, path, ahead, momentum)

    def _at(self, problem: Problem, point: Point, memory: DescentMemory) -> State:
        seen = problem.evaluate(point, exact=True)
        g = gradient(problem, point, seen)
        size = float(np.vdot(g, g))
        floor = max(ridge(problem), 1e-12)
        return State(point, seen, 0.5 * size / floor, not math.isfinite(seen.value), memory)


def largest_curvature(problem: Problem) -> float:
    """L = smoothness · λ_max(Σ s x̃x̃') + λ, by the power method through one product a pass."""
    design = problem.design
    d = design.dimension
    rng = np.random.default_rng(0)
    u = rng.standard_normal(d + problem.intercept)
    top = 0.0

    def rows(y: Array, scores: list[Array], s: Array | None) -> tuple[Array, Totals]:
        z = scores[0]
        return (z if s is None else z * s), Totals(0.0)

    for _ in range(60):
        u /= np.linalg.norm(u)
        b = u[d] if problem.intercept else 0.0
        pull, level, _ = design.sweep([(u[:d], b)], rows, exact=True)
        image = np.append(pull, level) if problem.intercept else pull
        image = image / design.weight
        before, top = top, float(np.linalg.norm(image))
        u = image
        if top == 0.0 or abs(top - before) <= 1e-6 * top:
            break
    # The power method approaches from below; one per cent covers what it lacks.
    return 1.01 * problem.loss.smoothness * top + ridge(problem)


@dataclass(frozen=True, slots=True)
class ConvergenceProfile:
    """How gradient descent on a quadratic shrinks the error along each eigenvector.

    eigenvalues λᵢ of H; factors 1 - ηλᵢ; rate, the largest |factor| over directions with λᵢ > 0;
    converges, whether it is below 1: η < 2/λ_max (the lecture's 1/(2λ_max) is only sufficient).
    """

    eigenvalues: Floats
    eigenvectors: Floats
    factors: Floats
    rate: float
    converges: bool

    def error(self, start: Floats, steps: int) -> Floats:
        """qᵢ(t) = (1 - ηλᵢ)ᵗ qᵢ(0) for t = 0 … steps: shape (steps + 1, d), start = w₀ - w*."""
        q = self.eigenvectors.T @ np.asarray(start, dtype=np.float64)
        return np.power(self.factors, np.arange(steps + 1)[:, None]) * q


def convergence_profile(H: Floats, step: float) -> ConvergenceProfile:
    """Predict gradient descent with a constant step on a quadratic with Hessian H.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import convergence_profile
    >>> profile = convergence_profile(np.diag([1.0, 4.0]), step=0.4)
    >>> profile.converges, round(profile.rate, 3)
    (True, 0.6)
    """
    H = np.asarray(H, dtype=np.float64)
    if H.ndim != 2 or H.shape[0] != H.shape[1] or not np.allclose(H, H.T):
        raise ValueError(f"H must be a symmetric matrix, got shape {H.shape}")
    if not step > 0:
        raise ValueError(f"step must be positive, got {step}")
    values, vectors = np.linalg.eigh(H)
    scale = max(abs(values[0]), abs(values[-1]), 1e-300)
    if values[0] < -1e-10 * scale:
        raise ValueError(f"H must have no negative eigenvalue, its least is {values[0]:.3g}")
    values = np.clip(values, 0.0, None)
    factors = 1.0 - step * values
    moving = np.abs(factors[values > 1e-14 * scale])
    rate = float(moving.max()) if len(moving) else 0.0
    return ConvergenceProfile(values, vectors, factors, rate, rate < 1.0)
