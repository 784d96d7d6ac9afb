"""The distortion of a density by its nearest centres, for Lloyd's algorithm.

    J(c) = ∫ f(x) minⱼ ‖x - cⱼ‖² dx

over a convex domain of the plane. Its gradient is 2 mⱼ (cⱼ - gⱼ), gⱼ the centroid of cell j and mⱼ
its mass: J is stationary where every centre is the centroid of its Voronoi cell.

Reference: Du, Faber and Gunzburger, Centroidal Voronoi tessellations, SIAM Review 41 (1999).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.geometry.voronoi.cells import cells_of
from fenchel.geometry.voronoi.density import CellMoments, PlaneDensity
from fenchel.models.cluster.lloyd import Distortion

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CellsAt:
    """J at centres, and the centroids of their cells."""

    moments: CellMoments
    means: Floats

    @property
    def value(self) -> float:
        return self.moments.energy

    @property
    def left(self) -> float:
        return min(self.moments.gain, self.value)

    @property
    def empty(self) -> NDArray[np.bool_]:
        return self.moments.mass == 0.0

    @property
    def settled(self) -> bool:
        """No cell is ever known to be the same as before."""
        return False

    @property
    def residual(self) -> float:
        """The root mean square of the paths from the centres to the centroids, over that of the
        density's distances to the centres, with the error of the integrals on top."""
        if self.value == 0.0:
            return 0.0
        moments = self.moments
        found = math.sqrt(moments.gain / self.value) + math.sqrt(moments.gain_error / self.value)
        # A centre without mass can be used better: this is no place to stop.
        return max(found, 1.0) if self.empty.any() else found


@dataclass(frozen=True, eq=False)
class DensityDistortion(Distortion):
    """J over a density in the plane, in the units of its domain.

    accuracy: what the error of the integrals may add to the residual.
    """

    density: PlaneDensity
    first: Floats
    accuracy: float

    def origin(self) -> Floats:
        return self.first

    def evaluate(self, point: Floats, *, exact: bool = False) -> CellsAt:
        cells = cells_of(point, self.density.domain)
        found = self.density.moments(cells, self.accuracy)
        return CellsAt(found, point + found.paths)

    def costly(self, seen: Any, point: Floats, count: int) -> list[NDArray[Any]]:
        """A place in each of the cells of highest energy, one for each as long as they last."""
        moments: CellMoments = seen.moments
        order = np.argsort(-moments.second, kind="stable")[:count]
        order = order[moments.second[order] > 0.0]
        return list(point[order] + moments.farthest[order])

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Every evaluation begins anew."""

    def estimate(self, point: Floats, seen: CellsAt, decrement: float) -> Certificate:
        return self.certify(point, seen)

    def certify(
        self, point: Floats, seen: Any = None, dual: Any = None, enough: float = 1e-9
    ) -> Certificate:
        here = self.evaluate(point) if seen is None else seen
        bound = min(self.density.lower_bound(len(point)), here.value)
        return Certificate(here.value, bound, "stationary", residual=here.residual)
