"""The laws of a problem's certificate: what makes it a proof."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import minimize

from fenchel.convex.laws.run import require
from fenchel.convex.penalty import L2, is_nonnegative, is_unpenalised
from fenchel.convex.problem import Problem
from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.design.matrix import MatrixDesign, Point

Random = np.random.Generator
Optimum = Callable[[], tuple[Point, bool]]  # of `descent`, which the laws of a problem share
SCALES = (0.0, 1e-3, 0.1, 1.0, 10.0)


def _random_points(problem: Problem, rng: Random) -> list[Point]:
    """Points near and far that the penalty allows."""
    points = []
    w, b = problem.origin()
    for scale in SCALES:
        u = problem.penalty.prox(scale * rng.standard_normal(w.shape), 0.0)
        level = scale * rng.standard_normal(np.shape(b)) if problem.intercept else 0.0 * b
        points.append((u, level if np.ndim(b) else float(level)))
    return points


def _noise(problem: Problem, value: float) -> float:
    """What rounding may add to a bound: little against the values that it was made from."""
    return 1e-11 * (abs(value) + problem.evaluate(problem.origin(), exact=True).value)


def ordered(problem: Problem, optimum: Optimum, rng: Random) -> None:
    """No bound lies above any value: of the same point, of another, or of the best one found."""
    best, attained = optimum()
    best = best if attained else brute_force(problem, best)
    points = [*_random_points(problem, rng), best]
    proofs = [problem.certify(point) for point in points]
    for proof in proofs:
        require(problem, "the gap is not negative", proof.gap >= -_noise(problem, proof.value))
    least = min(proof.value for proof in proofs)
    top = max(proof.bound for proof in proofs)
    holds = top <= least + _noise(problem, least)
    require(problem, "no bound exceeds the best value", holds, bound=top, value=least)


def closed(problem: Problem, optimum: Optimum, rng: Random) -> None:
    """At the optimum of a smooth loss, where there is one, value and bound meet."""
    cone = is_unpenalised(problem.penalty) and is_nonnegative(problem.penalty)
    joint = cone and problem.outputs is not None
    if not math.isfinite(problem.loss.smoothness) or joint:  # there the bound is that of θ = 0
        return
    point, attained = optimum()
    if not attained:
        return
    proof = problem.certify(point)
    holds = proof.gap <= 1e-6 * abs(proof.value) + _noise(problem, proof.value)
    require(problem, "the gap closes at the optimum", holds, value=proof.value, bound=proof.bound)


def recomputed(problem: Problem, optimum: Optimum, rng: Random) -> None:
    """Value and bound follow from the definitions, written out over all rows at once."""
    if not isinstance(problem.design, MatrixDesign):
        return
    rows = problem.design.blocks.gather()
    X = to_numpy(rows.X.toarray() if is_sparse(rows.X) else rows.X)
    y, n = to_numpy(rows.y), len(X)
    s = np.ones(n) if rows.weight is None else to_numpy(rows.weight)
    s = s / s.sum()
    loss, penalty = problem.loss, problem.penalty
    for w, b in _random_points(problem, rng):
        proof = problem.certify((w, b))
        theta = loss.gradient(y, X @ w + b)
        value = float(s @ loss.value(y, X @ w + b)) + penalty.value(w, _dot)
        slack = _noise(problem, value)
        require(problem, "the value is P(w, b)", abs(proof.value - value) <= slack, value=value)
        if is_unpenalised(penalty):
            continue
        if problem.intercept:
            theta = loss.centre_dual(y, theta, loss.centring_sums(y, theta, s))
        theta = theta * penalty.dual_scale(-X.T @ _times(s, theta)) * (1.0 - 1e-14)
        pull = X.T @ _times(s, theta)
        bound = -float(s @ loss.conjugate(y, theta)) - penalty.conjugate(-pull, _dot)
        over = proof.bound - max(bound, 0.0)
        holds = over >= -slack - 1e-9 * abs(bound)
        require(problem, "the bound is at least D(θ)", holds, bound=proof.bound, recomputed=bound)
        if over > slack + 1e-9 * abs(bound):  # by curvature, where θ itself proves nothing
            least = problem.evaluate(optimum()[0], exact=True).value
            holds = proof.bound <= least + slack
            require(problem, "no bound exceeds the optimum", holds, bound=proof.bound, value=least)


def _dot(u: Any, v: Any) -> float:
    return float(np.vdot(u, v))


def _times(s: Any, theta: Any) -> Any:
    return s * theta if theta.ndim == 1 else s[:, None] * theta


def descent(problem: Problem, steps: int = 1000) -> tuple[Point, bool]:
    """Accelerated proximal gradient steps with restarts, and whether they came to a halt.

    Reference: Beck and Teboulle, A fast iterative shrinkage-thresholding algorithm for linear
    inverse problems, SIAM J. Imaging Sci. 2 (2009).
    """
    loss = replace(problem, penalty=L2(0.0))  # the smooth part alone
    w, b = problem.origin()
    v, c, t, length = w, b, 1.0, 1.0
    for _ in range(steps):
        seen = loss.evaluate((v, c), exact=True)
        while True:
            u = problem.penalty.prox(v - length * seen.grad_w, length)
            a = c - length * seen.grad_b if problem.intercept else c
            move = float(np.vdot(u - v, u - v) + np.vdot(a - c, a - c))
            model = seen.value + float(np.vdot(seen.grad_w, u - v) + np.vdot(seen.grad_b, a - c))
            new = loss.evaluate((u, a), exact=True).value
            if new <= model + 0.5 * move / length + 1e-15 * abs(new) or length < 1e-9:
                break
            length *= 0.5
        if move <= (1e-12 * length) ** 2:
            return (u, a), True
        if float(np.vdot(v - u, u - w) + np.vdot(c - a, a - b)) > 0.0:
            t = 1.0  # the momentum points uphill
        following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * t * t))
        k, t = (t - 1.0) / following, following
        v, c = u + k * (u - w), a + k * (a - b)
        w, b = u, a
    return (w, b), False


def brute_force(problem: Problem, start: Point) -> Point:
    """Improved by a search that knows neither gradients nor duality."""
    w, b = start
    d, shape = len(w), w.shape

    def unpack(v: Any) -> Point:
        u = problem.penalty.prox(v[: w.size].reshape(shape), 0.0)
        if not problem.intercept:
            return u, b
        return u, v[w.size :] if len(shape) > 1 else float(v[d])

    def fall(v: Any) -> float:
        return problem.evaluate(unpack(v), exact=True).value

    first = np.concatenate([w.ravel(), np.atleast_1d(b) if problem.intercept else np.zeros(0)])
    return unpack(minimize(fall, first, method="Powell", options={"maxiter": 2}).x)


LAWS = (ordered, closed, recomputed)
