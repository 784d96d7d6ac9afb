"""Classification losses: a function φ of the margin y z, with y = ±1."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from array_api_compat import array_namespace
from scipy.special import xlog1py

from fenchel.convex.loss import calibration
from fenchel.convex.loss.base import Loss, Scalar
from fenchel.data.arrays import Array
from fenchel.data.elementary import (
    absolute,
    clip,
    exp,
    log1p,
    maximum,
    where,
    xlogx,
)


class Margin(Loss):
    """l(y, z) = φ(y z) with y = ±1; l*(y, θ) = φ*(y θ)."""

    __slots__ = ()

    @abstractmethod
    def phi(self, m: Array) -> Array:
        """φ(m)."""

    @abstractmethod
    def dphi(self, m: Array) -> Array:
        """φ′(m); at a kink a subgradient."""

    @abstractmethod
    def d2phi(self, m: Array) -> Array:
        """φ″(m); 0 where it does not exist."""

    @abstractmethod
    def phi_star(self, t: Array) -> Array:
        """φ*(t) = sup_m t m − φ(m)."""

    def value(self, y: Array, z: Array) -> Array:
        return self.phi(y * z)

    def gradient(self, y: Array, z: Array) -> Array:
        return y * self.dphi(y * z)

    def curvature(self, y: Array, z: Array) -> Array:
        return self.d2phi(y * z)

    def evaluate(self, y: Array, z: Array) -> tuple[Array, Array, Array]:
        m = y * z
        return self.phi(m), y * self.dphi(m), self.d2phi(m)

    def conjugate(self, y: Array, theta: Array) -> Array:
        return self.phi_star(y * theta)

    @property
    def linear_share(self) -> float:
        """c of φ*(t) = c t + `curved_star`: 1 where a linear part would lose digits."""
        return 0.0

    def curved_star(self, t: Array) -> Array:
        """φ*(t) - c t."""
        return self.phi_star(t)

    def split_conjugate(self, y: Array, theta: Array) -> tuple[Array, Array]:
        return self.linear_share * y, self.curved_star(y * theta)

    def from_pair(self, y: Array, z: Array, rest: Array) -> tuple[Array, Array]:
        value, slope, _ = self.evaluate(y, z)
        return value + slope * rest, slope

    def is_calibrated(self) -> bool:
        """Whether the minimiser of the φ-risk over all functions has the sign of the Bayes rule."""
        return calibration.is_calibrated(self)

    def psi(self, theta: Any) -> Any:
        """ψ(θ) for θ in [−1, 1], with ψ(R(f) − R*) ≤ R_φ(f) − R_φ* for every f."""
        return calibration.psi(self, theta)


class FormulaMargin(Margin, Scalar):
    """A loss of the margin whose φ is written once, for arrays and for compiled loops."""

    __slots__ = ()

    def phi(self, m: Array) -> Array:
        return self.value_formula(m, *self.parameters(m))

    def dphi(self, m: Array) -> Array:
        return self.slope_formula(m, *self.parameters(m))

    def d2phi(self, m: Array) -> Array:
        return self.curvature_formula(m, *self.parameters(m))

    def phi_star(self, t: Array) -> Array:
        return self.conjugate_formula(t, *self.parameters(t))


@final
@dataclass(frozen=True, slots=True)
class Logistic(FormulaMargin):
    """The negative log-likelihood of P(y | z) = 1 / (1 + e^{−y z}).

    φ(m) = log(1 + e^{−m}),  φ*(t) = −t log(−t) + (1 + t) log(1 + t),
    ψ(θ) = ((1 + θ) log(1 + θ) + (1 − θ) log(1 − θ)) / 2

    Domain of φ*: [−1, 0]. Smoothness 1/4.

    Reference: Cox, The regression analysis of binary sequences, JRSS B 20 (1958).
    """

    smoothness: ClassVar[float] = 0.25
    steepness: ClassVar[float] = 1.0

    @staticmethod
    def value_formula(m: Array, a: float, b: float) -> Array:
        return log1p(exp(-absolute(m))) + maximum(-m, 0.0)

    @staticmethod
    def slope_formula(m: Array, a: float, b: float) -> Array:
        e = exp(-absolute(m))
        return -where(m >= 0.0, e, 1.0) / (1.0 + e)

    @staticmethod
    def curvature_formula(m: Array, a: float, b: float) -> Array:
        e = exp(-absolute(m))
        return e / (1.0 + e) / (1.0 + e)

    @staticmethod
    def conjugate_formula(t: Array, a: float, b: float) -> Array:
        # c log c + (1 - c) log(1 - c) by the lesser of c and 1 - c, which has all its digits.
        c = clip(-t, 0.0, 1.0)
        c = where(c <= 0.5, c, 1.0 - c)
        rest = 1.0 - c
        both = xlogx(c) - rest * log1p(c / rest)
        return where((t >= -1.0) & (t <= 0.0), both, math.inf)

    def evaluate(self, y: Array, z: Array) -> tuple[Array, Array, Array]:
        xp = array_namespace(z)
        flip = -y
        rest = flip * z
        # Past −m = 80 the loss equals its asymptote −m to the last bit, and e⁸⁰ fits in float32:
        # with the margin clipped there, e = e^{−m} serves all three without a stable branch each.
        e = rest.clip(None, 80.0)
        rest -= e
        e = xp.exp(e)
        value = xp.log1p(e)
        value += rest
        u = e + 1.0
        e /= u
        curvature = e / u
        e *= flip
        return value, e, curvature

    def psi(self, theta: Any) -> Any:
        t = calibration.size(theta)
        return 0.5 * (xlog1py(1.0 + t, t) + xlog1py(1.0 - t, -t))


@final
@dataclass(frozen=True, slots=True)
class Exponential(FormulaMargin):
    """The exponential of the negative margin: the loss of AdaBoost.

    φ(m) = e^{−m},  φ*(t) = −t log(−t) + t,  ψ(θ) = 1 − √(1 − θ²)

    Domain of φ*: (−∞, 0]. No bound on the curvature; inf where e^{−m} leaves the floating type.

    Reference: Friedman, Hastie and Tibshirani, Additive logistic regression, Ann. Statist. 28
    (2000).
    """

    smoothness: ClassVar[float] = math.inf
    is_exponential: ClassVar[bool] = True

    @staticmethod
    def value_formula(m: Array, a: float, b: float) -> Array:
        return exp(-m)

    @staticmethod
    def slope_formula(m: Array, a: float, b: float) -> Array:
        return -exp(-m)

    @staticmethod
    def curvature_formula(m: Array, a: float, b: float) -> Array:
        return exp(-m)

    @staticmethod
    def conjugate_formula(t: Array, a: float, b: float) -> Array:
        return where(t <= 0.0, xlogx(maximum(-t, 0.0)) + t, math.inf)

    def evaluate(self, y: Array, z: Array) -> tuple[Array, Array, Array]:
        e = self.phi(y * z)
        slope = y * e
        slope *= -1.0
        return e, slope, array_namespace(e).asarray(e, copy=True)

    def psi(self, theta: Any) -> Any:
        t = calibration.size(theta)
        # Neither a small t nor a t near 1 costs digits in this form.
        return t * t / (1.0 + np.sqrt((1.0 - t) * (1.0 + t)))
