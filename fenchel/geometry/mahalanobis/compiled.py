"""Quadratic scores a - ‖R(x - c) - t‖² / 2 for several upper triangular R, tile by tile.

A tile of rows is centred in a cache; rows b₀ … b₁ of every R look at columns from b₀ on, so that
one product of BLAS makes them for all classes and most of the zeros are left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray, njit
from numpy.typing import NDArray

from fenchel.data.passes.native.compiled import SUMS, call_gemm, pointer


@njit(**SUMS)
def _scores(
    A: NDArray[Any],
    i0: int,
    m: int,
    gemm: int,
    P: NDArray[Any],
    step: int,
    t: NDArray[Any],
    offset: NDArray[Any],
    T: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Rows i0 … i0 + m - 1 of out (n, K) from the centred rows A (m, d)."""
    d, classes = A.shape[1], offset.size
    height = t.shape[1]
    for i in range(m):
        for k in range(classes):
            out[i0 + i, k] = 0.0
    at = 0
    for first in range(0, height, step):
        rows, width = min(step, height - first), d - first
        wide = rows * classes
        call_gemm(
            gemm,
            m,
            wide,
            width,
            A.ctypes.data + 8 * first,
            d,
            P.ctypes.data + 8 * at,
            width,
            T.ctypes.data,
        )
        at += wide * width
        for i in range(m):
            line = T[i * wide : (i + 1) * wide]
            for k in range(classes):
                z, middle = line[k * rows : (k + 1) * rows], t[k, first : first + rows]
                total = 0.0
                for r in range(rows):
                    total += (z[r] - middle[r]) * (z[r] - middle[r])
                out[i0 + i, k] += total
    for i in range(m):
        for k in range(classes):
            out[i0 + i, k] = offset[k] - 0.5 * out[i0 + i, k]


@njit(**SUMS)
def dense_scores(
    table: int,
    values: NDArray[Any],
    ldx: int,
    n: int,
    fortran: bool,
    centre: NDArray[Any],
    lo: int,
    hi: int,
    tile: int,
    gemm: int,
    P: NDArray[Any],
    step: int,
    t: NDArray[Any],
    offset: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """Rows lo … hi - 1 of out."""
    d = centre.size
    X = carray(pointer(table, values), (d if fortran else n) * ldx)
    A, T = np.zeros((tile, d)), np.zeros(tile * step * offset.size)
    for i0 in range(lo, hi, tile):
        m = min(hi, i0 + tile) - i0
        if fortran:
            for j in range(d):
                x = X[j * ldx + i0 : j * ldx + i0 + m]
                for i in range(m):
                    A[i, j] = x[i] - centre[j]
        else:
            for i in range(m):
                x, to = X[(i0 + i) * ldx : (i0 + i) * ldx + d], A[i]
                for j in range(d):
                    to[j] = x[j] - centre[j]
        _scores(A, i0, m, gemm, P, step, t, offset, T, out)


@njit(**SUMS)
def csr_scores(
    data: NDArray[Any],
    indices: NDArray[Any],
    indptr: NDArray[Any],
    centre: NDArray[Any],
    lo: int,
    hi: int,
    tile: int,
    gemm: int,
    P: NDArray[Any],
    step: int,
    t: NDArray[Any],
    offset: NDArray[Any],
    out: NDArray[Any],
) -> None:
    """The same of sparse rows."""
    d = centre.size
    A, T = np.zeros((tile, d)), np.zeros(tile * step * offset.size)
    for i0 in range(lo, hi, tile):
        m = min(hi, i0 + tile) - i0
        for i in range(m):
            to = A[i]
            for j in range(d):
                to[j] = -centre[j]
            for e in range(indptr[i0 + i], indptr[i0 + i + 1]):
                to[indices[e]] = data[e] - centre[indices[e]]
        _scores(A, i0, m, gemm, P, step, t, offset, T, out)
