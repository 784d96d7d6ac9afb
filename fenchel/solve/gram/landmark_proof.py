"""Duality gaps of ridge regression over the features of landmarks, and over the whole kernel.

    P(w) = Σ sᵢ (yᵢ - φᵢ·w)² + α|w|²,      φᵢ = B'kᵢ,  kᵢ = (k(xᵢ, z₁) … k(xᵢ, zₘ))
    D(θ) = 2θ'y - θ'S⁻¹θ - |Φ'θ|²/α ≤ min P,   gap at θ = S(y - Φw):  |αw - Φ'θ|²/α

The function f = Σ cⱼ k(zⱼ, ·), c = Bw, is also a point of the problem over all functions of the
kernel, whose dual has θ'Kθ, K = (k(xᵢ, xⱼ)), in place of |Φ'θ|². The best multiple of θ gives

    Σ sᵢ (yᵢ - f(xᵢ))² + α‖f‖²  ≥  min over all f  ≥  (θ'y)² / (θ'S⁻¹θ + θ'Kθ/α)

What is charged: rounding in kernel values, in sums over landmarks and over rows, and in B, by
their worst case; B itself is what defines the first problem.

Reference: Saunders, Gammerman and Vovk, Ridge regression learning algorithm in dual variables, ICML
1998; Rudi, Camoriano and Rosasco, Less is more: Nyström computational regularization, NIPS 28
(2015).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate

Floats = NDArray[np.float64]
U = 2.0**-53


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """What one pass tells of coefficients c (m, T), with ρ = y - Kc.

    pull: K'(Sρ), (m, T); for each target squares Σ sρ², energy Σ sy², inner Σ sρy and reach
    Σ s|ρ|√k(x, x).
    """

    pull: Floats = field(repr=False)
    squares: Floats
    energy: Floats
    inner: Floats
    reach: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Rounding:
    """Bounds of relative errors: entry of a kernel value, rows and columns of sums by a pass over
    rows and over landmarks.

    landmark: √k(z, z) of each; mass: Σ s k(x, x).
    """

    entry: float
    rows: float
    columns: float
    landmark: Floats = field(repr=False)
    mass: float

    def of_scores(self, c: Floats) -> Floats:
        """R (T,) with |computed - f(x)| ≤ √k(x, x) R."""
        return np.asarray(self.landmark @ np.abs(c) * (self.entry + self.columns))


def landmark_certificate(
    seen: Seen, w: Floats, c: Floats, alpha: Floats, basis: Floats, rounding: Rounding
) -> Certificate:
    """The gap of f = Σ cⱼ k(zⱼ, ·) over the features of landmarks, c (m, T) being Bw as computed
    for w (r, T), summed over the targets; alpha > 0: one for each.

    B is square, L'^{-1}: the point is the one with Bw = c, which is off w by L'(c - Bw) and so by
    no more than Σ √k(zⱼ, zⱼ) |c - Bw|ⱼ, here twice that, L being the factor as computed.
    """
    m, r = basis.shape
    B = np.abs(basis)
    scores, length = rounding.of_scores(c), _length(w)
    moved = 2.0 * (rounding.landmark @ (B @ np.abs(w))) * ((r + 2.0) * U)
    value = seen.squares + alpha * length**2
    v = basis.T @ seen.pull
    # Of the pull each entry is off by its share of the rows' sum; B' adds up these, and its own.
    off = np.outer(rounding.landmark, seen.reach) * (rounding.rows + rounding.entry + 2.0 * U)
    off = B.T @ (off + np.abs(seen.pull) * ((m + 2.0) * U))
    slope = alpha * w - v
    size = _length(slope) + _length(off) + alpha * moved + 2.0 * U * (alpha * length + _length(v))
    squares = rounding.mass * scores**2  # Σ s (error of a score)²
    gap = size**2 / alpha + squares
    charge = 2.0 * seen.reach * scores + squares + alpha * moved * (2.0 * length + moved)
    charge = charge + 2.0 * (rounding.rows + r * U) * value
    bound = np.maximum(value - gap - charge, 0.0)
    floor = 32.0 * U * float(seen.energy.sum())
    return Certificate(float(value.sum()), float(bound.sum()), "duality", floor=floor)


def full_certificate(
    seen: Seen,
    quadratic: Floats,
    norms: Floats,
    c: Floats,
    alpha: Floats,
    rounding: Rounding,
    products: float,
) -> Certificate:
    """The gap of f = Σ cⱼ k(zⱼ, ·) among all functions of the kernel, summed over the targets.

    quadratic: θ'Kθ, θ = Sρ, and norms: c'k(Z, Z)c, as computed; products: γ of the sums in the
    first, relative to those of absolute values.
    """
    m, scores = len(c), rounding.of_scores(c)
    value = seen.squares + alpha * np.maximum(norms, 0.0)
    norm_error = (rounding.landmark @ np.abs(c)) ** 2 * (rounding.entry + (2.0 * m + 4.0) * U)
    charge = 2.0 * seen.reach * scores + rounding.mass * scores**2 + alpha * norm_error
    charge = charge + 2.0 * rounding.rows * seen.squares
    # θ as computed is a dual point like any other: what rounds is θ'y, and its two squares.
    more = seen.reach**2 * (rounding.entry + products + 4.0 * U)
    below = seen.squares * (1.0 + 2.0 * rounding.rows) + (np.maximum(quadratic, 0.0) + more) / alpha
    above = seen.inner - 2.0 * rounding.rows * np.sqrt(seen.squares * seen.energy)
    above = np.maximum(above, 0.0)
    least = np.divide(above**2, below, out=np.zeros_like(below), where=below > 0.0)
    bound = np.clip(least * (1.0 - 8.0 * U) - charge, 0.0, value)
    floor = 32.0 * U * float(seen.energy.sum())
    return Certificate(float(value.sum()), float(bound.sum()), "duality", floor=floor)


def _length(v: Floats) -> Floats:
    return np.asarray(np.sqrt(np.sum(v**2, axis=0)))
