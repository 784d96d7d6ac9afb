"""The fold of the nearest points by projections, where few columns hold most of what many do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import Array
from fenchel.geometry.distance import Bounds, Points
from fenchel.geometry.projection.axes import Projection, projection_of
from fenchel.geometry.tiles import FINE_GRID, Nearest, Tile, TileFold

Floats = NDArray[np.float64]
# A pair that projections leave open takes as long as ten others: beyond a share of 1 / OPEN all
# products are faster.
OPEN = 12
# Points of a tile: 1000 rows of d = 784 and 60000 points took 0.28, 0.29, 0.37 s for 1024, 2048,
# 4096, and 0.82 s by all products.
TILE_POINTS = 1024


@final
@dataclass(frozen=True, slots=True, eq=False)
class NearestByProjections(TileFold[tuple[NDArray[np.int64], Floats]]):
    """The answer of `Nearest` for many columns that hold little more than a few do: distances to
    the points, prepared already, are bounded by projections first."""

    grid: ClassVar[int] = FINE_GRID
    k: int
    points: Points = field(repr=False)

    def prepare(self, points: Array) -> tuple[Bounds, Projection]:
        assert self.points.products is not None, "points of few columns are compared directly"
        return self.points.products, projection_of(self.points.products)

    def empty(self, n: int, points: Any) -> tuple[NDArray[Any], ...]:
        return Nearest(self.k).empty(n, points)

    def visit(
        self,
        X: NDArray[Any],
        points: tuple[Bounds, Projection],
        slots: tuple[NDArray[Any], ...],
        tile: Tile,
    ) -> int:
        from fenchel.geometry.projection.compiled import nearest_by_projections

        width = tile.points or min(len(points[0].rows), max(TILE_POINTS, 4 * self.k))
        shape = tile.rows or max(2**17 // width, 16), width
        return int(nearest_by_projections(X, *points, *shape, *slots))

    def refined(self, undecided: float, points: Any, left: int) -> TileFold[Any]:
        m = len(self.points.rows)
        return self if undecided <= m / OPEN + 16 * self.k else Nearest(self.k, projections=False)

    def finish(self, slots: tuple[NDArray[Any], ...]) -> tuple[NDArray[np.int64], Floats]:
        return Nearest(self.k).finish(slots)
