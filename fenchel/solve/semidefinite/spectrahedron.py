"""Projection onto {Y : 0 ⪯ Y ⪯ I, tr Y = r}: of the eigenvalues, onto a capped simplex.

    λ → clip(λ - τ, 0, 1),  τ such that they sum to r

Only eigenvalues above τ count, which near a solution are few: so many of the largest are asked of
LAPACK, and more where those were not enough.

Reference: Warmuth and Kuzmin, Randomized online PCA algorithms, JMLR 9 (2008), for the set.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

Floats = NDArray[np.float64]


def capped_simplex(values: Floats, total: float) -> Floats:
    """The nearest point of {0 ≤ x ≤ 1, Σ x = total}, for values in increasing order and a total of
    at most their number."""
    n = len(values)
    if total >= n:
        return np.ones(n)
    # Σ clip(λ - τ, 0, 1) falls from n to 0, straight between the joints λᵢ - 1 and λᵢ.
    joints = np.sort(np.concatenate([values - 1.0, values]))
    sums = np.array([0.0]) if n == 0 else _total(values, joints)
    place = int(np.searchsorted(-sums, -total, side="right")) - 1
    place = min(max(place, 0), len(joints) - 2)
    low, high = joints[place], joints[place + 1]
    top, bottom = sums[place], sums[place + 1]
    tau = low if top <= bottom else low + (high - low) * (top - total) / (top - bottom)
    return np.clip(values - tau, 0.0, 1.0)


def _total(values: Floats, at: Floats) -> Floats:
    """Σ clip(λ - τ, 0, 1) at each τ."""
    below = np.concatenate([[0.0], np.cumsum(values)])
    first = np.searchsorted(values, at, side="right")  # λ ≤ τ: nothing
    last = np.searchsorted(values, at + 1.0, side="left")  # λ ≥ τ + 1: one each
    last = np.maximum(last, first)
    return np.asarray(
        below[last] - below[first] - (last - first) * at + (len(values) - last), np.float64
    )


def projected(A: Floats, total: int, guess: int) -> tuple[Floats, Floats]:
    """The projection V diag(x) V' of a symmetric A, as the columns V and x > 0.

    guess: how many eigenvalues may count; doubled until the smallest of those does not.
    """
    n = len(A)
    count = min(max(guess, total + 1), n)
    while True:
        values, V = linalg.eigh(
            A, subset_by_index=[n - count, n - 1], driver="evr", check_finite=False
        )
        x = capped_simplex(values, float(total))
        if count == n or x[0] == 0.0:
            break
        count = min(2 * count, n)
    some = x > 0.0
    return np.asarray(V[:, some]), x[some]
