"""The scatter of rows about their mean, at any scale: what principal components are read off.

S = Σ sᵢ (xᵢ - m)(xᵢ - m)' / 4ᵉ,   W = Σ sᵢ,   m = Σ sᵢ xᵢ / W

e = 0 unless squares of entries leave the range of floats; then 2ᵉ is about the largest entry. One
pass over the rows, wherever they lie. Rows of many columns in single precision are multiplied in
single precision: the eigenvectors found are finished, and their residuals made, by products in
double precision.

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
from fenchel.data.passes.sweep import Gram, Unit

Floats = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)
# Largest diagonal entries of S whose sums have neither overflowed nor lost digits to underflow.
SAFE = {"float32": (1e-20, 1e30), "float64": (1e-260, 1e290)}
# Values and columns of a table from which products in single precision pay their finish in double,
# a pass of its own: 10 of 50 columns (1,000,000 rows) took 0.36 s by single and 0.13 s by double
# precision, 20 of 200 (200,000 rows) 0.33 and 0.19 s, 50 of 784 (60,000 rows) 0.87 and 1.1 s.
SINGLE, SINGLE_COLUMNS = 2**22, 512


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
    """mean: in the units of the table; S: over 4^exponent; single: made by single precision."""

    mean: Floats
    S: Floats
    exponent: int
    single: bool = False


def scatter_of(blocks: Blocks) -> Scatter:
    """Mean and scatter in one pass, or in three where squares leave the range of floats."""
    if _is_single(blocks):
        found = _in_single_precision(blocks)
        if found is not None:
            return found
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        moments: Moments = blocks.reduce(Moments.of)
    if _is_safe(moments.scatter, "float64"):
        return Scatter(moments.mean, moments.scatter, 0)
    exponent = exponent_of(blocks)
    moments = in_units(blocks, exponent).reduce(Moments.of)
    return Scatter(np.ldexp(moments.mean, exponent), moments.scatter, exponent)


def _is_single(blocks: Blocks) -> bool:
    plain = isinstance(blocks, ArrayBlocks) and isinstance(blocks.whole.X, np.ndarray)
    many = blocks.n_cols >= SINGLE_COLUMNS and blocks.n_rows * blocks.n_cols >= SINGLE
    return plain and many and blocks.dtype == np.float32


def _in_single_precision(blocks: Blocks) -> Scatter | None:
    """About the mean of a sample, then moved to that of all rows; None out of range."""
    d = blocks.n_cols
    sample = blocks.sample(4096).gather()
    centre = to_numpy(to_float64(sample.X)).mean(axis=0)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        G = blocks.reduce(Gram((np.zeros(d), np.zeros(())), Unit(), centre))
    S, sums, W = G[:d, :d], G[d, :d], float(G[d, d])
    if not np.isfinite(G).all() or not W > 0.0:
        return None
    off = sums / W
    # Where the sample's mean is far off, the difference would lose the digits that there are.
    S = S - W * np.outer(off, off)
    far = W * off * off > 0.1 * np.maximum(np.diag(S), 0.0)
    if not _is_safe(S, "float32") or far.any():
        return None
    return Scatter(centre + off, S, 0, single=True)


def _is_safe(S: Floats, dtype: str) -> bool:
    low, high = SAFE[dtype]
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


def finished_products(
    blocks: Blocks, near: Floats, V: Floats, total: float
) -> tuple[Floats, Floats]:
    """The mean, and S V, in float64 by one pass over dense rows that starts from a near mean c:

    m = c + e,  S V = Σ s (x - c)(x - c)'V - W e e'V,  e = Σ s (x - c) / W.
    """

    def stat(block: Block) -> Totals:
        X = to_float64(block.X)
        X = X - like(near, X)
        s = np.ones(block.n_rows) if block.weight is None else to_numpy(block.weight)
        Z = X @ like(V, X)
        Z = Z if block.weight is None else Z * like(s, X)[:, None]
        return Totals(to_numpy(X.T @ Z), to_numpy(like(s, X) @ X))

    product, sums = blocks.reduce(stat)
    off = np.asarray(sums) / total
    return near + off, np.asarray(product) - total * np.outer(off, off @ V)


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
