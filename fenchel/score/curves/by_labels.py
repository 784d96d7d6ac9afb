"""Curves of labels and scores, with scikit-learn's names, arguments and order of results."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from fenchel.score.curves.curve import Curve, Line
from fenchel.score.curves.score_counts import Floats, count_by_score
from fenchel.score.estimate import check_share, is_number
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
        Labels of two classes. Of one class alone the rate of the other is NaN, with scikit-learn's
        `UndefinedMetricWarning`; `auc` and `Curve` raise there.
    y_score : array of shape (n,)
        Scores, higher for the positive class; infinite ones are fine, NaN is an error.
    pos_label : label, optional
        The positive class; by default 1 among 0 and 1, or -1 and 1. Other labels ask for it, as
        in scikit-learn.
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
    curve = _curve(y_true, y_score, pos_label, sample_weight, one_class=True)
    if curve.n_positive > 0.0 and curve.n_negative > 0.0:
        return curve.roc(drop_intermediate=drop_intermediate)
    return _roc_of_one_class(curve, drop_intermediate)


def precision_recall_curve(
    y_true: Any,
    y_score: Any,
    *,
    pos_label: Any = None,
    sample_weight: Any = None,
    drop_intermediate: bool = False,
) -> Line:
    """Precision and recall at every threshold, from the lowest up; (1, 0) at the end.

    Order of results as in scikit-learn.

    Parameters
    ----------
    y_true, y_score, pos_label, sample_weight
        As in `roc_curve`. Without a positive row the recall is 1 at every threshold, with a
        warning, as in scikit-learn.
    drop_intermediate : bool
        Leave out thresholds between two of the same recall, as scikit-learn does.

    Returns
    -------
    precision, recall : array of shape (k + 1,)
    thresholds : array of shape (k,)

    Examples
    --------
    >>> from fenchel import precision_recall_curve
    >>> precision, recall, thresholds = precision_recall_curve([0, 1, 1], [0.1, 0.4, 0.8])
    >>> recall.tolist(), thresholds.tolist()
    ([1.0, 1.0, 0.5, 0.0], [0.1, 0.4, 0.8])
    """
    curve = _curve(y_true, y_score, pos_label, sample_weight, one_class=True)
    if curve.n_positive > 0.0:
        return curve.precision_recall(drop_intermediate=drop_intermediate)
    warnings.warn(
        "No positive class found in y_true, recall is set to one for all thresholds.",
        stacklevel=2,
    )
    thresholds = curve.low[::-1]
    if drop_intermediate:  # all recalls are equal: the ends are left
        thresholds = thresholds[np.unique([0, len(thresholds) - 1])]
    nothing = np.zeros(len(thresholds))
    return np.append(nothing, 1.0), np.append(nothing + 1.0, 0.0), thresholds


def det_curve(
    y_true: Any,
    y_score: Any,
    pos_label: Any = None,
    sample_weight: Any = None,
    drop_intermediate: bool = False,
) -> Line:
    """Error of the first kind (fpr) against that of the second (fnr), by rising threshold.

    Ends beyond which one of the errors stays zero are left out.

    Parameters
    ----------
    y_true, y_score, pos_label, sample_weight
        As in `roc_curve`; rows of one class alone are an error.
    drop_intermediate : bool
        Leave out thresholds between two of the same fnr, as scikit-learn does.

    Returns
    -------
    fpr, fnr, thresholds : array

    Examples
    --------
    >>> from fenchel import det_curve
    >>> fpr, fnr, thresholds = det_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> fpr.tolist(), fnr.tolist(), thresholds.tolist()
    ([0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.35, 0.4, 0.8])
    """
    curve = _curve(y_true, y_score, pos_label, sample_weight, one_class=True)
    if not (curve.n_positive > 0.0 and curve.n_negative > 0.0):
        raise ValueError(
            "Only one class is present in y_true: the detection error tradeoff needs rows of both"
        )
    return curve.det(drop_intermediate=drop_intermediate)


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


def _curve(
    y_true: Any, y_score: Any, pos_label: Any, sample_weight: Any, *, one_class: bool = False
) -> Curve:
    rows = marked(y_true, y_score, sample_weight, pos_label, one_class=one_class)
    if not rows.score.size:
        raise ValueError("y is empty: there is no row to score")
    return Curve.gathered(count_by_score(rows))


def _roc_of_one_class(curve: Curve, drop_intermediate: bool) -> Line:
    """The curve where one of the rates has no row to be a share of: NaN, and a warning."""
    missing, rate = ("negative", "false") if curve.n_negative == 0.0 else ("positive", "true")
    warnings.warn(
        f"No {missing} samples in y_true, {rate} positive value should be meaningless",
        UndefinedMetricWarning,
        stacklevel=3,
    )
    counts = curve.tp if missing == "negative" else curve.fp
    keep = np.ones(len(counts), dtype=bool)
    if drop_intermediate and len(counts) > 2:
        keep[1:-1] = np.diff(counts, 2) != 0.0
    known = np.append(0.0, counts[keep] / counts[-1])
    unknown = np.full(len(known), np.nan)
    thresholds = np.append(np.inf, curve.low[keep])
    return (unknown, known, thresholds) if missing == "negative" else (known, unknown, thresholds)


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
