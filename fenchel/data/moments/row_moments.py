"""Moments of all dense rows of a block, as a compiled loop over its parts."""

from __future__ import annotations

from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from fenchel.data.block import Block, block_rows
from fenchel.data.parallel import parallel_map
from fenchel.data.statistic import PART, CompiledLoop, RowLayout, Slots, part_rows

S = TypeVar("S")
Floats = NDArray[np.float64]
# Bytes of the sums of all parts, where a quarter of the table is no more.
SUMS = 2.0**25


class RowScatter(CompiledLoop[S], Generic[S]):
    """`rows.compiled.scatter_parts` for one block."""

    least_parts = 1  # d² products for each row of a part

    def __init__(self, block: Block, layout: RowLayout) -> None:
        from fenchel.data.passes.panels.compiled import WIDTH

        X, n, d = block.X, block.n_rows, layout.n_cols
        self.X, self.layout, self.n, self.d = X, layout, n, d
        self.weighted = block.weight is not None
        weight = np.zeros(0) if block.weight is None else block.weight
        self.s = np.ascontiguousarray(weight, np.float64)
        panels = d // WIDTH + 1
        self.width, self.size = panels * WIDTH, panels * (panels + 1) // 2 * WIDTH**2
        # Few parts, each of as many rows as columns or more: its sums are written and merged.
        # 32 of them keep 16 threads busy. Up to 32 blocks of a file's rows the parts are those
        # blocks, so that a file gives the same bits as memory.
        most = max(SUMS, 0.25 * X.itemsize * n * d) / (8.0 * self.size)
        parts = max(1.0, min(32.0, most, n / (d + 1.0)))
        least = block_rows(2**62, d, 8.0 * d)
        self.part = max(part_rows(PART / max(n / parts, 1.0)), least)

    def slots(self, parts: int) -> Slots:
        return np.zeros(parts), np.zeros((parts, self.d)), np.zeros((parts, self.size))

    def run(self, first: int, last: int, slots: Slots) -> None:
        from fenchel.data.moments.rows.compiled import scatter_parts
        from fenchel.data.passes.loops import address
        from fenchel.data.passes.panels.compiled import WIDTH, panel_rows

        X, fortran = self.X, self.layout.order == "F"
        axis = 1 if fortran else 0
        # numpy gives any stride to an axis of one entry, which is then never stepped along.
        step = X.strides[axis] // X.itemsize if X.shape[axis] > 1 else max(X.shape[1 - axis], 1)
        scatter_parts(
            address(X),
            np.zeros(1, X.dtype),
            step,
            self.n,
            self.d,
            fortran,
            self.s,
            self.weighted,
            self.part,
            first,
            last,
            panel_rows(self.width // WIDTH),
            *slots,
        )

    def total(self, slots: Slots) -> S:
        """All parts in the tree of `TreeSum`: weights and means here, the matrices by rows of
        blocks, on every thread."""
        from fenchel.data.moments.rows.compiled import joined
        from fenchel.data.passes.panels.compiled import WIDTH

        W, M, T = slots
        parts, step = len(W), 1
        pairs, apart = [], []
        while step < parts:
            for i in range(0, parts - step, 2 * step):
                pairs.append((i, i + step))
                apart.append(_join(W, M, i, i + step))
            step *= 2
        way = np.zeros((len(pairs), self.width))
        way[:, : self.d] = np.array(apart).reshape(len(pairs), self.d)
        order = np.array(pairs, np.int64).reshape(len(pairs), 2)
        out = np.empty((self.d, self.d))
        panels = self.width // WIDTH
        # The longest rows of blocks first.
        parallel_map(lambda row: joined(T, order, way, row, out), range(panels - 1, -1, -1))
        return self.result((W[0], M[0], out))


def _join(W: Floats, M: Floats, a: int, b: int) -> Floats:
    """Part b joins part a as in `Moments`; √(W₁ W₂ / W) times the way between their means."""
    way = np.zeros(M.shape[1])
    if W[b] > 0.0 and W[a] > 0.0:
        total = W[a] + W[b]
        share = W[b] / total
        delta = M[b] - M[a]
        way = delta * np.sqrt(W[a] * share)
        M[a] += delta * share
        W[a] = total
    elif W[b] > 0.0:
        W[a], M[a] = W[b], M[b]
    return way
