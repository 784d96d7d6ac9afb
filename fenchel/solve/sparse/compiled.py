"""Cyclic coordinate descent on an L1-penalised quadratic, by soft thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

_settings: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": True,
    "no_cfunc_wrapper": True,  # nothing calls these loops from C: a tenth less to compile
}


@njit(**_settings)
def soft_threshold(
    slope: float, bend: float, w: float, a: float, b: float, positive: bool
) -> float:
    """argmin_u slope (u - w) + bend (u - w)²/2 + a|u| + b u²/2, over u ≥ 0 where positive."""
    if bend + b <= 0.0:  # a column of zeros
        return 0.0
    u = bend * w - slope
    if u > a:
        return (u - a) / (bend + b)
    if u < -a and not positive:
        return (u + a) / (bend + b)
    return 0.0


@njit(**_settings)
def gram_descent(
    G: NDArray[np.float64],
    g: NDArray[np.float64],
    w: NDArray[np.float64],
    a: float,
    b: float,
    positive: bool,
    limit: float,
    epochs: int,
) -> float:
    """Epochs over all coordinates until no move exceeds the limit; g = ∇ of the smooth part.

    G is the corner of a larger array. Changes g and w; returns the largest move of the last epoch,
    in units of the gradient.
    """
    m = w.size
    worst = 0.0
    for _ in range(epochs):
        worst = 0.0
        for j in range(m):
            bend = G[j, j]
            u = soft_threshold(g[j], bend, w[j], a, b, positive)
            move = u - w[j]
            if move != 0.0:
                worst = max(worst, abs(move) * (bend + b))
                w[j] = u
                row = G[j]
                for i in range(m):
                    g[i] += move * row[i]
        if worst <= limit:
            break
    return worst


@njit(**_settings)
def csc_epoch(
    data: NDArray[np.float64],
    indices: NDArray[np.int32],
    indptr: NDArray[np.int64],
    slots: NDArray[np.int64],
    classes: NDArray[np.int64],
    r: NDArray[np.float64],
    h: NDArray[np.float64],
    s: NDArray[np.float64],
    dz: NDArray[np.float64],
    mean: NDArray[np.float64],
    bend: NDArray[np.float64],
    levels: NDArray[np.float64],
    w: NDArray[np.float64],
    rise: NDArray[np.float64],
    a: float,
    b: float,
    positive: bool,
    limit: float,
    epochs: int,
) -> float:
    """Epochs over entries (column, class) and, where levels > 0, the intercepts after each.

    Columns are sparse, or dense where there are no indices. The rows of r, h and dz are classes.
    With one class r = sθ moves with the scores by h = sl″. With several the slopes are those of
    s(θ + p (dz - mean)), r = θ, h = p, mean = Σ p dz. Changes w and rise, and r or dz and mean.
    """
    n, K, dense = r.shape[1], r.shape[0], indices.size == 0
    worst = 0.0
    for _ in range(epochs):
        worst = 0.0
        for e in range(slots.size):
            k = classes[e]
            lo, hi = indptr[slots[e]], indptr[slots[e] + 1]
            rk, hk, tk = r[k], h[k], dz[k]
            slope = 0.0
            if dense and K == 1:
                for i in range(n):
                    slope += data[lo + i] * rk[i]
            elif dense:
                for i in range(n):
                    slope += data[lo + i] * s[i] * (rk[i] + hk[i] * (tk[i] - mean[i]))
            elif K == 1:
                for q in range(lo, hi):
                    slope += data[q] * rk[indices[q]]
            else:
                for q in range(lo, hi):
                    i = indices[q]
                    slope += data[q] * s[i] * (rk[i] + hk[i] * (tk[i] - mean[i]))
            u = soft_threshold(slope, bend[e], w[e], a, b, positive)
            move = u - w[e]
            if move == 0.0:
                continue
            w[e] = u
            worst = max(worst, abs(move) * (bend[e] + b))
            if dense and K == 1:
                for i in range(n):
                    rk[i] += move * hk[i] * data[lo + i]
            elif dense:
                for i in range(n):
                    tk[i] += move * data[lo + i]
                    mean[i] += move * data[lo + i] * hk[i]
            elif K == 1:
                for q in range(lo, hi):
                    rk[indices[q]] += move * hk[indices[q]] * data[q]
            else:
                for q in range(lo, hi):
                    i = indices[q]
                    tk[i] += move * data[q]
                    mean[i] += move * data[q] * hk[i]
        for k in range(K):
            if levels[k] > 0.0:
                slope = 0.0
                for i in range(n):
                    slope += (
                        r[k, i] if K == 1 else s[i] * (r[k, i] + h[k, i] * (dz[k, i] - mean[i]))
                    )
                move = -slope / levels[k]
                rise[k] += move
                for i in range(n):
                    if K == 1:
                        r[k, i] += move * h[k, i]
                    else:
                        dz[k, i] += move
                        mean[i] += move * h[k, i]
        if worst <= limit:
            break
    return worst
