"""A positive definite system of which the matrix is known up to rounding: what its solution is at
most.

    q = g'H⁻¹g,   H = D^½ R D^½ with unit diagonal R,   R ≈ LL'

|Ĥ - H| ≤ η √(Hᵢᵢ Hⱼⱼ) entry by entry gives ‖R̂ - R‖ ≤ n η, and a Cholesky factor of R̂ errs by at
most n γ(n + 1). With λ_min(LL') ≥ 1/‖L⁻¹‖_F² the sum κ of both times ‖L⁻¹‖_F² says how far the
exact inverse may be: q ≤ |L⁻¹D^-½ g|²/(1 - κ). κ ≥ 1/10 proves too little, and no answer is given.

Reference: Rump, Verification of positive definiteness, BIT 46 (2006); Higham, Accuracy and
Stability of Numerical Algorithms (2002), theorem 10.3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from fenchel.convex.certification.rounding import gamma, up

Floats = NDArray[np.float64]
WORST = 0.1  # κ beyond which nothing is claimed: 1/(1 - κ) is then no longer near one


@dataclass(frozen=True, slots=True, eq=False)
class VerifiedFactor:
    """L and D of a matrix H; inverse: at least ‖L⁻¹‖_F; kappa: κ."""

    chol: Floats
    scale: Floats  # D^-½
    inverse: float
    kappa: float

    @classmethod
    def of(cls, H: Floats, eta: float) -> VerifiedFactor | None:
        """None where H is not positive definite beyond doubt; η: relative error of its entries."""
        n = len(H)
        diagonal = np.diagonal(H)
        if not n or not (diagonal > 0.0).all() or not np.isfinite(H).all():
            return None
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            scale = 1.0 / np.sqrt(diagonal)
            R = H * scale[:, None] * scale
        if not np.isfinite(R).all():
            return None
        L, info = linalg.lapack.dpotrf(R, lower=1, clean=1)
        if info != 0:
            return None
        inverse, info = linalg.lapack.dtrtri(L, lower=1)
        if info != 0 or not np.isfinite(inverse).all():
            return None
        # |L⁻¹| from its computed inverse, whose residual says how far that is off.
        left = float(np.linalg.norm(np.eye(n) - L @ inverse)) + n * gamma(n + 2) * float(
            np.linalg.norm(inverse)
        )
        if not left < 0.5:
            return None
        size = up(float(np.linalg.norm(inverse)) / (1.0 - left), n)
        kappa = up(n * (eta + gamma(n + 8)) * size * size, 4)
        return cls(L, scale, size, kappa) if kappa < WORST else None

    def solve(self, g: Floats) -> Floats:
        """H⁻¹g, to rounding."""
        x, _ = linalg.lapack.dpotrs(self.chol, g * self.scale, lower=1)
        return np.asarray(x * self.scale)

    def square(self, g: Floats, error: Floats) -> float:
        """At least g'H⁻¹g for every g within the error, entry by entry, of the one given."""
        n = len(g)
        y = linalg.solve_triangular(self.chol, g * self.scale, lower=True, check_finite=False)
        size = float(np.linalg.norm(y))
        size *= 1.0 + self.inverse * gamma(n + 2) * math.sqrt(n) * 2.0
        size += self.inverse * float(np.linalg.norm((error + np.abs(g) * gamma(4)) * self.scale))
        return up(size * size / (1.0 - self.kappa), n + 8)

    def solved(
        self, H: Floats, eta: float, g: Floats, error: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """v near H⁻¹g; at least what the exact Hv leaves of every g within the error; and the part
        of that which is rounding. η: relative error of the entries of H."""
        v = self.solve(g)
        v = v + self.solve(g - H @ v)
        root = np.sqrt(np.diagonal(H))
        own = (np.abs(H) @ np.abs(v) + np.abs(g)) * gamma(len(v) + 4)
        own = own + eta * root * float(root @ np.abs(v)) + error
        return v, np.abs(g - H @ v) + own, own

    def reach(self, square: float, sizes: Floats) -> float:
        """At least |x·H⁻¹g| for every x with |xⱼ| ≤ sizesⱼ, where g'H⁻¹g is at most `square`."""
        length = float(np.linalg.norm(sizes * self.scale))
        return up(math.sqrt(square / (1.0 - self.kappa)) * self.inverse * length, 8)
