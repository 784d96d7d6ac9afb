"""The losses' base classes: a function l(y, z), convex in the score z, and its conjugate.

    l*(y, θ) = sup over z of θz - l(y, z)

Reference: Rockafellar, Convex Analysis (1970), section 12.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from fenchel.data.arrays import Array, like, to_float64


class Loss(ABC):
    """l(y, z), convex in the score z, for arrays of targets and scores of the same floating type.

    l*(y, θ) = sup_z θ z − l(y, z)

    The arrays belong to numpy or to torch and have at least one axis. No method changes its
    arguments, and float32 stays float32. The gradient always lies inside the domain of l*.

    Reference: Rockafellar, Convex Analysis (1970), section 12.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def smoothness(self) -> float:
        """sup l″ over all y and z; inf where l has a kink."""

    @property
    def steepness(self) -> float:
        """At least sup |l′|, summed over the scores of a row; inf where there is no such bound."""
        return math.inf

    @property
    def formula_rounding(self) -> float:
        """Units of rounding by which the formulas of l, l′ and l* may be off: of a value of l or
        l′, and of the largest term of l*. A dozen operations, of which exp and log err by two
        each."""
        return 32.0

    @property
    def is_exponential(self) -> bool:
        """Whether |log l(y, z) − log l(y, u)| ≤ |z − u|."""
        return False

    @property
    def is_quadratic(self) -> bool:
        """Whether l(y, ·) is a parabola."""
        return False

    @property
    def is_piecewise_quadratic(self) -> bool:
        """Whether l(y, ·) is made of parabolas and straight pieces, without a kink."""
        return self.is_quadratic

    @abstractmethod
    def value(self, y: Array, z: Array) -> Array:
        """l(y, z)."""

    @abstractmethod
    def gradient(self, y: Array, z: Array) -> Array:
        """l′(y, z); at a kink a subgradient."""

    @abstractmethod
    def curvature(self, y: Array, z: Array) -> Array:
        """l″(y, z); 0 where it does not exist."""

    @abstractmethod
    def conjugate(self, y: Array, theta: Array) -> Array:
        """l*(y, θ); inf outside its domain, without slack."""

    def from_pair(self, y: Array, z: Array, rest: Array) -> tuple[Array, Array]:
        """l and l′ of one score in two parts, z + rest: the value to a few units of rounding of
        itself where it is a function of a difference, such as a residual."""
        raise NotImplementedError

    def split_conjugate(self, y: Array, theta: Array) -> tuple[Array, Array]:
        """a and c with l*(y, θ) = aθ + c for θ of the domain, c to a few units of rounding of
        itself: sums of aθ, in which digits cancel, are then made in pairs of floats."""
        return 0.0 * y, self.conjugate(y, theta)

    def evaluate(self, y: Array, z: Array) -> tuple[Array, Array, Array]:
        """Value, gradient and curvature at once."""
        return self.value(y, z), self.gradient(y, z), self.curvature(y, z)

    @property
    def threshold(self) -> float:
        """ε of a loss of residuals that is quadratic up to ε and linear beyond, which a Newton's
        method reaches by continuation from a larger ε; inf: the loss has none."""
        return math.inf

    def with_threshold(self, eps: float) -> Loss:
        """The same loss with another ε."""
        raise NotImplementedError(f"{type(self).__name__} has no threshold")

    def inner_curvature(self, y: Array, z: Array, reach: float) -> Array:
        """h ≥ 0 for which l*(y, l′ + hε) ≤ l*(y, l′) + z hε + hε²/(2(1 − |ε|)²) for |ε| ≤ reach <
        1: l″, and 0 where so short a step may leave the smooth piece of l*."""
        return self.curvature(y, z)

    def curvature_product(self, curvature: Array, u: Array) -> Array:
        """The second derivative, as `curvature` gave it, applied to a direction u."""
        return curvature * u

    def centring_sums(self, y: Array, theta: Array, weight: Array | None) -> Array:
        """What `center` must know about all rows; blocks of rows add up. No weight counts as 1.

        [Σ s max(θ, 0), Σ s max(−θ, 0)] in float64, where θ lies.
        """
        theta = to_float64(theta)
        # |θ| + θ is twice the positive part, without rounding and faster than a comparison.
        size = abs(theta)
        with np.errstate(invalid="ignore"):  # ∞ − ∞ of a row without weight, which counts nothing
            up = _sum(size + theta, weight)
            size -= theta
        return stacked(0.5 * up, 0.5 * _sum(size, weight), theta)

    def centre_dual(self, y: Array, theta: Array, imbalance: NDArray[np.float64]) -> Array:
        """A point of the domain near θ with Σ s θ = 0: the optimality of a free intercept.

        The heavier of the positive and the negative part is scaled by c ≤ 1, so every θ stays
        between itself and 0: in the domain, an interval that contains 0.
        """
        xp = array_namespace(theta)
        up, down = (float(part) for part in imbalance)
        heavy = max(up, down)
        scaled = theta * (min(up, down) / heavy if heavy > 0.0 else 1.0)
        return xp.minimum(theta, scaled) if up >= down else xp.maximum(theta, scaled)


class Scalar(Loss):
    """A loss of one number φ, the margin y z or the residual z − y.

    Its formulas are plain functions of that number and two parameters a and b, in the names of
    `fenchel.data.elementary`: the same code runs on arrays and, compiled, row by row.
    """

    __slots__ = ()

    @staticmethod
    @abstractmethod
    def value_formula(m: Array, a: float, b: float) -> Array:
        """φ."""

    @staticmethod
    @abstractmethod
    def slope_formula(m: Array, a: float, b: float) -> Array:
        """φ′; at a kink a subgradient."""

    @staticmethod
    @abstractmethod
    def curvature_formula(m: Array, a: float, b: float) -> Array:
        """φ″; 0 where it does not exist."""

    @staticmethod
    @abstractmethod
    def conjugate_formula(t: Array, a: float, b: float) -> Array:
        """φ*; inf outside its domain."""

    def parameters(self, x: Array) -> tuple[float, float]:
        """a and b in the floating type of x, rounded so that slopes stay in the domain of φ*."""
        return 0.0, 0.0


class FullDomain(Loss):
    """A loss whose conjugate is finite on the whole line, so that any shift of θ is allowed.

    Several targets, θ (n, K), are centred one by one.
    """

    __slots__ = ()

    def centring_sums(self, y: Array, theta: Array, weight: Array | None) -> Array:
        """[Σ s θ, Σ s]."""
        theta = to_float64(theta)
        mass = (
            theta.shape[0] + 0.0 * theta[:1].sum() if weight is None else to_float64(weight).sum()
        )
        if theta.ndim == 1:
            return stacked(_sum(theta, weight), mass, theta)
        total = theta.sum(0) if weight is None else to_float64(weight) @ theta
        return stacked(total, mass + 0.0 * total, theta)

    def centre_dual(self, y: Array, theta: Array, imbalance: NDArray[np.float64]) -> Array:
        """θ − Σ s θ / Σ s."""
        total, mass = imbalance
        shift = np.divide(total, mass, out=np.zeros_like(total), where=mass > 0.0)
        return theta - (float(shift) if theta.ndim == 1 else like(shift, theta))


class PiecewiseLinear(Loss):
    """A loss of three straight pieces about a target: falling, flat, rising.

    The slopes are low ≤ 0, 0 and high ≥ 0, the flat piece is [y − width, y + width]. They meet in
    kinks, or, where soft > 0, in parabolas of curvature 1/soft.
    """

    __slots__ = ()

    @property
    def dead_zone(self) -> float:
        """Half the width of the flat piece."""
        return 0.0

    @property
    def smoothing(self) -> float:
        """The inverse curvature of the joints: 0 for kinks."""
        return 0.0

    @abstractmethod
    def dual_interval(self, y: Array) -> tuple[Array | float, Array | float]:
        """low and high: the ends of the domain of l*(y, ·)."""

    @property
    def steepness(self) -> float:
        """The larger of the two slopes."""
        low, high = self.dual_interval(np.ones(1))
        return float(np.max(np.maximum(np.abs(low), np.abs(high))))

    def yosida(self, y: Array, z: Array, step: float) -> Array:
        """(z − prox(z))/step, prox(z) = argmin_u l(y, u) + (u − z)²/(2 step).

        clip((r − clip(r, −width, width))/(step + soft), low, high) with r = z − y: the slope of
        the loss made smoother, a subgradient of l at prox(z), so inside the domain of l*.
        """
        r = z - y
        if self.dead_zone > 0.0:
            r = r - r.clip(-self.dead_zone, self.dead_zone)
        return (r / (step + self.smoothing)).clip(*self.dual_interval(y))

    def is_active(self, y: Array, t: Array) -> Array:
        """Whether a slope of the smoother loss is none of the pieces' own: the row is at a joint,
        where the curvature is 1/(step + soft)."""
        low, high = self.dual_interval(y)
        inside = (t > low) & (t < high)
        return inside & (t != 0.0) if self.dead_zone > 0.0 else inside


def round_inward(bound: float, z: Array) -> float:
    """The end of an interval around 0 in the floating type of z, rounded towards 0.

    A gradient clipped to it in float32 is still inside the domain when read in float64.
    """
    if z.dtype != array_namespace(z).float32:
        return bound
    near = np.float32(bound)
    if abs(float(near)) > abs(bound):
        near = np.nextafter(near, np.float32(0.0))
    return float(near)


def _sum(values: Array, weight: Array | None) -> Array:
    if weight is None:
        return values.sum()
    weight = to_float64(weight)
    return weight @ array_namespace(values).where(weight > 0, values, 0.0)


def stacked(first: Array, second: Array, like: Array) -> Array:
    """Two numbers or vectors as the rows of an array of numpy, or of torch where `like` is."""
    if isinstance(like, np.ndarray):
        return np.stack([np.asarray(first), np.asarray(second)])
    xp = array_namespace(like)
    return xp.stack([first, second])
