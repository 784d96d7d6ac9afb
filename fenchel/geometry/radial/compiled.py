"""A tile of squared distances, or of the Gaussian kernel, in one call without the interpreter.

Threads that make tiles by a dozen array operations each wait for the interpreter more than they
work: on sixteen cores a product with the Gaussian kernel took seven times its arithmetic.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray, njit

from fenchel.data.elementary.compiled import exp
from fenchel.data.passes.native.compiled import DOUBLE, call_gemm, pointer
from fenchel.geometry.compiled import distances_to, squared_distance
from fenchel.geometry.distance import LANES

# Without reassociation: a distance is the same sequence of operations whatever the tile.
_settings: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract", "nsz"},
}


@njit(**_settings)
def squares_directly(A: int, h: int, B: int, m: int, d: int, gamma: float, out: int) -> None:
    """out (h, m): ‖aᵢ - bⱼ‖² for d ≤ LANES, or exp(-γ‖aᵢ - bⱼ‖²) where γ > 0."""
    rows, points = carray(pointer(A, DOUBLE), (h, d)), carray(pointer(B, DOUBLE), (m, d))
    values = carray(pointer(out, DOUBLE), (h, m))
    columns = np.empty((d, m))
    for j in range(m):
        for q in range(d):
            columns[q, j] = points[j, q]
    for i in range(h):
        line = values[i]
        distances_to(rows[i], columns, 0, line)
        if gamma > 0.0:
            for j in range(m):
                line[j] = exp(-gamma * line[j])


@njit(**_settings)
def squares_by_product(
    gemm: int,
    A: int,
    a: int,
    row_squares: int,
    h: int,
    B: int,
    b: int,
    point_squares: int,
    m: int,
    d: int,
    share: float,
    gamma: float,
    out: int,
) -> None:
    """The same for any d: ‖a‖² - 2 a·b + ‖b‖² of the rows a, b less their mean, and directly from
    the rows A, B as they came where that is at most a share of ‖a‖² + ‖b‖², since the difference
    has then lost digits, or where it has overflowed."""
    rows, points = carray(pointer(A, DOUBLE), (h, d)), carray(pointer(B, DOUBLE), (m, d))
    left, right = (
        carray(pointer(row_squares, DOUBLE), h),
        carray(pointer(point_squares, DOUBLE), m),
    )
    values = carray(pointer(out, DOUBLE), (h, m))
    lanes = np.empty(LANES)
    call_gemm(gemm, h, m, d, a, d, b, d, out)
    for i in range(h):
        line, own, lost = values[i], left[i], np.int64(0)
        for j in range(m):
            total = own + right[j]
            line[j] = total - 2.0 * line[j]
            lost += np.int64(not line[j] > share * total)
        if lost:
            for j in range(m):
                if not line[j] > share * (own + right[j]):
                    line[j] = squared_distance(rows[i], points[j], lanes)
        if gamma > 0.0:
            for j in range(m):
                line[j] = exp(-gamma * line[j])
