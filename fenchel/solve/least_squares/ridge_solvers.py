"""Ridge regression by its normal equations, primal or dual, with iterative refinement.

A factor of X̃'SX̃ + αI (d x d), or of S^½X̃X̃'S^½ + αI (n x n) where there are more columns than
rows, proposes; the gradient over all rows corrects it until the certificate closes.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from fenchel.convex.problem import Evaluation, Problem
from fenchel.data.arrays import Array, is_sparse, like, to_float64, to_numpy
from fenchel.data.blocks import Blocks
from fenchel.data.design.block_products import adjoint, forward
from fenchel.data.design.matrix import Point
from fenchel.solve.least_squares.moments import EPS, RegressionMoments
from fenchel.solve.least_squares.scaling import Scaling
from fenchel.solve.least_squares.tsqr import TSQR
from fenchel.solve.line_search import ridge
from fenchel.solve.needs import ExplicitRows, RidgePenalty, RowLosses, SquareLoss
from fenchel.solve.solver import Solver, State

Floats = NDArray[np.float64]
_PIVOT = 1e-7  # of a unit diagonal; below, the Gram matrix has lost half of the digits
_TILE = 2048  # columns taken at a time into an n x n product


class NormalEquations(Solver):
    """What the two forms share: what they need and when they stop."""

    needs: ClassVar = (RowLosses, SquareLoss, RidgePenalty, ExplicitRows)
    moves: ClassVar[bool] = False  # the survey that it holds is of these rows

    def step(self, problem: Problem, state: State) -> State:
        new = self._corrected(problem, state)
        if new.decrement > 0.25 * state.decrement:  # rounding is all that is left
            # One refinement in the same precision makes the backward error small entry by entry
            # (Skeel, Math. Comp. 35, 1980): coefficients far smaller than the others get their
            # digits from it, though the decrement, which is noise by now, may rise a little.
            return replace(new if new.decrement < 4.0 * state.decrement else state, stalled=True)
        return new

    @abstractmethod
    def _corrected(self, problem: Problem, state: State) -> State: ...


@dataclass(frozen=True, slots=True, eq=False)
class ScaledCholesky:
    """R with R'R = U⁻¹HU⁻¹, U = diag(unit): a factor of H that no scale of the columns spoils."""

    R: Floats
    unit: Floats
    floor: float

    def solve(self, G: Floats) -> Floats:
        """H⁻¹G for G (d, K)."""
        unit = self.unit[:, None]
        return linalg.cho_solve((self.R, False), G / unit, check_finite=False) / unit

    @property
    def condition(self) -> float:
        """An estimate of that of U⁻¹HU⁻¹."""
        rcond, _ = linalg.lapack.dtrcon(self.R)
        return float(rcond) ** -2 if rcond > 0.0 else np.inf


@dataclass(frozen=True, slots=True, eq=False)
class PrimalRidge(NormalEquations):
    """(X̃'SX̃ + αI) w = X̃'Sỹ from one pass, b = ȳ - x̄·w. Holds d² numbers and no rows.

    Where the Gram matrix is too ill-conditioned, one more pass makes the triangular factor of the
    rows themselves.

    Parameters: found, the survey of the problem's rows with their scatter; columns, those of its
    targets that the problem has.

    Reference: Björck, Numerical methods for least squares problems, 1996, sections 2.2 and 2.9.
    """

    found: RegressionMoments
    columns: NDArray[np.int64]

    def init(self, problem: Problem, start: Any) -> State:
        factor, w = self._factor(problem)
        found = self.found
        b = np.zeros(len(self.columns))
        if problem.intercept:
            b = found.mean[found.d + self.columns] - found.mean[: found.d] @ w
        return self._at(problem, factor, w, b)

    def _factor(self, problem: Problem) -> tuple[ScaledCholesky, Floats]:
        found, alpha = self.found, ridge(problem) * self.found.weight
        floor = EPS * max(0.5 * float(found.size()[self.columns].sum()), EPS)
        H, cross = found.gram(problem.intercept)
        cross = cross[:, self.columns]
        H.flat[:: found.d + 1] += alpha
        unit = np.sqrt(np.diagonal(H))
        H /= unit
        H /= unit[:, None]
        try:
            R = linalg.cholesky(H, overwrite_a=True, check_finite=False)
            if np.diagonal(R).min() > _PIVOT:
                factor = ScaledCholesky(R, unit, floor)
                return factor, factor.solve(cross)
        except linalg.LinAlgError:
            pass
        A, right = triangle(_blocks(problem), found, problem.intercept)
        stacked = np.concatenate([A / unit, np.diag(np.sqrt(alpha) / unit)])
        Q, R = linalg.qr(stacked, mode="economic", check_finite=False)
        image = Q[: len(A)].T @ right[:, self.columns]
        w = linalg.solve_triangular(R, image, check_finite=False) / unit[:, None]
        return ScaledCholesky(R, unit, floor), w

    def _corrected(self, problem: Problem, state: State) -> State:
        factor: ScaledCholesky = state.memory
        w, b = _wide(state.point)
        _, level, step = self._gradient(problem, factor, state.point, state.seen)
        if not problem.intercept:
            return self._at(problem, factor, w - step, b)
        return self._at(problem, factor, w - step, b - level + self.found.mean[: len(w)] @ step)

    def _gradient(
        self, problem: Problem, factor: ScaledCholesky, point: Point, seen: Evaluation
    ) -> tuple[Floats, Floats, Floats]:
        """∇P in the coordinates of centred rows, and the Newton step H⁻¹∇P."""
        w, _ = _wide(point)
        pull, level = _wide((seen.grad_w, seen.grad_b))
        g = pull + ridge(problem) * w
        if problem.intercept:
            g -= np.outer(self.found.mean[: len(w)], level)
            g[~self.found.free] = 0.0  # the coefficient of a constant stays 0
        return g, level, factor.solve(g) * self.found.weight

    def _at(self, problem: Problem, factor: ScaledCholesky, w: Floats, b: Floats) -> State:
        point = _narrow(problem, w, b)
        seen = problem.evaluate(point, exact=True)
        g, level, step = self._gradient(problem, factor, point, seen)
        square = float(level @ level) if problem.intercept else 0.0
        return State(point, seen, 0.5 * (max(float(np.vdot(g, step)), 0.0) + square), False, factor)


def triangle(blocks: Blocks, found: RegressionMoments, intercept: bool) -> tuple[Floats, Floats]:
    """R and t with |Rw - t|² = Σ s (ỹ - x̃·w)² up to a constant, by orthogonal steps."""
    d = found.d
    stat = TSQR.of(Scaling(np.zeros(d, np.int64)), found.mean, intercept)
    R = blocks.reduce(stat).R
    if not intercept:
        return R[:, :d], R[:, d + 1 :]
    A = R[1:, 1 : d + 1].copy()
    A[:, ~found.free] = 0.0
    return A, R[1:, d + 1 :]


def _wide(point: Point) -> tuple[Floats, Floats]:
    """(w, b) as (d, K) and (K,)."""
    w, b = point
    return (w[:, None] if w.ndim == 1 else w), np.atleast_1d(np.asarray(b, np.float64))


def _narrow(problem: Problem, w: Floats, b: Floats) -> Point:
    """(d, K) and (K,) as the problem has them."""
    return (w, b) if problem.targets is not None else (w[:, 0], float(b[0]))


@dataclass(frozen=True, slots=True, eq=False)
class DualIterate:
    """The multipliers c (n, K) of a point w = X̃'S^½c, and how far αc is from the residual."""

    c: Floats
    off: Floats
    factor: Any
    condition: float
    floor: float


@dataclass(frozen=True, slots=True, eq=False)
class DualRidge(NormalEquations):
    """(S^½X̃X̃'S^½ + αI) c = S^½ỹ, w = X̃'S^½c. Holds n² numbers and n-vectors.

    Parameters: found, the survey of the problem's rows; columns, those of its targets that the
    problem has; gram, S^½X̃X̃'S^½; root, √s; y (n, K), the problem's targets.

    Reference: Saunders, Gammerman, Vovk, Ridge regression learning algorithm in dual variables,
    1998.
    """

    found: RegressionMoments
    columns: NDArray[np.int64]
    gram: Floats
    root: Floats
    y: Floats

    def init(self, problem: Problem, start: Any) -> State:
        alpha = ridge(problem) * self.found.weight
        factor: Any = self.factor(alpha, problem.intercept)
        if factor is None:
            values, vectors = linalg.eigh(self.gram, check_finite=False)
            factor = np.maximum(values, 0.0) + alpha, vectors
        c = self._solve(factor, self.root[:, None] * self._residual(problem, None))
        size = 0.5 * float(self.found.size()[self.columns].sum())
        condition = 1.0 + float(np.abs(self.gram).sum(axis=0).max()) / alpha
        memory = DualIterate(c, c, factor, condition, EPS * max(size, EPS))
        return self._at(problem, memory, c)

    def factor(self, alpha: float, intercept: bool) -> Floats | None:
        """The Cholesky factor, or None where too few of its digits would be right."""
        K = self.gram + level(self.gram, self.root) if intercept else self.gram.copy()
        K.flat[:: len(K) + 1] += alpha
        top = float(np.abs(K).sum(axis=0).max())
        if not top < np.inf:
            return None
        try:
            L = linalg.cholesky(K, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            return None
        return L if np.diagonal(L).min() > _PIVOT * np.sqrt(top) else None

    def _solve(self, factor: Any, right: Floats) -> Floats:
        if isinstance(factor, tuple):
            values, vectors = factor
            return vectors @ ((vectors.T @ right) / values[:, None])
        return linalg.cho_solve((factor, True), right, check_finite=False)

    def _residual(self, problem: Problem, point: Point | None) -> Floats:
        """y - Xw - b, at (0, ȳ) where no point is given; its weighted mean taken off."""
        r = self.y
        if point is not None:
            w, b = _wide(point)
            r = r - scores(_blocks(problem), w) - b
        if problem.intercept:
            s = self.root**2
            r = r - (s @ r) / s.sum()
        return r

    def _corrected(self, problem: Problem, state: State) -> State:
        memory: DualIterate = state.memory
        return self._at(problem, memory, memory.c + self._solve(memory.factor, memory.off))

    def _at(self, problem: Problem, memory: DualIterate, c: Floats) -> State:
        found, weight = self.found, self.found.weight
        mean = found.mean[: found.d] if problem.intercept else np.zeros(found.d)
        w = weighted_adjoint(_blocks(problem), self.root[:, None] * c, mean)
        b = np.zeros(w.shape[1])
        if problem.intercept:
            b = found.mean[found.d + self.columns] - mean @ w
        point = _narrow(problem, w, b)
        off = self.root[:, None] * self._residual(problem, point) - ridge(problem) * weight * c
        seen = problem.evaluate(point, exact=True)
        # ∇P = -X̃'S^½ off / W, so that g'H⁻¹g = off' K (K + αI)⁻¹ off / W.
        gain = float(np.vdot(off, self.gram @ self._solve(memory.factor, off))) / weight
        if problem.intercept:
            gain += float(np.sum(np.square(seen.grad_b)))
        return State(point, seen, 0.5 * max(gain, 0.0), False, replace(memory, c=c, off=off))


def _blocks(problem: Problem) -> Blocks:
    return problem.table.blocks


def level(K: Floats, root: Floats) -> Floats:
    """τ rr'/r'r with τ above K's eigenvalues: lifts the direction that centring has emptied."""
    top = float(np.abs(K).sum(axis=0).max())
    return np.outer(root, root) * (2.0 * top / float(root @ root))


def scores(blocks: Blocks, w: Floats) -> Floats:
    """Xw in float64 for w (d, K), all rows at once."""
    return np.concatenate([to_numpy(forward(to_float64(block.X), w)) for block in blocks])


def weighted_adjoint(blocks: Blocks, c: Floats, mean: Floats) -> Floats:
    """(X - 1m')'c in float64 for c (n, K)."""
    total = -np.outer(mean, c.sum(axis=0))
    for block in blocks:
        X = to_float64(block.X)
        total += to_numpy(adjoint(X, like(c[block.start : block.start + block.n_rows], X)))
    return total


def row_gram(X: Array, root: Floats, centre: Floats | None) -> Floats:
    """S^½(X - 1m')(X - 1m')'S^½ (n, n), in tiles of columns; m = 0 where there is no centre."""
    mean = np.zeros(X.shape[1]) if centre is None else centre
    if is_sparse(X):
        X = to_float64(X)
        cross = X @ mean
        K = (X @ X.T).toarray() - cross[:, None] - cross + mean @ mean
    else:
        K = np.zeros((len(root), len(root)))
        for j in range(0, X.shape[1], _TILE):
            part = to_float64(X[:, j : j + _TILE])
            part = part - like(mean[j : j + _TILE], part)
            K += to_numpy(part @ part.T)
    K *= root
    K *= root[:, None]
    if centre is not None:  # what rounding left along the constant
        s = root / np.linalg.norm(root)
        side = K @ s
        K += np.outer(s, s) * float(s @ side) - np.outer(s, side) - np.outer(side, s)
    return K
