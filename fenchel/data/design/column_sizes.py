"""The largest absolute value of each column: what rounding errors of sums over rows scale with,
and, being NaN or infinite where a value is, whether all values are numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.block import Block
from fenchel.data.reduction import Maximum
from fenchel.data.statistic import CompiledLoop, RowLayout, Slots, Statistic, part_rows

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ColumnSizes(Statistic[Maximum]):
    """maxᵢ|xᵢⱼ| of each column, in float64."""

    def __call__(self, block: Block) -> Maximum:
        X = block.X
        if is_sparse(X):
            top = np.zeros(X.shape[1])
            with np.errstate(invalid="ignore"):  # of NaN, which is to be found
                np.maximum.at(top, X.indices, np.abs(X.data))
            return Maximum(top)
        if isinstance(X, np.ndarray):
            high = X.max(axis=0, initial=0.0).astype(np.float64)
            return Maximum(np.maximum(high, -X.min(axis=0, initial=0.0).astype(np.float64)))
        if not X.shape[0]:
            return Maximum(np.zeros(X.shape[1]))
        xp = array_namespace(X)  # both ends are read, where |X| would be written first
        return Maximum(to_numpy(xp.maximum(xp.max(X, axis=0), -xp.min(X, axis=0))))

    def compiled(self, block: Block, layout: RowLayout) -> CompiledLoop[Maximum] | None:
        if layout.order == "C":
            return DenseSizes(block, layout)
        return SparseSizes(block) if layout.order == "csr" else None


class DenseSizes(CompiledLoop[Maximum]):
    """`dense.compiled.column_sizes`."""

    def __init__(self, block: Block, layout: RowLayout) -> None:
        self.X = block.X
        self.part = part_rows(layout.dtype.itemsize * max(layout.n_cols, 1))

    def slots(self, parts: int) -> Slots:
        return (np.zeros((parts, self.X.shape[1]), self.X.dtype),)

    def run(self, first: int, last: int, slots: Slots) -> None:
        from fenchel.data.passes.dense.compiled import column_sizes

        n, d = self.X.shape
        place = self.X.__array_interface__["data"][0]
        step = self.X.strides[0] // self.X.itemsize if n > 1 else d
        column_sizes(place, step, n, d, self.part, first, last, slots[0])

    def total(self, slots: Slots) -> Maximum:
        return self.result((slots[0].max(axis=0),))

    def result(self, sums: Slots) -> Maximum:
        return Maximum(sums[0].astype(np.float64))


class SparseSizes(CompiledLoop[Maximum]):
    """`compiled.csr_column_sizes`."""

    def __init__(self, block: Block) -> None:
        self.X = block.X
        # A slot is a full vector of columns: parts of at least eight times as many entries.
        each = max(self.X.nnz / max(self.X.shape[0], 1), 1e-9)
        self.part = max(part_rows(12.0 * each), int(8.0 * self.X.shape[1] / each), 1)

    def slots(self, parts: int) -> Slots:
        return (np.zeros((parts, self.X.shape[1])),)

    def run(self, first: int, last: int, slots: Slots) -> None:
        from fenchel.data.passes.sparse.compiled import csr_column_sizes

        X = self.X
        csr_column_sizes(X.data, X.indices, X.indptr, self.part, first, last, slots[0])

    def total(self, slots: Slots) -> Maximum:
        return self.result((slots[0].max(axis=0),))

    def result(self, sums: Slots) -> Maximum:
        return Maximum(sums[0])
