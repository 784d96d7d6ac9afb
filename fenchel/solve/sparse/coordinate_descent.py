"""Coordinate descent on a working set of columns, for penalties a‖w‖₁ + b|w|²/2.

Cost: the working set is gathered once; one pass over the table a step finds the columns that
violate the optimality conditions and proves the gap.

Reference: Friedman, Hastie and Tibshirani, Regularization paths for generalized linear models via
coordinate descent, J. Stat. Softw. 33 (2010); Tibshirani et al., Strong rules, JRSS B 74 (2012).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.convex.certification.float_sums import GapEvidence, certified, evidence_of
from fenchel.convex.certification.proof import BLUR, IN_FLOAT64, SHARE, SMALL
from fenchel.convex.loss.base import Loss
from fenchel.convex.problem import EPS, Evaluation, Problem
from fenchel.convex.rows.statistics import dual_sums
from fenchel.data.blocks import Totals
from fenchel.data.design.column_access import Index
from fenchel.data.design.matrix import Point
from fenchel.solve.needs import (
    ExplicitRows,
    RowLosses,
    SeparablePenalty,
    SingleTargetOnly,
    SmoothLoss,
)
from fenchel.solve.solver import Solver, State
from fenchel.solve.sparse.lasso_qp import L1L2Part
from fenchel.solve.sparse.prox_newton import prox_newton, slope_limit
from fenchel.solve.sparse.quadratic_model import Iterate
from fenchel.solve.sparse.working_set import WorkingSet, working_set_of

Floats = NDArray[np.float64]
FIRST = 128  # columns that the first working set may take in
# Steps of 30 Newton models each without half of the gap gone: by then curvature that jumps from
# point to point, or columns that all but depend on each other, leave no hope of the rest.
IDLE = 15


@dataclass(frozen=True, slots=True, eq=False)
class CoordinateMemory:
    """The scores and the centred dual point of a state, and its certificate.

    before: the weight of |w|₁ in the problem solved last; omega: the penalty of the point; rel: the
    gap reached by the last step on the working set; best, idle: the least gap so far, and how
    many steps on the same columns have not halved it.
    """

    working_set: WorkingSet
    loss: Loss
    point: Point
    a: float
    z: Floats
    theta: Floats
    proof: Certificate
    before: float
    rel: float
    omega: float = 0.0
    best: float = math.inf
    idle: int = 0


@dataclass(frozen=True, slots=True)
class CoordinateDescent(Solver):
    """Coordinate descent on a growing set of columns. Smooth losses; L1, elastic net, w ≥ 0.

    A step solves the problem on the working set, by Newton models of the loss (one for squares)
    whose minimum coordinate descent finds in the Gram matrix, and then looks once at all columns:
    for the proof, and for those that belong to the set. `goal` is the relative gap in the end; no
    step is solved further than that. This process holds a few n-vectors and the columns of the set.

    Reference: Friedman, Hastie and Tibshirani, Regularization paths for generalized linear models
    via coordinate descent, J. Stat. Softw. 33 (2010); Tibshirani et al., Strong rules for
    discarding predictors in lasso-type problems, JRSS B 74 (2012); Massias, Gramfort and Salmon,
    Celer: a fast solver for the lasso with dual extrapolation, ICML (2018).
    """

    goal: float = 0.0
    eager: bool = False  # every step goes for the goal: for those that all columns agree on already
    proves: ClassVar[bool] = True
    needs: ClassVar = (RowLosses, SeparablePenalty, SmoothLoss, SingleTargetOnly, ExplicitRows)

    def init(self, problem: Problem, start: Point | State | None) -> State:
        working_set = working_set_of(problem.table, problem.intercept)
        with working_set.lock:
            if isinstance(start, State):
                old = start.memory
                kin = (
                    isinstance(old, CoordinateMemory)
                    and old.working_set is working_set
                    and old.loss == problem.loss
                )
                kin = kin and old.point is start.point  # else the scores are those of another
                negative = problem.penalty.positive and bool((start.point[0] < 0.0).any())
                if kin and not negative:
                    old = replace(old, rel=math.inf, best=math.inf, idle=0)
                    if problem.penalty.l1 < old.a < math.inf:
                        return _further(problem, start, old, problem.penalty.l1)
                    return self._reached(problem, working_set, start.point, old, start.seen.grad_w)
                there: Point = start.point
                start = there
            if start is None:
                at = Iterate(
                    np.zeros((working_set.size, *problem.origin()[0].shape[1:])), *_level(problem)
                )
                at, _ = prox_newton(
                    problem.loss, working_set, L1L2Part.of(problem.penalty), at, 1e-3, True
                )
                return self._arrive(problem, working_set, (problem.origin()[0], at.c), at.z, None)
            w, b = start
            w = np.maximum(w, 0.0) if problem.penalty.positive else np.asarray(w, np.float64)
            z = working_set.columns.forward(w) + b
            return self._arrive(problem, working_set, (w, b), z, None)

    def sharpened(self, goal: float) -> CoordinateDescent:
        return replace(self, goal=goal, eager=True)

    def step(self, problem: Problem, state: State) -> State:
        memory: CoordinateMemory = state.memory
        working_set, corners = memory.working_set, L1L2Part.of(problem.penalty)
        with working_set.lock:
            w, b = state.point
            gap = memory.proof.relative_gap
            rel = max(self.goal, min(0.1 * gap, 0.1)) if gap > self.goal else 0.1 * gap
            if self.eager or (memory.a < memory.before < math.inf and self.goal > 0.0):
                rel = min(rel, self.goal)  # a step down a path: the strong rule knows the columns
            if memory.rel <= rel:  # reached on the working set, and not enough
                rel = 0.1 * memory.rel
            known = working_set.size
            working_set.admit(np.flatnonzero(w.any(axis=1) if w.ndim == 2 else w))
            limit = slope_limit(corners, memory.proof.value, w, w.size, rel)
            working_set.admit(
                _violating_columns(working_set, corners, memory, state.seen.grad_w, w, limit)
            )
            u = w[working_set.js]
            c = b + working_set.mean @ u if problem.intercept else b
            at, outcome = prox_newton(
                problem.loss, working_set, corners, Iterate(u, c, memory.z), rel
            )
            w = np.zeros_like(w)
            w[working_set.js] = at.u
            b = at.c - working_set.mean @ at.u if problem.intercept else b
            b = b if np.ndim(b) else float(b)
            reached = rel if outcome == "reached" else math.inf
            new = self._arrive(problem, working_set, (w, b), at.z, replace(memory, rel=reached))
        same = working_set.size == known
        lost = outcome == "stalled" and same
        new = _better(state, new)
        gap, idle = new.memory.proof.relative_gap, memory.idle + 1
        if not same or outcome != "working" or gap < 0.5 * memory.best:
            idle = 0
        kept = replace(new.memory, idle=idle, best=gap if idle == 0 else memory.best)
        lost = lost or idle >= IDLE
        return replace(new, memory=kept, stalled=lost or rel < 1e-14)

    def _arrive(
        self,
        problem: Problem,
        working_set: WorkingSet,
        point: Point,
        z: Floats,
        last: CoordinateMemory | None,
    ) -> State:
        """The state at a point, after one pass over all columns."""
        loss, columns = problem.loss, working_set.columns
        z = z if z.ndim == np.ndim(point[0]) else np.broadcast_to(z, (columns.n_rows,))
        theta = loss.gradient(columns.y, z)
        if problem.intercept:
            theta = loss.centre_dual(
                columns.y, theta, loss.centring_sums(columns.y, theta, columns.raw)
            )
        a = math.inf if last is None else last.a
        rel = math.inf if last is None else last.rel
        nothing = Certificate(math.inf, -math.inf)
        memory = CoordinateMemory(working_set, loss, point, a, z, theta, nothing, math.inf, rel)
        pull = columns.adjoint(_times(columns.s, theta))
        return self._reached(problem, working_set, point, memory, pull)

    def _reached(
        self,
        problem: Problem,
        working_set: WorkingSet,
        point: Point,
        memory: CoordinateMemory,
        pull: Floats,
    ) -> State:
        columns, z, theta = working_set.columns, memory.z, memory.theta
        proof, scale = _proof(problem, working_set, point, z, theta, pull)
        s = columns.s
        level = _times(s, theta).sum(axis=0)
        off = problem.loss.centring_sums(columns.y, theta, s) if problem.intercept else np.zeros(())
        seen = Evaluation(proof.value, pull, level, off, True)
        a = problem.penalty.l1
        omega = problem.penalty.value(point[0], problem.design.inner)
        memory = replace(memory, proof=proof, before=memory.a, a=a, omega=omega)
        dual = scale * theta if theta.ndim == 1 else None
        return State(point, seen, proof.gap, False, memory, dual)

    def prove(self, problem: Problem, state: State) -> Certificate | None:
        """The certificate that `_reached` computed from its pass over all columns."""
        memory: CoordinateMemory = state.memory
        return memory.proof


def _further(problem: Problem, start: State, old: CoordinateMemory, a: float) -> State:
    """The last point of a path as the first under a weaker penalty, under which its gap is wide
    open: its value is known, and no proof is made of it."""
    w, inner = start.point[0], problem.design.inner
    loss = max(start.seen.value - old.omega, 0.0)
    omega = problem.penalty.value(w, inner)
    value = loss + omega
    proof = Certificate(value, 0.0, "estimate")
    memory = replace(old, proof=proof, before=old.a, a=a, omega=omega)
    return State(start.point, replace(start.seen, value=value), proof.gap, False, memory, None)


def _proof(
    problem: Problem, working_set: WorkingSet, point: Point, z: Floats, theta: Floats, pull: Floats
) -> tuple[Certificate, float]:
    """The certificate of θ scaled into the dual's domain, and the scale.

    The scale is 1 where Ω* is finite there, or the one that makes it zero, whichever bounds better.
    Where rounding holds much of the gap the proof is made in pairs of floats.
    """
    columns, penalty, loss = working_set.columns, problem.penalty, problem.loss
    y, s, S = columns.y, columns.raw, problem.design.weight
    values, slope = loss.value(y, z), loss.gradient(y, z)
    level = _times(columns.s, theta).sum(axis=0)
    off = loss.centring_sums(y, theta, columns.s) if problem.intercept else None

    def evidence(c: float) -> GapEvidence:
        sums = dual_sums(loss, problem.middle, y, z, values, slope, c * theta, s)
        return evidence_of(problem, point, Totals(c * S * pull, c * S * level, *sums), off)

    top = float(np.max(-pull if penalty.positive else np.abs(pull)))
    inside = penalty.l1 / top * (1.0 - 4.0 * EPS) if top > penalty.l1 else 1.0
    tries = {inside} if penalty.l2 == 0.0 else {inside, 0.5 * (1.0 + inside), 1.0}
    found = [(evidence(c), c) for c in sorted(tries)]
    bounds = [each.dual.bound(penalty) for each, _ in found]
    bound = max(bounds)
    best, c = found[bounds.index(bound)]
    proof = certified(best.value, bound, best.floor)
    # On small tables a pass in pairs takes a millisecond, and a path makes hundreds of proofs: only
    # where no pass of float64 comes near. On others the loop asks for it in the end.
    if problem.work <= SMALL and proof.relative_gap > IN_FLOAT64:
        blur = best.value.error + best.dual.blur(penalty)
        if blur > BLUR * proof.gap:
            given = c * theta if problem.outputs is None else None
            proof = problem.certify(point, dual=given, enough=SHARE)
    return proof, c


def _better(before: State, after: State) -> State:
    """The new point with the better of the two bounds: both bound the same optimum."""
    old, new = before.memory.proof, after.memory.proof
    if not old.bound > new.bound:
        return after
    proof = new.with_bound_of(old)
    memory = replace(after.memory, proof=proof)
    return replace(after, memory=memory, dual=before.dual, decrement=proof.gap)


def _violating_columns(
    working_set: WorkingSet,
    corners: L1L2Part,
    memory: CoordinateMemory,
    pull: Floats,
    w: Floats,
    limit: float,
) -> Index:
    """Columns whose slope, or whose slope a step further down the path, exceeds a."""
    size = corners.size(pull)
    size, support = (size.max(axis=1), w.any(axis=1)) if w.ndim == 2 else (size, w != 0.0)
    size = np.where(working_set.slot >= 0, -math.inf, size)
    least = corners.a + 0.5 * limit
    if corners.a < memory.before < math.inf:  # the strong rule
        least = min(least, max(2.0 * corners.a - memory.before, 0.5 * corners.a))
    wanted = np.flatnonzero(size > least)
    room = max(FIRST, 2 * int(support.sum()))
    if len(wanted) > room:
        wanted = wanted[np.argpartition(-size[wanted], room)[:room]]
    return wanted


def _level(problem: Problem) -> tuple[Any, Floats]:
    """b = 0 and its scores."""
    w, b = problem.origin()
    return b, np.zeros((problem.design.n_rows, *w.shape[1:]))


def _times(s: Floats, theta: Floats) -> Floats:
    return s * theta if theta.ndim == 1 else s[:, None] * theta
