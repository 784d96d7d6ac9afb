"""Sequential minimal optimisation within a block, and the scores that follow its coefficients.

Reference: Fan, Chen and Lin, Working set selection using second order information for training
SVM, JMLR 6 (2005).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# Sums within a loop may be reordered, which one thread does alike every time.
_settings: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz", "arcp"},
    "no_cfunc_wrapper": True,
}
# Curvatures below this share of the diagonal are rounding: equal rows, or a kernel of low rank.
FLAT = 1e-14
SLAB = 2048  # scores that are updated together: 16 KiB, half of a core's first cache


@njit(**_settings)
def pair_steps(
    K: Floats,
    F: Floats,
    beta: Floats,
    low: Floats,
    high: Floats,
    width: float,
    stop: float,
    most: int,
) -> int:
    """min β'Kβ/2 - y'β + width |β|₁ over low ≤ β ≤ high, Σβ kept: pairs that violate most.

    F = Kβ - y and β change in place; returns the steps taken. Ends when the slopes of all that may
    rise and all that may fall lie within `stop`, or when a step no longer changes β.
    """
    q = len(F)
    i, least, top = 0, np.inf, -np.inf
    for t in range(q):
        b = beta[t]
        if b < high[t]:
            g = F[t] + (width if b >= 0.0 else -width)
            if g < least:
                least = g
                i = t
        if b > low[t]:
            g = F[t] + (width if b > 0.0 else -width)
            if g > top:
                top = g
    steps = 0
    while steps < most and top - least > stop:
        row = K[i]
        own = row[i]
        gain, j, eta_j = -1.0, 0, 1.0
        for t in range(q):
            b = beta[t]
            if b > low[t]:
                fall = F[t] + (width if b > 0.0 else -width) - least
                if fall > 0.0:
                    size = own + K[t, t]
                    eta = size - 2.0 * row[t]
                    floor = FLAT * size
                    eta = eta if eta > floor else floor
                    found = np.inf
                    if eta > 0.0:
                        found = fall * fall / eta
                    if found > gain:
                        gain = found
                        j = t
                        eta_j = eta
        bi, bj = beta[i], beta[j]
        fall = F[j] + (width if bj > 0.0 else -width) - least
        # Up to the end of the interval, or to zero, where the slope changes.
        end_i = 0.0 if (width > 0.0 and bi < 0.0) else high[i]
        end_j = 0.0 if (width > 0.0 and bj > 0.0) else low[j]
        room_i, room_j = end_i - bi, bj - end_j
        step = min(room_i, room_j)
        if fall < step * eta_j:
            step = fall / eta_j
        new_i = end_i if step >= room_i else bi + step
        new_j = end_j if step >= room_j else bj - step
        if new_i == bi and new_j == bj:
            return steps
        beta[i] = new_i
        beta[j] = new_j
        steps += 1
        up, down = new_i - bi, bj - new_j
        other = K[j]
        i, least, top = 0, np.inf, -np.inf
        for t in range(q):
            f = F[t] + (up * row[t] - down * other[t])
            F[t] = f
            b = beta[t]
            if b < high[t]:
                g = f + (width if b >= 0.0 else -width)
                if g < least:
                    least = g
                    i = t
            if b > low[t]:
                g = f + (width if b > 0.0 else -width)
                if g > top:
                    top = g
    return steps


@njit(**_settings)
def single_steps(
    K: Floats,
    F: Floats,
    beta: Floats,
    low: Floats,
    high: Floats,
    width: float,
    stop: float,
    most: int,
) -> int:
    """The same without a constraint on Σβ: the coefficient whose step gains most."""
    q = len(F)
    steps = 0
    while steps < most:
        gain, i, target = 0.0, 0, 0.0
        for t in range(q):
            b = beta[t]
            up = F[t] + (width if b >= 0.0 else -width)
            down = F[t] + (width if b > 0.0 else -width)
            slope, end = 0.0, b
            if b < high[t] and up < -stop:
                slope, end = up, (0.0 if (width > 0.0 and b < 0.0) else high[t])
            elif b > low[t] and down > stop:
                slope, end = down, (0.0 if (width > 0.0 and b > 0.0) else low[t])
            if slope != 0.0:
                # The gain of the step that may be taken, not of the one that a bound cuts short.
                room = abs(end - b)
                length = abs(slope) / K[t, t] if K[t, t] > 0.0 else np.inf
                length = min(length, room)
                found = length * (abs(slope) - 0.5 * length * K[t, t])
                if found > gain:
                    gain = found
                    i = t
                    target = end if length >= room else b - slope / K[t, t]
        if gain == 0.0 or target == beta[i]:
            return steps
        change = target - beta[i]
        beta[i] = target
        row = K[i]
        for t in range(q):
            F[t] += change * row[t]
        steps += 1
    return steps


@njit(**_settings)
def add_rows(
    F: Floats, rows: NDArray[Any], numbers: NDArray[np.int64], c: Floats, first: int, last: int
) -> None:
    """F += Σ c_q rows[numbers_q] between two places; each sum runs in the order of q."""
    m = len(numbers)
    for lo in range(first, last, SLAB):
        hi = min(lo + SLAB, last)
        full = m - m % 4
        for q in range(0, full, 4):
            a0, a1, a2, a3 = c[q], c[q + 1], c[q + 2], c[q + 3]
            r0, r1 = rows[numbers[q]], rows[numbers[q + 1]]
            r2, r3 = rows[numbers[q + 2]], rows[numbers[q + 3]]
            for i in range(lo, hi):
                F[i] += (a0 * r0[i] + a1 * r1[i]) + (a2 * r2[i] + a3 * r3[i])
        for q in range(full, m):
            a, r = c[q], rows[numbers[q]]
            for i in range(lo, hi):
                F[i] += a * r[i]


@njit(**_settings)
def block_of(rows: NDArray[Any], slots: NDArray[np.int64], numbers: NDArray[np.int64]) -> Floats:
    """The square matrix of rows[slots] in the columns `numbers`."""
    q = len(numbers)
    K = np.empty((q, q))
    for i in range(q):
        row, line = rows[slots[i]], K[i]
        for j in range(q):
            line[j] = row[numbers[j]]
    return K
