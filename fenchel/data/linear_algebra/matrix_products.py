"""Products of a matrix that is kept with a vector or a few, by tiles on all threads.

Each row's sum is made of sums over PART columns, so that its rounding error is at most
(PART + n/PART) U Σ|kᵢⱼ vⱼ| in place of n U Σ|kᵢⱼ vⱼ|. The bits do not depend on the threads.

Reference: Higham, Accuracy and Stability of Numerical Algorithms (2002), section 4.2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fenchel.data.parallel import one_blas_thread, parallel_map

Floats = NDArray[np.float64]
ROWS, PART = 256, 512


def matrix_product(K: Floats, v: Floats) -> Floats:
    """K v for a vector v or the columns of a matrix."""
    n, m = K.shape
    out = np.zeros((n, *v.shape[1:]))

    def add(row: int) -> None:
        rows = slice(row, min(row + ROWS, n))
        with one_blas_thread():
            for lo in range(0, m, PART):
                out[rows] += K[rows, lo : lo + PART] @ v[lo : lo + PART]

    with one_blas_thread():
        parallel_map(add, range(0, n, ROWS))
    return out


def product_error(m: int) -> float:
    """γ with |fl(K v) - K v| ≤ γ |K||v| for m columns, of these products and of those by tiles."""
    return (PART + m / PART + 4.0) * 2.0**-53
