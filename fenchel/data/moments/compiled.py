"""Weight, mean and scatter of each class of rows in one pass, merged by the stable formula.

Rows of a class fill a buffer that fits a cache. A full buffer is centred at its own mean m, in two
steps so that an offset costs no digits, and joins the class's W, M and S:

    S += Σ s (x - m)(x - m)' + (W w / (W + w)) (m - M)(m - M)',    w = Σ s,

by one symmetric product of BLAS, the last term as one more row.

Reference: Chan, Golub, LeVeque, 1979.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray, njit
from numpy.typing import NDArray

from fenchel.data.passes.native.compiled import SUMS, call_syrk, pointer


@njit(**SUMS)
def _fill_rows(
    X: NDArray[Any],
    ldx: int,
    d: int,
    i0: int,
    m: int,
    beside: NDArray[Any],
    codes: NDArray[Any],
    s: NDArray[Any],
    used: NDArray[Any],
    A: NDArray[Any],
    weight: NDArray[Any],
) -> None:
    """Rows i0 … i0 + m - 1, and what lies beside them, to the ends of their classes' buffers, rows
    contiguous."""
    for i in range(i0, i0 + m):
        k = codes[i]
        if s[i] > 0.0 and k >= 0 and k < used.size:
            x, to = X[i * ldx : i * ldx + d], A[k, used[k]]
            for j in range(d):
                to[j] = x[j]
            for j in range(beside.shape[1]):
                to[d + j] = beside[i, j]
            weight[k, used[k]] = s[i]
            used[k] += 1


@njit(**SUMS)
def _fill_columns(
    X: NDArray[Any],
    ldx: int,
    d: int,
    i0: int,
    m: int,
    beside: NDArray[Any],
    codes: NDArray[Any],
    s: NDArray[Any],
    used: NDArray[Any],
    A: NDArray[Any],
    weight: NDArray[Any],
    place: NDArray[Any],
) -> None:
    """The same with columns contiguous: place (2, m) says where each row goes."""
    taken = 0
    for i in range(i0, i0 + m):
        k = codes[i]
        if s[i] > 0.0 and k >= 0 and k < used.size:
            weight[k, used[k]] = s[i]
            place[0, taken] = i
            place[1, taken] = k * A.shape[1] + used[k]
            used[k] += 1
            taken += 1
    width = A.shape[2]
    flat = A.reshape(A.shape[0] * A.shape[1] * width)
    for j in range(d):
        for t in range(taken):
            flat[place[1, t] * width + j] = X[j * ldx + place[0, t]]
    for t in range(taken):
        for j in range(beside.shape[1]):
            flat[place[1, t] * width + d + j] = beside[place[0, t], j]


@njit(cache=True, nogil=True, error_model="numpy")
def _join(
    before: float,
    w: float,
    shift: NDArray[Any],
    rest: NDArray[Any],
    origin: NDArray[Any],
    mean: NDArray[Any],
    apart: NDArray[Any],
) -> None:
    """The mean of a class, origin + mean, moves to take in one of weight w at shift + rest; apart
    = √(W w / (W + w)) times the way between the two.

    Sums in the order written: a mean held in one number would lose, at each of many steps, what
    the offset of the rows takes from its digits.
    """
    share = w / (before + w)
    root = np.sqrt(before * share)
    for j in range(mean.size):
        delta = ((shift[j] - origin[j]) - mean[j]) + rest[j]
        apart[j] = root * delta
        mean[j] += share * delta


@njit(**SUMS)
def _absorb(
    used: int,
    A: NDArray[Any],
    weight: NDArray[Any],
    before: float,
    origin: NDArray[Any],
    mean: NDArray[Any],
    shift: NDArray[Any],
    rest: NDArray[Any],
    S: int,
    syrk: int,
) -> float:
    """The rows of a buffer join a class of weight `before` at origin + mean; their weight."""
    d = mean.size
    w = 0.0
    for j in range(d):
        shift[j] = 0.0
        rest[j] = 0.0
    for i in range(used):
        w += weight[i]
    for i in range(used):
        x, share = A[i], weight[i] / w
        for j in range(d):
            shift[j] += share * x[j]
    for i in range(used):
        x, share = A[i], weight[i] / w
        for j in range(d):
            x[j] -= shift[j]
            rest[j] += share * x[j]
    for i in range(used):
        x, root = A[i], np.sqrt(weight[i])
        for j in range(d):
            x[j] = root * (x[j] - rest[j])
    rows = used
    if before > 0.0:
        _join(before, w, shift, rest, origin, mean, A[used])
        rows += 1
    else:
        for j in range(d):
            origin[j], mean[j] = shift[j], rest[j]
    call_syrk(syrk, d, rows, A.ctypes.data, S, False)
    return w


@njit(**SUMS)
def scatter_dense(
    table: int,
    values: NDArray[Any],
    ldx: int,
    n: int,
    d: int,
    fortran: bool,
    beside: NDArray[Any],
    codes: NDArray[Any],
    s: NDArray[Any],
    part: int,
    first: int,
    last: int,
    chunk: int,
    A: NDArray[Any],
    syrk: int,
    W: NDArray[Any],
    M: NDArray[Any],
    S: int,
    shared: bool,
) -> None:
    """Parts first … last - 1: W[p] (K,), M[p] (K, p), and S[p] (K, p, p), lower triangles, or
    shared: (1, p, p), the sum over the classes, of the p columns of the table and beside it. A (K,
    room, p) holds the buffers."""
    classes, room, width = A.shape[0], A.shape[1] - 1, A.shape[2]
    X = carray(pointer(table, values), (d if fortran else n) * ldx)
    used = np.zeros(classes, np.int64)
    weight = np.zeros((classes, room))
    place = np.zeros((2, chunk), np.int64)
    shift, rest, origin = np.zeros(width), np.zeros(width), np.zeros((classes, width))
    matrices = 1 if shared else classes
    for p in range(first, last):
        end = min(n, (p + 1) * part)
        for i0 in range(p * part, end, chunk):
            m = min(end, i0 + chunk) - i0
            if fortran:
                _fill_columns(X, ldx, d, i0, m, beside, codes, s, used, A, weight, place)
            else:
                _fill_rows(X, ldx, d, i0, m, beside, codes, s, used, A, weight)
            # Room for one more chunk must be left in every buffer.
            enough = 1 if i0 + m == end else room - chunk + 1
            for k in range(classes):
                if used[k] >= enough:
                    to = S + 8 * width * width * (p * matrices + (0 if shared else k))
                    W[p, k] += _absorb(
                        used[k],
                        A[k],
                        weight[k],
                        W[p, k],
                        origin[k],
                        M[p, k],
                        shift,
                        rest,
                        to,
                        syrk,
                    )
                    used[k] = 0
        for k in range(classes):
            if W[p, k] > 0.0:
                for j in range(width):
                    M[p, k, j] += origin[k, j]


@njit(**SUMS)
def scatter_csr(
    data: NDArray[Any],
    indices: NDArray[Any],
    indptr: NDArray[Any],
    codes: NDArray[Any],
    s: NDArray[Any],
    part: int,
    first: int,
    last: int,
    W: NDArray[Any],
    M: NDArray[Any],
    S: NDArray[Any],
) -> None:
    """The same for sparse rows: S[p] (K or 1, d, d) = Σ s t t' - W g g' over stored entries.

    t is x, less the class's mean in a column that holds an entry in every row of the class, and g
    is the mean of t. Elsewhere the difference costs few digits: where a share h < 1 of a column is
    stored, Σ t² is at most 1 / (1 - h) of its scatter.
    """
    n, classes, d = indptr.size - 1, M.shape[1], M.shape[2]
    stored, rows = np.zeros((classes, d)), np.zeros(classes)
    shift, rest = np.zeros((classes, d)), np.zeros((classes, d))
    for p in range(first, last):
        end = min(n, (p + 1) * part)
        for k in range(classes):
            rows[k] = 0.0
            for j in range(d):
                stored[k, j] = 0.0
                rest[k, j] = 0.0
        for i in range(p * part, end):
            k = codes[i]
            if s[i] > 0.0 and k >= 0 and k < classes:
                rows[k] += 1.0
                W[p, k] += s[i]
                for e in range(indptr[i], indptr[i + 1]):
                    stored[k, indices[e]] += 1.0
                    M[p, k, indices[e]] += s[i] * data[e]
        for k in range(classes):
            for j in range(d):
                full = rows[k] > 0.0 and stored[k, j] == rows[k]
                shift[k, j] = M[p, k, j] / W[p, k] if full else 0.0
        for i in range(p * part, end):
            k = codes[i]
            if s[i] > 0.0 and k >= 0 and k < classes:
                to = S[p, k if S.shape[1] > 1 else 0]
                for e in range(indptr[i], indptr[i + 1]):
                    a = indices[e]
                    t = s[i] * (data[e] - shift[k, a])
                    rest[k, a] += t
                    row = to[a]
                    for f in range(indptr[i], e + 1):
                        b = indices[f]
                        row[b] += t * (data[f] - shift[k, b])
        for k in range(classes):
            if rows[k] > 0.0:
                to = S[p, k if S.shape[1] > 1 else 0]
                for j in range(d):
                    rest[k, j] /= W[p, k]
                    M[p, k, j] = shift[k, j] + rest[k, j]
                for a in range(d):
                    row, g = to[a], W[p, k] * rest[k, a]
                    if g != 0.0:
                        for b in range(a + 1):
                            row[b] -= g * rest[k, b]
