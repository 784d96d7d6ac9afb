"""The dual of a support vector machine in exact fractions, by trying every active set."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np


def solve_exactly(A: list[list[Fraction]], b: list[Fraction]) -> list[Fraction] | None:
    """Gauss-Jordan; None where A is singular."""
    n = len(b)
    M = [[*row, right] for row, right in zip(A, b, strict=True)]
    for i in range(n):
        pivot = next((r for r in range(i, n) if M[r][i] != 0), None)
        if pivot is None:
            return None
        M[i], M[pivot] = M[pivot], M[i]
        M[i] = [x / M[i][i] for x in M[i]]
        for r in range(n):
            if r != i and M[r][i] != 0:
                M[r] = [x - M[r][i] * z for x, z in zip(M[r], M[i], strict=True)]
    return [row[n] for row in M]


def exact_dual(K, target, low, high, width=0.0):
    """min β'Kβ/2 - y'β + w|β|₁ over low ≤ β ≤ high, Σβ = 0: the optimal value and β.

    Each coefficient is at one of its ends, at zero, or free on one side of zero; the first pattern
    whose stationary point meets all conditions is the optimum of a convex problem. O(5ⁿ n³).
    """
    n = len(target)
    Kq = [[Fraction(float(x)) for x in row] for row in K]
    y = [Fraction(float(x)) for x in target]
    lo, hi = ([Fraction(float(x)) for x in end] for end in (low, high))
    w = Fraction(float(width))
    for pattern in product("LZHnp", repeat=n):
        if any(
            (c == "n" and lo[i] == 0) or (c == "p" and hi[i] == 0) for i, c in enumerate(pattern)
        ):
            continue
        if any(
            (c == "L" and lo[i] == 0) or (c == "H" and hi[i] == 0) for i, c in enumerate(pattern)
        ):
            continue
        beta = [lo[i] if c == "L" else hi[i] if c == "H" else Fraction(0)
                for i, c in enumerate(pattern)]  # fmt: skip
        free = [i for i, c in enumerate(pattern) if c in "np"]
        nu = None
        if free:
            sign = {i: 1 if pattern[i] == "p" else -1 for i in free}
            fixed = [i for i in range(n) if i not in free]
            A = [[Kq[i][j] for j in free] + [Fraction(1)] for i in free]
            A.append([Fraction(1)] * len(free) + [Fraction(0)])
            right = [y[i] - w * sign[i] - sum(Kq[i][j] * beta[j] for j in fixed) for i in free]
            found = solve_exactly(A, [*right, -sum(beta[i] for i in fixed)])
            if found is None:
                continue
            for i, value in zip(free, found, strict=False):
                beta[i] = value
            nu = found[-1]
            sides = (beta[i] * sign[i] >= 0 for i in free)
            if not all(sides) or not all(lo[i] <= beta[i] <= hi[i] for i in free):
                continue
        elif sum(beta) != 0:
            continue
        F = [sum(Kq[i][j] * beta[j] for j in range(n)) - y[i] for i in range(n)]
        rise = [F[i] + (w if beta[i] >= 0 else -w) for i in range(n) if beta[i] < hi[i]]
        fall = [F[i] + (w if beta[i] > 0 else -w) for i in range(n) if beta[i] > lo[i]]
        if rise and fall and max(fall) > min(rise):
            continue
        if nu is not None and (any(r < -nu for r in rise) or any(f > -nu for f in fall)):
            continue
        half = sum(beta[i] * (F[i] + y[i]) for i in range(n)) / 2
        value = half - sum(y[i] * beta[i] for i in range(n)) + w * sum(abs(x) for x in beta)
        return float(value), np.array([float(x) for x in beta])
    raise AssertionError("no pattern is optimal")
