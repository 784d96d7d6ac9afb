"""Cholesky's factor by tiles, left-looking: A = LL' in place, on all threads.

Each block column is updated by products with the columns before it, then solved with its own
diagonal tile. Products are made in registers (`data.passes.microkernel`), n³/3 of them at 170
GFLOP/s in float32 where LAPACK reaches 103. What an entry is computed from, and in which order,
does not depend on the number of threads, nor do its bits.

Reference: Golub and Van Loan, Matrix Computations (2013), section 4.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from fenchel.data.parallel import one_blas_thread, parallel_map, thread_count

# Columns that are factored together. Measured at n = 6,000 in float32 on one core: 0.42 s for 96 to
# 256; the fewer, the shorter what one thread does alone.
TILE = 192
# An entry is the same sum whatever is computed at once, so that the pieces that threads take may be
# small: rows and columns of one.
STRIP, SHARE = 64, 128
# Rows that are substituted together, and rows of a part of their products.
BLOCK, PART = 512, 64


def tiled_cholesky(A: NDArray[Any], tile: int = TILE) -> bool:
    """Writes L into the lower triangle of a symmetric C-ordered matrix, whose upper tiles are
    neither read nor written; False where a pivot is not positive."""
    n, workers = len(A), thread_count()
    potrf = linalg.get_lapack_funcs("potrf", (A,))
    with one_blas_thread():
        for k in range(0, n, tile):
            here = slice(k, min(k + tile, n))
            if k:
                _update(A, here, workers)
            corner, failed = potrf(A[here, here], lower=1, clean=1)
            if failed or not np.isfinite(corner.diagonal()).all():
                return False
            A[here, here] = corner
            _solve(A, here, workers)
    return True


def _update(A: NDArray[Any], here: slice, workers: int) -> None:
    """A[i, here] -= A[i, :k] A[here, :k]' for the rows below, k = here.start."""
    from fenchel.solve.gram.compiled import (
        COLUMNS,
        pack_points,
        points_of_panel,
        subtract_products,
    )

    n, k, end = len(A), here.start, here.stop
    width = points_of_panel(A.itemsize)
    panels = np.empty(-(-(end - k) // width) * width * k, A.dtype)

    def pack(lo: int) -> None:
        pack_points(A, k, end, lo, min(lo + COLUMNS, k), width, panels)

    parallel_map(pack, range(0, k, COLUMNS), workers)
    step = SHARE // width * width

    def subtract(corner: tuple[int, int]) -> None:
        i, j = corner
        subtract_products(A, i, min(i + STRIP, n), j, min(j + step, end), k, end, width, panels)

    corners = [(i, j) for i in range(k, n, STRIP) for j in range(k, end, step)]
    parallel_map(subtract, corners, workers)


def _solve(A: NDArray[Any], here: slice, workers: int) -> None:
    """A[i, here] L⁻ᵀ for the rows below, L the factor of A[here, here]."""
    from fenchel.solve.gram.compiled import solve_rows, triangular_solve

    n, trsm, single = len(A), triangular_solve(A.dtype.name), A.dtype == np.float32

    def solve(i: int) -> None:
        solve_rows(trsm, A, i, min(i + STRIP, n), here.start, here.stop, single)

    parallel_map(solve, range(here.stop, n, STRIP), workers)


def solve_factored(L: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """A⁻¹b from the factor of `tiled_cholesky`: forward and backward substitution in blocks, whose
    products with the rest of the factor are made on all threads. n² multiplications, as fast as
    memory gives the factor twice."""
    n = len(L)
    x = np.array(b, L.dtype)
    starts = range(0, n, BLOCK)
    with one_blas_thread():
        for k in starts:
            end = min(k + BLOCK, n)

            def forward(i: int, k: int = k, end: int = end) -> None:
                rows = slice(i, min(i + PART, end))
                x[rows] -= L[rows, :k] @ x[:k]

            if k:
                parallel_map(forward, range(k, end, PART))
            corner = L[k:end, k:end]
            x[k:end] = linalg.solve_triangular(corner.T, x[k:end], trans=1, check_finite=False)
        for k in reversed(starts):
            end = min(k + BLOCK, n)
            corner = L[k:end, k:end]
            x[k:end] = linalg.solve_triangular(corner.T, x[k:end], check_finite=False)

            def backward(i: int, k: int = k, end: int = end) -> None:
                columns = slice(i, min(i + BLOCK, k))
                x[columns] -= L[k:end, columns].T @ x[k:end]

            parallel_map(backward, range(0, k, BLOCK))
    return x
