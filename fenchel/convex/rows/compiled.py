"""A loss's formulas as compiled loops over a tile of rows.

A loss states φ once, as plain functions in the names of `fenchel.data.elementary`. Here they are
bound to the scalar functions of that room and put into one of a few loops; the loop is compiled as
a C function whose address a pass calls once a tile. A compiled loop is cached on disk under a name
that holds a digest of its code and of the formulas', since the cache looks at the file of the loop
alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import CodeType, FunctionType
from typing import Any

import numpy as np
from numba import carray, njit, types

from fenchel.data import elementary
from fenchel.data.elementary import compiled as scalar
from fenchel.data.passes.native.compiled import DOUBLE, c_function, pointer

_SIGNATURE = types.void(*[types.int64] * 8)
_LIBRARY = {name: vars(scalar)[name] for name in elementary.__all__}
exp, log1p, maximum, xlogx = scalar.exp, scalar.log1p, scalar.maximum, scalar.xlogx
INFINITY = math.inf

_UNBOUND: Any = None
# The names of a loss's own formulas, then of one of the two families below: bound for each loss.
value_formula = slope_formula = curvature_formula = conjugate_formula = _UNBOUND
value = slope = curvature = conjugate = level_value = _UNBOUND


def _margin_value(y: float, z: float, a: float, b: float) -> float:
    return value_formula(y * z, a, b)


def _margin_slope(y: float, z: float, a: float, b: float) -> float:
    return y * slope_formula(y * z, a, b)


def _margin_curvature(y: float, z: float, a: float, b: float) -> float:
    return curvature_formula(y * z, a, b)


def _margin_conjugate(y: float, t: float, a: float, b: float) -> float:
    return conjugate_formula(y * t, a, b)


def _margin_level_value(y: float, z: float, a: float, b: float) -> float:
    return 0.0  # the floor of a margin's loss needs no fit of a constant


def _distance_value(y: float, z: float, a: float, b: float) -> float:
    return value_formula(z - y, a, b)


def _distance_slope(y: float, z: float, a: float, b: float) -> float:
    return slope_formula(z - y, a, b)


def _distance_curvature(y: float, z: float, a: float, b: float) -> float:
    return curvature_formula(z - y, a, b)


def _distance_conjugate(y: float, t: float, a: float, b: float) -> float:
    return conjugate_formula(t, a, b) + y * t


def _distance_level_value(y: float, z: float, a: float, b: float) -> float:
    return value_formula(z - y, a, b)


def gradient_rows(
    m: int, ld: int, y_at: int, z_at: int, s_at: int, p_at: int, r_at: int, sums_at: int
) -> None:
    """r = s l'; sums: Σ s l, Σ s max(l', 0), Σ s max(-l', 0), Σ s."""
    y, z, s = (
        carray(pointer(y_at, DOUBLE), m),
        carray(pointer(z_at, DOUBLE), m),
        carray(pointer(s_at, DOUBLE), m),
    )
    p, r = carray(pointer(p_at, DOUBLE), 2), carray(pointer(r_at, DOUBLE), m)
    sums = carray(pointer(sums_at, DOUBLE), 4)
    a, b = p[0], p[1]
    total = up = down = mass = 0.0
    for i in range(m):
        t = s[i] * slope(y[i], z[i], a, b)
        v = value(y[i], z[i], a, b)
        r[i] = t
        # A row of no weight counts nothing, even at infinity.
        total += s[i] * v if s[i] > 0.0 else 0.0
        up += t if t > 0.0 else 0.0
        down -= t if t < 0.0 else 0.0
        mass += s[i]
    sums[0] += total
    sums[1] += up
    sums[2] += down
    sums[3] += mass


def dual_rows(
    m: int, ld: int, y_at: int, z_at: int, s_at: int, p_at: int, r_at: int, sums_at: int
) -> None:
    """r = s θ with θ = c l' centred; the sums of `statistics.dual_sums`: Σ s l, Σ s|l'|,
    Σ s l*(y - middle, θ), Σ s|l*|, Σ s max(θ, 0), Σ s max(-θ, 0), Σ s|θ||y - middle|, and for the
    floor Σ s, Σ s l(y, 0), Σ s l(y, middle).

    p: a, b, the shift of θ, the factor of its positive and of its negative part, c, middle.
    """
    y, z, s = (
        carray(pointer(y_at, DOUBLE), m),
        carray(pointer(z_at, DOUBLE), m),
        carray(pointer(s_at, DOUBLE), m),
    )
    p, r = carray(pointer(p_at, DOUBLE), 7), carray(pointer(r_at, DOUBLE), m)
    sums = carray(pointer(sums_at, DOUBLE), 10)
    a, b, shift, positive, negative, factor, middle = p[0], p[1], p[2], p[3], p[4], p[5], p[6]
    total = steep = dual = size = up = down = cross = mass = origin = constant_fit = 0.0
    for i in range(m):
        w = s[i]
        slope_here = slope(y[i], z[i], a, b)
        steep += w * abs(slope_here) if w > 0.0 else 0.0
        t = slope_here - shift
        t = factor * (t * positive if t > 0.0 else t * negative)
        # A row of no weight counts nothing, even at infinity.
        t = t if w > 0.0 else 0.0
        r[i] = w * t
        v, c = value(y[i], z[i], a, b), conjugate(y[i] - middle, t, a, b)
        v0, v1 = level_value(y[i], 0.0, a, b), level_value(y[i], middle, a, b)
        total += w * v if w > 0.0 else 0.0
        dual += w * c if w > 0.0 else 0.0
        size += w * abs(c) if w > 0.0 else 0.0
        up += w * t if t > 0.0 else 0.0
        down -= w * t if t < 0.0 else 0.0
        cross += abs(w * t * (y[i] - middle))
        mass += w
        origin += w * v0 if w > 0.0 else 0.0
        constant_fit += w * v1 if w > 0.0 else 0.0
    sums[0] += total
    sums[1] += steep
    sums[2] += dual
    sums[3] += size
    sums[4] += up
    sums[5] += down
    sums[6] += cross
    sums[7] += mass
    sums[8] += origin
    sums[9] += constant_fit


def curvature_rows(
    m: int, ld: int, y_at: int, z_at: int, s_at: int, p_at: int, r_at: int, sums_at: int
) -> None:
    """r = s l''."""
    y, z, s = (
        carray(pointer(y_at, DOUBLE), m),
        carray(pointer(z_at, DOUBLE), m),
        carray(pointer(s_at, DOUBLE), m),
    )
    p, r = carray(pointer(p_at, DOUBLE), 2), carray(pointer(r_at, DOUBLE), m)
    a, b = p[0], p[1]
    for i in range(m):
        r[i] = s[i] * curvature(y[i], z[i], a, b)


def multinomial_gradient_rows(
    m: int, ld: int, y_at: int, z_at: int, s_at: int, p_at: int, r_at: int, sums_at: int
) -> None:
    """r = s (p - e_y), K rows of m; sums: Σ s l, Σ s p_k for each class, Σ s e_y for each class."""
    K = int(carray(pointer(p_at, DOUBLE), 1)[0])
    y, s = carray(pointer(y_at, DOUBLE), m), carray(pointer(s_at, DOUBLE), m)
    Z, R = carray(pointer(z_at, DOUBLE), (K, ld)), carray(pointer(r_at, DOUBLE), (K, ld))
    sums = carray(pointer(sums_at, DOUBLE), 1 + 2 * K)
    top, norm = np.empty(m), np.zeros(m)
    for i in range(m):
        top[i] = Z[0, i]
    for k in range(1, K):
        z = Z[k]
        for i in range(m):
            top[i] = maximum(z[i], top[i])
    for k in range(K):
        z, r = Z[k], R[k]
        for i in range(m):
            e = exp(z[i] - top[i])
            r[i] = e
            norm[i] += e
    total = 0.0
    for i in range(m):
        # log of a sum that is at least 1, its largest term: log1p has the digits of one near 1.
        v = log1p(norm[i] - 1.0) + top[i] - Z[int(y[i]), i]
        total += s[i] * v if s[i] > 0.0 else 0.0
        norm[i] = s[i] / norm[i]
    sums[0] += total
    for k in range(K):
        r = R[k]
        own = 0.0
        for i in range(m):
            r[i] *= norm[i]
            own += r[i]
        sums[1 + k] += own
    for i in range(m):
        k = int(y[i])
        R[k, i] -= s[i]
        sums[1 + K + k] += s[i]


def multinomial_dual_rows(
    m: int, ld: int, y_at: int, z_at: int, s_at: int, p_at: int, r_at: int, sums_at: int
) -> None:
    """r = s θ, K rows of m, with θ = c (p - e_y + p C); the sums of `statistics.dual_sums`: Σ s l,
    Σ s|p - e_y|, Σ s l*(θ), Σ s|l*|, Σ s, and of each class Σ s max(θ, 0), then Σ s max(-θ, 0).

    p: K, c, how far q = θ + e_y may sum from one, and C, by rows.
    """
    given = carray(pointer(p_at, DOUBLE), 3)
    K, factor, slack = int(given[0]), given[1], given[2]
    change = carray(pointer(p_at, DOUBLE), 3 + K * K)
    y, s = carray(pointer(y_at, DOUBLE), m), carray(pointer(s_at, DOUBLE), m)
    Z, R = carray(pointer(z_at, DOUBLE), (K, ld)), carray(pointer(r_at, DOUBLE), (K, ld))
    sums = carray(pointer(sums_at, DOUBLE), 5 + 2 * K)
    P = np.empty((K, m))
    top, norm = np.empty(m), np.zeros(m)
    for i in range(m):
        top[i] = Z[0, i]
    for k in range(1, K):
        z = Z[k]
        for i in range(m):
            top[i] = maximum(z[i], top[i])
    for k in range(K):
        z, q = Z[k], P[k]
        for i in range(m):
            q[i] = exp(z[i] - top[i])
            norm[i] += q[i]
    total = steep = mass = 0.0
    for i in range(m):
        # The difference first: scores may be far larger than the loss.
        v = log1p(norm[i] - 1.0) + (top[i] - Z[int(y[i]), i])
        total += s[i] * v if s[i] > 0.0 else 0.0
        mass += s[i]
    for k in range(K):
        q, r = P[k], R[k]
        for i in range(m):
            q[i] /= norm[i]
            r[i] = q[i] - (1.0 if y[i] == k else 0.0)
            steep += s[i] * abs(r[i]) if s[i] > 0.0 else 0.0
    for j in range(K):
        q = P[j]
        for k in range(K):
            r, c = R[k], change[3 + j * K + k]
            if c != 0.0:
                for i in range(m):
                    r[i] += c * q[i]
    whole, dual, least = np.zeros(m), np.zeros(m), np.zeros(m)
    for k in range(K):
        r = R[k]
        up = down = 0.0
        for i in range(m):
            t = factor * r[i]
            q_here = t + (1.0 if y[i] == k else 0.0)
            whole[i] += q_here
            dual[i] += xlogx(maximum(q_here, 0.0))
            least[i] = least[i] if q_here >= least[i] else q_here  # NaN is no least
            # A row of no weight counts nothing, even at infinity.
            t = s[i] * t if s[i] > 0.0 else 0.0
            r[i] = t
            up += t if t > 0.0 else 0.0
            down -= t if t < 0.0 else 0.0
        sums[5 + k] += up
        sums[5 + K + k] += down
    conjugate_sum = size = 0.0
    for i in range(m):
        c = dual[i] if least[i] >= 0.0 and abs(whole[i] - 1.0) <= slack else INFINITY
        conjugate_sum += s[i] * c if s[i] > 0.0 else 0.0
        size += s[i] * abs(c) if s[i] > 0.0 else 0.0
    sums[0] += total
    sums[1] += steep
    sums[2] += conjugate_sum
    sums[3] += size
    sums[4] += mass


def multinomial_pairs_rows(
    m: int, ld: int, y_at: int, z_at: int, s_at: int, p_at: int, r_at: int, sums_at: int
) -> None:
    """r = s pₖ(1 - pₖ) for each class, then s pₖpⱼ for each pair k < j: rows of m."""
    K = int(carray(pointer(p_at, DOUBLE), 1)[0])
    s = carray(pointer(s_at, DOUBLE), m)
    Z = carray(pointer(z_at, DOUBLE), (K, ld))
    R = carray(pointer(r_at, DOUBLE), (K * (K + 1) // 2, ld))
    top, norm = np.empty(m), np.zeros(m)
    for i in range(m):
        top[i] = Z[0, i]
    for k in range(1, K):
        z = Z[k]
        for i in range(m):
            top[i] = maximum(z[i], top[i])
    for k in range(K):
        z, r = Z[k], R[k]
        for i in range(m):
            r[i] = exp(z[i] - top[i])
            norm[i] += r[i]
    for k in range(K):
        r = R[k]
        for i in range(m):
            r[i] /= norm[i]
    at = K
    for k in range(K):
        r = R[k]
        for j in range(k + 1, K):
            other, to = R[j], R[at]
            for i in range(m):
                to[i] = s[i] * (r[i] * other[i])
            at += 1
    for k in range(K):
        r = R[k]
        for i in range(m):
            r[i] = s[i] * (r[i] * (1.0 - r[i]))


_TEMPLATES: dict[str, Callable[..., None]] = {
    "gradient": gradient_rows,
    "dual": dual_rows,
    "curvature": curvature_rows,
    "multinomial_gradient": multinomial_gradient_rows,
    "multinomial_dual": multinomial_dual_rows,
    "multinomial_pairs": multinomial_pairs_rows,
}
_FAMILIES = {
    "margin": (
        _margin_value,
        _margin_slope,
        _margin_curvature,
        _margin_conjugate,
        _margin_level_value,
    ),
    "distance": (
        _distance_value,
        _distance_slope,
        _distance_curvature,
        _distance_conjugate,
        _distance_level_value,
    ),
}
_FORMULAS = ("value", "slope", "curvature", "conjugate")  # of a loss
_ROLES = (*_FORMULAS, "level_value")  # of a family: the last is the loss of a constant score


@cache
def _formulas(family: str, loss: type) -> tuple[dict[str, Any], tuple[CodeType, ...]]:
    """The formulas of a loss in y and z, compiled to be inlined, and the code they are made of."""
    formulas = [getattr(loss, f"{role}_formula") for role in _FORMULAS]
    names: dict[str, Any] = {**globals(), **_LIBRARY, "math": math}
    bound = {f"{r}_formula": _bound(f, names) for r, f in zip(_FORMULAS, formulas, strict=True)}
    both = zip(_ROLES, _FAMILIES[family], strict=True)
    found = {role: _bound(f, {**names, **bound}) for role, f in both}
    return found, tuple(f.__code__ for f in (*formulas, *_FAMILIES[family]))


@cache
def row_function(template: str, family: str = "", loss: type | None = None) -> Any:
    """The compiled loop `template` for the formulas of a loss: an object with an `address`."""
    names, codes = ({}, ()) if loss is None else _formulas(family, loss)
    library = tuple(f.py_func.__code__ for f in _LIBRARY.values())
    label = f"{template}_{'multinomial' if loss is None else loss.__name__}"
    return c_function(_TEMPLATES[template], _SIGNATURE, names, label, (*codes, *library))


def _bound(function: Callable[..., Any], names: dict[str, Any]) -> Any:
    """A plain function, compiled with its names taken from `names`, to be inlined."""
    return njit(**scalar.EXACT)(FunctionType(function.__code__, names, function.__name__))
