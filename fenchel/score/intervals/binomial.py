"""Exact bounds for a rate that was counted.

K ~ Binomial(n, p).  upper(k) = sup {p : P(K ≤ k) ≥ δ} = B⁻¹(1 − δ; k + 1, n − k)
                     lower(k) = inf {p : P(K ≥ k) ≥ δ} = B⁻¹(δ; k, n − k + 1)
with B⁻¹ the quantile of a Beta law; P(p > upper) ≤ δ and P(p < lower) ≤ δ for every p.

Reference: Clopper and Pearson, The use of confidence or fiducial limits, Biometrika 26 (1934).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import betaincinv

from fenchel.score.estimate import Estimate, check_share


def upper_bound(k: Any, n: Any, delta: float) -> Any:
    """The rate that k hits in n trials exclude, at error δ, to exceed; 1 where k = n."""
    k, n = _counts(k, n)
    delta = check_share(delta, "delta")
    inner = k < n
    # Beta(k+1, n-k) at 1 - δ is one minus Beta(n-k, k+1) at δ, and the latter keeps small δ exact.
    bound = 1.0 - betaincinv(np.where(inner, n - k, 1.0), k + 1.0, delta)
    return np.where(inner, bound, 1.0)[()]


def lower_bound(k: Any, n: Any, delta: float) -> Any:
    """The rate that k hits in n trials exclude, at error δ, to fall short of; 0 where k = 0."""
    k, n = _counts(k, n)
    delta = check_share(delta, "delta")
    inner = k > 0
    return np.where(inner, betaincinv(np.where(inner, k, 1.0), n - k + 1.0, delta), 0.0)[()]


def binomial_interval(k: Any, n: Any, level: float = 0.95) -> tuple[Any, Any]:
    """The exact two-sided interval of a rate of k hits in n trials; arrays go entry by entry.

    Examples
    --------
    >>> from fenchel.score.intervals.binomial import binomial_interval
    >>> low, high = binomial_interval(0, 59, level=0.90)
    >>> print(f"{low:.4f} {high:.4f}")
    0.0000 0.0495
    """
    tail = 0.5 * (1.0 - check_share(level, "level"))
    return lower_bound(k, n, tail), upper_bound(k, n, tail)


def binomial_rate(k: int, n: int, level: float = 0.95) -> Estimate:
    """k/n with its exact interval."""
    low, high = binomial_interval(k, n, level)
    rate = k / n
    error = (rate * (1.0 - rate) / n) ** 0.5
    return Estimate(rate, low, high, level=level, method="exact binomial", standard_error=error)


def _counts(k: Any, n: Any) -> tuple[Any, Any]:
    k, n = np.asarray(k, dtype=np.float64), np.asarray(n, dtype=np.float64)
    if not ((n >= 1) & (k >= 0) & (k <= n)).all():
        raise ValueError("a rate needs at least one trial and between 0 and n hits")
    return k, n
