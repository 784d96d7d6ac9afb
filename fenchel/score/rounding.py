"""Bounds in few digits that stay true when quoted: an upper one is rounded up, a lower one down."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

UP, DOWN = (Context(prec=3, rounding=way) for way in (ROUND_CEILING, ROUND_FLOOR))


def rounded(value: float, rounding: Context | None = None) -> str:
    """Three digits."""
    if rounding is None or not math.isfinite(value):
        return f"{value:.3g}"
    return f"{float(rounding.create_decimal(repr(float(value)))):.3g}"


def percent(share: float, rounding: Context | None = None) -> str:
    """A share in per cent, in three digits."""
    if not math.isfinite(share):
        return f"{share} %"
    return rounded(float(100 * Decimal(repr(float(share)))), rounding) + " %"
