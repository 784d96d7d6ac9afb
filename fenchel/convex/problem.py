"""The one objective of every convex fit, its dual, and the proof of how far a point is from it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.convex.distance import Distance
from fenchel.convex.loss import Loss
from fenchel.convex.multiclass import Joint
from fenchel.convex.objective import Objective
from fenchel.convex.penalty import L2, Elastic, NonNegative, Penalty, is_bounded
from fenchel.convex.rows.statistics import DualSums, ValueGradient, dual_sums, weighted_sum
from fenchel.convex.unpenalised import certify_unpenalised, sharpen
from fenchel.data.arrays import Array
from fenchel.data.blocks import Block, Totals
from fenchel.data.design import Design, MatrixDesign, Point, Rows, in_single
from fenchel.data.sweep import DualRows

Floats = NDArray[np.float64]
Tally = Callable[[Array, Array, Array, Array, Array | None], Totals]
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What one pass tells about a point.

    value P(w, b); pull Φ*(sθ) and level Σsθ, the loss's gradient in w and b, θ = l'(y, z);
    imbalance, what centring θ needs; exact: whether the pass was made in float64.
    """

    value: float
    pull: Floats
    level: Any
    imbalance: Floats
    exact: bool


@dataclass(frozen=True)
class Problem(Objective[Point]):
    """P(w, b) = Σ sᵢ l(yᵢ, (Φw)ᵢ + b) + Ω(w), the weights s made to sum to one.

    Its dual is D(θ) = -Σ sᵢ l*(yᵢ, θᵢ) - Ω*(-Φ*(sθ)), with Σ sᵢθᵢ = 0 where b is free.
    P(w, b) ≥ D(θ) for every point and every θ: the gap is a proof.
    """

    loss: Loss
    penalty: Penalty
    design: Design
    intercept: bool = True
    targets: int | None = None  # columns of y that share Φ and Ω; None where y is a vector

    @property
    def outputs(self) -> int | None:
        """Columns of scores a row has; None for a single one."""
        return self.loss.n_classes if isinstance(self.loss, Joint) else self.targets

    def origin(self) -> Point:
        """w = 0, b = 0."""
        d, k = self.design.dimension, self.outputs
        return (np.zeros(d), 0.0) if k is None else (np.zeros((d, k)), np.zeros(k))

    def project(self, point: Point) -> Point:
        """b = 0 without an intercept, and w ≥ 0 under that constraint."""
        w, b = point
        negative = is_bounded(self.penalty) and bool((w < 0.0).any())
        shifted = not self.intercept and bool(np.any(b))
        if not negative and not shifted:
            return point
        return (w.clip(0.0, None) if negative else w, 0.0 * b if shifted else b)

    @property
    def work(self) -> float:
        """Rows times unknowns."""
        return self.design.n_rows * (self.design.dimension + 1) * (self.outputs or 1)

    def sampled(self, rows: int) -> Problem:
        """The same problem on about `rows` of its rows."""
        assert isinstance(self.design, MatrixDesign)
        design = MatrixDesign(in_single(self.design.blocks.sample(rows)))
        return Problem(self.loss, self.penalty, design, self.intercept, self.targets)

    def evaluate(self, point: Point, *, exact: bool = False) -> Evaluation:
        """Value and gradient in one pass."""
        rows = ValueGradient(self.loss, self.intercept)
        pull, level, value, off = self.design.sweep([point], rows, exact=exact)
        total = self.design.weight
        w = point[0]
        value = value / total + self.penalty.value(w, self.design.inner)
        return Evaluation(value, pull / total, level / total, np.asarray(off) / total, exact)

    def slack(self, point: Point, seen: Evaluation) -> float:
        """Ω(w) + Ω*(v) - ⟨w, v⟩ at v = -Φ*(sθ): the gap, but for the centring of θ.

        Without an intercept it is the gap itself, since θ attains Fenchel-Young equality.
        """
        w, v = point[0], -seen.pull
        inner = self.design.inner
        if isinstance(self.penalty, L2) and self.penalty.lam > 0.0:
            lam = self.penalty.lam
            r = lam * w - v  # the same as a square, which keeps its digits when it is small
            return inner(r, r) / (2.0 * lam)
        return self.penalty.value(w, inner) + self.penalty.conjugate(v, inner) - inner(w, v)

    def estimate(self, point: Point, seen: Evaluation, decrement: float) -> Certificate:
        """The gap but for the centring of θ; where Ω* is finite on a cone alone, the decrement."""
        free = is_free(self.penalty)
        slack = decrement if free else self.slack(point, seen)
        # Without an intercept, and in float64, the slack is the gap: the proof is free.
        known = seen.exact and not self.intercept and not free
        return Certificate(seen.value, seen.value - slack, "duality" if known else "estimate")

    def certify(
        self,
        point: Point,
        seen: Evaluation | None = None,
        dual: Floats | None = None,
        enough: float = 1e-9,
    ) -> Certificate:
        """The duality gap of a point, in float64.

        The dual point is the loss's own gradient at the scores, or `dual`, one entry a row, where
        a kink makes the gradient a poor one. It is moved to Σ sθ = 0 where the intercept is free,
        and shrunk until Ω* is finite. Without a penalty Ω* asks for Φ*(sθ) = 0: see `unpenalised`.
        A relative gap above `enough` that rounding may have caused is worth more passes.
        """
        if dual is not None:
            return self._with_dual(dual)._certify(point, None, True, enough)
        return self._certify(point, seen, False, enough)

    def _certify(
        self, point: Point, seen: Evaluation | None, given: bool, enough: float
    ) -> Certificate:
        if is_free(self.penalty):
            return self._certify_free(point, given)
        imbalance = None
        if self.intercept and given:
            imbalance = self.design.sweep([point], _balance(self.loss), exact=True)[2]
            imbalance = imbalance / self.design.weight
        elif self.intercept:
            seen = seen if seen is not None and seen.exact else self.evaluate(point, exact=True)
            imbalance = seen.imbalance
        scale = 1.0
        # The pass after a shrinkage must not miss by a rounding error: wider margins, if it does.
        for margin in (4.0 * EPS, 1e-13, 1e-11, 1e-9):
            pull, level, *sums = self.design.sweep(
                [point], self._proof(imbalance, scale, given), exact=True
            )
            shrink = self.penalty.shrink(-pull / self.design.weight)
            if shrink >= 1.0:
                break
            scale *= shrink * (1.0 - margin)
        total, v = self.design.weight, -pull / self.design.weight
        charge = self.penalty.conjugate(v, self.design.inner) + self._stray(point, level / total)
        plain = self.close(point, Totals(*sums), charge)
        smooth = self.loss.smoothness * plain.value < math.inf and self.targets is None
        if isinstance(self.penalty, L2) and plain.relative_gap > enough and smooth and not given:
            return sharpen(self, point, plain, np.abs(v - self.penalty.lam * point[0]))
        return plain

    def _certify_free(self, point: Point, given: bool) -> Certificate:
        if self.targets is None:
            return certify_unpenalised(self, point, given)
        w, b = point
        each = [self._alone(k).certify((w[:, k], float(b[k]))) for k in range(self.targets)]
        return reduce(Certificate.__add__, each)

    def _alone(self, k: int) -> Problem:
        """The problem of the k-th target."""
        assert isinstance(self.design, MatrixDesign)

        def pick(block: Block) -> Block:
            assert block.y is not None
            return replace(block, y=block.y[:, k])

        return replace(
            self, design=MatrixDesign(self.design.blocks.map_targets(pick)), targets=None
        )

    def _with_dual(self, theta: Floats) -> Problem:
        """The problem with θ beside its rows."""
        n, K = self.design.n_rows, self.loss.n_classes if isinstance(self.loss, Joint) else None
        if theta.shape != ((n,) if K is None else (n, K)) or self.targets is not None:
            what = "one number" if K is None else "one number for each class"
            raise ValueError(f"the dual point must hold {what} for each of {n} rows")
        return replace(self, design=self.design.with_dual(theta))

    def _proof(self, imbalance: Floats | None, scale: float, given: bool) -> Rows:
        found = DualSums(self.loss, self.middle, imbalance, scale)
        if not given:
            return found
        loss = self.loss

        def rows(
            y: Array, theta: Array, scores: list[Array], s: Array | None
        ) -> tuple[Array, Totals]:
            return found.of_point(y, scores[0], loss.value(y, scores[0]), theta, s)

        return DualRows(rows)

    def tally(self) -> Tally:
        """The sums of a dual point: Σ s l(y, z), Σ s l*(y, θ), and the floor of rounding."""
        loss, middle = self.loss, self.middle

        def sums(y: Array, z: Array, value: Array, theta: Array, s: Array | None) -> Totals:
            return dual_sums(loss, middle, y, z, value, theta, s)

        return sums

    @property
    def middle(self) -> Floats:
        """The mean target, or each, where a free intercept makes every shift of it equal."""
        if not self.intercept or not isinstance(self.loss, Distance):
            return np.zeros(())
        return self.design.target[0 if self.targets is None else slice(None)]

    def _stray(self, point: Point, level: Any) -> float:
        """What rounding left of Σ sθ = 0, charged for an intercept twice as large."""
        if not self.intercept:
            return 0.0
        size = 2.0 * (np.abs(point[1]) + np.abs(point[1] - self.middle))
        return float(np.vdot(np.abs(level), size))

    def close(self, point: Point, sums: Totals, charge: float) -> Certificate:
        """The certificate from the sums of `tally`: bound = -Σ s l*(y, θ) - charge."""
        total = self.design.weight
        value, dual, floor = (part / total for part in sums)
        value += self.penalty.value(point[0], self.design.inner)
        bound = -dual - charge
        if not bound > 0.0:  # also where it is NaN
            bound = max(self.least(), bound if bound == bound else -math.inf)
        return Certificate(value, bound, "duality", floor=floor)

    def least(self) -> float:
        """Σ s inf l(y, ·) + inf Ω, the bound at θ = 0: what is known without looking."""

        loss = self.loss

        def rows(y: Array, scores: list[Array], s: Array | None) -> tuple[Array, Totals]:
            nothing = 0.0 * scores[0]
            return nothing, Totals(weighted_sum(loss.conjugate(y, nothing), s))

        origin = self.origin()
        least = float(self.design.sweep([origin], rows, exact=True)[2]) / self.design.weight
        return 0.0 - least - self.penalty.conjugate(origin[0], self.design.inner)


def is_free(penalty: Penalty) -> bool:
    """Whether Ω* is finite on a cone alone, so that no shrinking of θ can reach it."""
    if isinstance(penalty, Elastic):
        return penalty.absolute == 0.0 and penalty.square == 0.0
    return isinstance(penalty, NonNegative)


def _balance(loss: Loss) -> Rows:
    def rows(y: Array, theta: Array, scores: list[Array], s: Array | None) -> tuple[Array, Totals]:
        return 0.0 * scores[0], Totals(loss.imbalance(y, theta, s))

    return DualRows(rows)
