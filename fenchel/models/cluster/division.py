"""Bisection of some rows of a table by 2-means, wherever the table lies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from fenchel.data.arrays import to_numpy
from fenchel.data.block import part_of
from fenchel.data.blocks import Block, Blocks
from fenchel.data.in_memory import ArrayBlocks
from fenchel.models.cluster.distinct import few_rows
from fenchel.models.cluster.lloyd import Lloyd, best_run
from fenchel.models.cluster.rows import cluster_rows, summed
from fenchel.models.cluster.seeding import (
    canonical_order,
    kmeans_parallel,
    kmeans_plus_plus,
    random_rows,
)
from fenchel.models.estimator import as_numpy

Floats = NDArray[np.float64]
# Bytes of the dense rows of a cluster that are brought into memory to be divided there: a pass over
# a file or a cluster of machines for every step of every division would cost more.
HELD = 2**26


@dataclass(frozen=True)
class RowSubset:
    """Some rows of a table, by their numbers in it.

    blocks: those rows in memory, in an order that their values alone decide, or the whole table, in
    which all other rows have weight zero.
    """

    blocks: Blocks
    numbers: NDArray[np.int64]
    held: bool

    @classmethod
    def all_rows(cls, blocks: Blocks, rng: np.random.Generator) -> RowSubset:
        every = np.arange(blocks.n_rows)
        if isinstance(blocks, ArrayBlocks):
            return cls._of_rows(blocks.whole, every, rng)
        return cls(blocks, every, False)._lifted(rng)

    @classmethod
    def _of_rows(cls, rows: Block, numbers: NDArray[Any], rng: np.random.Generator) -> RowSubset:
        X = rows.X if issparse(rows.X) else np.ascontiguousarray(as_numpy(rows.X))
        weight = None if rows.weight is None else np.asarray(to_numpy(rows.weight), np.float64)
        order = canonical_order(X, rng)
        return cls(ArrayBlocks(part_of(Block(0, X, None, weight), order, 0)), numbers[order], True)

    def _lifted(self, rng: np.random.Generator) -> RowSubset:
        """The same piece in memory, where it is small enough."""
        size = len(self.numbers) * self.blocks.n_cols * self.blocks.dtype.itemsize
        if self.held or size > HELD:
            return self
        return RowSubset._of_rows(self.blocks.take(self.numbers), self.numbers, rng)

    def part(self, inside: NDArray[np.bool_], rng: np.random.Generator) -> RowSubset:
        """The rows of this piece that lie inside."""
        numbers = self.numbers[inside]
        if isinstance(self.blocks, ArrayBlocks):
            rows = part_of(self.blocks.whole, np.flatnonzero(inside), 0)
            return RowSubset(ArrayBlocks(rows), numbers, True)
        member = np.zeros(self.blocks.n_rows)
        member[numbers] = 1.0

        def keep(block: Block) -> Block:
            own = block.aux["member"]
            weight = own if block.weight is None else block.weight * own
            return replace(block, weight=weight)

        marked = self.blocks.with_aux(member=member).map_targets(keep)
        return RowSubset(marked, numbers, False)._lifted(rng)

    def alike(self) -> NDArray[Any] | None:
        """The row of which all others are copies, if they are."""
        few = few_rows(self.blocks, 1)
        return None if few is None else few[0]

    def weight(self) -> Floats:
        """Of its rows, in the order of their numbers."""
        if isinstance(self.blocks, ArrayBlocks):
            s = self.blocks.whole.weight
            return np.ones(len(self.numbers)) if s is None else np.asarray(s, np.float64)
        given = self.blocks.reduce(
            lambda b: (np.ones(b.n_rows) if b.weight is None else np.asarray(to_numpy(b.weight)),)
        )
        return np.concatenate(given)[self.numbers]


@dataclass(frozen=True, slots=True)
class Division:
    """Two parts of a piece: their centres, the one of each row, their energies and masses."""

    centres: NDArray[Any]
    labels: NDArray[np.int32]
    energy: Floats
    mass: Floats
    steps: int


@dataclass(frozen=True)
class Bisection:
    """2-means from so many starts.

    tol: stops where the squared moves of both centres sum to at most tol times the mean variance of
    the columns of the rows that are divided.
    """

    init: str
    n_init: int
    max_iter: int
    tol: float

    def divide(self, piece: RowSubset, rng: np.random.Generator) -> Division | None:
        """None where the rows are all alike."""
        rows = cluster_rows(piece.blocks)
        starts = list(self._starts(piece, rng))
        if len(starts[0]) < 2:
            return None
        solver = Lloyd(shift=self.tol * rows.variance)
        best = best_run(rows, starts, solver, self.max_iter)
        labels = best.labels if piece.held else best.labels[piece.numbers]
        mass = summed(labels, piece.weight(), 2)
        if not mass.min() > 0.0:
            return None
        centres, energy = best.solution.point, best.energy
        if mass[1] > mass[0]:  # the heavier part on the left
            order = [1, 0]
            centres, labels, energy, mass = centres[order], 1 - labels, energy[order], mass[order]
        return Division(centres, labels, energy, mass, best.solution.steps)

    def _starts(self, piece: RowSubset, rng: np.random.Generator) -> Iterator[NDArray[Any]]:
        blocks = piece.blocks
        for _ in range(self.n_init):
            if not isinstance(blocks, ArrayBlocks):
                first = kmeans_parallel(blocks, 2, rng)
            elif self.init == "random":
                first = random_rows(blocks.whole.X, blocks.whole.weight, 2, rng)
            else:
                first = kmeans_plus_plus(blocks.whole.X, blocks.whole.weight, 2, rng, ordered=True)
            yield np.asarray(first, blocks.dtype)
