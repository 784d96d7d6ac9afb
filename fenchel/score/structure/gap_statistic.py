"""How many clusters there are, if there are any: the gap statistic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from fenchel.convex.partition.spectral_bounds import CentredRows, within_clusters
from fenchel.data.display.result_table import Tabular
from fenchel.score.curves.score_counts import Floats
from fenchel.score.estimate import is_integer
from fenchel.score.structure.spectral_certificates import cluster_codes

CLEAR = 5.0  # errors that a step must be above
WIDEST = 256  # powers of two of the rows, with room for squares and their sums


@dataclass(frozen=True, eq=False)
class GapStatistic(Tabular):
    """Scatter within clusters against that of rows without any.

    Attributes
    ----------
    counts : numbers of clusters that were tried
    scatter : that of the rows within so many clusters
    reference : the geometric mean of the same for rows drawn evenly
    gap : log reference - log scatter
    error : standard error of the gap, from the drawn rows
    labels : of the rows, for each number of clusters
    chosen : the number that the gap speaks for
    is_clear : whether it speaks for any; if not, it grows up to the last number that was tried, as
        with outliers or more clusters than those, and `chosen` is that of the largest gap

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> from fenchel import gap_statistic
    >>> X = load_iris().data[:, 2:]
    >>> found = gap_statistic(KMeans(n_init=4, random_state=0), X, range(1, 7))
    >>> found.chosen, found.is_clear
    (3, True)
    """

    counts: tuple[int, ...]
    scatter: Floats
    reference: Floats
    gap: Floats
    error: Floats
    labels: tuple[Any, ...]
    chosen: int
    is_clear: bool

    def columns(self) -> dict[str, Any]:
        """One row a number of clusters."""
        return {
            "clusters": np.array(self.counts),
            "scatter": self.scatter,
            "reference": self.reference,
            "gap_statistic": self.gap,
            "standard_error": self.error,
            "chosen": np.array(self.counts) == self.chosen,
        }

    def caption(self) -> str:
        number = f"{self.chosen} clusters" if self.chosen > 1 else "one cluster"
        if self.is_clear:
            return f"The gap statistic speaks for {number}."
        return f"The gap statistic speaks for no number; it is largest for {number}."


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
    log W* times √(1 + 1/draws). The first k with gap(k) ≥ gap(k+1) - error(k+1) is chosen, unless
    a later k that meets the condition stands a clear step above it: five errors above gap(k-1) and
    above the first one's gap, as where clusters lie in clusters. Rows that fall into no clusters
    mostly choose one.

    Parameters
    ----------
    estimator : clusterer
        Cloned, with `parameter` set to each number in turn; its `fit_predict` is given the rows
        less their mean.
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
    tried = tuple(counts)
    if not tried or not all(map(is_integer, tried)) or tried[0] < 1 or np.any(np.diff(tried) <= 0):
        raise ValueError(f"counts must be whole numbers that increase from 1 or more, got {tried}")
    if not is_integer(draws) or draws < 2:
        raise ValueError(f"draws must be a whole number, 2 or more to have an error, got {draws!r}")
    cloud = CentredRows(X)
    rows = cloud.rows
    if tried[-1] > len(rows):
        raise ValueError(f"{tried[-1]} clusters need as many rows, and there are {len(rows)}")
    rng = np.random.default_rng(random_state)
    _, _, axes = np.linalg.svd(rows, full_matrices=False)
    turned = rows @ axes.T
    low, high = turned.min(axis=0), turned.max(axis=0)
    # The estimator gets rows in their own units, but where their squares leave the floats.
    units = cloud.exponent if abs(cloud.exponent) <= WIDEST else 0
    found = [_walk(estimator, rows, units, tried, parameter)]
    for _ in range(draws):
        drawn = rng.uniform(low, high, turned.shape) @ axes
        found.append(_walk(estimator, drawn, units, tried, parameter))
    scatter = np.array([values for values, _ in found])
    # Where all rows of a cluster are one point nothing is left, and a logarithm needs something.
    least = np.finfo(np.float64).tiny + np.finfo(np.float64).eps * scatter.max()
    logs = np.log(np.maximum(scatter, least))
    gap = logs[1:].mean(axis=0) - logs[0]
    error = logs[1:].std(axis=0) * np.sqrt(1.0 + 1.0 / draws)
    place, is_clear = _chosen(gap, error, scatter[0] <= least)
    return GapStatistic(
        counts=tuple(int(k) for k in tried),
        scatter=np.array([cloud.outside(value) for value in scatter[0]]),
        reference=np.array([cloud.outside(value) for value in np.exp(logs[1:].mean(axis=0))]),
        gap=gap,
        error=error,
        labels=found[0][1],
        chosen=int(tried[place]),
        is_clear=is_clear,
    )


def _chosen(gap: Floats, error: Floats, done: Any) -> tuple[int, bool]:
    """The place of the number that speaks for itself, and whether one does.

    Where nothing is left to gain (`done`), a number needs no successor to be compared with.
    """
    good = np.append(gap[:-1] >= gap[1:] - error[1:], len(gap) == 1) | done
    if not good.any():
        return int(gap.argmax()), False
    first = int(good.argmax())
    step = np.append(0.0, np.diff(gap))
    above = good & (np.minimum(step, gap - gap[first]) > CLEAR * error)
    return int(np.where(above, gap, -np.inf).argmax()) if above.any() else first, True


def _walk(
    estimator: Any, rows: Floats, units: int, counts: tuple[int, ...], parameter: str
) -> tuple[Floats, tuple[Any, ...]]:
    """The scatter within so many clusters, and the clusters."""
    given = np.ldexp(rows, units)
    labels = tuple(
        clone(estimator).set_params(**{parameter: count}).fit_predict(given) for count in counts
    )
    left = (within_clusters(rows, *cluster_codes(one, len(rows))) for one in labels)
    return np.array([float(np.sum(one * one)) for one in left]), labels
