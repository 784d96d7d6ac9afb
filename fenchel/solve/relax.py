"""The problem on the columns at hand: Newton models of the loss, each solved with its corners."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.distance import Square
from fenchel.convex.hinge import SquareMargin
from fenchel.convex.loss import Loss
from fenchel.data.columns import Index
from fenchel.solve.model import GRAM, Place, Slopes, model, too_many
from fenchel.solve.orthant import newton_inside
from fenchel.solve.quadratic import Corners
from fenchel.solve.shelf import Shelf

Floats = NDArray[np.float64]
Outcome = Literal["reached", "working", "stalled"]
EPS = float(np.finfo(np.float64).eps)
NEWTON = 30  # models of the loss before another look at all columns


def slope_limit(corners: Corners, value: float, w: Floats, entries: int, rel: float) -> float:
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


def relax(
    loss: Loss, shelf: Shelf, corners: Corners, at: Place, rel: float, still: bool = False
) -> tuple[Place, Outcome]:
    """Down to slopes that leave a relative gap of about `rel` on the shelf's columns; still: the
    intercept alone moves."""
    y, s, free = shelf.columns.y, shelf.columns.s, shelf.free
    quadratic = isinstance(loss, Square | SquareMargin)
    entries = shelf.columns.n_cols * (at.u.shape[1] if at.u.ndim == 2 else 1)
    damping, idle, lowest, least = 1e-4, 0, math.inf, math.inf
    faintest, good = faintest_damping(s), math.inf
    for _ in range(NEWTON):
        values, theta, h = loss.evaluate(y, at.z)
        value = float(s @ values) + corners.value(at.u)
        r = _times(s, theta)
        pull: Floats = np.zeros_like(at.u) if still else shelf.pull(r)
        slopes = Slopes(theta, h, pull, r.sum(axis=0))
        limit = slope_limit(corners, value, at.u, entries, rel)
        misses = corners.violation(pull, at.u)
        worst = float(misses.max(initial=0.0))
        off = float(np.abs(slopes.level).max()) if free else 0.0
        if worst <= limit and off <= 0.1 * rel * float(np.abs(r).sum()):
            return at, "reached"
        idle = 0 if value < lowest * (1.0 - EPS) or worst < 0.5 * least else idle + 1
        if idle > 2:
            return at, "stalled"
        lowest, least = min(value, lowest), min(worst, least)
        picked = _picked(at.u, misses, 0.5 * limit, quadratic, still)
        enough = 0.3 * limit if quadratic else max(0.3 * limit, 0.1 * worst)
        change, rise = model(loss, shelf, corners, at, slopes, picked, damping, enough)
        move = np.zeros_like(at.u)
        move.reshape(-1)[picked] = change
        if quadratic:
            at = (
                Place(at.u, at.c + rise, at.z + rise)
                if still
                else _placed(shelf, at.u + move, at.c + rise)
            )
        else:
            kept, new = _along(loss, shelf, corners, at, slopes, value, move, rise)
            # An exact model keeps at least half of the fall that its slopes promise. After one
            # that did not, two good ones are asked for: else good and bad ones take turns forever.
            good = good + 1 if kept > 0.45 else 0
            damping *= 0.1 if good > 1 else 1.0 if kept > 0.3 else 10.0
            damping = min(max(damping, faintest), 1.0)
            at = at if new is None else new
        if too_many(loss, shelf, picked):
            at = _inside(loss, shelf, corners, at)
    return at, "working"


def _along(
    loss: Loss,
    shelf: Shelf,
    corners: Corners,
    at: Place,
    slopes: Slopes,
    value: float,
    move: Floats,
    rise: Any,
) -> tuple[float, Place | None]:
    """Where the first of the steps 1, ½, ¼ … leads that lowers the objective enough, and how much
    of the fall that the slopes promise for the whole step it keeps."""
    y, s = shelf.columns.y, shelf.columns.s
    dz = shelf.push(move) + rise
    fall = float(np.vdot(slopes.pull, move) + np.vdot(slopes.level, rise))
    fall += corners.value(at.u + move) - corners.value(at.u)
    t = 1.0
    while t > 1e-8:
        there = float(s @ loss.value(y, at.z + t * dz)) + corners.value(at.u + t * move)
        if there <= value + 1e-4 * t * fall + 4.0 * EPS * abs(value):
            kept = (value - there) / max(-fall, 1e-300) if fall < -1e-12 * abs(value) else 1.0
            return kept, _placed(shelf, at.u + t * move, at.c + t * rise)
        t *= 0.5
    return 0.0, None


def _inside(loss: Loss, shelf: Shelf, corners: Corners, at: Place) -> Place:
    """A Newton step on the support: epochs over many columns find it but converge slowly on it."""
    values, theta, h = loss.evaluate(shelf.columns.y, at.z)
    r = _times(shelf.columns.s, theta)
    value = float(shelf.columns.s @ values) + corners.value(at.u)
    slopes = Slopes(theta, h, shelf.pull(r), r.sum(axis=0))
    new = newton_inside(loss, shelf, corners, at, slopes, value)
    return at if new is None else new


def _placed(shelf: Shelf, u: Floats, c: Any) -> Place:
    return Place(u, c, shelf.push(u) + c)


def _picked(u: Floats, misses: Floats, limit: float, quadratic: bool, still: bool) -> Index:
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
