"""The support of a distribution: a function in a kernel's space that is large on most rows.

    P(f, ρ) = ‖f‖²/2 + Σ sᵢ max(0, ρ - f(xᵢ)) - νSρ,   S = Σ sᵢ
    D(α) = -α'Kα/2,   0 ≤ αᵢ ≤ sᵢ,   Σ αᵢ = νS,   f = Σ αᵢ k(xᵢ, ·)

Rows with f(xᵢ) < ρ weigh at most νS, those with f(xᵢ) ≤ ρ at least that.

Rounding: with R = Σ |αⱼ|√kⱼⱼ and κ the error of a sum over the rows and of the entries in it,
|f̂ - f|ᵢ ≤ κ √kᵢᵢ R and |α'Kα - its sum| ≤ κ R². The value is off by half of that, by the first on
every row that may lie below ρ, and by γ(n) of its terms; the bound pays for it, so that the gap
covers both.

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
from fenchel.convex.certification.rounding import U, down, gamma, up
from fenchel.convex.objective import Objective
from fenchel.data.arrays import Array
from fenchel.data.design.kernel import KernelExpansion
from fenchel.data.design.matrix import Point

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
        return self.design.map_rows((alpha, 0.0), _plain)

    def evaluate(self, point: Point, *, exact: bool = False) -> Height:
        return Height(self._value(point[0], self.scores(point[0]), -float(point[1])))

    def certify(
        self, point: Point, seen: Any = None, dual: Any = None, enough: float = 1e-9
    ) -> Certificate:
        """The value at the point, the bound at the nearest α of the domain."""
        f, rho = self.scores(point[0]), -float(point[1])
        inside = self.project(point)[0]
        g = f if inside is point[0] else self.scores(inside)
        return self.proof(point[0], f, rho, self.bound(inside, g, rho))

    def at(self, alpha: Floats, f: Floats, rho: float) -> Certificate:
        """The proof at an α of the domain from f = Kα alone."""
        return self.proof(alpha, f, rho, self.bound(alpha, f, rho))

    def bound(self, alpha: Floats, f: Floats, rho: float) -> float:
        """-‖f‖²/2 at a point of the domain so near α that rounding alone is between them.

        Where Σα > νS, α is scaled down. Else α + t(s - α) has the sum νS, and its function is
        longer by at most t Σ(s - α) √max k(x, x).
        """
        total, mass, S = float(alpha.sum()), self.total, float(self.weights.sum())
        slack = gamma(len(alpha) + 8) * S
        short = max(mass - total, 0.0) + slack
        t = min(short / max(S - total, slack), 1.0) if S > 0.0 else 0.0
        room = float(np.maximum(self.weights - alpha, 0.0).sum())
        square = max(float(alpha @ f), 0.0) + self._share * self.design.expansion_size(alpha) ** 2
        norm = math.sqrt(square) + t * room * float(self.design.roots.max(initial=0.0))
        return -up(0.5 * norm * norm, len(alpha) + 16)

    def proof(self, alpha: Floats, f: Floats, rho: float, bound: float) -> Certificate:
        """The proof of a point from f = Kα there. The value may cross zero on the way; the optimum
        is -‖f‖²/2 itself."""
        value, error = self._value(alpha, f, rho), self._error(alpha, f, rho)
        if not math.isfinite(error) or not math.isfinite(bound):
            return Certificate(value, -math.inf, "estimate", scale=abs(value))
        floor = self._share * self.design.expansion_size(alpha) ** 2
        least = down(bound - error, 2)
        return Certificate(value, least, "duality", floor=floor, scale=abs(bound))

    @cached_property
    def _share(self) -> float:
        """κ."""
        return gamma(2 * self.design.n_rows + 8) + 2.0 * self.design.entry_error

    def _error(self, alpha: Floats, f: Floats, rho: float) -> float:
        """How far the value may be from that of its point."""
        s, size, n = self.weights, self.design.expansion_size(alpha), len(alpha)
        off = self._share * self.design.roots * size
        near = rho - f + off + 4.0 * U * (abs(rho) + np.abs(f))
        missed = float(s @ np.where(near > 0.0, off + 4.0 * U * (abs(rho) + np.abs(f)), 0.0))
        terms = size * size + float(s @ np.maximum(0.0, rho - f)) + self.total * abs(rho)
        return up(0.5 * self._share * size * size + missed + gamma(n + 16) * terms, n + 16)

    def _value(self, alpha: Floats, f: Floats, rho: float) -> float:
        missed = float(self.weights @ np.maximum(0.0, rho - f))
        return 0.5 * float(alpha @ f) + missed - self.total * rho


def _plain(y: Array, z: Array) -> Any:
    return z
