"""Mergeable count, mean and scatter, kept around means so that large offsets cost no digits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import is_sparse, like, to_float64, to_numpy
from fenchel.data.block import Block
from fenchel.data.moments.row_moments import RowScatter
from fenchel.data.moments.scatter_loops import DENSE, ScatterKernel, symmetric
from fenchel.data.statistic import RowLayout, Slots, Statistic

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Moments:
    """Weight W = Σ sᵢ, mean m = Σ sᵢ xᵢ / W and scatter S = Σ sᵢ (xᵢ - m)(xᵢ - m)'.

    Two parts merge by S = S₁ + S₂ + (W₁ W₂ / W) δδ', δ = m₂ - m₁: no difference of large squares
    is ever taken, so a column at 1e8 + noise keeps its variance.

    `Moments.of` is the statistic.

    Reference: Chan, Golub, LeVeque, 1979.
    """

    of: ClassVar[Statistic[Moments]]
    weight: float
    mean: Floats
    scatter: Floats

    def __add__(self, other: Moments) -> Moments:
        if other.weight == 0.0:
            return self
        if self.weight == 0.0:
            return other
        total = self.weight + other.weight
        share = other.weight / total
        delta = other.mean - self.mean
        mean = self.mean + delta * share
        # The root goes inside, so that nothing larger than the scatter itself is formed.
        apart = delta * np.sqrt(self.weight * share)
        return Moments(total, mean, self.scatter + other.scatter + np.outer(apart, apart))

    @property
    def covariance(self) -> Floats:
        """S / W, the maximum-likelihood covariance."""
        return self.scatter / self.weight

    @classmethod
    def of_rows(cls, X: Any, weight: Any | None) -> Moments:
        X = to_float64(X.toarray() if is_sparse(X) else X)
        s = like(np.ones(X.shape[0]), X) if weight is None else to_float64(weight)
        total = float(s.sum())
        if total == 0.0:
            return cls.none(X.shape[1])
        # The mean of what the first mean leaves over: exact to the noise of 1e8 + noise. (A row
        # as the shift would do as well, but not when it is an outlier or has no weight.)
        rough = (s @ X) / total
        centred = X - rough
        rest = (s @ centred) / total
        centred -= rest
        if weight is not None:
            centred *= (s**0.5)[:, None]
        # One factor on both sides, so the product is symmetric to the last bit.
        return cls(total, to_numpy(rough + rest), to_numpy(centred.T @ centred))

    @classmethod
    def none(cls, n_cols: int) -> Moments:
        """The moments of no rows."""
        return cls(0.0, np.zeros(n_cols), np.zeros((n_cols, n_cols)))


@dataclass(frozen=True, slots=True)
class ClassMoments:
    """One `Moments` for each class code 0 … K-1 of the target."""

    parts: tuple[Moments, ...]

    def __add__(self, other: ClassMoments) -> ClassMoments:
        return ClassMoments(tuple(a + b for a, b in zip(self.parts, other.parts, strict=True)))

    @property
    def pooled(self) -> Moments:
        """The moments of all rows together: the total scatter, between classes included."""
        total = self.parts[0]
        for part in self.parts[1:]:
            total = total + part
        return total

    @property
    def within(self) -> Floats:
        """Σ over classes of their scatters: the within-class scatter."""
        return np.sum([part.scatter for part in self.parts], axis=0)

    @property
    def shared(self) -> SharedMoments:
        """The same with one scatter for all classes."""
        weight = np.array([part.weight for part in self.parts])
        return SharedMoments(weight, np.array([part.mean for part in self.parts]), self.within)

    @staticmethod
    def of(n_classes: int) -> Statistic[ClassMoments]:
        """The statistic for a target of n_classes codes."""
        return MomentsByClass(n_classes)


@dataclass(frozen=True, slots=True)
class SharedMoments:
    """Weight (K,) and mean (K, d) of each class, and the scatter within classes, Σₖ Sₖ (d, d)."""

    weight: Floats
    mean: Floats
    scatter: Floats

    def __add__(self, other: SharedMoments) -> SharedMoments:
        total = self.weight + other.weight
        share = other.weight / np.where(total > 0.0, total, 1.0)
        # A class that one side lacks takes the other's mean, without a rounding.
        delta = np.where((self.weight * other.weight > 0.0)[:, None], other.mean - self.mean, 0.0)
        mean = np.where((self.weight > 0.0)[:, None], self.mean, other.mean)
        apart = delta * np.sqrt(self.weight * share)[:, None]
        scatter = self.scatter + other.scatter + apart.T @ apart
        return SharedMoments(total, mean + delta * share[:, None], scatter)

    @property
    def pooled(self) -> Moments:
        """The moments of all rows together: the scatter between classes included."""
        total = float(self.weight.sum())
        rough = (self.weight / total) @ self.mean
        mean = rough + (self.weight / total) @ (self.mean - rough)
        apart = (self.mean - mean) * np.sqrt(self.weight)[:, None]
        return Moments(total, mean, self.scatter + apart.T @ apart)

    @staticmethod
    def of(n_classes: int) -> Statistic[SharedMoments]:
        """The statistic for a target of n_classes codes."""
        return MomentsWithin(n_classes)


@dataclass(frozen=True, slots=True)
class MomentsOfRows(Statistic[Moments]):
    """The moments of all rows, by two looks at each."""

    def __call__(self, block: Block) -> Moments:
        return Moments.of_rows(block.X, block.weight)

    def compiled(self, block: Block, layout: RowLayout) -> _OfRows | _OfSparseRows | None:
        if layout.order != "csr":
            return _OfRows(block, layout)
        if _worthwhile(block, layout):
            return _OfSparseRows(block, layout, None, shared=True)
        return None


Moments.of = MomentsOfRows()


@dataclass(frozen=True, slots=True)
class MomentsByClass(Statistic[ClassMoments]):
    """The moments of each class of rows."""

    n_classes: int

    def __call__(self, block: Block) -> ClassMoments:
        if block.y is None:
            raise ValueError("class moments need a target y")
        X, y = block.X, block.y

        def rows(k: int) -> Moments:
            here = y == k
            weight = None if block.weight is None else block.weight[here]
            return Moments.of_rows(X[here], weight)

        empty = Moments.none(X.shape[1])
        present = set(np.unique(to_numpy(y)).tolist())
        parts = (rows(k) if k in present else empty for k in range(self.n_classes))
        return ClassMoments(tuple(parts))

    def compiled(self, block: Block, layout: RowLayout) -> _ByClass | None:
        if block.y is None or not _worthwhile(block, layout):
            return None
        return _ByClass(block, layout, self.n_classes, shared=False)


@dataclass(frozen=True, slots=True)
class MomentsWithin(Statistic[SharedMoments]):
    """The weight and mean of each class of rows, and one scatter within the classes."""

    n_classes: int

    def __call__(self, block: Block) -> SharedMoments:
        return MomentsByClass(self.n_classes)(block).shared

    def compiled(self, block: Block, layout: RowLayout) -> _Within | None:
        if block.y is None or not _worthwhile(block, layout):
            return None
        return _Within(block, layout, self.n_classes, shared=True)


def _worthwhile(block: Block, layout: RowLayout) -> bool:
    cells = block.n_rows * layout.n_cols
    return layout.order != "csr" or bool(block.X.nnz <= DENSE * cells)


class _OfRows(RowScatter[Moments]):
    def result(self, sums: Slots) -> Moments:
        W, M, S = sums
        return Moments(float(W), M, S)


class _OfSparseRows(ScatterKernel[Moments]):
    def result(self, sums: Slots) -> Moments:
        W, M, S = sums
        return Moments(float(W[0]), M[0], symmetric(S[0]))


class _ByClass(ScatterKernel[ClassMoments]):
    def result(self, sums: Slots) -> ClassMoments:
        each = zip(*sums, strict=True)
        return ClassMoments(tuple(Moments(float(w), m, symmetric(S)) for w, m, S in each))


class _Within(ScatterKernel[SharedMoments]):
    def result(self, sums: Slots) -> SharedMoments:
        W, M, S = sums
        return SharedMoments(W, M, symmetric(S[0]))
