"""Early stopping of an online algorithm, for each plane: by its loss, or by held-out rows."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass
class Patience:
    """A plane stops after `epochs` epochs in a row none of which was better than the best so far by
    `tol`; small is better.

    Reference: Prechelt, Early stopping - but when?, Neural Networks: Tricks of the Trade (1998).
    """

    tol: float
    epochs: int
    planes: int
    best: Floats = field(init=False)
    waited: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        self.best = np.full(self.planes, np.inf)
        self.waited = np.zeros(self.planes, np.int64)

    def goes_on(self, losses: Floats) -> NDArray[np.bool_]:
        """Which planes are worth another epoch, after one of these losses."""
        better = losses <= self.best - self.tol
        self.waited = np.where(better, 0, self.waited + 1)
        self.best = np.minimum(self.best, losses)
        return self.waited < self.epochs
