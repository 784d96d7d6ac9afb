"""Compressed sparse rows: products that scipy does not fuse, on the thread that holds the block."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

# `fastmath` lets the sums over a row be vectorised; no value here is NaN or infinite, since the
# rows were checked when the table came in.
_settings: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": True}


@njit(**_settings)
def csr_forward(
    data: NDArray[Any],
    indices: NDArray[Any],
    indptr: NDArray[Any],
    w: NDArray[Any],
    z: NDArray[Any],
) -> None:
    """z = X w."""
    for i in range(np.uint64(indptr.size - 1)):
        total = z.dtype.type(0)
        for q in range(np.uint64(indptr[i]), np.uint64(indptr[i + np.uint64(1)])):
            total += data[q] * w[indices[q]]
        z[i] = total


@njit(**_settings)
def csr_adjoint(
    data: NDArray[Any],
    indices: NDArray[Any],
    indptr: NDArray[Any],
    r: NDArray[Any],
    g: NDArray[Any],
) -> None:
    """g += X' r."""
    for i in range(np.uint64(indptr.size - 1)):
        scale = r[i]
        if scale != 0:
            for q in range(np.uint64(indptr[i]), np.uint64(indptr[i + np.uint64(1)])):
                g[indices[q]] += scale * data[q]


@njit(**_settings)
def csr_normal(
    data: NDArray[Any],
    indices: NDArray[Any],
    indptr: NDArray[Any],
    h: NDArray[Any],
    v: NDArray[Any],
    level: float,
    g: NDArray[Any],
) -> float:
    """g += X' diag(h) (X v + level), one read of X; returns Σ h (X v + level)."""
    total = 0.0
    for i in range(np.uint64(indptr.size - 1)):
        lo, hi = np.uint64(indptr[i]), np.uint64(indptr[i + np.uint64(1)])
        u = v.dtype.type(level)
        for q in range(lo, hi):
            u += data[q] * v[indices[q]]
        u *= h[i]
        total += u
        for q in range(lo, hi):
            g[indices[q]] += u * data[q]
    return total
