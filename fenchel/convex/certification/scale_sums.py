"""Sums of a dual point of Huber's regression with its scale, each with its rounding error.

For θ with |θ| ≤ 2ε and r = y - Φw - b: Φ*(sθ), Σ sθ, Σ sθr, Σ sθ²/4 and Σ s|r|.
Any θ bounds something, so that no error of θ counts; what is linear in θ errs by

residual   |r̂ - r| ≤ U|r̂| + ζ, ζ of `rounding`: Σ sθr errs by γ(m + 64) Σ s|θr| + ζ Σ s|θ|
value      σ + σH(r/σ) moves by |θ|ζ + ζ²/σ or 2εζ, θ = H'(r/σ), as 2/σ bounds the curvature
centring   where b is free the heavier side of θ is scaled by 1 - t to Σ sθ = 0: Σ sθr moves by at
           most t Σ s|θr|, Φ*(sθ) by t Σ s|θ| Mⱼ, and Σ sθ²/4 falls

In pairs of floats the two sides of θ are summed apart, and the heavier one is scaled exactly.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from fenchel.convex.certification.double_double_sums import (
    chunks,
    columns_of,
    masked,
    stacked,
    times,
)
from fenchel.convex.certification.dual_point import PointValue
from fenchel.convex.certification.rounding import PAIRS, TREE, UNDERFLOW, U, gamma, up
from fenchel.data.arrays import Array, is_sparse, to_float64, to_numpy
from fenchel.data.blocks import Block, Totals
from fenchel.data.design.block_products import forward
from fenchel.data.design.matrix import MatrixDesign
from fenchel.data.linear_algebra.double_double import DoubleDouble, OzakiMatrix, two_product

if TYPE_CHECKING:
    from fenchel.convex.concomitant_scale import ScaledHuber, ScalePoint

Floats = NDArray[np.float64]
Slopes = Callable[[Block, Floats], Floats]  # a block and its residuals ↦ θ


@dataclass(frozen=True, slots=True, eq=False)
class ScaleEvidence:
    """What one pass in float64 tells of a point, θ being H'(r/σ) or another dual point.

    value A, where θ is the gradient; pull Φ*(sθ); level Σ sθ; square Σ sθ²/4; along Σ sθr; size
    Σ s|r|; reach Σ s|θr|; up and down: of the positive and the negative θ; rounding: about what
    float64 leaves uncertain of `along`, for a solver's own use.
    """

    value: float
    grad_w: Floats
    grad_b: float
    square: float
    along: float
    size: float
    reach: float
    up: float
    down: float
    rounding: float

    @property
    def steep(self) -> float:
        """Σ s|θ|."""
        return self.up + self.down


def slope_of(t: Array, eps: float, share: float) -> Any:
    """m/s: 1 on inliers; the quadratic that touches H at t and lies above it has ε/|t|."""
    xp = array_namespace(t)
    size = xp.abs(t)
    return xp.where(size <= eps, xp.ones_like(t), share * eps / size.clip(eps, None))


@dataclass(frozen=True, slots=True, eq=False)
class DualPlan:
    """A dual point by its formula: H'(r/σ) - (m/s) x̃·v, v = (w, b), clipped to |θ| ≤ 2ε; or
    `given`, one entry a row."""

    share: float
    w: Floats | None = None
    b: float = 0.0
    given: Floats | None = None

    def moved(self, w: Floats, b: float) -> DualPlan:
        return replace(self, w=w if self.w is None else self.w + w, b=self.b + b)

    def with_given(self, problem: ScaledHuber) -> ScaledHuber:
        """The problem with what is given beside its rows."""
        if self.given is None:
            return problem
        return replace(problem, design=problem.design.with_dual(self.given))

    def of_residuals(self, r: Array, step: Array | None, at: ScalePoint, eps: float) -> Array:
        with np.errstate(over="ignore"):
            t = r / at.sigma
        theta = 2.0 * t.clip(-eps, eps)
        if step is not None:
            theta = theta - slope_of(t, eps, self.share) * step
        return theta.clip(-2.0 * eps, 2.0 * eps)

    def slopes(self, at: ScalePoint, eps: float) -> Slopes:
        """θ of the rows of a block, from their residuals."""

        def of(block: Block, r: Floats) -> Floats:
            if self.given is not None:
                return np.asarray(
                    to_numpy(to_float64(block.aux["dual"])).clip(-2.0 * eps, 2.0 * eps)
                )
            step = None
            if self.w is not None:
                step = to_numpy(forward(to_float64(block.X), self.w)) + self.b
            return np.asarray(self.of_residuals(r, step, at, eps))

        return of

    def vector(self, problem: ScaledHuber, at: ScalePoint) -> Floats:
        """θ of every row, on the driver."""
        if self.given is not None:
            return self.given
        r = problem.design.map_rows((at.w, at.b), lambda y, z: to_float64(y) - z)
        step = None
        if self.w is not None:
            step = problem.design.map_rows((self.w, self.b), lambda y, z: z)
        return np.asarray(self.of_residuals(r, step, at, problem.eps))


@dataclass(frozen=True, slots=True, eq=False)
class ScaleDual:
    """Φ*(sθ), Σ sθ and Σ sθr with bounds of their errors; at least Σ sθ²/4 and Σ s|r|; all over Σ s
    as computed, which is right to `share`."""

    grad_w: Floats
    pull_error: Floats
    level: float
    level_error: float
    along: float
    along_error: float
    square: float
    size: float
    share: float


def row_sums(theta: Array, r: Array, z: Array, s: Array | None) -> tuple[Array, Totals]:
    """sθ, and the sums of `ScaleEvidence` behind pull and level."""
    st = theta if s is None else s * theta
    size = abs(r) if s is None else s * abs(r)
    along, far = st * r, abs(st)
    sums = [0.25 * st * theta, along, size, abs(along), 0.5 * (far + st), 0.5 * (far - st),
            0.5 * abs(st * z)]  # fmt: skip
    return st, Totals(*(float(part.sum()) for part in sums))


def seen_of(found: Totals, weight: float) -> ScaleEvidence:
    """From Totals(pull, level, *row_sums)."""
    pull, level, square, along, size, reach, above, below, score = (v / weight for v in found)
    parts = float(level), square, along, size, reach, above, below
    return ScaleEvidence(math.nan, pull, *parts, 16.0 * U * score)


def rows_share(design: MatrixDesign) -> float:
    """γ of a sum over rows of terms of a few operations each."""
    return gamma(design.blocks.longest + TREE + 16)


def score_error(problem: ScaledHuber, at: ScalePoint) -> float:
    """ζ of a pass in float64."""
    design = problem.design
    return design.score_size((at.w, at.b)) * gamma(design.score_terms + 2)


def value_of(problem: ScaledHuber, at: ScalePoint, seen: ScaleEvidence) -> PointValue:
    """A at a point from a pass in float64, θ the gradient there."""
    zeta, share = score_error(problem, at), rows_share(problem.design)
    slack = value_error(problem, at, seen.steep, zeta)
    terms = seen.reach + at.sigma * (1.0 + seen.square)
    return _point_value(problem, at, seen.value, slack + share * terms)


def value_error(problem: ScaledHuber, at: ScalePoint, steep: float, zeta: float) -> float:
    """How far Σ s(σ + σH(r/σ)) may move with residuals by ζ each."""
    with np.errstate(over="ignore"):
        smooth = steep * zeta + zeta * zeta / at.sigma if at.sigma > 0.0 else math.inf
    return min(smooth, 2.0 * problem.eps * zeta)


def _point_value(problem: ScaledHuber, at: ScalePoint, value: float, error: float) -> PointValue:
    ridge = problem.alpha * float(at.w @ at.w)
    error += ridge * gamma(len(at.w) + 6) + 8.0 * U * abs(value) + UNDERFLOW
    return PointValue(float(value), float(up(error)))


def dual_of(problem: ScaledHuber, at: ScalePoint, seen: ScaleEvidence, centred: bool) -> ScaleDual:
    """The dual point of a pass in float64; centred: moved to Σ sθ = 0."""
    design, share = problem.design, rows_share(problem.design)
    M, zeta = design.blocks.column_sizes, score_error(problem, at)
    ratio = 0.0
    if centred:
        heavy = max(max(seen.up, seen.down) * (1.0 - share), UNDERFLOW)
        ratio = min((abs(seen.up - seen.down) + share * seen.steep) / heavy, 1.0)
    return ScaleDual(
        seen.grad_w,
        M * ((share + ratio) * seen.steep) + np.abs(seen.grad_w) * gamma(4) + UNDERFLOW,
        0.0 if centred else seen.grad_b,
        0.0 if centred else share * seen.steep,
        seen.along,
        up((share + ratio) * seen.reach + zeta * seen.steep + UNDERFLOW, 4),
        seen.square * (1.0 + share),
        up(seen.size * (1.0 + share) + zeta, 4),
        share,
    )


@dataclass(frozen=True, slots=True, eq=False)
class PairStatistic:
    """Totals of a block: of the positive and of the negative θ Φ*(sθ), and Σ sθ, Σ sθr, in pairs;
    in float64 Σ s(σ + σH), Σ s|H'|, Σ sθ²/4, Σ s|θ|, Σ s|r| and Σ s|θr|."""

    at: ScalePoint
    eps: float
    slopes: Slopes

    def __call__(self, block: Block) -> Totals:
        parts = [self._part(some) for some in chunks(block)]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total

    def _part(self, block: Block) -> Totals:
        w, b, sigma, eps = self.at.w, self.at.b, self.at.sigma, self.eps
        X = block.X.astype(np.float64) if is_sparse(block.X) else to_numpy(to_float64(block.X))
        y = to_numpy(to_float64(block.y))
        s = np.ones(len(y)) if block.weight is None else to_numpy(to_float64(block.weight))
        matrix, ones = OzakiMatrix.of(X), OzakiMatrix.of(np.ones((len(y), 1)))
        z = matrix.forward(DoubleDouble.of(w[:, None])).plus(np.full((len(y), 1), float(b)))
        far = -z.plus(-y[:, None])
        r = DoubleDouble(far.hi[:, 0], far.lo[:, 0])
        t = np.abs(r.hi) / sigma
        inside = t <= eps
        size = np.abs(r.hi)
        loss = sigma + np.where(inside, size * np.where(inside, t, 0.0), 0.0)
        loss += np.where(inside, 0.0, 2.0 * eps * size - eps * eps * sigma)
        theta = np.where(s > 0.0, self.slopes(block, r.hi), 0.0)
        force = DoubleDouble(*two_product(theta, s))
        product = times(force, r)
        sides = [np.where(side, 1.0, 0.0) for side in (theta > 0.0, theta < 0.0)]
        columns = [masked(v, side) for v in (force, product) for side in sides]
        plain = [loss, 2.0 * t.clip(0.0, eps), 0.25 * theta * theta, np.abs(theta), size]
        sums = [float(s @ np.where(s > 0.0, v, 0.0)) for v in plain]
        sums.append(float(np.abs(product.hi).sum()))
        return Totals(
            matrix.adjoint(stacked(columns[:2])), ones.adjoint(stacked(columns)), np.array(sums)
        )


def in_pairs(
    problem: ScaledHuber, at: ScalePoint, slopes: Slopes
) -> tuple[PointValue, Callable[[bool], ScaleDual]]:
    """A at a point and the dual point of these slopes, as it is or centred, in pairs of floats."""
    design, share = problem.design, rows_share(problem.design)
    found = design.blocks.reduce(PairStatistic(at, problem.eps, slopes))
    pulled, sums, plain = found
    S, M = design.weight, design.blocks.column_sizes
    value, slope, square, steep, size, reach = (float(v) / S for v in plain)
    zeta = (2.0 * PAIRS + 4.0 * U * U) * design.score_size((at.w, at.b))
    total = value + problem.alpha * float(at.w @ at.w)
    known = _point_value(
        problem, at, total, value_error(problem, at, slope, zeta) + (share + 8.0 * U) * value
    )
    above, below, high, low = columns_of(DoubleDouble(sums.hi[0], sums.lo[0]), 4)
    pull_up, pull_down = columns_of(pulled, 2)

    def dual(centred: bool) -> ScaleDual:
        pull, along, level, extra = pull_up + pull_down, high + low, above + below, 0.0
        if centred:
            heavy, pull_heavy, high_heavy = (
                (above, pull_up, high) if float(level.hi) > 0.0 else (below, pull_down, low)
            )
            off = abs(float(level.hi)) + 4.0 * PAIRS * steep * S
            ratio = abs(float(level.hi)) / abs(float(heavy.hi)) if float(heavy.hi) else 0.0
            # The ratio is known to the error of the level, whose effect is bounded as a whole.
            known_to = off / abs(float(heavy.hi)) - ratio if float(heavy.hi) else 0.0
            pull = pull.plus(-ratio * pull_heavy.hi)
            along = along.plus(np.asarray(-ratio * float(high_heavy.hi)))
            extra = ratio * gamma(8) + known_to
        off_by = 4.0 * PAIRS + extra
        total = float(along.hi) / S
        return ScaleDual(
            pull.hi / S,
            np.abs(pull.hi) * gamma(8) / S + off_by * M * steep + UNDERFLOW,
            0.0 if centred else float(level.hi) / S,
            0.0 if centred else abs(float(level.hi)) * gamma(8) / S + 4.0 * PAIRS * steep,
            total,
            up(abs(total) * gamma(8) + off_by * reach + zeta * steep + UNDERFLOW, 4),
            square * (1.0 + share),
            up(size * (1.0 + share) + zeta, 4),
            share,
        )

    return known, dual
