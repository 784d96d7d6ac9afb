"""The proof of a point of Huber's regression with its scale, rounding included.

    A(w + Δ, b + δ, σ) ≥ c Σ sθr + α|w|² - ⟨p, Δ⟩ - q δ + α|Δ|²,   p = cΦ*(sθ) - 2αw,  q = c Σ sθ

for cθ with c² Σ sθ²/4 ≤ Σ s (`convex.concomitant_scale`). What is left of p and q is paid for

by the penalty   θ centred, so that q = 0: -⟨p, Δ⟩ + α|Δ|² ≥ -|p|²/(4α)
by the rows      Mv = (p, q) for M = Σ m x̃x̃', m ≤ s: |⟨(p, q), (Δ, δ)⟩| ≤ maxᵢ|x̃ᵢ·v| Σ s|x̃·(Δ, δ)|,
                 and the sum is at most Σ s|r| + A/2, as 2|r| ≤ σ + σH(r/σ) for ε ≥ 1. v is computed
                 from a verified factor of M, which also bounds what v leaves of (p, q)

p is known up to the errors of `scale_sums`, each of which is paid for with it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate, Kind
from fenchel.convex.certification.coordinates import Coordinates, is_on_host
from fenchel.convex.certification.dual_point import PointValue
from fenchel.convex.certification.float_sums import certified
from fenchel.convex.certification.rounding import TREE, U, down, gamma, up
from fenchel.convex.certification.scale_sums import (
    DualPlan,
    ScaleDual,
    ScaleEvidence,
    dual_of,
    in_pairs,
    value_of,
)
from fenchel.convex.certification.straight_pieces import reach_of_rows, row_weights
from fenchel.convex.certification.verified_solve import VerifiedFactor
from fenchel.data.arrays import like, to_float64, to_numpy
from fenchel.data.blocks import Block
from fenchel.data.design.block_products import forward
from fenchel.data.reduction import Maximum

if TYPE_CHECKING:
    from fenchel.convex.concomitant_scale import ScaledHuber, ScaleHessian, ScalePoint

Floats = NDArray[np.float64]
BLUR = 0.1  # the share of the gap from which passes in pairs of floats are worth their cost


@dataclass(frozen=True, slots=True, eq=False)
class ScaleProof:
    """A at a point, a bound of the optimum, and θ of that bound."""

    value: PointValue
    bound: float
    floor: float
    plan: DualPlan
    kind: Kind = "duality"

    @property
    def certificate(self) -> Certificate:
        found = certified(self.value, self.bound, self.floor)
        return found if self.kind == "duality" else replace(found, kind=self.kind)


@dataclass(frozen=True, eq=False)
class ScaleProver:
    """The passes that prove a point; bend: M, of rows about a centre, if it is written down."""

    problem: ScaledHuber
    at: ScalePoint
    value: PointValue
    bend: ScaleHessian | None

    def bound(self, dual: ScaleDual, centred: ScaleDual) -> tuple[float, float]:
        """The better of both ways to pay, and how much of what it lacks is rounding."""
        best, blur = 0.0, math.inf
        for found in (self._by_penalty(centred), self._by_rows(dual)):
            if found[0] > best or not math.isfinite(blur):
                best, blur = max(best, found[0]), found[1]
        return best, blur

    def _base(self, dual: ScaleDual) -> tuple[float, float]:
        """c, and c Σ sθr + α|w|² with its error taken off."""
        c, room = 1.0, 1.0 - dual.share - 8.0 * U
        if dual.square > room:
            c = down(math.sqrt(room / dual.square), 4)
        w, alpha = self.at.w, self.problem.alpha
        ridge = alpha * float(w @ w) * (1.0 - gamma(len(w) + 6))
        return c, c * dual.along - c * dual.along_error + ridge

    def _whole(self, base: float, charge: float) -> float:
        """The bound but for what its last sums, and α over Σ s, were rounded by."""
        return base - charge - (abs(base) + charge) * gamma(16)

    def _by_penalty(self, dual: ScaleDual) -> tuple[float, float]:
        w, alpha = self.at.w, self.problem.alpha
        if not alpha > 0.0:
            return 0.0, math.inf
        c, base = self._base(dual)
        bent = 2.0 * alpha * w
        p, error = c * dual.grad_w - bent, c * dual.pull_error
        error = error + (np.abs(c * dual.grad_w) + np.abs(bent)) * gamma(6)
        with np.errstate(over="ignore"):
            far = np.abs(p) + error
            charge = up(float(far @ far) / (4.0 * alpha), len(w) + 8)
            plain = float(p @ p) / (4.0 * alpha)
        found = self._whole(base, charge)
        return (found if found > 0.0 else 0.0), charge - plain + 2.0 * dual.along_error

    def _by_rows(self, dual: ScaleDual) -> tuple[float, float]:
        if self.bend is None:
            return 0.0, math.inf
        c, base = self._base(dual)
        factor = self._verified
        if factor is None:
            return 0.0, math.inf
        g, error = self.gradient(dual, c, self.bend.centre)
        v, left, own = factor.solved(self.bend.gram, self._entries(), g, error)
        sizes = self._sizes(self.bend.centre)
        blur, tau = (factor.reach(factor.square(0.0 * e, e), sizes) for e in (own, left))
        far = up(dual.size + 0.5 * self.value.top, 2)
        charge = up((tau + self._peak(v, self.bend.centre)) * far, 4)
        found = self._whole(base, charge)
        return (found if found > 0.0 else 0.0), blur * far + 2.0 * dual.along_error

    def by_span(self, dual: ScaleDual, part: bool) -> float:
        """By all rows, M in coordinates of what they span; part: of the directions that float64
        tells apart, which bounds that problem alone."""
        problem, (c, base) = self.problem, self._base(dual)
        p, error = self.rest(dual, c)
        level, level_error = c * dual.level, c * dual.level_error
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            found = reach_of_rows(
                problem, Coordinates.of(problem), p, error, level, level_error, row_weights, part
            )
        if found is None:
            return 0.0
        charge = up(found[0] * (dual.size + 0.5 * self.value.top), 4)
        return max(self._whole(base, charge), 0.0)

    def rest(self, dual: ScaleDual, c: float) -> tuple[Floats, Floats]:
        """p and its error."""
        bent = 2.0 * self.problem.alpha * self.at.w
        p = c * dual.grad_w - bent
        return p, c * dual.pull_error + (np.abs(c * dual.grad_w) + np.abs(bent)) * gamma(6)

    def gradient(self, dual: ScaleDual, c: float, centre: Floats) -> tuple[Floats, Floats]:
        """(p, q) of columns about a centre, and its error."""
        p, error = self.rest(dual, c)
        if not self.problem.intercept:
            return p, error
        about = Coordinates(centre, np.arange(len(p)))
        return about.gradient(p, error, c * dual.level, c * dual.level_error, True)

    @cached_property
    def _verified(self) -> VerifiedFactor | None:
        assert self.bend is not None
        return VerifiedFactor.of(self.bend.gram, self._entries())

    def _entries(self) -> float:
        """The relative error of an entry of M."""
        return gamma(self.problem.design.blocks.longest + TREE) + 32.0 * U

    def _sizes(self, centre: Floats) -> Floats:
        sizes = (self.problem.design.blocks.column_sizes + np.abs(centre)) * (1.0 + 4.0 * U)
        return np.append(sizes, 1.0) if self.problem.intercept else sizes

    def _peak(self, v: Floats, centre: Floats) -> float:
        """At least |x̃ᵢ·v| of every row of positive weight."""
        d = len(centre)
        w, level = v[:d], float(v[d]) if self.problem.intercept else 0.0
        b = level - float(centre @ w)

        def stat(block: Block) -> Maximum:
            X = to_float64(block.X)
            z = np.abs(to_numpy(forward(X, w) + like(np.asarray(b), X)))
            if block.weight is not None:
                z = z[to_numpy(block.weight) > 0.0]
            return Maximum(np.array([z.max(initial=0.0)]))

        found: Maximum = self.problem.design.blocks.reduce(stat)
        far = float(self._sizes(centre)[:d] @ np.abs(w)) + abs(level)
        return up(float(found.values[0]) + 2.0 * far * gamma(d + 6), 2)


def prove(
    problem: ScaledHuber,
    at: ScalePoint,
    seen: ScaleEvidence,
    bend: ScaleHessian | None,
    floor: float,
    enough: float,
) -> ScaleProof:
    """The best of a few dual points: the gradient; Newton's steps from it in the dual, for which p
    and q are zero but for the clipping of θ; both again in pairs of floats where rounding holds
    the gap open."""
    value = value_of(problem, at, seen)
    prover = ScaleProver(problem, at, value, bend)
    intercept = problem.intercept
    plan = DualPlan(0.0 if bend is None else bend.share)
    if bend is None and intercept:
        seen = problem.centred(at)
    bound, blur, best = 0.0, math.inf, plan

    def is_open() -> bool:
        return value.top - bound > enough * max(abs(value.value), floor)

    for turn in range(4):
        dual = dual_of(problem, at, seen, False)
        centred = dual_of(problem, at, seen, True) if intercept else dual
        found, left = prover.bound(dual, centred)
        better = found > bound
        if better or turn == 0:
            bound, blur, best = max(bound, found), left, plan
        step = None if bend is None else prover_step(prover, dual, bend)
        if not is_open() or (turn and not better) or step is None:
            break
        plan = plan.moved(*step)
        seen = problem.moved(at, plan)
    if is_open() and intercept and problem.alpha > 0.0 and bend is not None:
        dual = dual_of(problem, at, problem.centred(at), True)
        bound = max(bound, prover.bound(dual, dual)[0])
    blur += value.error
    if is_open() and (blur > BLUR * (value.top - bound) or not math.isfinite(blur)):
        return _again(prover, best, bound, floor, enough)
    return ScaleProof(value, bound, floor, best)


def prover_step(
    prover: ScaleProver, dual: ScaleDual, bend: ScaleHessian
) -> tuple[Floats, float] | None:
    """Newton's step in the dual: v with Mv = (p, q), as a step of w and b."""
    problem = prover.problem
    p, _ = prover.rest(dual, 1.0)
    v, shift = problem.solver(bend).solve(p, dual.level if problem.intercept else 0.0)
    v = np.asarray(v)
    return (v, float(shift)) if np.isfinite(v).all() and math.isfinite(shift) else None


def prove_given(
    problem: ScaledHuber, at: ScalePoint, plan: DualPlan, floor: float, enough: float
) -> ScaleProof:
    """The proof of a point by a given dual point, one entry a row."""
    value = value_of(problem, at, problem.evaluate(at))
    prover = ScaleProver(problem, at, value, None)
    return _again(prover, plan, 0.0, floor, enough)


def _again(
    prover: ScaleProver, plan: DualPlan, bound: float, floor: float, enough: float
) -> ScaleProof:
    """The same in pairs of floats, where rows are on the host; then, without a penalty, by what the
    rows span."""
    problem, at, value = prover.problem, prover.at, prover.value
    kind: Kind = "duality"
    if not problem.design.blocks.of_first(is_on_host):
        return ScaleProof(value, bound, floor, plan)
    known, dual = in_pairs(plan.with_given(problem), at, plan.slopes(at, problem.eps))
    value = known if known.error < value.error else value
    prover = replace(prover, value=value)
    centred = dual(problem.intercept)
    bound = max(bound, prover.bound(dual(False), centred)[0])

    def is_open(bound: float) -> bool:
        return value.top - bound > enough * max(abs(value.value), floor)

    if is_open(bound):
        bound = max(bound, prover.by_span(dual(False), False))
        if is_open(bound):
            part = prover.by_span(dual(False), True)
            if part > bound and not is_open(part):
                bound, kind = part, "estimate"
    return ScaleProof(value, bound, floor, plan, kind)
