"""Symmetric matrices in memory as operators: products by ranges of rows, on every thread.

The ranges depend on the shape alone, so that the bits do not depend on the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.parallel import one_blas_thread, parallel_map

Floats = NDArray[np.float64]
# Rows of a range: of an 8000 x 8000 matrix times 15 columns 256, 512 and 1024 rows took 32, 29 and
# 30 ms on two threads.
RANGE = 512


@dataclass(frozen=True, slots=True, eq=False)
class DenseSymmetric:
    """A = A' in memory, in float32 or float64; V is taken in that precision."""

    A: NDArray[Any]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.A.shape

    def __matmul__(self, V: Floats) -> NDArray[Any]:
        A = self.A
        n = len(A)
        # Squares of single-precision entries may overflow where V has any scale: it has none.
        V = np.ascontiguousarray(V, dtype=A.dtype)
        out = np.empty((n, *V.shape[1:]), A.dtype)

        def work(lo: int) -> None:
            np.matmul(A[lo : lo + RANGE], V, out=out[lo : lo + RANGE])

        with one_blas_thread():
            parallel_map(work, range(0, n, RANGE))
        return out


@dataclass(frozen=True, slots=True, eq=False)
class Negative:
    """-A."""

    operator: Any

    @property
    def shape(self) -> Any:
        return self.operator.shape

    def __matmul__(self, other: Floats) -> Floats:
        return -np.asarray(self.operator @ other)


@dataclass(frozen=True, slots=True, eq=False)
class Deflated:
    """A - shift Σ qq', q the orthonormal columns of `known`, eigenvectors of A of eigenvalue 1:
    theirs becomes 1 - shift, and the other eigenvalues stay what they are.

    With |A| = 1 a shift of 2.5 takes them below all others; one of 2 leaves them in [-1, 1].
    """

    operator: Any
    known: Floats
    shift: float = 2.5

    @property
    def shape(self) -> Any:
        return self.operator.shape

    def __matmul__(self, V: Floats) -> Floats:
        out = np.asarray(self.operator @ V, dtype=np.float64)
        return np.asarray(out - self.known @ (self.shift * (self.known.T @ V)))
