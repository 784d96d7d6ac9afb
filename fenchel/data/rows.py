"""Some rows of a table, and what one does with rows: take every k-th, put them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fenchel.data.arrays import Array, is_sparse


@dataclass(frozen=True, slots=True)
class Block:
    """Some consecutive rows: X (m, d), the target y and the weight where there are any."""

    start: int
    X: Array
    y: Array | None = None
    weight: Array | None = None

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])


def every(block: Block, step: int) -> Block:
    """The rows of a block whose number in the whole table is a multiple of step."""
    pick = slice(-block.start % step, None, step)

    def take(values: Any) -> Any:
        # A copy: the chosen rows must not keep a file or a whole table alive.
        return values[pick].copy() if isinstance(values, np.ndarray) else values[pick]

    y = None if block.y is None else take(block.y)
    weight = None if block.weight is None else take(block.weight)
    return Block(-(-block.start // step), take(block.X), y, weight)


def join(blocks: Sequence[Block]) -> Block:
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
    )


def column_label(names: Sequence[str] | None, j: int) -> str:
    return f"column {j}" if names is None else f"column {j} ('{names[j]}')"


def block_rows(n_rows: int, n_cols: int, row_bytes: float) -> int:
    """Rows per block: near two megabytes, so that a second look at it comes from the cache, yet
    several times the columns, so that a block's statistic is smaller than the block."""
    rows = max(2**21 / max(row_bytes, 1.0), 2.0 * min(n_cols, 4096), 64.0)
    return min(1 << round(np.log2(rows)), max(n_rows, 1))
