"""Dual coordinate ascent with shrinking: a first dual point for sparse tables too wide to factor.

    maximise over θ:  -Σ sᵢ l*(yᵢ, θᵢ)/S - |Φ*(sθ)|²/(2λS²)

Cost: an epoch is one read of the entries.

Reference: Hsieh, Chang, Lin, Keerthi and Sundararajan, A dual coordinate descent method for
large-scale linear SVM, ICML (2008).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.loss.base import PiecewiseLinear
from fenchel.convex.penalty import L2
from fenchel.convex.problem import Problem
from fenchel.data.arrays import to_float64
from fenchel.data.design.matrix import MatrixDesign, Point
from fenchel.solve.piecewise.compiled import ascend

Floats = NDArray[np.float64]
ROUNDS = 400


@dataclass(frozen=True, slots=True)
class Ascent:
    """A point with w = -Φ*(sθ)/λ, its scores, its multipliers θ and their typical μ."""

    point: Point
    z: Floats
    theta: Floats
    mu: float


def dual_ascent(problem: Problem, y: Floats, s: Floats, goal: float) -> Ascent:
    """Epochs over the rows: each θᵢ in turn is maximised with all others fixed.

    Rows that rest at an end of their domain are left out, and the others brought together. A free
    intercept is held by λb²/2 here. The order of the rows is drawn from a fixed seed. Ends at the
    relative gap `goal`, or where a solver with a memory is likely to do better.

    Reference: Hsieh, Chang, Lin, Keerthi and Sundararajan, A dual coordinate descent method for
    large-scale linear SVM, ICML (2008).
    """
    design, loss, penalty = problem.design, problem.loss, problem.penalty
    assert (
        isinstance(design, MatrixDesign)
        and isinstance(loss, PiecewiseLinear)
        and isinstance(penalty, L2)
    )
    X, lam = to_float64(design.blocks.gather().X), penalty.lam
    bias = 1.0 if problem.intercept else 0.0
    sums = np.concatenate([[0.0], np.cumsum(X.data * X.data)])
    squares = np.diff(sums[X.indptr]) + bias
    push = s / lam
    low, high = (np.broadcast_to(end, y.shape) + 0.0 * y for end in loss.dual_interval(y))
    rng = np.random.default_rng(0)
    theta, w, level = np.zeros(len(y)), np.zeros(X.shape[1]), 0.0
    usable = np.flatnonzero((squares > 0.0) & (s > 0.0))
    every = [y, low, high, push, push * squares]
    part, kept, own, t = X, np.arange(len(y)), every, theta  # the rows in hand and their numbers
    order, count, limit = usable.copy(), len(usable), np.inf
    asked, last = np.inf, np.inf
    point: Point = (w, 0.0)
    z = np.zeros(len(y))
    for turn in range(ROUNDS):
        rng.shuffle(order[:count])
        level, count, worst = ascend(
            part.data, part.indices, part.indptr, *own, loss.dead_zone, bias, t, w, level, order,
            count, limit,
        )  # fmt: skip
        limit = worst if worst > 0.0 else np.inf
        if 4 * count < part.shape[0] and turn > 2:
            theta[kept] = t
            chosen = np.sort(order[:count])
            part, kept, t = part[chosen], kept[chosen], t[chosen]
            own = [values[chosen] for values in own]
            order = np.arange(count)
        if worst > 0.3 * asked and turn < ROUNDS - 1:
            continue
        asked = worst
        theta[kept] = t
        point = (w.copy(), level if problem.intercept else 0.0)
        z = design.map_rows(point, lambda y, z: z)
        pull = 0.5 * lam * (float(w @ w) + level * level)
        primal = float(s @ loss.value(y, z)) + pull
        gap = primal + float(s @ loss.conjugate(y, theta)) + pull
        if gap <= 0.5 * goal * abs(primal):
            break
        if gap > 0.7 * last:  # a row left out wants to come back, or the rounds crawl
            part, kept, own, t = X, np.arange(len(y)), every, theta
            order, count, limit = usable.copy(), len(usable), np.inf
            if turn > 100:
                break
        last = gap
    mu = float(np.median(every[-1][usable])) if len(usable) else 1.0
    return Ascent(point, z, theta.copy(), mu)
