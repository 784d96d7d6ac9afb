"""Voronoi cells in a convex domain: the half-planes of the neighbours, the nearest first.

    Vⱼ = {x in the domain: ‖x - cⱼ‖ ≤ ‖x - cₗ‖ for all l}

The bisector with a centre at a distance of 2r or more leaves all places within r of cⱼ where they
are: once that holds of the next neighbour and of the farthest corner, the cell is done. Each cell
is made by itself and needs no triangulation of the centres, so that centres on lattices, on lines
or nearly equal are no special cases. Of equal centres the first has the cell, the others none.

Cost: O(k log k) for the neighbours, about 12 half-planes a cell.

Reference: Lévy and Bonneel, Variational anisotropic surface meshing with Voronoi parallel linear
enumeration, International Meshing Roundtable (2013).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.geometry.voronoi.domain import Domain

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# Neighbours and corners to begin with. A cell has six neighbours on average. Measured with 10,000
# cells: 10 take 20 ms near the end of Lloyd's algorithm and 51 ms at random centres; 20 take 28
# and 41.
NEIGHBOURS, ROOM = 10, 32
FARTHEST = 1e6  # times the domain's size that a centre may be away: corners keep ten digits


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of some centres, as polygons written from their centres.

    Attributes
    ----------
    centers : array (k, 2)
    vertices : array (v, 2)
        Corners less their centre, cell after cell, counterclockwise.
    sides : array (v,)
        The centre behind the side that begins at the corner; -1 - s for side s of the boundary.
    starts : array (k + 1,)
        Where the corners of each cell begin; an empty cell has none.
    """

    centers: Floats
    vertices: Floats
    sides: Integers
    starts: Integers

    @cached_property
    def counts(self) -> Integers:
        """Corners of each cell."""
        return np.diff(self.starts)

    @cached_property
    def owners(self) -> Integers:
        """The cell of each corner."""
        return np.repeat(np.arange(len(self.centers)), self.counts)

    @cached_property
    def reach(self) -> Floats:
        """The distance from each centre to the farthest place of its cell."""
        found = np.zeros(len(self.centers))
        np.maximum.at(found, self.owners, np.hypot(self.vertices[:, 0], self.vertices[:, 1]))
        return found

    @cached_property
    def lengths(self) -> Floats:
        """Of the side that begins at each corner."""
        after = np.arange(1, len(self.vertices) + 1)
        after[self.starts[1:][self.counts > 0] - 1] = self.starts[:-1][self.counts > 0]
        along = self.vertices[after] - self.vertices
        return np.hypot(along[:, 0], along[:, 1])

    def triangles(self) -> tuple[Floats, Integers]:
        """Triangles (t, 3, 2) that make up the cells, from their centres, and whose they are."""
        starts, owners = self.starts[:-1], self.owners
        place = np.arange(len(owners)) - starts[owners]
        mids = np.flatnonzero((place >= 1) & (place <= self.counts[owners] - 2))
        own = owners[mids]
        return self.vertices[np.column_stack([starts[own], mids, mids + 1])], own

    def polygons(self) -> list[Floats]:
        """The corners of each cell (m, 2), where they lie."""
        whole = self.vertices + self.centers[self.owners]
        return np.split(whole, self.starts[1:-1])


def voronoi_cells(centers: Any, domain: Any) -> list[Floats]:
    """The Voronoi cells of centres in the plane within a convex domain, as polygons.

    Parameters
    ----------
    centers : array (k, 2)
        Inside the domain or outside.
    domain : (x0, x1, y0, y1), or the corners (m, 2) of a convex polygon

    Returns
    -------
    list of k arrays (m, 2)
        Corners, counterclockwise. Of equal centres the first has the cell; others, and centres that
        are nearest to no place of the domain, have none.

    Examples
    --------
    >>> from fenchel import voronoi_cells
    >>> left, right = voronoi_cells([[1.0, 1.0], [3.0, 1.0]], (0, 4, 0, 1))
    >>> left.tolist()
    [[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]]
    """
    frame = Domain.of(domain)
    return [frame.outward(cell) for cell in cells_of(centres_in(frame, centers), frame).polygons()]


def centres_in(domain: Domain, given: Any) -> Floats:
    """Centres (k, 2) in the domain's units."""
    C = np.asarray(given, np.float64)
    if C.ndim != 2 or C.shape[1] != 2 or not len(C) or not np.isfinite(C).all():
        raise ValueError(f"centres must be finite and of shape (k, 2), got shape {C.shape}")
    with np.errstate(over="ignore", invalid="ignore"):
        found = domain.inward(C)
    far = np.flatnonzero(~(np.abs(found) < FARTHEST).all(axis=1))
    if len(far):
        raise ValueError(
            f"centre {far[0]} lies {FARTHEST:,.0f} times the domain's size away from it or more: "
            "move it nearer, its cell is lost in rounding"
        )
    return found


def cells_of(C: Floats, domain: Domain) -> Cells:
    """The cells of centres in the domain's units."""
    from scipy.spatial import KDTree

    from fenchel.geometry.voronoi.compiled import FULL, OPEN, clip_cells

    C = np.ascontiguousarray(C) + 0.0
    firsts = np.sort(np.unique(C, axis=0, return_index=True)[1])  # of equal centres
    P = C[firsts]
    m, tree = len(P), KDTree(P)
    waiting, near, room = np.arange(m), min(NEIGHBOURS, m), max(ROOM, 2 * len(domain.polygon))
    counts = np.zeros(m, np.int64)
    parts: list[tuple[Integers, Integers, Floats, Integers]] = []
    while len(waiting):
        neighbours = tree.query(P[waiting], near)[1].reshape(len(waiting), near)
        shape = len(waiting), room
        vertices, sides = np.empty((*shape, 2)), np.empty(shape, np.int64)
        found, states = np.zeros(len(waiting), np.int64), np.zeros(len(waiting), np.int64)
        clip_cells(
            P, neighbours.astype(np.int64, copy=False), waiting, domain.polygon, room, near == m,
            vertices, sides, found, states,
        )  # fmt: skip
        done = states == 0
        counts[waiting[done]] = found[done]
        inside = (np.arange(room) < found[:, None]) & done[:, None]
        parts.append((waiting[done], found[done], vertices[inside], sides[inside]))
        if (states == OPEN).any():
            near = min(4 * near, m)
        if (states == FULL).any():
            room *= 4
        waiting = waiting[~done]
    every = np.zeros(len(C), np.int64)
    every[firsts] = counts
    starts = np.concatenate([[0], np.cumsum(every)])
    corners, behind = np.empty((starts[-1], 2)), np.empty(starts[-1], np.int64)
    for cells, found, vertices, sides in parts:
        begins = np.repeat(starts[firsts[cells]], found)
        place = begins + np.arange(len(begins)) - np.repeat(np.cumsum(found) - found, found)
        corners[place] = vertices
        behind[place] = np.where(sides < 0, sides, firsts[np.maximum(sides, 0)])
    return Cells(C, corners, behind, starts)
