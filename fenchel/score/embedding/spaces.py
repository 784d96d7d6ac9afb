"""A table or a matrix of distances as points of a space: distances by tiles, and their order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.intake import as_blocks
from fenchel.geometry.distance import LANES, squared_distances
from fenchel.geometry.search.all_pairs import AllPairs
from fenchel.geometry.search.euclidean import EuclideanSearch
from fenchel.geometry.search.metric import GivenDistances, RowMetric, is_euclidean, metric_of
from fenchel.geometry.search.search import NeighbourSearch, without_own
from fenchel.score.curves.score_counts import Floats
from fenchel.score.structure.row_units import in_units

Integers = NDArray[np.int64]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """rows: dense or CSR, or distances; metric: None for the Euclidean one."""

    rows: Any = field(repr=False)
    metric: RowMetric | None = None

    @property
    def n(self) -> int:
        return int(self.rows.shape[0])

    @property
    def given(self) -> bool:
        """Whether the rows are distances."""
        return isinstance(self.metric, GivenDistances)

    @property
    def rounded(self) -> bool:
        """Whether a distance depends, in its last digits, on the tile that it is made in."""
        return self.metric is None and self.rows.shape[1] > LANES

    def in_units(self, exponent: int) -> Space:
        """With all lengths over 2^exponent, of Euclidean or given distances."""
        return Space(in_units(self.rows, exponent), self.metric)

    def distances(self, some: slice, others: slice) -> Floats:
        """d(xᵢ, xⱼ) in float64, the caller's to change."""
        if self.given:
            return np.array(self.rows[some, others], np.float64)
        if self.metric is not None:
            return self.metric.tile(_dense(self.rows[some]), _dense(self.rows[others]))
        squares = squared_distances(self.rows[some], self.rows[others])
        return np.sqrt(squares, out=squares)

    def distances_from(self, row: int, others: Integers) -> Floats:
        """Euclidean distances of one row, each by its own sum."""
        own, points = _dense(self.rows[row : row + 1]), _dense(self.rows[others])
        return np.asarray(np.sqrt(np.square(points.astype(np.float64) - own).sum(axis=1)))

    def neighbours(self, k: int) -> Integers:
        """The k nearest others of each row, ties to the lower number."""
        search: NeighbourSearch
        if self.metric is None:
            search = EuclideanSearch(_dense(self.rows))
        else:
            points = np.arange(self.n) if self.given else _dense(self.rows)
            search = AllPairs(self.metric, points)
        found = search.nearest(_dense(self.rows), k + 1)
        return without_own(*found, np.arange(self.n))[0]


def space_of(
    X: Any, metric: Any = "euclidean", parameters: Mapping[str, Any] | None = None
) -> Space:
    """The rows X with a distance by name, a function of two rows, or "precomputed"."""
    X = as_blocks(X).gather().X
    rows = X if is_sparse(X) else np.asarray(to_numpy(X))
    if is_euclidean(metric, 2, parameters):
        return Space(rows)
    if metric != "precomputed":
        return Space(rows, metric_of(metric, 2, parameters, _dense(rows)))
    D = np.asarray(_dense(rows), np.float64)
    if D.shape[0] != D.shape[1]:
        raise ValueError(f"metric='precomputed' takes a square matrix of distances, got {D.shape}")
    if (D < 0.0).any():
        i, j = (int(at[0]) for at in np.nonzero(D < 0.0))
        raise ValueError(f"the distance in row {i}, column {j} is {D[i, j]:.6g}: none is negative")
    return Space(D, GivenDistances())


def two_spaces(
    X: Any, X_embedded: Any, metric: Any, parameters: Mapping[str, Any] | None = None
) -> tuple[Space, Space]:
    """Rows and their places in a map, as many of one as of the other."""
    space, places = space_of(X, metric, parameters), space_of(X_embedded)
    if space.n != places.n:
        raise ValueError(
            f"X has {space.n} rows and X_embedded has {places.n}: give the place of each row"
        )
    return space, places


def _dense(rows: Any) -> NDArray[Any]:
    return rows.toarray() if is_sparse(rows) else np.asarray(rows)
