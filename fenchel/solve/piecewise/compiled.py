"""Dual coordinate ascent over compressed sparse rows: each multiplier to its optimum in turn."""

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
def soft_threshold(r: float, width: float) -> float:
    """What of r lies outside [-width, width]."""
    if r > width:
        return r - width
    return r + width if r < -width else 0.0


@njit(**_settings)
def ascend(
    data: NDArray[Any],
    indices: NDArray[Any],
    indptr: NDArray[Any],
    kinks: NDArray[Any],
    low: NDArray[Any],
    high: NDArray[Any],
    push: NDArray[Any],
    mu: NDArray[Any],
    width: float,
    bias: float,
    theta: NDArray[Any],
    w: NDArray[Any],
    level: float,
    order: NDArray[Any],
    count: int,
    limit: float,
) -> tuple[float, int, float]:
    """One round over order[:count]; rows that rest at an end, farther than limit, leave the list.

    θ ← clip(dead(z + μθ - y)/μ, low, high), then w ← w - push (θ′ - θ) x and so the level, by
    bias. Returns the level, how many rows stay, and the largest violation met.
    """
    worst = 0.0
    place = 0
    while place < count:
        i = order[place]
        lo, hi = np.uint64(indptr[i]), np.uint64(indptr[i + 1])
        z = level
        for q in range(lo, hi):
            z += data[q] * w[indices[q]]
        r = soft_threshold(z - kinks[i], width)
        old = theta[i]
        if (old == high[i] and r > limit) or (old == low[i] and r < -limit):
            count -= 1
            order[place] = order[count]
            order[count] = i
            continue
        place += 1
        v = soft_threshold(z + mu[i] * old - kinks[i], width)
        new = min(max(v / mu[i], low[i]), high[i]) if mu[i] > 0.0 else old
        if new != old:
            worst = max(worst, abs(r))
            theta[i] = new
            change = push[i] * (new - old)
            level -= bias * change
            for q in range(lo, hi):
                w[indices[q]] -= change * data[q]
    return level, count, worst


@njit(**_settings)
def ascend_simplex(
    data: NDArray[Any],
    indices: NDArray[Any],
    indptr: NDArray[Any],
    y: NDArray[np.int64],
    push: NDArray[np.float64],
    mu: NDArray[np.float64],
    bias: float,
    theta: NDArray[np.float64],
    W: NDArray[np.float64],
    b: NDArray[np.float64],
    order: NDArray[np.int64],
) -> float:
    """One round over the rows of the multiclass hinge; returns the largest change of a multiplier.

    q ← the projection of θ + e_y + (z + 1 − e_y)/μ onto the simplex, θ′ = q − e_y, then
    W ← W − push x (θ′ − θ)' and b likewise, by bias.

    Reference: Michelot, A finite algorithm for finding the projection of a point onto the canonical
    simplex of Rⁿ, JOTA 50 (1986).
    """
    K = theta.shape[1]
    z, v = np.empty(K), np.empty(K)
    worst = 0.0
    for r in range(order.size):
        i = order[r]
        for k in range(K):
            z[k] = b[k]
        for q in range(indptr[i], indptr[i + 1]):
            for k in range(K):
                z[k] += data[q] * W[indices[q], k]
        for k in range(K):
            v[k] = theta[i, k] + (z[k] + 1.0) / mu[i]
        v[y[i]] += 1.0 - 1.0 / mu[i]
        # q = max(v − τ, 0) sums to one: τ rises from that of all entries to that of those above it,
        # of which there are fewer each time. Rounding may leave none above.
        total = 0.0
        for k in range(K):
            total += v[k]
        kept, above, tau = K + 1, K, (total - 1.0) / K
        while 0 < above < kept:
            kept, above, total = above, 0, 0.0
            for k in range(K):
                if v[k] > tau:
                    total += v[k]
                    above += 1
            if 0 < above < kept:
                tau = (total - 1.0) / above
        change = 0.0
        for k in range(K):
            new = max(v[k] - tau, 0.0) - (1.0 if k == y[i] else 0.0)
            z[k] = push[i] * (new - theta[i, k])
            change = max(change, abs(new - theta[i, k]))
            theta[i, k] = new
        if change > 0.0:
            worst = max(worst, change)
            for k in range(K):
                b[k] -= bias * z[k]
            for q in range(indptr[i], indptr[i + 1]):
                for k in range(K):
                    W[indices[q], k] -= data[q] * z[k]
    return worst
