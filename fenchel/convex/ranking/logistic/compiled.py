"""The logistic loss over pairs: rows come by target, and the scores before them as moments.

f(z) = Σⱼ sⱼσ(zⱼ - z) is analytic in a strip of width 2π around the real line, wherever the zⱼ lie:
on panels of length 1.5, sixteen Chebyshev polynomials give it to 4e-14 of itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

_settings: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,  # nothing calls these loops from C: a tenth less to compile
}
_inner: dict[str, Any] = {**_settings, "no_cpython_wrapper": True}  # called by loops alone
# Sums may be reordered: no score is NaN or infinite.
_loose: dict[str, Any] = {**_settings, "fastmath": {"reassoc", "contract", "nsz"}}
ORDER = 16  # Chebyshev polynomials a panel


@njit(**_loose)
def one_by_one(
    spans: NDArray[Any],
    first: NDArray[Any],
    z: NDArray[Any],
    s: NDArray[Any],
    even: bool,
    up: NDArray[Any],
    down: NDArray[Any],
) -> float:
    """The pairs inside each span, each by itself: up[i] += Σⱼ sⱼσ(-t), down[j] += Σᵢ sᵢσ(-t), and
    Σ sᵢsⱼ log(1 + e^{-t}), t = zᵢ - zⱼ. even: whether every weight is one."""
    total, longest = 0.0, 0
    for b in range(len(spans)):
        longest = max(longest, spans[b, 1] - spans[b, 0])
    room = np.empty(longest)
    for b in range(len(spans)):
        lo, hi = spans[b]
        if first[hi - 1] <= lo:
            continue  # one target
        least, most = z[lo], z[lo]
        for k in range(lo, hi):
            least, most = min(least, z[k]), max(most, z[k])
        if most - least > 600.0 or not even:
            for i in range(lo, hi):
                pull, value = 0.0, 0.0
                for j in range(lo, first[i]):
                    t = z[i] - z[j]
                    small = np.exp(-abs(t))
                    slope = (small if t > 0.0 else 1.0) / (1.0 + small)
                    pull += s[j] * slope
                    value += s[j] * (max(-t, 0.0) + np.log1p(small))
                    down[j] += s[i] * slope
                up[i] += pull
                total += s[i] * value
            continue
        centre = 0.5 * (least + most)
        for k in range(lo, hi):
            room[k - lo] = np.exp(z[k] - centre)
        for i in range(lo, hi):
            stop = first[i]
            inverse, pull = 1.0 / room[i - lo], 0.0
            for j in range(lo, stop):
                r = room[j - lo] * inverse  # e^{-t}
                slope = r / (1.0 + r)
                pull += slope
                down[j] += slope
            up[i] += pull
            for j in range(lo, stop, 64):
                # log(1 + r) = max(log r, 0) + log(1 + q), q = min(r, 1/r): one logarithm for all.
                product, over, small = 1.0, 0.0, 0.0
                for k in range(j, min(j + 64, stop)):
                    r = room[k - lo] * inverse
                    q = min(r, 1.0 / r)
                    product *= 1.0 + q
                    small += q
                    over += max(z[k] - z[i], 0.0)
                if small + over < 1.0:  # what such a product rounds to would lose digits of it
                    rest = 0.0  # Π(1 + q) - 1
                    for k in range(j, min(j + 64, stop)):
                        r = room[k - lo] * inverse
                        q = min(r, 1.0 / r)
                        rest += q + q * rest
                    total += np.log1p(rest)
                else:
                    total += np.log(product) + over
    return total


@njit(**_inner)
def _series(x: float, q: NDArray[Any]) -> float:
    """Σₖ qₖTₖ(x), by Clenshaw's recurrence."""
    a, b, twice = 0.0, 0.0, 2.0 * x
    for k in range(ORDER - 1, 0, -1):
        a, b = twice * a - b + q[k], a
    return x * a - b + q[0]


@njit(**_inner)
def _add(tree: NDArray[Any], k: int, mass: float, moment: float) -> None:
    """Two running sums, at place k of a Fenwick tree."""
    k += 1
    while k < len(tree):
        tree[k, 0] += mass
        tree[k, 1] += moment
        k += k & -k


@njit(**_inner)
def _below(tree: NDArray[Any], k: int) -> tuple[float, float]:
    """The sums at the places below k."""
    mass, moment = 0.0, 0.0
    while k > 0:
        mass += tree[k, 0]
        moment += tree[k, 1]
        k -= k & -k
    return mass, moment


@njit(**_loose)
def panel_sums(
    spans: NDArray[Any],
    lift: NDArray[Any],
    x: NDArray[Any],
    slot: NDArray[Any],
    names: NDArray[Any],
    s: NDArray[Any],
    slopes: NDArray[Any],
    values: NDArray[Any],
    valued: bool,
    out: NDArray[Any],
) -> float:
    """out[i] += Σ sⱼσ(-(zᵢ - zⱼ)) over the rows j of all spans before that of row i, in one group;
    with `valued` also Σ sᵢsⱼ log(1 + e^{-(zᵢ - zⱼ)}).

    lift: the scores, less the least; x: their places in [-1, 1] on panel names[slot], all of one
    length. slopes, values: the Chebyshev coefficients of the two functions between panels k apart,
    for |k| up to the reach. Scores further to the right have slope 1 and a linear loss, those
    further to the left neither, to the last bit of float64.

    Reference: Greengard and Rokhlin, 1987 (far fields by moments); Fenwick, 1994.
    """
    reach, origin = len(slopes) // 2, spans[0, 0]
    size = len(names)
    gathered, fresh = np.zeros((size, ORDER)), np.zeros((size, ORDER))
    moment, full = np.zeros(size), np.zeros(size, np.bool_)
    q, v = np.zeros((size, ORDER)), np.zeros(ORDER)
    # Counted from the right: what lies beyond the reach there comes first.
    level, beyond = np.zeros(size), np.zeros((size + 1, 2))
    mark, touched = np.full(size, -1, np.int64), np.zeros(size, np.int64)
    total = 0.0
    for b in range(len(spans)):
        lo, hi = spans[b, 0] - origin, spans[b, 1] - origin
        found = 0
        for i in range(lo, hi):
            a = slot[i]
            if mark[a] != b:
                mark[a] = b
                touched[found] = a
                found += 1
                for k in range(ORDER):
                    fresh[a, k] = 0.0
                moment[a] = 0.0
            t0, t1, twice = s[i], s[i] * x[i], 2.0 * x[i]
            for k in range(ORDER):
                fresh[a, k] += t0
                t0, t1 = t1, twice * t1 - t0
            moment[a] += s[i] * lift[i]
        if b > 0:
            for f in range(found):
                a = touched[f]
                for o in range(ORDER):
                    q[a, o] = 0.0
                    v[o] = 0.0
                c = a
                while c > 0 and names[a] - names[c - 1] <= reach:
                    c -= 1
                while c < size and names[c] - names[a] <= reach:
                    if full[c]:
                        k = names[a] - names[c] + reach
                        for m in range(ORDER):
                            weight = gathered[c, m]
                            for o in range(ORDER):
                                q[a, o] += slopes[k, m, o] * weight
                        if valued:
                            for m in range(ORDER):
                                weight = gathered[c, m]
                                for o in range(ORDER):
                                    v[o] += values[k, m, o] * weight
                    c += 1
                level[a], height = _below(beyond, size - c)
                if valued:
                    part = 0.0
                    for o in range(ORDER):
                        part += v[o] * fresh[a, o]
                    total += part + (height * fresh[a, 0] - level[a] * moment[a])
            for i in range(lo, hi):
                a = slot[i]
                out[i] += max(_series(x[i], q[a]), 0.0) + level[a]
        for f in range(found):
            a = touched[f]
            full[a] = True
            for m in range(ORDER):
                gathered[a, m] += fresh[a, m]
            _add(beyond, size - 1 - a, fresh[a, 0], moment[a])
    return total
