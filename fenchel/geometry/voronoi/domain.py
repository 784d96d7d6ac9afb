"""A convex domain of the plane, in units in which squares and fourth powers keep their digits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
FLAT = 1e-12  # a corner that lies inside by less than this part of the domain's size is rounding


@dataclass(frozen=True, eq=False)
class Domain:
    """A convex polygon.

    Attributes
    ----------
    corners : array (m, 2), counterclockwise
    """

    corners: Floats

    @staticmethod
    def of(given: Any) -> Domain:
        """The rectangle (x0, x1, y0, y1), or the polygon with these corners (m, 2)."""
        ends = np.asarray(given, np.float64)
        if ends.shape == (4,):
            x0, x1, y0, y1 = ends.tolist()
            if not (np.isfinite(ends).all() and x0 < x1 and y0 < y1):
                raise ValueError(f"domain must be (x0, x1, y0, y1) with x0 < x1, y0 < y1: {given}")
            return Domain(np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]]))
        if ends.ndim != 2 or ends.shape[1] != 2 or len(ends) < 3 or not np.isfinite(ends).all():
            raise ValueError(
                "domain must be a rectangle (x0, x1, y0, y1), or three or more finite corners, "
                f"(m, 2), got {given!r}"
            )
        found = Domain(ends)
        P = found.polygon
        sides = np.roll(P, -1, axis=0) - P
        # Twice the signed area; then how far each corner lies left of the line of each side.
        if float(_cross(P, np.roll(P, -1, axis=0)).sum()) < 0.0:
            return Domain.of(ends[::-1])
        away = _cross(sides[:, None, :], P[None, :, :] - P[:, None, :])
        if not found.area > FLAT or away.min() < -FLAT:
            raise ValueError(
                "domain must be a convex polygon with an inside, its corners in order around it"
            )
        return found

    @cached_property
    def middle(self) -> Floats:
        low, high = self.corners.min(axis=0), self.corners.max(axis=0)
        return np.asarray(low + 0.5 * (high - low))

    @cached_property
    def exponent(self) -> int:
        """The power of two that brings the longer side of the box around it to ½ … 1."""
        return math.frexp(float((0.5 * np.ptp(0.5 * self.corners, axis=0)).max()))[1] + 2

    @cached_property
    def polygon(self) -> Floats:
        """The corners in units."""
        return self.inward(self.corners)

    @cached_property
    def area(self) -> float:
        """In units."""
        P = self.polygon
        return 0.5 * float(_cross(P, np.roll(P, -1, axis=0)).sum())

    def inward(self, places: Any) -> Floats:
        """(x - middle) / 2^exponent."""
        given = np.ldexp(np.asarray(places, np.float64), -self.exponent)
        return np.asarray(given - np.ldexp(self.middle, -self.exponent))

    def outward(self, places: Floats) -> Floats:
        """middle + 2^exponent x."""
        return np.asarray(self.middle + np.ldexp(places, self.exponent))

    def covers(self, places: Floats) -> NDArray[np.bool_]:
        """Whether places in units lie inside or on the boundary."""
        P = self.polygon
        sides = np.roll(P, -1, axis=0) - P
        away = _cross(sides[:, None, :], places[None, :, :] - P[:, None, :])
        return np.asarray((away >= 0.0).all(axis=0))


def _cross(a: Floats, b: Floats) -> Floats:
    return np.asarray(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])
