"""The active-set method for an L1-penalised quadratic: single entries join and leave the support.

A Cholesky factor of the support follows, by a row that is appended or rotated away.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

# Sums in any order, but infinities are what they are.
_settings: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz", "arcp"},
    "no_cfunc_wrapper": True,  # nothing calls these loops from C: a tenth less to compile
}
_inner: dict[str, Any] = {**_settings, "no_cpython_wrapper": True}  # called by loops alone
DEPENDENT = 1e-12  # of its square is left of a column that others make up
# A plain -1 has a type of its own, for which every function that is handed it would compile twice.
NONE: Any = np.int64(-1)


@njit(**_inner)
def _dot(x: NDArray[np.float64], y: NDArray[np.float64], k: int) -> float:
    total = 0.0
    for i in range(k):
        total += x[i] * y[i]
    return total


@njit(**_settings)
def factor_solve(L: NDArray[np.float64], k: int, x: NDArray[np.float64]) -> None:
    """x := (LL')⁻¹x in the first k entries."""
    for i in range(k):
        x[i] = (x[i] - _dot(L[i], x, i)) / L[i, i]
    _solve_back(L, k, x)


@njit(**_inner)
def _solve_back(L: NDArray[np.float64], k: int, x: NDArray[np.float64]) -> None:
    for i in range(k - 1, -1, -1):
        x[i] /= L[i, i]
        row, last = L[i], x[i]
        for j in range(i):
            x[j] -= row[j] * last


@njit(**_settings)
def factor_append(
    K: NDArray[np.float64],
    b: float,
    L: NDArray[np.float64],
    order: NDArray[np.int64],
    k: int,
    j: int,
) -> float:
    """The row of j below the factor of K + b on `order`; what is left of K[j, j] + b beside it."""
    row, left = L[k], K[j, j] + b
    for i in range(k):
        row[i] = (K[j, order[i]] - _dot(L[i], row, i)) / L[i, i]
        left -= row[i] * row[i]
    order[k] = j
    row[k] = np.sqrt(max(left, DEPENDENT * (K[j, j] + b)))
    return left


@njit(**_settings)
def factor_delete(L: NDArray[np.float64], order: NDArray[np.int64], k: int, at: int) -> None:
    """Without one of k rows: the rows below move up, and rotations make a triangle of them."""
    for r in range(at, k - 1):
        order[r] = order[r + 1]
        for i in range(r + 2):
            L[r, i] = L[r + 1, i]
    for r in range(at, k - 1):
        x, y = L[r, r], L[r, r + 1]
        size = np.hypot(x, y)
        x, y = x / size, y / size
        L[r, r] = size
        for i in range(r + 1, k - 1):
            u, v = L[i, r], L[i, r + 1]
            L[i, r] = x * u + y * v
            L[i, r + 1] = x * v - y * u


@njit(**_inner)
def _enter_active_set(
    G: NDArray[np.float64],
    slope: NDArray[np.float64],
    w: NDArray[np.float64],
    sign: NDArray[np.float64],
    L: NDArray[np.float64],
    order: NDArray[np.int64],
    k: int,
    j: int,
    b: float,
    blur: NDArray[np.float64],
    q: NDArray[np.float64],
) -> int:
    """j joins the factor of k columns; how many there are then.

    Where those make up for the whole of column j, nothing but corners bends along the exchange of
    it for them: it goes on until one of them, or j, is zero and leaves. blur: what rounding leaves
    open of each slope; a slope of the exchange below that of its parts is none. q: room.
    """
    bend = G[j, j] + b
    left = factor_append(G, b, L, order, k, j)
    if left > DEPENDENT * bend:
        return k + 1
    for i in range(k):
        q[i] = L[k, i]
    _solve_back(L, k, q)
    down, size, noise = slope[j], abs(slope[j]), blur[j]
    for i in range(k):
        down -= q[i] * slope[order[i]]
        size += abs(q[i] * slope[order[i]])
        noise += abs(q[i]) * blur[order[i]]
    flat = abs(down) <= max(1e-10 * size, noise)
    toward = sign[j] if w[j] == 0.0 else (1.0 if down <= 0.0 else -1.0)
    if w[j] == 0.0 and (flat or down * toward > 0.0):
        return k
    t = abs(down) / left if left > 1e-14 * bend and not flat else np.inf  # less is rounding
    at = NONE
    if flat:  # either way, and this one has an end
        toward = -sign[j]
    if toward * sign[j] < 0.0 and abs(w[j]) <= t:
        t, at = abs(w[j]), k
    for i in range(k):
        there = w[order[i]] / (toward * q[i]) if toward * q[i] * sign[order[i]] > 0.0 else np.inf
        if there < t:
            t, at = there, i
    if t == np.inf:  # no corner ahead, as with w ≥ 0 alone
        t = abs(down) / (DEPENDENT * bend)
    for i in range(k):
        w[order[i]] -= t * toward * q[i]
    w[j] += t * toward
    if at == k:
        w[j] = sign[j] = 0.0
        return k
    if at >= 0:
        w[order[at]] = sign[order[at]] = 0.0
        factor_delete(L, order, k, at)
        k -= 1
        factor_append(G, b, L, order, k, j)
    return k + 1


@njit(**_inner)
def _update_gradient(
    G: NDArray[np.float64],
    g: NDArray[np.float64],
    w: NDArray[np.float64],
    before: NDArray[np.float64],
) -> float:
    """The slopes where w is now, and how many multiplications that took."""
    work, m = 0.0, w.size
    for i in range(m):
        move = w[i] - before[i]
        if move != 0.0:
            row = G[i]
            for j in range(m):
                g[j] += move * row[j]
            before[i] = w[i]
            work += m
    return work


@njit(**_inner)
def _rounding(
    G: NDArray[np.float64],
    w: NDArray[np.float64],
    noise: NDArray[np.float64],
    blur: NDArray[np.float64],
) -> None:
    """What rounding leaves open of each slope, `noise` being its size at the start."""
    size = 0.0
    for j in range(w.size):
        size += abs(w[j]) * np.sqrt(G[j, j])
    for j in range(w.size):
        blur[j] = 1e-15 * (noise[j] + size * np.sqrt(G[j, j]))


@njit(**_settings)
def active_set_descent(
    G: NDArray[np.float64],
    g: NDArray[np.float64],
    w: NDArray[np.float64],
    L: NDArray[np.float64],
    order: NDArray[np.int64],
    k: int,
    rest: NDArray[np.int64],
    a: float,
    b: float,
    positive: bool,
    limit: float,
    work: float,
    room: NDArray[np.float64],
    shut: NDArray[np.bool_],
) -> float:
    """Newton's step on the support up to the first change of sign, until it is whole; then the
    zero that promises most joins, until none misses its subdifferential by more than the limit.

    L is the factor of the first k of `order`, independent ones; the rest of the support depends on
    those. Changes g and w, and ends within about `work` multiplications: what is left of them is
    returned. room (6, m) and shut (m) need not be set.

    Reference: Osborne, Presnell and Turlach, A new approach to variable selection in least squares
    problems, IMA J. Numer. Anal. 20 (2000).
    """
    m = w.size
    sign, before, slope, noise, blur, p = room[0], room[1], room[2], room[3], room[4], room[5]
    for j in range(m):
        sign[j] = 1.0 if w[j] > 0.0 else -1.0 if w[j] < 0.0 else 0.0
        before[j], noise[j], shut[j] = w[j], abs(g[j]), False
    last, waiting, joining, fresh = np.inf, rest.size, NONE, False
    while work > 0.0:
        for j in range(m):
            slope[j] = g[j] + b * w[j] + a * sign[j]
        _rounding(G, w, noise, blur)
        if waiting:
            waiting -= 1
            joining = rest[waiting]
        count = k
        if joining >= 0:
            if fresh or w[joining] != 0.0:
                k = _enter_active_set(G, slope, w, sign, L, order, k, joining, b, blur, p)
                work -= 4.0 * k * k
        else:
            while k:
                for i in range(k):
                    p[i] = -slope[order[i]]
                factor_solve(L, k, p)
                work -= 4.0 * k * k
                t, at = 1.0, NONE
                for i in range(k):
                    if sign[order[i]] * p[i] < 0.0:
                        there = -w[order[i]] / p[i]
                        if there < t:
                            t, at = there, i
                for i in range(k):
                    w[order[i]] += t * p[i]
                    slope[order[i]] *= 1.0 - t
                if at < 0:
                    break
                j = order[at]
                shut[j] = shut[j] or t <= 0.0
                w[j] = sign[j] = 0.0
                factor_delete(L, order, k, at)
                k -= 1
        work -= _update_gradient(G, g, w, before)
        if fresh and k == count and w[joining] == 0.0:
            sign[joining], shut[joining] = 0.0, True
        done = not (fresh or waiting)
        joining, fresh = NONE, False
        if not done:
            continue
        worst = 0.0
        for i in range(k):
            j = order[i]
            worst = max(worst, abs(g[j] + b * w[j] + a * sign[j]))
        if limit < worst < 0.5 * last:  # the factor has fewer digits than the slopes
            last = worst
            continue
        last, most = np.inf, 0.0
        _rounding(G, w, noise, blur)
        for j in range(m):
            bend = G[j, j] + b
            if sign[j] != 0.0 or shut[j] or bend <= 0.0:
                continue
            miss = (-g[j] if positive else abs(g[j])) - a
            if miss > limit + blur[j]:
                gain = miss * miss / bend
                if gain > most:
                    most, joining = gain, j
        if joining < 0:
            break
        sign[joining], fresh = 1.0 if g[joining] < 0.0 else -1.0, True
    return work
