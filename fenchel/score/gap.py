"""How many clusters there are, if there are any: the gap statistic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from fenchel.score.groups import Floats
from fenchel.score.scatter import apart


@dataclass(frozen=True, eq=False)
class GapStatistic:
    """Scatter within clusters against that of rows without any.

    Attributes
    ----------
    counts : numbers of clusters that were tried
    scatter : that of the rows within so many clusters
    reference : the geometric mean of the same for rows drawn evenly
    gap : log reference - log scatter
    error : standard error of the gap, from the drawn rows
    labels : of the rows, for each number of clusters
    chosen : the smallest number with gap(k) ≥ gap(k+1) - error(k+1), else that of the largest gap

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> from fenchel import gap_statistic
    >>> X = load_iris().data[:, 2:]
    >>> gap_statistic(KMeans(n_init=4, random_state=0), X, range(1, 6)).chosen
    3
    """

    counts: tuple[int, ...]
    scatter: Floats
    reference: Floats
    gap: Floats
    error: Floats
    labels: tuple[Any, ...]
    chosen: int


def gap_statistic(
    estimator: Any,
    X: Any,
    counts: Sequence[int] = tuple(range(1, 9)),
    *,
    parameter: str = "n_clusters",
    draws: int = 10,
    random_state: int = 0,
) -> GapStatistic:
    """Try several numbers of clusters, on the rows and on rows drawn evenly from the box around.

    gap(k) = mean of log W*(k) - log W(k)

    with W the scatter within the clusters and W* that of rows drawn evenly from the box around the
    rows along their principal axes, so often as `draws` says; its error is the deviation of
    log W* times √(1 + 1/draws). Rows that fall into no clusters gain by a division no more than
    evenly drawn ones do, and then one cluster is chosen.

    Parameters
    ----------
    estimator : clusterer
        Cloned, with `parameter` set to each number in turn; its `fit_predict` is used.
    X : array of shape (n, d)
    counts : increasing numbers of clusters
    parameter : str
        The estimator's name for that number.
    draws : int
    random_state : int

    Returns
    -------
    GapStatistic

    References
    ----------
    Tibshirani, Walther and Hastie, Estimating the number of clusters in a data set via the gap
    statistic, J. R. Stat. Soc. B 63 (2001).
    """
    rows = np.asarray(X, dtype=np.float64)
    tried = tuple(int(k) for k in counts)
    if rows.ndim != 2 or not tried or tried[0] < 1 or np.any(np.diff(tried) <= 0):
        raise ValueError("X must have rows and columns, and counts must increase from 1 or more")
    if tried[-1] > len(rows):
        raise ValueError(f"{tried[-1]} clusters need as many rows, and there are {len(rows)}")
    if draws < 2:
        raise ValueError(f"draws must be at least 2 to have an error, got {draws}")
    rng = np.random.default_rng(random_state)
    _, _, axes = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    turned = (rows - rows.mean(axis=0)) @ axes.T
    low, high = turned.min(axis=0), turned.max(axis=0)
    found = [_walk(estimator, rows, tried, parameter)]
    for _ in range(draws):
        found.append(_walk(estimator, rng.uniform(low, high, turned.shape), tried, parameter))
    scatter = np.array([values for values, _ in found])
    # Where all rows of a cluster are one point nothing is left, and a logarithm needs something.
    least = np.finfo(np.float64).tiny + np.finfo(np.float64).eps * scatter.max()
    logs = np.log(np.maximum(scatter, least))
    gap = logs[1:].mean(axis=0) - logs[0]
    error = logs[1:].std(axis=0) * np.sqrt(1.0 + 1.0 / draws)
    enough = np.flatnonzero(gap[:-1] >= gap[1:] - error[1:])
    place = int(enough[0]) if enough.size else int(gap.argmax())
    return GapStatistic(
        counts=tried,
        scatter=scatter[0],
        reference=np.exp(logs[1:].mean(axis=0)),
        gap=gap,
        error=error,
        labels=found[0][1],
        chosen=tried[place],
    )


def _walk(
    estimator: Any, rows: Floats, counts: tuple[int, ...], parameter: str
) -> tuple[Floats, tuple[Any, ...]]:
    """The scatter within so many clusters, each no more than with fewer, and the clusters."""
    labels = tuple(
        clone(estimator).set_params(**{parameter: count}).fit_predict(rows) for count in counts
    )
    left = (apart(rows, one) for one in labels)
    return np.array([float(np.sum(one * one)) for one in left]), labels
