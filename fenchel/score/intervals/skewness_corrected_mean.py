"""The mean of independent numbers, with an interval that minds their skewness.

T = (x̄ − μ)/se,  g(T) = T + (γ/√n)(T²/3 + 1/6) + (γ²/n) T³/27,  |g(T)| ≤ t quantile (n − 1)
with γ the skewness of the sample; g is a cube of a line, so that the ends have a closed form.
Weights w are fixed numbers that belong to their rows: x̄ = Σ w x / Σ w, eᵢ = wᵢ (xᵢ − x̄) / Σ w,
se² = k/(k − 1) Σ e², γ/√n becomes Σ e³ / (Σ e²)^{3/2}, and n becomes k = (Σ w)² / Σ w².

Reference: Hall, On the removal of skewness by transformation, JRSS B 54 (1992).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import stdtrit

from fenchel.score.estimate import Estimate, check_share


def mean_estimate(
    values: Any,
    level: float = 0.95,
    weight: Any = None,
    within: tuple[float, float] | None = None,
) -> Estimate:
    """The mean of the values with its skewness-corrected t interval; at least two values.

    Weights are positive. `within` is where the values lie: the interval is cut to it, and where all
    n values are c it is (1 − q) c + q within, q = 1 − (1 − level)^{1/n} the share of other values
    that n draws exclude. Without it that interval has no length.

    Examples
    --------
    >>> from fenchel.score.intervals.skewness_corrected_mean import mean_estimate
    >>> print(mean_estimate([1.0, 2.0, 2.0, 3.0, 7.0]))
    3 [0.9544, 13.79] (95 %, t corrected for skewness)
    """
    x = np.asarray(values, dtype=np.float64)
    n = x.size
    level = check_share(level, "level")
    if n < 2:
        raise ValueError(f"an interval of a mean needs at least two values, got {n}")
    if weight is None:
        worth = float(n)
        mean = float(x.mean())
        apart = (x - mean) / n
    else:
        w = np.asarray(weight, dtype=np.float64)
        w = w / w.sum()
        worth = 1.0 / float(w @ w)
        mean = float(w @ x)
        apart = w * (x - mean)
    method, least, most = "t corrected for skewness", *(within or (-math.inf, math.inf))
    if worth <= 1.0 + 1e-9:
        method = "one row has all the weight: nothing is excluded"
        return Estimate(mean, least, most, level=level, method=method)
    quantile = float(stdtrit(worth - 1.0, 0.5 + 0.5 * level))
    spread = math.sqrt(float(apart @ apart))
    error = spread * math.sqrt(worth / (worth - 1.0))
    # Rounding of the mean itself passes for a spread where all values are equal.
    if spread <= 4.0 * np.finfo(np.float64).eps * abs(mean) / math.sqrt(worth):
        low = high = mean
        if within is not None:
            rest = 1.0 - (1.0 - level) ** (1.0 / worth)
            low, high = mean + rest * (least - mean), mean + rest * (most - mean)
            method = "exact, all values equal"
    else:
        skew = float(((apart / spread) ** 3).sum())
        low, high = (mean - error * _uncubed(side * quantile, skew) for side in (1.0, -1.0))
    low, high = min(mean, max(low, least)), max(mean, min(high, most))
    return Estimate(mean, low, high, level=level, method=method, standard_error=error)


def _uncubed(y: float, k: float) -> float:
    """The T with T + k(T²/3 + 1/6) + k²T³/27 = y: (3/k)(∛(1 + k(y − k/6)) − 1)."""
    if k == 0.0:
        return y
    inner = k * (y - k / 6.0)
    # Near 1 the root less one has lost its digits; of a negative number there is no logarithm.
    root = math.expm1(math.log1p(inner) / 3.0) if inner > -0.5 else math.cbrt(1.0 + inner) - 1.0
    return 3.0 * root / k
