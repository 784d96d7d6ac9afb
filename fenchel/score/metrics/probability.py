"""Losses of predicted probabilities, with intervals that mind their skewness.

A loss is a mean of row losses, which are skewed: most are small, a few large. Its interval is the
skewness-corrected t of `score/intervals`, as good as a studentised bootstrap at the cost of one
pass: from 50 rows on, 94 to 98 % for 95 %, the more where a few rows of a rare class carry the
loss.
Where all row losses are equal they show no spread; then at most a share u of all rows has another
loss, u the exact binomial bound for 0 of n, and such a row may lose anything up to the largest
loss.
Weights are fixed numbers that belong to independent rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import to_numpy
from fenchel.data.validation import check_weight
from fenchel.score.estimate import Estimate, check_share
from fenchel.score.intervals.binomial import upper_bound
from fenchel.score.intervals.skewness_corrected_mean import mean_estimate
from fenchel.score.labels import column
from fenchel.score.metrics.confusion import Codes, Floats, coded, positive_label


def brier(
    y_true: Any,
    y_proba: Any,
    *,
    sample_weight: Any = None,
    pos_label: Any = None,
    labels: Any = None,
    scale_by_half: bool | Literal["auto"] = "auto",
    level: float | None = None,
) -> float:
    """The mean squared distance of predicted probabilities from what happened.

    Two classes: mean (1{yᵢ positive} − pᵢ)². More: mean Σₖ (1{yᵢ = k} − pᵢₖ)², between 0 and 2,
    unless `scale_by_half`. The values are those of scikit-learn's brier_score_loss.

    Parameters
    ----------
    y_true : array of shape (n,)
        True labels.
    y_proba : array of shape (n,) or (n, k)
        Probabilities of the positive class, or of each class in the order of the sorted labels.
    sample_weight : array of shape (n,), optional
        Weights of the rows.
    pos_label : label, optional
        The class whose probability one column gives: by default 1 among labels 0, 1 and -1, else
        the greater label.
    labels : array of shape (k,), optional
        The sorted labels, where y_true does not show them all.
    scale_by_half : bool or "auto", default "auto"
        Halve Σₖ; "auto" does for two classes, as is customary.
    level : float, optional
        Give the loss with its interval of this coverage, as an `Estimate`.

    Returns
    -------
    float or Estimate
        The loss; with `level`, its interval too.

    References
    ----------
    Brier, Verification of forecasts expressed in terms of probability, Monthly Weather Review 78
    (1950); Hall, On the removal of skewness by transformation, JRSS B 54 (1992).

    Examples
    --------
    >>> from fenchel import brier
    >>> round(brier([0, 1, 1, 0], [0.1, 0.9, 0.8, 0.3]), 4)
    0.0375
    """
    if not (scale_by_half in (True, False) or scale_by_half == "auto"):
        raise ValueError(f"scale_by_half must be True, False or 'auto', got {scale_by_half!r}")
    rows = _forecasts(y_true, y_proba, sample_weight, labels, pos_label)
    half = rows.classes == 2 if scale_by_half == "auto" else bool(scale_by_half)
    if rows.others is None:
        loss = (1.0 - rows.chance) ** 2 * (1.0 if half else 2.0)
    else:
        # Σₖ (1{k} − pₖ)² = (1 − p)² + Σ p² − p² with p the probability of what happened.
        loss = ((1.0 - rows.chance) ** 2 + rows.others) * (0.5 if half else 1.0)
    return _mean(loss, rows.weight, 1.0 if half else 2.0, level)


def log_loss(
    y_true: Any,
    y_proba: Any,
    *,
    sample_weight: Any = None,
    pos_label: Any = None,
    labels: Any = None,
    level: float | None = None,
) -> float:
    """The mean of −log of the probability that was given to what happened.

    mean −log min(max(pᵢ, ε), 1 − ε), with pᵢ the probability of row i's class and ε the relative
    precision of the type of y_proba: 2.2e-16 for float64, 1.2e-7 for float32. So a probability of
    0 for what happened costs −log ε (36 or 16), where the exact loss is infinite; the values are
    those of scikit-learn's log_loss.

    Parameters
    ----------
    y_true : array of shape (n,)
        True labels.
    y_proba : array of shape (n,) or (n, k)
        Probabilities of the positive class, or of each class in the order of the sorted labels.
    sample_weight : array of shape (n,), optional
        Weights of the rows.
    pos_label : label, optional
        The class whose probability one column gives: by default 1 among labels 0, 1 and -1, else
        the greater label.
    labels : array of shape (k,), optional
        The sorted labels, where y_true does not show them all.
    level : float, optional
        Give the loss with its interval of this coverage, as an `Estimate`.

    Returns
    -------
    float or Estimate
        The loss; with `level`, its interval too.

    References
    ----------
    Good, Rational decisions, JRSS B 14 (1952); Hall, On the removal of skewness by transformation,
    JRSS B 54 (1992).

    Examples
    --------
    >>> from fenchel import log_loss
    >>> print(log_loss([0, 1, 1, 0], [0.1, 0.9, 0.8, 0.35], level=0.95))
    0.2162 [0.03597, 1.194] (95 %, t corrected for skewness)
    """
    rows = _forecasts(y_true, y_proba, sample_weight, labels, pos_label)
    loss = -np.log(np.clip(rows.chance, rows.least, 1.0 - rows.least))
    return _mean(loss, rows.weight, -float(np.log(rows.least)), level)


@dataclass(frozen=True, slots=True)
class _Forecasts:
    """Per row the probability of what happened and, of k columns, Σ p² of what did not."""

    chance: Floats
    others: Floats | None
    weight: Floats | None
    classes: int
    least: float


def _forecasts(
    y_true: Any, y_proba: Any, sample_weight: Any, labels: Any, pos_label: Any
) -> _Forecasts:
    true = column(y_true, "y_true")
    given = to_numpy(y_proba)
    if given.dtype.kind not in "biuf":
        raise ValueError(f"y_proba must hold numbers, got an array of {given.dtype}")
    # host() widens, but the type that was given decides how near to 0 a probability can be told.
    name = str(getattr(y_proba, "dtype", "")).rpartition(".")[2]
    least = float(np.finfo(name if name in ("float16", "float32") else "float64").eps)
    if given.ndim == 2 and given.shape[1] == 1:
        given = given[:, 0]
    if given.ndim not in (1, 2) or given.shape[0] != true.size:
        raise ValueError(
            f"y_true has {true.size} rows and y_proba has shape {given.shape}: give one "
            "probability a row, or one a row and class"
        )
    proba = np.asarray(given, dtype=np.float64)
    _check_range(proba)
    if proba.ndim == 2:
        apart = np.abs(proba.sum(axis=1) - 1.0)
        if (wrong := apart > np.sqrt(least)).any():
            row = int(wrong.argmax())
            raise ValueError(
                f"the probabilities of row {row} sum to {proba[row].sum():g}, not 1: give those "
                "of every class, as predict_proba does"
            )
    weight = None
    if not true.size:
        raise ValueError("y_true is empty: there is no row to score")
    if sample_weight is not None:
        weight = check_weight(column(sample_weight, "sample_weight"), true.size)
        if not weight.all():
            kept = weight > 0.0
            true, proba, weight = true[kept], proba[kept], weight[kept]
    known, codes = _known(true, labels)
    if proba.ndim == 1:
        positive = _is_positive(known, codes, pos_label)
        return _Forecasts(np.where(positive, proba, 1.0 - proba), None, weight, 2, least)
    k = proba.shape[1]
    if len(known) != k:
        raise ValueError(
            f"y_proba has {k} columns and the labels are {len(known)}, {known[0]!r} to "
            f"{known[-1]!r}: name the label of every column with labels"
        )
    chance = np.take_along_axis(proba, codes[:, None], axis=1)[:, 0]
    others = np.maximum(np.einsum("ij,ij->i", proba, proba) - chance**2, 0.0)
    return _Forecasts(chance, others, weight, k, least)


def _check_range(proba: Floats) -> None:
    wrong = ~((proba >= 0.0) & (proba <= 1.0))
    if wrong.any():
        place = np.argwhere(wrong)[0]
        where = f"row {place[0]}" + (f", column {place[1]}" if proba.ndim == 2 else "")
        raise ValueError(
            f"y_proba is {proba[tuple(place)]:g} in {where}: a probability lies between 0 and 1"
        )


def _known(true: NDArray[Any], labels: Any) -> tuple[tuple[Any, ...], Codes]:
    """The labels that may happen, and each row's place among them."""
    if labels is None:
        known, (codes,) = coded([true], ["y_true"])
        return known, codes
    named = column(labels, "labels")
    known, (codes, places) = coded([true, named], ["y_true", "labels"])
    if len(known) != named.size:
        stranger = next((x for x in known if x not in named.tolist()), None)
        raise ValueError(
            f"y_true holds {stranger!r}, which is not among labels"
            if stranger is not None
            else "labels holds a label twice"
        )
    if (np.diff(places) <= 0).any():
        raise ValueError(
            f"labels must be sorted, {known[0]!r} first, as the columns of predict_proba are"
        )
    return known, codes


def _is_positive(known: tuple[Any, ...], codes: Codes, pos_label: Any) -> NDArray[np.bool_]:
    if len(known) > 2:
        raise ValueError(
            f"y_true holds {len(known)} classes, {known[0]!r} to {known[-1]!r}: give y_proba one "
            "column for each"
        )
    positive = positive_label(known, pos_label, "y_true holds")
    return np.array([label == positive for label in known])[codes]


def _mean(loss: Floats, weight: Floats | None, largest: float, level: float | None) -> float:
    if level is None:
        return float(np.average(loss, weights=weight))
    tail = 0.5 - 0.5 * check_share(level, "level")
    found = mean_estimate(loss, level, weight) if loss.size > 1 else None
    if found is not None and found.low < found.high:
        value, error, method = float(found), found.standard_error, found.method
        low, high = min(max(found.low, 0.0), value), max(min(found.high, largest), value)
    else:
        value, error = float(loss[0]), 0.0
        unseen = float(upper_bound(0, loss.size, tail))
        low, high = (1.0 - unseen) * value, value + unseen * max(largest - value, 0.0)
        method = "exact binomial bound on the rows that differ, all losses being equal"
    return Estimate(value, low, high, level=level, method=method, standard_error=error)
