"""Semismooth Newton augmented Lagrangian method (SSNAL) for piecewise-linear losses.

The scores u = Φw + b are set free and tied back by multipliers θ, one a row. For given θ and μ the
best u is a prox, and what is left is the smooth problem of the loss's Moreau envelope about θ; its
slopes are the next θ, a point of the dual's domain. No μ need vanish: at the right θ any is exact.
Only rows that lie at a kink have curvature, so a Newton step costs two passes and little more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.loss.base import PiecewiseLinear
from fenchel.convex.penalty import L2, is_unpenalised
from fenchel.convex.problem import EPS, Evaluation, Problem
from fenchel.data.blocks import Block
from fenchel.data.design.matrix import MatrixDesign, Point
from fenchel.data.in_memory import ArrayBlocks
from fenchel.solve.line_search import pack, unpack
from fenchel.solve.needs import (
    ElasticOrCone,
    ExplicitRows,
    RowLosses,
    SingleTargetOnly,
    StraightPieces,
)
from fenchel.solve.piecewise.active_curvature import ActiveCurvature
from fenchel.solve.piecewise.dual_ascent import dual_ascent
from fenchel.solve.piecewise.subproblem import (
    RowData,
    Subproblem,
    corners_of,
    exact_table,
    initial_mu,
    one,
    primal_dual,
    rows_of,
    search,
    separating_scale,
    shrink_rows,
    subproblem_at,
)
from fenchel.solve.piecewise.vertex import has_vertex, vertex
from fenchel.solve.smooth.newton_cg import JacobiPreconditioner, conjugate_gradients
from fenchel.solve.solver import Solver, State
from fenchel.solve.sparse.lasso_qp import solve_lasso_qp

Floats = NDArray[np.float64]
WIDE = 1500  # columns beyond which, and for sparse tables, no matrix is made
TRIES = 30  # Newton steps for one θ
SLOW = 2  # smooth problems left unsolved before a small table is given to the simplex method


@dataclass(frozen=True, slots=True)
class AugmentedLagrangian(Solver):
    """Semismooth Newton steps on Moreau envelopes. Bent losses, any penalty.

    goal: the relative gap to aim at; sample: whether to begin on a sample. Holds a few numbers a
    row on the driver, and the rows at a kink.

    Reference: Li, Sun and Toh, A highly efficient semismooth Newton augmented Lagrangian method
    for solving lasso problems, SIAM J. Optim. 28 (2018).
    """

    goal: float = 1e-6
    sample: bool = True
    needs: ClassVar = (RowLosses, StraightPieces, ElasticOrCone, SingleTargetOnly, ExplicitRows)

    def init(self, problem: Problem, start: Point | State | None) -> State:
        rows = rows_of(problem)
        theta, mu = np.zeros(len(rows.y)), 0.0
        if isinstance(start, State):
            known = start.memory
            if isinstance(known, Subproblem) and known.theta.shape == theta.shape:
                theta, mu = known.theta, known.mu
            there: Point = start.point
            start = there
        elif start is None and _is_sparse(problem) and _ridge(problem) > 0.0:
            return self._from_ascent(problem, rows)
        elif start is None and self.sample:
            start = self._from_sample(problem)
        point = start
        if point is None:
            w, b = problem.origin()
            point = (w, float(problem.middle) if problem.intercept else b)
        z = rows.table.map_rows(point, _score, exact=False)
        if mu == 0.0:
            mu = initial_mu(problem, rows, z, start is not None)
        return self._at(problem, point, subproblem_at(problem, rows, theta, mu, z))

    def _from_ascent(self, problem: Problem, rows: RowData) -> State:
        """The point and multipliers that rounds over single rows reach."""
        found = dual_ascent(problem, rows.y, rows.s, self.goal)
        subproblem = subproblem_at(problem, rows, found.theta, found.mu, found.z, found.theta)
        return self._at(problem, found.point, replace(subproblem, tried=TRIES))

    def _from_sample(self, problem: Problem) -> Point | None:
        """The optimum on some of the rows."""
        n, d = problem.design.n_rows, problem.design.dimension
        rows = max(n // 8, 16 * (d + 1), 2048)
        if 3 * rows > n:
            return None
        small = problem.sampled(rows)
        state = self.init(small, None)
        for _ in range(60):
            if state.stalled or state.decrement <= 0.1 * (d + 1) / rows * abs(state.seen.value):
                break
            state = self.step(small, state)
        return state.point

    def sharpened(self, goal: float) -> AugmentedLagrangian:
        return replace(self, goal=goal)

    def step(self, problem: Problem, state: State) -> State:
        subproblem, point = state.memory, state.point
        few = shrink_rows(problem, point, subproblem)
        if few is None:
            point, subproblem = self._newton(problem, point, subproblem)
            return self._at(problem, point, subproblem)
        while few.tried < TRIES:
            point, few = self._newton(problem, point, few)
            if self._is_solved(problem, point, few):
                break
        # Frozen rows may change their piece along v: the line search is repeated with all rows.
        v = unpack(problem, pack(problem, point) - pack(problem, state.point))
        dz = subproblem.rows.table.map_rows(v, _score, exact=False)
        new = self._moved(problem, state.point, subproblem, v, dz)
        return self._at(problem, *new)

    def _newton(
        self, problem: Problem, point: Point, subproblem: Subproblem
    ) -> tuple[Point, Subproblem]:
        step, known = self._direction(problem, point, subproblem)
        v = unpack(problem, step)
        dz = subproblem.rows.table.map_rows(v, _score, exact=False)
        there, new = self._moved(problem, point, subproblem, v, dz)
        return there, replace(new, curvature=known)

    def _moved(
        self, problem: Problem, point: Point, subproblem: Subproblem, v: Point, dz: Floats
    ) -> tuple[Point, Subproblem]:
        """Along v as far as the envelope falls."""
        x = search(problem, point, v, dz, subproblem)
        there = unpack(problem, pack(problem, point) + x * pack(problem, v))
        new = subproblem_at(
            problem, subproblem.rows, subproblem.theta, subproblem.mu, subproblem.z + x * dz
        )
        new = replace(new, tried=subproblem.tried + 1, idle=subproblem.idle, best=subproblem.best)
        return there, replace(new, slow=subproblem.slow)

    def _is_solved(self, problem: Problem, point: Point, subproblem: Subproblem) -> bool:
        """Whether the smooth problem is solved as well as its envelope deserves."""
        primal, dual, rest = primal_dual(problem, point, subproblem)
        blur, near = primal - dual - rest, self.goal * abs(primal)
        if is_unpenalised(problem.penalty):  # there Φ*(sθ) = 0 is no matter of degree
            return rest <= (0.3 * blur if blur > near else 1e-12 * abs(primal))
        return rest <= max(0.3 * blur, 0.1 * near)

    def _at(self, problem: Problem, point: Point, subproblem: Subproblem) -> State:
        """New multipliers once the smooth problem is solved."""
        longer = separating_scale(problem, subproblem)
        if longer > 0.0:
            point = (longer * point[0], longer * point[1])
            nothing = np.zeros(len(subproblem.z))
            subproblem = subproblem_at(
                problem, subproblem.rows, nothing, subproblem.mu, longer * subproblem.z, nothing
            )
        primal, dual, _ = primal_dual(problem, point, subproblem)
        gap = primal - dual
        seen = Evaluation(primal, subproblem.grad_w, subproblem.grad_b, np.zeros(2), False)
        if subproblem.tried < TRIES and not self._is_solved(problem, point, subproblem):
            return State(point, seen, math.inf, False, subproblem, subproblem.t)
        slow = subproblem.slow + (subproblem.tried >= TRIES)
        if slow == SLOW > subproblem.slow and has_vertex(problem):
            found = self._at_vertex(problem, point, subproblem)
            if found is not None:
                return found
        # Newton's steps that do not end where they should rarely do so later.
        idle = (
            0
            if gap < 0.9 * subproblem.best
            else subproblem.idle + (1 if subproblem.tried < TRIES else 3)
        )
        # Beyond this θ has no digits left of a score's distance to its kink.
        mu = subproblem.mu * (
            0.3 if subproblem.tried < 5 else 0.6 if subproblem.tried < 10 else 1.0
        )
        mu = max(mu, min(1e-9 * abs(primal), subproblem.mu))
        rows, z = subproblem.rows, subproblem.z
        if idle > 1 and rows.table.blocks.dtype != np.float64:
            rows, z = (
                replace(rows, table=exact_table(problem)),
                problem.design.map_rows(point, _score),
            )
        new = subproblem_at(problem, rows, subproblem.t, mu, z)
        new = replace(new, idle=idle, best=min(gap, subproblem.best), slow=slow)
        close = 1e-3 * self.goal * abs(primal)
        if is_unpenalised(problem.penalty) and gap > close and idle == 0:
            gap = math.inf  # a corner of a polyhedron is few steps away: go there
        # All rows explained but for rounding: the floor of the certificate will say so.
        exact = primal <= 1e-11 * rows.spread
        return State(point, seen, max(gap, 0.0), idle > 20 or exact, new, subproblem.t)

    def _at_vertex(self, problem: Problem, point: Point, subproblem: Subproblem) -> State | None:
        """The end of the simplex method, if its certificate is the better one."""
        rows = subproblem.rows
        found = vertex(problem, rows.y, rows.s, rows.centre)
        if found is None:
            return None
        there, theta = found
        proof, here = problem.certify(there, dual=theta), problem.certify(point, dual=subproblem.t)
        if not proof.relative_gap < here.relative_gap:
            return None
        z = problem.design.map_rows(there, _score)
        new = subproblem_at(problem, rows, theta, subproblem.mu, z, theta)
        seen = Evaluation(proof.value, new.grad_w, new.grad_b, np.zeros(2), False)
        return State(there, seen, max(proof.gap, 0.0), True, new, theta)

    def _direction(
        self, problem: Problem, point: Point, subproblem: Subproblem
    ) -> tuple[Floats, ActiveCurvature | None]:
        """The step to the optimum of the envelope's quadratic model, penalty included; and what of
        the model's curvature the next step may use."""
        rows, loss = subproblem.rows, problem.loss
        assert isinstance(loss, PiecewiseLinear)
        h = np.where(
            loss.is_active(rows.y, subproblem.t), rows.s / (subproblem.mu + loss.smoothing), 0.0
        )
        ridge, known = _ridge(problem), subproblem.curvature
        near = None if known is None or ridge == 0.0 else known.at(rows.table, h, ridge)
        if near is not None:
            g = pack(problem, (subproblem.grad_w + ridge * point[0], subproblem.grad_b))
            return -pack(problem, near.solve(*unpack(problem, g))), known
        # Where no row is at a joint a long step is sought, and the search along it finds how long.
        active = rows.table.weighted_subset(h if h.any() else rows.s * (1e-9 / subproblem.mu))
        if not isinstance(problem.penalty, L2):
            return _penalised_newton_step(problem, point, subproblem, active), None
        lam: Any = problem.penalty.lam
        g = pack(problem, (subproblem.grad_w + lam * point[0], subproblem.grad_b))
        if lam == 0.0:  # a plane through few rows bends nothing: lean a little on where it is
            lam = _tikhonov(subproblem, loss.smoothing)
        if not _is_wide(problem):
            H = _gram(problem, active, rows.centre)
            known = ActiveCurvature.of(rows.table, h, H, lam, rows.centre, problem.intercept)
            return -pack(problem, known.factor.solve(*unpack(problem, g))), known
        squares, sums, mass = active.hessian_diagonal(problem.origin(), one)
        rough = JacobiPreconditioner.of(squares, sums, mass, lam, problem.intercept)
        product = active.hessian_product(problem.origin(), one, _times)

        def hessian(v: Floats) -> Floats:
            u = unpack(problem, v)
            pull, level = product(u)
            return pack(problem, (pull + lam * u[0], level))

        x = conjugate_gradients(hessian, rough.solve, g, 1e-3, 300)
        return (-x if np.any(x) else -rough.solve(g)), None


def _tikhonov(subproblem: Subproblem, soft: float) -> Floats:
    """A ridge for directions without curvature, which vanishes where Newton's method is slow: what
    is left of it may make its convergence linear."""
    share = 1e-9 * 0.1 ** min(max(subproblem.tried - 3, 0), 6)
    lengths = subproblem.rows.lengths
    least = 1e-6 * float(lengths.max(initial=0.0)) or 1.0  # a column that does not move at all
    return share * np.maximum(lengths, least) ** 2 * len(lengths) / (subproblem.mu + soft)


def _gram(problem: Problem, active: MatrixDesign, centre: Floats) -> Floats:
    """Σ hᵢx̃ᵢx̃ᵢ', x̃ = (x - centre, 1) or x."""
    H = active.gram(problem.origin(), one, centre if problem.intercept else None)
    size = active.dimension + problem.intercept
    return H[:size, :size]


def _penalised_newton_step(
    problem: Problem, point: Point, subproblem: Subproblem, active: MatrixDesign
) -> Floats:
    """Newton's step under a penalty with corners, in the columns that may leave zero."""
    corners, (w, _) = corners_of(problem.penalty), point
    push = corners.size(subproblem.grad_w)
    support = np.flatnonzero(w)
    room = min(len(w), max(200, 2 * len(support)))
    pick = np.union1d(support, np.argpartition(-push, room - 1)[:room])
    whole = active.blocks.gather()
    X = whole.X[:, pick]
    few = MatrixDesign(ArrayBlocks(Block(0, X, None, whole.weight), None))
    centre = subproblem.rows.centre[pick]
    H = _gram(replace(problem, design=few), few, centre)
    g, size = subproblem.grad_w[pick], len(pick)
    G = np.ascontiguousarray(H[:size, :size])
    tilt, mass = np.zeros(size), 1.0
    if problem.intercept:  # b at its best for every w, in the coordinates (w, b + centre·w)
        g = g - centre * subproblem.grad_b
        tilt, mass = H[size, :size], max(float(H[size, size]), 1e-300)
        # A heavy row leaves nothing but rounding of its own squares, of either sign.
        noise = 32.0 * EPS * np.diagonal(G)
        G -= np.outer(tilt, tilt / mass)
        G.flat[:: size + 1] += noise
        g = g - tilt * (subproblem.grad_b / mass)
    assert isinstance(problem.loss, PiecewiseLinear)
    G.flat[:: size + 1] += _tikhonov(subproblem, problem.loss.smoothing)[pick]
    limit = 1e-3 * float(corners.violation(g, w[pick]).max())
    dw = solve_lasso_qp(G, g, w[pick], corners, limit) - w[pick]
    step = np.zeros(len(w))
    step[pick] = dw
    if not problem.intercept:
        return step
    return np.append(step, -(subproblem.grad_b + tilt @ dw) / mass - centre @ dw)


def _ridge(problem: Problem) -> float:
    return problem.penalty.lam if isinstance(problem.penalty, L2) else 0.0


def _score(y: Any, z: Any) -> Any:
    return z


def _times(h: Any, u: Any) -> Any:
    return h * u


def _is_sparse(problem: Problem) -> bool:
    design = problem.table
    return _is_wide(problem) and design.blocks.sparse and design.blocks.local


def _is_wide(problem: Problem) -> bool:
    """Whether a d x d matrix would cost more than products with the rows."""
    design = problem.table
    return design.dimension > (200 if design.blocks.sparse else WIDE)
