"""The length of the longest row, in a unit in which no square overflows."""

from __future__ import annotations

import math

import numpy as np

from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.blocks import Block, Blocks


class LargestRadius(float):
    """A number whose sum with another is the larger of the two."""

    def __add__(self, other: float) -> LargestRadius:
        return LargestRadius(max(self, other))


def radius(blocks: Blocks) -> float:
    """R = max |xᵢ| over the rows that have weight; no square overflows."""
    return float(blocks.reduce(longest_row))


def longest_row(block: Block) -> LargestRadius:
    X = block.X
    if block.weight is not None:
        X = X[to_numpy(block.weight) > 0.0]
    if X.shape[0] == 0:
        return LargestRadius(0.0)
    if is_sparse(X):
        top = float(np.abs(X.data).max(initial=0.0))
        unit = unit_of(top)
        scaled = X.data.astype(np.float64) * unit
        owner = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        squares = np.bincount(owner, scaled * scaled, minlength=X.shape[0])
    else:
        X = to_numpy(X)
        unit = unit_of(max(float(X.max()), -float(X.min())))
        X = X if 1e-100 < unit < 1e100 else X * unit
        squares = np.einsum("ij,ij->i", X, X)
        unit = 1.0 if 1e-100 < unit < 1e100 else unit
    return LargestRadius(math.sqrt(float(squares.max())) / unit)


def unit_of(size: float) -> float:
    """The power of two that brings size near one; multiplying by it rounds nothing."""
    return 1.0 if size == 0.0 else 2.0 ** -max(-1000, min(1000, math.frexp(size)[1]))
