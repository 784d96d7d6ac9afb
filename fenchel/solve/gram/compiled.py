"""Products of parts of rows of a matrix, subtracted from its tiles: the update of a factor."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fenchel.data.passes.microkernel.compiled import ROWS, packed, points_of_panel, products
from fenchel.data.passes.native.compiled import call_trsm, triangular_solve

_settings: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
# Columns of a product that are added up in registers: a panel of them is 128 KiB in float32.
COLUMNS = 1024

__all__ = [
    "COLUMNS",
    "pack_points",
    "points_of_panel",
    "solve_rows",
    "subtract_products",
    "triangular_solve",
]


@njit(**_settings)
def pack_points(
    A: NDArray[Any], first: int, last: int, lo: int, hi: int, width: int, out: NDArray[Any]
) -> None:
    """Rows first … last - 1 of A, columns lo … hi - 1, in panels of `width` rows; to be called for
    COLUMNS columns at once."""
    size = -(-(last - first) // width) * width
    packed(A[first:last, lo:hi], width, out[lo * size : hi * size])


@njit(**_settings)
def solve_rows(
    trsm: int, A: NDArray[Any], lo: int, hi: int, k: int, end: int, single: bool
) -> None:
    """A[i, k … end - 1] L⁻ᵀ in place for rows lo … hi - 1, L the lower triangle of A[k:end, k:end]:
    called from Python BLAS would hold the interpreter."""
    n, size = len(A), A.itemsize
    corner, rows = A.ctypes.data + size * (k * n + k), A.ctypes.data + size * (lo * n + k)
    call_trsm(trsm, hi - lo, end - k, corner, n, rows, n, single)


@njit(**_settings)
def subtract_products(
    A: NDArray[Any],
    lo: int,
    hi: int,
    first: int,
    last: int,
    origin: int,
    end: int,
    width: int,
    panels: NDArray[Any],
) -> None:
    """A[i, j] -= Σₗ A[i, l] A[j, l] over l < origin for rows lo … hi - 1 and columns first …
    last - 1 of those from origin to end, which `pack_points` has packed; first - origin is a
    multiple of `width`."""
    n, size = len(A), A.itemsize
    height = -(-(end - origin) // width) * width
    found, tail = np.empty((ROWS, width), A.dtype), np.zeros((ROWS, COLUMNS), A.dtype)
    for q in range(0, origin, COLUMNS):
        d = min(COLUMNS, origin - q)
        for j0 in range(first, last, width):
            panel = panels.ctypes.data + size * (q * height + (j0 - origin) * d)
            for i0 in range(lo, hi, ROWS):
                rows, row_step = A.ctypes.data + size * (i0 * n + q), n
                if i0 + ROWS > n:
                    rows, row_step = tail.ctypes.data, COLUMNS
                    for r in range(n - i0):
                        for p in range(d):
                            tail[r, p] = A[i0 + r, q + p]
                products(rows, row_step, 1, panel, d, found.ctypes.data, width, found)
                for r in range(min(ROWS, hi - i0)):
                    line, made = A[i0 + r], found[r]
                    for j in range(min(width, last - j0)):
                        line[j0 + j] -= made[j]
