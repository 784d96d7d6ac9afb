"""Landmarks by farthest-first traversal: balls about them cover the rows at twice the best radius.

Reference: Gonzalez, Clustering to minimize the maximum intercluster distance, Theoretical Computer
Science 38 (1985); de Silva and Tenenbaum, Sparse multidimensional scaling using landmark points,
Stanford (2004), who call it MaxMin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.geometry.distance import squared_distances
from fenchel.geometry.search.metric import GivenDistances, RowMetric

Floats = NDArray[np.float64]


def landmark_rows(
    rows: NDArray[Any],
    metric: RowMetric | None,
    count: int,
    usable: NDArray[np.bool_],
    s: Floats | None = None,
) -> NDArray[np.int64]:
    """The numbers of `count` usable rows, in order, by farthest-first traversal.

    rows: dense, or the distances themselves for a metric of given ones; metric: None for the
    Euclidean one, whose first landmark is the farthest from the mean weighted by s, so that the
    order of the rows does not matter.
    """
    if isinstance(metric, GivenDistances):
        return farthest_first(lambda i: rows[i], count, usable)
    if metric is not None:
        return farthest_first(lambda i: metric.tile(rows, rows[i : i + 1])[:, 0], count, usable)
    size = float(np.abs(rows).max(initial=0.0))
    unit = rows / size if size > 0.0 else rows  # squares neither overflow nor vanish
    mean = np.average(unit, axis=0, weights=s)[None].astype(unit.dtype)
    return farthest_first(
        lambda i: squared_distances(unit, unit[i : i + 1])[:, 0],
        count,
        usable,
        squared_distances(unit, mean)[:, 0],
    )


def farthest_first(
    distances_to: Callable[[int], Floats],
    count: int,
    usable: NDArray[np.bool_],
    first: Floats | None = None,
) -> NDArray[np.int64]:
    """The numbers of `count` usable rows, in order, each the farthest from those chosen before it,
    ties to the lower number.

    distances_to: of all rows to the row with a number; first: distances whose largest names the
    first landmark (to the mean of the rows, so that their order does not matter); None: those to
    the first usable row.
    """
    start = distances_to(int(usable.argmax())) if first is None else first
    nearest = np.where(usable, start, -1.0)
    chosen = np.empty(count, np.int64)
    for step in range(count):
        chosen[step] = at = int(nearest.argmax())
        before = np.where(usable, np.inf, -1.0) if step == 0 else nearest
        nearest = np.minimum(before, distances_to(at))
        nearest[at] = -1.0
    return np.sort(chosen)


def refuse_landmarks(count: int, usable: int, k: int) -> None:
    """An error where there are too few rows for so many landmarks, or landmarks for columns."""
    if usable < 2:
        raise ValueError(f"landmarks are chosen of at least 2 rows, got n_samples={usable}")
    if count > usable:
        raise ValueError(
            f"n_landmarks={count} is more than the {usable} rows with weight: lower n_landmarks, "
            "or take None for all of them"
        )
    if count < k:
        raise ValueError(f"n_landmarks={count} is less than n_components={k}: raise n_landmarks")
