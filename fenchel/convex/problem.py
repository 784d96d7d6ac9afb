"""The one objective of every convex fit, its dual, and the proof of how far a point is from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.convex.distance import Distance
from fenchel.convex.hessian import column_centre, curvature
from fenchel.convex.loss import Loss
from fenchel.convex.multiclass import Multinomial
from fenchel.convex.penalty import L2, Penalty
from fenchel.data.arrays import Array
from fenchel.data.blocks import Totals
from fenchel.data.design import Design, MatrixDesign, Point, Rows

Floats = NDArray[np.float64]
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
class Problem:
    """P(w, b) = Σ sᵢ l(yᵢ, (Φw)ᵢ + b) + Ω(w), the weights s made to sum to one.

    Its dual is D(θ) = -Σ sᵢ l*(yᵢ, θᵢ) - Ω*(-Φ*(sθ)), with Σ sᵢθᵢ = 0 where b is free.
    P(w, b) ≥ D(θ) for every point and every θ: the gap is a proof.
    """

    loss: Loss
    penalty: Penalty
    design: Design
    intercept: bool = True

    @property
    def outputs(self) -> int | None:
        """Columns of scores a row has; None for a single one."""
        return self.loss.n_classes if isinstance(self.loss, Multinomial) else None

    def origin(self) -> Point:
        """w = 0, b = 0."""
        d, k = self.design.dimension, self.outputs
        return (np.zeros(d), 0.0) if k is None else (np.zeros((d, k)), np.zeros(k))

    def sampled(self, rows: int) -> Problem:
        """The same problem on about `rows` of its rows."""
        assert isinstance(self.design, MatrixDesign)
        design = MatrixDesign(self.design.blocks.sample(rows))
        return Problem(self.loss, self.penalty, design, self.intercept)

    def evaluate(self, point: Point, *, exact: bool = False) -> Evaluation:
        """Value and gradient in one pass."""

        def rows(y: Array, scores: list[Array], s: Array | None) -> tuple[Array, Totals]:
            value, theta, _ = self.loss.evaluate(y, scores[0])
            r = _times(theta, s)
            off = self.loss.imbalance(y, theta, s) if self.intercept else 0.0
            return r, Totals(_sum(value, s), off)

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
        return self.penalty.value(w, inner) + self.penalty.conjugate(v, inner) - inner(w, v)

    def certify(self, point: Point, seen: Evaluation | None = None) -> Certificate:
        """The duality gap of a point, in float64.

        The dual point is the loss's own gradient at the scores, moved to Σ sθ = 0 where the
        intercept is free and shrunk until Ω* is finite. Without a penalty (λ = 0) Ω* asks for
        Φ*(sθ) = 0: θ then takes one Newton step, θ + l''ΦΔ, which solves that equation; what
        rounding leaves of it is charged to the bound as if no optimum had a coefficient of more
        than twice the size of the point's.
        """
        if self.penalty == L2(0.0):
            return self._certify_free(point)
        imbalance = None
        if self.intercept:
            seen = seen if seen is not None and seen.exact else self.evaluate(point, exact=True)
            imbalance = seen.imbalance
        scale = 1.0
        for _ in range(3):
            pull, level, value, dual, zero = self.design.sweep(
                [point], self._proof(imbalance, scale), exact=True
            )
            shrink = self.penalty.shrink(-pull / self.design.weight)
            if shrink >= 1.0:
                break
            scale *= shrink
        return self._close(point, pull, level, value, dual, zero)

    def _proof(self, imbalance: Floats | None, scale: float) -> Rows:
        def rows(y: Array, scores: list[Array], s: Array | None) -> tuple[Array, Totals]:
            z = scores[0]
            theta = self.loss.gradient(y, z)
            if imbalance is not None:
                theta = self.loss.center(y, theta, imbalance)
            if scale != 1.0:
                theta = scale * theta
            return _times(theta, s), self._sums(y, z, theta, s)

        return rows

    def _sums(self, y: Array, z: Array, theta: Array, s: Array | None) -> Totals:
        """Σ s l(y, z), Σ s l*(y, θ), and Σ s l(y, 0), which says what rounding means here."""
        zero = _sum(self.loss.value(y, 0.0 * z), s) if isinstance(self.loss, Distance) else 0.0
        conjugate = self.loss.conjugate(y, theta)
        return Totals(_sum(self.loss.value(y, z), s), _sum(conjugate, s), zero)

    def _certify_free(self, point: Point) -> Certificate:
        seen = self.evaluate(point, exact=True)
        factor = curvature(self, point, column_centre(self)).factor(0.0)
        correction = factor.solve(-seen.pull, -seen.level)

        def rows(y: Array, scores: list[Array], s: Array | None) -> tuple[Array, Totals]:
            z, u = scores
            _, theta, bent = self.loss.evaluate(y, z)
            theta = theta + self.loss.bend(bent, u)
            return _times(theta, s), self._sums(y, z, theta, s)

        for _ in range(2):  # the second time corrects what the first one's rounding left
            pull, level, value, dual, zero = self.design.sweep(
                [point, correction], rows, exact=True
            )
            dw, db = factor.solve(-pull / self.design.weight, -level / self.design.weight)
            correction = (correction[0] + dw, correction[1] + db)
        return self._close(point, pull, level, value, dual, zero, free=True)

    def _close(
        self,
        point: Point,
        pull: Floats,
        level: Any,
        value: float,
        dual: float,
        zero: float,
        free: bool = False,
    ) -> Certificate:
        total, (w, b) = self.design.weight, point
        inner = self.design.inner
        primal = value / total + self.penalty.value(w, inner)
        bound = -dual / total
        if free:
            bound -= 2.0 * float(np.vdot(np.abs(pull / total), np.abs(w)))
        else:
            bound -= self.penalty.conjugate(-pull / total, inner)
        if self.intercept:  # Σ sθ = 0 up to rounding
            bound -= 2.0 * float(np.vdot(np.abs(level / total), np.abs(b)))
        if math.isnan(bound):
            bound = -math.inf
        return Certificate(primal, bound, "duality", floor=EPS * max(zero / total, EPS))


def _times(theta: Array, s: Array | None) -> Array:
    if s is None:
        return theta
    return theta * (s if theta.ndim == 1 else s[:, None])


def _sum(values: Array, s: Array | None) -> float:
    """Σ sᵢ valuesᵢ in float64; a row of no weight counts nothing, even at infinity."""
    xp = array_namespace(values)
    if s is not None:
        values = xp.where(s > 0, values, 0.0) * s
    return float(xp.sum(values, dtype=xp.float64))
