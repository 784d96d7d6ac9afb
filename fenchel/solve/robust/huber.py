"""Newton's method for Huber's regression with concomitant scale, over (w, b, σ) together.

On inliers the loss is r²/σ, whose Hessian the gram matrix of (x, 1, r/σ) gives, so one pass makes
it; outliers have none. The problem is first solved on a sample of its rows.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate, warn_outside
from fenchel.convex.certification.float_sums import certified
from fenchel.convex.certification.scale_proof import ScaleProof
from fenchel.convex.concomitant_scale import (
    ScaledHuber,
    ScaleEvidence,
    ScaleHessian,
    ScalePoint,
    SplitFactor,
)
from fenchel.convex.hessian.dense import PSDFactor
from fenchel.data.arrays import to_float64, to_numpy
from fenchel.data.blocks import Blocks, one_blas_thread
from fenchel.data.design.block_products import forward
from fenchel.data.design.matrix import MatrixDesign
from fenchel.solve.robust.huber_rows import FEW, ScaledRows, best_scale, median, target_of
from fenchel.solve.robust.scale_products import HessianProducts
from fenchel.solve.robust.zero_scale import limit

Floats = NDArray[np.float64]
DENSE = 2000  # the most columns whose Hessian is written down
LEAST = 2e-15  # of the first scale: a scale below it is rounding


@dataclass(frozen=True, slots=True, eq=False)
class ScaleFit:
    """A point in the units of the table, its certificate on Σ s(σ + σH(r/σ)) + α|w|², and whether
    the scale went to zero.

    problem, exponent: the problem on the rows as they came, with y over 2^exponent; least: what no
    point of it goes below.
    """

    at: ScalePoint
    certificate: Certificate
    problem: ScaledHuber
    exponent: int
    least: float
    history: tuple[Certificate, ...]
    converged: bool
    vanished: bool

    @property
    def steps(self) -> int:
        return self.certificate.steps

    def certified_at(self, at: ScalePoint) -> Certificate:
        """The certificate of another point; the least positive number stands for σ = 0, where the
        objective is the limit."""
        w, b, sigma = (np.ldexp(v, -self.exponent) for v in (at.w, at.b, at.sigma))
        inner = ScalePoint(w, float(b), max(float(sigma), 5e-324))
        with np.errstate(over="ignore", invalid="ignore"):  # a value beyond float64 is infinite
            value = self.problem.value_at(inner)
        if not at.sigma > 0.0:
            value = replace(value, value=max(value.value - inner.sigma, 0.0))
        kind = self.certificate.kind if self.certificate.kind == "estimate" else "duality"
        found = certified(value, self.least, self.problem.floor())
        return replace(
            _scaled(found, _factor(self.problem, self.exponent)),
            kind=kind, steps=self.certificate.steps, seconds=self.certificate.seconds,
        )  # fmt: skip


def huber(
    blocks: Blocks,
    eps: float,
    alpha: float,
    intercept: bool = True,
    *,
    tol: float = 1e-6,
    max_steps: int = 100,
    start: ScalePoint | None = None,
) -> ScaleFit:
    """min over (w, b, σ > 0) of Σ sᵢ(σ + σH(rᵢ/σ)) + α|w|², H(t) = t² for |t| ≤ ε, else 2ε|t| - ε².

    Where more than 1 - 1/ε² of the rows lie on one plane there is no least σ: the fit stops at one
    that is zero but for rounding, where A is 2ε Σ s|r| + α|w|².
    """
    begun = time.perf_counter()
    units = ScaledRows.of(blocks, intercept)
    design = MatrixDesign(units.rows)
    total = design.weight
    problem = ScaledHuber(eps, math.ldexp(alpha / total, units.exponent), design, intercept)
    with one_blas_thread():
        if start is None and units.constant is not None:
            at, certificate = _plane(problem, units.constant)
            path, converged, vanished, least = [certificate], True, True, 0.0
        else:
            inside = None if start is None else units.inward(start)
            at, path, proof, vanished = _Newton(problem, tol).run(inside, max_steps)
            if units.has_moved_rows:
                proof, path = _of_given_rows(units, problem, at, proof, path, tol)
            least, converged = proof.bound, path[-1].closed(tol)
    path[-1] = replace(path[-1], seconds=time.perf_counter() - begun)
    factor = _factor(problem, units.exponent)
    history = tuple(_scaled(c, factor) for c in path)
    if not converged:
        final = history[-1]
        warn_outside(
            f"relative duality gap {final.relative_gap:.2g} after {final.steps} steps, asked "
            f"tol={tol:.2g}. Raise max_iter, loosen tol, or scale the columns.",
        )
    plain = replace(problem, design=MatrixDesign(units.plain))
    return ScaleFit(
        units.outward(at), history[-1], plain, units.exponent, least, history, converged, vanished
    )


def _factor(problem: ScaledHuber, exponent: int) -> float:
    """From the mean over the weights, y over 2^exponent, to the sum."""
    try:
        return math.ldexp(problem.design.weight, exponent)
    except OverflowError:
        return math.inf


def _scaled(certificate: Certificate, factor: float) -> Certificate:
    """A certificate of the sum, where float64 has such numbers."""
    return certificate.scaled(factor) if factor < math.inf else certificate


def _of_given_rows(
    units: ScaledRows,
    problem: ScaledHuber,
    at: ScalePoint,
    proof: ScaleProof,
    path: list[Certificate],
    tol: float,
) -> tuple[ScaleProof, list[Certificate]]:
    """The proof on the rows as they came, by the dual point found on moved or turned ones, whose
    entries were rounded. What was said of those before is an estimate of these."""
    theta = proof.plan.vector(problem, at)
    plain = replace(problem, design=MatrixDesign(units.plain))
    if len(theta) < plain.design.n_rows:  # turned rows are those that have weight
        counted = np.zeros(plain.design.n_rows)
        counted[plain.design.weights() > 0.0] = theta
        theta = counted
    found = plain.prove_by(units.plain_point(at), theta, tol)
    before = [replace(c, kind="estimate") for c in path[:-1]]
    return found, [*before, replace(found.certificate, steps=path[-1].steps)]


def _plane(problem: ScaledHuber, level: float) -> tuple[ScalePoint, Certificate]:
    """A constant target is met exactly: A = 0 at w = 0, σ = 0."""
    return ScalePoint(np.zeros(problem.design.dimension), level, 0.0), Certificate(
        0.0, 0.0, "exact"
    )


# ---------------------------------------------------------------------------------- Newton's method


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """The quadratic that a step minimises: its solver, and the gram matrices if written down."""

    solve: Callable[[Floats], Floats]
    bend: ScaleHessian | None


class _Newton:
    """Damped semismooth Newton steps; `run` drives them until the certificate closes.

    Outliers are lent curvature after a step that had to be shortened, and less after one that
    had not; the Hessian is kept as long as steps with it shrink the decrement fast enough.
    """

    def __init__(self, problem: ScaledHuber, tol: float) -> None:
        self.problem, self.tol = problem, tol
        design = problem.design
        # Nothing but the written matrix proves a fit without a penalty.
        light = 200 if design.blocks.sparse and problem.alpha > 0.0 else DENSE
        self.written = design.dimension <= light
        # Where a step costs next to nothing, a few more after the proof give digits to spare.
        small = design.n_rows * (design.dimension + 1) ** 2 < 1e7
        self.tight = 1e-5 * tol if small else tol
        few = design.blocks.sample(FEW)
        self.few, (self.y, self.s) = few.gather(), target_of(few.gather())
        self.centre = np.zeros(design.dimension)
        if problem.intercept and not design.blocks.sparse:
            self.centre = to_numpy(self.few.X).mean(axis=0)
        middle = median(self.y, self.s) if problem.intercept else 0.0
        first = best_scale(np.abs(self.y - middle), self.s, problem.eps)
        if not first > 0.0:
            first = problem.evaluate(ScalePoint(0.0 * self.centre, middle, 1.0)).size
        self.first = ScalePoint(0.0 * self.centre, middle, first if first > 0.0 else 1.0)
        self.least = LEAST * self.first.sigma

    def run(
        self, start: ScalePoint | None, steps: int
    ) -> tuple[ScalePoint, list[Certificate], ScaleProof, bool]:
        problem, tol, tight = self.problem, self.tol, self.tight
        at = self._begin() if start is None else start
        at = at if at.sigma >= self.least else replace(at, sigma=self.least)
        seen = problem.evaluate(at)
        path: list[Certificate] = []
        # Far from the optimum the inliers are not yet those of the end: all rows pull.
        cold = at is self.first
        share, ease, model, fresh = 1.0 * cold, 0.1 * cold, None, True
        before, failed, step, spare, guess = math.inf, math.inf, 0, 4, cold
        while True:
            if model is None:
                model, fresh = self._model(at, seen, share, ease), True
            g = problem.gradient(at, seen)
            p = model.solve(g)
            decrement = 0.5 * float(g @ p)
            if not fresh and decrement > 0.02 * before:
                model = None
                continue
            still = not decrement > 1e-28 * abs(seen.value)
            size = self._size(at, seen)
            goal = tight * size
            sunk = at.sigma <= 2.0 * self.least
            near = decrement <= min(tol * size, 0.1 * failed)
            if near or spare < 4 or still or sunk or step >= steps:
                enough = goal / abs(seen.value) if seen.value else tight
                known = problem.prove(at, seen, model.bend, enough)
                proof = known.certificate
                path.append(replace(proof, steps=step))
                failed = decrement
                closed = proof.relative_gap <= tight and proof.gap <= max(goal, tight * proof.floor)
                spare -= proof.relative_gap <= tol and proof.gap <= tol * max(size, proof.floor)
                if closed or still or step >= steps or not spare:
                    break
            else:
                path.append(Certificate(seen.value, seen.value - decrement, "estimate", step))
            guess = guess and share > 0.0 and step < 8 and decrement > 0.01 * seen.value
            moved = self._descend(at, seen, g, p, guess)
            if moved is None and guess:  # a sample's scale is not that of all rows
                guess = False
                moved = self._descend(at, seen, g, p, guess)
            if moved is None and fresh and share >= 1.0:
                known = problem.prove(at, seen, model.bend, tol)
                path[-1] = replace(known.certificate, steps=step)
                break
            before, step = decrement, step + 1
            if moved is None or moved[2] < 1.0:
                share, ease, model = min(1.0, max(10.0 * share, 0.1)), min(1.0, 10.0 * ease), None
            else:
                fresh = False
                if share > 0.0 or ease > 1e-4:
                    share, ease, model = (
                        0.1 * share * (share > 0.01),
                        0.1 * ease * (ease > 1e-4),
                        None,
                    )
            if moved is not None:
                at, seen, _ = moved
        # A least scale has ∂A/∂σ = 0; where there is none, σ has gone below all that tol can tell.
        far = min(seen.value, 10.0 * self.first.sigma)
        sunk = sunk or (seen.square < 0.99 and at.sigma < 1e-3 * far)
        if not path[-1].closed(tol) and (sunk or step < steps or step > 50):
            found = limit(problem, self.least, 0.2 * tol)
            if found is not None:  # the better point, and the better of two true bounds
                there, other = found
                better = known if known.bound >= other.bound and known.kind == "duality" else other
                value = known.value
                if other.value.value < value.value:
                    at, value, sunk = there, other.value, True
                    if better is known:  # θ is a formula of the point that is left
                        better = replace(known, plan=other.plan)
                known = replace(better, value=value)
                path[-1] = replace(known.certificate, steps=path[-1].steps)
        return at, path, known, sunk

    def _scale(self, at: ScalePoint) -> float:
        X = to_float64(self.few.X)
        z = to_numpy(forward(X, at.w)) + at.b
        if self.few.weight is not None:
            z = z[to_numpy(self.few.weight) > 0.0]
        return best_scale(np.abs(self.y - z), self.s, self.problem.eps)

    def _size(self, at: ScalePoint, seen: ScaleEvidence) -> float:
        """What the gap is measured by: A, unless outliers alone make it large."""
        if seen.square < 0.99:
            return min(seen.value, 10.0 * self.first.sigma)
        return min(seen.value, 10.0 * at.sigma + self.problem.alpha * float(at.w @ at.w))

    def _floor(self, seen: ScaleEvidence) -> float:
        """A smaller σ gains nothing, and r/σ loses its digits."""
        return max(self.least, 0.2 * self.tol * min(seen.value, 10.0 * self.first.sigma))

    def _begin(self) -> ScalePoint:
        """The optimum of a sample of the rows, or w = 0 where there are too few."""
        design = self.problem.design
        n, d = design.n_rows, design.dimension
        rows = max(n // 8, 10 * (d + 1), 2048)
        if not design.blocks.local:
            rows = max(min(rows, 2**23 // (d + 1)), 2048)
        if 3 * rows > n or not self.written:
            return self.first
        small = replace(self.problem, design=MatrixDesign(design.blocks.sample(rows)))
        return _Newton(small, 0.1 * (d + 1) / rows).run(None, 30)[0]

    def _model(self, at: ScalePoint, seen: ScaleEvidence, share: float, ease: float) -> Model:
        # |∂A/∂σ|/σ is the curvature that log σ has and σ has not: it keeps σ positive.
        extra = (0.5 * abs(1.0 - seen.square) + ease) / at.sigma
        if at.sigma <= 1.01 * self._floor(seen) and seen.square < 1.0:  # σ can fall no further
            extra = 1e6 / at.sigma
        if not self.written:
            return Model(HessianProducts(self.problem, at, seen, share, extra).solve, None)
        problem = self.problem
        bend = problem.bend(at, self.centre, share)
        factor = bend.factor(problem, at, extra)
        return Model(lambda g: _solve(factor, bend.centre, problem.intercept, g), bend)

    def _descend(
        self, at: ScalePoint, seen: ScaleEvidence, g: Floats, p: Floats, cold: bool
    ) -> tuple[ScalePoint, ScaleEvidence, float] | None:
        """The first of the steps 1, ½, ¼ … along -p that lowers A enough; σ falls at most tenfold.

        Where the value has no digits left to compare, the slope along p must shrink instead.
        """
        problem, slope, t = self.problem, float(g @ p), 1.0
        noise = 1e-14 * abs(seen.value) + seen.rounding
        least = min(self._floor(seen), at.sigma)
        for _ in range(25):
            there = ScalePoint(
                at.w - t * p[:-2], at.b - t * float(p[-2]), at.sigma - t * float(p[-1])
            )
            if cold:  # the scale of these residuals, by what a sample tells
                there = replace(there, sigma=self._scale(there))
            there = replace(there, sigma=max(there.sigma, 0.1 * at.sigma, least))
            found = problem.evaluate(there)
            if found.value <= seen.value - 1e-4 * t * slope:
                return there, found, t
            if found.value <= seen.value + noise:
                after = abs(float(problem.gradient(there, found) @ p))
                if after <= 0.9 * slope:
                    return there, found, t
                if t * slope <= noise:
                    return None
            t *= 0.5
        return None


def _solve(factor: PSDFactor | SplitFactor, centre: Floats, intercept: bool, g: Floats) -> Floats:
    """The factor's unknowns are those of columns about a centre, without b if there is none."""
    d = len(centre)
    if not intercept:
        return np.insert(factor.solve(np.append(g[:d], g[d + 1])), d, 0.0)
    x = factor.solve(np.append(g[:d] - centre * g[d], g[d:]))
    x[d] -= centre @ x[:d]
    return x
