"""Metrics of this room as scikit-learn scorers: for GridSearchCV and whatever has `scoring`."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any

from sklearn.metrics import get_scorer, get_scorer_names, make_scorer

from fenchel.score.area.auc import auc
from fenchel.score.area.average_precision import average_precision
from fenchel.score.area.discrimination import gini, ks_statistic
from fenchel.score.area.local_auc import local_auc
from fenchel.score.area.partial_auc import partial_auc
from fenchel.score.decision.threshold import neyman_pearson_threshold
from fenchel.score.labels import marked
from fenchel.score.metrics.overall import (
    Resampling,
    accuracy,
    balanced_accuracy,
    matthews_correlation,
    share_of,
)
from fenchel.score.metrics.per_class import f1, precision, recall, specificity
from fenchel.score.metrics.probability import brier, log_loss


def neyman_pearson_rate(
    y_true: Any,
    y_score: Any,
    *,
    alpha: float = 0.05,
    delta: float = 0.05,
    sample_weight: Any = None,
    pos_label: Any = None,
    level: float | None = None,
) -> float:
    """The true positive rate where the false positive rate is held below α with confidence 1 − δ.

    The share of positives above `neyman_pearson_threshold(scores of the negatives, alpha, delta)`.
    Given the threshold the positives above it are binomial, so the interval is exact; weights must
    be equal among the negatives.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.score.scorers import neyman_pearson_rate
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(400) % 2
    >>> round(neyman_pearson_rate(y, rng.normal(size=400) + 2.0 * y), 2)
    0.58
    """
    rows = marked(y_true, y_score, sample_weight, pos_label)
    weight, negative = rows.weight, ~rows.positive
    threshold = neyman_pearson_threshold(
        rows.score[negative],
        alpha,
        delta,
        sample_weight=None if weight is None else weight[negative],
    )
    flagged = threshold.flags(rows.score[rows.positive])
    mine = None if weight is None else weight[rows.positive]
    if mine is not None and mine.min() == mine.max():
        mine = None
    return share_of(flagged, mine, Resampling(level, 10_000, 0))


SCORES = ("decision_function", "predict_proba")

# name: (metric, what the estimator is asked for, whether greater is better)
SCORERS: dict[str, tuple[Callable[..., float], str | tuple[str, ...], bool]] = {
    "auc": (auc, SCORES, True),
    "partial_auc": (partial_auc, SCORES, True),
    "local_auc": (local_auc, SCORES, True),
    "average_precision": (average_precision, SCORES, True),
    "gini": (gini, SCORES, True),
    "ks_statistic": (ks_statistic, SCORES, True),
    "neyman_pearson": (neyman_pearson_rate, SCORES, True),
    "accuracy": (accuracy, "predict", True),
    "balanced_accuracy": (balanced_accuracy, "predict", True),
    "matthews_correlation": (matthews_correlation, "predict", True),
    "f1": (f1, "predict", True),
    "precision": (precision, "predict", True),
    "recall": (recall, "predict", True),
    "specificity": (specificity, "predict", True),
    "neg_brier_score": (brier, "predict_proba", False),
    "neg_log_loss": (log_loss, "predict_proba", False),
}


def scorer(name: str, **parameters: Any) -> Any:
    """The scorer of that name, greater is better, for any `scoring` of scikit-learn or this room.

    Of two classes the positive one is the estimator's last, classes_[1], unless `pos_label` names
    the other. It pickles, takes sample_weight, and asks the estimator for its decision function,
    or else its probabilities, where the metric is one of scores. A fold that the metric cannot
    judge (one class, too few negatives) is an error; GridSearchCV makes NaN of it unless
    error_score="raise".

    Parameters
    ----------
    name : str
        "auc", "partial_auc", "local_auc", "average_precision", "gini", "ks_statistic",
        "neyman_pearson", "accuracy", "balanced_accuracy", "matthews_correlation", "f1",
        "precision", "recall", "specificity", "neg_brier_score", "neg_log_loss"; or any other
        name that scikit-learn knows.
    **parameters
        Those of the metric, such as max_fpr=0.1 for "partial_auc", rate=0.1 for "local_auc",
        alpha=0.05 and delta=0.05 for "neyman_pearson", average="macro" for "f1".

    Returns
    -------
    callable
        scorer(estimator, X, y, sample_weight=None) gives a float; losses have their sign turned.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import GridSearchCV
    >>> from fenchel import LogisticRegression, scorer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> rule = scorer("neyman_pearson", alpha=0.05, delta=0.05)
    >>> search = GridSearchCV(LogisticRegression(), {"C": [0.01, 1.0]}, scoring=rule, cv=3)
    >>> search.fit(X / X.std(axis=0), y).best_params_
    {'C': 1.0}
    """
    if not isinstance(name, str):
        raise TypeError(f"scorer takes the name of one metric, a str, got {name!r}")
    if name not in SCORERS:
        if name in get_scorer_names() and not parameters:
            return get_scorer(name)
        known = ", ".join(sorted(SCORERS))
        if name in get_scorer_names():
            raise ValueError(f"{name!r} is scikit-learn's scorer and takes no parameters here")
        raise ValueError(f"no scorer is called {name!r}: there are {known} and scikit-learn's")
    metric, response, greater = SCORERS[name]
    possible = dict(list(signature(metric).parameters.items())[2:])
    for key in parameters:
        if key not in possible or key == "level":
            others = ", ".join(other for other in possible if other != "level")
            raise ValueError(f"{name!r} has no parameter {key!r}: it has {others}")
    for key, parameter in possible.items():
        if parameter.default is Parameter.empty and key not in parameters:
            raise ValueError(f"{name!r} needs {key}, as in scorer({name!r}, {key}=0.1)")
    return make_scorer(metric, response_method=response, greater_is_better=greater, **parameters)
