"""The subproblem of an augmented Lagrangian: the loss's Moreau envelope about multipliers θ.

Rows that lie far from every joint keep the slope of their piece, whatever a step does. They enter
as one linear function, and Newton's steps are made with the others alone; a look at all rows
follows, so that nothing depends on which were left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.hessian.dense import column_centre
from fenchel.convex.loss.base import PiecewiseLinear
from fenchel.convex.loss.hinge import Hinge
from fenchel.convex.penalty import L1L2, L2, Penalty, is_nonnegative, is_unpenalised
from fenchel.convex.problem import Problem
from fenchel.data.arrays import to_float64
from fenchel.data.blocks import Block
from fenchel.data.design.matrix import MatrixDesign, Point, to_float32
from fenchel.data.passes.sweep import Unit
from fenchel.solve.piecewise.active_curvature import ActiveCurvature
from fenchel.solve.sparse.lasso_qp import L1L2Part

Floats = NDArray[np.float64]
SINGLE = 2**21  # entries of a table that is worth a copy in float32
SHRINK_TO = 12  # one row in so many is kept near


@dataclass(frozen=True, slots=True)
class FrozenRows:
    """Linear contribution of the rows frozen at slope t (shrinking):
    Σ s l = grad_w·w + grad_b b + rest and Σ s l*(y, t) = conjugate_sum."""

    grad_w: Floats
    grad_b: float
    rest: float
    conjugate_sum: float

    @classmethod
    def none(cls, d: int) -> FrozenRows:
        return cls(np.zeros(d), 0.0, 0.0, 0.0)

    def loss_sum(self, point: Point) -> float:
        return float(self.grad_w @ point[0]) + self.grad_b * float(point[1]) + self.rest


@dataclass(frozen=True, slots=True)
class RowData:
    """What the driver holds of every row: its target, and its weight, of sum one.

    table: the rows that passes are made over, in float32 as long as that is good enough; spread:
    the loss of the best constant, about.
    """

    y: Floats
    s: Floats
    centre: Floats
    lengths: Floats  # of each column about the centre
    size: float
    spread: float
    table: MatrixDesign
    far: FrozenRows = field(repr=False)


@dataclass(frozen=True, slots=True)
class Subproblem:
    """Where the work on one smooth problem stands.

    z: scores; t: the envelope's slopes there; pull, level: Φ*(st) and Σst; rise: Σ s l, the loss
    itself; fall: Σ s l*(y, t), both of the rows in hand.
    """

    rows: RowData
    theta: Floats
    mu: float
    z: Floats
    t: Floats
    grad_w: Floats
    grad_b: float
    loss_sum: float
    conjugate_sum: float
    tried: int = 0
    idle: int = 0  # how many times in a row new multipliers gave no better gap
    best: float = math.inf
    slow: int = 0  # smooth problems that Newton's steps left unsolved
    curvature: ActiveCurvature | None = field(default=None, repr=False)  # of the last step


def is_large(problem: Problem) -> bool:
    """Whether the table is worth a rough copy, or to be left in part, under a smooth penalty."""
    size = problem.design.n_rows * problem.design.dimension
    return size > SINGLE and not _is_exacting(problem)


def _is_exacting(problem: Problem) -> bool:
    return not (isinstance(problem.penalty, L2) and problem.penalty.lam > 0.0)


one = Unit()  # the curvature of rows that all bend alike


def exact_table(problem: Problem) -> MatrixDesign:
    """The rows in float64."""
    design = problem.table
    if design.blocks.dtype == np.float64:
        return design

    def wide(block: Block) -> Block:
        return Block(block.start, to_float64(block.X), block.y, block.weight)

    return MatrixDesign(design.blocks.map(wide))


def rows_of(problem: Problem) -> RowData:
    """What the driver is to hold."""
    design = problem.table
    y = design.map_rows(problem.origin(), lambda y, z: y)
    s = design.weights() / design.weight
    few = design.blocks.sample(256).gather().X
    size = math.sqrt(float((few * few).sum()) / max(few.shape[0], 1))
    lengths = np.full(design.dimension, size)
    if _is_exacting(problem):
        squares, sums, mass = design.hessian_diagonal(problem.origin(), one)
        lengths = np.sqrt(np.maximum(squares - sums * (sums / mass), 0.0) / mass)
    # float32 halves the bytes of every pass, and a proof in float64 follows. A dual that must be
    # met exactly, or to the corner of a penalty, needs more digits.
    plain = design.blocks.local and not design.blocks.sparse and is_large(problem)
    plain = plain or (design.blocks.dtype != np.float64 and not _is_exacting(problem))
    middle = np.full(len(y), float(problem.middle))
    spread = float(s @ problem.loss.value(y, middle))
    # Curvatures of 1/(nμ), μ at most the spread and at least a billionth of it, times squares of
    # the rows: float32 holds 1e±38.
    plain = plain and all(1e-8 < at < 1e8 or at == 0.0 for at in (spread, size))
    table = exact_table(problem)
    if plain:
        table = MatrixDesign(to_float32(design.blocks)) if design.blocks.local else design
    far = FrozenRows.none(design.dimension)
    return RowData(y, s, column_centre(problem), lengths, size, spread, table, far)


def subproblem_at(
    problem: Problem, rows: RowData, theta: Floats, mu: float, z: Floats, t: Floats | None = None
) -> Subproblem:
    """One pass: the stage at scores z, about the multipliers θ."""
    loss = problem.loss
    assert isinstance(loss, PiecewiseLinear)
    t = loss.yosida(rows.y, z + mu * theta, mu) if t is None else t
    pull, level = rows.table.adjoint(rows.s * t)
    rise = float(rows.s @ loss.value(rows.y, z))
    fall = float(rows.s @ loss.conjugate(rows.y, t))
    far = rows.far
    return Subproblem(rows, theta, mu, z, t, pull + far.grad_w, level + far.grad_b, rise, fall)


def shrink_rows(problem: Problem, point: Point, subproblem: Subproblem) -> Subproblem | None:
    """The stage with the rows alone that are nearest to a joint; None where that saves little."""
    loss, rows = problem.loss, subproblem.rows
    assert isinstance(loss, PiecewiseLinear)
    n, step = len(rows.y), subproblem.mu + loss.smoothing
    joint = loss.is_active(rows.y, subproblem.t)
    room = n // SHRINK_TO
    # Far from the optimum a step goes too far for any row to be left out.
    early = subproblem.best > 0.01 * abs(subproblem.loss_sum) or not is_large(problem)
    if early or subproblem.tried > 2 or 2 * np.count_nonzero(joint) > room:
        return None
    r = subproblem.z + subproblem.mu * subproblem.theta - rows.y
    dead = r - r.clip(-loss.dead_zone, loss.dead_zone)
    # How far a score must move for its slope to change: to the end of its own piece.
    away = np.where(
        subproblem.t == 0.0, loss.dead_zone - np.abs(r), np.abs(dead - step * subproblem.t)
    )
    if loss.dead_zone == 0.0:
        away = np.abs(dead - step * subproblem.t)
    away[joint] = -1.0
    chosen = np.zeros(n, bool)
    chosen[np.argpartition(away, room)[:room]] = True
    others = ~chosen & (rows.s > 0.0)
    s, t, y, z = rows.s[others], subproblem.t[others], rows.y[others], subproblem.z[others]
    table = rows.table.weighted_subset(chosen.astype(np.float64))
    here = rows.s[chosen] * subproblem.t[chosen]
    pull, level = table.adjoint(here)
    pull, level = subproblem.grad_w - pull, subproblem.grad_b - level
    rise = float(s @ loss.value(y, z))
    # On its piece a loss is t z plus a number; between the value and that lies what is no score's.
    rest = rise - float(pull @ point[0]) - level * float(point[1])
    far = FrozenRows(pull, level, rest, float(s @ loss.conjugate(y, t)))
    few = replace(rows, y=rows.y[chosen], s=rows.s[chosen], table=table, far=far)
    inside = subproblem_at(
        problem, few, subproblem.theta[chosen], subproblem.mu, subproblem.z[chosen]
    )
    return replace(inside, tried=subproblem.tried, idle=subproblem.idle, best=subproblem.best)


def separating_scale(problem: Problem, subproblem: Subproblem) -> float:
    """What to multiply (w, b) by for no loss at all, where nothing holds a plane that separates: a
    margin of two leaves one after rounding."""
    if not isinstance(problem.loss, Hinge) or not is_unpenalised(problem.penalty):
        return 0.0
    rows = subproblem.rows
    least = float((rows.y * subproblem.z)[rows.s > 0.0].min())
    return 2.0 / least if 0.0 < least < 1.5 else 0.0


def primal_dual(
    problem: Problem, point: Point, subproblem: Subproblem
) -> tuple[float, float, float]:
    """P, D at the slopes, and how much of their difference the smooth problem can still win.

    Where the intercept is free, D pays for Σst that is not yet zero.
    """
    penalty, inner, (w, b) = problem.penalty, problem.design.inner, point
    far = subproblem.rows.far
    primal = subproblem.loss_sum + far.loss_sum(point) + penalty.value(w, inner)
    off = abs(subproblem.grad_b) * (primal + abs(float(b))) if problem.intercept else 0.0
    if is_unpenalised(penalty):
        push = np.abs(subproblem.grad_w)
        if is_nonnegative(penalty):
            push = np.where(w > 0.0, push, np.maximum(-subproblem.grad_w, 0.0))
        room = float(np.abs(w).sum()) + primal / max(subproblem.rows.size, 1e-300)
        rest = float(push.max(initial=0.0)) * room + off
        return primal, -subproblem.conjugate_sum - far.conjugate_sum - rest, rest
    rows, fall = subproblem.rows, subproblem.conjugate_sum + far.conjugate_sum
    shrink = penalty.dual_scale(-subproblem.grad_w)
    if shrink < 1.0:  # a penalty under which no row is left out
        fall = float(rows.s @ problem.loss.conjugate(rows.y, shrink * subproblem.t))
    dual = -fall - penalty.conjugate(-shrink * subproblem.grad_w, inner) - off
    blur = (
        subproblem.loss_sum
        + subproblem.conjugate_sum
        - float(rows.s @ (subproblem.z * subproblem.t))
    )
    return primal, dual, max(primal - dual - blur, 0.0)


def search(problem: Problem, point: Point, v: Point, dz: Floats, subproblem: Subproblem) -> float:
    """The length at which the slope along v vanishes: Newton between two bounds.

    Under corners the model's own optimum, length one, is the farthest to go.
    """
    loss, rows, mu = problem.loss, subproblem.rows, subproblem.mu
    assert isinstance(loss, PiecewiseLinear)
    base, along = subproblem.z + mu * subproblem.theta, rows.s * dz
    corners, (w, p) = corners_of(problem.penalty), (point[0], v[0])
    smooth = isinstance(problem.penalty, L2)
    square = corners.b * float(p @ p)
    pushed = float(rows.far.grad_w @ p) + rows.far.grad_b * float(v[1])

    def slope(x: float) -> tuple[float, float]:
        at = base + x * dz
        t = loss.yosida(rows.y, at, mu)
        bent = loss.is_active(rows.y, t)
        u = w + x * p
        tilt = corners.b * float(u @ p)
        if corners.a > 0.0:  # at a corner the slope of what lies ahead
            tilt += corners.a * float(p @ np.where(u == 0.0, np.sign(p), np.sign(u)))
        bend = float(along @ (bent * dz)) / (mu + loss.smoothing)
        return float(along @ t) + pushed + tilt, bend + square

    def height(x: float) -> float:
        at = base + x * dz
        t = loss.yosida(rows.y, at, mu)
        value = float(rows.s @ (loss.value(rows.y, at - mu * t) + (0.5 * mu) * t * t))
        u = w + x * p
        return value + x * pushed + corners.value(u)

    first = abs(slope(0.0)[0])
    low, high, x = 0.0, math.inf if smooth else 1.0, 1.0
    for _ in range(60):
        here, bend = slope(x)
        if here <= 0.0 and (here >= -0.1 * first or x >= high):
            return x
        # Beyond the least the slope may stay small for long.
        if 0.0 < here <= 0.1 * first and height(x) <= height(low):
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


def initial_mu(problem: Problem, rows: RowData, z: Floats, near: bool) -> float:
    """A μ of the size of the losses; from a point near the optimum, one that bends few rows."""
    loss, n = problem.loss, len(z)
    assert isinstance(loss, PiecewiseLinear)
    low, high = loss.dual_interval(rows.y[:1])
    steep = max(float(np.max(high)), -float(np.min(low)))
    mu = float(rows.s @ loss.value(rows.y, z)) / steep**2
    # Where the start all but meets every row, its losses say nothing of the optimum's multipliers:
    # those of the origin give the scale, and a target of zeros takes any.
    level = np.full(n, float(problem.middle) if problem.intercept else 0.0)
    least = 1e-4 * float(rows.s @ loss.value(rows.y, level)) / steep**2
    if mu <= 1e-6 * least:
        return least or 1.0
    wanted = min(3 * (problem.design.dimension + 1), n // 2)
    for _ in range(20 if near else 0):
        t = loss.yosida(rows.y, z, 0.5 * mu)
        if np.count_nonzero(loss.is_active(rows.y, t)) < wanted or mu < loss.smoothing:
            break
        mu *= 0.5
    return mu


def corners_of(penalty: Penalty) -> L1L2Part:
    """The penalty's corners, one entry at a time."""
    return L1L2Part.of(penalty) if isinstance(penalty, L1L2) else L1L2Part(0.0, 0.0, True)
