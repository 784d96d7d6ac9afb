"""Coordinates of a kernel's span: K = LL', functions as the points of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from fenchel.data.design import MatrixDesign

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True)
class KernelCoordinates:
    """The functions of a kernel's span as the points w of a table L: scores Lw, ⟨f, f⟩ = w·w."""

    design: MatrixDesign
    L: Floats
    pivots: NDArray[np.int64]

    def of(self, alpha: Floats) -> Floats:
        """w of the function Σ αⱼ k(xⱼ, ·)."""
        return np.asarray(self.L.T @ alpha)

    def coefficients(self, w: Floats, near: Floats | None = None) -> Floats:
        """α with L'α = w. near: coefficients of which only the error is corrected: where they are
        almost right, as the dual's are near the optimum, small pivots do no harm."""
        alpha = np.zeros((len(self.L), *w.shape[1:])) if near is None else np.array(near)
        for _ in range(2):  # the second corrects what rounding left of the first
            alpha[self.pivots] += linalg.solve_triangular(
                self.L[self.pivots], w - self.of(alpha), lower=True, trans="T", check_finite=False
            )
        return alpha
