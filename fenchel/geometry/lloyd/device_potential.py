"""`Potential` for rows on an accelerator: distances by one product with the points tried.

Rows are held once more, in float64, about their mean and in an order that their values alone
decide. D = ‖x‖² - 2 x·c + ‖c‖² is then off by rounding of ‖x‖² + ‖c‖² alone; below 1e-14 of that it
counts as 0, so that no copy of a centre is drawn. Sums are taken over tiles of rows in a fixed
order, which alone come to the host.

Cost of a step: one product (n, d) x (d, trials), and two numbers that the host waits for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from fenchel.data.arrays import to_numpy
from fenchel.geometry.lloyd.potential import TILE, drawn_index

Floats = NDArray[np.float64]
Tensor = Any  # of torch
SAME = 1e-14  # of ‖x‖² + ‖c‖²: rounding alone
PART = 2**25  # values that are hashed at once
ODD = (-7046029254386353131, -4658895280553007687)  # multipliers of Steele and others, SplitMix


class DevicePotential:
    """Rows on a device, in the order in which they are drawn, and D at their nearest centres."""

    def __init__(self, X: Tensor, weight: Tensor | None, rng: np.random.Generator) -> None:
        xp = array_namespace(X)
        self.xp, n = xp, len(X)
        middle = xp.mean(X[:: max(1, n // 2**16)].double(), axis=0)  # any point near the rows
        self.order = xp.argsort(_keys(X, int(rng.integers(2**62))), stable=True)
        self.X = X
        self.Z = X[self.order].double() - middle
        self.own = xp.sum(self.Z * self.Z, axis=1)
        self.weight = None if weight is None else weight[self.order].double()
        self.squares = xp.full((n,), float("inf"), dtype=xp.float64, device=X.device)
        self._tried: tuple[list[int], Tensor] | None = None
        self.sums: Floats = np.zeros(0)

    def mass(self) -> Floats:
        """Σ s up to each row."""
        s = np.ones(len(self.Z)) if self.weight is None else to_numpy(self.weight)
        return np.asarray(np.cumsum(s), np.float64)

    def add(self, place: int) -> None:
        """A row becomes a centre."""
        tried = self._tried
        if tried is not None and place in tried[0]:
            new = tried[1][:, tried[0].index(place)]
        else:
            new = self._to([place])[:, 0]
        self.squares = self.xp.minimum(self.squares, new)
        self.sums = to_numpy(self.xp.sum(self._tiles(self._weighed()), axis=1))

    def gains(self, places: NDArray[np.int64]) -> Floats:
        """By how much each of some rows would lower the potential as the next centre."""
        numbers = [int(place) for place in places]
        new = self._to(numbers)
        self._tried = numbers, new
        gain = self.xp.clip(self.squares[:, None] - new, 0.0)
        if self.weight is not None:
            gain = gain * self.weight[:, None]
        return np.asarray(to_numpy(self.xp.sum(gain, axis=0)), np.float64)

    def drawn(self, u: Floats) -> NDArray[np.int64]:
        """Rows in proportion to sᵢ Dᵢ, one for each number in [0, 1); none of no mass."""
        total = np.cumsum(self.sums)
        tiles = [drawn_index(total, target) for target in u * total[-1]]
        lines = to_numpy(self._tiles(self._weighed())[tiles])
        found = np.empty(len(u), np.int64)
        for i, (t, target) in enumerate(zip(tiles, u * total[-1], strict=True)):
            line = np.cumsum(lines[i])
            found[i] = t * TILE + drawn_index(line, target - (total[t - 1] if t else 0.0))
        return found

    @property
    def vanished(self) -> bool:
        """Whether no row has any mass left."""
        return not self.sums.any()

    def rows(self, places: list[int]) -> Tensor:
        """Some rows as they were given."""
        return self.X[self.order[places]]

    def _to(self, places: list[int]) -> Tensor:
        """Squared distances of all rows to some of them, (n, len(places))."""
        C, own = self.Z[places], self.own[places]
        size = self.own[:, None] + own
        found = size - 2.0 * (self.Z @ C.T)
        return self.xp.where(found > SAME * size, found, self.xp.zeros_like(found))

    def _weighed(self) -> Tensor:
        return self.squares if self.weight is None else self.squares * self.weight

    def _tiles(self, values: Tensor) -> Tensor:
        """The values of tiles of rows; beyond the last row are zeros."""
        n = len(values)
        short = -n % TILE
        if short:
            zeros = self.xp.zeros(short, dtype=values.dtype, device=values.device)
            values = self.xp.concat([values, zeros])
        return self.xp.reshape(values, (-1, TILE))


def _keys(X: Tensor, seed: int) -> Tensor:
    """A number for each row, made of its values and a seed."""
    xp = array_namespace(X)
    n, d = X.shape
    numbers = np.random.default_rng(seed).integers(-(2**63), 2**63 - 1, d, dtype=np.int64)
    salt = xp.asarray(numbers, device=X.device)
    step = max(PART // d, 1)
    found = []
    for lo in range(0, n, step):
        bits = (X[lo : lo + step].double() + 0.0).view(xp.int64)  # -0 is 0
        mixed = (bits ^ salt) * ODD[0]
        mixed = (mixed ^ (mixed >> 29)) * ODD[1]
        found.append(xp.sum(mixed ^ (mixed >> 32), axis=1))
    return xp.concat(found)
