"""The potential Σ sᵢ Dᵢ of k-means++, D the squared distance of a row to the nearest centre so far.

Rows lie in tiles with their columns side by side, so that the distances of a tile to each of some
points are made in vectors, in the precision of the table, while the tile is in a core's cache. Each
is a sum of squared differences: 0 for equal rows, and otherwise off by less than d + 2 rounding
errors of its own size, unless it underflows.

Cost of a step: O(n d) for each point tried, and one reading of the rows for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.parallel import parallel_map, thread_count

Floats = NDArray[np.float64]
# Rows of a tile, whose sum is kept: bits do not depend on how tiles are shared between threads. Of
# 784 columns in float32 a tile takes 0.8 MB, what a core's second cache holds.
TILE = 256


class Potential:
    """Rows in memory, in the order in which they are drawn, and D at their nearest centres so far.

    X : array (n, d), float32 or float64; order : the rows in order; weight : array (n,) or None
    """

    def __init__(self, X: NDArray[Any], order: NDArray[np.int64], weight: Floats | None) -> None:
        (n, d), work = X.shape, X.dtype
        tiles = -(-n // TILE)
        self.columns = np.zeros((tiles, d, TILE), work)
        # Rows beyond the last have no mass.
        self.squares = np.zeros((tiles, TILE), work)
        self.squares.ravel()[:n] = np.inf
        self.weight = np.zeros((0, TILE), work)
        if weight is not None:
            self.weight = np.zeros((tiles, TILE), work)
            self.weight.ravel()[:n] = weight[order]
        self.sums = np.zeros(tiles)

        def lay(lo: int, hi: int) -> None:
            for t in range(lo, hi):
                rows = X[order[t * TILE : (t + 1) * TILE]]
                self.columns[t, :, : len(rows)] = rows.T

        self._in_ranges(lay)

    def row(self, place: int) -> NDArray[Any]:
        return self.columns[place // TILE, :, place % TILE].copy()

    def add(self, place: int) -> None:
        """A row becomes a centre."""
        from fenchel.geometry.lloyd.compiled import lower_squares

        c = self.row(place)
        self._in_ranges(
            lambda lo, hi: lower_squares(
                self.columns, c, self.weight, lo, hi, self.squares, self.sums
            )
        )

    def gains(self, places: NDArray[np.int64]) -> Floats:
        """By how much each of some rows would lower the potential as the next centre."""
        from fenchel.geometry.lloyd.compiled import gains_of

        C = np.array([self.row(int(place)) for place in places])
        out = np.zeros((len(self.sums), len(C)))
        self._in_ranges(
            lambda lo, hi: gains_of(self.columns, C, self.weight, self.squares, lo, hi, out)
        )
        return np.asarray(out.sum(axis=0))

    def drawn(self, u: Floats) -> NDArray[np.int64]:
        """Rows in proportion to sᵢ Dᵢ, one for each number in [0, 1); none of no mass."""
        total = np.cumsum(self.sums)
        found = np.empty(len(u), np.int64)
        for i, target in enumerate(u * total[-1]):
            t = drawn_index(total, target)
            mass = self.squares[t].astype(np.float64)
            line = np.cumsum(mass * self.weight[t] if len(self.weight) else mass)
            found[i] = t * TILE + drawn_index(line, target - (total[t - 1] if t else 0.0))
        return found

    @property
    def vanished(self) -> bool:
        """Whether no row has any mass left."""
        return not self.sums.any()

    def _in_ranges(self, work: Callable[[int, int], None]) -> None:
        workers, tiles = thread_count(), len(self.columns)
        cuts = [tiles * i // workers for i in range(workers + 1)]
        parallel_map(lambda i: work(cuts[i], cuts[i + 1]), range(workers), workers)


def drawn_index(total: Floats, target: float) -> int:
    """The index at which running sums pass a target; never one where the sum does not rise."""
    last = int(np.searchsorted(total, total[-1]))
    return min(int(np.searchsorted(total, target, side="right")), last)
