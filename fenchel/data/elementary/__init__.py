"""Elementary functions that a formula is written in: on arrays here, on scalars in `compiled`.

A loss is a plain function of these names. As it stands it takes arrays of numpy or torch; bound to
the scalar functions of `compiled` the same code becomes a loop that vectorises. Every function
keeps the floating type of its argument.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace

from fenchel.data.arrays import Array

__all__ = [
    "absolute",
    "clip",
    "constant",
    "exp",
    "indicator",
    "log1p",
    "maximum",
    "sign",
    "where",
    "xlogx",
]


def exp(x: Array) -> Array:
    """eˣ; inf where it leaves the floating type."""
    with np.errstate(over="ignore"):  # the right answer there
        return array_namespace(x).exp(x)


def log1p(x: Array) -> Array:
    """log(1 + x) for x ≥ 0."""
    return array_namespace(x).log1p(x)


def xlogx(x: Array) -> Array:
    """x log x for x ≥ 0, with 0 log 0 = 0."""
    xp = array_namespace(x)
    return xp.log(x.clip(float(xp.finfo(x.dtype).smallest_normal), None)) * x


def absolute(x: Array) -> Array:
    """|x|."""
    return array_namespace(x).abs(x)


def sign(x: Array) -> Array:
    """-1, 0 or 1."""
    return array_namespace(x).sign(x)


def maximum(x: Array, bound: Any) -> Array:
    """max(x, bound) for a number as the bound, or two arrays."""
    if isinstance(bound, float):
        return x.clip(bound, None)
    return array_namespace(x).maximum(x, bound)


def clip(x: Array, low: float, high: float) -> Array:
    """min(max(x, low), high)."""
    return x.clip(low, high)


def constant(value: float, x: Array) -> Array:
    """The value for every entry of x."""
    return array_namespace(x).full_like(x, value)


def indicator(condition: Array, x: Array) -> Array:
    """1 where the condition holds and 0 elsewhere, in the floating type of x."""
    return array_namespace(x).astype(condition, x.dtype)


def where(condition: Array, x: Array, otherwise: Any) -> Array:
    """x where the condition holds; x is an array, the other value may be a number."""
    return array_namespace(x).where(condition, x, otherwise)
