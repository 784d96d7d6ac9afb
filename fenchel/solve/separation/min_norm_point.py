"""The nearest point to zero of a convex hull, or of the difference of two.

min over λ ≥ 0 of |λA|, with Σλ = 1, or λ summing to a half over the rows of either sign

Reference: Lawson and Hanson, Solving Least Squares Problems (1974), chapter 23; Wolfe, Finding the
nearest point in a polytope, Math. Program. 11 (1976).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize

from fenchel.convex.problem import EPS

Floats = NDArray[np.float64]
HEAVY = 1e6  # the weight of Σ λᵢyᵢ = 0 among the squares of the first guess


def nearest_point(A: Floats, y: Floats | None, lam: Floats, rough: float) -> Floats:
    """λ that minimises |λA| over λ ≥ 0, Σλ = 1 and, where y = ±1 is given, Σ λᵢyᵢ = 0.

    Nonnegative least squares guesses the rows that count; an active set makes the answer exact.
    rough: about the distance, the unit in which the guess is made.
    """
    guess = _guess(A, y, rough)
    if lam.any() and (guess is None or np.linalg.norm(lam @ A) < np.linalg.norm(guess @ A)):
        guess = lam
    if guess is None:
        guess = np.zeros(len(A))
        for side in classes_of(np.arange(len(A)), y):
            guess[side[np.argmin(np.einsum("ij,ij->i", A[side], A[side]))]] = 1.0
        guess /= guess.sum()
    lam = _finish(A, y, guess)
    return np.where(lam > 1e-20, lam, 0.0)


def classes_of(rows: NDArray[np.int64], y: Floats | None) -> list[NDArray[np.int64]]:
    return [rows] if y is None else [rows[y[rows] > 0], rows[y[rows] < 0]]


def _shares(lam: Floats, y: Floats | None) -> Floats | None:
    """λ scaled to its sums, class by class; None where a class has nothing."""
    lam = lam.copy()
    sides = classes_of(np.arange(len(lam)), y)
    for side in sides:
        total = float(lam[side].sum())
        if not total > 0.0 or not math.isfinite(total):
            return None
        lam[side] /= total * len(sides)
    return lam


def _guess(A: Floats, y: Floats | None, rough: float) -> Floats | None:
    columns = A.T / rough
    extra = [np.ones(len(A))] if y is None else [HEAVY / rough * y, np.ones(len(A))]
    E = np.vstack([columns, *extra])
    f = np.zeros(len(E))
    f[-1] = 1.0
    try:
        return _shares(optimize.nnls(E, f, maxiter=10 * len(A) + 100)[0], y)
    except RuntimeError:  # it cycles on rounding: the active set goes on from the last answer
        return None


def _finish(A: Floats, y: Floats | None, lam: Floats) -> Floats:
    size = float(np.linalg.norm(A, axis=1).max())
    steps = 1e9 / (min(A.shape) ** 3 + 1.0)
    for _ in range(int(np.clip(steps, 3, 4 * A.shape[1] + 50))):
        active = np.flatnonzero(lam > 0.0)
        v = lam[active] @ A[active]
        if np.linalg.norm(v) <= EPS * len(active) * size:
            return lam  # zero, as far as float64 can tell: more rows would be chosen by rounding
        # Move to the nearest point of the flat through the active rows, or to its border.
        sides = classes_of(active, y)
        D = np.vstack([A[side[1:]] - A[side[0]] for side in sides])
        if len(D):
            change = _least(D.T, -v, 1e-13)
            step = np.zeros(len(lam))
            at = 0
            for side in sides:
                part = change[at : at + len(side) - 1]
                step[side[1:]], step[side[0]] = part, -part.sum()
                at += len(side) - 1
            down = active[step[active] < 0.0]
            ratio = np.min(-lam[down] / step[down], initial=np.inf)
            ahead = np.maximum(lam + min(1.0, float(ratio)) * step, 0.0)
            if ratio < 1.0:
                ahead[down[np.argmin(-lam[down] / step[down])]] = 0.0
            new = _shares(ahead, y)
            if new is None or not np.linalg.norm(new @ A) <= np.linalg.norm(v) + 1e-15 * size:
                return lam
            lam = new
            if ratio < 1.0:
                continue
        # The row of either class that lies furthest on the wrong side comes in.
        score, gain, row = A @ face_minimiser(A, y, lam), 0.0, -1
        for side in classes_of(np.arange(len(lam)), y):
            held = side[lam[side] > 0.0]
            first = side[np.argmin(score[side])]
            fall = float(score[held].min() - score[first])
            if fall > gain and lam[first] == 0.0:
                gain, row = fall, int(first)
        if row < 0 or gain <= 16.0 * EPS * size:
            return lam
        lam[row] = 1e-300  # active from here on
    return lam


def face_minimiser(A: Floats, y: Floats | None, lam: Floats) -> Floats:
    """The unit vector along λA, which is at right angles to the flat through the active rows.

    As a sum it has lost as many digits as the distance is small; as the shortest w that puts those
    rows at yᵢ(xᵢ·w + b) = 1 it keeps them.
    """
    active = np.flatnonzero(lam > 0.0)
    v = unit_vector(lam[active] @ A[active])
    if y is None:
        E = A[active]
    else:
        up, down = classes_of(active, y)
        E = np.vstack([A[up[0]] + A[down[0]], A[up[1:]] - A[up[0]], A[down[1:]] - A[down[0]]])
    right = np.ones(len(E))
    if y is not None:
        right[1:] = 0.0
    w = _least(E, right, EPS * max(E.shape))
    w = unit_vector(w + _least(E, right - E @ w, EPS * max(E.shape)))
    # Where the flat goes through zero there is no such w.
    return w if _spread(A[active] @ w, y, active) < _spread(A[active] @ v, y, active) else v


def _least(E: Floats, right: Floats, cond: float) -> Floats:
    """The shortest least-squares solution."""
    answer = linalg.lstsq(E, right, cond=cond, lapack_driver="gelsy", check_finite=False)[0]
    return np.asarray(answer)


def _spread(score: Floats, y: Floats | None, active: NDArray[np.int64]) -> float:
    """How far the rows of a class are from being equally far."""
    sides = classes_of(np.arange(len(active)), None if y is None else y[active])
    return max(float(np.ptp(score[side])) for side in sides)


def is_robust(A: Floats, y: Floats | None, lam: Floats, residual: float) -> bool:
    """Whether some λ' ≥ 0 near λ has λ'A = 0 exactly.

    So it is if the differences of the rows span every direction with a least singular value σ, and
    residual / σ, twice over, is less than the λ of those rows; the others keep theirs.
    """
    for level in (0.0, 1e-9, 1e-6, 1e-4, 1e-3):
        main = np.flatnonzero(lam > level)
        sides = classes_of(main, y)
        if any(len(side) == 0 for side in sides):
            return False
        D = np.vstack([A[side[1:]] - A[side[0]] for side in sides])
        # A column that is constant over all rows gives zero whatever λ is, if Σ λᵢyᵢ = 0.
        moving = A != 0.0 if y is None else y[:, None] * A != y[0] * A[0]
        D = D[:, moving.any(axis=0)]
        if not D.shape[1]:
            return True
        if len(D) < D.shape[1]:
            return False
        least = float(np.linalg.svd(D, compute_uv=False)[-1]) - 1e-14 * len(D)
        if 2.0 * math.sqrt(len(D)) * residual < least * float(lam[main].min()):
            return True
    return False


def unit_vector(w: Floats) -> Floats:
    top = float(np.abs(w).max(initial=0.0))
    if top == 0.0 or not math.isfinite(top):
        return np.zeros_like(w)
    w = w / top
    return w / float(np.linalg.norm(w))
