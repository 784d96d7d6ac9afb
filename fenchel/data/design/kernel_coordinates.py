"""Coordinates of a kernel's span: K = LL', functions as the points of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from fenchel.data.design.matrix import MatrixDesign
from fenchel.data.linear_algebra.pivoted_cholesky import pivoted_cholesky

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
EPS = float(np.finfo(np.float64).eps)
INDEFINITE = (
    "the kernel is not positive semi-definite on these rows (or not symmetric), so the problem is "
    "not convex: choose a kernel that is"
)


def span_factor(
    diagonal: Floats,
    columns: Callable[[Numbers], Floats],
    product: Callable[[Floats], Floats],
    memory: float,
) -> tuple[Floats, Numbers]:
    """L and its pivots, of a K given by its diagonal, columns and products; refuses a K that is not
    semi-definite."""
    n = len(diagonal)
    L, pivots = pivoted_cholesky(diagonal, columns, memory)
    probe = np.random.default_rng(0).choice([-1.0, 1.0], n)
    # For a semi-definite K no entry of K - LL' exceeds the largest remaining pivot, n ε max K, so
    # that no entry of (K - LL')v exceeds n² ε max K; and there is rounding in K.
    error = float(np.abs(product(probe) - L @ (L.T @ probe)).max())
    size = float(diagonal.max(initial=0.0))
    if not error <= 16.0 * EPS * (n + 16.0) ** 2 * size:
        raise ValueError(INDEFINITE)
    return L, pivots


@final
@dataclass(frozen=True, slots=True)
class KernelCoordinates:
    """The functions of a kernel's span as the points w of a table L: scores Lw, ⟨f, f⟩ = w·w."""

    design: MatrixDesign
    L: Floats
    pivots: Numbers

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
