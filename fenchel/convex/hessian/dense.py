"""The Hessian of a problem as a matrix, and its factor.

Rows enter as x̃ = (x - centre, 1): slopes and intercept then hardly interact, and a column far
from zero costs no digits. The answer is given back in the coordinates of (w, b).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from fenchel.convex.rows.statistics import ClassPairs, LossCurvature
from fenchel.data.arrays import to_numpy
from fenchel.data.design.matrix import Point

if TYPE_CHECKING:
    from fenchel.convex.problem import Problem

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class HessianFactor:
    """A factored positive matrix of the augmented coordinates (w, b + centre·w)."""

    root: PSDFactor | UpdatedFactor
    centre: Floats
    intercept: bool

    def solve(self, g: Floats, level: Any) -> Point:
        """(Δw, Δb) with M (Δw, Δb) = (g, level)."""
        d = len(g)
        G = g
        if self.intercept:
            G = np.concatenate(
                [g - np.multiply.outer(self.centre, level), np.reshape(level, (1, *g.shape[1:]))]
            )
        x = self.root.solve(G.T.reshape(-1) if G.ndim == 2 else G)
        x = x.reshape(G.T.shape).T if G.ndim == 2 else x
        dw = np.ascontiguousarray(x[:d])
        if not self.intercept:
            return dw, np.zeros_like(level) if np.ndim(level) else 0.0
        return dw, x[d] - self.centre @ dw


@dataclass(frozen=True, slots=True)
class PSDFactor:
    """A symmetric positive semidefinite H = D^½ R D^½ with unit diagonal R, factored."""

    scale: Floats
    chol: Floats | None
    vectors: Floats | None = None
    values: Floats | None = None

    @classmethod
    def of(cls, H: Floats) -> PSDFactor:
        diagonal = np.diagonal(H).copy()
        scale = np.where(diagonal > 0.0, diagonal, 1.0) ** -0.5
        R = H * scale[:, None] * scale
        # LAPACK itself: `cho_factor` of SciPy 1.18 takes three times as long at 500 columns.
        chol, info = linalg.lapack.dpotrf(R, lower=1, clean=0)
        # Of a unit diagonal: condition below about 1e14.
        if info == 0 and np.diagonal(chol).min() > 1e-7:
            return cls(scale, chol)
        values, vectors = linalg.eigh(R, check_finite=False)
        keep = values > len(R) * np.finfo(float).eps * max(values[-1], 1.0)
        return cls(scale, None, vectors[:, keep], values[keep])

    def solve(self, g: Floats) -> Floats:
        g = g * self.scale
        if self.chol is not None:
            x, _ = linalg.lapack.dpotrs(self.chol, g, lower=1)
        else:  # the least step that does all the good: nothing along flat directions
            assert self.vectors is not None and self.values is not None
            x = self.vectors @ ((self.vectors.T @ g) / self.values)
        return x * self.scale

    def updated(self, U: Floats, signs: Floats) -> UpdatedFactor | None:
        """H + U diag(signs) U' for the few columns of U, signs ±1: a triangular solve, k m²
        operations for m x k. None where that is not positive definite, or H is not by its factor.
        """
        if self.chol is None:
            return None
        W, _ = linalg.lapack.dtrtrs(self.chol, self.scale[:, None] * U, lower=1)
        middle = np.diag(signs) + W.T @ W
        # By Haynsworth's inertia formula H + UDU' ≻ 0 if the middle has as many negative
        # eigenvalues as D.
        values, vectors = linalg.eigh(middle, check_finite=False)
        if np.count_nonzero(values < 0.0) != np.count_nonzero(signs < 0.0):
            return None
        if len(values) and np.abs(values).min() <= 1e-7 * np.abs(values).max():
            return None  # digits that a new factor would keep
        return UpdatedFactor(self, W, values, vectors)


@dataclass(frozen=True, slots=True)
class UpdatedFactor:
    """(H + UDU')⁻¹ = S L⁻ᵀ(I - W(D + W'W)⁻¹W')L⁻¹ S with H = S⁻¹LL'S⁻¹ and W = L⁻¹SU.

    Reference: Hager, Updating the inverse of a matrix, SIAM Review 31 (1989).
    """

    base: PSDFactor
    W: Floats
    values: Floats
    vectors: Floats

    def solve(self, g: Floats) -> Floats:
        L, scale = self.base.chol, self.base.scale
        q, _ = linalg.lapack.dtrtrs(L, g * scale, lower=1)
        small = self.vectors @ ((self.vectors.T @ (self.W.T @ q)) / self.values)
        x, _ = linalg.lapack.dtrtrs(L, q - self.W @ small, lower=1, trans=1)
        return np.asarray(x * scale)


@dataclass(frozen=True, slots=True)
class LossHessian:
    """The loss's part of ∇²P before any penalty: the gram matrix of each class, then of each pair
    of classes. One pass; a factor for every penalty."""

    grams: tuple[Floats, ...]
    centre: Floats
    intercept: bool
    outputs: int | None

    def shrunk(self, rows: int) -> LossHessian:
        """The Hessian of a sample of so many rows, without its off-diagonal entries where these are
        within the sampling noise of independent columns.

        Of independent columns |R - I|² is about (d² + |R|²)/n, R being the slopes' part about the
        weighted mean, scaled to a unit diagonal. Shrinking by a share of it, as an estimate of a
        covariance would, spoils the small eigenvalues that a preconditioner is for.

        Reference: Ledoit and Wolf, 2004 (the share).
        """
        if self.outputs is not None:
            return self
        G = self.grams[0]
        d = len(G) - self.intercept
        slopes, shift = G[:d, :d], np.zeros(d)
        if self.intercept and G[d, d] > 0.0:
            shift = G[d, :d] / G[d, d]
            slopes = slopes - G[d, d] * np.outer(shift, shift)
        diagonal = np.diagonal(slopes)
        scale = np.where(diagonal > 0.0, diagonal, 1.0) ** -0.5
        size = float(np.square(slopes * scale[:, None] * scale).sum())
        if size - d > 2.0 * (d * d + size) / max(rows, 1):
            return self
        alone = np.diag(np.append(diagonal, G[d, d]) if self.intercept else diagonal)
        return replace(self, grams=(alone,), centre=self.centre + shift)

    def factor(self, ridge: Any) -> HessianFactor:
        """∇²P = curvature + ridge on the slopes, one number or one a column, factored."""
        K, size = self.outputs, len(self.grams[0])
        d = size - self.intercept
        grams = [g.copy() for g in self.grams]
        for H in grams[: K or 1]:
            H.flat[: d * (size + 1) : size + 1] += ridge
        if K is None:
            return HessianFactor(PSDFactor.of(grams[0]), self.centre, self.intercept)
        H = np.empty((K, size, K, size))
        pairs = iter(grams[K:])
        for k in range(K):
            H[k, :, k, :] = grams[k]
            for j in range(k + 1, K):
                H[k, :, j, :] = H[j, :, k, :] = -next(pairs)
        # Adding one vector to every class changes no probability: that direction is flat, but
        # for the penalty. Any positive curvature along it leaves the answer alone.
        flat = np.mean([np.diagonal(g) for g in grams[:K]], axis=0) / K
        flat[:d] *= ridge == 0.0
        for k in range(K):
            for j in range(K):
                H[k, :, j, :].flat[:: size + 1] += flat
        return HessianFactor(
            PSDFactor.of(H.reshape(K * size, K * size)), self.centre, self.intercept
        )


def curvature(problem: Problem, point: Point, centre: Floats) -> LossHessian:
    """The loss's curvature at a point, all of it: one pass."""
    design, loss, K = problem.table, problem.loss, problem.outputs
    size = design.dimension + problem.intercept

    of_rows = LossCurvature(loss) if K is None else ClassPairs(loss)
    raw = design.gram(point, of_rows, centre if problem.intercept else None) / design.weight
    grams = tuple(H[:size, :size] for H in (raw[None] if K is None else raw))
    return LossHessian(grams, centre, problem.intercept, K)


def column_centre(problem: Problem) -> Floats:
    """A point near the mean of the rows: zero where rows are sparse or there is no intercept."""
    design = problem.table
    if not problem.intercept or design.blocks.sparse:
        return np.zeros(design.dimension)
    rows = design.blocks.sample(256).gather().X
    return to_numpy(rows).mean(axis=0)
