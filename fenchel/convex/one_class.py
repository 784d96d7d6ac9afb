"""The support of a distribution: a function in a kernel's space that is large on most rows.

    P(f, ρ) = ‖f‖²/2 + Σ sᵢ max(0, ρ - f(xᵢ)) - νSρ,   S = Σ sᵢ
    D(α) = -α'Kα/2,   0 ≤ αᵢ ≤ sᵢ,   Σ αᵢ = νS,   f = Σ αᵢ k(xᵢ, ·)

Rows with f(xᵢ) < ρ weigh at most νS, those with f(xᵢ) ≤ ρ at least that.

Reference: Schölkopf, Platt, Shawe-Taylor, Smola and Williamson, Estimating the support of a
high-dimensional distribution, Neural Computation 13 (2001).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.convex.certification.rounding import gamma, up
from fenchel.convex.objective import Objective
from fenchel.data.arrays import Array
from fenchel.data.design import Point
from fenchel.data.kernel_design import KernelExpansion

Floats = NDArray[np.float64]
GOLDEN = 0.5 * (5.0**0.5 - 1.0)


@dataclass(frozen=True, slots=True)
class Height:
    """The objective at a point."""

    value: float


@dataclass(frozen=True)
class OneClass(Objective[Point]):
    """P above, of points (α, b) with b = -ρ; design: the rows with their weights."""

    design: KernelExpansion
    nu: float

    def __post_init__(self) -> None:
        if not 0.0 < self.nu <= 1.0:
            raise ValueError(f"nu must lie in (0, 1], got {self.nu!r}")

    @property
    def weights(self) -> Floats:
        """s."""
        s = self.design.sides[1]
        return np.ones(self.design.n_rows) if s is None else s

    @property
    def total(self) -> float:
        """νS, the sum of α."""
        return self.nu * float(self.weights.sum())

    @property
    def work(self) -> float:
        return float(self.design.n_rows) ** 2

    def origin(self) -> Point:
        """As many rows as α may hold, spread evenly over the table: i ↦ iφ mod 1 visits them in an
        order that no sorting of the rows has an influence on."""
        s = self.weights
        order = np.argsort(np.arange(len(s)) * GOLDEN % 1.0, kind="stable")
        before = np.cumsum(s[order]) - s[order]
        alpha = np.zeros(len(s))
        alpha[order] = np.clip(self.total - before, 0.0, s[order])
        return alpha, 0.0

    def project(self, point: Point) -> Point:
        """0 ≤ α ≤ s, and Σ α = νS by one factor for what is there or for the room that is left."""
        alpha, s, total = np.asarray(point[0], np.float64), self.weights, self.total
        inside = alpha.clip(0.0, s)
        held = float(inside.sum())
        if held > total:
            inside = inside * (total / held)
        elif held < total:
            room = s - inside
            inside = (inside + room * ((total - held) / float(room.sum()))).clip(0.0, s)
        return point if np.array_equal(inside, alpha) else (inside, point[1])

    def scores(self, alpha: Floats) -> Floats:
        """f = Kα at the rows."""
        return self.design.each((alpha, 0.0), _plain)

    def evaluate(self, point: Point, *, exact: bool = False) -> Height:
        return Height(self._value(point[0], self.scores(point[0]), -float(point[1])))

    def certify(
        self, point: Point, seen: Any = None, dual: Any = None, enough: float = 1e-9
    ) -> Certificate:
        """The value at the point, the bound at the nearest α of the domain."""
        f, rho = self.scores(point[0]), -float(point[1])
        inside = self.project(point)[0]
        g = f if inside is point[0] else self.scores(inside)
        bound = self.bound(inside, g, rho)
        return self.proof(self._value(point[0], f, rho), bound)

    def at(self, alpha: Floats, f: Floats, rho: float) -> Certificate:
        """The proof at an α of the domain from f = Kα alone."""
        return self.proof(self._value(alpha, f, rho), self.bound(alpha, f, rho))

    def bound(self, alpha: Floats, f: Floats, rho: float) -> float:
        """-‖f‖²/2 at a point of the domain so near α that rounding alone is between them.

        Where Σα > νS, α is scaled down. Else α + t(s - α) has the sum νS, and its function is
        longer by at most t Σ(s - α) √max k(x, x).
        """
        total, mass, S = float(alpha.sum()), self.total, float(self.weights.sum())
        slack = gamma(len(alpha) + 8) * S
        short = max(mass - total, 0.0) + slack
        t = min(short / max(S - total, slack), 1.0) if S > 0.0 else 0.0
        top = math.sqrt(float(np.abs(self.design.diagonal()).max(initial=0.0)))
        room = float(np.maximum(self.weights - alpha, 0.0).sum())
        norm = math.sqrt(max(float(alpha @ f), 0.0) + self._rounding) + t * room * top
        return -up(0.5 * norm * norm, 8)

    def proof(self, value: float, bound: float) -> Certificate:
        """The value may cross zero on the way; the optimum is -‖f‖²/2 itself."""
        top = up(value + 2.0 * self._rounding)
        return Certificate(top, bound, "duality", floor=self._rounding, scale=abs(bound))

    @cached_property
    def _rounding(self) -> float:
        """What rounding in the entries of K and in their sums may be worth in α'Kα, and in Σ α
        f."""
        top = float(np.abs(self.design.diagonal()).max(initial=0.0))
        share = gamma(2 * self.design.n_rows + 8) + 2.0 * self.design.entry_error
        return share * top * self.total**2

    def _value(self, alpha: Floats, f: Floats, rho: float) -> float:
        missed = float(self.weights @ np.maximum(0.0, rho - f))
        return 0.5 * float(alpha @ f) + missed - self.total * rho


def _plain(y: Array, z: Array) -> Any:
    return z
