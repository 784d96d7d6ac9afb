"""A tile of squared distances, or of the Gaussian kernel, in one call without the interpreter.

Threads that make tiles by a dozen array operations each wait for the interpreter more than they
work: on sixteen cores a product with the Gaussian kernel took seven times its arithmetic.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray, njit
from numpy.typing import NDArray

from fenchel.data.elementary.compiled import exp, exp_single
from fenchel.data.passes.microkernel.compiled import DOUBLES, ROWS, SINGLES, packed, products
from fenchel.data.passes.native.compiled import DOUBLE, SUMS, pointer
from fenchel.geometry.compiled import distances_to, squared_distance
from fenchel.geometry.distance import LANES

SINGLE = np.zeros(1, np.float32)
NOTHING = np.float32(0.0)
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
    moved, others = carray(pointer(a, DOUBLE), (h, d)), carray(pointer(b, DOUBLE), (m, d))
    left, right = (
        carray(pointer(row_squares, DOUBLE), h),
        carray(pointer(point_squares, DOUBLE), m),
    )
    values = carray(pointer(out, DOUBLE), (h, m))
    lanes = np.empty(LANES)
    panels = -(-m // DOUBLES)
    height, width = np.empty(ROWS * d), np.empty(panels * DOUBLES * d)
    found = np.empty((ROWS, panels * DOUBLES))
    packed(others, DOUBLES, width)
    for i0 in range(0, h, ROWS):
        packed(moved[i0 : i0 + ROWS], ROWS, height)
        for panel in range(panels):
            products(
                height.ctypes.data,
                1,
                ROWS,
                width.ctypes.data + 8 * panel * DOUBLES * d,
                d,
                found.ctypes.data + 8 * panel * DOUBLES,
                found.shape[1],
                DOUBLE,
            )
        for i in range(i0, min(i0 + ROWS, h)):
            line, made, own, lost = values[i], found[i - i0], left[i], np.int64(0)
            for j in range(m):
                total = own + right[j]
                line[j] = total - 2.0 * made[j]
                lost += np.int64(not line[j] > share * total)
            if lost:
                for j in range(m):
                    if not line[j] > share * (own + right[j]):
                        line[j] = squared_distance(rows[i], points[j], lanes)
            if gamma > 0.0:
                for j in range(m):
                    line[j] = exp(-gamma * line[j])


CHUNK = 64  # terms of a sum in float32
# Points whose products with ROWS rows are made before their exponentials: 2¹⁸ bytes of them stay in
# the second cache while all rows pass, and no fewer than four panels.
PANEL_BYTES = 2**18


@njit(**_settings)
def _width(d: int) -> int:
    panels = max(4, min(PANEL_BYTES // (4 * d * SINGLES), 512 // SINGLES))
    return panels * SINGLES


@njit(**_settings)
def _gaussians(
    height: int,
    width: int,
    norms: NDArray[Any],
    lo: int,
    hi: int,
    d: int,
    found: NDArray[Any],
    here: int,
    own: NDArray[Any],
) -> None:
    """found[r, j] = exp(a·b - ‖a‖²/2 - ‖b‖²/2) in float32 of the packed rows at `height` and the
    points lo … hi - 1 of those packed at `width`; lo is a multiple of a panel."""
    for j in range(lo, hi, SINGLES):
        products(
            height,
            1,
            ROWS,
            width + 4 * j * d,
            d,
            found.ctypes.data + 4 * (j - lo),
            found.shape[1],
            SINGLE,
        )
    for r in range(here):
        line, half, at = found[r], own[r], norms[lo:hi]
        for j in range(hi - lo):
            line[j] = exp_single(min(line[j] - (half + at[j]), NOTHING))


@njit(**SUMS)
def _sums(values: NDArray[Any], coef: NDArray[Any]) -> Any:
    """Σ cⱼ kⱼ and Σ |cⱼ kⱼ| in float32, in any order."""
    total, size = NOTHING, NOTHING
    for j in range(values.size):
        term = coef[j] * values[j]
        total += term
        size += abs(term)
    return total, size


@njit(**_settings)
def gaussian_sums(
    height: NDArray[Any],
    own: NDArray[Any],
    width: NDArray[Any],
    norms: NDArray[Any],
    d: int,
    coef: NDArray[Any],
    sums: NDArray[Any],
    sizes: NDArray[Any],
) -> None:
    """sums[i, q] += Σⱼ c[q, j] k(aᵢ, bⱼ), and sizes likewise of |c|, of packed rows and points:
    CHUNK terms at a time in float32, which are added in float64."""
    step, m = _width(d), norms.size
    found = np.empty((ROWS, step), np.float32)
    for left in range(0, m, step):
        right = min(left + step, m)
        for i0 in range(0, own.size, ROWS):
            here = min(ROWS, own.size - i0)
            _gaussians(
                height.ctypes.data + 4 * i0 * d,
                width.ctypes.data,
                norms,
                left,
                right,
                d,
                found,
                here,
                own[i0 : i0 + ROWS],
            )
            for q in range(coef.shape[0]):
                c = coef[q, left:right]
                for r in range(here):
                    made = found[r, : right - left]
                    for lo in range(0, made.size, CHUNK):
                        total, size = _sums(made[lo : lo + CHUNK], c[lo : lo + CHUNK])
                        sums[i0 + r, q] += total
                        sizes[i0 + r, q] += size


@njit(**_settings)
def gaussian_rows(
    height: NDArray[Any],
    own: NDArray[Any],
    width: NDArray[Any],
    norms: NDArray[Any],
    d: int,
    lo: int,
    hi: int,
    factor: float,
    rows: NDArray[Any],
    places: NDArray[Any],
) -> None:
    """Columns lo … hi - 1 of rows[places]: factor · exp(-‖a - b‖²/2) in float32 of packed rows."""
    start = lo - lo % SINGLES
    step, times = _width(d), np.float32(factor)
    found = np.empty((ROWS, step), np.float32)
    for left in range(start, hi, step):
        right = min(left + step, hi)
        for i0 in range(0, own.size, ROWS):
            here = min(ROWS, own.size - i0)
            _gaussians(
                height.ctypes.data + 4 * i0 * d,
                width.ctypes.data,
                norms,
                left,
                right,
                d,
                found,
                here,
                own[i0 : i0 + ROWS],
            )
            for r in range(here):
                line, made = rows[places[i0 + r]], found[r]
                for j in range(max(lo - left, 0), right - left):
                    line[left + j] = times * made[j]
