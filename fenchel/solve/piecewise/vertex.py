"""Straight losses under |w|₁ or no penalty, on small tables: the simplex method on the dual.

maximise  -Σ sᵢ (yᵢθᵢ + ε|θᵢ|)  over  low ≤ θ ≤ high, |Φ*(sθ)| ≤ a, Σ sθ = 0 where b is free,

whose multipliers are (w, b). It has d + 1 equations whatever n, and a vertex meets rows exactly
where columns that all but depend on one another keep Newton's method from doing so.

Reference: Barrodale and Roberts, An improved algorithm for discrete l₁ linear approximation,
SIAM J. Numer. Anal. 10 (1973); Koenker, Quantile Regression (2005), section 6.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from fenchel.convex.loss.base import PiecewiseLinear
from fenchel.convex.penalty import L1L2, L2, NonNegative, Penalty
from fenchel.convex.problem import Problem
from fenchel.data.arrays import is_sparse, to_float64, to_numpy
from fenchel.data.design.matrix import MatrixDesign, Point

Floats = NDArray[np.float64]
# Entries of a table up to which the simplex method takes a few hundredths of a second.
SMALL = 2**13


def has_vertex(problem: Problem) -> bool:
    """Whether the problem is a linear program that the simplex method solves at once."""
    design, loss = problem.design, problem.loss
    if not isinstance(design, MatrixDesign) or not design.blocks.local:
        return False
    straight = (
        isinstance(loss, PiecewiseLinear) and loss.smoothing == 0.0 and problem.targets is None
    )
    return straight and _box(problem.penalty) is not None and problem.work <= SMALL


def _box(penalty: Penalty) -> tuple[float, float] | None:
    """The domain of Ω* for each entry of Φ*(sθ); None where Ω* is not linear on it."""
    if isinstance(penalty, NonNegative):
        return 0.0, np.inf
    if isinstance(penalty, L2):
        return (0.0, 0.0) if penalty.lam == 0.0 else None
    if not isinstance(penalty, L1L2) or penalty.l2 > 0.0:
        return None
    return -penalty.l1, np.inf if penalty.positive else penalty.l1


def vertex(problem: Problem, y: Floats, s: Floats, centre: Floats) -> tuple[Point, Floats] | None:
    """(w, b) and θ of the better of two vertices; None where the method does not end well.

    y, s: targets and weights that sum to one; centre: near the columns, where b is free. A penalty
    so faint that its box is below the method's tolerance asks for θ in units of the box.
    """
    program = VertexProgram.of(problem, y, s, centre)
    found = [program.solve(unit) for unit in (1.0, program.faint) if unit > 0.0]
    whole = [each for each in found if each is not None]
    if not whole:
        return None
    proofs = [problem.certify(point, dual=theta) for point, theta in whole]
    return whole[int(np.argmin([proof.relative_gap for proof in proofs]))]


@dataclass(frozen=True, slots=True, eq=False)
class VertexProgram:
    """min m·(yθ + ε|θ|) over low ≤ θ ≤ high with Aθ in a box: A holds the columns about the centre,
    each of size one, times m, the weights over the largest, and m itself where b is free."""

    A: Floats
    m: Floats
    y: Floats
    width: float
    low: Floats
    high: Floats
    room: Floats  # the ends of the box (d, 2)
    size: Floats
    centre: Floats
    keep: NDArray[np.intp]
    n: int

    @classmethod
    def of(cls, problem: Problem, y: Floats, s: Floats, centre: Floats) -> VertexProgram:
        loss, design, box = problem.loss, problem.design, _box(problem.penalty)
        assert (
            isinstance(loss, PiecewiseLinear)
            and isinstance(design, MatrixDesign)
            and box is not None
        )
        X = to_float64(design.blocks.gather().X)
        X = to_numpy(X.toarray() if is_sparse(X) else X) - centre * problem.intercept
        keep = np.flatnonzero(s > 0.0)
        X, y, m = X[keep], y[keep], s[keep] / s.max()
        size = np.abs(X).max(axis=0, initial=0.0)
        size[size == 0.0] = 1.0
        A = (X / size).T * m
        A = np.vstack([A, m]) if problem.intercept else A
        low, high = (np.broadcast_to(end, m.shape) for end in loss.dual_interval(y))
        room = np.stack([np.full(len(size), end) / (size * s.max()) for end in box], axis=1)
        return cls(A, m, y, loss.dead_zone, low, high, room, size, centre, keep, len(s))

    @property
    def faint(self) -> float:
        """The size of the box, where the method's tolerance hides it; 0 where it does not."""
        ends = np.abs(self.room[np.isfinite(self.room)])
        top = float(ends.max(initial=0.0))
        return top if 0.0 < top < 1e-3 else 0.0

    def solve(self, unit: float) -> tuple[Point, Floats] | None:
        """(w, b) and θ, found in multiples of the unit."""
        m, d = self.m, len(self.size)
        A, cost = self.A, m * self.y
        low, high, signs = self.low, self.high, [1.0]
        if self.width > 0.0:  # θ = p - q
            A, cost = np.hstack([A, -A]), np.append(cost + m * self.width, m * self.width - cost)
            zero = np.zeros(len(m))
            low, high = np.append(zero, zero), np.append(self.high, -self.low)
            signs = [1.0, -1.0]
        slack = np.vstack([-np.eye(d), np.zeros((len(A) - d, d))])
        found = linprog(
            np.append(cost, np.zeros(d)),
            A_eq=sparse.csc_array(np.hstack([A, slack])),
            b_eq=np.zeros(len(A)),
            bounds=np.vstack([np.stack([low, high], axis=1), self.room]) / unit,
            method="highs-ds",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if found.x is None:
            return None
        parts = unit * found.x[: len(cost)].reshape(len(signs), -1)
        theta = np.asarray(signs) @ parts
        theta, beta = self._refined(theta, np.asarray(found.eqlin.marginals), 1e-9 * unit)
        whole = np.zeros(self.n)
        whole[self.keep] = theta
        w = beta[:d] / self.size
        return (w, float(beta[d] - self.centre @ w) if len(beta) > d else 0.0), whole

    def _refined(self, theta: Floats, beta: Floats, near: float) -> tuple[Floats, Floats]:
        """The vertex of the same basis to all digits: Aθ is at the end of the box in the columns
        that have coefficients, and rows whose θ is at neither end are met exactly."""
        A, m, d = self.A, self.m, len(self.size)
        inside = (theta > self.low + near) & (theta < self.high - near)
        straight = np.where(theta < 0.5 * (self.low + self.high), self.low, self.high)
        if self.width > 0.0:
            inside &= np.abs(theta) > near
            straight = np.where(np.abs(theta) <= near, 0.0, straight)
        used = beta != 0.0
        used[d:] = True
        if not inside.any() or not used.any():
            return theta, beta
        ends = np.where(beta[:d] > 0.0, self.room[:, 0], self.room[:, 1])
        goal = np.append(ends, np.zeros(len(A) - d))
        B = A[np.ix_(used, inside)]
        target = self.y[inside] + self.width * np.sign(theta[inside])
        dual, primal = np.where(inside, theta, straight), beta.copy()
        for _ in range(3):
            miss = m[inside] * target - A[:, inside].T @ primal
            dual[inside] += np.linalg.lstsq(B, goal[used] - A[used] @ dual, rcond=None)[0]
            primal[used] += np.linalg.lstsq(B.T, miss, rcond=None)[0]
        if not (np.isfinite(dual).all() and np.isfinite(primal).all()):
            return theta, beta
        return np.clip(dual, self.low, self.high), primal + 0.0
