"""Curves of labels and scores, with scikit-learn's names, arguments and order of results."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.score.curve import Curve, Line
from fenchel.score.estimate import check_share, is_number
from fenchel.score.groups import Floats, grouped
from fenchel.score.labels import marked


def roc_curve(
    y_true: Any,
    y_score: Any,
    *,
    pos_label: Any = None,
    sample_weight: Any = None,
    drop_intermediate: bool = True,
) -> Line:
    """False and true positive rate at every threshold, from ∞ down; score ≥ t is flagged.

    Parameters
    ----------
    y_true : array of shape (n,)
        Labels of two classes.
    y_score : array of shape (n,)
        Scores, higher for the positive class; infinite ones are fine, NaN is an error.
    pos_label : label, optional
        The positive class; by default the greater label.
    sample_weight : array of shape (n,), optional
        Weights of the rows.
    drop_intermediate : bool
        Leave out a vertex between two equal steps, as scikit-learn does.

    Returns
    -------
    fpr, tpr, thresholds : array
        One vertex for each distinct score that is left, after (0, 0) at ∞.

    Examples
    --------
    >>> from fenchel import roc_curve
    >>> fpr, tpr, thresholds = roc_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> fpr.tolist(), tpr.tolist()
    ([0.0, 0.0, 0.5, 0.5, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0])
    """
    curve = _curve(y_true, y_score, pos_label, sample_weight)
    return curve.roc(drop_intermediate=drop_intermediate)


def precision_recall_curve(
    y_true: Any, y_score: Any, *, pos_label: Any = None, sample_weight: Any = None
) -> Line:
    """Precision and recall at every threshold, from the lowest up; (1, 0) at the end.

    Parameters and order of results as in scikit-learn: `y_true`, `y_score`, `pos_label` and
    `sample_weight` as in `roc_curve`.

    Examples
    --------
    >>> from fenchel import precision_recall_curve
    >>> precision, recall, thresholds = precision_recall_curve([0, 1, 1], [0.1, 0.4, 0.8])
    >>> recall.tolist(), thresholds.tolist()
    ([1.0, 1.0, 0.5, 0.0], [0.1, 0.4, 0.8])
    """
    return _curve(y_true, y_score, pos_label, sample_weight).precision_recall()


def det_curve(
    y_true: Any, y_score: Any, *, pos_label: Any = None, sample_weight: Any = None
) -> Line:
    """Error of the first kind (fpr) against that of the second (fnr), by rising threshold.

    Parameters as in `roc_curve`; ends beyond which one of the errors stays zero are left out.

    Examples
    --------
    >>> from fenchel import det_curve
    >>> fpr, fnr, thresholds = det_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> fpr.tolist(), fnr.tolist(), thresholds.tolist()
    ([0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.35, 0.4, 0.8])
    """
    return _curve(y_true, y_score, pos_label, sample_weight).det()


def gains_curve(
    y_true: Any, y_score: Any, *, pos_label: Any = None, sample_weight: Any = None
) -> Line:
    """Share of all rows flagged, and share of the positives among them found: cumulative gains.

    Parameters as in `roc_curve`.

    Examples
    --------
    >>> from fenchel import gains_curve
    >>> flagged, found, thresholds = gains_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> flagged.tolist(), found.tolist()
    ([0.0, 0.25, 0.5, 0.75, 1.0], [0.0, 0.5, 0.5, 1.0, 1.0])
    """
    return _curve(y_true, y_score, pos_label, sample_weight).gains()


def lift_curve(
    y_true: Any, y_score: Any, *, pos_label: Any = None, sample_weight: Any = None
) -> Line:
    """Share of all rows flagged, and how many times denser positives are there than everywhere.

    lift(t) = P(positive | score ≥ t) / P(positive). Parameters as in `roc_curve`.

    Examples
    --------
    >>> from fenchel import lift_curve
    >>> flagged, lift, thresholds = lift_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> flagged.tolist(), lift.round(3).tolist()
    ([0.25, 0.5, 0.75, 1.0], [2.0, 1.0, 1.333, 1.0])
    """
    return _curve(y_true, y_score, pos_label, sample_weight).lift()


def _curve(y_true: Any, y_score: Any, pos_label: Any, sample_weight: Any) -> Curve:
    return Curve.gathered(grouped(marked(y_true, y_score, sample_weight, pos_label)))


def iso_error_line(
    error: float,
    prior: float,
    *,
    cost_fp: float = 1.0,
    cost_fn: float = 1.0,
    fpr: Any = (0.0, 1.0),
) -> tuple[Floats, Floats]:
    """Points (fpr, tpr) of equal expected cost: a line of slope (1 - π) c₀₁ / (π c₁₀).

    π c₁₀ (1 - tpr) + (1 - π) c₀₁ fpr = error; with costs of one, `error` is the error rate. A ROC
    above the line has thresholds that err less.

    Parameters
    ----------
    error : float
        The cost shared by all points of the line.
    prior : float
        Share of positives, strictly between 0 and 1.
    cost_fp, cost_fn : float
        Cost of a false alarm and of a miss.
    fpr : array of floats
        Where to evaluate; the part outside the unit square is cut off.

    Returns
    -------
    fpr, tpr : array of floats
        The line inside the unit square; empty where it does not meet it.

    Examples
    --------
    >>> from fenchel import iso_error_line
    >>> fpr, tpr = iso_error_line(0.25, prior=0.5)
    >>> fpr.tolist(), tpr.tolist()
    ([0.0, 0.5], [0.5, 1.0])
    """
    prior = check_share(prior, "prior")
    if not all(is_number(cost) and 0.0 < cost < np.inf for cost in (cost_fp, cost_fn)):
        raise ValueError(
            f"costs must be positive and finite, got cost_fp={cost_fp!r}, cost_fn={cost_fn!r}"
        )
    if not (is_number(error) and np.isfinite(error)):
        raise ValueError(f"error must be a finite number, got {error!r}")
    miss, alarm = prior * cost_fn, (1.0 - prior) * cost_fp
    left, right = (error - miss) / alarm, error / alarm  # where tpr is 0 and 1
    x = np.asarray(fpr, dtype=np.float64)
    if not x.size or np.isnan(x).any():
        raise ValueError(f"fpr must be numbers, at least one, and none of them NaN, got {fpr!r}")
    lo, hi = max(left, float(x.min()), 0.0), min(right, float(x.max()), 1.0)
    if not lo <= hi:
        return np.empty(0), np.empty(0)
    inside = x[(x > lo) & (x < hi)]
    x = np.unique(np.concatenate([[lo], inside, [hi]]))
    return x, np.clip(1.0 - (error - alarm * x) / miss, 0.0, 1.0)
