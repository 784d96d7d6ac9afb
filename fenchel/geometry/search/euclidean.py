"""Neighbours by the Euclidean distance: a tree in few dimensions, tiles of products in many.

Which points are neighbours, and in which order, is decided by the squared distances of `distance`;
distances are their square roots.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np
from array_api_compat import array_namespace, is_torch_array
from numpy.typing import NDArray

from fenchel.data.arrays import Array, is_sparse, to_numpy
from fenchel.data.parallel import by_rows
from fenchel.geometry.distance import largest_entry, rows_in_order
from fenchel.geometry.neighbours import nearest, tree_of
from fenchel.geometry.search.on_device import DevicePoints, on_accelerator
from fenchel.geometry.search.radius import points_within
from fenchel.geometry.search.search import Floats, Integers, NeighbourSearch, Within

if TYPE_CHECKING:
    from fenchel.geometry.tree.kd_tree import KDTree

# Between these sizes no square overflows, and none of a difference of neighbouring float64 numbers
# vanishes; points beyond are moved there by a power of two, which is exact.
SMALL, LARGE = 1e-120, 1e120


@final
@dataclass(frozen=True, eq=False)
class EuclideanSearch(NeighbourSearch):
    """The search of points by ‖x - z‖; squared: answers hold ‖x - z‖² in place of it. on_device:
    the same points on an accelerator, for rows that are there."""

    points: NDArray[Any] = field(repr=False)
    squared: bool = False
    on_device: DevicePoints | None = field(default=None, repr=False)

    @property
    def n_points(self) -> int:
        return int(self.points.shape[0])

    @cached_property
    def _scale(self) -> float:
        size = largest_entry(self.points)
        if size == 0.0 or not math.isfinite(size) or SMALL < size < LARGE:
            return 1.0
        # Of a denormal number the power itself would overflow.
        return 2.0 ** min(-math.ceil(math.log2(size)), 1000)

    @cached_property
    def _scaled(self) -> NDArray[Any]:
        return self._moved(self.points)

    @cached_property
    def _tree(self) -> KDTree:
        return tree_of(rows_in_order(self._scaled))

    @property
    def is_plain(self) -> bool:
        """Whether squares of the points neither overflow nor vanish, so that none is moved."""
        return self._scale == 1.0

    def _moved(self, rows: Array) -> Array:
        if self._scale == 1.0:
            return rows
        rows = rows.toarray() if is_sparse(rows) else np.asarray(rows)
        return np.asarray(rows, np.float64) * self._scale

    def nearest(self, Q: Array, k: int) -> tuple[Integers, Floats]:
        if k > self.n_points:
            raise ValueError(f"k={k} neighbours asked of {self.n_points} points: lower k")
        if on_accelerator(Q) and (self.on_device is not None or self.is_plain):
            made = self.on_device or DevicePoints(
                array_namespace(Q).asarray(self.points, device=Q.device)
            )
            numbers, squares = (to_numpy(side) for side in made.nearest(Q, k))
            return numbers, self._distances(squares)
        Q = _on_host(Q)
        with np.errstate(over="ignore"):
            Q = self._moved(Q)
        numbers, squares = nearest(self._scaled, Q, k, lambda: self._tree)
        return numbers, self._distances(squares)

    def within(self, Q: Array, radius: float) -> Within:
        Q = _on_host(Q)
        with np.errstate(over="ignore"):
            Q = self._moved(Q)
        radius = math.sqrt(radius) if self.squared else radius
        found = points_within(rows_in_order(self._scaled), Q, radius * self._scale)
        return found._replace(distances=self._distances(found.distances))

    def _distances(self, squares: Floats) -> Floats:
        if self._scale == 1.0 and not self.squared:
            return np.asarray(by_rows(np.sqrt, squares))
        distances = np.sqrt(squares, out=squares) / self._scale
        return distances * distances if self.squared else distances


def _on_host(rows: Array) -> Array:
    return rows.cpu().numpy() if is_torch_array(rows) else rows
