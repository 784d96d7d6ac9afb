"""Some rows of a table, and what one does with rows: take every k-th, put them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from array_api_compat import is_torch_array
from numpy.typing import NDArray

from fenchel.data.arrays import Array, is_sparse, like, to_float64


@dataclass(frozen=True, slots=True)
class Block:
    """Some consecutive rows: X (m, d), the target y and the weight where there are any.

    aux: what else belongs to each row, by name: a dual variable, a label, the number of a fold.
    """

    start: int
    X: Array
    y: Array | None = None
    weight: Array | None = None
    aux: Mapping[str, Array] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])


def part_of(block: Block, pick: Any, start: int) -> Block:
    """Some rows of a block, by a slice or their numbers in it: views where numpy gives views."""
    y = None if block.y is None else block.y[pick]
    weight = None if block.weight is None else block.weight[pick]
    aux = {name: values[pick] for name, values in block.aux.items()}
    return Block(start, block.X[pick], y, weight, aux)


def copied_part(block: Block, pick: Any, start: int) -> Block:
    """The same as copies: the chosen rows must not keep a file or a whole table alive."""

    def own(values: Any) -> Any:
        return values.copy() if isinstance(values, np.ndarray) else values

    some = part_of(block, pick, start)
    aux = {name: own(values) for name, values in some.aux.items()}
    return Block(start, own(some.X), own(some.y), own(some.weight), aux)


def stride(block: Block, step: int) -> Block:
    """The rows of a block whose number in the whole table is a multiple of step."""
    return copied_part(block, slice(-block.start % step, None, step), -(-block.start // step))


def concatenate(blocks: Sequence[Block]) -> Block:
    """Blocks stacked into one."""
    if len(blocks) == 1:
        return blocks[0]

    def stack(parts: list[Any]) -> Any:
        if any(p is None for p in parts):
            return None
        if is_sparse(parts[0]):
            import scipy.sparse as sp

            return sp.vstack(parts, format="csr")
        if isinstance(parts[0], np.ndarray):
            return np.concatenate(parts)
        from array_api_compat import array_namespace

        return array_namespace(parts[0]).concat(parts)

    return Block(
        blocks[0].start,
        stack([b.X for b in blocks]),
        stack([b.y for b in blocks]),
        stack([b.weight for b in blocks]),
        {name: stack([b.aux[name] for b in blocks]) for name in blocks[0].aux},
    )


def column_label(names: Sequence[str] | None, j: int) -> str:
    return f"column {j}" if names is None else f"column {j} ('{names[j]}')"


@dataclass(frozen=True, slots=True, eq=False)
class RowValues:
    """A map of blocks: values of all rows, by name, of which each block takes its own."""

    columns: Mapping[str, NDArray[Any]]

    def __call__(self, block: Block) -> Block:
        rows = slice(block.start, block.start + block.n_rows)
        here = {name: values[rows] for name, values in self.columns.items()}
        if is_torch_array(block.X):
            empty = to_float64(block.X[:0])
            here = {name: like(values, empty) for name, values in here.items()}
        return replace(block, aux={**block.aux, **here})


@dataclass(frozen=True, slots=True, eq=False)
class ChosenRows:
    """A statistic: the rows of some numbers, given in rising order, as parts in that order."""

    numbers: NDArray[np.int64]

    def __call__(self, block: Block) -> tuple[Block, ...]:
        lo, hi = np.searchsorted(self.numbers, [block.start, block.start + block.n_rows])
        if lo == hi:
            return ()
        return (copied_part(block, self.numbers[lo:hi] - block.start, block.start),)


def row_numbers(rows: Any, n_rows: int) -> NDArray[np.int64]:
    """Numbers of rows, checked."""
    numbers = np.asarray(rows)
    if numbers.ndim != 1 or not len(numbers) or numbers.dtype.kind not in "iu":
        raise ValueError("rows must be a vector of at least one row number")
    wrong = (numbers < 0) | (numbers >= n_rows)
    if wrong.any():
        raise IndexError(f"row {numbers[wrong][0]} of a table with {n_rows} rows")
    return numbers.astype(np.int64)


def block_rows(n_rows: int, n_cols: int, row_bytes: float) -> int:
    """Rows per block: near two megabytes, so that a second look at it comes from the cache, yet
    several times the columns, so that a block's statistic is smaller than the block."""
    rows = max(2**21 / max(row_bytes, 1.0), 2.0 * min(n_cols, 4096), 64.0)
    return min(1 << round(np.log2(rows)), max(n_rows, 1))
