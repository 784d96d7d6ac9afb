"""Weight, mean and scatter of each class of a table, whatever the scale of its columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import is_sparse, like, to_float64, to_numpy
from fenchel.data.blocks import Block, Blocks
from fenchel.data.moments.class_moments import ClassMoments, SharedMoments
from fenchel.models.estimator import as_numpy
from fenchel.models.labels import encode_labels

Floats = NDArray[np.float64]
SMALLEST = 1e-290  # of a column's largest size: below it 1 / size leaves float64
# A variance of a smaller size may have lost digits to underflow, or all of them.
UNDERFLOW = 1e-240


@dataclass(frozen=True, slots=True, eq=False)
class ClassSums:
    """Weight (K,), mean (K, d) and scatter (1 or K, d, d) of classes, for columns divided by
    2^exponent (d,), which is exact; one scatter is the sum over the classes."""

    weight: Floats
    mean: Floats
    scatter: Floats
    exponent: NDArray[np.int64]

    def __add__(self, other: ClassSums) -> ClassSums:
        if len(self.scatter) == 1:
            shared = SharedMoments(self.weight, self.mean, self.scatter[0]) + SharedMoments(
                other.weight, other.mean, other.scatter[0]
            )
            return ClassSums(shared.weight, shared.mean, shared.scatter[None], self.exponent)
        return _of_each(_each(self) + _each(other), self.exponent)

    @property
    def within(self) -> Floats:
        """Σₖ Sₖ."""
        return np.asarray(self.scatter.sum(axis=0))

    @property
    def total_variance(self) -> Floats:
        """The variance of each column over all rows."""
        share = self.weight / self.weight.sum()
        apart = self.mean - share @ self.mean
        return np.diagonal(self.within) / self.weight.sum() + share @ apart**2


def _each(sums: ClassSums) -> ClassMoments:
    from fenchel.data.moments.class_moments import Moments

    parts = zip(sums.weight.tolist(), sums.mean, sums.scatter, strict=True)
    return ClassMoments(tuple(Moments(*part) for part in parts))


def _of_each(moments: ClassMoments, exponent: NDArray[np.int64]) -> ClassSums:
    parts = moments.parts
    weight = np.array([part.weight for part in parts])
    mean, scatter = np.array([p.mean for p in parts]), np.array([p.scatter for p in parts])
    return ClassSums(weight, mean, scatter, exponent)


def class_coded(estimator: Any, X: Any, y: Any, weight: Any) -> tuple[NDArray[Any], Blocks]:
    """The sorted classes, and the rows with class codes 0 … K-1 for targets."""
    classes, blocks = encode_labels(estimator, X, y, weight, None)
    if len(classes) > 2:
        return classes, blocks

    def code(block: Block) -> Block:
        second: Any = block.y
        second = second > 0
        codes = second.astype(np.int64) if isinstance(second, np.ndarray) else second.long()
        return Block(block.start, block.X, codes, block.weight)

    return classes, blocks.map(code)


def class_sums(blocks: Blocks, n_classes: int, *, shared: bool) -> ClassSums:
    """One pass over rows with class codes; two more where squares leave the range of float64.

    shared: one scatter for all classes.
    """
    exponent = np.zeros(blocks.n_cols, np.int64)
    sums = _pass(blocks, n_classes, shared, exponent)
    if _is_safe(sums):
        return sums
    size = blocks.reduce(LargestEntries.of).size
    lost = np.flatnonzero((size > 0.0) & (size < SMALLEST))
    if len(lost):
        raise ValueError(
            f"the largest number of {blocks.column(int(lost[0]))} is {size[lost[0]]:.2g}, which "
            f"leaves float64 no room: multiply the column by a power of ten"
        )
    normal = (size == 0.0) | ((size > 1e-90) & (size < 1e90))
    if normal.all():
        return sums  # what looked like underflow is a column without variance
    exponent = np.where(size == 0.0, 0, np.frexp(size)[1]).astype(np.int64)
    return _pass(scaled(blocks, exponent), n_classes, shared, exponent)


def scaled(blocks: Blocks, exponent: NDArray[np.int64]) -> Blocks:
    """The rows with each column divided by 2^exponent."""
    if not exponent.any():
        return blocks
    # In two steps: 2^1023 is the largest factor there is.
    half = -(exponent // 2)
    first, second = np.ldexp(1.0, half), np.ldexp(1.0, -exponent - half)

    def scale(block: Block) -> Block:
        X = to_float64(block.X)
        if is_sparse(X):
            X = X.multiply(first[None, :]).multiply(second[None, :]).tocsr()
        else:
            X = (X * like(first, X)) * like(second, X)
        return Block(block.start, X, block.y, block.weight)

    return blocks.map(scale)


def _pass(blocks: Blocks, n_classes: int, shared: bool, exponent: NDArray[np.int64]) -> ClassSums:
    with np.errstate(over="ignore", invalid="ignore", under="ignore", divide="ignore"):
        if not shared:
            return _of_each(blocks.reduce(ClassMoments.of(n_classes)), exponent)
        found: SharedMoments = blocks.reduce(SharedMoments.of(n_classes))
    return ClassSums(found.weight, found.mean, found.scatter[None], exponent)


def _is_safe(sums: ClassSums) -> bool:
    with np.errstate(all="ignore"):
        variance = sums.total_variance
        if not (np.isfinite(variance).all() and np.isfinite(sums.scatter).all()):
            return False
        largest = np.abs(sums.mean).max(axis=0)
        # A constant column: its mean is far from where squares vanish.
        constant = (variance == 0.0) & (largest > 1e-120)
        return bool((constant | (variance > UNDERFLOW)).all())


@dataclass(frozen=True, slots=True, eq=False)
class LargestEntries:
    """max |x| of each column over the rows of positive weight."""

    size: Floats

    def __add__(self, other: LargestEntries) -> LargestEntries:
        return LargestEntries(np.maximum(self.size, other.size))

    @classmethod
    def of(cls, block: Block) -> LargestEntries:
        X = as_numpy(block.X) if not is_sparse(block.X) else block.X
        if block.weight is not None:
            X = X[np.flatnonzero(to_numpy(block.weight) > 0.0)]
        if not X.shape[0]:
            return cls(np.zeros(X.shape[1]))
        if is_sparse(X):
            return cls(abs(X).max(axis=0).toarray().ravel().astype(np.float64))
        return cls(np.abs(X).max(axis=0).astype(np.float64))
