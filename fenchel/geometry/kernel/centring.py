"""Centred kernels: the features moved to have their mean over given rows at the origin.

    k̃(x, z) = k(x, z) - m(x) - m(z) + μ,   m(x) = Σ sᵢ k(x, xᵢ),  μ = Σ sᵢ m(xᵢ),  Σ sᵢ = 1

Reference: Schölkopf, Smola and Müller, Nonlinear component analysis as a kernel eigenvalue problem,
Neural Computation 10 (1998), appendix A.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import Array
from fenchel.data.design.kernel import kernel_product
from fenchel.geometry.kernel.kernel_function import (
    KernelFunction,
    Modification,
    are_prepared,
    prepared_together,
)

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class Centred(Modification):
    """A kernel whose features have mean zero over the rows; positive semi-definite where it is.

    weight: of each row, made to sum to one; None for equal weights. Of n and m prepared rows, the
    n + m products m(x) with all rows are made once; a tile of other rows makes its own.
    """

    kernel: KernelFunction
    rows: Any = field(repr=False)
    weight: Floats | None = field(default=None, repr=False)

    @cached_property
    def _share(self) -> Floats:
        n = int(np.shape(self.rows)[0])
        s = np.ones(n) if self.weight is None else np.asarray(self.weight, np.float64)
        return np.asarray(s / s.sum())

    @cached_property
    def grand_mean(self) -> float:
        """μ."""
        return float(self._share @ self.means(self.rows))

    def means(self, A: Array) -> Floats:
        """m(a) of each row."""
        return kernel_product(self.kernel, A, self.rows, self._share)

    def prepared(self, *tables: Any) -> tuple[Any, ...]:
        if are_prepared(tables):
            return tables

        def with_means(distinct: list[Any]) -> Iterator[tuple[Any, Floats]]:
            *made, rows = self.kernel.prepared(*distinct, self.rows)
            for table in made:
                yield table, kernel_product(self.kernel, table, rows, self._share)

        return prepared_together(tables, with_means)

    def tile(self, A: Array, B: Array) -> Floats:
        first, second = self.prepared(A, B)
        (rows, left), (points, right) = first.parts, second.parts
        K = self.kernel.tile(rows, points)
        return np.asarray(K - left[:, None] - right + self.grand_mean)

    def diagonal(self, A: Array) -> Floats:
        (prepared,) = self.prepared(A)
        rows, means = prepared.parts
        return np.asarray(self.kernel.diagonal(rows) - 2.0 * means + self.grand_mean)

    def rounding(self, columns: int) -> float:
        # With S of the kernel that is centred and μ̄ = Σ s √S(xᵢ): a mean m(x) is off by its values'
        # errors, by those of n products and sums, and by those of the weights, of √S(x) μ̄ each;
        # the sizes below bound all four terms.
        n = int(np.shape(self.rows)[0])
        return self.kernel.rounding(columns) + 4.0 * n + 16.0

    def sizes(self, A: Array) -> Floats:
        """(√S(x) + Σ sᵢ √S(xᵢ))²: a row near the mean is a small difference of features of that
        size."""
        (prepared,) = self.prepared(A)
        own = np.sqrt(np.maximum(self.kernel.sizes(prepared.parts[0]), 0.0))
        return np.asarray((own + self._mean_size) ** 2)

    @cached_property
    def _mean_size(self) -> float:
        (rows,) = self.kernel.prepared(self.rows)
        return float(self._share @ np.sqrt(np.maximum(self.kernel.sizes(rows), 0.0)))


def centred_gram(K: Floats, weight: Floats | None = None) -> Floats:
    """The Gram matrix of the centred kernel over its own rows, from that of the kernel: symmetric
    to the bit where K is."""
    n = len(K)
    s = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
    means = K @ s
    return np.asarray(K - (means[:, None] + means) + float(s @ means))


def kernel_distances(kernel: KernelFunction, A: Array, B: Array) -> Floats:
    """d²(a, b) = k(a, a) - 2 k(a, b) + k(b, b): squared distances of the features, none below 0."""
    A, B = kernel.prepared(A, B)
    D = kernel.tile(A, B)
    D *= -2.0
    D += kernel.diagonal(A)[:, None] + kernel.diagonal(B)
    return np.maximum(D, 0.0, out=D)
