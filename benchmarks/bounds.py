"""Dual points of losses with kinks, found by slow and simple methods that no contender uses here.

How a dual point was found does not matter: `gap` clips it to its domain and computes its bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linprog, minimize

from . import compiled, gap

CLOSE = 3e-8  # relative gap at which a search ends
FULL = 10  # every so many rounds visit all rows, the others only those that move


def hinge_dual(
    X: Any, y: np.ndarray, C: float, *, intercept: bool = False, held: bool = False
) -> np.ndarray:
    """A dual point of `gap.hinge`, by coordinate ascent.

    A free intercept is one that is held, about a centre that follows it: then Σ aᵢsᵢ vanishes.

    Reference: Hsieh, Chang, Lin, Keerthi and Sundararajan, ICML 2008.
    """
    s = gap.signs(y)
    a, centre = np.zeros(len(s)), 0.0
    best, most = a, -np.inf
    square = _squares(X)
    scale = 0.0 if not intercept else 1.0 if held else float(np.sqrt(square.mean()))
    for _ in range(1 if held or not intercept else 30):
        w, b = _ascend(X, s, 1 - s * centre, C, scale, square + scale**2, a)
        centre += b
        bound = gap.hinge_bound(X, y, C, a, intercept=intercept, held=held)
        if bound > most:
            best, most = a.copy(), bound
        value = gap.hinge(X, y, C, w, b if held else centre, held=held).value
        if value - most <= 2 * CLOSE * value:
            break
    return best


def _squares(X: Any) -> np.ndarray:
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def _ascend(
    X: Any,
    s: np.ndarray,
    aim: np.ndarray,
    C: float,
    scale: float,
    square: np.ndarray,
    a: np.ndarray,
) -> tuple[np.ndarray, float]:
    """Improves a until C Σ max(0, aim - s z) + |w|²/2 and its dual are close.

    z = Xw + scale w₀, w₀ the last entry of w; gives w and scale w₀.
    """
    rng = np.random.default_rng(0)
    rows = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    pass_over = compiled.ascend_sparse if sparse.issparse(X) else compiled.ascend_dense
    everything = np.arange(len(s))
    w = np.append(X.T @ (a * s), scale * (a @ s))
    moving = everything
    for round_ in range(3000):
        full = round_ % FULL == 0
        order = rng.permutation(everything if full else moving)
        before = a.copy() if full else a
        pass_over(*rows, s, aim, C, scale, square, order, a, w)
        if full:
            w = np.append(X.T @ (a * s), scale * (a @ s))  # steps add up rounding errors
            moving = np.flatnonzero((a != before) | ((a > 0) & (a < C)))
            value = C * np.maximum(aim - s * (X @ w[:-1] + scale * w[-1]), 0).sum() + w @ w / 2
            if value - (a @ aim - w @ w / 2) <= CLOSE * value:
                break
    return w[:-1], float(scale * w[-1])


def ranking_plane(X: np.ndarray, y: np.ndarray, alpha: float, width: float) -> np.ndarray:
    """A w at which `gap.ranking` of the hinge has a good bound for this width.

    It minimises the loss with its corner rounded off: m²/(2 width) up to the width, m - width/2
    beyond, m = max(0, 1 - t); by L-BFGS in coordinates in which the rows are about round, first
    for some rows and for wide corners.
    """
    n, d = X.shape
    upper = np.linalg.cholesky(np.cov(X.T) / 2 + alpha * np.eye(d)).T

    def rounded(v: np.ndarray, rows: np.ndarray, wide: float) -> tuple[float, np.ndarray]:
        w = np.linalg.solve(upper, v)
        seen = gap.pairs(X[rows], y[rows], w, "hinge", wide)
        value = seen.loss - seen.short - wide * seen.square / 2 + alpha * (w @ w) / 2
        return value, np.linalg.solve(upper.T, seen.grad_w + alpha * w)

    few, all_rows = np.random.default_rng(0).permutation(n)[: max(n // 10, 5000)], np.arange(n)
    stages = [(few, wide) for wide in (1.0, 0.1, 0.01) if wide > width] + [(few, width)]
    v = np.zeros(d)
    for rows, wide in [*stages, *([] if len(few) == n else [(all_rows, width)])]:
        options = {"maxiter": 300, "maxfun": 400, "gtol": 1e-8, "ftol": 1e-13}
        v = minimize(rounded, v, args=(rows, wide), jac=True, method="L-BFGS-B", options=options).x
    return np.linalg.solve(upper, v)


def quantile_dual(X: np.ndarray, y: np.ndarray, q: float, alpha: float) -> np.ndarray:
    """A dual point of `gap.quantile`: the linear program over θ itself.

    max θ·y over q - 1 ≤ θ ≤ q, Σθ = 0, |Xᵀθ| ≤ nα
    """
    n = len(y)
    found = linprog(
        -y,
        A_ub=np.vstack([X.T, -X.T]),
        b_ub=np.full(2 * X.shape[1], n * alpha),
        A_eq=np.ones((1, n)),
        b_eq=[0.0],
        bounds=(q - 1, q),
        method="highs",
    )
    return found.x
