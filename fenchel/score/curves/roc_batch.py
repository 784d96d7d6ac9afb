"""Many ROC curves at once: areas under parts of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fenchel.score.curves.curve import Curve
from fenchel.score.curves.score_counts import Floats


@dataclass(frozen=True, slots=True)
class ROCBatch:
    """Curves through the unit square, one in each row, from (0, 0) to (1, 1) by straight edges.

    Attributes
    ----------
    fpr, tpr : array of shape (r, k)
        The vertices; neither rate ever falls.
    prior : array of shape (r,)
        Share of positives that goes with each curve.
    stand : array that broadcasts to (r, k - 1)
        Where on an edge the threshold is that flags its rows, on average: 1, its end, where they
        share one score; ½ where they are spread over it.
    """

    fpr: Floats
    tpr: Floats
    prior: Floats
    stand: Floats

    @classmethod
    def along(cls, curve: Curve) -> ROCBatch:
        """The empirical curve itself."""
        fpr, tpr = curve.fpr[None, :], curve.tpr[None, :]
        return cls(fpr, tpr, np.array([curve.prior]), np.ones(1))

    @classmethod
    def around(cls, curve: Curve) -> ROCBatch:
        """Below and above every curve that scores pooled into groups may have had."""
        pooled = curve.high > curve.low

        def through(rate: Floats, at_corner: Floats) -> Floats:
            path = np.empty(2 * rate.size - 1)
            path[::2], path[1::2] = rate, np.where(pooled, at_corner, rate[1:])
            return path

        fpr, tpr = curve.fpr, curve.tpr
        return cls(
            np.array([through(fpr, fpr[1:]), through(fpr, fpr[:-1])]),
            np.array([through(tpr, tpr[:-1]), through(tpr, tpr[1:])]),
            np.full(2, curve.prior),
            # Of pooled positives the first might be flagged alone, or the last with all others.
            np.array([np.repeat(1.0 - pooled, 2), np.ones(2 * pooled.size)]),
        )

    def area(self, fpr: tuple[Any, Any] = (0.0, 1.0), tpr: tuple[Any, Any] = (0.0, 1.0)) -> Floats:
        """The area of the part of the rectangle fpr × tpr that lies under each curve."""
        a, b = fpr
        c, d = (np.reshape(end, (-1, 1)) for end in tpr)
        f, g = self.fpr[:, :-1], self.fpr[:, 1:]
        v, w = self.tpr[:, :-1], self.tpr[:, 1:]
        left, right = np.clip(f, a, b), np.clip(g, a, b)
        width, rise = g - f, w - v
        flat = width <= 0.0
        scale = np.where(flat, 1.0, width)
        low = v + np.minimum((left - f) / scale, 1.0) * rise
        high = v + np.minimum((right - f) / scale, 1.0) * rise
        return np.asarray(((right - left) * (clipped_mean(low, high, c, d) - c)).sum(axis=1))


def clipped_mean(low: Floats, high: Floats, c: Any, d: Any) -> Floats:
    """The mean of min(max(x, c), d) over x in [low, high]."""
    bottom, top = np.clip(low, c, d), np.clip(high, c, d)
    under = c * (np.minimum(high, c) - np.minimum(low, c))
    over = d * (np.maximum(high, d) - np.maximum(low, d))
    length = high - low
    point = length <= 0.0
    total = under + 0.5 * (bottom + top) * (top - bottom) + over
    return np.asarray(np.where(point, bottom, total / np.where(point, 1.0, length)))
