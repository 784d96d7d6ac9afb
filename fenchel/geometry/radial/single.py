"""Exponentials of squared distances in float32: rows scaled, less a middle, packed, and sums with
a bound of what rounding has done to them.

**The bound.** u = 2⁻²⁴; a, b the stored rows, R = ‖a‖ + ‖b‖, t = a·b - ‖a‖²/2 - ‖b‖²/2. Against
the exponent of the rows as they came t is off by at most

    1.02 u R²              the storage of both rows
    0.26 d u R²            the product, one term after the other
    1.6 u R²               both norms as stored, their sum, and the difference

together ε ≤ (0.26 d + 2.7) u R². The exponential adds 4 u, a coefficient and its product 2 u, sums
of 64 terms in float32 64 u, all relative to the terms, so that with A the computed sum of |cⱼ| kⱼ
the sum is off by less than 1.001 A (1.001 (exp ε - 1) + 80 u), beside values below 2e-38 that are
taken for zero, and coefficients below 2⁻¹⁴⁹ of the largest.

Reference: Higham, Accuracy and Stability of Numerical Algorithms (2002), section 3.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from fenchel.data.design.kernel_tiles import TILE_ROWS, on_threads

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
# Squares of larger entries leave too little of float32's range for their sums.
LARGEST = 1e15
U = 2.0**-24
PART = 1024  # rows that are moved at once: their copy in float64 stays in the second cache


@final
@dataclass(frozen=True)
class PackedRows:
    """a = √(2γ) (x - μ) in float32, so that exp(-γ‖x - z‖²) = exp(a·b - ‖a‖²/2 - ‖b‖²/2).

    packed: the rows as the points of a product; norms: ‖a‖²/2.
    """

    rows: Singles = field(repr=False)
    packed: Singles = field(repr=False)
    norms: Singles = field(repr=False)

    @classmethod
    def of(cls, X: NDArray[Any], gamma: float, middle: Floats) -> Self | None:
        """None where entries are out of the range of float32's squares."""
        rows = scaled_rows(X, gamma, middle)
        return None if rows is None else cls._packed(rows, half_squares(rows))

    @classmethod
    def _packed(cls, rows: Singles, norms: Singles) -> Self:
        from fenchel.data.passes.microkernel.compiled import SINGLES, packed

        panels = np.empty(-(-len(rows) // SINGLES) * SINGLES * rows.shape[1], np.float32)
        packed(rows, SINGLES, panels)
        return cls(rows, panels, norms)

    def subset(self, numbers: NDArray[np.int64]) -> Self:
        """The rows with these numbers."""
        return self._packed(self.rows[numbers], self.norms[numbers])

    def chosen(self, numbers: NDArray[np.int64]) -> tuple[Singles, Singles]:
        """Rows with these numbers as the rows of a product, and their norms."""
        return packed_height(self.rows[numbers]), self.norms[numbers]


def scaled_rows(X: NDArray[Any], gamma: float, middle: Floats) -> Singles | None:
    """√(2γ) (x - μ); None where an entry is too large."""
    out, factor = np.empty(X.shape, np.float32), math.sqrt(2.0 * gamma)
    for lo in range(0, len(X), PART):
        moved = (X[lo : lo + PART] - middle) * factor
        if not np.abs(moved).max(initial=0.0) <= LARGEST:
            return None
        out[lo : lo + PART] = moved
    return out


def half_squares(rows: Singles) -> Singles:
    """‖a‖²/2, summed in float64."""
    squares: Floats = np.einsum("ij,ij->i", rows, rows, dtype=np.float64)
    return (0.5 * squares).astype(np.float32)


def packed_height(rows: Singles) -> Singles:
    """Rows as the rows of a product."""
    from fenchel.data.passes.microkernel.compiled import ROWS, packed

    panels = np.empty(-(-len(rows) // ROWS) * ROWS * rows.shape[1], np.float32)
    packed(rows, ROWS, panels)
    return panels


@final
@dataclass(frozen=True)
class GaussianSums:
    """s(x) = Σⱼ cⱼ exp(-γ‖x - zⱼ‖²) of some points z, for each column of coefficients."""

    points: PackedRows
    coef: Singles = field(repr=False)
    gamma: float
    middle: Floats = field(repr=False)
    unit: float

    @classmethod
    def of(cls, points: NDArray[Any], coef: Floats, gamma: float) -> Self | None:
        """None where the points are out of the range of float32's squares."""
        middle = np.asarray(points.mean(axis=0, dtype=np.float64))
        rows = PackedRows.of(points, gamma, middle)
        unit = float(np.abs(coef).max(initial=0.0))
        if rows is None or not 0.0 < unit < math.inf:
            return None
        return cls(rows, np.ascontiguousarray((coef / unit).T, np.float32), gamma, middle, unit)

    def __call__(self, X: NDArray[Any]) -> tuple[Floats, Floats]:
        """s for each row of X and each column, and at most by how much it is off; inf where float32
        tells nothing."""
        from fenchel.geometry.radial.compiled import gaussian_sums

        n, (columns, m) = len(X), self.coef.shape
        sums, sizes = np.zeros((n, columns)), np.zeros((n, columns))
        spread = np.full(n, np.inf)
        top = math.sqrt(2.0 * float(self.points.norms.max(initial=0.0)))
        d = self.points.rows.shape[1]

        def add(part: slice) -> None:
            for lo in range(part.start, part.stop, TILE_ROWS):
                here = slice(lo, min(lo + TILE_ROWS, part.stop))
                rows = scaled_rows(X[here], self.gamma, self.middle)
                if rows is None:
                    continue
                own = half_squares(rows)
                gaussian_sums(
                    packed_height(rows),
                    own,
                    self.points.packed,
                    self.points.norms,
                    d,
                    self.coef,
                    sums[here],
                    sizes[here],
                )
                spread[here] = np.square(np.sqrt(2.0 * own.astype(np.float64)) + top)

        on_threads(add, n)
        exponent = 1.0001 * (0.26 * d + 2.7) * U * spread
        known = exponent < 0.1
        errors = np.full((n, columns), np.inf)
        share = 1.001 * np.expm1(exponent[known]) + 80.0 * U
        errors[known] = 1.001 * sizes[known] * share[:, None] + 4e-38 * m
        return sums * self.unit, errors * self.unit
