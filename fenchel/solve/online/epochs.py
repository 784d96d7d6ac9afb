"""Order of the rows in each epoch of an online algorithm, shuffled reproducibly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.blocks import Block, Blocks


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows as the compiled loops take them: an empty weight or order stands for none."""

    rows: tuple[NDArray[Any], ...]
    codes: NDArray[np.int64]
    weight: NDArray[Any]
    order: NDArray[np.int64]

    @property
    def looks(self) -> float:
        """Σ of the weights."""
        return float(self.weight.sum()) if len(self.weight) else float(len(self.codes))


class Epochs:
    """Epochs over a table: all of its rows at once where they are in memory, else block by block.

    Shuffled rows come in an order drawn from their own values and the seed, another one in every
    epoch. It does not depend on how the table is sorted, and equal rows come together: one row of
    weight 2 is the same as two rows. Rows that are not in memory are shuffled inside their block.
    """

    def __init__(self, blocks: Blocks, outputs: int, shuffle: bool, seed: int) -> None:
        self.blocks, self.outputs = blocks, outputs
        self.shuffle, self.seed = shuffle, seed
        self._held: tuple[Batch, NDArray[np.uint64]] | None = None
        self._last: tuple[int, Batch] | None = None
        if blocks.local:
            visit = self._visit(blocks.gather())
            self._held = visit, self._keys(visit)

    def epoch(self, number: int) -> Iterator[Batch]:
        """The rows once over."""
        if self._held is not None:
            if self._last is None or self._last[0] != number:
                self._last = number, self._ordered(*self._held, number)
            yield self._last[1]
            return
        for block in self.blocks:
            visit = self._visit(block)
            yield self._ordered(visit, self._keys(visit), number)

    def _visit(self, block: Block) -> Batch:
        X, y = block.X, to_numpy(block.y)
        codes = (y > 0).astype(np.int64) if self.outputs == 1 else y.astype(np.int64, copy=False)
        rows = (X.data, X.indices, X.indptr) if is_sparse(X) else (_array(X),)
        weight = np.zeros(0) if block.weight is None else to_numpy(block.weight)
        return Batch(rows, codes, weight, np.zeros(0, np.int64))

    def _keys(self, visit: Batch) -> NDArray[np.uint64]:
        if not self.shuffle:
            return np.zeros(0, np.uint64)
        from fenchel.solve.online.compiled import row_keys

        keys = np.empty(len(visit.codes), np.uint64)
        row_keys(visit.rows, visit.codes, keys)
        return keys

    def _ordered(self, visit: Batch, keys: NDArray[np.uint64], number: int) -> Batch:
        if not self.shuffle:
            return visit
        from fenchel.solve.online.compiled import reshuffle

        word = np.random.SeedSequence([self.seed, number]).generate_state(1, np.uint64)[0]
        mixed = np.empty_like(keys)
        reshuffle(keys, word, mixed)
        return Batch(visit.rows, visit.codes, visit.weight, np.argsort(mixed))


def _array(X: Any) -> NDArray[Any]:
    return X if isinstance(X, np.ndarray) else np.ascontiguousarray(to_numpy(X))
