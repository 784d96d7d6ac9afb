"""Rates of a classifier's decisions over all classes, with intervals that hold their coverage.

C[i, j] is the weight of the rows of class i that were predicted j. A rate that is a share of
counted rows has the exact binomial interval. The others, and all weighted ones, have a Bayesian
bootstrap of the cells of C with two rows added, one right and one wrong: 1/k of a row on each of
the k cells of the diagonal, 1/(k(k − 1)) on each other cell (half a row per cell for two classes,
which is Jeffreys' prior). The two rows keep the interval of a perfect or a hopeless sample from
claiming certainty, where the BCa bootstrap gives a point: of 50 rows and rates near 1 that one
covers 67 to 87 % for 95, this one 94 to 97. The interval always holds the value.
One replicate takes k² Gamma variables, whatever the number of rows: milliseconds for ten classes,
seconds for a hundred. Rows are independent draws; weights are fixed numbers that belong to them.

Reference: Rubin, The Bayesian bootstrap, Annals of Statistics 9 (1981); Brown, Cai and DasGupta,
Interval estimation for a binomial proportion, Statistical Science 16 (2001).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.score.estimate import Estimate, check_share
from fenchel.score.intervals.binomial import binomial_rate
from fenchel.score.intervals.bootstrap import Statistic, bayesian_bootstrap
from fenchel.score.metrics.confusion import Confusion, Floats, add_rows, is_one, paired

CONSTANT = "the prediction is constant"


def accuracy(
    y_true: Any,
    y_pred: Any,
    *,
    sample_weight: Any = None,
    level: float | None = None,
    n_bootstrap: int = 10_000,
    random_state: Any = 0,
) -> float:
    """The share of rows whose class was predicted: Σ C[i, i] / Σ C.

    Any number of classes. The interval is the exact binomial one; with unequal weights it is the
    Bayesian bootstrap of the right and of the wrong weight, half a row added to each.

    Parameters
    ----------
    y_true, y_pred : array of shape (n,)
        True and predicted labels.
    sample_weight : array of shape (n,), optional
        Weights of the rows.
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
    >>> from fenchel import accuracy
    >>> y, said = ["a", "b", "b", "c", "c", "c"], ["a", "b", "c", "c", "c", "c"]
    >>> print(accuracy(y, said, level=0.95))
    0.8333 [0.3587, 0.9958] (95 %, exact binomial)
    """
    _, i, j, weight = paired(y_true, y_pred, sample_weight)
    return share_of(i == j, weight, Resampling(level, n_bootstrap, random_state))


def balanced_accuracy(
    y_true: Any,
    y_pred: Any,
    *,
    sample_weight: Any = None,
    level: float | None = None,
    n_bootstrap: int = 10_000,
    random_state: Any = 0,
) -> float:
    """The mean over the classes of y_true of the share predicted right: mean C[i, i] / Σⱼ C[i, j].

    Any number of classes k; a predicted class that y_true lacks has no share. The interval is the
    Bayesian bootstrap of each class's right and wrong weight, 1/k of a row added to each. One label
    in place of y_pred is predicted for every row: the rate is 1/k for every law, exactly.

    Parameters
    ----------
    y_true, y_pred : array of shape (n,)
        True and predicted labels; one predicted label stands for all rows.
    sample_weight : array of shape (n,), optional
        Weights of the rows.
    level : float, optional
        Give the rate with its interval of this coverage, as an `Estimate`.
    n_bootstrap : int, default 10000
        Replicates of the bootstrap.
    random_state : int or Generator, default 0
        Its seed.

    Returns
    -------
    float or Estimate
        The rate; with `level`, its interval too.

    Examples
    --------
    >>> from fenchel import balanced_accuracy
    >>> balanced_accuracy([0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 0])
    0.625
    >>> print(balanced_accuracy([0, 0, 0, 0, 1, 1], 0, level=0.95))
    0.5 (exact: the prediction is constant)
    """
    table = Confusion.of(y_true, y_pred, sample_weight)
    level = None if level is None else check_share(level, "level")
    sides = []
    for cells in (table.total, table.square):
        right = np.diagonal(cells)
        sides.append(np.stack([right, cells.sum(axis=1) - right], axis=1))
    present = sides[0].sum(axis=1) > 0.0
    total, square = (side[present] for side in sides)
    if is_one(y_pred) and level is not None:
        return Estimate.exact(float(mean_share(total)), level=level, reason=CONSTANT)
    added = add_rows(total, square, np.full(total.shape, 1.0 / max(len(total), 2)))
    return Resampling(level, n_bootstrap, random_state).of(mean_share, total, *added)


def matthews_correlation(
    y_true: Any,
    y_pred: Any,
    *,
    sample_weight: Any = None,
    level: float | None = None,
    n_bootstrap: int = 10_000,
    random_state: Any = 0,
) -> float:
    """Matthews' correlation of the true and the predicted class, 1 where they agree.

    n = Σ C, tᵢ = Σⱼ C[i, j], pⱼ = Σᵢ C[i, j]:
    (n Σ C[i, i] − Σ tᵢ pᵢ) / √((n² − Σ tᵢ²)(n² − Σ pᵢ²)), and 0 where one class only is true or one
    class only is predicted. Of two classes it is the correlation of the two indicators. The
    interval is the Bayesian bootstrap of C with one right and one wrong row added. One label in
    place of y_pred is predicted for every row: the correlation is 0 for every law, exactly.

    Parameters
    ----------
    y_true, y_pred : array of shape (n,)
        True and predicted labels; one predicted label stands for all rows.
    sample_weight : array of shape (n,), optional
        Weights of the rows.
    level : float, optional
        Give the correlation with its interval of this coverage, as an `Estimate`.
    n_bootstrap : int, default 10000
        Replicates of the bootstrap.
    random_state : int or Generator, default 0
        Its seed.

    Returns
    -------
    float or Estimate
        The correlation; with `level`, its interval too.

    References
    ----------
    Gorodkin, Comparing two K-category assignments by a K-category correlation coefficient,
    Computational Biology and Chemistry 28 (2004).

    Examples
    --------
    >>> from fenchel import matthews_correlation
    >>> round(matthews_correlation([0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 1, 0]), 4)
    0.25
    """
    table = Confusion.of(y_true, y_pred, sample_weight)
    level = None if level is None else check_share(level, "level")
    if is_one(y_pred) and level is not None:
        return Estimate.exact(0.0, level=level, reason=CONSTANT)
    resampling = Resampling(level, n_bootstrap, random_state)
    return resampling.of(_matthews, table.total, *table.with_guesses())


@dataclass(frozen=True, slots=True)
class Resampling:
    """Whether an interval is wanted, and the bootstrap that makes it."""

    level: float | None
    n_bootstrap: int
    random_state: Any

    def of(self, statistic: Statistic, cells: Floats, total: Floats, square: Floats) -> float:
        """The statistic of the cells; its interval from the cells with rows added."""
        value = float(statistic(cells[None])[0])
        if self.level is None:
            return value
        low, high, error = bayesian_bootstrap(
            statistic,
            total,
            square,
            level=self.level,
            n_bootstrap=self.n_bootstrap,
            random_state=self.random_state,
        )
        return Estimate(
            value,
            min(low, value),
            max(high, value),
            level=self.level,
            method=f"Bayesian bootstrap, a right and a wrong row added, {self.n_bootstrap} draws",
            standard_error=error,
        )


def share_of(right: NDArray[np.bool_], weight: Floats | None, resampling: Resampling) -> float:
    """The share of the weight that is right, with the interval of `accuracy`."""
    if weight is None:
        hits, n, level = int(np.count_nonzero(right)), right.size, resampling.level
        return hits / n if level is None else binomial_rate(hits, n, level)
    cells = [[weight[side].sum(), (weight[side] ** 2).sum()] for side in (right, ~right)]
    total, square = np.array(cells).T[:, None, :]
    return resampling.of(mean_share, total, *add_rows(total, square, np.full((1, 2), 0.5)))


def share(part: Floats, whole: Floats) -> Floats:
    """part / whole, and 0 where there is nothing."""
    return np.divide(part, whole, out=np.zeros(np.shape(part)), where=whole > 0.0)


def mean_share(cells: Floats) -> Floats:
    """From weights (…, k, 2), right and wrong, to the mean over k of the share that is right."""
    return share(cells[..., 0], cells.sum(axis=-1)).mean(axis=-1)


def _matthews(cells: Floats) -> Floats:
    true, predicted = cells.sum(axis=-1), cells.sum(axis=-2)
    n = true.sum(axis=-1)
    right = np.trace(cells, axis1=-2, axis2=-1)
    apart = n * right - (true * predicted).sum(axis=-1)
    spread = (n * n - (true * true).sum(axis=-1)) * (n * n - (predicted * predicted).sum(axis=-1))
    return share(apart, np.sqrt(np.maximum(spread, 0.0)))
