"""Regression losses: a function φ of the residual z − y."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

from array_api_compat import array_namespace

from fenchel.convex.loss.base import FullDomain, Loss, PiecewiseLinear, Scalar, round_inward
from fenchel.data.arrays import Array
from fenchel.data.elementary import absolute, clip, constant, indicator, maximum, sign, where
from fenchel.data.linear_algebra.double_double import fast_two_sum, two_sum


class Distance(Loss):
    """l(y, z) = φ(z − y), with φ convex and least at 0; l*(y, θ) = φ*(θ) + y θ."""

    __slots__ = ()

    @property
    def formula_rounding(self) -> float:
        """Sums and products of at most six numbers."""
        return 8.0

    @abstractmethod
    def phi(self, r: Array) -> Array:
        """φ(r)."""

    @abstractmethod
    def dphi(self, r: Array) -> Array:
        """φ′(r); at a kink a subgradient."""

    @abstractmethod
    def d2phi(self, r: Array) -> Array:
        """φ″(r); 0 where it does not exist."""

    @abstractmethod
    def phi_star(self, theta: Array) -> Array:
        """φ*(θ) = sup_r θ r − φ(r)."""

    def value(self, y: Array, z: Array) -> Array:
        return self.phi(z - y)

    def gradient(self, y: Array, z: Array) -> Array:
        return self.dphi(z - y)

    def curvature(self, y: Array, z: Array) -> Array:
        return self.d2phi(z - y)

    def evaluate(self, y: Array, z: Array) -> tuple[Array, Array, Array]:
        r = z - y
        return self.phi(r), self.dphi(r), self.d2phi(r)

    def conjugate(self, y: Array, theta: Array) -> Array:
        return self.phi_star(theta) + y * theta

    def from_pair(self, y: Array, z: Array, rest: Array) -> tuple[Array, Array]:
        r, e = two_sum(z, -y)
        r, e = fast_two_sum(r, e + rest)
        slope = self.dphi(r)
        return self.phi(r) + slope * e, slope

    def split_conjugate(self, y: Array, theta: Array) -> tuple[Array, Array]:
        return y, self.phi_star(theta)


class FormulaDistance(Distance, Scalar):
    """A loss of the residual whose φ is written once, for arrays and for compiled loops."""

    __slots__ = ()

    def phi(self, r: Array) -> Array:
        return self.value_formula(r, *self.parameters(r))

    def dphi(self, r: Array) -> Array:
        return self.slope_formula(r, *self.parameters(r))

    def d2phi(self, r: Array) -> Array:
        return self.curvature_formula(r, *self.parameters(r))

    def phi_star(self, theta: Array) -> Array:
        return self.conjugate_formula(theta, *self.parameters(theta))


@final
@dataclass(frozen=True, slots=True)
class Square(FullDomain, FormulaDistance):
    """Half the squared residual, whose best constant is the mean.

    φ(r) = r²/2,  φ*(θ) = θ²/2

    Domain of φ*: the real line. Smoothness 1.

    Reference: Legendre, Nouvelles méthodes pour la détermination des orbites des comètes (1805).
    """

    smoothness: ClassVar[float] = 1.0
    is_quadratic: ClassVar[bool] = True

    @staticmethod
    def value_formula(r: Array, a: float, b: float) -> Array:
        return 0.5 * (r * r)

    @staticmethod
    def slope_formula(r: Array, a: float, b: float) -> Array:
        return r

    @staticmethod
    def curvature_formula(r: Array, a: float, b: float) -> Array:
        return constant(1.0, r)

    @staticmethod
    def conjugate_formula(t: Array, a: float, b: float) -> Array:
        return 0.5 * t * t


@final
@dataclass(frozen=True, slots=True)
class Absolute(PiecewiseLinear, FormulaDistance):
    """The absolute residual, whose best constant is the median.

    φ(r) = |r|,  φ*(θ) = 0

    Domain of φ*: [−1, 1]. Kink at 0.

    Reference: Koenker and Bassett, Regression quantiles, Econometrica 46 (1978).
    """

    smoothness: ClassVar[float] = math.inf

    @staticmethod
    def value_formula(r: Array, a: float, b: float) -> Array:
        return absolute(r)

    @staticmethod
    def slope_formula(r: Array, a: float, b: float) -> Array:
        return sign(r)

    @staticmethod
    def curvature_formula(r: Array, a: float, b: float) -> Array:
        return constant(0.0, r)

    @staticmethod
    def conjugate_formula(t: Array, a: float, b: float) -> Array:
        return where(absolute(t) <= 1.0, constant(0.0, t), math.inf)

    def dual_interval(self, y: Array) -> tuple[float, float]:
        return -1.0, 1.0


@final
@dataclass(frozen=True, slots=True)
class Huber(PiecewiseLinear, FormulaDistance):
    """Quadratic near 0, linear beyond ε.

    φ(r) = r²/2 for |r| ≤ ε, ε|r| − ε²/2 beyond,  φ*(θ) = θ²/2

    Domain of φ*: [−ε, ε]. Smoothness 1.

    Reference: Huber, Robust estimation of a location parameter, Ann. Math. Statist. 35 (1964).
    """

    eps: float = 1.35
    smoothness: ClassVar[float] = 1.0
    is_piecewise_quadratic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0.0 < self.eps < math.inf:
            raise ValueError(f"eps must be positive and finite, got {self.eps!r}")
        # A float64 scalar of numpy would turn float32 arrays into float64.
        object.__setattr__(self, "eps", float(self.eps))

    @property
    def threshold(self) -> float:
        return self.eps

    def with_threshold(self, eps: float) -> Huber:
        return Huber(eps)

    def parameters(self, x: Array) -> tuple[float, float]:
        return round_inward(self.eps, x), 0.0

    @staticmethod
    def value_formula(r: Array, a: float, b: float) -> Array:
        c = clip(r, -a, a)
        return (r - 0.5 * c) * c

    @staticmethod
    def slope_formula(r: Array, a: float, b: float) -> Array:
        return clip(r, -a, a)

    @staticmethod
    def curvature_formula(r: Array, a: float, b: float) -> Array:
        return indicator(absolute(r) <= a, r)

    @staticmethod
    def conjugate_formula(t: Array, a: float, b: float) -> Array:
        return where(absolute(t) <= a, 0.5 * t * t, math.inf)

    def evaluate(self, y: Array, z: Array) -> tuple[Array, Array, Array]:
        r = z - y
        c = self.dphi(r)
        return self._join(r, c), c, array_namespace(r).astype(r == c, r.dtype)

    @property
    def smoothing(self) -> float:
        return 1.0

    def dual_interval(self, y: Array) -> tuple[float, float]:
        eps = round_inward(self.eps, y)
        return -eps, eps

    def inner_curvature(self, y: Array, z: Array, reach: float) -> Array:
        return indicator(absolute(z - y) <= self.eps - 2.0 * reach, z)

    def _join(self, r: Array, c: Array) -> Array:
        """c (r − c/2): both branches of φ, given c = φ′(r)."""
        phi = -0.5 * c
        phi += r
        phi *= c
        return phi


@final
@dataclass(frozen=True, slots=True)
class Pinball(PiecewiseLinear, FormulaDistance):
    """The tilted absolute residual, whose best constant is the quantile q.

    φ(r) = max(−q r, (1 − q) r),  φ*(θ) = 0

    Domain of φ*: [−q, 1 − q]. Kink at 0.

    Reference: Koenker and Bassett, Regression quantiles, Econometrica 46 (1978).
    """

    quantile: float = 0.5
    smoothness: ClassVar[float] = math.inf

    def __post_init__(self) -> None:
        if not 0.0 < self.quantile < 1.0:
            raise ValueError(f"quantile must lie strictly between 0 and 1, got {self.quantile!r}")
        object.__setattr__(self, "quantile", float(self.quantile))

    def parameters(self, x: Array) -> tuple[float, float]:
        return round_inward(-self.quantile, x), round_inward(1.0 - self.quantile, x)

    @staticmethod
    def value_formula(r: Array, a: float, b: float) -> Array:
        return maximum(a * r, b * r)

    @staticmethod
    def slope_formula(r: Array, a: float, b: float) -> Array:
        return clip(sign(r), a, b)

    @staticmethod
    def curvature_formula(r: Array, a: float, b: float) -> Array:
        return constant(0.0, r)

    @staticmethod
    def conjugate_formula(t: Array, a: float, b: float) -> Array:
        return where((t >= a) & (t <= b), constant(0.0, t), math.inf)

    def dual_interval(self, y: Array) -> tuple[float, float]:
        return round_inward(-self.quantile, y), round_inward(1.0 - self.quantile, y)


@final
@dataclass(frozen=True, slots=True)
class EpsilonInsensitive(PiecewiseLinear, FormulaDistance):
    """The absolute residual with a free zone of half-width ε.

    φ(r) = max(0, |r| − ε),  φ*(θ) = ε|θ|

    Domain of φ*: [−1, 1]. Kinks at ±ε; with ε = 0 this is the absolute residual.

    Reference: Vapnik, The Nature of Statistical Learning Theory (1995), chapter 6.
    """

    eps: float = 0.1
    smoothness: ClassVar[float] = math.inf

    def __post_init__(self) -> None:
        if not 0.0 <= self.eps < math.inf:
            raise ValueError(f"eps must be nonnegative and finite, got {self.eps!r}")
        object.__setattr__(self, "eps", float(self.eps))

    def parameters(self, x: Array) -> tuple[float, float]:
        return self.eps, 0.0

    @staticmethod
    def value_formula(r: Array, a: float, b: float) -> Array:
        return maximum(absolute(r) - a, 0.0)

    @staticmethod
    def slope_formula(r: Array, a: float, b: float) -> Array:
        return sign(r - clip(r, -a, a))

    @staticmethod
    def curvature_formula(r: Array, a: float, b: float) -> Array:
        return constant(0.0, r)

    @staticmethod
    def conjugate_formula(t: Array, a: float, b: float) -> Array:
        return where(absolute(t) <= 1.0, a * absolute(t), math.inf)

    @property
    def dead_zone(self) -> float:
        return self.eps

    def dual_interval(self, y: Array) -> tuple[float, float]:
        return -1.0, 1.0


@final
@dataclass(frozen=True, slots=True)
class SquaredEpsilonInsensitive(FullDomain, FormulaDistance):
    """Half the square of the residual beyond a free zone of half-width ε.

    φ(r) = max(0, |r| − ε)²/2,  φ*(θ) = θ²/2 + ε|θ|

    Domain of φ*: the real line. Smoothness 1; with ε = 0 this is half the squared residual.

    Reference: Vapnik, The Nature of Statistical Learning Theory (1995), chapter 6.
    """

    eps: float = 0.1
    smoothness: ClassVar[float] = 1.0
    is_piecewise_quadratic: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0.0 <= self.eps < math.inf:
            raise ValueError(f"eps must be nonnegative and finite, got {self.eps!r}")
        object.__setattr__(self, "eps", float(self.eps))

    def parameters(self, x: Array) -> tuple[float, float]:
        return self.eps, 0.0

    @staticmethod
    def value_formula(r: Array, a: float, b: float) -> Array:
        outside = r - clip(r, -a, a)
        return 0.5 * outside * outside

    @staticmethod
    def slope_formula(r: Array, a: float, b: float) -> Array:
        return r - clip(r, -a, a)

    @staticmethod
    def curvature_formula(r: Array, a: float, b: float) -> Array:
        return indicator(absolute(r) >= a, r)

    @staticmethod
    def conjugate_formula(t: Array, a: float, b: float) -> Array:
        return 0.5 * t * t + a * absolute(t)

    def inner_curvature(self, y: Array, z: Array, reach: float) -> Array:
        return indicator(absolute(z - y) >= self.eps + 2.0 * reach * (self.eps > 0.0), z)
