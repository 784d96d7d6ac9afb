"""Updates of the perceptron and of Adaline row by row, over dense and compressed sparse rows.

rows is (X,) or (data, indices, indptr). codes holds class numbers; W (K, d) has one row for each
class against the rest, or a single one for class 1 against class 0. weight and order may be empty:
every row counts one, and rows come as they lie. State is float64 whatever the rows are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numba.extending import overload
from numpy.typing import NDArray

_fast: Any = {"error_model": "numpy", "fastmath": True}
_settings: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,  # nothing calls these loops from C: a tenth less to compile
}
_inner: dict[str, Any] = {**_settings, "no_cpython_wrapper": True}  # called by loops alone


def _dot(rows: Any, i: Any, w: Any) -> Any:
    """xᵢ·w: a name for compiled loops alone, which find its body by the kind of rows."""


def _square(rows: Any, i: Any) -> Any:
    """|xᵢ|²: a name for compiled loops alone, which find its body by the kind of rows."""


def _add(rows: Any, i: Any, a: Any, w: Any) -> Any:
    """w += a xᵢ: a name for compiled loops alone, which find its body by the kind of rows."""


@overload(_dot, jit_options=_fast)
def _dot_of(rows: Any, i: Any, w: Any) -> Any:
    def dense(rows: Any, i: Any, w: Any) -> Any:
        total = 0.0
        x = rows[0][i]
        for j in range(w.size):
            total += x[j] * w[j]
        return total

    def sparse(rows: Any, i: Any, w: Any) -> Any:
        data, indices, indptr = rows
        total = 0.0
        for q in range(indptr[i], indptr[i + 1]):
            total += data[q] * w[indices[q]]
        return total

    return dense if len(rows) == 1 else sparse


@overload(_square, jit_options=_fast)
def _square_of(rows: Any, i: Any) -> Any:
    def dense(rows: Any, i: Any) -> Any:
        total = 0.0
        x = rows[0][i]
        for j in range(x.size):
            total += np.float64(x[j]) * x[j]
        return total

    def sparse(rows: Any, i: Any) -> Any:
        data, _, indptr = rows
        total = 0.0
        for q in range(indptr[i], indptr[i + 1]):
            total += np.float64(data[q]) * data[q]
        return total

    return dense if len(rows) == 1 else sparse


@overload(_add, jit_options=_fast)
def _add_of(rows: Any, i: Any, a: Any, w: Any) -> Any:
    def dense(rows: Any, i: Any, a: Any, w: Any) -> Any:
        x = rows[0][i]
        for j in range(w.size):
            w[j] += a * x[j]

    def sparse(rows: Any, i: Any, a: Any, w: Any) -> Any:
        data, indices, indptr = rows
        for q in range(indptr[i], indptr[i + 1]):
            w[indices[q]] += a * data[q]

    return dense if len(rows) == 1 else sparse


@njit(**_settings)
def perceptron_pass(
    rows: Any,
    codes: NDArray[np.int64],
    weight: NDArray[Any],
    order: NDArray[np.int64],
    W: NDArray[np.float64],
    b: NDArray[np.float64],
    U: NDArray[np.float64],
    c: NDArray[np.float64],
    active: NDArray[np.bool_],
    mistakes: NDArray[np.float64],
    losses: NDArray[np.float64],
    eta: float,
    bias: float,
    t: float,
) -> float:
    """One look at every row; on a mistake w += η y x and b += η y · bias.

    A row of weight s is looked at s times running, the last time for a fraction of a step.
    U, c (empty unless the average is wanted) gather every change times the looks before it, so
    that the mean over T looks is W - U / T. losses gathers s max(0, -yz), z at the first look.
    Returns t, the looks so far.
    """
    K = W.shape[0]
    for r in range(codes.size):
        i = order[r] if order.size else r
        s = np.float64(weight[i]) if weight.size else 1.0
        if s == 0.0:
            continue
        norm = -1.0
        for k in range(K):
            if not active[k]:
                continue
            y = 1.0 if codes[i] == (1 if K == 1 else k) else -1.0
            m = y * (_dot(rows, i, W[k]) + b[k])
            if m > 0.0:
                continue
            losses[k] -= s * m
            a = s
            if s > 1.0:
                if norm < 0.0:
                    norm = _square(rows, i)
                gain = eta * (norm + bias)
                if gain > 0.0:
                    a = min(s, np.floor(-m / gain) + 1.0)
            _add(rows, i, y * eta * a, W[k])
            b[k] += y * eta * a * bias
            mistakes[k] += a
            if c.size:
                full = np.floor(a)
                late = full * t + 0.5 * full * (full - 1.0) + (a - full) * (t + full)
                _add(rows, i, y * eta * late, U[k])
                c[k] += y * eta * late * bias
        t += s
    return t


@njit(**_settings)
def voted_pass(
    rows: Any,
    codes: NDArray[np.int64],
    weight: NDArray[Any],
    order: NDArray[np.int64],
    positive: int,
    first: int,
    plane: NDArray[np.float64],
    state: NDArray[np.float64],
    planes: NDArray[np.float64],
    counts: NDArray[np.float64],
    losses: NDArray[np.float64],
    eta: float,
    bias: float,
) -> tuple[int, int]:
    """Like perceptron_pass for one class, keeping each plane that survived, with its looks.

    plane is (w, b); state is [looks that the plane has survived, mistakes]; losses has one entry.
    Returns the row to go on from when `planes` is full, and how many planes it holds.
    """
    used, d = 0, plane.size - 1
    for r in range(first, codes.size):
        i = order[r] if order.size else r
        left = np.float64(weight[i]) if weight.size else 1.0
        if used + np.int64(np.ceil(left)) > counts.size:
            return r, used
        y = 1.0 if codes[i] == positive else -1.0
        norm = -1.0
        m = y * (_dot(rows, i, plane[:d]) + plane[d])
        losses[0] += left * max(0.0, -m)
        while left > 0.0:
            if m > 0.0:
                state[0] += left
                break
            if state[0] > 0.0:
                for j in range(d + 1):
                    planes[used, j] = plane[j]
                counts[used] = state[0]
                used += 1
            a = min(left, 1.0)
            _add(rows, i, y * eta * a, plane[:d])
            plane[d] += y * eta * a * bias
            if left > 1.0:
                if norm < 0.0:
                    norm = _square(rows, i)
                m += eta * a * (norm + bias)
            state[0] = a
            state[1] += a
            left -= a
    return codes.size, used


@njit(**_settings)
def penalised_pass(
    rows: Any,
    codes: NDArray[np.int64],
    weight: NDArray[Any],
    order: NDArray[np.int64],
    W: NDArray[np.float64],
    b: NDArray[np.float64],
    U: NDArray[np.float64],
    c: NDArray[np.float64],
    q: NDArray[np.float64],
    active: NDArray[np.bool_],
    mistakes: NDArray[np.float64],
    losses: NDArray[np.float64],
    eta: float,
    bias: float,
    ridge: float,
    lasso: float,
    t: float,
) -> float:
    """Like perceptron_pass, each look followed by a step of size η on ridge |w|²/2 + lasso |w|₁.

    The ridge scales w; the lasso moves every entry towards zero by what it still owes of η lasso
    for each look so far, and not beyond: q (K, d) holds what it has paid. U, c (empty unless the
    average is wanted) are the sums of the planes over the looks. losses gathers the loss and the
    penalty before each look.

    Reference: Tsuruoka, Tsujii and Ananiadou, Stochastic gradient descent training for
    L1-regularized log-linear models with cumulative penalty, ACL (2009).
    """
    K, d = W.shape
    for r in range(codes.size):
        i = order[r] if order.size else r
        left = np.float64(weight[i]) if weight.size else 1.0
        while left > 0.0:
            a = min(left, 1.0)
            for k in range(K):
                if active[k]:
                    w, y = W[k], 1.0 if codes[i] == (1 if K == 1 else k) else -1.0
                    m = y * (_dot(rows, i, w) + b[k])
                    size = 0.0
                    for j in range(d):
                        size += 0.5 * ridge * w[j] * w[j] + lasso * abs(w[j])
                    losses[k] += a * (max(0.0, -m) + size)
                    if ridge > 0.0:
                        shrink = max(0.0, 1.0 - a * eta * ridge)
                        for j in range(d):
                            w[j] *= shrink
                    if m <= 0.0:
                        _add(rows, i, y * eta * a, w)
                        b[k] += y * eta * a * bias
                        mistakes[k] += a
                    if lasso > 0.0:
                        owed = eta * lasso * (t + a)
                        for j in range(d):
                            z = w[j]
                            if z > 0.0:
                                w[j] = max(0.0, z - (owed + q[k, j]))
                            elif z < 0.0:
                                w[j] = min(0.0, z + (owed - q[k, j]))
                            q[k, j] += w[j] - z
                if c.size:
                    for j in range(d):
                        U[k, j] += a * W[k, j]
                    c[k] += a * b[k]
            t += a
            left -= a
    return t


@njit(**_settings)
def adaline_pass(
    rows: Any,
    codes: NDArray[np.int64],
    weight: NDArray[Any],
    order: NDArray[np.int64],
    W: NDArray[np.float64],
    b: NDArray[np.float64],
    U: NDArray[np.float64],
    c: NDArray[np.float64],
    eta: float,
    patience: float,
    unit: float,
    t: float,
) -> float:
    """One look at every row; w += η (y - z) x and b += η (y - z) · unit, η falling as
    1/√(1 + t/patience).

    A row of weight s is looked at s times running, each of which leaves the share 1 - η|x̃|² of
    its error, the last time for a fraction of a step. U, c and t as in perceptron_pass.
    """
    K = W.shape[0]
    for r in range(codes.size):
        i = order[r] if order.size else r
        s = np.float64(weight[i]) if weight.size else 1.0
        if s == 0.0:
            continue
        step = eta / np.sqrt(1.0 + t / patience)
        whole, late = step, step * t
        if weight.size and s != 1.0:
            norm = _square(rows, i) + unit
            p, full = step * norm, np.floor(s)
            keep = (1.0 - p) ** full
            if p * full < 1e-6:
                looks, later = full, 0.5 * full * (full - 1.0)
            else:
                looks = (1.0 - keep) / p
                later = ((1.0 - p) * looks - full * keep) / p
            last = (s - full) * keep
            whole = step * (looks + last)
            late = step * (t * looks + later + (t + full) * last)
        for k in range(K):
            y = 1.0 if codes[i] == (1 if K == 1 else k) else -1.0
            error = y - (_dot(rows, i, W[k]) + b[k])
            _add(rows, i, whole * error, W[k])
            b[k] += whole * error * unit
            if c.size:
                _add(rows, i, late * error, U[k])
                c[k] += late * error * unit
        t += s
    return t


@njit(**_inner)
def _mix(h: Any) -> Any:
    """A bijection of 64-bit words after which near words are far apart."""
    h = np.uint64(h)
    h ^= h >> np.uint64(33)
    h *= np.uint64(0xFF51AFD7ED558CCD)
    h ^= h >> np.uint64(29)
    h *= np.uint64(0xC4CEB9FE1A85EC53)
    return h ^ (h >> np.uint64(32))


def _sign_row(rows: Any, i: Any, word: Any, bits: Any) -> Any:
    """Bits for xᵢ: a name for compiled loops alone, which find its body by the kind of rows."""


@overload(_sign_row)
def _sign_row_of(rows: Any, i: Any, word: Any, bits: Any) -> Any:
    def dense(rows: Any, i: Any, word: Any, bits: Any) -> Any:
        total = np.uint64(0)
        x = rows[0][i]
        for j in range(x.size):
            if x[j] != 0.0:
                word[0] = x[j]
                total += _mix(bits[0] + _mix(np.uint64(j) + np.uint64(1)))
        return total

    def sparse(rows: Any, i: Any, word: Any, bits: Any) -> Any:
        data, indices, indptr = rows
        total = np.uint64(0)
        for q in range(indptr[i], indptr[i + 1]):
            if data[q] != 0.0:
                word[0] = data[q]
                total += _mix(bits[0] + _mix(np.uint64(indices[q]) + np.uint64(1)))
        return total

    return dense if len(rows) == 1 else sparse


@njit(**_settings)
def row_keys(rows: Any, codes: NDArray[np.int64], keys: NDArray[np.uint64]) -> None:
    """A 64-bit number for each row, made of its values and its class alone."""
    word = np.empty(1, np.float64)
    bits = word.view(np.uint64)
    for i in range(codes.size):
        keys[i] = _mix(_sign_row(rows, i, word, bits) + _mix(np.uint64(codes[i]) << np.uint64(32)))


@njit(**_settings)
def reshuffle(keys: NDArray[np.uint64], seed: np.uint64, out: NDArray[np.uint64]) -> None:
    """Keys for another order."""
    for i in range(keys.size):
        out[i] = _mix(keys[i] ^ seed)
