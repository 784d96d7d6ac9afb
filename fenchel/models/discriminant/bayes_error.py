"""The Bayes error of fitted Gaussian classes, by simulation with a rigorous interval.

R* = 1 - E maxₖ P(k | x). With draws rᵢ = 1 - maxₖ P(k | xᵢ) in [0, 1 - 1/K], mean r̄ and variance v,
the empirical Bernstein bound holds with probability `level`:

    |r̄ - R*| ≤ √(2 v log(4/α) / n) + 7 (1 - 1/K) log(4/α) / (3 (n - 1)),    α = 1 - level

Reference: Maurer, Pontil, Empirical Bernstein bounds, 2009.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import pinv
from scipy.special import expit, ndtr

from fenchel.data.arrays import softmax
from fenchel.data.block import Block
from fenchel.geometry.mahalanobis.scores import QuadraticScores

Floats = NDArray[np.float64]
BATCH = 2**16  # rows drawn at a time


@dataclass(frozen=True, slots=True)
class BayesError:
    """An estimate of R* and an interval that holds it with probability `level`.

    Attributes
    ----------
    value, low, high, level : float
    method : "closed form" or "simulation"
    """

    value: float
    low: float
    high: float
    level: float
    method: str

    def __float__(self) -> float:
        return self.value


def of_two_planes(distance: float, log_odds: float, level: float) -> BayesError:
    """Of two classes with one covariance, Δ apart, prior log-odds t = log(π₁ / π₀):
    R* = π₀ Φ(t/Δ - Δ/2) + π₁ Φ(-t/Δ - Δ/2)."""
    second = expit(log_odds)
    if distance == 0.0:
        value = float(min(second, 1.0 - second))
    else:
        ends = np.array([1.0, -1.0]) * log_odds / distance - distance / 2.0
        value = float((np.array([1.0 - second, second]) * ndtr(ends)).sum())
    return BayesError(value, value, value, level, "closed form")


def simulated(
    densities: QuadraticScores, priors: Floats, n: int, level: float, seed: Any
) -> BayesError:
    """By n draws from the classes themselves."""
    if n < 2:
        raise ValueError(f"n_draws must be at least 2, got {n}")
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie between 0 and 1, got {level}")
    draw = np.random.default_rng(seed)
    K = len(densities.R)
    # Columns of the pseudo-inverse of R give draws of covariance Σ from unit normal draws.
    spread = [pinv(R) for R in densities.R]
    means = [
        densities.centre + spread[k] @ densities.t[k] for k in range(K)
    ]  # R(μ - c) = t, and μ - c lies where R sees it
    counts = draw.multinomial(n, priors / priors.sum())
    errors = []
    for k, count in enumerate(counts.tolist()):
        for first in range(0, count, BATCH):
            m = min(BATCH, count - first)
            X = means[k] + draw.standard_normal((m, spread[k].shape[1])) @ spread[k].T
            errors.append(1.0 - softmax(densities(Block(0, X))).max(axis=1))
    r = np.concatenate(errors)
    mean, variance, log = float(r.mean()), float(r.var(ddof=1)), math.log(4.0 / (1.0 - level))
    half = math.sqrt(2.0 * variance * log / n) + 7.0 * (1.0 - 1.0 / K) * log / (3.0 * (n - 1))
    low, high = max(0.0, mean - half), min(1.0 - 1.0 / K, mean + half)
    return BayesError(mean, low, high, level, "simulation")
