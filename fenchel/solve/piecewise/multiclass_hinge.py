"""Semismooth Newton augmented Lagrangian for the multiclass hinge of Crammer and Singer.

minimise over (W, b):  Σ sᵢ l(yᵢ, xᵢW + b) + λ|W|²/2,  l(y, z) = maxₖ (1[k ≠ y] + zₖ) − z_y

About multipliers θ, one point of the dual domain a row, the loss becomes smooth,

    e(z) = max_t t·z − l*(y, t) − μ|t − θ|²/2,   ∇e = t = proj(θ + e_y + (z + 1 − e_y)/μ) − e_y

with proj the projection onto the simplex. Newton's steps minimise it: its curvature is J/μ, where
J = diag(a) − aa'/|a| for the classes a that have a positive share of t + e_y, so that only rows
between two classes or more count. Where it is solved t is the next θ, always dual feasible, and μ
falls. Σ sᵢt = 0 for a free intercept follows from the optimality of b.

Reference: Li, Sun and Toh, A highly efficient semismooth Newton augmented Lagrangian method for
solving lasso problems, SIAM J. Optim. 28 (2018); Crammer and Singer, JMLR 2 (2001).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize

from fenchel.convex.loss.multiclass import MulticlassHinge
from fenchel.convex.penalty import L2
from fenchel.convex.problem import EPS, Evaluation, Problem
from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.design.matrix import Point
from fenchel.solve.line_search import ridge
from fenchel.solve.needs import CrammerSinger, ExplicitRows, PositiveL2, RowLosses
from fenchel.solve.piecewise.simplex_ascent import simplex_ascent
from fenchel.solve.smooth.newton_cg import conjugate_gradients
from fenchel.solve.solver import Solver, State

Floats = NDArray[np.float64]
MARGINS = 500  # pairs of a row and a class at the margin that least squares may weigh
STRONGER = 100.0  # from one penalty to the next; 10 to 1e4 take about as long on separable rows


@dataclass(frozen=True, slots=True, eq=False)
class Envelope:
    """The smooth problem about θ at a point: its scores, its slopes t, and its gradient."""

    y: NDArray[np.int64]
    s: Floats
    theta: Floats
    mu: float
    z: Floats
    t: Floats
    grad_w: Floats  # of the loss alone
    grad_b: Floats
    tried: int = 0
    idle: int = 0
    best: float = math.inf

    @property
    def shares(self) -> Floats:
        """q = t + e_y."""
        q = self.t.copy()
        q[np.arange(len(q)), self.y] += 1.0
        return q


@dataclass(frozen=True, slots=True)
class MulticlassLagrangian(Solver):
    """Semismooth Newton steps on envelopes of the multiclass hinge. L2 penalty.

    goal: the relative gap to aim at; largest: the unknowns up to which Newton's matrix is written
    down, beyond which conjugate gradients solve with products; tries: Newton steps for one θ.
    Holds three numbers a row and class on the driver, and the rows between two classes.
    """

    goal: float = 1e-6
    largest: int = 2000
    tries: int = 30
    sample: bool = True
    needs: ClassVar = (RowLosses, CrammerSinger, PositiveL2, ExplicitRows)

    def init(self, problem: Problem, start: Point | State | None) -> State:
        design = problem.table
        y = design.map_rows(problem.origin(), _target, exact=False).astype(np.int64)
        s = design.weights() / design.weight
        theta, mu = np.zeros((len(y), problem.loss.n_classes)), 0.0  # type: ignore[attr-defined]
        if isinstance(start, State):
            known = start.memory
            if isinstance(known, Envelope) and known.theta.shape == theta.shape:
                theta, mu = known.theta, known.mu
            there: Point = start.point
            start = there
        if start is None and design.blocks.local and self._is_wide(problem):
            found = simplex_ascent(problem, y, s, self.goal)
            here = _envelope(problem, y, s, found.theta, found.mu, found.z)
            pull, level = design.adjoint(s[:, None] * found.theta)
            here = replace(here, t=found.theta, grad_w=pull, grad_b=problem.intercept * level)
            return self._at(problem, found.point, replace(here, tried=self.tries))
        if start is None and self.sample:
            start = self._from_sample(problem)
        if start is None and ridge(problem) < 1e-6 * _square_length(problem):
            # Rows that planes separate: as the penalty falls they stay, and θ falls with it.
            last = self._from_stronger(problem)
            theta, mu = last.memory.theta / STRONGER, last.memory.mu
            above: Point = last.point
            start = above
        point = problem.origin() if start is None else start
        z = design.map_rows(point, _score)
        if mu == 0.0:
            # |t − θ|² ≤ 2: the envelope lies within μ of the loss.
            mu = max(0.3 * float(s @ problem.loss.value(y, z)), 1e-6)
        return self._at(problem, point, _envelope(problem, y, s, theta, mu, z))

    def _is_wide(self, problem: Problem) -> bool:
        """Whether rows one by one are cheaper: sparse ones, and Newton's matrix too large."""
        return problem.table.blocks.sparse and _unknowns(problem) > self.largest

    def _from_sample(self, problem: Problem) -> Point | None:
        """The optimum on some of the rows, as far as it says something of that on all."""
        n, size = problem.design.n_rows, _unknowns(problem)
        rows = max(n // 8, 8 * size, 2048)
        if 3 * rows > n:
            return None
        small = problem.sampled(rows)
        state = replace(self, sample=False).init(small, None)
        for _ in range(60):
            if state.stalled or state.decrement <= 0.1 * size / rows * abs(state.seen.value):
                break
            state = self.step(small, state)
        return state.point

    def _from_stronger(self, problem: Problem) -> State:
        """The optimum under a penalty STRONGER times as strong, to three digits."""
        stronger = replace(problem, penalty=L2(STRONGER * ridge(problem)))
        state = self.init(stronger, None)
        for _ in range(100):
            if state.stalled or state.decrement <= 1e-3 * abs(state.seen.value):
                break
            state = self.step(stronger, state)
        return state

    def sharpened(self, goal: float) -> MulticlassLagrangian:
        return replace(self, goal=goal)

    def step(self, problem: Problem, state: State) -> State:
        here: Envelope = state.memory
        point = state.point
        v = self._direction(problem, point, here)
        dz = problem.table.map_rows(v, _score)
        x = _search(problem, point, v, dz, here)
        there = (point[0] + x * v[0], point[1] + x * v[1])
        new = _envelope(problem, here.y, here.s, here.theta, here.mu, here.z + x * dz)
        new = replace(new, tried=here.tried + 1, idle=here.idle, best=here.best)
        return self._at(problem, there, new)

    def _at(self, problem: Problem, point: Point, here: Envelope) -> State:
        """New multipliers once the smooth problem is solved."""
        primal, blur, rest = _gaps(problem, point, here)
        gap = blur + rest
        seen = Evaluation(primal, here.grad_w, here.grad_b, np.zeros((2, len(point[1]))), False)
        solved = rest <= max(0.3 * blur, 0.1 * self.goal * abs(primal))
        if not solved and here.tried < self.tries:
            return State(point, seen, math.inf, False, here, here.t)
        idle = 0 if gap < 0.9 * here.best else here.idle + 1
        # Where Newton's method was slow a smaller μ would make it slower.
        mu = here.mu * (0.3 if here.tried < 5 else 0.6 if here.tried < 10 else 1.0)
        mu = max(mu, min(1e-9 * abs(primal), here.mu))
        # Scores that were added up along the steps have lost digits: made anew.
        z = problem.table.map_rows(point, _score)
        point, z, primal = _scaled_up(problem, point, here, z, primal)
        seen = replace(seen, value=primal)
        new = _envelope(problem, here.y, here.s, here.t, mu, z)
        new = replace(new, idle=idle, best=min(gap, here.best))
        dual = _dual_of_margins(problem, point, here, z) if gap < 0.1 * abs(primal) else None
        return State(point, seen, max(gap, 0.0), idle > 10, new, here.t if dual is None else dual)

    def _direction(self, problem: Problem, point: Point, here: Envelope) -> Point:
        """Newton's step −H⁻¹g, H = Σ sᵢ/μ x̃x̃' ⊗ Jᵢ + λ."""
        lam = ridge(problem)
        g = (here.grad_w + lam * point[0], here.grad_b)
        active = here.shares > 0.0
        count = active.sum(axis=1)
        h = np.where(count > 1, here.s / here.mu, 0.0)
        # Classes between which no row lies leave b without curvature, and adding one number to all
        # of b bends nothing: a term that vanishes with the gradient keeps the step bounded.
        lean = (1e-9 + 0.1 * float(np.abs(g[1]).max())) / here.mu
        if not h.any():  # every row is sure of its class: the penalty alone bends
            return -g[0] / lam, -g[1] / lean
        some = np.flatnonzero(h)
        X, a = problem.table.weighted_subset(h).blocks.gather().X, active[some].astype(np.float64)
        if _unknowns(problem) <= self.largest:
            X = to_numpy(X.toarray() if is_sparse(X) else X)
            return _newton(X, h[some], a, lam, lean, g, problem.intercept)
        return _newton_cg(X, h[some], a, lam, lean, g, problem.intercept)


def _scaled_up(
    problem: Problem, point: Point, here: Envelope, z: Floats, primal: float
) -> tuple[Point, Floats, float]:
    """The point, its scores and its value, or those of the shortest multiple that leaves no row any
    loss, where that is better: of separable rows rounding alone may keep the margin below one."""
    losses = problem.loss.value(here.y, z)[here.s > 0.0]
    top = float(losses.max(initial=0.0))
    if not 0.0 < top < 0.5:
        return point, z, primal
    factor = (1.0 + 4.0 * EPS) / (1.0 - top)
    w, b = factor * point[0], factor * point[1]
    value = float(here.s @ problem.loss.value(here.y, factor * z))
    value += 0.5 * ridge(problem) * float(np.vdot(w, w))
    return ((w, b), factor * z, value) if value < primal else (point, z, primal)


def _dual_of_margins(problem: Problem, point: Point, here: Envelope, z: Floats) -> Floats | None:
    """θ from the rows at the margin alone, where no row has a loss: Φ*(sθ) = -λW with θₖ ≥ 0, k ≠
    y.

    Such slopes may be far smaller than the units of rounding of the probabilities they are added
    to; as a problem of their own, in multiples of λ, they keep all digits. None where rows have
    losses, or too many lie at the margin.
    """
    lam, (w, _) = ridge(problem), point
    rows, size = np.arange(len(z)), 0.5 * lam * float(np.vdot(w, w))
    room = z[rows, here.y][:, None] - z - 1.0
    room[rows, here.y] = np.inf
    room[here.s <= 0.0] = np.inf
    near = room <= 1e-6 * (1.0 + float(np.abs(z).max()))
    lost = float(here.s @ np.maximum(-room.min(axis=1), 0.0)) if len(z) else 0.0
    pairs = np.argwhere(near)
    if not len(pairs) or len(pairs) > MARGINS or lost > 1e-3 * size:
        return None
    X = problem.table.blocks.take(np.unique(pairs[:, 0])).X
    X = to_numpy(X.toarray() if is_sparse(X) else X)
    place = np.searchsorted(np.unique(pairs[:, 0]), pairs[:, 0])
    d, K = w.shape
    A = np.zeros((d + problem.intercept, K, len(pairs)))
    Z = np.hstack([X, np.ones((len(X), 1))]) if problem.intercept else X
    at = np.arange(len(pairs))
    A[:, pairs[:, 1], at] += Z[place].T
    A[:, here.y[pairs[:, 0]], at] -= Z[place].T
    right = np.zeros((d + problem.intercept, K))
    right[:d] = -w
    A, right = A.reshape(-1, len(pairs)), right.reshape(-1)
    length = np.linalg.norm(A, axis=0)
    try:
        found, _ = optimize.nnls(A / length, right)
    except RuntimeError:  # too many exchanges
        return None
    theta = np.zeros_like(z)
    theta[pairs[:, 0], pairs[:, 1]] = lam * found / length / here.s[pairs[:, 0]]
    theta[rows, here.y] = -theta.sum(axis=1)
    return theta if float(-theta.min()) <= 1.0 else None


def _newton(
    X: Floats, h: Floats, a: Floats, lam: float, lean: float, g: Point, intercept: bool
) -> Point:
    """−H⁻¹g by Cholesky, in the coordinates (w, b + centre·w), where they hardly interact."""
    d, K = g[0].shape
    centre = h @ X / h.sum() if intercept else np.zeros(d)
    Z = np.hstack([X - centre, np.ones((len(X), 1))]) if intercept else X
    m, count = Z.shape[1], a.sum(axis=1)
    H = np.zeros((K, m, K, m))
    for k in range(K):
        for j in range(k, K):
            both = np.flatnonzero(a[:, k] * a[:, j])
            share = 1.0 / count[both]
            weight = h[both] * (1.0 - share if j == k else share)
            part = (Z[both] * weight[:, None]).T @ Z[both]
            H[k, :, j] = part if j == k else -part
            H[j, :, k] = H[k, :, j].T
    H = H.reshape(K * m, K * m)
    ridge = np.full((K, m), lam)
    if intercept:
        ridge[:, d] = lean
    H[np.diag_indices(K * m)] += ridge.ravel()
    right = g[0] - np.outer(centre, g[1]) if intercept else g[0]
    right = np.vstack([right, g[1]]) if intercept else right
    factor = linalg.cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
    u = -linalg.cho_solve(factor, right.T.ravel(), check_finite=False).reshape(K, m).T
    return (u[:d], u[d] - centre @ u[:d]) if intercept else (u, 0.0 * g[1])


def _newton_cg(
    X: Any, h: Floats, a: Floats, lam: float, lean: float, g: Point, intercept: bool
) -> Point:
    """−H⁻¹g by conjugate gradients, preconditioned by the diagonal."""
    d, count = g[0].shape[0], a.sum(axis=1)
    own = h[:, None] * a * (1.0 - 1.0 / count[:, None])
    squares = X.multiply(X) if is_sparse(X) else X * X
    diagonal = np.asarray(squares.T @ own) + lam
    levels = own.sum(axis=0) + lean

    def pack(w: Floats, b: Floats) -> Floats:
        return np.vstack([w, b]) if intercept else w

    def product(u: Floats) -> Floats:
        r = np.asarray(X @ u[:d]) + (u[d] if intercept else 0.0)
        r = a * (r - (a * r).sum(axis=1, keepdims=True) / count[:, None])
        r *= h[:, None]
        level = r.sum(axis=0) + lean * u[d] if intercept else r.sum(axis=0)
        return pack(np.asarray(X.T @ r) + lam * u[:d], level)

    scale = pack(diagonal, levels)
    right = pack(*g)
    u = -conjugate_gradients(product, lambda r: r / scale, right, 1e-3, 300)
    return (u[:d], u[d]) if intercept else (u, 0.0 * g[1])


def _envelope(
    problem: Problem, y: NDArray[np.int64], s: Floats, theta: Floats, mu: float, z: Floats
) -> Envelope:
    loss = problem.loss
    assert isinstance(loss, MulticlassHinge)
    t = loss.yosida(y, z, theta, mu)
    pull, level = problem.table.adjoint(s[:, None] * t)
    return Envelope(y, s, theta, mu, z, t, pull, level if problem.intercept else 0.0 * level)


def _search(problem: Problem, point: Point, v: Point, dz: Floats, here: Envelope) -> float:
    """Where the slope of the smooth objective along v has fallen to a tenth: doubled until it has
    changed its sign, then by regula falsi (Illinois). The objective is convex along the line."""
    loss, lam, w = problem.loss, ridge(problem), point[0]
    assert isinstance(loss, MulticlassHinge)
    straight, bend = lam * float(np.vdot(w, v[0])), lam * float(np.vdot(v[0], v[0]))

    def slope(x: float) -> float:
        t = loss.yosida(here.y, here.z + x * dz, here.theta, here.mu)
        return straight + x * bend + float(here.s @ (t * dz).sum(axis=1))

    first = slope(0.0)
    if not first < 0.0:
        return 0.0
    low, at_low, high = 0.0, first, 1.0
    at_high = slope(high)
    for _ in range(30):
        if at_high >= 0.1 * first:
            break
        low, at_low, high = high, at_high, 2.0 * high
        at_high = slope(high)
    x, at = high, at_high
    for _ in range(30):
        if abs(at) <= -0.1 * first or high - low <= 1e-12 * high:
            break
        x = (low * at_high - high * at_low) / (at_high - at_low)
        at = slope(x)
        if at < 0.0:
            low, at_low, at_high = x, at, 0.5 * at_high
        else:
            high, at_high, at_low = x, at, 0.5 * at_low
    return x


def _gaps(problem: Problem, point: Point, here: Envelope) -> tuple[float, float, float]:
    """P; Σ s (l(z) + l*(t) − t·z), what the envelope leaves; and what its minimum is missed by,
    |λW + X'(st)|²/(2λ) + Σ s t·b."""
    loss, lam, (w, b) = problem.loss, ridge(problem), point
    own = here.t[np.arange(len(here.t)), here.y]
    value = loss.value(here.y, here.z)
    blur = float(here.s @ (value + own - (here.t * here.z).sum(axis=1)))
    r = lam * w + here.grad_w
    # A b of a margin's length at least: at b = 0 a Σ s t that is not zero would cost nothing.
    stray = float(np.abs(here.grad_b) @ (1.0 + np.abs(b - np.mean(b))))
    primal = float(here.s @ value) + 0.5 * lam * float(np.vdot(w, w))
    return primal, max(blur, 0.0), float(np.vdot(r, r)) / (2.0 * lam) + stray


def _square_length(problem: Problem) -> float:
    """The mean square of a row's length, on a sample, about its mean where b is free."""
    X = problem.table.blocks.sample(256).gather().X
    X = to_numpy(X.toarray() if is_sparse(X) else X)
    return float(np.square(X - X.mean(axis=0) * problem.intercept).sum(axis=1).mean())


def _unknowns(problem: Problem) -> int:
    assert isinstance(problem.loss, MulticlassHinge)
    return (problem.design.dimension + problem.intercept) * problem.loss.n_classes


def _score(y: Any, z: Any) -> Any:
    return z


def _target(y: Any, z: Any) -> Any:
    return y
