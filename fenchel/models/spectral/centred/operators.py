"""Doubly centred symmetric matrices as operators, in memory or by their factor.

    A = √S J B J' √S,   J = I - 1p',  p = s / Σ s

of a symmetric B; for a factor, B = RR' with rows that are centred already, A = RR'. Products are
made by ranges of rows on every thread; the ranges depend on the shape alone, and so do the bits.

Reference: Gower, Some distance properties of latent root and vector methods used in multivariate
analysis, Biometrika 53 (1966).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fenchel.data.parallel import one_blas_thread, ordered, thread_count
from fenchel.solve.eigen.products import DenseSymmetric

Floats = NDArray[np.float64]
# Rows of a range: 4096 x 50 are 1.6 MB, what a core's second cache holds.
RANGE = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Centring:
    """How rows are weighted: share: p; root: √s, None for equal weights."""

    share: Floats = field(repr=False)
    root: Floats | None = field(default=None, repr=False)

    @classmethod
    def of(cls, n: int, s: Floats | None) -> Centring:
        if s is None:
            return cls(np.full(n, 1.0 / n))
        return cls(s / s.sum(), np.sqrt(s))

    @property
    def weight(self) -> Floats | None:
        return None if self.root is None else self.root * self.root

    def spread(self, V: Floats) -> Floats:
        """J'√S V."""
        V = V if self.root is None else V * self.root[:, None]
        return np.asarray(V - np.multiply.outer(self.share, V.sum(axis=0)))

    def gather(self, V: Floats) -> Floats:
        """√S J V."""
        V = V - self.share @ V
        return np.asarray(V if self.root is None else V * self.root[:, None])


@final
@dataclass(frozen=True, slots=True, eq=False)
class CentredSymmetric:
    """A of a symmetric matrix B in memory, in float32 or float64, which is not changed."""

    B: NDArray[Any] = field(repr=False)
    centring: Centring

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.B), len(self.B)

    def __matmul__(self, V: Floats) -> Floats:
        image = DenseSymmetric(self.B) @ self.centring.spread(V)
        return self.centring.gather(np.asarray(image, np.float64))


@final
@dataclass(frozen=True, slots=True, eq=False)
class FactorProducts:
    """RR' by its products with vectors, O(nd) each: no matrix of side n is made."""

    R: Floats = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.R), len(self.R)

    def __matmul__(self, V: Floats) -> Floats:
        R, n = self.R, len(self.R)
        starts = range(0, n, RANGE)
        out = np.empty((n, V.shape[1]))
        inner = np.zeros((R.shape[1], V.shape[1]))

        def forward(lo: int) -> Floats:
            return np.asarray(R[lo : lo + RANGE].T @ V[lo : lo + RANGE])

        def back(lo: int) -> None:
            np.matmul(R[lo : lo + RANGE], inner, out=out[lo : lo + RANGE])

        with one_blas_thread():
            for part in ordered(forward, starts, thread_count()):
                inner += part
            for _ in ordered(back, starts, thread_count()):
                pass
        return out
