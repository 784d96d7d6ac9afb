"""Rates of finding one class: precision, recall, specificity, F1, each with its interval.

With d = C[i, i], t = Σⱼ C[i, j], p = Σⱼ C[j, i] for class i (tp, tp + fn, tp + fp), each is a share
of rows: d/p, d/t, and for F1 = 2J/(1 + J) the share J = d/(t + p − d) of the rows that are of the
class or taken for it. Given the number of those rows, d is binomial: hence exact intervals.

One label in place of y_pred is predicted for every row. Then recall and specificity are 0 or 1,
exactly, and so is an F1 of 0.

Reference: Clopper and Pearson, The use of confidence or fiducial limits, Biometrika 26 (1934).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from fenchel.score.estimate import Estimate, check_share
from fenchel.score.intervals.binomial import binomial_rate
from fenchel.score.metrics.confusion import Confusion, Floats, is_one
from fenchel.score.metrics.overall import CONSTANT, Resampling, accuracy, share

Average = Literal["binary", "macro", "micro", "weighted"]
AVERAGES = ("binary", "macro", "micro", "weighted")


def f1(
    y_true: Any,
    y_pred: Any,
    *,
    sample_weight: Any = None,
    pos_label: Any = None,
    average: Average = "binary",
    level: float | None = None,
    n_bootstrap: int = 10_000,
    random_state: Any = 0,
) -> float:
    """The harmonic mean of precision and recall: 2 tp / (2 tp + fp + fn).

    0, with a warning, where no row is positive or predicted so. The exact interval is that of
    J = tp / (tp + fp + fn), binomial given tp + fp + fn, carried over by 2J/(1 + J). Averages and
    unequal weights have the Bayesian bootstrap with one right and one wrong row added; "micro" is
    the accuracy, and exact.

    Parameters
    ----------
    y_true, y_pred : array of shape (n,)
        True and predicted labels.
    sample_weight : array of shape (n,), optional
        Weights of the rows.
    pos_label : label, optional
        The positive class of average="binary": by default 1 among labels 0, 1 and -1, else the
        greater label.
    average : {"binary", "macro", "micro", "weighted"}
        Of the positive class of two; or the mean over all classes, each alike, or as heavy as its
        rows; or of all decisions together.
    level : float, optional
        Give the rate with its interval of this coverage, as an `Estimate`.
    n_bootstrap : int, default 10000
        Replicates of the bootstrap, where one is used.
    random_state : int or Generator, default 0
        Its seed.

    Returns
    -------
    float or Estimate
        The rate; with `level`, its interval too.

    Examples
    --------
    >>> from fenchel import f1
    >>> print(f1([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 0], level=0.95))
    0.6667 [0.1266, 0.9651] (95 %, exact binomial, given the rows of the class or taken for it)
    """
    ask = _Ask(y_true, y_pred, sample_weight, average, level, n_bootstrap, random_state)
    return ask.rate("f1", pos_label)


def precision(
    y_true: Any,
    y_pred: Any,
    *,
    sample_weight: Any = None,
    pos_label: Any = None,
    average: Average = "binary",
    level: float | None = None,
    n_bootstrap: int = 10_000,
    random_state: Any = 0,
) -> float:
    """The share of the rows predicted positive that are positive: tp / (tp + fp).

    0, with a warning, where no row is predicted positive. The exact binomial interval holds given
    the number of rows predicted positive.

    Parameters
    ----------
    y_true, y_pred : array of shape (n,)
        True and predicted labels.
    sample_weight : array of shape (n,), optional
        Weights of the rows.
    pos_label : label, optional
        The positive class, as in `f1`.
    average : {"binary", "macro", "micro", "weighted"}
        Of the positive class of two, or the averages over all classes of `f1`.
    level : float, optional
        Give the rate with its interval of this coverage, as an `Estimate`.
    n_bootstrap : int, default 10000
        Replicates of the bootstrap that averages and unequal weights have, as in `f1`.
    random_state : int or Generator, default 0
        Its seed.

    Returns
    -------
    float or Estimate
        The rate; with `level`, its interval too.

    Examples
    --------
    >>> from fenchel import precision
    >>> print(precision([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 0], level=0.95))
    0.6667 [0.09429, 0.9916] (95 %, exact binomial, given the rows taken for the class)
    """
    ask = _Ask(y_true, y_pred, sample_weight, average, level, n_bootstrap, random_state)
    return ask.rate("precision", pos_label)


def recall(
    y_true: Any,
    y_pred: Any,
    *,
    sample_weight: Any = None,
    pos_label: Any = None,
    average: Average = "binary",
    level: float | None = None,
    n_bootstrap: int = 10_000,
    random_state: Any = 0,
) -> float:
    """The share of the positive rows that are predicted positive: tp / (tp + fn).

    The true positive rate. 0, with a warning, where no row is positive. The exact binomial interval
    holds given the number of positive rows.

    Parameters
    ----------
    y_true, y_pred : array of shape (n,)
        True and predicted labels.
    sample_weight : array of shape (n,), optional
        Weights of the rows.
    pos_label : label, optional
        The positive class, as in `f1`.
    average : {"binary", "macro", "micro", "weighted"}
        Of the positive class of two, or the averages over all classes of `f1`.
    level : float, optional
        Give the rate with its interval of this coverage, as an `Estimate`.
    n_bootstrap : int, default 10000
        Replicates of the bootstrap that averages and unequal weights have, as in `f1`.
    random_state : int or Generator, default 0
        Its seed.

    Returns
    -------
    float or Estimate
        The rate; with `level`, its interval too.

    Examples
    --------
    >>> from fenchel import recall
    >>> print(recall([0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 0], level=0.95))
    0.6667 [0.09429, 0.9916] (95 %, exact binomial, given the rows of the class)
    """
    ask = _Ask(y_true, y_pred, sample_weight, average, level, n_bootstrap, random_state)
    return ask.rate("recall", pos_label)


def specificity(
    y_true: Any,
    y_pred: Any,
    *,
    sample_weight: Any = None,
    pos_label: Any = None,
    level: float | None = None,
    n_bootstrap: int = 10_000,
    random_state: Any = 0,
) -> float:
    """The share of the negative rows that are predicted negative: tn / (tn + fp).

    Two classes. 0, with a warning, where no row is negative. The exact binomial interval holds
    given the number of negative rows.

    Parameters
    ----------
    y_true, y_pred : array of shape (n,)
        True and predicted labels.
    sample_weight : array of shape (n,), optional
        Weights of the rows.
    pos_label : label, optional
        The positive class, as in `f1`.
    level : float, optional
        Give the rate with its interval of this coverage, as an `Estimate`.
    n_bootstrap : int, default 10000
        Replicates of the bootstrap that averages and unequal weights have, as in `f1`.
    random_state : int or Generator, default 0
        Its seed.

    Returns
    -------
    float or Estimate
        The rate; with `level`, its interval too.

    Examples
    --------
    >>> from fenchel import specificity
    >>> specificity([0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 0])
    0.75
    """
    ask = _Ask(y_true, y_pred, sample_weight, "binary", level, n_bootstrap, random_state)
    return ask.rate("recall", pos_label, of_positive=False)


# What d is counted among, in the words of an interval that is exact given their number.
AMONG = {
    "precision": "the rows taken for the class",
    "recall": "the rows of the class",
    "f1": "the rows of the class or taken for it",
}


@dataclass(frozen=True, slots=True)
class _Ask:
    y_true: Any
    y_pred: Any
    sample_weight: Any
    average: str
    level: float | None
    n_bootstrap: int
    random_state: Any

    def rate(self, kind: str, pos_label: Any, of_positive: bool = True) -> float:
        if self.average not in AVERAGES:
            names = ", ".join(repr(name) for name in AVERAGES)
            raise ValueError(f"average must be one of {names}, got {self.average!r}")
        if self.level is not None:
            check_share(self.level, "level")
        if self.average == "micro":  # every wrong row is one false positive and one false negative
            return accuracy(
                self.y_true,
                self.y_pred,
                sample_weight=self.sample_weight,
                level=self.level,
                n_bootstrap=self.n_bootstrap,
                random_state=self.random_state,
            )
        table = Confusion.of(self.y_true, self.y_pred, self.sample_weight)
        if self.average == "binary":
            table = table.of_two(pos_label)
            classes = np.array([1 if of_positive else 0])
        else:
            classes = np.arange(len(table.labels))
        hits, among, _ = _counts(table.total[None], kind, classes)
        if (bad := among[0] == 0.0).any():
            warnings.warn(
                f"no row is among {AMONG[kind]} {table.labels[classes[bad][0]]!r}: its rate, a "
                "share of none, is set to 0",
                UndefinedMetricWarning,
                stacklevel=3,
            )
        if self.average == "binary" and self.level is not None and is_one(self.y_pred):
            rate = float(share(hits, among)[0, 0])
            # The class is always predicted, or never: its recall is 1 or 0, and its F1 is 0 if it
            # never is, for every law. Its precision, and F1 if it always is, follow the law.
            if among[0, 0] > 0.0 and (kind == "recall" or (kind == "f1" and rate == 0.0)):
                return Estimate.exact(rate, level=self.level, reason=CONSTANT)
        if self.average == "binary" and table.is_counted and self.level is not None:
            return _exact(kind, int(hits[0, 0]), int(among[0, 0]), self.level)

        def statistic(cells: Floats) -> Floats:
            hits, among, of_class = _counts(cells, kind, classes)
            rates = _bent(kind, share(hits, among))
            if self.average == "weighted":
                return share((rates * of_class).sum(axis=-1), of_class.sum(axis=-1))
            return rates.mean(axis=-1)

        resampling = Resampling(self.level, self.n_bootstrap, self.random_state)
        return resampling.of(statistic, table.total, *table.with_guesses())


def _counts(cells: Floats, kind: str, classes: Any) -> tuple[Floats, Floats, Floats]:
    """(d, what d is counted among, t) of those classes, from weights (…, k, k)."""
    hits = np.diagonal(cells, axis1=-2, axis2=-1)[..., classes]
    of_class = cells.sum(axis=-1)[..., classes]
    taken = cells.sum(axis=-2)[..., classes]
    among = {"precision": taken, "recall": of_class, "f1": of_class + taken - hits}[kind]
    return hits, among, of_class


def _bent(kind: str, rate: Any) -> Any:
    return 2.0 * rate / (1.0 + rate) if kind == "f1" else rate


def _exact(kind: str, hits: int, among: int, level: float) -> Estimate:
    method = f"exact binomial, given {AMONG[kind]}"
    if not among:
        return Estimate(0.0, 0.0, 1.0, level=level, method=method)
    plain = binomial_rate(hits, among, level)
    slope = 2.0 / (1.0 + plain) ** 2 if kind == "f1" else 1.0
    value, low, high = (float(_bent(kind, x)) for x in (float(plain), plain.low, plain.high))
    error = slope * plain.standard_error
    return Estimate(value, low, high, level=level, method=method, standard_error=error)
