"""Numbers in few digits: a value is rounded to the nearest, a bound outward.

A lower end is rounded down and an upper end up, so that a bound that is quoted is still a bound.
How many digits a share has depends on the share alone, so that one bound reads the same in a table
and in a sentence:

- a percentage has one decimal place, and below 1 % or above 99 % as many as show two digits of its
  distance from that end, at most four;
- any other number with an interval has the places that show two digits of the interval's length;
- a number by itself has a given number of significant digits.

The printed interval always contains the printed value: all three are rounded on grids of which the
finer contain the coarser, and each in a direction that keeps low ≤ value ≤ high.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

# The largest float has 309 digits before the point; no rounding may run out of digits.
NEAREST, UP, DOWN = (
    Context(prec=400, rounding=way) for way in (ROUND_HALF_EVEN, ROUND_CEILING, ROUND_FLOOR)
)
MOST_PLACES = 4  # of a percentage
FEWEST, FINEST = -4, 8  # decimal places of an interval; beyond them four significant digits


def rounded(value: float, side: Context | None = None, digits: int = 3) -> str:
    """So many significant digits, to the nearest, or outward with side=UP or side=DOWN."""
    if side is None or not math.isfinite(value):
        return f"{float(value) + 0.0:.{digits}g}"
    way = Context(prec=digits, rounding=side.rounding)
    return f"{float(way.create_decimal(repr(float(value)))) + 0.0:.{digits}g}"


def fixed(value: float, places: int, side: Context | None = None) -> str:
    """So many decimal places, to the nearest, or outward with side=UP or side=DOWN."""
    if not math.isfinite(value):
        return str(float(value))
    way = NEAREST if side is None else side
    found = Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-max(places, 0)), context=way)
    return f"{found.copy_abs() if found.is_zero() else found:f}"


def percent(share: float, side: Context | None = None) -> str:
    """A share in per cent, to the nearest, or outward with side=UP or side=DOWN.

    Examples
    --------
    >>> from fenchel.data.display.rounding import DOWN, UP, percent
    >>> percent(0.2972), percent(0.2972, UP), percent(0.2972, DOWN)
    ('29.7 %', '29.8 %', '29.7 %')
    >>> percent(0.00123), percent(0.99987, UP), percent(0.0)
    ('0.12 %', '99.987 %', '0 %')
    """
    return f"{_percentage(share, side)} %"


def interval_texts(
    value: float, low: float, high: float, *, percent: bool = False, digits: int | None = None
) -> tuple[str, str, str]:
    """(value, low, high) as they are written: the value to the nearest, the ends outward.

    Parameters
    ----------
    value, low, high : float
        low ≤ value ≤ high.
    percent : bool
        Shares, written in per cent without the sign.
    digits : int, optional
        So many significant digits; by default the decimal places that show two digits of the
        length of the interval.

    Examples
    --------
    >>> from fenchel.data.display.rounding import interval_texts
    >>> interval_texts(0.98765, 0.98123, 0.99234)
    ('0.988', '0.981', '0.993')
    >>> interval_texts(0.0833, 0.0209, 0.2972, percent=True)
    ('8.3', '2.0', '29.8')
    """
    sides = ((value, None), (low, DOWN), (high, UP))
    if percent:
        first, second, third = (_percentage(x, side) for x, side in sides)
        return first, second, third
    if digits is None:
        places = _places(high - low)
        if places is not None:
            first, second, third = (fixed(x, places, side) for x, side in sides)
            return first, second, third
        digits = 4
    first, second, third = (rounded(x, side, digits) for x, side in sides)
    return first, second, third


def _places(length: float) -> int | None:
    """The decimal places that show two digits of a length; None where those would be too many."""
    if not math.isfinite(length):
        return None
    places = 4 if length <= 0.0 else 1 - math.floor(math.log10(length))
    return max(places, 0) if FEWEST <= places <= FINEST else None


def _percentage(share: float, side: Context | None) -> str:
    """100 times the share, without the sign."""
    if not math.isfinite(share):
        return str(float(share))
    exact = 100 * Decimal(repr(float(share)))
    if exact in (0, 100):
        return f"{abs(int(exact))}"
    end = min(abs(exact), abs(100 - exact))
    # adjusted() is the exponent of the leading digit: -1 for 0.52 and -2 for 0.052.
    places = 1 if end >= 1 else min(1 - end.adjusted(), MOST_PLACES)
    way = NEAREST if side is None else side
    found = exact.quantize(Decimal(1).scaleb(-places), context=way)
    return f"{abs(int(found))}" if found in (0, 100) else f"{found:f}"
