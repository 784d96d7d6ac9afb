"""Naive definitions, as a textbook writes them: slow, scalar, right where nothing overflows."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.spatial import ConvexHull

# ------------------------------------------------------------------------------- losses, scalar


def square(y, z):
    return (z - y) ** 2 / 2


def absolute(y, z):
    return abs(z - y)


def huber(y, z, eps):
    r = abs(z - y)
    return r**2 / 2 if r <= eps else eps * r - eps**2 / 2


def pinball(y, z, quantile):
    return quantile * (y - z) if y >= z else (1 - quantile) * (z - y)


def epsilon_insensitive(y, z, eps):
    return max(0.0, abs(z - y) - eps)


def square_margin(y, z):
    return (1 - y * z) ** 2


def logistic(y, z):
    return math.log(1 + math.exp(-y * z))


def hinge(y, z):
    return max(0.0, 1 - y * z)


def squared_hinge(y, z):
    return max(0.0, 1 - y * z) ** 2


def exponential(y, z):
    return math.exp(-y * z)


def modified_huber(y, z):
    m = y * z
    if m >= -1:
        return max(0.0, 1 - m) ** 2
    return -4 * m


def multinomial(y, z):
    return -math.log(math.exp(z[y]) / sum(math.exp(score) for score in z))


# ------------------------------------------------------------------ penalties, one coefficient


def l2(w, lam):
    return lam / 2 * w**2


def l1(w, lam):
    return lam * abs(w)


def elastic_net(w, lam, l1_ratio):
    return lam * (l1_ratio * abs(w) + (1 - l1_ratio) / 2 * w**2)


def non_negative(w):
    return 0.0 if w >= 0 else math.inf


# --------------------------------------------------------------------------------- convex duals


def minimum(f: Callable[[float], float], low: float, high: float) -> tuple[float, float]:
    """(argmin, min) of a convex function on an interval, by ternary search.

    Where the function is infinite it is so on the left.
    """
    for _ in range(200):
        a, b = (2 * low + high) / 3, (low + 2 * high) / 3
        if math.isfinite(f(a)) and f(a) <= f(b):
            high = b
        else:
            low = a
    return min([(low, f(low)), (high, f(high))], key=lambda pair: pair[1])


def conjugate(f: Callable[[float], float], theta: float, reach: float = 1e3) -> float:
    """sup θ z − f(z) over |z| ≤ reach; inf if it still grows at the end of the interval."""

    def fall(z):
        return f(z) - theta * z

    z, least = minimum(fall, -reach, reach)
    end = math.copysign(reach, z)
    grows = fall(end) < fall(end / 2) - 1e-6 * abs(theta) - 1e-9
    return math.inf if grows and abs(z) > 0.99 * reach else -least


def prox(f: Callable[[float], float], w: float, step: float) -> float:
    """argmin step f(u) + (u − w)²/2, for f least at 0."""
    return minimum(lambda u: step * f(u) + (u - w) ** 2 / 2, min(w, 0.0), max(w, 0.0))[0]


# ---------------------------------------------------------------------------------- calibration


def optimal_risks(phi: Callable, eta: float, reach: float = 40.0) -> tuple[float, float]:
    """H(η) and H⁻(η): the least conditional φ-risk over all scores, and over the wrong signs."""
    a = np.sinh(np.linspace(-np.arcsinh(reach), np.arcsinh(reach), 40001))
    risk = eta * phi(a) + (1 - eta) * phi(-a)
    return risk.min(), risk[a * (2 * eta - 1) <= 1e-12].min()


def psi(phi: Callable, thetas: np.ndarray) -> np.ndarray:
    """The convex envelope, on an even grid of [−1, 1], of H⁻((1 + θ)/2) − H((1 + θ)/2)."""
    gaps = []
    for theta in thetas:
        best, wrong = optimal_risks(phi, (1 + theta) / 2)
        gaps.append(wrong - best)
    return lower_envelope(thetas, np.array(gaps))


def lower_envelope(x: np.ndarray, f: np.ndarray) -> np.ndarray:
    """The largest convex function below the points (x, f), at x."""
    if np.ptp(f) == 0:
        return f.copy()
    roof = np.max(f) + 1  # closes the hull from above
    corners = np.column_stack([np.append(x, [x[0], x[-1]]), np.append(f, [roof, roof])])
    below = sorted(v for v in ConvexHull(corners).vertices if v < len(x))
    return np.interp(x, x[below], f[below])
