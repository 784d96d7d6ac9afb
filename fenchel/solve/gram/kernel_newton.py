"""Newton's method over a kernel's functions, f = Σ αⱼ k(xⱼ, ·), for smooth losses.

At scores z = Kα + b, with θ = l'(y, z) and the weights s of sum one, the gradient is Σ rⱼ k(xⱼ, ·)
in f, r = λα + sθ, and ρ = Σ sθ in b. A step (d, e) solves

    λd + W(Kd + e) = r,   1'W(Kd + e) = ρ,   W = s l″(y, z)

by conjugate gradients in the inner product d'Kd + e², in which this map is self-adjoint. They are
preconditioned by the same system with a diagonal V ≈ W: of M = V^½KV^½ + λI a factor is made, in
float32 where λ allows, and V may be the curvature of an earlier step, since only the ratios of W
and V matter. For K classes V is the mean curvature of a row's scores, and one factor serves all.

Cost: n³/3 for a factor, of which one or two are made; n² for a product, of which a step takes some
ten; 4 n² bytes beside K. It begins at zero: the optimum of a sample of the rows is no better a
start, as it knows nothing of the others' losses where the penalty is faint (measured).

Reference: Rasmussen and Williams, Gaussian processes for machine learning (2006), section 3.4;
Keerthi, Duan, Shevade and Poo, A fast dual algorithm for kernel logistic regression, Machine
Learning 61 (2005); Notay, Flexible conjugate gradients, SIAM J. Sci. Comput. 22 (2000).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.loss.multiclass import Joint
from fenchel.convex.problem import Evaluation, Problem
from fenchel.data.arrays import to_numpy
from fenchel.data.design.kernel import KernelExpansion
from fenchel.data.design.matrix import Point
from fenchel.solve.gram.shifted_gram import Inverse, ShiftedGram
from fenchel.solve.line_search import StepTrial, backtrack, ridge
from fenchel.solve.needs import (
    Need,
    NeedsKernel,
    PositiveL2,
    RowLosses,
    SingleTargetOnly,
    SmoothLoss,
)
from fenchel.solve.solver import Solver, State

Floats = NDArray[np.float64]
# A diagonal so far below the largest is as good as none, and its root divides a residual.
LEAST = 1e-12
# More steps than this cost as much as a factor (measured at n = 8,000: 1.1 s, a step 0.06 s).
WORTH = 15
# The proof of so small a gap is mostly what it charges for rounding, which hides what a step gains:
# they are taken until the solver's own gap falls no more.
SHARP = 1e-12
MOST = 60  # steps of conjugate gradients before the step that they have reached is taken


@dataclass(frozen=True, slots=True)
class Inner:
    """The preconditioner: M⁻¹, V^½, h = M⁻¹V^½1 and 1'V^½h; the intercept's last two are None where
    there is no intercept."""

    inverse: Inverse
    root: Floats
    lam: float
    image: Floats | None
    mass: float
    single: bool

    @classmethod
    def of(
        cls, design: KernelExpansion, V: Floats, lam: float, intercept: bool, single: bool
    ) -> Inner:
        root = np.sqrt(V)
        system = ShiftedGram(design, root, lam)
        inverse = system.inverse_in_single() if single else None
        if inverse is None:
            single, inverse = False, system.inverse()
        image = inverse(root) if intercept else None
        mass = 0.0 if image is None else float(root @ image)
        if intercept and not mass > 0.0 and single:  # what float32 lost
            return cls.of(design, V, lam, intercept, False)
        return cls(inverse, root, lam, image, mass, single)

    def solve(self, r: Floats, level: Any) -> tuple[Floats, Any]:
        """(z, ζ) with λz + V(Kz + ζ) = r and 1'V(Kz + ζ) = level."""
        root = self.root if r.ndim == 1 else self.root[:, None]
        z = root * self.inverse(r / root)
        if self.image is None:
            return z, 0.0 * level
        # The sum of both equations says that λ 1'z = 1'r - level.
        e = (z.sum(axis=0) - (r.sum(axis=0) - level) / self.lam) / self.mass
        move = self.root * self.image
        return z - (e * move if r.ndim == 1 else np.multiply.outer(move, e)), e


@dataclass(frozen=True, slots=True)
class KernelIterate:
    """A point with its scores z, and value, θ, r and ρ there; curvature as the loss gives it."""

    point: Point
    z: Floats
    value: float
    theta: Floats
    r: Floats
    level: Any
    curvature: Floats

    @classmethod
    def at(cls, problem: Problem, point: Point, z: Floats) -> KernelIterate:
        design = _design(problem)
        y, s = _sides(design)
        value, theta, curvature = problem.loss.evaluate(y, z)
        share = s if z.ndim == 1 else s[:, None]
        pull, lam, a = share * theta, ridge(problem), point[0]
        square = float(np.vdot(a, z - point[1]))
        return cls(
            point,
            z,
            float(s @ value) + 0.5 * lam * square,
            theta,
            # In the order of `Problem.gap_estimate`, whose product is then known.
            lam * a - -pull,
            pull.sum(axis=0) if problem.intercept else 0.0 * np.asarray(point[1]),
            curvature,
        )

    def weights(self, problem: Problem) -> Floats:
        """V: s times the mean curvature of a row's scores, away from zero."""
        _, s = _sides(_design(problem))
        h = self.curvature
        if isinstance(problem.loss, Joint):
            h = (h * (1.0 - h)).sum(axis=1) / (problem.loss.n_classes - 1.0)
        h = s * h
        return np.maximum(h, max(LEAST * float(h.max()), np.finfo(float).tiny * 2.0**60))


@dataclass(frozen=True, slots=True)
class Memory:
    """The place, the preconditioner, the steps that it took last, and the first slack."""

    place: KernelIterate
    inner: Inner | None
    steps: int
    fresh: bool
    first: float
    goal: float


@dataclass(frozen=True, slots=True)
class KernelNewton(Solver):
    """Newton steps by conjugate gradients with a factor of an earlier one. Smooth losses, L2.

    goal: the relative gap to aim at.
    """

    goal: float = 1e-6
    needs: ClassVar[tuple[type[Need], ...]] = (
        *(RowLosses, NeedsKernel, PositiveL2, SmoothLoss),
        SingleTargetOnly,
    )

    def init(self, problem: Problem, start: Point | State | None) -> State:
        design = _design(problem)
        design.require_semidefinite()
        inner = None
        if isinstance(start, State):
            known = start.memory
            if isinstance(known, Memory) and known.inner is not None:
                same = known.inner.lam == ridge(problem) and len(known.inner.root) == design.n_rows
                inner = known.inner if same else None
        known_point = start.point if isinstance(start, State) else start
        point = problem.origin() if known_point is None else known_point
        place = KernelIterate.at(problem, point, design.kept_product(point[0]) + point[1])
        return self._arrive(problem, Memory(place, inner, 0, False, 0.0, self.goal))

    def sharpened(self, goal: float) -> KernelNewton:
        return replace(self, goal=goal)

    def step(self, problem: Problem, state: State) -> State:
        state = self._step(problem, state)
        if self.goal >= SHARP:
            return state
        for _ in range(3):
            if state.stalled or state.decrement <= self.goal * abs(state.seen.value):
                break
            after = self._step(problem, state)
            if not after.decrement < state.decrement:
                break
            state = after
        return state

    def _step(self, problem: Problem, state: State) -> State:
        memory: Memory = state.memory
        inner, lam = memory.inner, ridge(problem)
        fresh = inner is None or (memory.steps > WORTH and not memory.fresh)
        if fresh:
            V = memory.place.weights(problem)
            single = inner is None or inner.single
            inner = Inner.of(_design(problem), V, lam, problem.intercept, single)
        assert inner is not None
        slack = max(state.decrement, np.finfo(float).tiny)
        enough = 0.1 * self.goal * abs(memory.place.value)
        eta = max(min(0.01, slack / memory.first), min(enough / slack, 0.01))
        place, steps = _newton_step(problem, memory.place, inner, eta)
        new = replace(memory, inner=inner, steps=steps, fresh=fresh, goal=self.goal)
        if place is not None:
            return self._arrive(problem, replace(new, place=place))
        if not fresh:
            return replace(state, memory=replace(new, steps=WORTH + 1))
        if inner.single:  # what float32 lost
            exact = Inner.of(
                _design(problem), memory.place.weights(problem), lam, problem.intercept, False
            )
            return replace(state, memory=replace(new, inner=exact))
        return replace(state, stalled=True, memory=new)

    def _arrive(self, problem: Problem, memory: Memory) -> State:
        place = memory.place
        pull, level = place.r - ridge(problem) * place.point[0], np.asarray(place.level)
        seen = Evaluation(place.value, pull, level, np.zeros((2, *level.shape)), False)
        Kr = _design(problem).kept_product(place.r)
        # The gap of f alone, and what Newton's step in b alone gains.
        slack = max(float(np.vdot(place.r, Kr)), 0.0) / (2.0 * ridge(problem))
        slack += float(np.sum(level**2)) / (2.0 * float(place.weights(problem).sum()))
        if memory.first == 0.0:
            memory = replace(memory, first=max(slack, np.finfo(float).tiny))
        return State(place.point, seen, slack, False, memory, place.theta)


def _newton_step(
    problem: Problem, place: KernelIterate, inner: Inner, eta: float
) -> tuple[KernelIterate | None, int]:
    """The place after a step, None where none is better, and the products that it took."""
    d, Kd, e, steps = _direction(problem, place, inner, eta)
    (a, b), dz = place.point, Kd + e
    slope = float(np.vdot(place.r, Kd)) + float(np.vdot(place.level, e))
    if not slope > 0.0:
        return None, steps

    def look(t: float) -> StepTrial[KernelIterate]:
        point = a - t * d, (b - t * e if np.ndim(b) else float(b - t * e))
        there = KernelIterate.at(problem, point, place.z - t * dz)

        def after() -> float:
            return float(np.vdot(there.r, Kd)) + float(np.vdot(there.level, e))

        return StepTrial(there.value, after, there)

    noise = 1e-14 * abs(place.value)
    found = backtrack(place.value, slope, noise, look)
    return (None if found is None else found.place), steps


def _direction(
    problem: Problem, place: KernelIterate, inner: Inner, eta: float
) -> tuple[Floats, Floats, Any, int]:
    """(d, Kd, e) of the Newton step, its residual's square down to eta of the first, and steps."""
    design, lam = _design(problem), ridge(problem)
    _, s = _sides(design)
    share = s if place.z.ndim == 1 else s[:, None]
    bend: Callable[[Floats, Floats], Floats] = problem.loss.curvature_product
    r, level = place.r, place.level
    d, Kd, e = np.zeros_like(r), np.zeros_like(r), 0.0 * np.asarray(level)
    z, ze = inner.solve(r, level)
    Kz = design.product(z)
    rho = first = float(np.vdot(r, Kz)) + float(np.vdot(level, ze))
    p, Kp, pe = z, Kz, ze
    steps = 0
    while steps < MOST and rho > 0.0:
        q = share * bend(place.curvature, Kp + pe)
        q_level = q.sum(axis=0) if problem.intercept else 0.0 * np.asarray(level)
        q = q + lam * p
        curved = float(np.vdot(q, Kp)) + float(np.vdot(q_level, pe))
        if not curved > 1e-14 * rho:
            break
        t = rho / curved
        d, Kd, e = d + t * p, Kd + t * Kp, e + t * pe
        r, level = r - t * q, level - t * q_level
        steps += 1
        z, ze = inner.solve(r, level)
        Kz = design.product(z)
        after = float(np.vdot(r, Kz)) + float(np.vdot(level, ze))
        if not after > eta * first:
            break
        # What rounding in the factor leaves of self-adjointness: the change of r, not r alone.
        turn = -t * (float(np.vdot(q, Kz)) + float(np.vdot(q_level, ze))) / rho
        p, Kp, pe = z + turn * p, Kz + turn * Kp, ze + turn * pe
        rho = float(np.vdot(r, Kp)) + float(np.vdot(level, pe))
    return d, Kd, e, steps


def _design(problem: Problem) -> KernelExpansion:
    assert isinstance(problem.design, KernelExpansion)
    return problem.design


def _sides(design: KernelExpansion) -> tuple[Any, Floats]:
    """The targets, and the weights of sum one."""
    y, s = design.sides
    n = design.n_rows
    return to_numpy(y), np.full(n, 1.0 / n) if s is None else s / design.weight
