"""Huber's loss with its scale found beside the coefficients: one convex problem, and its dual.

A(w, b, σ) = Σ sᵢ(σ + σ H(rᵢ/σ)) + α|w|²,  r = y - Φw - b,  σ > 0,  Σ s = 1
H(t) = t² for |t| ≤ ε, 2ε|t| - ε² beyond

σ + σH(r/σ) is the perspective of 1 + H, so A is convex in (w, b, σ) together. For |θ| ≤ 2ε Fenchel
and Young give H(t) ≥ θt - θ²/4, hence σ + σH(r/σ) ≥ θr + σ(1 - θ²/4). Summed, for every θ with
|θᵢ| ≤ 2ε and Σ sᵢθᵢ²/4 ≤ 1 (the factor of σ is then not negative), every (w, b) to measure from and
every other point (w + Δ, b + δ, σ):

A(w + Δ, b + δ, σ) ≥ Σ sθr + α|w|² - ⟨p, Δ⟩ - q δ + α|Δ|²,  p = Φ*(sθ) - 2αw,  q = Σ sθ

What is left of p and q is charged: -⟨p, Δ⟩ + α|Δ|² ≥ -|p|²/(4α); and where M = Σ mᵢ x̃ᵢx̃ᵢ' for any
mᵢ ≤ sᵢ, x̃ = (x, 1), and Mv = (p, q), then |⟨(p, q), (Δ, δ)⟩| ≤ maxᵢ|x̃ᵢ·v| Σ sᵢ|x̃ᵢ·(Δ, δ)|. That
sum is at most Σ s|r| + A/2 where A is the value reached, since 2|r| ≤ σ + σH(r/σ) for ε ≥ 1. What
rounding adds to that: `certification.scale_proof`.

Reference: Huber, Robust Statistics (1981), section 7.8; Owen, A robust hybrid of lasso and ridge
regression (2007).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.convex.certification.coordinates import is_on_host
from fenchel.convex.certification.dual_point import PointValue
from fenchel.convex.certification.scale_proof import ScaleProof, prove, prove_given
from fenchel.convex.certification.scale_sums import (
    DualPlan,
    ScaleEvidence,
    in_pairs,
    row_sums,
    seen_of,
    slope_of,
    value_of,
)
from fenchel.convex.hessian.dense import HessianFactor, PSDFactor
from fenchel.convex.loss.distance import Huber
from fenchel.data.arrays import Array, to_float64, to_numpy
from fenchel.data.blocks import Block, Totals
from fenchel.data.design.block_products import adjoint, forward, weighted_gram
from fenchel.data.design.matrix import MatrixDesign

Floats = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)
ROUGH = 1e-12  # of a value, which is then made in pairs of floats


@dataclass(frozen=True, slots=True, eq=False)
class ScalePoint:
    """A point (w, b, σ)."""

    w: Floats
    b: float
    sigma: float


@dataclass(frozen=True, slots=True, eq=False)
class ScaleHessian:
    """The Hessian's gram matrices at a point: of (x - centre, 1), and beside them that of t = r/σ.

    gram Σ m x̃x̃', cross Σ m x̃t, square Σ mt², where m = s for |t| ≤ ε, else s·share·ε/|t|.
    """

    gram: Floats
    cross: Floats
    square: float
    centre: Floats
    share: float

    def factor(self, problem: ScaledHuber, at: ScalePoint, extra: float) -> PSDFactor | SplitFactor:
        """(2/σ) [gram, cross; cross', square] + 2α on w + extra on σ, factored.

        A is homogeneous in (r, σ): where a plane meets all rows its Hessian vanishes along σ.
        """
        d, size = len(at.w), len(self.gram) + 1
        H = np.empty((size, size))
        H[:-1, :-1], H[-1, -1] = self.gram, self.square
        H[-1, :-1] = H[:-1, -1] = self.cross
        H *= 2.0 / at.sigma
        H[-1, -1] += extra
        ridge = np.zeros(size)
        ridge[:d] = 2.0 * problem.alpha
        root = PSDFactor.of(H + np.diag(ridge))
        return root if root.chol is not None or not ridge.any() else SplitFactor.of(H, ridge)


@dataclass(frozen=True, slots=True, eq=False)
class SplitFactor:
    """H + diag(ridge), H ≥ 0 so large that the ridge is lost in its rounding: solved apart on what
    H holds, and on what the ridge alone does."""

    scale: Floats
    held: Floats
    free: Floats
    first: PSDFactor
    cross: Floats
    second: PSDFactor

    @classmethod
    def of(cls, H: Floats, ridge: Floats) -> SplitFactor:
        diagonal = np.diagonal(H) + ridge
        scale = np.where(diagonal > 0.0, diagonal, 1.0) ** -0.5
        values, V = np.linalg.eigh(H * scale[:, None] * scale)
        keep = values > 16.0 * len(H) * EPS * max(values[-1], 1.0)
        keep[-1] = True
        held, free = V[:, keep], V[:, ~keep]
        small = (scale * scale * ridge)[:, None]
        first = PSDFactor.of(np.diag(values[keep]) + held.T @ (small * held))
        cross = free.T @ (small * held)
        turned = np.stack([first.solve(row) for row in cross], axis=1) if len(cross) else cross.T
        return cls(
            scale, held, free, first, cross, PSDFactor.of(free.T @ (small * free) - cross @ turned)
        )

    def solve(self, g: Floats) -> Floats:
        g = g * self.scale
        a = self.first.solve(self.held.T @ g)
        if not len(self.cross):
            return np.asarray(self.scale * (self.held @ a))
        c = self.second.solve(self.free.T @ g - self.cross @ a)
        a = a - self.first.solve(self.cross.T @ c)
        return np.asarray(self.scale * (self.held @ a + self.free @ c))


@dataclass(frozen=True)
class ScaledHuber:
    """A(w, b, σ) as above: eps ≥ 1, α ≥ 0, the weights of the design made to sum to one."""

    eps: float
    alpha: float
    design: MatrixDesign
    intercept: bool = True

    @property
    def table(self) -> MatrixDesign:
        """The rows, written down."""
        return self.design

    def evaluate(self, at: ScalePoint) -> ScaleEvidence:
        """Value and gradient, in float64, in one pass."""
        w, b, sigma, eps = at.w, at.b, at.sigma, self.eps

        def rows(y: Array, scores: list[Array], s: Array | None) -> tuple[Array, Totals]:
            z = scores[0]
            r = to_float64(y) - z
            with np.errstate(over="ignore"):  # of a scale near the least positive number
                t = r / sigma
            return row_sums(2.0 * t.clip(-eps, eps), r, z, s)

        seen = self._seen(self.design.sweep([(w, b)], rows, exact=True))
        # At θ = H'(t) Fenchel and Young agree: σ + σH(t) = θr + σ(1 - θ²/4).
        value = seen.along + sigma * (1.0 - seen.square) + self.alpha * float(w @ w)
        return replace(seen, value=value)

    def gradient(self, at: ScalePoint, seen: ScaleEvidence) -> Floats:
        """∇A in w, b and σ, as one vector; zero for b where there is no intercept."""
        level = -seen.grad_b if self.intercept else 0.0
        return np.append(2.0 * self.alpha * at.w - seen.grad_w, [level, 1.0 - seen.square])

    def rows(self, at: ScalePoint, share: float) -> Any:
        """A function of a block: X in float64, t = r/σ and m as in `ScaleHessian`, both in X's
        library."""
        w, b, sigma, eps = at.w, at.b, at.sigma, self.eps

        def of(block: Block) -> tuple[Array, Array, Array]:
            X = to_float64(block.X)
            with np.errstate(over="ignore"):
                t = (to_float64(block.y) - forward(X, w) - b) / sigma
            m = slope_of(t, eps, share)
            return X, t, m if block.weight is None else m * to_float64(block.weight)

        return of

    def bend(self, at: ScalePoint, centre: Floats, share: float = 0.0) -> ScaleHessian:
        """The curvature of the rows at a point, in one pass.

        On inliers ∇²(σH(r/σ)) = (2/σ) x̂x̂' with x̂ = (x, 1, t), and outliers have none. share of
        the curvature of a quadratic that lies above their loss may be lent to them.
        """
        of, weight, d = self.rows(at, share), self.design.weight, len(at.w)

        def stat(block: Block) -> Totals:
            X, t, m = of(block)
            mt = m * t
            return Totals(
                weighted_gram(X, m, centre), to_numpy(adjoint(X, mt)), float(mt.sum()),
                float((mt * t).sum()),
            )  # fmt: skip

        gram, cross, total, square = (part / weight for part in self.design.blocks.reduce(stat))
        cross = np.append(cross - centre * total, total)
        if not self.intercept:
            gram, cross = gram[:d, :d], cross[:d]
        return ScaleHessian(gram, cross, square, centre, share)

    def prove(
        self,
        at: ScalePoint,
        seen: ScaleEvidence | None = None,
        bend: ScaleHessian | None = None,
        enough: float = 1e-9,
    ) -> ScaleProof:
        """The duality gap at a point: θ is the gradient, made small enough for Σ sθ²/4 ≤ 1.

        bend, of this point or one near it, gives the matrix M of the proof. Where more than the
        relative gap `enough` is left, θ - (m/s) x̃·v is tried, for which p and q are zero but for
        the clipping of θ: Newton's step in the dual. Without M, θ is moved to Σ sθ = 0, and α = 0
        leaves nothing proved but A ≥ 0.
        """
        seen = self.evaluate(at) if seen is None else seen
        return prove(self, at, seen, bend, self.floor(), enough)

    def certify(
        self,
        at: ScalePoint,
        seen: ScaleEvidence | None = None,
        bend: ScaleHessian | None = None,
        enough: float = 1e-9,
    ) -> Certificate:
        return self.prove(at, seen, bend, enough).certificate

    def prove_by(self, at: ScalePoint, theta: Floats, enough: float = 1e-9) -> ScaleProof:
        """The duality gap at a point by a given dual point, one entry a row."""
        return prove_given(self, at, DualPlan(0.0, given=theta), self.floor(), enough)

    def value_at(self, at: ScalePoint) -> PointValue:
        """A and its rounding error, in pairs of floats where float64 would lose digits."""
        found = value_of(self, at, self.evaluate(at))
        if found.relative_error <= ROUGH or not self.design.blocks.of_first(is_on_host):
            return found
        known, _ = in_pairs(self, at, DualPlan(0.0).slopes(at, self.eps))
        return known if known.error < found.error else found

    def solver(self, bend: ScaleHessian) -> HessianFactor:
        """M, factored: Mv = (p, q) to rounding."""
        return HessianFactor(PSDFactor.of(bend.gram), bend.centre, self.intercept)

    def moved(self, at: ScalePoint, plan: DualPlan) -> ScaleEvidence:
        """The sums at θ - (m/s) x̃·v, clipped to |θ| ≤ 2ε."""
        assert plan.w is not None

        def rows(y: Array, scores: list[Array], s: Array | None) -> tuple[Array, Totals]:
            z, step = scores
            r = to_float64(y) - z
            return row_sums(plan.of_residuals(r, step, at, self.eps), r, z, s)

        return self._seen(self.design.sweep([(at.w, at.b), (plan.w, plan.b)], rows, exact=True))

    def _seen(self, found: Totals) -> ScaleEvidence:
        return seen_of(found, self.design.weight)

    def centred(self, at: ScalePoint) -> ScaleEvidence:
        """The sums with the gradient θ moved to Σ sθ = 0, if there is an intercept."""
        sigma, eps, loss = at.sigma, self.eps, Huber(2.0 * self.eps)

        def parts(y: Array, scores: list[Array]) -> tuple[Array, Array]:
            r = to_float64(y) - scores[0]
            with np.errstate(over="ignore"):
                return 2.0 * (r / sigma).clip(-eps, eps), r

        def count(y: Array, scores: list[Array], s: Array | None) -> tuple[Array, Totals]:
            theta, r = parts(y, scores)
            return 0.0 * theta, Totals(loss.centring_sums(r, theta, s))

        def moved(y: Array, scores: list[Array], s: Array | None) -> tuple[Array, Totals]:
            theta, r = parts(y, scores)
            return row_sums(
                theta if off is None else loss.centre_dual(r, theta, off), r, scores[0], s
            )

        off: Any = None
        if self.intercept:
            off = self.design.sweep([(at.w, at.b)], count, exact=True)[2]
        return self._seen(self.design.sweep([(at.w, at.b)], moved, exact=True))

    def floor(self) -> float:
        """The smallest value that tells a fit from an exact one: as under the square loss, a
        residual of √EPS of the spread 2 Σ s|y - ȳ| counts as zero."""
        middle = float(self.design.target[0]) if self.intercept else 0.0

        def stat(block: Block) -> float:
            r = abs(to_float64(block.y) - middle)
            return float(r.sum() if block.weight is None else to_float64(block.weight) @ r)

        return 2.0 * math.sqrt(EPS) * self.design.blocks.reduce(stat) / self.design.weight
