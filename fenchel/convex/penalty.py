"""Penalties: a convex function Ω of the coefficients, its conjugate and its proximal operator.

Reference: Parikh and Boyd, Proximal algorithms, Found. Trends Optim. 1 (2014).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from array_api_compat import array_namespace

from fenchel.data.arrays import Array, to_float64

Inner = Callable[[Array, Array], float]


class Penalty(ABC):
    """Ω(w), convex, for coefficients of shape (d,) or (d, K).

    Ω*(v) = sup_w ⟨v, w⟩ − Ω(w)

    `inner` is the inner product ⟨u, v⟩ of the space in which w lives.

    Reference: Parikh and Boyd, Proximal algorithms, Found. Trends Optim. 1 (2014).
    """

    __slots__ = ()

    @abstractmethod
    def value(self, w: Array, inner: Inner) -> float:
        """Ω(w)."""

    @abstractmethod
    def conjugate(self, v: Array, inner: Inner) -> float:
        """Ω*(v); inf outside its domain, without slack."""

    @abstractmethod
    def dual_scale(self, v: Array) -> float:
        """The largest c ≤ 1 with Ω*(c v) finite."""

    @property
    def l1(self) -> float:
        """a of the part a‖w‖₁ of Ω."""
        return 0.0

    @property
    def l2(self) -> float:
        """b of the part b⟨w, w⟩/2 of Ω."""
        return 0.0

    @property
    def positive(self) -> bool:
        """Whether Ω(w) is infinite unless w ≥ 0."""
        return False

    @abstractmethod
    def prox(self, w: Array, step: float) -> Array:
        """argmin_u step Ω(u) + ‖u − w‖²/2, with the Euclidean norm."""


class L1L2(Penalty):
    """a‖w‖₁ + b⟨w, w⟩/2, with a and b at least 0; where positive, on w ≥ 0 alone.

    Ω*(v) = ⟨e, e⟩/(2b) with e = v − clip(v, −a, a); for b = 0 the indicator of e = 0.
    prox = (w − clip(w, −a step, a step)) / (1 + b step)
    positive: e = max(v − a, 0),  prox = max(w − a step, 0) / (1 + b step)

    With a > 0, or positive, the inner product must be the Euclidean one, the one in which ‖w‖₁
    separates.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def l1(self) -> float:
        """a, the weight of ‖w‖₁."""

    @property
    @abstractmethod
    def l2(self) -> float:
        """b, the weight of ⟨w, w⟩/2."""

    def value(self, w: Array, inner: Inner) -> float:
        a, b = self.l1, self.l2
        if self.positive and not bool((w >= 0.0).all()):
            return math.inf
        total = 0.5 * b * inner(w, w) if b > 0.0 else 0.0
        return total + a * float(abs(to_float64(w)).sum()) if a > 0.0 else total

    def conjugate(self, v: Array, inner: Inner) -> float:
        a, b = self.l1, self.l2
        if b == 0.0:
            return 0.0 if float(self._size(v).max()) <= a else math.inf
        if self.positive:
            v = (to_float64(v) - a).clip(0.0, None)
        elif a > 0.0:
            v = to_float64(v)
            v = v - v.clip(-a, a)
        return inner(v, v) / (2.0 * b)

    def dual_scale(self, v: Array) -> float:
        top = self._size(v).max()
        bound = self.l1
        if self.l2 > 0.0 or float(top) <= bound:
            return 1.0
        c = bound / float(top)
        # c v must pass the comparison of the conjugate both in the type of v and in float64.
        eps = float(array_namespace(v).finfo(v.dtype).eps)
        while max(float(top * c), float(top) * c) > bound:
            c = min(c * (1.0 - eps), math.nextafter(c, 0.0))
        return c

    def prox(self, w: Array, step: float) -> Array:
        t = self.l1 * float(step)
        near = w.clip(None, t) if self.positive else w.clip(-t, t)
        u = w - near if t > 0.0 or self.positive else w
        return u / (1.0 + self.l2 * float(step))

    def _size(self, v: Array) -> Array:
        """What ‖·‖₁ has to outweigh: |v|, or v where w ≥ 0."""
        return v if self.positive else abs(v)


@final
@dataclass(frozen=True, slots=True)
class L2(L1L2):
    """Half the squared norm, in any inner product; λ = 0 means no penalty.

    Ω(w) = λ⟨w, w⟩/2,  Ω*(v) = ⟨v, v⟩/(2λ)

    For λ = 0 the conjugate is the indicator of 0.

    Reference: Hoerl and Kennard, Ridge regression, Technometrics 12 (1970).
    """

    lam: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "lam", _strength(self.lam))

    @property
    def l1(self) -> float:
        return 0.0

    @property
    def l2(self) -> float:
        return self.lam


@final
@dataclass(frozen=True, slots=True)
class L1(L1L2):
    """The sum of absolute values, which sets coefficients to 0; where positive, on w ≥ 0 alone.

    Ω(w) = λ‖w‖₁,  Ω*(v) = 0 for ‖v‖∞ ≤ λ, else inf
    positive: Ω*(v) = 0 for max v ≤ λ, else inf

    Reference: Tibshirani, Regression shrinkage and selection via the lasso, JRSS B 58 (1996).
    """

    lam: float = 1.0
    positive: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "lam", _strength(self.lam))

    @property
    def l1(self) -> float:
        return self.lam

    @property
    def l2(self) -> float:
        return 0.0


@final
@dataclass(frozen=True, slots=True)
class ElasticNet(L1L2):
    """A mixture of the two, ρ = l1_ratio; where positive, on w ≥ 0 alone.

    Ω(w) = λ(ρ‖w‖₁ + (1 − ρ)‖w‖²/2),  Ω*(v) = Σ max(0, |v| − λρ)² / (2λ(1 − ρ))
    positive: v in place of |v|

    Reference: Zou and Hastie, Regularization and variable selection via the elastic net, JRSS B
    67 (2005).
    """

    lam: float = 1.0
    l1_ratio: float = 0.5
    positive: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "lam", _strength(self.lam))
        if not 0.0 <= self.l1_ratio <= 1.0:
            raise ValueError(f"l1_ratio must lie in [0, 1], got {self.l1_ratio!r}")
        object.__setattr__(self, "l1_ratio", float(self.l1_ratio))

    @property
    def l1(self) -> float:
        return self.lam * self.l1_ratio

    @property
    def l2(self) -> float:
        return self.lam * (1.0 - self.l1_ratio)


@final
@dataclass(frozen=True, slots=True)
class NonNegative(Penalty):
    """The constraint w ≥ 0.

    Ω(w) = 0 for w ≥ 0, else inf,  Ω*(v) = 0 for v ≤ 0, else inf

    Reference: Lawson and Hanson, Solving Least Squares Problems (1974), chapter 23.
    """

    @property
    def positive(self) -> bool:
        return True

    def value(self, w: Array, inner: Inner) -> float:
        return 0.0 if bool((w >= 0.0).all()) else math.inf

    def conjugate(self, v: Array, inner: Inner) -> float:
        return 0.0 if bool((v <= 0.0).all()) else math.inf

    def dual_scale(self, v: Array) -> float:
        return 1.0 if bool((v <= 0.0).all()) else 0.0

    def prox(self, w: Array, step: float) -> Array:
        return w.clip(0.0, None)


def is_nonnegative(penalty: Penalty) -> bool:
    """Whether Ω is infinite unless w ≥ 0."""
    return penalty.positive


def is_unpenalised(penalty: Penalty) -> bool:
    """Whether Ω* is finite on a cone alone, so that no shrinking of θ can reach it."""
    if isinstance(penalty, L1L2):
        return penalty.l1 == 0.0 and penalty.l2 == 0.0
    return isinstance(penalty, NonNegative)


def _strength(lam: float) -> float:
    if not 0.0 <= lam < math.inf:
        raise ValueError(f"lam must be nonnegative and finite, got {lam!r}")
    return float(lam)


def elastic_net(lam: float, ratio: float, positive: bool = False) -> Penalty:
    """λ(ρ|w|₁ + (1 - ρ)|w|²/2), with w ≥ 0 where positive, as the plainest penalty that says it."""
    if lam == 0.0:
        return NonNegative() if positive else L2(0.0)
    if ratio == 1.0:
        return L1(lam, positive=positive)
    return ElasticNet(lam, ratio, positive=positive) if positive or ratio > 0.0 else L2(lam)
