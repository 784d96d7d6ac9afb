"""Regression losses: a function φ of the residual z − y."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

from array_api_compat import array_namespace

from fenchel.convex.loss import Bent, Loss, Unbounded, inward
from fenchel.data.arrays import Array


class Distance(Loss):
    """l(y, z) = φ(z − y), with φ convex and least at 0; l*(y, θ) = φ*(θ) + y θ."""

    __slots__ = ()

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


@final
@dataclass(frozen=True, slots=True)
class Square(Unbounded, Distance):
    """Half the squared residual, whose best constant is the mean.

    φ(r) = r²/2,  φ*(θ) = θ²/2

    Domain of φ*: the real line. Smoothness 1.

    Reference: Legendre, Nouvelles méthodes pour la détermination des orbites des comètes (1805).
    """

    smoothness: ClassVar[float] = 1.0

    def phi(self, r: Array) -> Array:
        square = r * r
        square *= 0.5
        return square

    def dphi(self, r: Array) -> Array:
        return r

    def d2phi(self, r: Array) -> Array:
        return array_namespace(r).ones_like(r)

    def phi_star(self, theta: Array) -> Array:
        return 0.5 * theta * theta


@final
@dataclass(frozen=True, slots=True)
class Absolute(Bent, Distance):
    """The absolute residual, whose best constant is the median.

    φ(r) = |r|,  φ*(θ) = 0

    Domain of φ*: [−1, 1]. Kink at 0.

    Reference: Koenker and Bassett, Regression quantiles, Econometrica 46 (1978).
    """

    smoothness: ClassVar[float] = math.inf

    def phi(self, r: Array) -> Array:
        return array_namespace(r).abs(r)

    def dphi(self, r: Array) -> Array:
        return array_namespace(r).sign(r)

    def d2phi(self, r: Array) -> Array:
        return array_namespace(r).zeros_like(r)

    def phi_star(self, theta: Array) -> Array:
        xp = array_namespace(theta)
        return xp.where(xp.abs(theta) <= 1.0, xp.zeros_like(theta), xp.inf)

    def slopes(self, y: Array) -> tuple[float, float]:
        return -1.0, 1.0


@final
@dataclass(frozen=True, slots=True)
class Huber(Bent, Distance):
    """Quadratic near 0, linear beyond ε.

    φ(r) = r²/2 for |r| ≤ ε, ε|r| − ε²/2 beyond,  φ*(θ) = θ²/2

    Domain of φ*: [−ε, ε]. Smoothness 1.

    Reference: Huber, Robust estimation of a location parameter, Ann. Math. Statist. 35 (1964).
    """

    eps: float = 1.35
    smoothness: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        if not 0.0 < self.eps < math.inf:
            raise ValueError(f"eps must be positive and finite, got {self.eps!r}")
        # A float64 scalar of numpy would turn float32 arrays into float64.
        object.__setattr__(self, "eps", float(self.eps))

    def phi(self, r: Array) -> Array:
        return self._join(r, self.dphi(r))

    def dphi(self, r: Array) -> Array:
        eps = inward(self.eps, r)
        return r.clip(-eps, eps)

    def d2phi(self, r: Array) -> Array:
        xp = array_namespace(r)
        return xp.astype(xp.abs(r) <= inward(self.eps, r), r.dtype)

    def phi_star(self, theta: Array) -> Array:
        xp = array_namespace(theta)
        return xp.where(xp.abs(theta) <= inward(self.eps, theta), 0.5 * theta * theta, xp.inf)

    def evaluate(self, y: Array, z: Array) -> tuple[Array, Array, Array]:
        r = z - y
        c = self.dphi(r)
        return self._join(r, c), c, array_namespace(r).astype(r == c, r.dtype)

    @property
    def soft(self) -> float:
        return 1.0

    def slopes(self, y: Array) -> tuple[float, float]:
        eps = inward(self.eps, y)
        return -eps, eps

    def _join(self, r: Array, c: Array) -> Array:
        """c (r − c/2): both branches of φ, given c = φ′(r)."""
        phi = -0.5 * c
        phi += r
        phi *= c
        return phi


@final
@dataclass(frozen=True, slots=True)
class Pinball(Bent, Distance):
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

    def phi(self, r: Array) -> Array:
        return array_namespace(r).maximum(-self.quantile * r, (1.0 - self.quantile) * r)

    def dphi(self, r: Array) -> Array:
        xp = array_namespace(r)
        return xp.sign(r).clip(inward(-self.quantile, r), inward(1.0 - self.quantile, r))

    def d2phi(self, r: Array) -> Array:
        return array_namespace(r).zeros_like(r)

    def phi_star(self, theta: Array) -> Array:
        xp = array_namespace(theta)
        low, high = inward(-self.quantile, theta), inward(1.0 - self.quantile, theta)
        return xp.where((theta >= low) & (theta <= high), xp.zeros_like(theta), xp.inf)

    def slopes(self, y: Array) -> tuple[float, float]:
        return inward(-self.quantile, y), inward(1.0 - self.quantile, y)


@final
@dataclass(frozen=True, slots=True)
class EpsilonInsensitive(Bent, Distance):
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

    def phi(self, r: Array) -> Array:
        xp = array_namespace(r)
        return (xp.abs(r) - self.eps).clip(0.0, None)

    def dphi(self, r: Array) -> Array:
        xp = array_namespace(r)
        return xp.sign(r - r.clip(-self.eps, self.eps))

    def d2phi(self, r: Array) -> Array:
        return array_namespace(r).zeros_like(r)

    def phi_star(self, theta: Array) -> Array:
        xp = array_namespace(theta)
        size = xp.abs(theta)
        return xp.where(size <= 1.0, self.eps * size, xp.inf)

    @property
    def width(self) -> float:
        return self.eps

    def slopes(self, y: Array) -> tuple[float, float]:
        return -1.0, 1.0


@final
@dataclass(frozen=True, slots=True)
class SquaredEpsilonInsensitive(Unbounded, Distance):
    """Half the square of the residual beyond a free zone of half-width ε.

    φ(r) = max(0, |r| − ε)²/2,  φ*(θ) = θ²/2 + ε|θ|

    Domain of φ*: the real line. Smoothness 1; with ε = 0 this is half the squared residual.

    Reference: Vapnik, The Nature of Statistical Learning Theory (1995), chapter 6.
    """

    eps: float = 0.1
    smoothness: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.eps < math.inf:
            raise ValueError(f"eps must be nonnegative and finite, got {self.eps!r}")
        object.__setattr__(self, "eps", float(self.eps))

    def phi(self, r: Array) -> Array:
        outside = self.dphi(r)
        return 0.5 * outside * outside

    def dphi(self, r: Array) -> Array:
        return r - r.clip(-self.eps, self.eps)

    def d2phi(self, r: Array) -> Array:
        xp = array_namespace(r)
        return xp.astype(xp.abs(r) >= self.eps, r.dtype)

    def phi_star(self, theta: Array) -> Array:
        return 0.5 * theta * theta + self.eps * array_namespace(theta).abs(theta)
