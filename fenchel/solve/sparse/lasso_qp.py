"""An L1-penalised quadratic: coordinate descent for the support, then Newton's step on it.

minimise ½ w'Hw + g·w + a‖w‖₁ + b|w|²/2
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from fenchel.convex.penalty import Penalty

Floats = NDArray[np.float64]
ROUNDS = 12
EASY = 3  # of those, before columns count as dependent
# Multiplications of an exchange, and some for each entry of G. A change of the support of m entries
# takes m²: a thousand for each entry are enough, and where columns all but depend on each other the
# support may never settle.
WORK, CHANGES = 2e8, 1e3


@dataclass(frozen=True, slots=True)
class L1L2Part:
    """a|w|₁ + b|w|²/2, on w ≥ 0 alone where positive, one entry at a time."""

    a: float
    b: float
    positive: bool

    @classmethod
    def of(cls, penalty: Penalty) -> L1L2Part:
        return cls(penalty.l1, penalty.l2, penalty.positive)

    def value(self, w: Floats) -> float:
        return self.a * float(np.abs(w).sum()) + 0.5 * self.b * float(np.vdot(w, w))

    def size(self, g: Floats) -> Floats:
        """What of a gradient pushes an entry away from zero."""
        return -g if self.positive else np.abs(g)

    def violation(self, g: Floats, w: Floats) -> Floats:
        """The distance of -g from the subdifferential at w."""
        there = np.abs(g + self.b * w + self.a * np.sign(w))
        return np.where(w != 0.0, there, np.maximum(self.size(g) - self.a, 0.0))


def solve_lasso_qp(G: Floats, g: Floats, w: Floats, corners: L1L2Part, limit: float) -> Floats:
    """argmin_u g·(u - w) + (u - w)'G(u - w)/2 + a|u|₁ + b|u|²/2, within `limit` of its slopes.

    G may be the corner of a larger array in C order. Coordinate descent runs for about as long as
    a Cholesky factor of the support takes, then comes a Newton step on the support. Where columns
    all but depend on each other neither ends soon, and the support is changed entry by entry. Where
    rounding has made G indefinite there may be no minimum: w is the answer.
    """
    from fenchel.solve.sparse.compiled import gram_descent

    a, b, positive = corners.a, corners.b, corners.positive
    start, g, w, m = w, g.copy(), w.copy(), len(w)
    if not m:
        return w
    last = math.inf
    for turn in range(ROUNDS):
        before = int(np.count_nonzero(w))
        epochs = 5 + before * before // (30 * m)
        gram_descent(G, g, w, a, b, positive, limit, epochs)
        if float(corners.violation(g, w).max()) <= limit:
            break
        if turn < EASY:
            _newton_on_support(G, g, w, corners)
        else:
            _active_set(G, g, w, corners, limit)
            miss = float(corners.violation(g, w).max())
            if miss <= limit or miss > 0.5 * last:
                break
            last = miss
    return w if np.isfinite(w).all() else start.copy()


def _newton_on_support(G: Floats, g: Floats, w: Floats, corners: L1L2Part) -> None:
    """Newton's step on the support, or the part of it that descends, with zero for what would
    change its sign."""
    A, m = np.flatnonzero(w), len(w)
    if not len(A):
        return
    u = w[A]
    step = _newton(G[np.ix_(A, A)], corners.b, g[A] + corners.a * np.sign(u) + corners.b * u)
    if step is None:
        return
    crossing = (u + step) * u <= 0.0
    first = float(np.min(-u[crossing] / step[crossing], initial=1.0))
    t = 1.0
    while True:  # at the first change of sign the step is inside the orthant, and a descent
        there = u + t * step
        new = np.where(there * u > 0.0, there, 0.0)
        if t == first:
            new[crossing & (np.abs(there) <= 1e-12 * np.abs(u))] = 0.0
        bent = (new - u) @ G[A, :m]
        gain = float((g[A] + 0.5 * bent[A]) @ (new - u)) + corners.value(new) - corners.value(u)
        if gain < 0.0 or t <= first:
            break
        t = max(0.5 * t, first)
    w[A] = new
    g += bent


def _active_set(G: Floats, g: Floats, w: Floats, corners: L1L2Part, limit: float) -> None:
    """The minimum itself, but for rounding, by changes of single entries of the support."""
    from fenchel.solve.sparse.active_set.compiled import DEPENDENT, active_set_descent

    m, b = len(w), corners.b
    bend = np.diagonal(G)[:m] + b
    A = np.flatnonzero((w != 0.0) & (bend > 0.0))  # a column of zeros has no part in the factor
    root = np.sqrt(bend[A])
    K = G[np.ix_(A, A)] / np.multiply.outer(root, root)
    np.fill_diagonal(K, 1.0)
    L, order = np.empty((m, m)), np.empty(m, np.int64)
    rank = 0
    if len(A):
        factor, pivots, rank, _ = linalg.lapack.dpstrf(K, tol=DEPENDENT, lower=1, overwrite_a=1)
        A, root = A[pivots - 1], root[pivots - 1]
        L[:rank, :rank] = root[:rank, None] * factor[:rank, :rank]
    order[: len(A)] = A
    work = min(WORK, CHANGES * m**3) + 200.0 * m * len(A)
    a, positive = corners.a, corners.positive
    rest, room, shut = A[rank:].copy(), np.empty((6, m)), np.empty(m, np.bool_)
    active_set_descent(G, g, w, L, order, rank, rest, a, b, positive, limit, work, room, shut)


def _newton(H: Floats, b: float, slope: Floats) -> Floats | None:
    """-(H + b)⁻¹ slope; columns that depend on each other are held by as little as it takes."""
    diagonal = np.diagonal(H) + b
    for held in (0.0, 1e-12, 1e-9):
        try:
            K = H.copy()
            np.fill_diagonal(K, diagonal + held * diagonal.max())
            factor = linalg.cho_factor(K, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            continue
        step: Floats = -linalg.cho_solve(factor, slope, check_finite=False)
        if np.isfinite(step).all():
            return step
    return None
