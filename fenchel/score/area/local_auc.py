"""The area under the ROC that the best instances make.

With Q the score that a share u of all rows reaches, X a positive and X' a negative,

    LocAUC(s, u) = P(s(X) > s(X'), s(X) > Q) + ½ P(s(X) = s(X'), s(X) > Q)
                 = ∫₀^α ROC(t) dt + β (1 - α) = ∫₀¹ min(ROC(t), β) dt,
    (α, β) the point of the ROC with π β + (1 - π) α = u, π the share of positives.

At u = 1 it is the AUC; it is at most min(u/π, 1). A partial AUC at one false positive rate compares
different sets of rows for different scores; here every score is judged on its own best share u.
Where rows tie at Q, (α, β) lies between two vertices, on the edge of the tie.

Reference: Clémençon and Vayatis, Ranking the best instances, JMLR 8 (2007).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.score.curves.curve import Curve
from fenchel.score.curves.roc_batch import ROCBatch
from fenchel.score.curves.score_counts import Floats, count_by_score
from fenchel.score.estimate import Estimate, is_number
from fenchel.score.intervals.roc_bayesian_bootstrap import pivot_interval
from fenchel.score.labels import marked


def local_auc(
    y_true: Any,
    y_score: Any,
    *,
    rate: float,
    sample_weight: Any = None,
    pos_label: Any = None,
    level: float | None = None,
) -> float:
    """P(a positive is among the best share of all rows and beats a negative): the local AUC.

    LocAUC(s, u) = P(s(X) > s(X'), s(X) > Q) + ½ P(s(X) = s(X'), s(X) > Q) = ∫ min(ROC(t), β) dt,
    with X a positive, X' a negative, Q the score that the share u = `rate` of all rows reaches and
    β the true positive rate there; where rows tie at Q, the share of them that fills up to u.
    O(n log n). Rows are independent draws from both classes together: their shares are estimated.

    Parameters
    ----------
    y_true : array of shape (n,)
        Labels of two classes.
    y_score : array of shape (n,)
        Scores, higher for the positive class; infinite ones are fine, NaN is an error.
    rate : float
        The share u of all rows that counts as the best, in (0, 1]; 1 gives the AUC.
    sample_weight : array of shape (n,), optional
        Weights of the rows: fixed numbers that belong to them, in the interval too.
    pos_label : label, optional
        The positive class; by default the greater label.
    level : float, optional
        Give the number with its interval of this coverage, as an `Estimate`.

    Returns
    -------
    float or Estimate
        The local AUC, between 0 and min(rate / share of positives, 1); with `level`, its interval
        from random curves (`fenchel.score.intervals.roc_bayesian_bootstrap`).

    References
    ----------
    Clémençon and Vayatis, Ranking the best instances, JMLR 8 (2007), 2671-2699.

    Examples
    --------
    >>> from fenchel import local_auc
    >>> y, score = [0, 0, 0, 0, 1, 1, 1, 1], [1, 2, 4, 6, 3, 5, 7, 8]
    >>> local_auc(y, score, rate=0.5)
    0.6875
    >>> local_auc(y, score, rate=1.0)
    0.8125
    """
    rate = _check_rate(rate)
    curve = Curve.gathered(count_by_score(marked(y_true, y_score, sample_weight, pos_label)))
    if level is None:
        return float(_local_area(ROCBatch.along(curve), rate)[0])
    return curve_local_auc(curve, rate, level=level)


def curve_local_auc(curve: Curve, rate: float, *, level: float = 0.95) -> Estimate:
    """`local_auc` of a curve; what pooled groups may hide widens its interval."""
    rate = _check_rate(rate)
    return pivot_interval(curve, lambda paths: _local_area(paths, rate), level=level)


def _check_rate(rate: float) -> float:
    if not is_number(rate) or not 0.0 < rate <= 1.0:
        raise ValueError(f"rate must be a share of the rows, above 0 and at most 1, got {rate!r}")
    return float(rate)


def _local_area(paths: ROCBatch, rate: float) -> Floats:
    return paths.area(tpr=(0.0, _tpr_at(paths, rate)))


def _tpr_at(paths: ROCBatch, rate: float) -> Floats:
    """β of the point with π β + (1 - π) α = rate, on each curve."""
    prior = paths.prior[:, None]
    flagged = prior * paths.tpr + (1.0 - prior) * paths.fpr
    row = np.arange(flagged.shape[0])
    right = np.maximum((flagged < rate).sum(axis=1), 1)
    # Rounding may leave the last share a little below one.
    right = np.minimum(right, flagged.shape[1] - 1)
    low, high = flagged[row, right - 1], flagged[row, right]
    part = np.clip((rate - low) / np.where(high > low, high - low, 1.0), 0.0, 1.0)
    start = paths.tpr[row, right - 1]
    return np.asarray(start + part * (paths.tpr[row, right] - start))
