"""A table through a kernel's values at landmarks: products with K = (k(xᵢ, zⱼ)) by tiles.

    K'r,  r = rule(KC)   in one pass;    K'SK of some of the rows

K, n x m, is never held: a tile of it is made, multiplied from both sides, and dropped. Memory is
that of a tile and of the sums, m numbers for each column of C, on each thread.

Cost: n m kernel values and 4 n m products a pass and column; n m² / 2 for the Gram matrix.

Reference: Rudi, Carratino and Rosasco, FALKON: an optimal large scale kernel method, NIPS 30
(2017).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas

from fenchel.data.arrays import is_sparse, is_strings, to_numpy
from fenchel.data.blocks import (
    Block,
    Blocks,
    Totals,
    free_memory,
    map_ordered,
    one_blas_thread,
    thread_count,
    tree_sum,
)
from fenchel.data.design.kernel_tiles import TILE_POINTS, PairKernel
from fenchel.data.design.matrix import Concatenated
from fenchel.data.in_memory import ArrayBlocks
from fenchel.data.parallel import parallel_map
from fenchel.data.strings import longest

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
U = 2.0**-53
# Tiles that a thread takes at once: 2000 landmarks make them some ten milliseconds, a hundred times
# what handing them over takes, and 20,000 rows still give sixteen threads work.
TILES = 4
# Rows, and columns, whose products are summed first, so that the bound of what sums round is low.
STRIP, COLUMNS = 32, 128
GRAM_ROWS = 2048  # the same for a Gram matrix, of whose partial sums there is one for each


class LandmarkRule(Protocol):
    """What a pass makes of the scores of some rows."""

    def __call__(self, rows: slice, Z: Floats) -> tuple[Floats, Floats]:
        """r (h, T) and sums (q, T) of the rows with these numbers, from their scores Z (h, T)."""


@dataclass(frozen=True, eq=False)
class LandmarkTable:
    """Rows x of a table as (k(x, z₁) … k(x, zₘ)).

    points: the landmarks z as the kernel takes them.
    """

    kernel: PairKernel
    points: Any = field(repr=False)
    blocks: Blocks = field(repr=False)

    @property
    def n_rows(self) -> int:
        return self.blocks.n_rows

    @property
    def count(self) -> int:
        """m."""
        return int(self.points.shape[0])

    def sweep(self, C: Floats, rule: LandmarkRule) -> Totals:
        """Totals(K'r, sums) with (r, sums) = rule(rows, KC); C: (m, T)."""
        blocks = self.blocks
        if not isinstance(blocks, ArrayBlocks) or not self._in_ranges:
            found: Totals = blocks.reduce(LandmarkSweep(self.kernel, self.points, C, rule))
            return found
        A, B = self.kernel.prepared(blocks.whole.X, self.points)
        height = TILES * self.kernel.tile_rows

        def work(lo: int) -> Totals:
            with one_blas_thread():
                return _swept(self.kernel, A[lo : lo + height], B, lo, C, rule)

        with one_blas_thread():
            whole: Totals = tree_sum(
                map_ordered(work, range(0, self.n_rows, height), thread_count())
            )
        return whole

    def rows_of(self, C: Floats, rule: Callable[[slice, Floats], Floats]) -> Floats:
        """rule(rows, KC) of all rows, (n, q): what a pass makes of each of them."""
        blocks = self.blocks

        def made(A: Any, B: Any, start: int) -> Floats:
            parts = _tiles(self.kernel, A, B)
            found = [rule(slice(start + at.start, start + at.stop), K @ C) for at, K in parts]
            return np.concatenate(found)

        if not self._in_ranges:

            def stat(block: Block) -> Concatenated:
                A, B = self.kernel.prepared(_rows(block.X), self.points)
                return Concatenated([made(A, B, block.start)])

            return np.concatenate(blocks.reduce(stat))
        A, B = self.kernel.prepared(blocks.gather().X, self.points)
        height = TILES * self.kernel.tile_rows
        with one_blas_thread():
            return np.concatenate(
                parallel_map(
                    lambda lo: made(A[lo : lo + height], B, lo), range(0, self.n_rows, height)
                )
            )

    def diagonal(self) -> Floats:
        """k(xᵢ, xᵢ) of every row."""

        def stat(block: Block) -> Concatenated:
            return Concatenated([self.kernel.diagonal(_rows(block.X))])

        return np.concatenate(self.blocks.reduce(stat))

    def gram(self, numbers: Numbers, s: Floats, basis: Floats | None = None) -> Floats:
        """Σ sᵢ kᵢkᵢ' over the rows with these numbers, symmetric; with a basis, of B'kᵢ."""
        X = _rows(self.blocks.take(numbers).X)
        A, B = self.kernel.prepared(X, self.points)
        width = self.count if basis is None else basis.shape[1]
        root = np.sqrt(s)[:, None]

        def work(lo: int) -> Floats:
            total = np.zeros((width, width), order="F")
            with one_blas_thread():
                for rows, K in _tiles(self.kernel, A[lo : lo + GRAM_ROWS], B):
                    K = K if basis is None else K @ basis
                    K *= root[lo + rows.start : lo + rows.stop]
                    total = blas.dsyrk(1.0, K.T, beta=1.0, c=total, overwrite_c=1)
            return total

        # A partial sum on each thread and two that wait: no more than a quarter of what is free.
        room = int(0.25 * free_memory() / (8.0 * width * width)) - 2
        workers = max(1, min(thread_count(), room))
        with one_blas_thread():
            upper: Floats = tree_sum(map_ordered(work, range(0, len(numbers), GRAM_ROWS), workers))
        return np.asarray(np.triu(upper) + np.triu(upper, 1).T)

    @property
    def entry_error(self) -> float:
        """At most |k̂(x, z) - k(x, z)| of any value, relative to √(k(x, x) k(z, z))."""
        Z, columns = self.points, self.blocks.n_cols
        if is_strings(Z):
            columns = max(longest(Z), longest(self.blocks.gather().X))
        return U * self.kernel.rounding(columns)

    @property
    def score_error(self) -> float:
        """γ with an error of at most γ Σ|terms| in a sum over the landmarks."""
        return (COLUMNS + self.count / COLUMNS + 2.0) * U

    @property
    def sum_error(self) -> float:
        """γ with an error of at most γ Σ|terms| in a sum over the rows by a pass."""
        # Rows of a strip, strips of a tile, tiles of a range or block, and these in a tree.
        height, in_tree = self.kernel.tile_rows, math.log2(self.n_rows + 1.0)
        count = TILES if self._in_ranges else self.blocks.longest / height + 1.0
        return (STRIP + height / STRIP + 1.0 + count + in_tree) * U

    @property
    def _in_ranges(self) -> bool:
        return isinstance(self.blocks, ArrayBlocks) and not self.blocks.on_device


@dataclass(frozen=True, slots=True, eq=False)
class LandmarkSweep:
    """The pass as a statistic of a block."""

    kernel: PairKernel
    points: Any
    C: Floats
    rule: LandmarkRule

    def __call__(self, block: Block) -> Totals:
        A, B = self.kernel.prepared(_rows(block.X), self.points)
        return _swept(self.kernel, A, B, block.start, self.C, self.rule)


def _swept(kernel: PairKernel, A: Any, B: Any, start: int, C: Floats, rule: LandmarkRule) -> Totals:
    pull, total = np.zeros(C.shape), None
    for rows, K in _tiles(kernel, A, B):
        Z = K[:, :COLUMNS] @ C[:COLUMNS]
        for left in range(COLUMNS, len(C), COLUMNS):
            Z += K[:, left : left + COLUMNS] @ C[left : left + COLUMNS]
        r, sums = rule(slice(start + rows.start, start + rows.stop), Z)
        part = K[:STRIP].T @ r[:STRIP]
        for lo in range(STRIP, len(K), STRIP):
            part += K[lo : lo + STRIP].T @ r[lo : lo + STRIP]
        pull += part
        total = sums if total is None else total + sums
    return Totals(pull, total)


def _tiles(kernel: PairKernel, A: Any, B: Any) -> Iterator[tuple[slice, Floats]]:
    """Some rows of A and their values at all points."""
    n, m = int(A.shape[0]), int(B.shape[0])
    for lo in range(0, n, kernel.tile_rows):
        rows = slice(lo, min(lo + kernel.tile_rows, n))
        K = np.empty((rows.stop - rows.start, m))
        for left in range(0, m, TILE_POINTS):
            part = slice(left, min(left + TILE_POINTS, m))
            K[:, part] = kernel.tile(A[rows], B[part])
        yield rows, K


def _rows(X: Any) -> Any:
    return X if is_sparse(X) else to_numpy(X)
