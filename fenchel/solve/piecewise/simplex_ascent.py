"""Dual coordinate ascent for the multiclass hinge, over sparse tables too wide to factor."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.loss.multiclass import MulticlassHinge
from fenchel.convex.problem import Problem
from fenchel.data.arrays import to_float64
from fenchel.solve.piecewise.compiled import ascend_simplex
from fenchel.solve.piecewise.dual_ascent import ROUNDS, Ascent

Floats = NDArray[np.float64]


def simplex_ascent(problem: Problem, y: NDArray[np.int64], s: Floats, goal: float) -> Ascent:
    """Epochs over the rows: the K multipliers of each are maximised with all others fixed.

    With the others held the dual of a row is |q − v|² over the simplex: one projection. A free
    intercept is held by λ|b|²/2 here. The order of the rows is drawn from a fixed seed. Ends at
    the relative gap `goal`, or where the rounds crawl.

    Reference: Keerthi, Sundararajan, Chang, Hsieh and Lin, A sequential dual method for large
    scale multi-class linear SVMs, KDD (2008).
    """
    design, loss, penalty = problem.table, problem.loss, problem.penalty
    assert isinstance(loss, MulticlassHinge)
    X, lam = to_float64(design.blocks.gather().X), penalty.l2
    bias = 1.0 if problem.intercept else 0.0
    sums = np.concatenate([[0.0], np.cumsum(X.data * X.data)])
    push = s / lam
    mu = push * (np.diff(sums[X.indptr]) + bias)
    usable = np.flatnonzero(mu > 0.0)
    rng = np.random.default_rng(0)
    theta = np.zeros((len(y), loss.n_classes))
    W, b = np.zeros((X.shape[1], loss.n_classes)), np.zeros(loss.n_classes)
    asked, last, z = np.inf, np.inf, np.zeros_like(theta)
    for turn in range(ROUNDS):
        rng.shuffle(usable)
        worst = ascend_simplex(X.data, X.indices, X.indptr, y, push, mu, bias, theta, W, b, usable)
        if worst > 0.3 * asked and turn < ROUNDS - 1 and turn % 20:
            continue
        asked = worst
        z = np.asarray(X @ W) + b
        pull = 0.5 * lam * float(np.vdot(W, W) + np.vdot(b, b))
        primal = float(s @ loss.value(y, z)) + pull
        gap = primal + float(s @ theta[np.arange(len(y)), y]) + pull
        if gap <= 0.5 * goal * abs(primal) or (gap > 0.9 * last and turn > 100):
            break
        last = gap
    step = float(np.median(mu[usable])) if len(usable) else 1.0
    return Ascent((W, b), z, theta, step)
