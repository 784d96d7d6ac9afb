"""Where a metric lies, whatever the model: an interval of its mean has no business outside."""

from __future__ import annotations

import math
from typing import Any

from sklearn.metrics._scorer import _BaseScorer

Range = tuple[float, float]
ANYWHERE: Range = (-math.inf, math.inf)

# By the name of the function, ours or scikit-learn's.
_RATES = (
    *("accuracy", "accuracy_score", "auc", "average_precision", "average_precision_score"),
    *("balanced_accuracy", "balanced_accuracy_score", "f1", "f1_score", "jaccard_score"),
    *("local_auc", "neyman_pearson_rate", "partial_auc", "precision", "precision_score"),
    *("recall", "recall_score", "roc_auc_score", "specificity", "top_k_accuracy_score"),
)
_LOSSES = (
    *("brier", "brier_score_loss", "log_loss", "max_error", "mean_absolute_error"),
    *("mean_absolute_percentage_error", "mean_squared_error", "mean_squared_log_error"),
    *("median_absolute_error", "root_mean_squared_error", "root_mean_squared_log_error"),
)
_KNOWN: dict[str, Range] = {
    **dict.fromkeys(_RATES, (0.0, 1.0)),
    **dict.fromkeys(_LOSSES, (0.0, math.inf)),
    **dict.fromkeys(("matthews_correlation", "matthews_corrcoef"), (-1.0, 1.0)),
    **dict.fromkeys(("r2_score", "explained_variance_score"), (-math.inf, 1.0)),
}


def range_of(judge: Any) -> Range:
    """The least and the largest value that a scorer can give, as far as that is known."""
    if not isinstance(judge, _BaseScorer):
        return ANYWHERE
    metric, kwargs = judge._score_func, judge._kwargs
    if not str(metric.__module__).startswith(("sklearn.metrics.", "fenchel.score.")):
        return ANYWHERE
    low, high = _KNOWN.get(metric.__name__, ANYWHERE)
    if kwargs.get("adjusted") or kwargs.get("scale") == "standardised":
        low = -math.inf  # chance is moved to a point of its own
    return (low, high) if judge._sign > 0 else (-high, -low)


def difference_of(first: Range, second: Range) -> Range:
    """Where the first less the second lies."""
    return first[0] - second[1], first[1] - second[0]
