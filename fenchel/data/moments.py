"""Mergeable count, mean and scatter, kept around means so that large offsets cost no digits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import double, host, is_sparse, like
from fenchel.data.blocks import Block

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Moments:
    """Weight W = Σ sᵢ, mean m = Σ sᵢ xᵢ / W and scatter S = Σ sᵢ (xᵢ - m)(xᵢ - m)'.

    Two parts merge by S = S₁ + S₂ + (W₁ W₂ / W) δδ', δ = m₂ - m₁: no difference of large squares
    is ever taken, so a column at 1e8 + noise keeps its variance.

    Reference: Chan, Golub, LeVeque, 1979.
    """

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
    def of(cls, block: Block) -> Moments:
        """The moments of one block, by two looks at it."""
        return cls.of_rows(block.X, block.weight)

    @classmethod
    def of_rows(cls, X: Any, weight: Any | None) -> Moments:
        X = double(X.toarray() if is_sparse(X) else X)
        s = like(np.ones(X.shape[0]), X) if weight is None else double(weight)
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
        return cls(total, host(rough + rest), host(centred.T @ centred))

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

    @staticmethod
    def of(n_classes: int) -> Callable[[Block], ClassMoments]:
        """The statistic for a target of n_classes codes."""

        def stat(block: Block) -> ClassMoments:
            if block.y is None:
                raise ValueError("class moments need a target y")
            X, y = block.X, block.y

            def rows(k: int) -> Moments:
                here = y == k
                weight = None if block.weight is None else block.weight[here]
                return Moments.of_rows(X[here], weight)

            empty = Moments.none(X.shape[1])
            present = set(np.unique(host(y)).tolist())
            return ClassMoments(tuple(rows(k) if k in present else empty for k in range(n_classes)))

        return stat
