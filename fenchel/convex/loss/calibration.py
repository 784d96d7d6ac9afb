"""Calibration: what a small excess φ-risk says about the excess 0-1 risk.

C_η(a) = η φ(a) + (1 − η) φ(−a),  H(η) = inf_a C_η(a),  H⁻(η) = inf_{a (2η − 1) ≤ 0} C_η(a)
ψ(θ) is the convex envelope of H⁻((1 + θ)/2) − H((1 + θ)/2), and ψ(R(f) − R*) ≤ R_φ(f) − R_φ*.

For a convex φ the difference is its own envelope. Take θ ≥ 0. If C_η rises to the right of 0, its
least value over a ≤ 0 is its least value: the difference is 0, and it was 0 for every smaller θ.
If it falls, its least value over a ≤ 0 is C_η(0) = φ(0). In both cases the difference is
φ(0) − inf_{a ≥ 0} C_η(a), a supremum of affine functions of θ: convex and closed.

Reference: Bartlett, Jordan and McAuliffe, Convexity, classification, and risk bounds, JASA 101
(2006).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from fenchel.convex.loss.margin import Margin


def is_calibrated(loss: Margin) -> bool:
    """Whether φ, convex, is differentiable at 0 with φ′(0) < 0.

    The slopes on both sides are taken at ±2⁻⁴⁰ and may differ by one millionth.
    """
    left, right = _slopes(loss)
    return right < 0.0 and right - left <= 1e-6 * -left


def psi(loss: Margin, theta: Any) -> Any:
    """ψ(θ) of a margin loss by its definition: φ(0) − inf_{a ≥ 0} C_η(a) with η = (1 + |θ|)/2.

    The infimum is where the slope of C_η changes sign, found by bisection. At |θ| = 1 it may lie
    at infinity: there ψ(1) = φ(0) + φ*(0). The error is that of the arithmetic.
    """
    t = np.atleast_1d(size(theta))
    edge = t == 1.0
    # 1 − η is formed from θ: near θ = 1 the difference has lost its digits, and H feels its root.
    eta, rest = (0.5 * (1.0 + np.where(edge, 0.0, sign * t)) for sign in (1.0, -1.0))

    def risk(a: Any) -> Any:
        return eta * loss.phi(a) + rest * loss.phi(-a)

    def falls(a: Any) -> Any:
        return eta * loss.dphi(a) < rest * loss.dphi(-a)

    high = np.ones_like(t)
    # 60 doublings: beyond that the answer stays below ψ, which keeps the inequality true.
    for _ in range(60):
        more = falls(high)
        if not more.any():
            break
        high = np.where(more, 2.0 * high, high)
    low = np.zeros_like(t)
    for _ in range(100):
        middle = 0.5 * (low + high)
        more = falls(middle)
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    zero = np.zeros(1)
    top = loss.phi(zero)
    inner = np.clip(top - np.minimum(risk(low), risk(high)), 0.0, None)
    limit = top + loss.phi_star(zero) if _slopes(loss)[1] < 0.0 else zero
    return np.where(edge, limit, inner).reshape(np.shape(theta))[()]


def excess_risk_bound(loss: Margin, excess: Any) -> Any:
    """The largest excess 0-1 risk that an excess φ-risk allows: sup {θ ≤ 1 : ψ(θ) ≤ excess}.

    R(f) − R* ≤ excess_risk_bound(φ, R_φ(f) − R_φ*) for every f; 1 says nothing.

    Parameters
    ----------
    loss : Margin
        The surrogate φ.
    excess : float or array of floats
        Excess φ-risk R_φ(f) − R_φ*, at least 0.

    Returns
    -------
    float or array of floats
        The bound, of the shape of `excess`.

    Examples
    --------
    >>> from fenchel.convex.loss.calibration import excess_risk_bound
    >>> from fenchel.convex.loss.hinge import Hinge, SquaredHinge
    >>> float(excess_risk_bound(Hinge(), 0.25)), float(excess_risk_bound(SquaredHinge(), 0.25))
    (0.25, 0.5)
    """
    risk = np.atleast_1d(np.asarray(excess, dtype=np.float64))
    if not (risk >= 0.0).all():
        raise ValueError(f"excess must be at least 0, got {excess!r}")
    low, high = np.zeros_like(risk), np.ones_like(risk)
    for _ in range(100):
        middle = 0.5 * (low + high)
        fits = loss.psi(middle) <= risk
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    everything = loss.psi(np.ones_like(risk)) <= risk
    return np.where(everything, 1.0, low).reshape(np.shape(excess))[()]


def size(theta: Any) -> Any:
    """|θ| for θ in [−1, 1], the points where ψ, an even function, is defined."""
    t = np.abs(np.asarray(theta, dtype=np.float64))
    if not (t <= 1.0).all():
        raise ValueError(f"theta must lie in [-1, 1], got {theta!r}")
    return t


def _slopes(loss: Margin) -> tuple[float, float]:
    left, right = loss.dphi(np.array([-(2.0**-40), 2.0**-40]))
    return float(left), float(right)
