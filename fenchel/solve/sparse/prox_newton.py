"""Proximal Newton method on the working set: quadratic models of the loss, plus the L1 penalty.

Reference: Lee, Sun and Saunders, Proximal Newton-type methods for minimizing composite functions,
SIAM J. Optim. 24 (2014).
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.loss.base import Loss
from fenchel.convex.loss.distance import Square
from fenchel.convex.loss.hinge import SquareMargin
from fenchel.data.design.column_access import Index
from fenchel.solve.sparse.lasso_qp import L1L2Part
from fenchel.solve.sparse.orthantwise_newton import orthantwise_step
from fenchel.solve.sparse.quadratic_model import (
    GRAM,
    Derivatives,
    Iterate,
    exceeds_gram,
    minimise_model,
)
from fenchel.solve.sparse.working_set import WorkingSet

Floats = NDArray[np.float64]
Outcome = Literal["reached", "working", "stalled"]
EPS = float(np.finfo(np.float64).eps)
NEWTON = 30  # models of the loss before the next pass over all columns


def slope_limit(corners: L1L2Part, value: float, w: Floats, entries: int, rel: float) -> float:
    """How far slopes may miss the subdifferential for a relative gap of about `rel`.

    A miss of ε costs the gap ε|w|₁ twice, (ε/a)²P in the second order, or entries·ε²/(2b).
    """
    slope = 0.0
    if corners.a > 0.0:
        size = float(np.abs(w).sum())
        slope = min(0.3 * rel * value / max(size, 1e-300), corners.a * math.sqrt(0.1 * rel))
    if corners.b > 0.0:
        slope = max(slope, math.sqrt(0.6 * rel * corners.b * value / entries))
    return slope


def faintest_damping(s: Floats) -> float:
    """The least share of curvature that rows without any are lent. Beside a row of weight 10¹² even
    a share of 10⁻⁸ would stiffen what the others have to say."""
    top = float(s.max(initial=0.0))
    low = float(s.min(initial=top, where=s > 0.0))
    return 1e-8 if top <= 1e3 * low else max(1e-8 * 1e3 * low / top, 1e-24)


def prox_newton(
    loss: Loss,
    working_set: WorkingSet,
    corners: L1L2Part,
    at: Iterate,
    rel: float,
    still: bool = False,
) -> tuple[Iterate, Outcome]:
    """Newton models down to a relative gap of about `rel` on the working set; still: the intercept
    alone moves."""
    y, s, free = working_set.columns.y, working_set.columns.s, working_set.free
    quadratic = isinstance(loss, Square | SquareMargin)
    entries = working_set.columns.n_cols * (at.u.shape[1] if at.u.ndim == 2 else 1)
    damping, idle, lowest, least = 1e-4, 0, math.inf, math.inf
    faintest, good = faintest_damping(s), math.inf
    for _ in range(NEWTON):
        values, theta, h = loss.evaluate(y, at.z)
        value = float(s @ values) + corners.value(at.u)
        r = _times(s, theta)
        pull: Floats = np.zeros_like(at.u) if still else working_set.adjoint(r)
        slopes = Derivatives(theta, h, pull, r.sum(axis=0))
        limit = slope_limit(corners, value, at.u, entries, rel)
        misses = corners.violation(pull, at.u)
        worst = float(misses.max(initial=0.0))
        off = float(np.abs(slopes.grad_b).max()) if free else 0.0
        if worst <= limit and off <= 0.1 * rel * float(np.abs(r).sum()):
            return at, "reached"
        idle = 0 if value < lowest * (1.0 - EPS) or worst < 0.5 * least else idle + 1
        if idle > 2:
            return at, "stalled"
        lowest, least = min(value, lowest), min(worst, least)
        picked = _active_entries(at.u, misses, 0.5 * limit, quadratic, still)
        enough = 0.3 * limit if quadratic else max(0.3 * limit, 0.1 * worst)
        change, rise = minimise_model(
            loss, working_set, corners, at, slopes, picked, damping, enough
        )
        move = np.zeros_like(at.u)
        move.reshape(-1)[picked] = change
        if quadratic:
            at = (
                Iterate(at.u, at.c + rise, at.z + rise)
                if still
                else _evaluated(working_set, at.u + move, at.c + rise)
            )
        else:
            kept, new = _line_search(loss, working_set, corners, at, slopes, value, move, rise)
            # An exact model keeps at least half of the fall that its slopes promise. After one
            # that did not, two good ones are asked for: else good and bad ones take turns forever.
            good = good + 1 if kept > 0.45 else 0
            damping *= 0.1 if good > 1 else 1.0 if kept > 0.3 else 10.0
            damping = min(max(damping, faintest), 1.0)
            at = at if new is None else new
        if exceeds_gram(loss, working_set, picked):
            at = _support_newton(loss, working_set, corners, at)
    return at, "working"


def _line_search(
    loss: Loss,
    working_set: WorkingSet,
    corners: L1L2Part,
    at: Iterate,
    slopes: Derivatives,
    value: float,
    move: Floats,
    rise: Any,
) -> tuple[float, Iterate | None]:
    """Where the first of the steps 1, ½, ¼ … leads that lowers the objective enough, and how much
    of the fall that the slopes promise for the whole step it keeps."""
    y, s = working_set.columns.y, working_set.columns.s
    dz = working_set.forward(move) + rise
    fall = float(np.vdot(slopes.grad_w, move) + np.vdot(slopes.grad_b, rise))
    fall += corners.value(at.u + move) - corners.value(at.u)
    t = 1.0
    while t > 1e-8:
        there = float(s @ loss.value(y, at.z + t * dz)) + corners.value(at.u + t * move)
        if there <= value + 1e-4 * t * fall + 4.0 * EPS * abs(value):
            kept = (value - there) / max(-fall, 1e-300) if fall < -1e-12 * abs(value) else 1.0
            return kept, _evaluated(working_set, at.u + t * move, at.c + t * rise)
        t *= 0.5
    return 0.0, None


def _support_newton(loss: Loss, working_set: WorkingSet, corners: L1L2Part, at: Iterate) -> Iterate:
    """A Newton step on the support: epochs over many columns find it but converge slowly on it."""
    values, theta, h = loss.evaluate(working_set.columns.y, at.z)
    r = _times(working_set.columns.s, theta)
    value = float(working_set.columns.s @ values) + corners.value(at.u)
    slopes = Derivatives(theta, h, working_set.adjoint(r), r.sum(axis=0))
    new = orthantwise_step(loss, working_set, corners, at, slopes, value)
    return at if new is None else new


def _evaluated(working_set: WorkingSet, u: Floats, c: Any) -> Iterate:
    return Iterate(u, c, working_set.forward(u) + c)


def _active_entries(u: Floats, misses: Floats, limit: float, quadratic: bool, still: bool) -> Index:
    """The entries a model is made for: those not zero and the worst of those that should not be."""
    if still:
        return np.zeros(0, np.intp)
    if quadratic and u.ndim == 1 and len(u) <= GRAM:
        return np.arange(len(u))
    support = u.ravel() != 0.0
    count = int(support.sum())
    wrong = np.flatnonzero(~support & (misses.ravel() > limit))
    room = max(200, count)
    if len(wrong) > room:
        wrong = wrong[np.argpartition(-misses.ravel()[wrong], room)[:room]]
    return np.sort(np.concatenate([np.flatnonzero(support), wrong]))


def _times(s: Floats, theta: Floats) -> Floats:
    return s * theta if theta.ndim == 1 else s[:, None] * theta
