"""The dual of a linear support vector machine by an interior point method.

maximise over 0 ≤ a ≤ c:  Σ aᵢ - |A'a|²/2

Each step solves with D + AA' by way of the d x d matrix I + A'D⁻¹A, so it costs n d² operations,
and some twenty steps are enough whatever the scale of the columns.

Reference: Ferris and Munson, Interior-point methods for massive support vector machines, SIAM J.
Optim. 13 (2002).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

Floats = NDArray[np.float64]


def box_dual(A: Any, c: Floats, *, tol: float = 1e-10, max_steps: int = 60) -> Floats:
    """A feasible a whose distance to the optimum is about tol, relative; A may be sparse."""
    v = A.T @ c
    a = c * min(0.5, float(c.sum()) / max(float(v @ v), 1e-300))  # the best multiple of c
    b = c - a  # kept by itself: near the end the difference has no digits left
    gradient = A @ (A.T @ a) - 1.0
    # Multipliers of a ≥ 0 and a ≤ c: positive, and right about the sign of the gradient.
    scale = max(1.0, float(np.abs(gradient).max()))
    low, high = np.maximum(gradient, 0.0) + scale, np.maximum(-gradient, 0.0) + scale
    best, top = a, -np.inf
    for _ in range(max_steps):
        v = A.T @ a
        whole, square = float(a.sum()), float(v @ v)
        t = min(1.0, whole / max(square, 1e-300))  # a shorter a may be better
        if t * whole - 0.5 * t * t * square > top:
            best, top = t * a, t * whole - 0.5 * t * t * square
        gradient = A @ v - 1.0
        rest = gradient - low + high
        product = float(low @ a + high @ b)
        mu = product / (2 * len(a))
        if product <= tol * max(whole, square) and np.abs(rest).max() <= tol * scale:
            break
        try:
            solve = _solver(A, low / a + high / b)
        except linalg.LinAlgError:  # rounding ends it here
            break
        # Mehrotra: the step that aims at no barrier tells how much of it to keep.
        da, dl, dh = _step(solve, a, b, low, high, rest, 0.0, 0.0, 0.0)
        t = _longest(a, b, low, high, da, dl, dh)
        ahead = float((low + t * dl) @ (a + t * da) + (high + t * dh) @ (b - t * da))
        sigma = (ahead / product) ** 3
        da, dl, dh = _step(solve, a, b, low, high, rest, sigma * mu, da * dl, -da * dh)
        t = 0.995 * _longest(a, b, low, high, da, dl, dh)
        if not t > 1e-10:
            break
        a, b, low, high = a + t * da, b - t * da, low + t * dl, high + t * dh
    return np.clip(best, 0.0, c)


def _solver(A: Any, D: Floats) -> Any:
    scaled = A / D[:, None] if isinstance(A, np.ndarray) else A.multiply(1.0 / D[:, None])
    M = A.T @ scaled
    M = np.asarray(M if isinstance(M, np.ndarray) else M.toarray())
    M.flat[:: len(M) + 1] += 1.0
    unit = np.diagonal(M) ** -0.5
    factor = linalg.cho_factor(M * unit[:, None] * unit, check_finite=False)

    def solve(r: Floats) -> Floats:
        r = r / D
        x = unit * linalg.cho_solve(factor, unit * (A.T @ r), check_finite=False)
        return r - (A @ x) / D

    return solve


def _step(
    solve: Any,
    a: Floats,
    b: Floats,
    low: Floats,
    high: Floats,
    rest: Floats,
    mu: float,
    bend_low: Any,
    bend_high: Any,
) -> tuple[Floats, Floats, Floats]:
    """Newton's step for low·a = μ, high·b = μ and gradient = low - high, b = c - a."""
    toward_low, toward_high = (mu - bend_low) / a - low, (mu - bend_high) / b - high
    da = solve(-rest + toward_low - toward_high)
    return da, toward_low - low / a * da, toward_high + high / b * da


def _longest(
    a: Floats, b: Floats, low: Floats, high: Floats, da: Floats, dl: Floats, dh: Floats
) -> float:
    """The longest step, at most 1, that keeps everything positive."""
    t = 1.0
    for x, dx in ((a, da), (b, -da), (low, dl), (high, dh)):
        down = dx < 0.0
        if down.any():
            t = min(t, float((-x[down] / dx[down]).min()))
    return t
