"""Rows of a kernel matrix in float32, by matrix products.

A squared distance is ‖x‖² - 2 x·z + ‖z‖² of rows minus their mean, an inner product one entry of a
product; what a kernel does with them is the same function as in float64. Of entries the error is
some 1e-7 of the largest ‖x‖², so these are rows for solvers that correct what they round. Of the
Gaussian kernel products and exponentials are one loop (`radial.compiled`).

Cost: a product m x d x n in float32, and the kernel's function on m n numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import is_sparse
from fenchel.data.design.kernel import RowMaker, SingleRows
from fenchel.data.parallel import parallel_map
from fenchel.geometry.kernel.kernel_function import unscaled
from fenchel.geometry.kernel.vector_kernels import Dot, Gaussian, KernelFunction, Radial
from fenchel.geometry.radial.single import LARGEST, GaussianSums, PackedRows

__all__ = ["SingleGaussians", "SingleProducts", "SingleRows", "rough_sums", "single_rows"]

Floats = NDArray[np.float64]
# Multiplications of an entry up to which a square of K is made anew: picking it from rows that lie
# far apart takes 4 ns an entry, 6 ms for 1,024 rows.
CHEAP = 256.0
STRIP = 64  # rows of a square that a thread makes at once


@final
@dataclass(frozen=True)
class SingleProducts:
    """The rows of a table for a kernel of distances or inner products, times a factor."""

    kernel: Radial | Dot
    factor: float
    rows: Any = field(repr=False)
    columns: Any = field(repr=False)
    norms: NDArray[np.float32] | None = field(repr=False)

    @property
    def work_of_entry(self) -> float:
        return math.inf

    def square(self, numbers: NDArray[np.int64]) -> None:
        return None

    def maker(self, numbers: NDArray[np.int64]) -> RowMaker:
        rows = self.rows[numbers]
        if self.norms is None:

            def dots(part: slice, to: NDArray[Any], places: NDArray[np.int64]) -> None:
                to[places, part] = self._scaled(self.kernel.profile(self._products(rows, part)))

            return dots
        rows = rows * np.float32(-2.0)
        norms, own = self.norms, self.norms[numbers][:, None]

        def distances(part: slice, to: NDArray[Any], places: NDArray[np.int64]) -> None:
            squares = self._products(rows, part)
            squares += norms[part]
            squares += own
            np.maximum(squares, np.float32(0.0), out=squares)
            to[places, part] = self._scaled(self.kernel.profile(squares))

        return distances

    def _products(self, rows: Any, part: slice) -> Any:
        if not is_sparse(rows):
            return rows @ self.columns[:, part]
        return np.asarray((rows @ self.columns[:, part]).toarray())

    def _scaled(self, values: NDArray[Any]) -> NDArray[Any]:
        return values if self.factor == 1.0 else values * np.float32(self.factor)


@final
@dataclass(frozen=True)
class SingleGaussians:
    """The rows of a dense table for factor · exp(-‖a - b‖²/2)."""

    factor: float
    rows: PackedRows = field(repr=False)

    @property
    def work_of_entry(self) -> float:
        return float(self.rows.rows.shape[1])

    def maker(self, numbers: NDArray[np.int64]) -> RowMaker:
        from fenchel.geometry.radial.compiled import gaussian_rows

        height, own = self.rows.chosen(numbers)
        width, norms, d = self.rows.packed, self.rows.norms, self.rows.rows.shape[1]

        def gaussians(part: slice, to: NDArray[Any], places: NDArray[np.int64]) -> None:
            gaussian_rows(
                height, own, width, norms, d, part.start, part.stop, self.factor, to, places
            )

        return gaussians

    def square(self, numbers: NDArray[np.int64]) -> Floats | None:
        if self.work_of_entry > CHEAP:
            return None
        few = SingleGaussians(self.factor, self.rows.subset(numbers))
        q = len(numbers)
        K = np.empty((q, q))

        def fill(lo: int) -> None:
            hi = min(lo + STRIP, q)
            made = np.empty((hi - lo, q), np.float32)
            few.maker(np.arange(lo, hi))(slice(0, q), made, np.arange(hi - lo))
            K[lo:hi] = made

        parallel_map(fill, range(0, q, STRIP))
        return K


def single_rows(kernel: KernelFunction, rows: Any) -> SingleRows | None:
    """The maker of float32 rows; None for kernels of other kinds and rows out of its range."""
    factor, kernel = unscaled(kernel)
    if not isinstance(kernel, Radial | Dot):
        return None
    if is_sparse(rows):
        if not abs(rows.data).max(initial=0.0) <= LARGEST:
            return None
        single = rows.astype(np.float32)
        squares = np.asarray(single.multiply(single).sum(axis=1), np.float32).reshape(-1)
        norms = squares if isinstance(kernel, Radial) else None
        return SingleProducts(kernel, factor, single, single.T.tocsc(), norms)
    rows = np.asarray(rows)
    if isinstance(kernel, Gaussian):
        packed = PackedRows.of(rows, kernel.gamma, rows.mean(axis=0, dtype=np.float64))
        return None if packed is None else SingleGaussians(factor, packed)
    if isinstance(kernel, Radial):
        rows = rows - rows.mean(axis=0, dtype=np.float64)
    if not np.abs(rows).max(initial=0.0) <= LARGEST:
        return None
    single = np.ascontiguousarray(rows, dtype=np.float32)
    norms = None
    if isinstance(kernel, Radial):
        norms = np.einsum("ij,ij->i", rows, rows, dtype=np.float64).astype(np.float32)
    return SingleProducts(kernel, factor, single, np.ascontiguousarray(single.T), norms)


def rough_sums(
    kernel: KernelFunction, points: NDArray[Any], coef: Floats
) -> Callable[[NDArray[Any]], tuple[Floats, Floats]] | None:
    """Σⱼ cⱼ k(x, zⱼ) by float32 with a bound of the error, for the columns of coef; None for
    kernels that have none, and for points out of float32's range."""
    factor, kernel = unscaled(kernel)
    if not isinstance(kernel, Gaussian):
        return None
    return GaussianSums.of(points, factor * coef, kernel.gamma)
