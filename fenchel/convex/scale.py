"""Huber's loss with its scale found beside the coefficients: one convex problem, and its dual.

A(w, b, σ) = Σ sᵢ(σ + σ H(rᵢ/σ)) + α|w|²,  r = y - Φw - b,  σ > 0,  Σ s = 1
H(t) = t² for |t| ≤ ε, 2ε|t| - ε² beyond

σ + σH(r/σ) is the perspective of 1 + H, so A is convex in (w, b, σ) together. For |θ| ≤ 2ε Fenchel
and Young give H(t) ≥ θt - θ²/4, hence σ + σH(r/σ) ≥ θr + σ(1 - θ²/4). Summed, for every θ with
|θᵢ| ≤ 2ε and Σ sᵢθᵢ²/4 ≤ 1 (the factor of σ is then not negative), every (w, b) to measure from and
every other point (w + Δ, b + δ, σ):

A(w + Δ, b + δ, σ) ≥ Σ sθr + α|w|² - ⟨p, Δ⟩ - q δ + α|Δ|²,  p = Φ*(sθ) - 2αw,  q = Σ sθ

What is left of p and q is charged: -⟨p, Δ⟩ + α|Δ|² ≥ -|p|²/(4α); and where M = Σ mᵢ x̃ᵢx̃ᵢ' for any
mᵢ ≤ sᵢ, x̃ = (x, 1), and Mv = (p, q), then |⟨(p, q), (Δ, δ)⟩| ≤ maxᵢ|x̃ᵢ·v| Σ sᵢ|x̃ᵢ·(Δ, δ)|. That sum
is at most Σ s|r| + A/2 where A is the value reached, since 2|r| ≤ σ + σH(r/σ) for ε ≥ 1.

Reference: Huber, Robust Statistics (1981), section 7.8; Owen, A robust hybrid of lasso and ridge
regression (2007).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.convex.distance import Huber
from fenchel.convex.hessian import Factor, Root
from fenchel.data.arrays import Array, double, host, like
from fenchel.data.blocks import Block, Totals
from fenchel.data.design import MatrixDesign, Rows
from fenchel.data.products import adjoint, forward, weighted_gram
from fenchel.data.sweep import DualRows
from fenchel.data.tree import Maximum

Floats = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True, eq=False)
class At:
    """A point (w, b, σ)."""

    w: Floats
    b: float
    sigma: float


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """What one pass tells of a point, θ = H'(r/σ) being the gradient in the residuals.

    value A; pull Φ*(sθ); level Σ sθ; square Σ sθ²/4; along Σ sθr; size Σ s|r|; rounding: what
    float64 leaves uncertain of these sums.
    """

    value: float
    pull: Floats
    level: float
    square: float
    along: float
    size: float
    rounding: float


@dataclass(frozen=True, slots=True, eq=False)
class Bend:
    """The Hessian's gram matrices at a point: of (x - centre, 1), and beside them that of t = r/σ.

    gram Σ m x̃x̃', cross Σ m x̃t, square Σ mt², where m = s for |t| ≤ ε, else s·share·ε/|t|.
    """

    gram: Floats
    cross: Floats
    square: float
    centre: Floats
    share: float

    def factor(self, problem: ScaledHuber, at: At, extra: float) -> Root | Layers:
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
        root = Root.of(H + np.diag(ridge))
        return root if root.chol is not None or not ridge.any() else Layers.of(H, ridge)


@dataclass(frozen=True, slots=True, eq=False)
class Layers:
    """H + diag(ridge), H ≥ 0 so large that the ridge is lost in its rounding: solved apart on what
    H holds, and on what the ridge alone does."""

    scale: Floats
    held: Floats
    free: Floats
    first: Root
    cross: Floats
    second: Root

    @classmethod
    def of(cls, H: Floats, ridge: Floats) -> Layers:
        diagonal = np.diagonal(H) + ridge
        scale = np.where(diagonal > 0.0, diagonal, 1.0) ** -0.5
        values, V = np.linalg.eigh(H * scale[:, None] * scale)
        keep = values > 16.0 * len(H) * EPS * max(values[-1], 1.0)
        keep[-1] = True
        held, free = V[:, keep], V[:, ~keep]
        small = (scale * scale * ridge)[:, None]
        first = Root.of(np.diag(values[keep]) + held.T @ (small * held))
        cross = free.T @ (small * held)
        turned = np.stack([first.solve(row) for row in cross], axis=1) if len(cross) else cross.T
        return cls(
            scale, held, free, first, cross, Root.of(free.T @ (small * free) - cross @ turned)
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

    def evaluate(self, at: At) -> Seen:
        """Value and gradient, in float64, in one pass."""
        w, b, sigma, eps = at.w, at.b, at.sigma, self.eps

        def rows(y: Array, scores: list[Array], s: Array | None) -> tuple[Array, Totals]:
            z = scores[0]
            r = double(y) - z
            return _sums(2.0 * (r / sigma).clip(-eps, eps), r, z, s)

        seen = self._seen(self.design.sweep([(w, b)], rows, exact=True))
        # At θ = H'(t) Fenchel and Young agree: σ + σH(t) = θr + σ(1 - θ²/4).
        value = seen.along + sigma * (1.0 - seen.square) + self.alpha * float(w @ w)
        return replace(seen, value=value)

    def gradient(self, at: At, seen: Seen) -> Floats:
        """∇A in w, b and σ, as one vector; zero for b where there is no intercept."""
        level = -seen.level if self.intercept else 0.0
        return np.append(2.0 * self.alpha * at.w - seen.pull, [level, 1.0 - seen.square])

    def rows(self, at: At, share: float) -> Any:
        """A function of a block: X in float64, t = r/σ and m as in `Bend`, both in X's library."""
        w, b, sigma, eps = at.w, at.b, at.sigma, self.eps

        def of(block: Block) -> tuple[Array, Array, Array]:
            X = double(block.X)
            t = (double(block.y) - forward(X, w) - b) / sigma
            m = _slope(t, eps, share)
            return X, t, m if block.weight is None else m * double(block.weight)

        return of

    def bend(self, at: At, centre: Floats, share: float = 0.0) -> Bend:
        """The curvature of the rows at a point, in one pass.

        On inliers ∇²(σH(r/σ)) = (2/σ) x̂x̂' with x̂ = (x, 1, t), and outliers have none. share of the
        curvature of a quadratic that lies above their loss may be lent to them.
        """
        of, weight, d = self.rows(at, share), self.design.weight, len(at.w)

        def stat(block: Block) -> Totals:
            X, t, m = of(block)
            mt = m * t
            return Totals(
                weighted_gram(X, m, centre), host(adjoint(X, mt)), float(mt.sum()),
                float((mt * t).sum()),
            )  # fmt: skip

        gram, cross, total, square = (part / weight for part in self.design.blocks.reduce(stat))
        cross = np.append(cross - centre * total, total)
        if not self.intercept:
            gram, cross = gram[:d, :d], cross[:d]
        return Bend(gram, cross, square, centre, share)

    def certify(
        self, at: At, seen: Seen | None = None, bend: Bend | None = None, enough: float = 1e-9
    ) -> Certificate:
        """The duality gap at a point: θ is the gradient, made small enough for Σ sθ²/4 ≤ 1.

        bend, of this point or one near it, gives the matrix M of the proof. Where more than the
        relative gap `enough` is left, θ - (m/s) x̃·v is tried, for which p and q are zero but for
        the clipping of θ: Newton's step in the dual. Without M, θ is moved to Σ sθ = 0, and α = 0
        leaves nothing proved but A ≥ 0.
        """
        seen = self.evaluate(at) if seen is None else seen
        value, floor = seen.value, math.sqrt(EPS) * self._spread()
        if bend is None:
            seen = self._centred(at) if self.intercept else seen
            bound = self._bound(at, seen, None)
            return Certificate(value, bound, "duality", floor=floor)
        bound, w, b = 0.0, np.zeros_like(at.w), 0.0
        for _ in range(4):
            paid = self._paid(at, seen, bend, value)
            better = self._bound(at, seen, paid)
            last, bound = bound, max(bound, better)
            done = value - bound <= enough * max(value, floor) or not better > last
            if done or not math.isfinite(paid.joint):
                break
            w, b = w + paid.v, b + paid.shift
            seen = self._moved(at, bend.share, w, b)
        if value - bound > enough * max(value, floor) and self.intercept and self.alpha > 0.0:
            bound = max(bound, self._bound(at, self._centred(at), None))
        return Certificate(value, bound, "duality", floor=floor)

    def certify_by(self, at: At, theta: Floats) -> Certificate:
        """The duality gap at a point by a given dual point, one entry a row."""
        value = self.evaluate(at).value
        seen = replace(self, design=self.design.with_dual(theta))._centred(at, given=True)
        bend = self.bend(replace(at, sigma=1e300), np.zeros_like(at.w))  # every row an inlier
        bound = self._bound(at, seen, self._paid(at, seen, bend, value))
        return Certificate(value, bound, "duality", floor=math.sqrt(EPS) * self._spread())

    def _bound(self, at: At, seen: Seen, paid: Paid | None) -> float:
        """The bound at cθ, c ≤ 1, which pays for p = cΦ*(sθ) - 2αw and q = c Σ sθ."""
        w, alpha, c = at.w, self.alpha, 1.0
        if seen.square > 1.0 - 4.0 * EPS:
            c = (1.0 - 8.0 * EPS) / math.sqrt(seen.square)
        bent = 2.0 * alpha * w
        charge = self._ridge(c * seen.pull - bent)
        if paid is not None:
            charge += c * paid.alone
            charge = min(charge, c * paid.joint + self._ridge(c * (paid.left + bent) - bent))
        bound = c * seen.along + alpha * float(w @ w) - charge - seen.rounding
        return bound if bound > 0.0 else 0.0  # also where it is NaN

    def _ridge(self, p: Floats) -> float:
        """|p|²/(4α): what ⟨p, Δ⟩ - α|Δ|² is at most."""
        if not p.any():
            return 0.0
        return float(p @ p) / (4.0 * self.alpha) if self.alpha > 0.0 else math.inf

    def _paid(self, at: At, seen: Seen, bend: Bend, value: float) -> Paid:
        p, level = seen.pull - 2.0 * self.alpha * at.w, seen.level if self.intercept else 0.0
        factor = Factor(Root.of(bend.gram), bend.centre, self.intercept)
        (v, left, joint), (u, rest, alone) = (
            self._solved(factor, bend, g, level) for g in (p, 0.0 * p)
        )
        far = 2.0 * (seen.size + 0.5 * value)  # twice, for the rounding of v
        peaks = far * self._peaks([v, u])
        return Paid(
            float(peaks[0]) if joint else math.inf,
            float(peaks[1]) if alone and not rest.any() else math.inf if level else 0.0,
            left,
            *v,
        )

    def _solved(
        self, factor: Factor, bend: Bend, g: Floats, level: float
    ) -> tuple[tuple[Floats, float], Floats, bool]:
        """v with Mv = (g, level) as far as there is one, what is left of g, and whether nothing is
        left of the level; less than rounding counts as nothing."""
        v, shift = factor.solve(g, level)
        right, back = g - bend.centre * level, np.asarray(v)
        if self.intercept:
            right, back = np.append(right, level), np.append(v, shift + bend.centre @ v)
        left = right - bend.gram @ back
        size = np.abs(bend.gram) @ np.abs(back)
        small = np.abs(left) <= 1e-12 * size + 1e-14 * np.sqrt(np.diagonal(bend.gram))
        left = np.where(small, 0.0, left)
        d = len(g)
        return (v, float(shift)), left[:d], not left[d:].any()

    def _moved(self, at: At, share: float, v: Floats, shift: float) -> Seen:
        """The sums at θ - (m/s) x̃·v, clipped to |θ| ≤ 2ε."""
        sigma, eps = at.sigma, self.eps

        def rows(y: Array, scores: list[Array], s: Array | None) -> tuple[Array, Totals]:
            z, step = scores
            r = double(y) - z
            t = r / sigma
            theta = 2.0 * t.clip(-eps, eps) - _slope(t, eps, share) * step
            return _sums(theta.clip(-2.0 * eps, 2.0 * eps), r, z, s)

        return self._seen(self.design.sweep([(at.w, at.b), (v, shift)], rows, exact=True))

    def _seen(self, found: Totals) -> Seen:
        pull, level, square, along, size, score = (part / self.design.weight for part in found)
        return Seen(math.nan, pull, float(level), square, along, size, 8.0 * EPS * score)

    def _peaks(self, steps: list[tuple[Floats, float]]) -> Floats:
        """maxᵢ |x̃ᵢ·v| over the rows of positive weight, for each v."""
        W = np.stack([w for w, _ in steps], axis=1)
        b = np.array([level for _, level in steps])

        def stat(block: Block) -> Maximum:
            X = double(block.X)
            z = np.abs(host(forward(X, W) + like(b, X)))
            if block.weight is not None:
                z = z[host(block.weight) > 0.0]
            return Maximum(z.max(axis=0, initial=0.0))

        found: Maximum = self.design.blocks.reduce(stat)
        return found.values

    def _centred(self, at: At, given: bool = False) -> Seen:
        """The sums with θ moved to Σ sθ = 0, if there is an intercept.

        θ is the gradient or, given, lies beside the target.
        """
        (w, b), sigma, eps, loss = (at.w, at.b), at.sigma, self.eps, Huber(2.0 * self.eps)

        def rows(of_row: Callable[..., tuple[Array, Totals]]) -> Rows:
            def by_gradient(y: Array, scores: list[Array], s: Array | None) -> Any:
                r = double(y) - scores[0]
                return of_row(2.0 * (r / sigma).clip(-eps, eps), r, scores[0], s)

            def by_dual(y: Array, t: Array, scores: list[Array], s: Array | None) -> Any:
                inside = double(t).clip(-2.0 * eps, 2.0 * eps)
                return of_row(inside, double(y) - scores[0], scores[0], s)

            return DualRows(by_dual) if given else by_gradient

        def count(theta: Array, r: Array, z: Array, s: Array | None) -> tuple[Array, Totals]:
            return 0.0 * theta, Totals(loss.imbalance(r, theta, s))

        def centred(theta: Array, r: Array, z: Array, s: Array | None) -> tuple[Array, Totals]:
            return _sums(theta if off is None else loss.center(r, theta, off), r, z, s)

        off = self.design.sweep([(w, b)], rows(count), exact=True)[2] if self.intercept else None
        seen = self._seen(self.design.sweep([(w, b)], rows(centred), exact=True))
        if off is None:
            return seen
        # Rounding leaves a level that an intercept twice as far would be charged for.
        far = 4.0 * abs(seen.level) * (abs(b) + seen.size)
        return replace(seen, level=0.0, rounding=seen.rounding + far)

    def _spread(self) -> float:
        """2 Σ s|y - ȳ|, about the value of a fit that explains nothing. As under the square loss, a
        residual of √EPS of that counts as zero."""
        middle = float(self.design.target[0]) if self.intercept else 0.0

        def stat(block: Block) -> float:
            r = abs(double(block.y) - middle)
            return float(r.sum() if block.weight is None else double(block.weight) @ r)

        return 2.0 * self.design.blocks.reduce(stat) / self.design.weight


def _slope(t: Array, eps: float, share: float) -> Array:
    """m/s: 1 on inliers; the quadratic that touches H at t and lies above it has ε/|t|."""
    xp = array_namespace(t)
    size = xp.abs(t)
    return xp.where(size <= eps, xp.ones_like(t), share * eps / size.clip(eps, None))


def _sums(theta: Array, r: Array, z: Array, s: Array | None) -> tuple[Array, Totals]:
    """sθ, and Σ sθ²/4, Σ sθr, Σ s|r|, Σ s|θz|/2."""
    st = theta if s is None else s * theta
    size = abs(r) if s is None else s * abs(r)
    sums = [0.25 * st * theta, st * r, size, 0.5 * abs(st * z)]
    return st, Totals(*(float(part.sum()) for part in sums))


@dataclass(frozen=True, slots=True, eq=False)
class Paid:
    """2 maxᵢ|x̃ᵢ·v| (Σ s|r| + A/2) for Mv = (p - left, q), the same for (0, q) alone, and that v.

    The rest, `left`, is what M cannot give: the penalty pays for it.
    """

    joint: float
    alone: float
    left: Floats
    v: Floats
    shift: float
