"""Intervals of a score where rows come in groups: whole groups are drawn with replacement.

Rows of one group are alike, and an interval that counts them as independent is too narrow. Each
draw takes as many groups as there are, with replacement; the interval has the quantiles of the
score over the draws. With fewer than about twenty groups it is still somewhat too narrow.

Reference: Davison, Hinkley, Bootstrap methods and their application (1997), section 3.8.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.score.area.auc import auc
from fenchel.score.estimate import Estimate

DRAWS = 1000
Floats = NDArray[np.float64]


def cluster_interval(
    score: Callable[[Floats], float], groups: NDArray[Any], value: float, level: float, seed: int
) -> Estimate:
    """The score, a function of the weights of the rows, with its interval over groups."""
    names, codes = np.unique(groups, return_inverse=True)
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(DRAWS):
        counts = np.bincount(rng.integers(len(names), size=len(names)), minlength=len(names))
        drawn = score(counts[codes].astype(np.float64))
        if np.isfinite(drawn):
            found.append(drawn)
    tail = 0.5 * (1.0 - level)
    low, high = np.quantile(found, [tail, 1.0 - tail]) if found else (np.nan, np.nan)
    method = f"cluster bootstrap over {len(names)} groups"
    return Estimate(value, min(low, value), max(high, value), level=level, method=method)


def weighted_score(
    kind: str, y: NDArray[Any], said: NDArray[Any], score: Floats | None
) -> Callable[[Floats], float]:
    """The score of a task as a function of the weights of the rows; NaN where it is not defined."""
    if kind == "two classes":
        assert score is not None

        def area(weight: Floats) -> float:
            if not (weight[y == 1].any() and weight[y == 0].any()):
                return float("nan")
            return float(auc(y, score, sample_weight=weight, pos_label=1))

        return area
    if kind == "several classes":
        right = (said == y).astype(np.float64)
        return lambda weight: float(weight @ right / weight.sum())

    def explained(weight: Floats) -> float:
        mean = weight @ y / weight.sum()
        total = float(weight @ np.square(y - mean))
        return 1.0 - float(weight @ np.square(y - said)) / total if total > 0.0 else float("nan")

    return explained
