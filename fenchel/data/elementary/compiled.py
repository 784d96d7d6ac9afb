"""exp, log1p and x log x for compiled loops, without branches, so that a loop over them vectorises.

exp: x = k log 2 + r with |r| ≤ log(2)/2, eˣ = 2ᵏ (1 + r + r² P(r)), P the Taylor polynomial of
degree 11, whose remainder is below 2⁻⁵⁷. log1p: 1 + x = 2ᵏ m with m in [√½, √2), log m by the
odd series in s = (m - 1)/(m + 1) of FDLIBM, the rounding of 1 + x put back. Both are within one
unit in the last place (tests/data/test_elementary.py). The C library's scalar functions cost five
to ten times as much in a loop. exp_single is eˣ for x ≤ 0 in float32, P of degree 5.

Reference: Cody and Waite, Software Manual for the Elementary Functions (1980); Tang, Table-driven
implementation of the logarithm, ACM TOMS 16 (1990).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

# Contracted multiplications and additions only: to reassociate would undo the reductions.
EXACT: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract", "nsz"},
    "forceinline": True,
}
_HIGH, _LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10  # log 2 in two parts
INFINITY = float("inf")
_ROUND = 6755399441055744.0  # 1.5 · 2⁵²: adding it rounds to an integer, held in the last bits


def _bits_code(typing_context: Any, x: Any) -> Any:
    """The 64 bits of a float64 as an integer."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), code


_bits: Any = intrinsic(_bits_code)


def _float_code(typing_context: Any, bits: Any) -> Any:
    """The float64 of 64 bits."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), code


_float: Any = intrinsic(_float_code)


@njit(**EXACT)
def exp(x: float) -> float:
    """eˣ; inf beyond 709.78, and 0 below -708, where float64 is no longer normal."""
    r = min(max(x, -709.0), 710.0)
    shifted = r * 1.4426950408889634 + _ROUND
    k = shifted - _ROUND
    r = (r - k * _HIGH) - k * _LOW
    p = 2.08767569878681e-09
    p = p * r + 2.505210838544172e-08
    p = p * r + 2.755731922398589e-07
    p = p * r + 2.7557319223985893e-06
    p = p * r + 2.48015873015873e-05
    p = p * r + 1.984126984126984e-04
    p = p * r + 1.3888888888888889e-03
    p = p * r + 8.333333333333333e-03
    p = p * r + 4.1666666666666664e-02
    p = p * r + 1.6666666666666666e-01
    p = p * r + 0.5
    # 2ᵏ as the product of two halves: one alone would overflow at k = 1024.
    half = _bits(shifted) - _bits(_ROUND)
    low = half >> 1
    a = _float((low + 1023) << 52)
    b = _float((half - low + 1023) << 52)
    e = (a + a * (p * r * r + r)) * b
    return e if x >= -708.0 else (x if x != x else 0.0)


def _single_code(typing_context: Any, bits: Any) -> Any:
    """The float32 whose bits are the last 32 of an integer."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.FloatType())

    return types.float32(types.int32), code


_single: Any = intrinsic(_single_code)


def _single_bits_code(typing_context: Any, x: Any) -> Any:
    """The 32 bits of a float32 as an integer."""

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(32))

    return types.int32(types.float32), code


_single_bits: Any = intrinsic(_single_bits_code)
_F = np.float32
_LOG2E32, _HIGH32, _LOW32 = _F(1.44269504), _F(0.693359375), _F(-2.12194440e-4)
_ROUND32, _LEAST32 = _F(12582912.0), _F(-87.0)  # 1.5 · 2²³; e⁻⁸⁷ is normal still
_T7, _T6, _T5, _T4 = _F(1 / 5040), _F(1 / 720), _F(1 / 120), _F(1 / 24)
_T3, _HALF32, _ONE32, _ZERO32 = _F(1 / 6), _F(0.5), _F(1.0), _F(0.0)
_BIAS32 = np.int32(127) - np.int32(0x4B400000)
_SHIFT32 = np.int32(23)


@njit(**EXACT)
def exp_single(x: Any) -> Any:
    """eˣ of a float32 x ≤ 0, within two units in the last place; 0 below -87, NaN for NaN."""
    r = max(x, _LEAST32)
    shifted = r * _LOG2E32 + _ROUND32
    k = shifted - _ROUND32
    r = (r - k * _HIGH32) - k * _LOW32
    p = _T7 * r + _T6
    p = p * r + _T5
    p = p * r + _T4
    p = p * r + _T3
    p = p * r + _HALF32
    scale = _single(np.int32((_single_bits(shifted) + _BIAS32) << _SHIFT32))
    e = scale + scale * (p * r * r + r)
    return e if x >= _LEAST32 else (x if x != x else _ZERO32)


@njit(**EXACT)
def _log(u: float, rest: float) -> float:
    """log(u + rest) for a normal u > 0 and a rest far below it."""
    shifted = _bits(u) + 0x0009_5F62_0000_0000  # so that the fraction lies in [√½, √2)
    k = float((shifted >> 52) - 1023)
    f = _float((shifted & 0x000F_FFFF_FFFF_FFFF) + 0x3FE6_A09E_0000_0000) - 1.0
    s = f / (2.0 + f)
    z = s * s
    p = 1.479819860511658591e-01
    p = p * z + 1.531383769920937332e-01
    p = p * z + 1.818357216161805012e-01
    p = p * z + 2.222219843214978396e-01
    p = p * z + 2.857142874366239149e-01
    p = p * z + 3.999999999940941908e-01
    p = p * z + 6.666666666666735130e-01
    h = 0.5 * f * f
    return k * _HIGH - ((h - (s * (h + p * z) + (k * _LOW + rest / u))) - f)


@njit(**EXACT)
def log1p(x: float) -> float:
    """log(1 + x) for x ≥ 0; inf at infinity."""
    u = 1.0 + x
    value = _log(u, x - (u - 1.0))
    return value if x < INFINITY else x


@njit(**EXACT)
def absolute(x: float) -> float:
    return abs(x)


@njit(**EXACT)
def sign(x: float) -> float:
    return (1.0 if x > 0.0 else 0.0) - (1.0 if x < 0.0 else 0.0)


@njit(**EXACT)
def maximum(x: float, bound: float) -> float:
    return bound if x < bound else x  # in this form NaN stays NaN


@njit(**EXACT)
def clip(x: float, low: float, high: float) -> float:
    return low if x < low else (high if x > high else x)


@njit(**EXACT)
def constant(value: float, x: float) -> float:
    return value


@njit(**EXACT)
def indicator(condition: bool, x: float) -> float:
    return 1.0 if condition else 0.0


@njit(**EXACT)
def where(condition: bool, x: float, otherwise: float) -> float:
    return x if condition else otherwise


@njit(**EXACT)
def xlogx(x: float) -> float:
    """x log x for x ≥ 0, with 0 log 0 = 0."""
    return x * _log(maximum(x, 2.2250738585072014e-308), 0.0)
