"""The duality gap of kernel ridge regression, with rounding charged to the bound.

    P(c) = Σ sᵢ (yᵢ - (Kc)ᵢ)² + α c'Kc,   D(a) = 2α a'y - α² a'S⁻¹a - α a'Ka ≤ min P

For a = c the gap P - D is Σ sᵢ ρᵢ², ρ = y - Kc - αS⁻¹c: the equations' own residual.

What is charged, K being the exact matrix and K̂ the computed one:

product     |(K̂c)ˆ - Kc|ᵢ ≤ eᵢ := (γ + κ) √Sᵢ Σⱼ √Sⱼ|cⱼ|, γ of `product_error`, κ the error of an
            entry relative to √(SᵢSⱼ), S the kernel's sizes, kᵢᵢ or more
value       its change by e is Σ (-2sρ - αc)e + Σ se², since the residual is ρ + αS⁻¹c; and the
            rounding of a sum of n terms that are not negative, γ(n + 8) of it
gap         (‖S^½ρ̂‖ + ‖S^½e‖ + rounding of ρ̂)²
eigenvalue  a matrix that is given may be semi-definite but for rounding: the least eigenvalue -δ,
            δ = n ε max kᵢᵢ, that it may have; the proof is then of the nearest K that is

Both are taken off the bound, which lies below the value as computed by all of it.

Reference: Saunders, Gammerman and Vovk, Ridge regression learning algorithm in dual variables, ICML
1998.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.convex.certification.rounding import gamma
from fenchel.data.design.kernel import KernelExpansion
from fenchel.data.linear_algebra.matrix_products import product_error

Floats = NDArray[np.float64]
EPS = 2.0**-52


def ridge_certificate(
    Kc: Floats,
    sizes: Floats,
    y: Floats,
    s: Floats,
    alpha: Floats,
    c: Floats,
    entry_error: float = 0.0,
    steps: int = 0,
) -> Certificate:
    """The certificate of coefficients c (n, T) for targets y (n, T), summed over the targets.

    Kc: the products, made in float64; sizes and entry_error: of K (`KernelExpansion`); s > 0;
    alpha > 0: one for each target.
    """
    n = len(s)
    weight = s[:, None]
    residual = y - Kc
    shift = alpha * c / weight
    rho = residual - shift
    value = np.sum(weight * residual**2, axis=0) + alpha * np.maximum(np.sum(c * Kc, axis=0), 0.0)
    sizes = np.maximum(sizes, 0.0)
    reach = np.sum(np.sqrt(sizes)[:, None] * np.abs(c), axis=0)  # Σ √Sⱼ |cⱼ|
    share = product_error(n) + entry_error
    delta = n * EPS * float(sizes.max(initial=0.0)) if entry_error == 0.0 else 0.0
    size = np.sqrt(np.sum(c**2, axis=0))
    # ‖S^½ error‖ of the residual: of the product, of the differences, of the missing eigenvalue.
    error = (
        share * np.sqrt(float(np.sum(s * sizes))) * reach
        + 2.0 * EPS * _norm(weight, np.abs(y) + np.abs(Kc) + np.abs(shift))
        + delta * np.sqrt(float(s.max())) * size
    )
    error = error * (1.0 + gamma(n + 16))
    left = _norm(weight, rho) * (1.0 + gamma(n + 8))
    gap = (left + error) ** 2
    first = alpha * (share * reach**2 + delta * size**2)
    terms = value + alpha * np.sum(np.abs(c * Kc), axis=0)
    charge = (2.0 * left * error + error**2 + first + gamma(n + 16) * terms) * (1.0 + gamma(n + 32))
    bound = np.maximum(value - gap - charge - 8.0 * EPS * value, 0.0)
    bound = np.where(np.isfinite(bound), bound, 0.0)  # 0 ≤ P is left where no charge is finite
    total = float(bound.sum()) * (1.0 - gamma(len(bound) + 2))
    floor = 16.0 * EPS * np.sum(weight * y**2, axis=0)
    return Certificate(float(value.sum()), total, "duality", steps, floor=float(floor.sum()))


def squares_value(design: KernelExpansion, y: Floats, s: Floats, c: Floats) -> tuple[float, float]:
    """Σ s (y - Kc)² over all targets, and what rounding may have made of it."""
    n, weight = len(s), s[:, None]
    Kc = design.product(c)
    residual = y - Kc
    sizes = np.maximum(design.sizes(), 0.0)
    reach = np.sum(np.sqrt(sizes)[:, None] * np.abs(c), axis=0)
    share = product_error(n) + design.entry_error
    error = share * np.sqrt(float(np.sum(s * sizes))) * reach + EPS * _norm(weight, residual)
    values = np.sum(weight * residual**2, axis=0)
    off = (2.0 * np.sqrt(values) + error) * error * (1.0 + gamma(n + 32)) + gamma(n + 16) * values
    total = float(values.sum())
    return total, float(off.sum()) * (1.0 + gamma(len(off) + 8)) + gamma(len(off) + 2) * total


def _norm(weight: Floats, v: Floats) -> Floats:
    return np.asarray(np.sqrt(np.sum(weight * v**2, axis=0)))
