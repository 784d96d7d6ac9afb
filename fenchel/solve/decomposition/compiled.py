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
# Sums within a loop may be reordered, which one thread does alike every time, and nothing is NaN:
# targets, kernel values and scores are finite.
_settings: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz", "arcp", "nnan"},
    "no_cfunc_wrapper": True,
}
# Curvatures below this share of the diagonal are rounding: equal rows, or a kernel of low rank.
FLAT = 1e-14
TINY = 1e-300
SLAB = 2048  # scores that are updated together: 16 KiB, half of a core's first cache


@njit(**_settings)
def _most(values: Floats, work: Floats) -> float:
    """The largest value, by halves: a loop that keeps one extreme is not made of vectors."""
    size = (values.size + 1) // 2
    for t in range(size):
        work[t] = values[t]
    first, second = work[: values.size - size], values[size:]
    for t in range(second.size):
        first[t] = first[t] if first[t] > second[t] else second[t]
    while size > 1:
        half = (size + 1) // 2
        first, second = work[: size - half], work[half:size]
        for t in range(second.size):
            first[t] = first[t] if first[t] > second[t] else second[t]
        size = half
    return work[0]


@njit(**_settings)
def _first_at(values: Floats, value: float) -> int:
    for t in range(values.size):
        if values[t] == value:
            return t
    return 0


@njit(**_settings)
def _move(
    F: Floats,
    row: Floats,
    other: Floats,
    up: float,
    down: float,
    rise: Floats,
    fall: Floats,
    rises: Floats,
    falls: Floats,
) -> None:
    """F += up row - down other; rises = -(F + rise), falls = F + fall."""
    for t in range(F.size):
        f = F[t] + (up * row[t] - down * other[t])
        F[t] = f
        rises[t] = -(f + rise[t])
        falls[t] = f + fall[t]


@njit(**_settings)
def _gain(
    falls: Floats, row: Floats, own: float, diagonal: Floats, least: float, gains: Floats
) -> None:
    """What a step of the pair (i, t) gains, twice: (slope)²/curvature, the curvature lifted to FLAT
    of the diagonal."""
    for t in range(falls.size):
        size = own + diagonal[t]
        eta = size - 2.0 * row[t]
        floor = FLAT * size
        eta = eta if eta > floor else floor
        slope = falls[t] - least
        slope = slope if slope > 0.0 else 0.0
        # Zero rows have no curvature at all: they gain without end.
        gains[t] = slope * slope / (eta if eta > TINY else TINY)


@njit(**_settings)
def _ends(b: float, low: float, high: float, width: float) -> tuple[float, float]:
    """What a slope of the smooth part becomes where a coefficient rises and where it falls."""
    rise = (width if b >= 0.0 else -width) if b < high else np.inf
    fall = (width if b > 0.0 else -width) if b > low else -np.inf
    return rise, fall


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
    diagonal, rise, fall = np.empty(q), np.empty(q), np.empty(q)
    rises, falls, gains, work = np.empty(q), np.empty(q), np.empty(q), np.empty(q)
    for t in range(q):
        diagonal[t] = K[t, t]
        rise[t], fall[t] = _ends(beta[t], low[t], high[t], width)
    up, down, i, j, steps = 0.0, 0.0, 0, 0, 0
    while True:
        _move(F, K[i], K[j], up, down, rise, fall, rises, falls)
        highest = _most(rises, work)
        least = -highest
        if steps >= most or not _most(falls, work) - least > stop:
            return steps
        i = _first_at(rises, highest)
        row = K[i]
        _gain(falls, row, row[i], diagonal, least, gains)
        best = _most(gains, work)
        if not best > 0.0:
            return steps
        j = _first_at(gains, best)
        bi, bj = beta[i], beta[j]
        size = row[i] + diagonal[j]
        eta = max(size - 2.0 * row[j], FLAT * size)
        slope = falls[j] - least
        # Up to the end of the interval, or to zero, where the slope changes.
        end_i = 0.0 if (width > 0.0 and bi < 0.0) else high[i]
        end_j = 0.0 if (width > 0.0 and bj > 0.0) else low[j]
        room_i, room_j = end_i - bi, bj - end_j
        step = min(room_i, room_j)
        if slope < step * eta:
            step = slope / eta
        beta[i] = end_i if step >= room_i else bi + step
        beta[j] = end_j if step >= room_j else bj - step
        if beta[i] == bi and beta[j] == bj:
            return steps
        rise[i], fall[i] = _ends(beta[i], low[i], high[i], width)
        rise[j], fall[j] = _ends(beta[j], low[j], high[j], width)
        up, down = beta[i] - bi, bj - beta[j]
        steps += 1


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
        f, full = F[lo:hi], m - m % 4
        for q in range(0, full, 4):
            a0, a1, a2, a3 = c[q], c[q + 1], c[q + 2], c[q + 3]
            r0, r1 = rows[numbers[q], lo:hi], rows[numbers[q + 1], lo:hi]
            r2, r3 = rows[numbers[q + 2], lo:hi], rows[numbers[q + 3], lo:hi]
            for i in range(f.size):
                f[i] += (a0 * r0[i] + a1 * r1[i]) + (a2 * r2[i] + a3 * r3[i])
        for q in range(full, m):
            a, r = c[q], rows[numbers[q], lo:hi]
            for i in range(f.size):
                f[i] += a * r[i]


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
