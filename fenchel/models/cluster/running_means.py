"""Sequential k-means: every row moves its nearest centre to the mean of all rows it ever had.

    cⱼ ← cⱼ + Σ_{i in j} sᵢ (xᵢ - cⱼ) / (Mⱼ + Σ_{i in j} sᵢ)

for the rows of one batch together, Mⱼ the mass of the rows before. A centre that never had a row
goes to the row of the batch that costs most.

References: MacQueen, Some methods for classification and analysis of multivariate observations,
Berkeley Symposium (1967); Sculley, Web-scale k-means clustering, WWW (2010).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fenchel.models.cluster.rows import ClusterRows

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class RunningMeans:
    """Centres in float64, and the mass of the rows that each is the mean of."""

    centres: Floats
    mass: Floats

    def moved(self, rows: ClusterRows) -> tuple[RunningMeans, int]:
        """After one more batch, and how many idle centres were sent to a row of it."""
        C, idle = self.centres.astype(rows.dtype), np.flatnonzero(self.mass == 0.0)
        sent = 0
        if len(idle):
            busy = np.flatnonzero(self.mass > 0.0)
            if len(busy):
                known = np.ascontiguousarray(C[busy])
                rows.assign(known)
                found = rows.costly(known, len(idle))
                C[idle[: len(found)]] = np.array(found, C.dtype).reshape(len(found), C.shape[1])
                sent = len(found)
        rows.begin()
        seen = rows.assign(C)
        before = C.astype(np.float64)
        # Idle centres are where they were sent; the others where float64 has them.
        before[self.mass > 0.0] = self.centres[self.mass > 0.0]
        mass = self.mass + seen.mass
        path = seen.sums + seen.mass[:, None] * (rows.middle - before)
        some = mass > 0.0
        before[some] += path[some] / mass[some, None]
        return RunningMeans(before, mass), sent
