"""A density that is constant on each pixel of an image: its integrals over polygons are exact.

Each cell is cut along the lines of the pixels. Pixels inside it are added as they are, and the
parts of others as polygons, whose integrals of 1, x, y and x² + y² are sums over their corners. All
sums are of parts that are not negative, so that a cell is without mass exactly where its pixels
are.

Cost: O(pixels + pixels along the sides of the cells).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.parallel import parallel_map
from fenchel.geometry.voronoi.cells import Cells, cells_of
from fenchel.geometry.voronoi.density import CellMoments, PlaneDensity
from fenchel.geometry.voronoi.domain import Domain

Floats = NDArray[np.float64]
RANGE = 512  # cells of one call
# Corners are off by a few roundings of the domain's size, 1: sides move by about as much.
ROUNDING = 16.0 * 2.0**-52
HEXAGON = 5.0 / (18.0 * math.sqrt(3.0))  # ∫ ‖x‖² over a regular hexagon of area 1
BELOW = 1.0 - 1e-12  # what rounding may take from a bound
TRIES = 32  # rounds of drawing places that lie in the domain


@dataclass(frozen=True, eq=False)
class ImageDensity(PlaneDensity):
    """Masses of pixels, row 0 at the bottom, over the rectangle around the domain.

    Attributes
    ----------
    domain : Domain
    heights : array (h, w)
        Mass over area, in units.
    exponent : int
    """

    domain: Domain
    heights: Floats
    exponent: int

    @staticmethod
    def of(image: Any, domain: Any = None) -> ImageDensity:
        """Of the masses of pixels; by default each is a unit square."""
        masses = np.asarray(image)
        if masses.dtype.kind not in "biuf" or masses.ndim != 2 or not masses.size:
            raise ValueError(
                "density must be a function of (x, y), or an image: an array (h, w) of numbers, "
                f"got {masses.dtype} of shape {masses.shape}"
            )
        masses = masses.astype(np.float64)
        bad = np.argwhere(~((masses >= 0.0) & np.isfinite(masses)))
        if len(bad):
            i, j = bad[0].tolist()
            raise ValueError(
                f"pixel [{i}, {j}] of the density is {masses[i, j]}: masses are finite and not "
                "negative"
            )
        h, w = masses.shape
        frame = Domain.of((0.0, w, 0.0, h) if domain is None else domain)
        exponent = math.frexp(float(masses.max()))[1]
        wide, tall = np.ptp(frame.polygon, axis=0) / (w, h)
        heights = np.ldexp(masses, -exponent) / (wide * tall)
        return ImageDensity(frame, heights, exponent)

    @property
    def mass_exponent(self) -> int:
        return self.exponent

    @cached_property
    def _lines(self) -> tuple[Floats, Floats]:
        """Between columns and between rows."""
        low, high = self.domain.polygon.min(axis=0), self.domain.polygon.max(axis=0)
        h, w = self.heights.shape
        return np.linspace(low[0], high[0], w + 1), np.linspace(low[1], high[1], h + 1)

    @cached_property
    def _around(self) -> Floats:
        """The highest of each pixel and those next to it: where rounding may take mass from."""
        from scipy.ndimage import maximum_filter

        return np.asarray(maximum_filter(self.heights, 3, mode="nearest"))

    def moments(self, cells: Cells, accuracy: float) -> CellMoments:
        from fenchel.geometry.voronoi.compiled import pixel_moments

        k = len(cells.centers)
        sums, worst = np.zeros((k, 5)), np.zeros((k, 3))
        room = int(cells.counts.max(initial=0)) + 8  # four lines cut a part of a pixel

        def work(first: int) -> None:
            last = min(first + RANGE, k)
            pixel_moments(
                cells.vertices, cells.starts, cells.centers, first, last, *self._lines,
                self.heights, self._around, room, sums, worst,
            )  # fmt: skip

        parallel_map(work, range(0, k, RANGE))
        mass, reach = sums[:, 0], cells.reach
        edge = np.bincount(cells.owners, cells.lengths, k) * sums[:, 4]
        gone = cells.counts == 0  # a sliver may be lost, along the longest line of the domain
        edge[gone] = 2.0 * self.heights.max()
        reach = np.where(gone, 1.0 + np.hypot(*cells.centers.T), reach)
        errors = ROUNDING * (mass + edge)[:, None] * reach[:, None] ** range(3)
        return CellMoments(cells, mass, sums[:, 1:3], sums[:, 3], errors, worst[:, 1:])

    def lower_bound(self, count: int) -> float:
        """BELOW times what `_least` says of one centre, over so many."""
        return BELOW * self._least / count

    @cached_property
    def _least(self) -> float:
        """k times the energy of any k centres is no less than this.

        A cell in which a density of at most h has mass m costs no less than a disc, m² / 2πh; so k
        cells of mass M cost M² / 2πhk or more. f costs no less than min(f, h), for any h. Where
        that is the same everywhere, on a domain of six corners or fewer, k regular hexagons are a
        bound.

        Reference: Fejes Tóth, Lagerungen in der Ebene, auf der Kugel und im Raum (1953); Gruber,
        A short analytic proof of Fejes Tóth's theorem on sums of moments, Aequationes Math. (1999).
        """
        area, low = self.domain.area, float(self.heights.min())
        hexagons = HEXAGON * low * area * area if len(self.domain.corners) <= 6 else 0.0
        middle = cells_of(np.zeros((1, 2)), self.domain)
        mass = float(self.moments(middle, 1.0).mass[0])
        found = [mass * mass / float(self.heights.max())]
        wide, tall = np.ptp(self.domain.polygon, axis=0)
        if area >= BELOW * wide * tall:  # a rectangle: every pixel lies inside
            heights = np.sort(self.heights.ravel())
            heights = heights[heights > 0.0]
            pixel = area / self.heights.size
            above = np.arange(len(heights), 0, -1)
            # ∫ min(f, h): the pixels below h, and h for each of the others.
            masses = pixel * (np.cumsum(heights) - heights + heights * above)
            found.append(float((masses * masses / heights).max()))
        return max(hexagons, max(found) / (2.0 * math.pi))

    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """A pixel by its mass, and any place of it that lies in the domain."""
        sums = np.cumsum(self.heights.ravel())
        across, up = self._lines
        found = np.empty((count, 2))
        waiting = np.arange(count)
        for _ in range(TRIES):
            pixel = np.searchsorted(sums, rng.random(len(waiting)) * sums[-1], side="right")
            i, j = np.divmod(np.minimum(pixel, len(sums) - 1), self.heights.shape[1])
            part = rng.random((len(waiting), 2))
            found[waiting, 0] = across[j] + part[:, 0] * (across[j + 1] - across[j])
            found[waiting, 1] = up[i] + part[:, 1] * (up[i + 1] - up[i])
            waiting = waiting[~self.domain.covers(found[waiting])]
            if not len(waiting):
                break
        return found
