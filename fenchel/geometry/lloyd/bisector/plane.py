"""The plane between two centres, and how much it can have moved for a row.

With y = x - μ, c̃ = c - μ and N = ‖y‖² + ‖c̃₀‖² + ‖c̃₁‖², U = 2⁻⁵³, the error of

    s = y·w - t = (d²(x, c₀) - d²(x, c₁))/2,   w = c̃₁ - c̃₀,   t = (‖c̃₁‖² - ‖c̃₀‖²)/2

is at most (d + 16) U (‖y‖² + 2.5 (‖c̃₀‖² + ‖c̃₁‖²)), and that of the distances, by a factor
1 ± (d/16 + 18) U each, at most (d/16 + 18) U · 2N: together less than E = (4 d + 100) U N. Rows
nearer to the plane than that are decided by the distances.

Another plane changes s by at most ‖y‖ ‖Δw‖ + |Δt|. With A and B the sums of ‖Δw‖ and |Δt| over all
steps so far, a row that was looked at keeps κ = |s| - E + ‖y‖ A + B; while

    κ > ‖y‖ A + B + E

for the sums of now, it is on the same side. So a step reads two numbers a row, and the row itself
only where they do not tell. All is in units in which ‖y‖ ≤ 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class BisectingPlane:
    """The plane between two centres.

    normal, threshold: w and t; slack, apart: E is slack ‖y‖² + apart; turned, shifted: A and B.
    """

    normal: Floats
    threshold: float
    slack: float
    apart: float
    turned: float = 0.0
    shifted: float = 0.0

    @classmethod
    def between(
        cls, C: NDArray[Any], middle: NDArray[Any], scale: float, before: BisectingPlane | None
    ) -> BisectingPlane:
        """Of two centres, after the plane before. scale: a power of two."""
        d = C.shape[1]
        moved = (C.astype(np.float64) - middle.astype(np.float64)) * scale
        normal, own = moved[1] - moved[0], np.einsum("ij,ij->i", moved, moved)
        threshold, size = 0.5 * float(own[1] - own[0]), float(own.sum())
        slack = (4.0 * d + 100.0) * 2.0**-53
        # Of squares that underflow no digit may be right, here or among the distances.
        tiny = (4.0 * d + 16.0) * float(np.finfo(np.float64).tiny)
        apart = slack * size + tiny * max(1.0, scale * scale)
        if before is None:
            return cls(normal, threshold, slack, apart)
        # w and t are rounded at both planes: by 4 U ‖c̃‖, and by (d + 4) U ‖c̃‖².
        path = normal - before.normal
        turn = math.sqrt(float(path @ path)) * (1.0 + slack) + 1e-150
        turn += slack * (math.sqrt(size) + math.sqrt(before.apart / slack))
        shift = abs(threshold - before.threshold) * (1.0 + slack) + apart + before.apart
        return cls(normal, threshold, slack, apart, before.turned + turn, before.shifted + shift)
