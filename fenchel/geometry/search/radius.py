"""All points within a radius: counted by products, then collected.

Two passes over the tiles: the first counts (`tiles.Count`), so that the second writes each point
where it belongs, whatever the threads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import Array
from fenchel.geometry.distance import Points
from fenchel.geometry.search.search import Integers, Within
from fenchel.geometry.tiles import Count, Floats, PairFold, Tile, TileFold, fold_pairs


@final
@dataclass(frozen=True, slots=True)
class Collect(TileFold[None]):
    """Write the points of each row from its place on: numbers, in order, and squared distances."""

    radius: float
    places: Integers = field(repr=False)
    numbers: Integers = field(repr=False)
    squares: Floats = field(repr=False)
    dtype: Any = np.float32

    def prepare(self, points: Array) -> Points:
        return Points.of(points, self.dtype)

    def empty(self, n: int, points: Any) -> tuple[NDArray[Any], ...]:
        return (self.places,)

    def visit(
        self, X: NDArray[Any], points: Points, slots: tuple[NDArray[Any], ...], tile: Tile
    ) -> int:
        from fenchel.geometry.search.compiled import collect_by_products, collect_directly

        square = float(self.radius) * float(self.radius)
        found = self.numbers, self.squares
        if points.products is None:
            collect_directly(X, points.columns, square, tile.points or 256, *slots, *found)
            return 0
        shape = tile.shape(len(points.rows), 1)
        collect_by_products(X, points.products, square, *shape, *slots, *found)
        return 0

    def finish(self, slots: tuple[NDArray[Any], ...]) -> None:
        return None


def points_within(points: NDArray[Any], Q: Array, radius: float) -> Within:
    """The points with d² ≤ radius² of each row; distances are squared."""
    counts = fold_pairs(Q, points, Count(radius))
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    numbers, squares = np.empty(starts[-1], np.int64), np.empty(starts[-1])
    collect = Collect(radius, starts[:-1].copy(), numbers, squares)
    PairFold.of(points, collect, Q.dtype, None)(Q)
    return Within(starts, numbers, squares)
