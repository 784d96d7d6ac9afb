"""log Σⱼ wⱼ k(‖x - pⱼ‖/h) for each row and each of several bandwidths h: distances are made once.

All points are looked at, in float64: a sum is off by rounding alone (some units of 1e-16 times the
exponent, for a gaussian one at most 1e-13 of itself where the density is above e^{-700}).

Leave-one-out: the row is the point of the same number, and one unit of that point's weight (or all
of a smaller one) is left out, so that weights mean repeated rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import Array
from fenchel.geometry.density.profiles import EXPONENTIAL_LIKE, Norm, Profile, values
from fenchel.geometry.distance import rows_in_order, squared_distances
from fenchel.geometry.tiles import Tile, TileFold, refuse_lost

Floats = NDArray[np.float64]
ROWS, POINTS = 64, 1024  # of a tile: half a megabyte of distances


@final
@dataclass(frozen=True, slots=True, eq=False)
class KernelSums(TileFold[Floats]):
    """The logarithms (n, G), -inf where no point is near."""

    profile: Profile
    norm: Norm
    bandwidths: Floats
    weight: Floats
    leave_one_out: bool = False

    def prepare(self, points: Array) -> NDArray[Any]:
        return rows_in_order(points).astype(np.float64, copy=False)

    def empty(self, n: int, points: Any) -> tuple[NDArray[Any], ...]:
        G = len(self.bandwidths)
        return np.full((n, G), -np.inf), np.zeros((n, G)), np.arange(n)

    def visit(
        self, X: NDArray[Any], points: Any, slots: tuple[NDArray[Any], ...], tile: Tile
    ) -> int:
        top, total, numbers = slots
        height, width = tile.rows or ROWS, tile.points or POINTS
        lost = ~np.isfinite(X).all(axis=1)
        for i in range(0, len(X), height):
            rows = slice(i, min(i + height, len(X)))
            for j in range(0, len(points), width):
                part = slice(j, min(j + width, len(points)))
                D = self._distances(X[rows], points[part])
                self._add(D, part, numbers[rows], top[rows], total[rows])
        total[lost] = np.nan
        return 0

    def _distances(self, X: Floats, P: Floats) -> Floats:
        """Squared distances of the Euclidean norm, distances of the others."""
        if self.norm == "euclidean":
            return squared_distances(X, P)
        from scipy.spatial.distance import cdist

        return np.asarray(cdist(X, P, "cityblock" if self.norm == "manhattan" else "chebyshev"))

    def _add(
        self, D: Floats, part: slice, numbers: NDArray[np.int64], top: Floats, total: Floats
    ) -> None:
        weight = self.weight[part]
        own = numbers - part.start
        own = np.where((own >= 0) & (own < len(weight)) & self.leave_one_out, own, -1)
        here = np.flatnonzero(own >= 0)
        rest = np.zeros(len(D))
        rest[here] = np.maximum(weight[own[here]] - 1.0, 0.0)
        h = self.bandwidths
        if self.profile in EXPONENTIAL_LIKE:
            from fenchel.geometry.density.compiled import add_exponentials

            squared = self.norm == "euclidean"
            if self.profile == "gaussian":
                E, rates = (D if squared else D * D), 0.5 / (h * h)
            else:
                E, rates = (np.sqrt(D) if squared else D), 1.0 / h
            with np.errstate(divide="ignore"):
                add_exponentials(E, rates, np.log(weight), own, np.log(rest), top, total)
            return
        U = np.sqrt(D) if self.norm == "euclidean" else D
        W = np.broadcast_to(weight, U.shape)
        if len(here):
            W = W.copy()
            W[here, own[here]] = rest[here]
        for g in range(len(h)):
            total[:, g] += np.einsum("ij,ij->i", W, values(self.profile, U / h[g]))
        top[:] = 0.0

    def finish(self, slots: tuple[NDArray[Any], ...]) -> Floats:
        top, total, _ = slots
        refuse_lost(np.isnan(total).any(axis=1))
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(total > 0.0, top + np.log(total), -np.inf)
        return np.asarray(found)
