"""The duality gap of kernel ridge regression, with rounding charged to the bound.

    P(c) = Σ sᵢ (yᵢ - (Kc)ᵢ)² + α c'Kc,   D(a) = 2α a'y - α² a'S⁻¹a - α a'Ka ≤ min P

For a = c the gap P - D is Σ sᵢ ρᵢ², ρ = y - Kc - αS⁻¹c: the equations' own residual.

What is charged: of the computed Kc an error γ Σⱼ √(kᵢᵢkⱼⱼ)|cⱼ| each row, γ of `product_error`; and
since K as computed is positive semi-definite but for rounding, the least eigenvalue -δ, δ = n ε max
kᵢᵢ, that it may have: the proof is of the nearest K that is.

Reference: Saunders, Gammerman and Vovk, Ridge regression learning algorithm in dual variables, ICML
1998.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.data.matrix_products import product_error

Floats = NDArray[np.float64]
EPS = 2.0**-52


def ridge_certificate(
    Kc: Floats, diagonal: Floats, y: Floats, s: Floats, alpha: Floats, c: Floats, steps: int = 0
) -> Certificate:
    """The certificate of coefficients c (n, T) for targets y (n, T), summed over the targets.

    Kc: the products, made in float64; diagonal: of K; s > 0; alpha > 0: one for each target.
    """
    n = len(s)
    weight = s[:, None]
    residual = y - Kc
    shift = alpha * c / weight
    rho = residual - shift
    value = np.sum(weight * residual**2, axis=0) + alpha * np.maximum(np.sum(c * Kc, axis=0), 0.0)
    root = np.sqrt(np.maximum(diagonal, 0.0))
    reach = np.sum(root[:, None] * np.abs(c), axis=0)  # Σ √kⱼⱼ |cⱼ|
    delta = n * EPS * float(diagonal.max(initial=0.0))
    size = np.sqrt(np.sum(c**2, axis=0))
    # ‖S^½ error‖ of the residual: of the product, of the differences, of the missing eigenvalue.
    error = (
        product_error(n) * np.sqrt(float(np.sum(s * np.maximum(diagonal, 0.0)))) * reach
        + 2.0 * EPS * _norm(weight, np.abs(y) + np.abs(Kc) + np.abs(shift))
        + delta * np.sqrt(float(s.max())) * size
    )
    gap = (_norm(weight, rho) + error) ** 2
    # What rounding may have taken off the value: -2ρ'S e - α c'e for an error e of Kc, as the
    # residual is ρ + αS⁻¹c.
    first = alpha * (product_error(n) * reach**2 + delta * size**2)
    charge = 2.0 * _norm(weight, rho) * error + error**2 + first + 4.0 * n * EPS * value
    bound = np.maximum(value - gap - charge, 0.0)
    floor = 16.0 * EPS * np.sum(weight * y**2, axis=0)
    return Certificate(
        float(value.sum()), float(bound.sum()), "duality", steps, floor=float(floor.sum())
    )


def _norm(weight: Floats, v: Floats) -> Floats:
    return np.asarray(np.sqrt(np.sum(weight * v**2, axis=0)))
