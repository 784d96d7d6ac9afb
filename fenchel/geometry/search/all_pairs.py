"""Neighbours by any metric: all distances of some rows at a time, the k smallest kept.

Time O(n m) distances, memory that of a tile of rows and all points a thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import Array, is_sparse
from fenchel.data.parallel import one_blas_thread, parallel_map, thread_count
from fenchel.geometry.search.metric import RowMetric
from fenchel.geometry.search.search import (
    Floats,
    Integers,
    NeighbourSearch,
    UndefinedDistance,
    Within,
)

# Distances that are held at once, for each thread: 32 MB in float64.
HELD = 2**22


@final
@dataclass(frozen=True, eq=False)
class AllPairs(NeighbourSearch):
    """The search of points by a metric, every distance being made.

    points: rows as the metric takes them: for given distances the numbers of columns; numbers: of
    the points in the table they are from, by which an error names them.
    """

    metric: RowMetric
    points: Any = field(repr=False)
    numbers: Integers | None = field(default=None, repr=False)

    @property
    def n_points(self) -> int:
        return int(self.points.shape[0])

    def nearest(self, Q: Array, k: int) -> tuple[Integers, Floats]:
        n = Q.shape[0]
        numbers, distances = np.empty((n, k), np.int64), np.empty((n, k))

        def fold(rows: slice, tile: Floats) -> None:
            numbers[rows] = smallest(tile, k)
            distances[rows] = np.take_along_axis(tile, numbers[rows], axis=1)

        self._tiles(Q, fold)
        return numbers, distances

    def within(self, Q: Array, radius: float) -> Within:
        found: dict[int, tuple[Integers, Integers, Floats]] = {}

        def fold(rows: slice, tile: Floats) -> None:
            which, number = np.nonzero(tile <= radius)
            counts = np.bincount(which, minlength=len(tile))
            found[rows.start] = counts, number.astype(np.int64), tile[which, number]

        self._tiles(Q, fold)
        parts = [found[start] for start in sorted(found)]
        counts, numbers, distances = (np.concatenate(side) for side in zip(*parts, strict=True))
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return Within(starts, numbers, distances)

    def _tiles(self, Q: Array, fold: Callable[[slice, Floats], None]) -> None:
        n, m = Q.shape[0], self.n_points
        step = max(1, min(HELD // max(m, 1), -(-n // thread_count())))

        def work(rows: slice) -> None:
            with one_blas_thread():
                tile = self.metric.tile(_plain(Q[rows]), self.points)
            bad = ~(tile >= 0.0) if self.metric.refuses_negative else np.isnan(tile)
            if bad.any():
                i, j = (int(at[0]) for at in np.nonzero(bad))
                point = j if self.numbers is None else int(self.numbers[j])
                raise UndefinedDistance(self.metric.name, float(tile[i, j]), rows.start + i, point)
            fold(rows, tile)

        slices = [slice(lo, min(lo + step, n)) for lo in range(0, n, step)]
        parallel_map(work, slices)


def _plain(rows: Array) -> NDArray[Any]:
    return rows.toarray() if is_sparse(rows) else np.asarray(rows)


def smallest(values: Floats, k: int) -> Integers:
    """The columns of the k smallest values of each row, smallest first, then the lower."""
    if k >= values.shape[1]:
        return np.argsort(values, axis=1, kind="stable")[:, :k].astype(np.int64, copy=False)
    columns = np.argpartition(values, k - 1, axis=1)[:, :k]
    columns.sort(axis=1)
    chosen = np.take_along_axis(values, columns, axis=1)
    order = np.argsort(chosen, axis=1, kind="stable")
    columns = np.take_along_axis(columns, order, axis=1)
    # More values equal to the k-th than were kept: those with the lowest columns are wanted.
    last = np.take_along_axis(values, columns[:, -1:], axis=1)
    crowded = np.flatnonzero((values <= last).sum(axis=1) > k)
    columns[crowded] = np.argsort(values[crowded], axis=1, kind="stable")[:, :k]
    return columns.astype(np.int64, copy=False)
