"""Areas and average precision of two classes, of several, and of several labels a row.

    average "macro":     the mean over the columns of their scores
    average "weighted":  the same, each column weighted by its positives
    average "micro":     the score of all entries as one column
    average "samples":   the mean over the rows of the score of each row
    average None:        the scores of the columns

Several classes: each against the rest ("ovr"), a column each; or every pair of classes by the rows
of those two alone ("ovo"), where AUC(j, k) = ½ (AUC(j | k) + AUC(k | j)).

Reference: Provost and Domingos, Well-trained PETs, CeDER working paper IS-00-04 (2000) (one against
the rest); Hand and Till, A simple generalisation of the area under the ROC curve for multiple class
classification problems, Machine Learning 45 (2001) (pairs).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.preprocessing import label_binarize
from sklearn.utils.multiclass import type_of_target

from fenchel.data.arrays import to_numpy
from fenchel.score.area.auc import auc
from fenchel.score.area.average_precision import average_precision
from fenchel.score.area.partial_auc import partial_auc
from fenchel.score.curves.score_counts import Floats
from fenchel.score.labels import column

AVERAGES = ("micro", "macro", "samples", "weighted", None)
Binary = Callable[[NDArray[Any], NDArray[Any], Any], float]  # labels 0/1, scores, weights ↦ score


def roc_auc_score(
    y_true: Any,
    y_score: Any,
    *,
    average: str | None = "macro",
    sample_weight: Any = None,
    max_fpr: float | None = None,
    multi_class: str = "raise",
    labels: Any = None,
) -> Any:
    """Area under the ROC with scikit-learn's name, arguments and averages.

    `auc` is the same number of two classes, with its interval.

    Parameters
    ----------
    y_true : array of shape (n,) or (n, K)
        Labels, or a matrix of 0 and 1 that has a column for each of K labels.
    y_score : array of shape (n,) or (n, K)
        Scores, higher for the greater of two labels; of several classes, probabilities.
    average : {"macro", "weighted", "micro", "samples"} or None
        How the columns of several classes or labels are averaged; None gives them all.
    sample_weight : array of shape (n,), optional
        Weights of the rows; not for multi_class="ovo".
    max_fpr : float in (0, 1], optional
        The area up to this false positive rate, standardised as by McClish (`partial_auc` with
        scale="standardised"); of two classes.
    multi_class : {"raise", "ovr", "ovo"}
        Of several classes, each against the rest or in pairs; "raise" is an error there.
    labels : array of shape (K,), optional
        The classes that the columns of y_score stand for, sorted; by default those of y_true.

    Returns
    -------
    float, or array of shape (K,) for average=None
        NaN, with scikit-learn's `UndefinedMetricWarning`, where one class is present.

    Examples
    --------
    >>> from fenchel import roc_auc_score
    >>> roc_auc_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    >>> probability = [[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6], [0.2, 0.5, 0.3]]
    >>> round(roc_auc_score([0, 1, 2, 0], probability, multi_class="ovr"), 4)
    0.8056
    """
    _check_average(average)
    kind, y, scores = _inputs(y_true, y_score)

    def area(y: NDArray[Any], score: NDArray[Any], weight: Any) -> float:
        return _area(y, score, weight, max_fpr)

    if kind == "multiclass" or (kind == "binary" and scores.ndim == 2 and scores.shape[1] > 2):
        if max_fpr is not None and max_fpr != 1.0:
            raise ValueError(
                "Partial AUC computation not available in multiclass setting, 'max_fpr' must be "
                f"set to `None`, received `max_fpr={max_fpr}` instead"
            )
        return _area_of_classes(y, scores, labels, multi_class, average, sample_weight)
    if kind == "binary":
        y = (y == np.unique(y)[-1]).astype(int) if len(np.unique(y)) > 1 else np.zeros(len(y), int)
        return area(y, column(scores, "y_score"), sample_weight)
    return _averaged(area, y, scores, average, sample_weight)


def average_precision_score(
    y_true: Any,
    y_score: Any,
    *,
    average: str | None = "macro",
    pos_label: Any = 1,
    sample_weight: Any = None,
) -> Any:
    """Average precision with scikit-learn's name, arguments and averages.

    `average_precision` is the same number of two classes, with its interval.

    Parameters
    ----------
    y_true, y_score, average, sample_weight
        As in `roc_auc_score`; several classes are each set against the rest.
    pos_label : label, default 1
        The positive one of two classes.

    Returns
    -------
    float, or array of shape (K,) for average=None
        0, with a warning, where no row is positive.

    Examples
    --------
    >>> from fenchel import average_precision_score
    >>> round(average_precision_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), 4)
    0.8333
    """
    _check_average(average)
    kind, y, scores = _inputs(y_true, y_score)
    if kind == "binary":
        present = np.unique(y)
        if len(present) == 2 and pos_label not in present.tolist():
            raise ValueError(
                f"pos_label={pos_label!r} is not a valid label. It should be one of {present}"
            )
        return _precision(y == pos_label, column(scores, "y_score"), sample_weight)
    if pos_label != 1:
        raise ValueError(
            f"Parameter pos_label is fixed to 1 for {kind} y_true. Do not set pos_label or set "
            "pos_label to 1."
        )
    if kind == "multiclass":
        y = label_binarize(y, classes=np.unique(y))
        if y.shape != scores.shape:
            raise _wrong_shape(scores)
    return _averaged(_precision, y, scores, average, sample_weight)


def _inputs(y_true: Any, y_score: Any) -> tuple[str, NDArray[Any], NDArray[Any]]:
    """The kind of the target in scikit-learn's words, the target, and the scores."""
    kind = type_of_target(y_true, input_name="y_true")
    y, scores = np.asarray(to_numpy(y_true)), np.asarray(to_numpy(y_score))
    if kind not in ("binary", "multiclass", "multilabel-indicator"):
        raise ValueError(f"{kind} format is not supported: y_true must hold classes")
    if kind != "multilabel-indicator":
        y = column(y, "y_true")
    if len(y) != len(scores):
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: y_true has {len(y)} rows "
            f"and y_score has {len(scores)}"
        )
    return kind, y, scores


def _check_average(average: str | None) -> None:
    if average not in AVERAGES:
        raise ValueError(f"average must be one of {AVERAGES}, got {average!r}")


def _wrong_shape(scores: NDArray[Any]) -> ValueError:
    return ValueError(
        "`y_score` needs to be of shape `(n_samples, n_classes)`, since `y_true` contains multiple "
        f"classes. Got `y_score.shape={scores.shape}`."
    )


def _has(y: NDArray[Any], weight: Any, label: int) -> bool:
    """Whether some row that has weight bears the label."""
    here = y == label
    return bool((here if weight is None else here & (np.asarray(weight) > 0.0)).any())


def _area(y: NDArray[Any], score: NDArray[Any], weight: Any, max_fpr: float | None = None) -> float:
    if not (_has(y, weight, 0) and _has(y, weight, 1)):
        warnings.warn(
            "Only one class is present in y_true. ROC AUC score is not defined in that case.",
            UndefinedMetricWarning,
            stacklevel=2,
        )
        return float("nan")
    if max_fpr is None or max_fpr == 1.0:
        return auc(y, score, sample_weight=weight)
    return partial_auc(y, score, max_fpr=max_fpr, scale="standardised", sample_weight=weight)


def _precision(y: NDArray[Any], score: NDArray[Any], weight: Any) -> float:
    y = np.asarray(y).astype(int)
    if not _has(y, weight, 1):
        warnings.warn(
            "No positive class found in y_true: its average precision is set to zero.",
            stacklevel=2,
        )
        return 0.0
    if not _has(y, weight, 0):
        return 1.0
    return average_precision(y, score, sample_weight=weight)


def _averaged(
    score: Binary, Y: NDArray[Any], S: NDArray[Any], average: str | None, weight: Any
) -> Any:
    """The score of the columns of Y and S, averaged."""
    if Y.shape != S.shape:
        raise ValueError(
            f"y_true has shape {Y.shape} and y_score {S.shape}: give one score a label"
        )
    s = None if weight is None else column(weight, "sample_weight").astype(np.float64)
    if average == "micro":
        return score(Y.ravel(), S.ravel(), None if s is None else np.repeat(s, Y.shape[1]))
    columns: Any = None
    if average == "samples":
        Y, S, columns, s = Y.T, S.T, s, None
    elif average == "weighted":
        columns = Y.sum(axis=0) if s is None else s @ Y
        if not columns.any():
            return 0.0
    scores = np.array([score(Y[:, k], S[:, k], s) for k in range(Y.shape[1])])
    if average is None:
        return scores
    if columns is not None:
        scores = np.where(columns == 0, 0.0, scores)  # NaN without weight has no say
    return float(np.average(scores, weights=columns))


def _area_of_classes(
    y: NDArray[Any],
    scores: NDArray[Any],
    labels: Any,
    multi_class: str,
    average: str | None,
    weight: Any,
) -> Any:
    if multi_class not in ("ovo", "ovr"):
        raise ValueError(
            f"multi_class must be in ('ovo', 'ovr') for several classes: {multi_class!r}"
        )
    if scores.ndim != 2:
        raise _wrong_shape(scores)
    if not np.allclose(1.0, scores.sum(axis=1)):
        raise ValueError(
            "Target scores need to be probabilities for multiclass roc_auc, i.e. they should sum "
            "up to 1.0 over classes"
        )
    possible = ("macro", "weighted", None) if multi_class == "ovo" else AVERAGES[:2] + AVERAGES[3:]
    if average not in possible:
        raise ValueError(f"average must be one of {possible} for multiclass problems")
    if multi_class == "ovo" and average is None:
        raise NotImplementedError("average=None is not implemented for multi_class='ovo'.")
    classes = _classes(y, scores, labels)
    if multi_class == "ovr":
        return _averaged(_area, label_binarize(y, classes=classes), scores, average, weight)
    if weight is not None:
        raise ValueError(
            "sample_weight is not supported for multiclass one-vs-one ROC AUC, 'sample_weight' "
            "must be None in this case."
        )
    return _area_of_pairs(np.searchsorted(classes, y), scores, average)


def _classes(y: NDArray[Any], scores: NDArray[Any], labels: Any) -> NDArray[Any]:
    """The class of each column of the scores."""
    if labels is None:
        classes = np.unique(y)
        if len(classes) != scores.shape[1]:
            raise ValueError(
                "Number of classes in y_true not equal to the number of columns in 'y_score'"
            )
        return classes
    given = column(labels, "labels")
    classes = np.unique(given)
    if len(classes) != len(given):
        raise ValueError("Parameter 'labels' must be unique")
    if not np.array_equal(classes, given):
        raise ValueError("Parameter 'labels' must be ordered")
    if len(classes) != scores.shape[1]:
        raise ValueError(
            f"Number of given labels, {len(classes)}, not equal to the number of columns in "
            f"'y_score', {scores.shape[1]}"
        )
    if not np.isin(y, classes).all():
        raise ValueError("'y_true' contains labels not in parameter 'labels'")
    return classes


def _area_of_pairs(codes: NDArray[np.int64], scores: Floats, average: str | None) -> float:
    """The mean over pairs of classes, "weighted" by the share of their rows."""
    areas, shares = [], []
    for j, k in combinations(np.unique(codes).tolist(), 2):
        here = (codes == j) | (codes == k)
        both = [_area((codes[here] == c).astype(int), scores[here, c], None) for c in (j, k)]
        areas.append(0.5 * sum(both))
        shares.append(here.mean())
    return float(np.average(areas, weights=shares if average == "weighted" else None))
