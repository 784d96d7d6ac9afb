"""One pass over dense rows: scores z = X w + b, a function of the rows, and its adjoint X'r.

For each tile of rows that fits the second cache: Z = W X' + b, then a row function makes r and some
sums from (y, Z, s), then G += R X. A tile is read from memory once. Rows lie in C or in Fortran
order; float32 rows are multiplied in float32, or in float64 where an exact pass asks for it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import carray, njit, types
from numpy.typing import NDArray

from fenchel.data.passes.native.compiled import (
    DOUBLE,
    SUMS,
    c_function,
    call_adjoint,
    call_rooted,
    call_rows,
    call_scores,
    call_syrk,
    pointer,
)

_BOUND: Any = None
# The type of the rows and of the arithmetic; whether columns are contiguous: bound by `product`.
VALUES = WORKING = real = SKIP = _BOUND


def scores_in_rows(
    table: int, ldx: int, d: int, i0: int, m: int, w_at: int, b: float, z_at: int
) -> None:
    """z = X w + b for m rows from i0, rows contiguous: four rows share each entry of w."""
    X = carray(pointer(table, VALUES), (i0 + m) * ldx)
    w, z = carray(pointer(w_at, WORKING), d), carray(pointer(z_at, DOUBLE), m)
    m4 = m - m % 4
    for i in range(0, m4, 4):
        at = (i0 + i) * ldx
        x0, x1 = X[at : at + d], X[at + ldx : at + ldx + d]
        x2, x3 = X[at + 2 * ldx : at + 2 * ldx + d], X[at + 3 * ldx : at + 3 * ldx + d]
        t0 = t1 = t2 = t3 = real(0.0)
        for j in range(d):
            t0 += x0[j] * w[j]
            t1 += x1[j] * w[j]
            t2 += x2[j] * w[j]
            t3 += x3[j] * w[j]
        z[i], z[i + 1], z[i + 2], z[i + 3] = t0 + b, t1 + b, t2 + b, t3 + b
    for i in range(m4, m):
        at = (i0 + i) * ldx
        x = X[at : at + d]
        t = real(0.0)
        for j in range(d):
            t += x[j] * w[j]
        z[i] = t + b


def scores_in_columns(
    table: int, ldx: int, d: int, i0: int, m: int, w_at: int, b: float, z_at: int
) -> None:
    """z = X w + b for m rows from i0, columns contiguous: four columns share each entry of z."""
    X = carray(pointer(table, VALUES), d * ldx)
    w, z = carray(pointer(w_at, WORKING), d), carray(pointer(z_at, DOUBLE), m)
    for i in range(m):
        z[i] = b
    d4 = d - d % 4
    for j in range(0, d4, 4):
        at = j * ldx + i0
        x0, x1 = X[at : at + m], X[at + ldx : at + ldx + m]
        x2, x3 = X[at + 2 * ldx : at + 2 * ldx + m], X[at + 3 * ldx : at + 3 * ldx + m]
        w0, w1, w2, w3 = w[j], w[j + 1], w[j + 2], w[j + 3]
        for i in range(m):
            z[i] += (w0 * x0[i] + w1 * x1[i]) + (w2 * x2[i] + w3 * x3[i])
    for j in range(d4, d):
        x = X[j * ldx + i0 : j * ldx + i0 + m]
        w0 = w[j]
        for i in range(m):
            z[i] += w0 * x[i]


def adjoint_of_rows(table: int, ldx: int, d: int, i0: int, m: int, r_at: int, g_at: int) -> None:
    """g += X'r for m rows from i0, rows contiguous: four rows are added at once."""
    X = carray(pointer(table, VALUES), (i0 + m) * ldx)
    r, g = carray(pointer(r_at, DOUBLE), m), carray(pointer(g_at, WORKING), d)
    m4 = m - m % 4
    for i in range(0, m4, 4):
        at = (i0 + i) * ldx
        x0, x1 = X[at : at + d], X[at + ldx : at + ldx + d]
        x2, x3 = X[at + 2 * ldx : at + 2 * ldx + d], X[at + 3 * ldx : at + 3 * ldx + d]
        r0, r1, r2, r3 = real(r[i]), real(r[i + 1]), real(r[i + 2]), real(r[i + 3])
        for j in range(d):
            g[j] += (r0 * x0[j] + r1 * x1[j]) + (r2 * x2[j] + r3 * x3[j])
    for i in range(m4, m):
        at = (i0 + i) * ldx
        x = X[at : at + d]
        r0 = real(r[i])
        for j in range(d):
            g[j] += r0 * x[j]


def adjoint_of_columns(table: int, ldx: int, d: int, i0: int, m: int, r_at: int, g_at: int) -> None:
    """g += X'r for m rows from i0, columns contiguous: four columns share each entry of r."""
    X = carray(pointer(table, VALUES), d * ldx)
    r, g = carray(pointer(r_at, DOUBLE), m), carray(pointer(g_at, WORKING), d)
    d4 = d - d % 4
    for j in range(0, d4, 4):
        at = j * ldx + i0
        x0, x1 = X[at : at + m], X[at + ldx : at + ldx + m]
        x2, x3 = X[at + 2 * ldx : at + 2 * ldx + m], X[at + 3 * ldx : at + 3 * ldx + m]
        t0 = t1 = t2 = t3 = 0.0
        for i in range(m):
            t0 += x0[i] * r[i]
            t1 += x1[i] * r[i]
            t2 += x2[i] * r[i]
            t3 += x3[i] * r[i]
        g[j] += t0
        g[j + 1] += t1
        g[j + 2] += t2
        g[j + 3] += t3
    for j in range(d4, d):
        x = X[j * ldx + i0 : j * ldx + i0 + m]
        t0 = 0.0
        for i in range(m):
            t0 += x[i] * r[i]
        g[j] += t0


def rooted_rows(
    table: int, ldx: int, d: int, i0: int, m: int, h_at: int, centre_at: int, A_at: int
) -> int:
    """Rows √h (x - centre, 1) of A for the rows of h > 0, and how many: most have no curvature
    under a kinked loss."""
    X = carray(pointer(table, VALUES), (i0 + m) * ldx + d * SKIP)
    h, centre = carray(pointer(h_at, DOUBLE), m), carray(pointer(centre_at, VALUES), d)
    A = carray(pointer(A_at, VALUES), (m, d + 1))
    used = 0
    for i in range(m):
        if h[i] != 0.0:
            root = real(np.sqrt(h[i]))
            to = A[used]
            used += 1
            if SKIP:
                for j in range(d):
                    to[j] = root * (X[i0 + i + j * ldx] - centre[j])
            else:
                x = X[(i0 + i) * ldx : (i0 + i) * ldx + d]  # no index below 0: it vectorises
                for j in range(d):
                    to[j] = root * (x[j] - centre[j])
            to[d] = root
    return used


@njit(**SUMS)
def all_scores(
    scores: int,
    table: int,
    ldx: int,
    d: int,
    lo: int,
    hi: int,
    tile: int,
    w: int,
    b: float,
    z: int,
) -> None:
    """z = X w + b for rows lo … hi - 1."""
    for i0 in range(lo, hi, tile):
        call_scores(scores, table, ldx, d, i0, min(tile, hi - i0), w, b, z + 8 * i0)


def target_rows(
    m: int, ld: int, y_at: int, z_at: int, s_at: int, p_at: int, r_at: int, sums_at: int
) -> None:
    """r = y."""
    y, r = carray(pointer(y_at, DOUBLE), m), carray(pointer(r_at, DOUBLE), m)
    for i in range(m):
        r[i] = y[i]


def weight_rows(
    m: int, ld: int, y_at: int, z_at: int, s_at: int, p_at: int, r_at: int, sums_at: int
) -> None:
    """r = s."""
    s, r = carray(pointer(s_at, DOUBLE), m), carray(pointer(r_at, DOUBLE), m)
    for i in range(m):
        r[i] = s[i]


def product_rows(
    m: int, ld: int, y_at: int, z_at: int, s_at: int, p_at: int, r_at: int, sums_at: int
) -> None:
    """r = y z."""
    y, r = carray(pointer(y_at, DOUBLE), m), carray(pointer(r_at, DOUBLE), m)
    z = carray(pointer(z_at, DOUBLE), m)
    for i in range(m):
        r[i] = y[i] * z[i]


@njit(**SUMS)
def column_sizes(
    table: int,
    ldx: int,
    n: int,
    d: int,
    part: int,
    first: int,
    last: int,
    found: NDArray[Any],
) -> None:
    """found[p, j] = max |x_j| over part p; NaN for all columns where a value is no number."""
    X = carray(pointer(table, found), n * ldx)
    for p in range(first, last):
        top = found[p]
        total = 0 * found[p, 0]
        for i in range(p * part, min(n, (p + 1) * part)):
            x = X[i * ldx : i * ldx + d]
            for j in range(d):
                size = abs(x[j])
                top[j] = size if size > top[j] else top[j]
                total += 0 * x[j]  # NaN once a value is none
        for j in range(d):
            top[j] += total


@njit(**SUMS)
def sweep(
    table: int,
    ldx: int,
    n: int,
    d: int,
    y: int,
    s: int,
    W: int,
    row: int,
    b: NDArray[Any],
    scores: int,
    function: int,
    adjoint: int,
    parameters: int,
    part: int,
    tile: int,
    first: int,
    last: int,
    Z: int,
    R: NDArray[Any],
    each: int,
    G: int,
    sums: NDArray[Any],
) -> None:
    """Parts first … last - 1: G[p] (k, d) = Σ rᵢxᵢ', sums[p] = Σr and the row function's own.

    W (q, d) lies in steps of `row` bytes, G in steps of `each`; y, s, Z (q, tile) and the other
    addresses are of float64 vectors.
    """
    q, k = b.size, R.shape[0]
    for p in range(first, last):
        end = min(n, (p + 1) * part)
        own = sums[p]
        for i0 in range(p * part, end, tile):
            m = min(end, i0 + tile) - i0
            for c in range(q):
                call_scores(scores, table, ldx, d, i0, m, W + row * c, b[c], Z + 8 * tile * c)
            call_rows(
                function,
                m,
                tile,
                y + 8 * i0,
                Z,
                s + 8 * i0,
                parameters,
                R.ctypes.data,
                own.ctypes.data + 8 * k,
            )
            for c in range(k):
                r = R[c]
                total = 0.0
                for i in range(m):
                    total += r[i]
                own[c] += total
                call_adjoint(adjoint, table, ldx, d, i0, m, r.ctypes.data, G + each * (p * k + c))


@njit(**SUMS)
def weighted_gram(
    table: int,
    ldx: int,
    n: int,
    d: int,
    y: int,
    s: int,
    W: int,
    row: int,
    b: NDArray[Any],
    scores: int,
    function: int,
    rooted: int,
    syrk: int,
    single: bool,
    parameters: int,
    centre: int,
    part: int,
    tile: int,
    first: int,
    last: int,
    Z: int,
    R: NDArray[Any],
    A: int,
    G: int,
    each: int,
) -> None:
    """G[p] (h, d+1, d+1) = Σ rᵢ (xᵢ - centre, 1)(xᵢ - centre, 1)' for each output r ≥ 0 of the row
    function, the lower triangle: rows scaled by √r in a tile, then one symmetric product."""
    q, h = b.size, R.shape[0]
    for p in range(first, last):
        end = min(n, (p + 1) * part)
        for i0 in range(p * part, end, tile):
            m = min(end, i0 + tile) - i0
            for e in range(q):
                call_scores(scores, table, ldx, d, i0, m, W + row * e, b[e], Z + 8 * tile * e)
            at = R.ctypes.data
            call_rows(function, m, tile, y + 8 * i0, Z, s + 8 * i0, parameters, at, at)
            for c in range(h):
                used = call_rooted(rooted, table, ldx, d, i0, m, at + 8 * tile * c, centre, A)
                if used > 0:
                    call_syrk(syrk, d + 1, used, A, G + each * (p * h + c), single)


_ROOM: dict[str, Any] = {
    "scores_in_rows": (scores_in_rows, types.void(*[types.int64] * 6, types.float64, types.int64)),
    "scores_in_columns": (
        scores_in_columns,
        types.void(*[types.int64] * 6, types.float64, types.int64),
    ),
    "adjoint_of_rows": (adjoint_of_rows, types.void(*[types.int64] * 7)),
    "adjoint_of_columns": (adjoint_of_columns, types.void(*[types.int64] * 7)),
    "rooted_rows": (rooted_rows, types.int64(*[types.int64] * 8)),
}


@cache
def plain_rows(name: str) -> Any:
    """A row function that needs no formula: an object with an `address`."""
    known = {"target_rows": target_rows, "product_rows": product_rows, "weight_rows": weight_rows}
    function = known[name]
    return c_function(function, types.void(*[types.int64] * 8), {}, name)


@cache
def product(name: str, values: str, working: str, fortran: bool = False) -> Any:
    """One of the products above for a type of the rows and one of the arithmetic."""
    function, signature = _ROOM[name]
    names = {
        "VALUES": np.zeros(1, values),
        "WORKING": np.zeros(1, working),
        "real": np.dtype(working).type,
        "SKIP": int(fortran),
    }
    return c_function(function, signature, names, f"{name}_{values}_{working}_{int(fortran)}")
