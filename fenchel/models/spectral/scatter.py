"""The scatter of rows about their mean, at any scale: what principal components are read off.

S = Σ sᵢ (xᵢ - m)(xᵢ - m)' / 4ᵉ,   W = Σ sᵢ,   m = Σ sᵢ xᵢ / W

e = 0 unless squares of entries leave the range of floats; then 2ᵉ is about the largest entry. One
pass over the rows, wherever they lie, in double precision whatever the rows are in.

Reference: Chan, Golub and LeVeque, Algorithms for computing the sample variance, Amer. Statist. 37
(1983).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import is_sparse, like, to_float64, to_numpy
from fenchel.data.blocks import Block, Blocks, Totals
from fenchel.data.in_memory import ArrayBlocks
from fenchel.data.moments.class_moments import Moments
from fenchel.data.validation import check_finite

Floats = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)
# Largest diagonal entries of S whose sums have neither overflowed nor lost digits to underflow.
SAFE = 1e-260, 1e290


@dataclass(frozen=True, slots=True)
class Weights:
    """How much weight there is, and how many rows that stands for.

    Whole weights are numbers of repetitions, so that they count Σ s rows; others say how rows
    compare, and count the rows that have any.
    """

    total: float
    rows: int

    @property
    def freedom(self) -> float:
        """What variances divide by: n - 1 for n equal rows, W (n - 1) / n in general."""
        return self.total * (self.rows - 1) / max(self.rows, 1)


def weights_of(blocks: Blocks) -> Weights:
    """One look at the weights; none where there are none."""
    if isinstance(blocks, ArrayBlocks) and blocks.whole.weight is None:
        return Weights(float(blocks.n_rows), blocks.n_rows)

    def stat(block: Block) -> Totals:
        if block.weight is None:
            return Totals(float(block.n_rows), float(block.n_rows), 0.0)
        s = to_numpy(block.weight)
        return Totals(float(s.sum()), float((s > 0.0).sum()), float((s != np.floor(s)).sum()))

    total, some, broken = (float(one) for one in blocks.reduce(stat))
    return Weights(total, int(some if broken else total))


@dataclass(frozen=True, slots=True)
class Scatter:
    """mean: in the units of the table; S: over 4^exponent."""

    mean: Floats
    S: Floats
    exponent: int


def scatter_of(blocks: Blocks) -> Scatter:
    """Mean and scatter in one pass, or in more where squares leave the range of floats; an error
    that names the first value that is no finite number."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        moments: Moments = blocks.reduce(Moments.of)
    if _is_safe(moments.scatter):
        return Scatter(moments.mean, moments.scatter, 0)
    check_finite(blocks)
    exponent = exponent_of(blocks)
    moments = in_units(blocks, exponent).reduce(Moments.of)
    return Scatter(np.ldexp(moments.mean, exponent), moments.scatter, exponent)


def _is_safe(S: Floats) -> bool:
    low, high = SAFE
    return bool(np.isfinite(S).all()) and low <= float(np.diag(S).max(initial=0.0)) <= high


def exponent_of(blocks: Blocks) -> int:
    """The binary exponent of the largest entry."""

    def stat(block: Block) -> LargerOf:
        X = block.X.data if is_sparse(block.X) else block.X
        return LargerOf(float(abs(X).max()) if X.size else 0.0)

    return math.frexp(float(blocks.reduce(stat)))[1]


class LargerOf(float):
    """The larger of two numbers, as a sum that merges."""

    def __add__(self, other: Any) -> LargerOf:
        return LargerOf(max(float(self), float(other)))


def in_units(blocks: Blocks, exponent: int) -> Blocks:
    """The rows in float64 over 2^exponent."""
    if exponent == 0:
        return blocks

    def scale(block: Block) -> Block:
        X = to_float64(block.X)
        if is_sparse(X):
            X = X.copy()
            X.data = np.ldexp(X.data, -exponent)
        else:
            X = like(np.ldexp(to_numpy(X), -exponent), X)
        return Block(block.start, X, block.y, block.weight)

    return blocks.map(scale)


@dataclass(frozen=True, slots=True, eq=False)
class ScatterProducts:
    """S by its products with vectors: one pass over the rows for each, in float64.

    Sparse rows stay sparse: Σ s x (x'V) - W m (m'V), whose rounding is that of X'X.
    """

    blocks: Blocks
    mean: Floats
    exponent: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.blocks.n_cols, self.blocks.n_cols

    def __matmul__(self, V: Floats) -> Floats:
        m = np.ldexp(self.mean, -self.exponent)
        top = m @ V

        def stat(block: Block) -> Floats:
            X = to_float64(block.X)
            s = None if block.weight is None else to_numpy(block.weight)
            if is_sparse(X):
                Z = np.asarray(X @ V) - top
                Z = Z if s is None else Z * s[:, None]
                return np.asarray(X.T @ Z) - np.outer(m, Z.sum(axis=0))
            X = X - like(m, X)
            Z = X @ like(V, X)
            Z = Z if s is None else Z * like(s, X)[:, None]
            return to_numpy(X.T @ Z)

        return np.asarray(in_units(self.blocks, self.exponent).reduce(stat))


def mean_of(blocks: Blocks, total: float, exponent: int) -> Floats:
    """The mean in the units of the table, by two looks at the rows."""

    def sums(centre: Floats | None) -> Floats:
        def stat(block: Block) -> Floats:
            X = to_float64(block.X)
            s = np.ones(block.n_rows) if block.weight is None else to_numpy(block.weight)
            if is_sparse(X):
                return np.asarray(X.T @ s) - (0.0 if centre is None else s.sum() * centre)
            X = X if centre is None else X - like(centre, X)
            return to_numpy(like(s, X) @ X)

        return np.asarray(in_units(blocks, exponent).reduce(stat)) / total

    rough = sums(None)
    return np.ldexp(rough + sums(rough), exponent)


def trace_of(blocks: Blocks, mean: Floats, exponent: int) -> float:
    """tr S by one pass, without S."""
    m = np.ldexp(mean, -exponent)

    def stat(block: Block) -> float:
        X = to_float64(block.X)
        s = np.ones(block.n_rows) if block.weight is None else to_numpy(block.weight)
        if is_sparse(X):
            squares = np.asarray(X.multiply(X).sum(axis=1)).ravel() - 2.0 * (X @ m) + m @ m
        else:
            squares = to_numpy(((X - like(m, X)) ** 2).sum(1))
        return float(s @ squares)

    return max(float(in_units(blocks, exponent).reduce(stat)), 0.0)
