"""Regularised empirical risk, its dual, and the duality gap of a point.

    P(w, b) = Σ sᵢ l(yᵢ, (Φw)ᵢ + b)/S + Ω(w)  ≥  D(θ) = -Σ sᵢ l*(yᵢ, θᵢ)/S - Ω*(-Φ*(sθ)/S)

for any θ with Σ sᵢθᵢ = 0 where b is free.

Reference: Boyd and Vandenberghe, Convex Optimization (2004), chapter 5.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.convex.certification.dual_point import PointValue
from fenchel.convex.certification.proof import Prover
from fenchel.convex.loss.base import Loss
from fenchel.convex.loss.distance import Distance
from fenchel.convex.loss.multiclass import Joint
from fenchel.convex.objective import Objective
from fenchel.convex.penalty import L2, Penalty, is_nonnegative, is_unpenalised
from fenchel.convex.rows.statistics import ValueGradient
from fenchel.data.arrays import Array
from fenchel.data.blocks import Block, Totals
from fenchel.data.design.matrix import Design, MatrixDesign, Point, Rows, to_float32
from fenchel.data.passes.sweep import DualRows

Floats = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What one pass tells about a point.

    value P(w, b); grad_w = Φ*(sθ) and grad_b = Σsθ, the gradient of the loss, θ = l'(y, z);
    centring_sums, what centring θ needs; exact: whether the pass was made in float64.
    """

    value: float
    grad_w: Floats
    grad_b: Any
    centring_sums: Floats
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
        negative = is_nonnegative(self.penalty) and bool((w < 0.0).any())
        shifted = not self.intercept and bool(np.any(b))
        if not negative and not shifted:
            return point
        return (w.clip(0.0, None) if negative else w, 0.0 * b if shifted else b)

    @property
    def table(self) -> MatrixDesign:
        """The rows, written down, for what needs them so (`ExplicitRows`)."""
        if isinstance(self.design, MatrixDesign):
            return self.design
        raise TypeError(f"a {type(self.design).__name__} has no rows that are written down")

    @property
    def work(self) -> float:
        """Rows times unknowns."""
        return self.design.n_rows * (self.design.dimension + 1) * (self.outputs or 1)

    @property
    def is_local(self) -> bool:
        return not isinstance(self.design, MatrixDesign) or self.design.blocks.local

    def sampled(self, rows: int) -> Problem:
        """The same problem on about `rows` of its rows."""
        design = MatrixDesign(to_float32(self.table.blocks.sample(rows)))
        return Problem(self.loss, self.penalty, design, self.intercept, self.targets)

    def evaluate(self, point: Point, *, exact: bool = False) -> Evaluation:
        """Value and gradient in one pass."""
        rows = ValueGradient(self.loss, self.intercept)
        pull, level, value, off = self.design.sweep([point], rows, exact=exact)
        total = self.design.weight
        w = point[0]
        value = value / total + self.penalty.value(w, self.design.inner)
        return Evaluation(value, pull / total, level / total, np.asarray(off) / total, exact)

    def gap_estimate(self, point: Point, seen: Evaluation) -> float:
        """Ω(w) + Ω*(v) - ⟨w, v⟩ at v = -Φ*(sθ): the gap, but for the centring of θ.

        Without an intercept it is the gap itself, since θ attains Fenchel-Young equality.
        """
        w, v = point[0], -seen.grad_w
        inner = self.design.inner
        if isinstance(self.penalty, L2) and self.penalty.lam > 0.0:
            lam = self.penalty.lam
            r = lam * w - v  # the same as a square, which keeps its digits when it is small
            return inner(r, r) / (2.0 * lam)
        return self.penalty.value(w, inner) + self.penalty.conjugate(v, inner) - inner(w, v)

    def estimate(self, point: Point, seen: Evaluation, decrement: float) -> Certificate:
        """The gap but for the centring of θ; where Ω* is finite on a cone alone, the decrement."""
        slack = decrement if is_unpenalised(self.penalty) else self.gap_estimate(point, seen)
        return Certificate(seen.value, seen.value - slack, "estimate")

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
        and shrunk until Ω* is finite. Without a penalty Ω* asks for Φ*(sθ) = 0, which no vector of
        floats gives: see `certification`.
        A relative gap above `enough` that rounding may have caused is worth more passes.
        """
        # A loss beyond float64 makes a value that is infinite, or none: the certificate says so.
        with np.errstate(over="ignore", invalid="ignore"):
            if dual is not None:
                return self._with_dual(dual)._certify(point, None, True, enough)
            return self._certify(point, seen, False, enough)

    def _certify(
        self, point: Point, seen: Evaluation | None, given: bool, enough: float
    ) -> Certificate:
        if self.targets is not None and is_unpenalised(self.penalty):
            return self.certify_each(point, enough)
        imbalance = None
        if self.intercept and not is_unpenalised(self.penalty):
            if given:
                imbalance = self.design.sweep([point], _balance(self.loss), exact=True)[2]
                imbalance = imbalance / self.design.weight
            else:
                seen = seen if seen is not None and seen.exact else self.evaluate(point, exact=True)
                imbalance = seen.centring_sums
        return Prover(self, given, enough).certificate(point, imbalance)

    def known_value(self, point: Point, enough: float = 1e-9) -> PointValue:
        """P at a point and its rounding error, in pairs of floats where float64 is rough."""
        if self.targets is None:
            return Prover(self, False, enough).value(point)
        each = [self._alone(k).known_value((point[0][:, k], float(point[1][k])), enough)
                for k in range(self.targets)]  # fmt: skip
        total = sum(one.value for one in each)
        return PointValue(total, sum(one.error for one in each) + len(each) * EPS * abs(total))

    def certify_each(self, point: Point, enough: float) -> Certificate:
        """The sum of the certificates of the targets, each with passes of its own."""
        (w, b), count = point, self.targets or 1
        each = [self._alone(k).certify((w[:, k], float(b[k])), enough=enough) for k in range(count)]
        return reduce(Certificate.__add__, each)

    def _alone(self, k: int) -> Problem:
        """The problem of the k-th target."""

        def pick(block: Block) -> Block:
            assert block.y is not None
            return replace(block, y=block.y[:, k])

        return replace(self, design=MatrixDesign(self.table.blocks.map_targets(pick)), targets=None)

    def _with_dual(self, theta: Floats) -> Problem:
        """The problem with θ beside its rows."""
        n, K = self.design.n_rows, self.loss.n_classes if isinstance(self.loss, Joint) else None
        if theta.shape != ((n,) if K is None else (n, K)) or self.targets is not None:
            what = "one number" if K is None else "one number for each class"
            raise ValueError(f"the dual point must hold {what} for each of {n} rows")
        return replace(self, design=self.design.with_dual(theta))

    @property
    def middle(self) -> Floats:
        """The mean target, or each, where a free intercept makes every shift of it equal."""
        if not self.intercept or not isinstance(self.loss, Distance):
            return np.zeros(())
        return self.design.target[0 if self.targets is None else slice(None)]


def _balance(loss: Loss) -> Rows:
    def rows(y: Array, theta: Array, scores: list[Array], s: Array | None) -> tuple[Array, Totals]:
        return 0.0 * scores[0], Totals(loss.centring_sums(y, theta, s))

    return DualRows(rows)
