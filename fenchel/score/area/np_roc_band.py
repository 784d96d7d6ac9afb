"""What power a promised false positive rate leaves: the NP-ROC band."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fenchel.score.curves.score_counts import Floats
from fenchel.score.estimate import check_share
from fenchel.score.intervals.binomial_spline import spline_lower, spline_upper
from fenchel.score.labels import marked


@dataclass(frozen=True, slots=True, eq=False)
class NPROCBand:
    """Bounds of both rates of flagging score > threshold, one entry for each negative.

    Each of the three bounds holds with probability at least 1 − δ, at a k fixed beforehand.

    Attributes
    ----------
    alpha : array of shape (n,)
        Upper bound of the false positive rate, rising.
    lower, upper : array of shape (n,)
        Lower and upper bound of the true positive rate.
    threshold : array of shape (n,)
        The order statistics s₍ₙ₎ ≥ … ≥ s₍₁₎ of the negatives.
    delta : float
    """

    alpha: Floats
    lower: Floats
    upper: Floats
    threshold: Floats
    delta: float

    def at(self, alpha: float) -> tuple[float, float, float]:
        """(threshold, lower, upper) for the largest promise not above alpha: the threshold is that
        of `neyman_pearson_threshold(negatives, alpha, delta)`."""
        row = int(np.searchsorted(self.alpha, check_share(alpha, "alpha") * (1.0 + 1e-12), "right"))
        if row == 0:
            raise ValueError(
                f"alpha={alpha:g} is below {self.alpha[0]:.4g}, the least rate that "
                f"{self.alpha.size} negatives can promise at delta={self.delta:g}"
            )
        entry = row - 1
        return float(self.threshold[entry]), float(self.lower[entry]), float(self.upper[entry])


def np_roc_band(
    y_true: Any, y_score: Any, *, delta: float = 0.05, pos_label: Any = None
) -> NPROCBand:
    """Bounds of both rates at each order statistic of the negatives' scores.

    s₍ₖ₎ the k-th smallest of n negative scores, c of the P positives above it. Of flagging
    score > s₍ₖ₎, with B⁻¹ the quantile of a Beta law, each with probability at least 1 − δ:
    false positive rate ≤ α(k) = B⁻¹(1 − δ; n − k + 1, k),
    true positive rate ≥ B⁻¹(δ; c, P − c + 1) and ≤ B⁻¹(1 − δ; c + 1, P − c).

    Parameters
    ----------
    y_true : array of shape (n,)
        Labels of two classes.
    y_score : array of shape (n,)
        Scores, higher for the positive class, of rows that did not train them.
    delta : float, default 0.05
        Probability with which each bound may be missed.
    pos_label : label, optional
        The positive class; by default the greater label.

    Returns
    -------
    NPROCBand
        From the largest score of a negative, the smallest α, to the smallest.

    Notes
    -----
    O(n log n). Ties are counted as not flagged, and all bounds stay true with them. Each holds for
    a k, or an α, fixed beforehand; not for all at once.

    Reference: Tong, Feng and Li, Neyman-Pearson classification algorithms and NP receiver operating
    characteristics, Science Advances 4 (2018).

    Examples
    --------
    >>> from fenchel import GaussianClasses, np_roc_band
    >>> classes = GaussianClasses([0.0, 2.0])
    >>> X, y = classes.sample(1000, random_state=0)
    >>> band = np_roc_band(y, classes.score(X), delta=0.05)
    >>> threshold, lower, upper = band.at(0.1)
    >>> print(f"{lower:.3f} {upper:.3f}, in truth {classes.true_rates(threshold)[1]:.3f}")
    0.661 0.732, in truth 0.718
    """
    delta = check_share(delta, "delta")
    rows = marked(y_true, y_score, None, pos_label)
    threshold = np.sort(rows.score[~rows.positive])[::-1]
    positive = np.sort(rows.score[rows.positive])
    n, P = threshold.size, positive.size
    flagged = P - np.searchsorted(positive, threshold, side="right")
    return NPROCBand(
        spline_upper(np.arange(n, dtype=np.float64), n, delta),
        spline_lower(flagged, P, delta),
        spline_upper(flagged, P, delta),
        threshold,
        delta,
    )
