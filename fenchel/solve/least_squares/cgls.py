"""Conjugate gradients on the normal equations (CGLS), restarted from a residual in double-double.

    minimise over (w, b):  Σ sᵢ (yᵢ - xᵢ·w - b)²

For tables whose d x d Gram matrix is too large. Cost: one pass over the rows a step.

Reference: Björck, Numerical Methods for Least Squares Problems (1996), section 7.4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal

from fenchel.data.arrays import like, to_numpy
from fenchel.data.blocks import Block, Blocks, Totals
from fenchel.data.linear_algebra.double_double import DoubleDouble
from fenchel.solve.least_squares.scaling import Floats, Scaling, residuals

_TOLERANCE = 1e-12  # of |X|·|r|: what a gradient in float64 can be brought to
_STEPS = 5000
_RESTARTS = 8


@dataclass(frozen=True, slots=True)
class CGLSResult:
    """A point with ‖X̃'Sr‖ ≤ tol ‖X̃‖ ‖r‖ or ‖r‖ ≤ tol (‖X̃‖ ‖w‖ + ‖y‖), if `converged`."""

    w: Floats
    b: Floats
    g: Floats  # X̃'Sr at (w, b), computed from the rows
    rss: Floats
    steps: int
    converged: bool
    condition: float  # of X̃, from the Ritz values of the first target: at most the true one


def cgls(
    blocks: Blocks, frame: Scaling, mean: Floats, target: Floats, weight: float, intercept: bool
) -> CGLSResult:
    """Conjugate gradients on X̃'SX̃ w = X̃'Sy, X̃ = X - 1m' with an intercept, from w = 0.

    All iterates lie in the row space, so the limit is the solution of least norm. The residual of
    the recurrence drifts from the true one: each restart computes it anew from the rows, and only
    that one decides. ‖X̃‖² is the largest Rayleigh quotient met.

    Reference: Hestenes, Stiefel, 1952; Paige, Saunders, LSQR, 1982 (the stopping rule).
    """
    d, K = len(mean), len(target)
    centre = mean if intercept else np.zeros(d)
    w, norm2, steps, condition = np.zeros((d, K)), 0.0, 0, 1.0
    b = target.copy() if intercept else np.zeros(K)
    limit = min(2 * min(blocks.n_rows, d) + 50, _STEPS)
    y_norm = 0.0
    for _ in range(_RESTARTS):
        g, level, rss = (
            part.hi
            for part in blocks.reduce(
                residuals(frame, DoubleDouble.of(w), DoubleDouble.of(b), False)
            )
        )
        if intercept:
            b = b + level / weight
            g = g - np.outer(centre, level)
        y_norm = np.sqrt(rss) if steps == 0 else y_norm
        size = np.linalg.norm(g, axis=0)
        if steps == 0:
            norm2 = _rayleigh(g, blocks.reduce(_normal(frame, g, centre)), centre)
        goal = _TOLERANCE * np.sqrt(norm2 * rss)
        small = _TOLERANCE * (np.sqrt(norm2) * np.linalg.norm(w, axis=0) + y_norm)
        done = (size <= goal) | (np.sqrt(rss) <= small)
        if done.all() or steps >= limit:
            return CGLSResult(w, b, g, rss, steps, bool(done.all()), condition)
        step, ritz = _sweep(blocks, frame, centre, g, 0.5 * goal, limit - steps)
        w, steps = w + step, steps + len(ritz)
        norm2, condition = max(norm2, ritz[-1]), max(condition, float(np.sqrt(ritz[-1] / ritz[0])))
        b = b - (centre @ step if intercept else 0.0)
    return CGLSResult(w, b, g, rss, steps, False, condition)


def _sweep(
    blocks: Blocks, frame: Scaling, centre: Floats, g: Floats, goal: Floats, limit: int
) -> tuple[Floats, Floats]:
    """Steps from δ = 0 towards X̃'SX̃ δ = g, each target on its own, until ‖residual‖ ≤ goal.

    Also the Ritz values, one a step: eigenvalues of the tridiagonal matrix that the steps of the
    target with the largest gradient make.
    """
    delta, r, p = np.zeros_like(g), g.copy(), g.copy()
    rr = np.sum(r * r, axis=0)
    least, lead = rr.copy(), int(np.argmax(rr))
    main, side, carry = [], [], 0.0
    for _ in range(limit):
        q, level = blocks.reduce(_normal(frame, p, centre))
        q = q - np.outer(centre, level)
        move = _share(rr, np.sum(p * q, axis=0))
        delta += move * p
        r -= move * q
        before, rr = rr, np.sum(r * r, axis=0)
        turn = _share(rr, before)
        if move[lead] > 0.0:
            main.append(1.0 / move[lead] + carry)
            side.append(np.sqrt(turn[lead]) / move[lead])
            carry = turn[lead] / move[lead]
        least = np.minimum(least, rr)
        if bool(np.all((np.sqrt(rr) <= goal) | (rr > 1e8 * least) | (move <= 0.0))):
            break
        p = r + turn * p
    if not main:
        return delta, np.ones(1)
    return delta, np.maximum(eigvalsh_tridiagonal(np.array(main), np.array(side[:-1])), 1e-300)


def _normal(frame: Scaling, p: Floats, centre: Floats) -> Callable[[Block], Totals]:
    """The statistic Totals(X'S(Xp - m·p), Σ s (xp - m·p))."""

    def stat(block: Block) -> Totals:
        X, _, s = frame.rows(block)
        z = X @ like(p, X) - like(centre @ p, X)
        if s is not None:
            z = z * s[:, None]
        return Totals(to_numpy(X.T @ z), to_numpy(z.sum(0)))

    return stat


def _rayleigh(p: Floats, image: Totals, centre: Floats) -> float:
    q = image[0] - np.outer(centre, image[1])
    return float(np.max(_share(np.sum(p * q, axis=0), np.sum(p * p, axis=0))))


def _share(a: Floats, b: Floats) -> Floats:
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0.0)
