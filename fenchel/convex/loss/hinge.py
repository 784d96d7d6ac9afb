"""Losses of the shortfall 1 - m of a margin m = y z: hinge, squared, modified Huber, square."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, final

from fenchel.convex.loss import calibration
from fenchel.convex.loss.base import FullDomain, PiecewiseLinear
from fenchel.convex.loss.margin import FormulaMargin
from fenchel.data.arrays import Array
from fenchel.data.elementary import (
    clip,
    constant,
    indicator,
    maximum,
    where,
)
from fenchel.data.linear_algebra.double_double import two_sum


class Shortfall(FormulaMargin):
    """A loss of how far the margin falls short of one, φ(m) = ψ(1 − m)."""

    __slots__ = ()

    @property
    def formula_rounding(self) -> float:
        """Sums and products of at most six numbers."""
        return 8.0

    @abstractmethod
    def of_shortfall(self, short: Array) -> tuple[Array, Array]:
        """ψ and ψ′."""

    def from_pair(self, y: Array, z: Array, rest: Array) -> tuple[Array, Array]:
        short, e = two_sum(1.0 + 0.0 * z, -y * z)
        value, slope = self.of_shortfall(short + (e - y * rest))
        return value, -y * slope


@final
@dataclass(frozen=True, slots=True)
class SquareMargin(FullDomain, Shortfall):
    """The squared residual of a target ±1, as a function of the margin.

    φ(m) = (1 − m)²,  φ*(t) = t + t²/4,  ψ(θ) = θ²

    Domain of φ*: the real line. Smoothness 2.

    Reference: Bartlett, Jordan and McAuliffe, JASA 101 (2006).
    """

    smoothness: ClassVar[float] = 2.0
    is_quadratic: ClassVar[bool] = True
    linear_share: ClassVar[float] = 1.0

    @staticmethod
    def value_formula(m: Array, a: float, b: float) -> Array:
        short = 1.0 - m
        return short * short

    @staticmethod
    def slope_formula(m: Array, a: float, b: float) -> Array:
        return 2.0 * m - 2.0

    @staticmethod
    def curvature_formula(m: Array, a: float, b: float) -> Array:
        return constant(2.0, m)

    @staticmethod
    def conjugate_formula(t: Array, a: float, b: float) -> Array:
        return t * (1.0 + 0.25 * t)

    def of_shortfall(self, short: Array) -> tuple[Array, Array]:
        return short * short, 2.0 * short

    def curved_star(self, t: Array) -> Array:
        return 0.25 * t * t

    def psi(self, theta: Any) -> Any:
        return calibration.size(theta) ** 2


@final
@dataclass(frozen=True, slots=True)
class Hinge(PiecewiseLinear, Shortfall):
    """The shortfall of the margin below 1: the loss of the support vector machine.

    φ(m) = max(0, 1 − m),  φ*(t) = t,  ψ(θ) = |θ|

    Domain of φ*: [−1, 0]. Kink at 1.

    Reference: Cortes and Vapnik, Support-vector networks, Machine Learning 20 (1995).
    """

    smoothness: ClassVar[float] = math.inf
    linear_share: ClassVar[float] = 1.0

    @staticmethod
    def value_formula(m: Array, a: float, b: float) -> Array:
        return maximum(1.0 - m, 0.0)

    @staticmethod
    def slope_formula(m: Array, a: float, b: float) -> Array:
        return -indicator(m < 1.0, m)

    @staticmethod
    def curvature_formula(m: Array, a: float, b: float) -> Array:
        return constant(0.0, m)

    @staticmethod
    def conjugate_formula(t: Array, a: float, b: float) -> Array:
        return where((t >= -1.0) & (t <= 0.0), t, math.inf)

    def of_shortfall(self, short: Array) -> tuple[Array, Array]:
        return maximum(short, 0.0), indicator(short > 0.0, short)

    def curved_star(self, t: Array) -> Array:
        return 0.0 * t

    def dual_interval(self, y: Array) -> tuple[Array, Array]:
        return (-y).clip(None, 0.0), (-y).clip(0.0, None)

    def psi(self, theta: Any) -> Any:
        return calibration.size(theta)


@final
@dataclass(frozen=True, slots=True)
class SquaredHinge(Shortfall):
    """The squared shortfall of the margin below 1.

    φ(m) = max(0, 1 − m)²,  φ*(t) = t + t²/4,  ψ(θ) = θ²

    Domain of φ*: (−∞, 0]. Smoothness 2.

    Reference: Bartlett, Jordan and McAuliffe, JASA 101 (2006).
    """

    smoothness: ClassVar[float] = 2.0
    is_piecewise_quadratic: ClassVar[bool] = True
    linear_share: ClassVar[float] = 1.0

    @staticmethod
    def value_formula(m: Array, a: float, b: float) -> Array:
        short = maximum(1.0 - m, 0.0)
        return short * short

    @staticmethod
    def slope_formula(m: Array, a: float, b: float) -> Array:
        return -2.0 * maximum(1.0 - m, 0.0)

    @staticmethod
    def curvature_formula(m: Array, a: float, b: float) -> Array:
        return 2.0 * indicator(m < 1.0, m)

    @staticmethod
    def conjugate_formula(t: Array, a: float, b: float) -> Array:
        return where(t <= 0.0, t * (1.0 + 0.25 * t), math.inf)

    def of_shortfall(self, short: Array) -> tuple[Array, Array]:
        short = maximum(short, 0.0)
        return short * short, 2.0 * short

    def curved_star(self, t: Array) -> Array:
        return 0.25 * t * t

    def inner_curvature(self, y: Array, z: Array, reach: float) -> Array:
        return 2.0 * indicator(1.0 - y * z >= 2.0 * reach, z)

    def psi(self, theta: Any) -> Any:
        return calibration.size(theta) ** 2


@final
@dataclass(frozen=True, slots=True)
class ModifiedHuber(Shortfall):
    """The squared hinge, linear for margins below −1.

    φ(m) = max(0, 1 − m)² for m ≥ −1, −4m below,  φ*(t) = t + t²/4,  ψ(θ) = θ²

    Domain of φ*: [−4, 0]. Smoothness 2.

    Reference: Zhang, Solving large scale linear prediction problems using stochastic gradient
    descent algorithms, ICML (2004).
    """

    smoothness: ClassVar[float] = 2.0
    is_piecewise_quadratic: ClassVar[bool] = True
    linear_share: ClassVar[float] = 1.0
    steepness: ClassVar[float] = 4.0

    @staticmethod
    def value_formula(m: Array, a: float, b: float) -> Array:
        short = 1.0 - m
        near = clip(short, 0.0, 2.0)
        return near * (2.0 * short - near)

    @staticmethod
    def slope_formula(m: Array, a: float, b: float) -> Array:
        return -2.0 * clip(1.0 - m, 0.0, 2.0)

    @staticmethod
    def curvature_formula(m: Array, a: float, b: float) -> Array:
        return 2.0 * indicator((m >= -1.0) & (m < 1.0), m)

    @staticmethod
    def conjugate_formula(t: Array, a: float, b: float) -> Array:
        return where((t >= -4.0) & (t <= 0.0), t * (1.0 + 0.25 * t), math.inf)

    def of_shortfall(self, short: Array) -> tuple[Array, Array]:
        c = clip(short, 0.0, 2.0)
        return c * (2.0 * maximum(short, 0.0) - c), 2.0 * c

    def curved_star(self, t: Array) -> Array:
        return 0.25 * t * t

    def inner_curvature(self, y: Array, z: Array, reach: float) -> Array:
        short = 1.0 - y * z
        return 2.0 * indicator((short >= 2.0 * reach) & (short <= 2.0 - 2.0 * reach), z)

    def psi(self, theta: Any) -> Any:
        return calibration.size(theta) ** 2
