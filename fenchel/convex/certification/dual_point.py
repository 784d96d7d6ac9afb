"""A dual point that is feasible in exact arithmetic, and the bound that it proves.

    P(w, b) ≥ D(θ) = -Σ s l*(y, θ)/S - Ω*(-v),   v = Φ*(sθ)/S

θ is known by its conjugate sum and by v, each with a bound of its error (`rounding`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certification.rounding import UNDERFLOW, down, gamma, up
from fenchel.convex.penalty import L1L2, NonNegative, Penalty
from fenchel.data.design.matrix import Design, MatrixDesign

Floats = NDArray[np.float64]


class OnTable(Protocol):
    """A problem as its coordinates see it: rows, and whether b is free."""

    @property
    def design(self) -> Design: ...

    @property
    def table(self) -> MatrixDesign: ...

    @property
    def intercept(self) -> bool: ...


@dataclass(frozen=True, slots=True, eq=False)
class DualPoint:
    """conjugate: at least Σ s l*(y, θ)/S, of which `rise` is for rounding; v and error:
    |vⱼ - true vⱼ| ≤ errorⱼ."""

    conjugate: float
    v: Floats
    error: Floats
    rise: float = 0.0

    def blur(self, penalty: Penalty) -> float:
        """By how much rounding has lowered the bound."""
        if not math.isfinite(self.conjugate):
            return 0.0
        exact = DualPoint(self.conjugate - self.rise, self.v, np.zeros_like(self.error))
        found = exact.bound(penalty) - self.bound(penalty)
        return found if found == found else math.inf

    def bound(self, penalty: Penalty) -> float:
        """At most the optimum; 0 where this point proves less, since no loss and no penalty of this
        library is negative."""
        found = -math.inf
        with np.errstate(over="ignore", invalid="ignore"):
            if isinstance(penalty, L1L2):
                found = self._elastic(penalty)
            elif isinstance(penalty, NonNegative) and bool((self.v - self.error >= 0.0).all()):
                found = -self.conjugate
        return found if found > 0.0 else 0.0  # also where it is NaN

    def _elastic(self, penalty: L1L2) -> float:
        a, b = penalty.l1, penalty.l2
        size = (-self.v if penalty.positive else np.abs(self.v)) + self.error
        size = size + np.abs(size) * gamma(4)
        if b == 0.0:
            top = float(size.max(initial=0.0))
            if top <= a:
                return -self.conjugate
            # cθ for c = a/top: l* falls along the ray at least in proportion. c ≤ 1, so that a
            # conjugate above zero, which proves nothing anyway, may stay.
            return down(-self.conjugate * down(a / top)) if top > 0.0 else -self.conjugate
        excess = np.maximum(size - a, 0.0)
        square = float(np.vdot(excess, excess)) + excess.size * UNDERFLOW
        charge = up(square / (2.0 * b), excess.size + 3)
        return down(-self.conjugate - charge, 2) - (abs(self.conjugate) + charge) * gamma(2)


@dataclass(frozen=True, slots=True, eq=False)
class KernelDualPoint:
    """The same in a kernel's space: square is at least |v|² there."""

    conjugate: float
    square: float
    rise: float = 0.0
    plain: float = 0.0  # the square as computed

    def blur(self, penalty: Penalty) -> float:
        """By how much rounding has lowered the bound."""
        if not math.isfinite(self.conjugate):
            return 0.0
        exact = KernelDualPoint(self.conjugate - self.rise, self.plain)
        return exact.bound(penalty) - self.bound(penalty)

    def bound(self, penalty: Penalty) -> float:
        """At most the optimum, and at least 0."""
        lam = penalty.l2 if isinstance(penalty, L1L2) else 0.0
        if not lam > 0.0:
            return 0.0
        charge = up(self.square / (2.0 * lam), 4)
        found = down(-self.conjugate - charge, 2) - (abs(self.conjugate) + charge) * gamma(2)
        return found if found > 0.0 else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class PointValue:
    """An objective known up to rounding: |value - true value| ≤ error."""

    value: float
    error: float

    @property
    def top(self) -> float:
        """At least the true value."""
        return up(self.value + self.error)

    @property
    def relative_error(self) -> float:
        if self.error <= 0.0:
            return 0.0
        # Not the quotient, which may overflow.
        return self.error / self.value if self.value > self.error * 1e-6 else math.inf


def sized(values: Any, columns: int) -> Floats:
    """Sums of the columns as a vector, whether there is one column or several."""
    return np.broadcast_to(np.asarray(values, np.float64).reshape(-1), (columns,))
