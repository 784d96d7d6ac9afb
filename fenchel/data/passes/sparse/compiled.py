"""Compressed sparse rows: products that scipy does not fuse, on the thread that holds the block."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fenchel.data.passes.native.compiled import SUMS, call_rows

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


@njit(**SUMS)
def csr_sweep(
    data: NDArray[Any],
    indices: NDArray[Any],
    indptr: NDArray[Any],
    y: NDArray[Any],
    s: NDArray[Any],
    W: NDArray[Any],
    b: NDArray[Any],
    function: int,
    parameters: NDArray[Any],
    part: int,
    first: int,
    last: int,
    G: NDArray[Any],
    sums: NDArray[Any],
) -> None:
    """Parts first … last - 1 of rows: Z = X W + b, (r, sums) by the row function, G[p] = X'r."""
    n, q, k, extra = indptr.size - 1, W.shape[1], G.shape[2], sums.shape[1] - G.shape[2]
    tile = min(256, part)
    Z = np.zeros((q, tile))
    R = np.zeros((k, tile))
    more = np.zeros(max(extra, 1))
    t = np.zeros(q, W.dtype)
    for p in range(first, last):
        end = min(n, (p + 1) * part)
        for i0 in range(p * part, end, tile):
            m = min(end, i0 + tile) - i0
            for i in range(m):
                lo, hi = np.uint64(indptr[i0 + i]), np.uint64(indptr[i0 + i + 1])
                if q == 1:
                    total = W[0, 0] * 0
                    for e in range(lo, hi):
                        total += data[e] * W[np.uint64(indices[e]), 0]
                    Z[0, i] = total + b[0]
                else:
                    for c in range(q):
                        t[c] = 0
                    for e in range(lo, hi):
                        w = W[np.uint64(indices[e])]
                        for c in range(q):
                            t[c] += data[e] * w[c]
                    for c in range(q):
                        Z[c, i] = t[c] + b[c]
            call_rows(
                function,
                m,
                tile,
                y[i0:].ctypes.data,
                Z.ctypes.data,
                s[i0:].ctypes.data,
                parameters.ctypes.data,
                R.ctypes.data,
                more.ctypes.data,
            )
            for i in range(m):
                lo, hi = np.uint64(indptr[i0 + i]), np.uint64(indptr[i0 + i + 1])
                for c in range(k):
                    r = R[c, i]
                    sums[p, c] += r
                    if r != 0.0:
                        for e in range(lo, hi):
                            G[p, np.uint64(indices[e]), c] += r * data[e]
        for e in range(extra):
            sums[p, k + e] = more[e]
            more[e] = 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def csr_column_sizes(
    data: NDArray[Any],
    indices: NDArray[Any],
    indptr: NDArray[Any],
    part: int,
    first: int,
    last: int,
    found: NDArray[Any],
) -> None:
    """found[p, j] = max |x_j| over part p; NaN for all columns where a value is no number."""
    n = indptr.size - 1
    for p in range(first, last):
        top, total = found[p], 0.0
        for q in range(indptr[p * part], indptr[min(n, (p + 1) * part)]):
            size = abs(data[q])
            top[indices[q]] = max(top[indices[q]], size)
            total += 0.0 * size  # NaN once a value is none
        if total != 0.0:
            top[:] = np.nan
