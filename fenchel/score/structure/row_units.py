"""Rows over a power of two that keeps squares of their entries in range, which changes no digit."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.data.arrays import is_sparse


def unit_exponent(*tables: Any) -> int:
    """0 where squares of the largest entry are in range, else its binary exponent."""
    entries = (X.data if is_sparse(X) else X for X in tables)
    largest = max(float(np.abs(values).max(initial=0.0)) for values in entries)
    if largest == 0.0 or 1e-60 < largest < 1e60:
        return 0
    return int(np.frexp(largest)[1])


def in_units(rows: Any, exponent: int) -> Any:
    """The rows over 2^exponent."""
    if exponent == 0:
        return rows
    if not is_sparse(rows):
        return np.ldexp(rows.astype(np.float64), -exponent)
    moved = rows.astype(np.float64)
    moved.data = np.ldexp(moved.data, -exponent)
    return moved
