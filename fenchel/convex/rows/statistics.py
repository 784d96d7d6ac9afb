"""The row statistics of a convex problem: value and gradient, a dual point, the curvature.

Each is a value with its definition in array code; `compiled` names the loop that a home of data may
run in its place (`tests/convex/test_row_statistics.py` holds the two together).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from fenchel.convex.loss.base import FullDomain, Loss, PiecewiseLinear, Scalar
from fenchel.convex.loss.distance import Distance
from fenchel.convex.loss.margin import Margin
from fenchel.convex.loss.multiclass import Multinomial
from fenchel.data.arrays import Array, like
from fenchel.data.blocks import Totals
from fenchel.data.passes.loops import RowFunction
from fenchel.data.passes.sweep import RowCurvature, RowStatistic

Floats = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class ValueGradient(RowStatistic):
    """r = s θ with θ = l'(y, z); Σ s l(y, z), and what centring θ needs where b is free."""

    loss: Loss
    intercept: bool

    def __call__(self, y: Array, scores: list[Array], s: Array | None) -> tuple[Array, Totals]:
        value, theta, _ = self.loss.evaluate(y, scores[0])
        off = self.loss.centring_sums(y, theta, s) if self.intercept else 0.0
        return weighted(theta, s), Totals(weighted_sum(value, s), off)

    def compiled(self) -> RowFunction | None:
        if isinstance(self.loss, Multinomial):
            return _multinomial_gradient(self.loss.n_classes)
        if not isinstance(self.loss, Scalar):
            return None
        function = _loop("gradient", self.loss)
        unbounded = isinstance(self.loss, FullDomain)

        def finish(sums: Floats) -> tuple[Any, ...]:
            value, up, down, mass = sums
            # What `Loss.imbalance` and `FullDomain.imbalance` make of θ.
            return float(value), np.array([up - down, mass] if unbounded else [up, down])

        return RowFunction(function.address, _parameters(self.loss), 1, 4, finish)


@dataclass(frozen=True, slots=True, eq=False)
class DualSums(RowStatistic):
    """A dual point r = s θ and the sums of `dual_sums`: its value, its conjugate, and their sizes.

    θ = scale · l'(y, z), centred by `imbalance` where b is free.
    """

    loss: Loss
    middle: Floats
    centring_sums: Floats | None
    scale: float = 1.0

    def __call__(self, y: Array, scores: list[Array], s: Array | None) -> tuple[Array, Totals]:
        value, theta, _ = self.loss.evaluate(y, scores[0])
        return self.of_point(y, scores[0], value, theta, theta, s)

    def of_point(
        self, y: Array, z: Array, value: Array, slope: Array, theta: Array, s: Array | None
    ) -> tuple[Array, Totals]:
        """The same for any θ of the domain in place of the slope l'(y, z)."""
        if self.centring_sums is not None:
            theta = self.loss.centre_dual(y, theta, self.centring_sums)
        if self.scale != 1.0:
            theta = self.scale * theta
        sums = dual_sums(self.loss, self.middle, y, z, value, slope, theta, s)
        return weighted(theta, s), sums

    def compiled(self) -> RowFunction | None:
        if not isinstance(self.loss, Scalar) or self.middle.ndim > 0:
            return None
        shift, positive, negative = 0.0, 1.0, 1.0
        if self.centring_sums is not None and isinstance(self.loss, FullDomain):
            total, mass = self.centring_sums
            shift = float(total / mass) if mass > 0.0 else 0.0
        elif self.centring_sums is not None:
            up, down = (float(part) for part in self.centring_sums)
            heavy = max(up, down)
            ratio = min(up, down) / heavy if heavy > 0.0 else 1.0
            positive, negative = (ratio, 1.0) if up >= down else (1.0, ratio)
        own = (shift, positive, negative, self.scale, float(self.middle))
        parameters = np.append(_parameters(self.loss), own)
        distance, tiny = isinstance(self.loss, Distance), _tiny(self.loss)

        def finish(sums: Floats) -> tuple[Any, ...]:
            *own, cross, mass, origin, constant = (float(part) for part in sums)
            floor = EPS * EPS * mass
            if distance:
                floor = tiny * (constant + EPS**0.5 * origin)
            return *own, cross if distance else 0.0, floor

        return RowFunction(_loop("dual", self.loss).address, parameters, 1, 10, finish)


@dataclass(frozen=True, slots=True)
class LossCurvature(RowCurvature):
    """h = l''(y, z)."""

    loss: Loss

    def __call__(self, y: Array, z: Array) -> Array:
        return self.loss.curvature(y, z)

    def compiled(self) -> RowFunction | None:
        if not isinstance(self.loss, Scalar):
            return None
        function = _loop("curvature", self.loss)
        return RowFunction(function.address, _parameters(self.loss), 1, 0, tuple)


@dataclass(frozen=True, slots=True)
class ClassPairs(RowCurvature):
    """From probabilities p of K classes: pₖ(1 - pₖ) for each, then pₖpⱼ for each pair k < j."""

    loss: Loss

    def __call__(self, y: Array, z: Array) -> Array:
        P = self.loss.curvature(y, z)
        xp = array_namespace(P)
        parts = [P * (1.0 - P)]
        parts += [P[:, k : k + 1] * P[:, k + 1 :] for k in range(P.shape[1] - 1)]
        return xp.concat(parts, axis=1)

    def compiled(self) -> RowFunction | None:
        """None: loops would make the first fit a second longer, and the matrices of the definition
        are made by all threads as it is."""
        return None


def dual_sums(
    loss: Loss,
    middle: Floats,
    y: Array,
    z: Array,
    value: Array,
    slope: Array,
    theta: Array,
    s: Array | None,
) -> Totals:
    """What a bound and its rounding errors are made of, for a dual point θ.

    Σ s l(y, z); Σ s|l'(y, z)|; Σ s l*(y - middle, θ) and Σ s|l*|; Σ s max(θ, 0), Σ s max(-θ, 0);
    Σ s|θ||y - middle|; and the rounding floor: EPS of the loss at the mean target, where the fit
    explains all, and less of that at zero; 16√EPS for a loss that grows like the residual itself.
    The sums of θ and of conjugates are made for each column.
    """
    mass = float(z.shape[0]) if s is None else total(s)
    floor = EPS * EPS * mass
    cross: Any = 0.0
    size = abs(theta)
    if isinstance(loss, Distance):
        raw, nothing = weighted_sum(loss.value(y, 0.0 * z), s), like(middle, z) + 0.0 * z
        floor = _tiny(loss) * (weighted_sum(loss.value(y, nothing), s) + EPS**0.5 * raw)
        # Σ sθ = 0 allows any shift of y in l* = φ*(θ) + yθ, and this one saves the digits of a
        # target far from zero.
        y = y - like(middle, z)
        cross = column_sums(size * abs(y), s)
    dual = loss.conjugate(y, theta)
    return Totals(
        weighted_sum(value, s),
        weighted_sum(abs(slope), s),
        column_sums(dual, s),
        column_sums(abs(dual), s),
        column_sums(0.5 * (size + theta), s),
        column_sums(0.5 * (size - theta), s),
        cross,
        floor,
    )


def _tiny(loss: Loss) -> float:
    return 16.0 * EPS**0.5 if isinstance(loss, PiecewiseLinear) and loss.smoothing == 0.0 else EPS


def weighted(theta: Array, s: Array | None) -> Array:
    """s θ, for a vector or for the columns of θ; nothing for a row of no weight, even at
    infinity."""
    if s is None:
        return theta
    s = s if theta.ndim == 1 else s[:, None]
    return array_namespace(theta).where(s > 0, theta, 0.0) * s


def weighted_sum(values: Array, s: Array | None) -> Any:
    """Σ sᵢ valuesᵢ in float64; a row of no weight counts nothing, even at infinity. On a device the
    sum stays there, so that no block waits for it."""
    xp = array_namespace(values)
    if s is not None:
        s = s if values.ndim == 1 else s[:, None]
        values = xp.where(s > 0, values, 0.0) * s
    return total(values)


def column_sums(values: Array, s: Array | None) -> Any:
    """`weighted_sum` of a vector, or of each column of a matrix."""
    if values.ndim == 1:
        return weighted_sum(values, s)
    xp = array_namespace(values)
    if s is not None:
        values = xp.where(s[:, None] > 0, values, 0.0) * s[:, None]
    return xp.sum(values, axis=0, dtype=xp.float64)


def total(values: Array) -> Any:
    """The sum of all entries in float64: a float, or on a device a tensor that stays there."""
    xp = array_namespace(values)
    found = xp.sum(values, dtype=xp.float64)
    return float(found) if isinstance(values, np.ndarray) else found


def _parameters(loss: Scalar) -> Floats:
    return np.array(loss.parameters(np.zeros(1)))


def _loop(template: str, loss: Loss) -> Any:
    from fenchel.convex.rows.compiled import row_function

    return row_function(template, "margin" if isinstance(loss, Margin) else "distance", type(loss))


def _multinomial_gradient(K: int) -> RowFunction:
    from fenchel.convex.rows.compiled import row_function

    def finish(sums: Floats) -> tuple[Any, ...]:
        return float(sums[0]), sums[1:].reshape(2, K)

    function = row_function("multinomial_gradient")
    return RowFunction(function.address, np.array([float(K)]), K, 1 + 2 * K, finish)
