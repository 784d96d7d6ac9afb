"""Tables with few distinct rows: as many centres as those leave nothing over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.blocks import Block, Blocks
from fenchel.models.cluster.rows import row_of
from fenchel.models.estimator import as_numpy
from fenchel.solve.online.row_values import row_values


@dataclass(frozen=True)
class Distinct:
    """Different rows by a number made of their values, in the order in which they come; None: more
    than `most`."""

    found: dict[int, NDArray[Any]] | None
    most: int

    def __add__(self, other: Distinct) -> Distinct:
        if self.found is None or other.found is None:
            return Distinct(None, self.most)
        both = {**self.found, **{k: v for k, v in other.found.items() if k not in self.found}}
        return Distinct(both if len(both) <= self.most else None, self.most)


@dataclass(frozen=True)
class DistinctRows:
    """`Distinct` of the rows that have weight: a statistic. Looks at a few rows first, which nearly
    always are enough."""

    most: int

    def __call__(self, block: Block) -> Distinct:
        X = block.X if is_sparse(block.X) else as_numpy(block.X)
        s = None if block.weight is None else np.asarray(to_numpy(block.weight))
        found: dict[int, NDArray[Any]] = {}
        lo, step = 0, 2 * self.most + 64
        while lo < X.shape[0]:
            part = X[lo : lo + step]
            keys = row_values(part)
            firsts = np.unique(keys, return_index=True)[1]
            if s is not None:
                some = np.flatnonzero(s[lo : lo + step] > 0.0)
                firsts = some[np.unique(keys[some], return_index=True)[1]]
            for i in np.sort(firsts):
                found.setdefault(int(keys[i]), row_of(part, int(i)))
            if len(found) > self.most:
                return Distinct(None, self.most)
            lo, step = lo + step, 2 * step
        return Distinct(found, self.most)


def few_rows(blocks: Blocks, most: int) -> NDArray[Any] | None:
    """The different rows of a table where there are at most so many, else None."""
    first = next(iter(blocks))
    # A few rows of the first block nearly always show that there are more.
    begin = Block(first.start, first.X[: 4 * most + 64], None, _part(first.weight, 4 * most + 64))
    if DistinctRows(most)(begin).found is None:
        return None
    found = blocks.reduce(DistinctRows(most)).found
    return None if found is None else np.array(list(found.values()))


def _part(weight: Any, n: int) -> Any:
    return None if weight is None else weight[:n]
