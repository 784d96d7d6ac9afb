"""A lower confidence bound of the mean of independent numbers in [0, 1], by betting.

    K(m) = Πᵢ (1 - cᵢ + cᵢ xᵢ / m),   0 ≤ cᵢ < 1 chosen before xᵢ is seen

Under any law on [0, 1] of mean m this wealth is a nonnegative martingale that begins at 1: that it
ever reaches 1/δ has probability at most δ (Ville). It falls as m grows, so that the means at which
it did reach 1/δ are an interval, whose upper end is a bound of the mean with confidence 1 - δ. For
any cᵢ, any number of draws, and no assumption on the law.

cᵢ is the stake that a normal approximation finds best against the bound that is expected, from the
mean and the variance of the draws before. Of n draws that are all x the bound is about x δ^{1/n}.

Reference: Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting, JRSS B
86 (2024).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# A stake of 1 would lose everything at one draw of 0.
HIGHEST = 0.98
# What stands for draws before the first: one of mean 3/4 and variance 1/16.
MEAN, VARIANCE = 0.75, 0.0625


def stakes(draws: Floats, confidence: float) -> Floats:
    """cᵢ of each draw, from those before it and the number of all."""
    n = len(draws)
    count = np.arange(1.0, n + 1.0)
    before = np.concatenate([[0.0], draws[:-1]])
    mean = (MEAN + np.cumsum(before)) / count
    # Each draw's square is taken about the mean that was known by then.
    apart = np.concatenate([[VARIANCE], (draws[:-1] - mean[:-1]) ** 2])
    spread = np.cumsum(apart) / count
    # The bound that n draws of this mean and spread would come to, as Bernstein has it.
    logs = math.log(1.0 / (1.0 - confidence)) / max(n, 1)
    target = mean / (1.0 + logs + np.sqrt(2.0 * logs * spread) / np.maximum(mean, 1e-12))
    lead = mean - target
    best = target * lead / (spread + lead * lead + 1e-300)
    return np.asarray(np.clip(best, 0.0, HIGHEST))


def mean_lower_bound(draws: Floats, confidence: float) -> float:
    """A number that the mean exceeds with that confidence; 0 where nothing can be said.

    draws: independent, of one law on [0, 1], in the order in which they came; larger ones count
    as 1.
    """
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie between 0 and 1, got {confidence}")
    x = np.minimum(np.asarray(draws, np.float64), 1.0)
    if not len(x) or not (x >= 0.0).all():
        return 0.0
    c = stakes(x, confidence)
    goal = math.log(1.0 / (1.0 - confidence)) + 1e-9  # more than a thousand logs are off by

    def wealth(mean: float) -> float:
        """The largest log K so far, at any time."""
        return float(np.cumsum(np.log1p(c * (x / mean - 1.0))).max())

    low, high = 0.0, 1.0
    if wealth(high) >= goal:
        return 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        if wealth(middle) >= goal:
            low = middle
        else:
            high = middle
    return low
