"""Kernels of a density estimate: a profile k(u) of u = ‖x - z‖/h, its integral, and its draws.

gaussian e^{-u²/2}; exponential e^{-u}; and for u < 1, with 0 from there on: tophat 1, epanechnikov
1 - u², linear 1 - u, cosine cos(πu/2)

∫ k(‖x‖/h) dx = hᵈ V d ∫ k(u) u^{d-1} du,   V the volume of the unit ball of the norm

Reference: Silverman, Density Estimation for Statistics and Data Analysis (1986), section 4.2.
"""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, roots_jacobi

Floats = NDArray[np.float64]
Profile = Literal["gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"]
PROFILES: tuple[Profile, ...] = get_args(Profile)
Norm = Literal["euclidean", "manhattan", "chebyshev"]
NORMS: dict[str, Norm] = {
    "euclidean": "euclidean",
    "l2": "euclidean",
    "manhattan": "manhattan",
    "cityblock": "manhattan",
    "l1": "manhattan",
    "chebyshev": "chebyshev",
    "infinity": "chebyshev",
}
EXPONENTIAL_LIKE = ("gaussian", "exponential")


def values(profile: Profile, u: Floats) -> Floats:
    """k(u) of the kernels with bounded support."""
    inside = u < 1.0
    if profile == "tophat":
        return inside.astype(np.float64)
    if profile == "epanechnikov":
        found = 1.0 - u * u
    elif profile == "linear":
        found = 1.0 - u
    else:
        found = np.cos(0.5 * math.pi * np.minimum(u, 1.0))
    return np.asarray(np.where(inside, found, 0.0))


def log_volume(norm: Norm, d: int) -> float:
    """The logarithm of the unit ball's volume."""
    if norm == "euclidean":
        return 0.5 * d * math.log(math.pi) - float(gammaln(0.5 * d + 1.0))
    if norm == "manhattan":
        return d * math.log(2.0) - float(gammaln(d + 1.0))
    return d * math.log(2.0)


def log_normaliser(profile: Profile, norm: Norm, d: int, h: Any) -> Any:
    """log ∫ k(‖x‖/h) dx."""
    if profile == "gaussian":
        radial = math.log(d) + (0.5 * d - 1.0) * math.log(2.0) + float(gammaln(0.5 * d))
    elif profile == "tophat":
        radial = 0.0
    elif profile == "epanechnikov":
        radial = math.log(2.0 / (d + 2.0))
    elif profile == "exponential":
        radial = float(gammaln(d + 1.0))
    elif profile == "linear":
        radial = -math.log(d + 1.0)
    else:  # Gauss's rule for the weight u^{d-1} on [0, 1]: exact to rounding
        nodes, weights = roots_jacobi(40, 0.0, d - 1.0)
        share = weights / weights.sum()  # the weight integrates to 1/d
        radial = math.log(float(share @ np.cos(0.25 * math.pi * (nodes + 1.0))))
    return d * np.log(h) + log_volume(norm, d) + radial


def draws(profile: Profile, norm: Norm, n: int, d: int, rng: np.random.RandomState) -> Floats:
    """n independent draws with the density k(‖x‖) over its integral."""
    if profile == "gaussian" and norm == "euclidean":
        return rng.standard_normal((n, d))
    if norm == "euclidean":
        directions = rng.standard_normal((n, d))
        directions /= np.sqrt((directions**2).sum(axis=1))[:, None]
    elif norm == "manhattan":
        directions = rng.standard_exponential((n, d))
        directions /= directions.sum(axis=1)[:, None]
        directions *= rng.choice([-1.0, 1.0], (n, d))
    else:
        directions = rng.uniform(-1.0, 1.0, (n, d))
        directions /= np.abs(directions).max(axis=1)[:, None]
    return np.asarray(directions * _radii(profile, n, d, rng)[:, None])


def _radii(profile: Profile, n: int, d: int, rng: np.random.RandomState) -> Floats:
    """Of the density k(u) u^{d-1} over its integral."""
    if profile == "gaussian":
        return np.sqrt(rng.chisquare(d, n))
    if profile == "exponential":
        return rng.standard_gamma(float(d), n)
    if profile == "tophat":
        return np.asarray(rng.uniform(size=n) ** (1.0 / d))
    if profile == "linear":
        return rng.beta(d, 2.0, n)
    found = np.sqrt(rng.beta(0.5 * d, 2.0, n))
    if profile == "epanechnikov":
        return found
    # cos(πu/2) ≤ 1 - u²: a draw of the right is kept with the probability of their ratio.
    open_ = np.arange(n)
    while len(open_):
        u = found[open_]
        kept = rng.uniform(size=len(u)) * (1.0 - u * u) <= np.cos(0.5 * math.pi * u)
        open_ = open_[~kept]
        found[open_] = np.sqrt(rng.beta(0.5 * d, 2.0, len(open_)))
    return found
