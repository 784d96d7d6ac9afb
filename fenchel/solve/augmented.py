"""Bent losses by augmented Lagrangians: smooth problems whose minimisers meet the kinks exactly.

The scores u = Φw + b are set free and tied back by multipliers θ, one a row. For given θ and μ the
best u is a prox, and what is left is the smooth problem of the loss's Moreau envelope about θ; its
slopes are the next θ, a point of the dual's domain. No μ need vanish: at the right θ any is exact.
Only rows that lie at a kink have curvature, so a Newton step costs two passes and little more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.hessian import Curvature, column_centre
from fenchel.convex.loss import Bent
from fenchel.convex.margin import Hinge
from fenchel.convex.penalty import L2, Elastic, NonNegative, Penalty, is_bounded
from fenchel.convex.problem import Evaluation, Problem, is_free
from fenchel.data.blocks import Block, InMemory
from fenchel.data.design import MatrixDesign, Point, in_single
from fenchel.solve.conjugate import Diagonal, conjugate_gradients
from fenchel.solve.dual.ascent import dual_ascent
from fenchel.solve.line import is_double, pack, unpack
from fenchel.solve.quadratic import Corners, settle
from fenchel.solve.solver import Solver, State, no_table

Floats = NDArray[np.float64]
WIDE = 1500  # columns beyond which, and for sparse tables, no matrix is made
TRIES = 30  # Newton steps for one θ
SINGLE = 2**21  # entries of a table that is worth a copy in float32


@dataclass(frozen=True, slots=True)
class Rows:
    """What the driver holds of every row: its target, and its weight, of sum one.

    table: the rows that passes are made over, in float32 as long as that is good enough.
    """

    y: Floats
    s: Floats
    centre: Floats
    size: float
    table: MatrixDesign


@dataclass(frozen=True, slots=True)
class Stage:
    """Where the work on one smooth problem stands.

    z: scores; t: the envelope's slopes there; pull, level: Φ*(st) and Σst; rise: P - Ω, the loss
    itself; fall: Σ s l*(y, t).
    """

    rows: Rows
    theta: Floats
    mu: float
    z: Floats
    t: Floats
    pull: Floats
    level: float
    rise: float
    fall: float
    tried: int = 0
    idle: int = 0  # how many times in a row new multipliers gave no better gap
    best: float = math.inf


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

    def refuses(self, problem: Problem) -> str | None:
        if not isinstance(problem.loss, Bent):
            return f"the augmented Lagrangian needs a loss of straight pieces, not {problem.loss}"
        if not isinstance(problem.penalty, Elastic | NonNegative):
            return f"the augmented Lagrangian does not know the penalty {problem.penalty}"
        return no_table(problem, "the augmented Lagrangian")

    def init(self, problem: Problem, start: Point | State | None) -> State:
        rows = _rows(problem)
        theta, mu = np.zeros(len(rows.y)), 0.0
        if isinstance(start, State):
            known = start.memory
            if isinstance(known, Stage) and known.theta.shape == theta.shape:
                theta, mu = known.theta, known.mu
            start = start.point
        elif start is None and _is_sparse(problem) and _ridge(problem) > 0.0:
            return self._from_ascent(problem, rows)
        elif start is None and self.sample:
            start = self._from_sample(problem)
        point = problem.origin() if start is None else start
        z = rows.table.each(point, _score, exact=False)
        if mu == 0.0:
            mu = _first_mu(problem, rows, z, start is not None)
        return self._at(problem, point, _stage(problem, rows, theta, mu, z))

    def _from_ascent(self, problem: Problem, rows: Rows) -> State:
        """The point and multipliers that rounds over single rows reach."""
        found = dual_ascent(problem, rows.y, rows.s, self.goal)
        stage = _stage(problem, rows, found.theta, found.mu, found.z, found.theta)
        return self._at(problem, found.point, replace(stage, tried=TRIES))

    def _from_sample(self, problem: Problem) -> Point | None:
        """The optimum on some of the rows."""
        n, d = problem.design.n_rows, problem.design.dimension
        rows = max(n // 8, 16 * (d + 1), 2048)
        if 3 * rows > n:
            return None
        small = problem.sampled(rows)
        state = self.init(small, None)
        for _ in range(60):
            if state.stuck or state.decrement <= 0.1 * (d + 1) / rows * abs(state.seen.value):
                break
            state = self.step(small, state)
        return state.point

    def step(self, problem: Problem, state: State) -> State:
        stage: Stage = state.memory
        p = self._direction(problem, state.point, stage)
        v = unpack(problem, p)
        dz = stage.rows.table.each(v, _score, exact=False)
        length = _search(problem, state.point, v, dz, stage)
        point = unpack(problem, pack(problem, state.point) + length * p)
        z = stage.z + length * dz
        new = _stage(problem, stage.rows, stage.theta, stage.mu, z)
        new = replace(new, tried=stage.tried + 1, idle=stage.idle, best=stage.best)
        return self._at(problem, point, new)

    def _at(self, problem: Problem, point: Point, stage: Stage) -> State:
        """New multipliers once the smooth problem is solved as well as its envelope deserves."""
        longer = _separates(problem, stage)
        if longer > 0.0:
            point = (longer * point[0], longer * point[1])
            nothing = np.zeros(len(stage.z))
            stage = _stage(problem, stage.rows, nothing, stage.mu, longer * stage.z, nothing)
        primal, dual, rest = _values(problem, point, stage)
        gap = primal - dual
        small = max(0.3 * (gap - rest), 0.1 * self.goal * abs(primal))
        seen = Evaluation(primal, stage.pull, stage.level, np.zeros(2), False)
        if rest > small and stage.tried < TRIES:
            return State(point, seen, math.inf, False, stage, stage.t)
        idle = 0 if gap < 0.9 * stage.best else stage.idle + 1
        # Beyond this θ has no digits left of a score's distance to its kink.
        mu = stage.mu * (0.3 if stage.tried < 5 else 0.6 if stage.tried < 10 else 1.0)
        mu = max(mu, min(1e-9 * abs(primal), stage.mu))
        rows, z = stage.rows, stage.z
        if idle > 1 and (rows.table is not problem.design or not is_double(problem)):
            assert isinstance(problem.design, MatrixDesign)
            rows, z = replace(rows, table=problem.design), problem.design.each(point, _score)
        new = _stage(problem, rows, stage.t, mu, z)
        new = replace(new, idle=idle, best=min(gap, stage.best))
        return State(point, seen, max(gap, 0.0), idle > 20, new, stage.t)

    def _direction(self, problem: Problem, point: Point, stage: Stage) -> Floats:
        """The step to the optimum of the envelope's quadratic model, penalty included."""
        rows, loss = stage.rows, problem.loss
        assert isinstance(loss, Bent)
        h = np.where(loss.joint(rows.y, stage.t), rows.s / (stage.mu + loss.soft), 0.0)
        # Where no row is at a joint a long step is sought, and the search along it finds how long.
        active = rows.table.bent(h if h.any() else rows.s * (1e-9 / stage.mu))
        if not isinstance(problem.penalty, L2):
            return _to_corner(problem, point, stage, active)
        lam = problem.penalty.lam
        g = pack(problem, (stage.pull + lam * point[0], stage.level))
        if lam == 0.0:  # a plane through few rows bends nothing: lean a little on where it is
            lam = 1e-9 * rows.size**2 / stage.mu
        if not _is_wide(problem):
            H = _gram(problem, active, rows.centre)
            factor = Curvature((H,), rows.centre, problem.intercept, None).factor(lam)
            return -pack(problem, factor.solve(*unpack(problem, g)))
        squares, sums, mass = active.squares(problem.origin(), _one)
        rough = Diagonal.of(squares, sums, mass, lam, problem.intercept)
        product = active.normal(problem.origin(), _one, _times)

        def hessian(v: Floats) -> Floats:
            u = unpack(problem, v)
            pull, level = product(u)
            return pack(problem, (pull + lam * u[0], level))

        x = conjugate_gradients(hessian, rough.solve, g, 1e-3, 300)
        return -x if np.any(x) else -rough.solve(g)


def _gram(problem: Problem, active: MatrixDesign, centre: Floats) -> Floats:
    """Σ hᵢx̃ᵢx̃ᵢ', x̃ = (x - centre, 1) or x."""
    H = active.gram(problem.origin(), _one, centre if problem.intercept else None)
    size = active.dimension + problem.intercept
    return H[:size, :size]


def _to_corner(problem: Problem, point: Point, stage: Stage, active: MatrixDesign) -> Floats:
    """Newton's step under a penalty with corners, in the columns that may leave zero."""
    corners, (w, _) = _corners(problem.penalty), point
    push = corners.size(stage.pull)
    support = np.flatnonzero(w)
    room = min(len(w), max(200, 2 * len(support)))
    pick = np.union1d(support, np.argpartition(-push, room - 1)[:room])
    whole = active.blocks.gather()
    X = whole.X[:, pick]
    few = MatrixDesign(InMemory(Block(0, X, None, whole.weight), None))
    centre = stage.rows.centre[pick]
    H = _gram(replace(problem, design=few), few, centre)
    g, size = stage.pull[pick], len(pick)
    G = np.ascontiguousarray(H[:size, :size])
    tilt, mass = np.zeros(size), 1.0
    if problem.intercept:  # b at its best for every w, in the coordinates (w, b + centre·w)
        g = g - centre * stage.level
        tilt, mass = H[size, :size], max(float(H[size, size]), 1e-300)
        G -= np.outer(tilt, tilt / mass)
        g = g - tilt * (stage.level / mass)
    G.flat[:: size + 1] += 1e-9 * stage.rows.size**2 / stage.mu
    limit = 1e-3 * float(corners.violation(g, w[pick]).max())
    dw = settle(G, g, w[pick], corners, limit) - w[pick]
    step = np.zeros(len(w))
    step[pick] = dw
    if not problem.intercept:
        return step
    return np.append(step, -(stage.level + tilt @ dw) / mass - centre @ dw)


def _corners(penalty: Penalty) -> Corners:
    return Corners.of(penalty) if isinstance(penalty, Elastic) else Corners(0.0, 0.0, True)


def _rows(problem: Problem) -> Rows:
    design = problem.design
    assert isinstance(design, MatrixDesign)
    y = design.each(problem.origin(), lambda y, z: y)
    s = design.weights() / design.weight
    few = design.blocks.sample(256).gather().X
    size = math.sqrt(float((few * few).sum()) / max(few.shape[0], 1))
    # float32 halves the bytes of every pass, and a proof in float64 follows.
    plain = design.blocks.local and not design.blocks.sparse and len(y) * design.dimension > SINGLE
    table = MatrixDesign(in_single(design.blocks)) if plain else design
    return Rows(y, s, column_centre(problem), size, table)


def _ridge(problem: Problem) -> float:
    return problem.penalty.lam if isinstance(problem.penalty, L2) else 0.0


def _score(y: Any, z: Any) -> Any:
    return z


def _one(y: Any, z: Any) -> Any:
    return 0.0 * z + 1.0


def _times(h: Any, u: Any) -> Any:
    return h * u


def _is_sparse(problem: Problem) -> bool:
    design = problem.design
    assert isinstance(design, MatrixDesign)
    return _is_wide(problem) and design.blocks.sparse and design.blocks.local


def _is_wide(problem: Problem) -> bool:
    """Whether a d x d matrix would cost more than products with the rows."""
    design = problem.design
    assert isinstance(design, MatrixDesign)
    return design.dimension > (200 if design.blocks.sparse else WIDE)


def _stage(
    problem: Problem, rows: Rows, theta: Floats, mu: float, z: Floats, t: Floats | None = None
) -> Stage:
    loss = problem.loss
    assert isinstance(loss, Bent)
    t = loss.yosida(rows.y, z + mu * theta, mu) if t is None else t
    pull, level = rows.table.pull(rows.s * t)
    rise = float(rows.s @ loss.value(rows.y, z))
    fall = float(rows.s @ loss.conjugate(rows.y, t))
    return Stage(rows, theta, mu, z, t, pull, level, rise, fall)


def _separates(problem: Problem, stage: Stage) -> float:
    """What to multiply (w, b) by for no loss at all, where nothing holds a plane that separates."""
    if not isinstance(problem.loss, Hinge) or not is_free(problem.penalty):
        return 0.0
    rows = stage.rows
    least = float((rows.y * stage.z)[rows.s > 0.0].min())
    return (1.0 + 1e-9) / least if least > 0.0 else 0.0


def _values(problem: Problem, point: Point, stage: Stage) -> tuple[float, float, float]:
    """P, D at the slopes, and how much of their difference the smooth problem can still win.

    Where the intercept is free, D pays for Σst that is not yet zero.
    """
    penalty, inner, (w, b) = problem.penalty, problem.design.inner, point
    primal = stage.rise + penalty.value(w, inner)
    off = abs(stage.level) * (primal + abs(float(b))) if problem.intercept else 0.0
    if is_free(penalty):
        push = np.abs(stage.pull)
        if is_bounded(penalty):
            push = np.where(w > 0.0, push, np.maximum(-stage.pull, 0.0))
        room = float(np.abs(w).sum()) + primal / max(stage.rows.size, 1e-300)
        rest = float(push.max(initial=0.0)) * room + off
        return primal, -stage.fall - rest, rest
    rows, fall = stage.rows, stage.fall
    shrink = penalty.shrink(-stage.pull)
    if shrink < 1.0:
        fall = float(rows.s @ problem.loss.conjugate(rows.y, shrink * stage.t))
    dual = -fall - penalty.conjugate(-shrink * stage.pull, inner) - off
    blur = stage.rise + stage.fall - float(rows.s @ (stage.z * stage.t))
    return primal, dual, max(primal - dual - blur, 0.0)


def _search(problem: Problem, point: Point, v: Point, dz: Floats, stage: Stage) -> float:
    """The length at which the slope along v vanishes: Newton between two bounds.

    Under corners the model's own optimum, length one, is the farthest to go.
    """
    loss, rows, mu = problem.loss, stage.rows, stage.mu
    assert isinstance(loss, Bent)
    base, along = stage.z + mu * stage.theta, rows.s * dz
    corners, (w, p) = _corners(problem.penalty), (point[0], v[0])
    smooth = isinstance(problem.penalty, L2)
    square = corners.b * float(p @ p)

    def slope(x: float) -> tuple[float, float]:
        at = base + x * dz
        t = loss.yosida(rows.y, at, mu)
        bent = loss.joint(rows.y, t)
        u = w + x * p
        tilt = corners.b * float(u @ p)
        if corners.a > 0.0:  # at a corner the slope of what lies ahead
            tilt += corners.a * float(p @ np.where(u == 0.0, np.sign(p), np.sign(u)))
        return float(along @ t) + tilt, float(along @ (bent * dz)) / (mu + loss.soft) + square

    first = abs(slope(0.0)[0])
    low, high, x = 0.0, math.inf if smooth else 1.0, 1.0
    for _ in range(60):
        here, bend = slope(x)
        if abs(here) <= 0.1 * first or (here < 0.0 and x >= high):
            return x
        if here < 0.0:
            low = x
        else:
            high = x
        x = x - here / bend if bend > 0.0 else math.inf
        if not low < x < high or x > 1e3 * (low + 1.0):
            x = 0.5 * (low + high) if 0.0 < low < high < math.inf else 0.1 * high
            x = x if high < math.inf else 2.0 * low + 1.0
        if high - low <= 1e-12 * high:  # a kink of the penalty
            break
    return low


def _first_mu(problem: Problem, rows: Rows, z: Floats, near: bool) -> float:
    """A μ of the size of the losses; from a point near the optimum, one that bends few rows."""
    loss, n = problem.loss, len(z)
    assert isinstance(loss, Bent)
    mu = max(float(rows.s @ loss.value(rows.y, z)), 1e-300)
    wanted = min(3 * (problem.design.dimension + 1), n // 2)
    for _ in range(20 if near else 0):
        t = loss.yosida(rows.y, z, 0.5 * mu)
        if np.count_nonzero(loss.joint(rows.y, t)) < wanted:
            break
        mu *= 0.5
    return mu
