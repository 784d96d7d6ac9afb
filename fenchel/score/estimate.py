"""A number that carries its interval."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

from fenchel.data.display.rounding import interval_texts

EXACT = "exact: "  # how the method of a number without sampling error begins


class Estimate(float):
    """A float with the interval that goes with it: usable wherever a float is.

    Attributes
    ----------
    low, high : float
        The ends of the interval.
    level : float
        Its nominal coverage, 0.95 for 95 %.
    method : str
        How it was made, in a few words.
    standard_error : float
        Standard error of the number; NaN where the method has none.

    Examples
    --------
    >>> from fenchel.score.estimate import Estimate
    >>> rate = Estimate(0.12, 0.08, 0.17, level=0.95, method="exact binomial")
    >>> print(rate)
    0.12 [0.08, 0.17] (95 %, exact binomial)
    >>> rate + 1
    1.12
    >>> print(Estimate.exact(0.5, level=0.95, reason="the prediction is constant"))
    0.5 (exact: the prediction is constant)
    """

    __slots__ = ("high", "level", "low", "method", "standard_error")

    low: float
    high: float
    level: float
    method: str
    standard_error: float

    def __new__(
        cls,
        value: float,
        low: float,
        high: float,
        *,
        level: float,
        method: str,
        standard_error: float = math.nan,
    ) -> Estimate:
        self = super().__new__(cls, value)
        self.low, self.high = float(low), float(high)
        self.level, self.method = float(level), method
        self.standard_error = float(standard_error)
        return self

    @classmethod
    def exact(cls, value: float, *, level: float, reason: str) -> Estimate:
        """A number that has no sampling error, whatever the law of the rows, and why."""
        return cls(value, value, value, level=level, method=EXACT + reason, standard_error=0.0)

    @property
    def is_exact(self) -> bool:
        """Whether the number has no sampling error: `Estimate.exact` made it."""
        return self.low == self.high == float(self) and self.method.startswith(EXACT)

    def __reduce__(self) -> tuple[Any, ...]:
        return _estimate, (
            float(self),
            self.low,
            self.high,
            self.level,
            self.method,
            self.standard_error,
        )

    def __repr__(self) -> str:
        return (
            f"Estimate({float(self)!r}, low={self.low!r}, high={self.high!r}, "
            f"level={self.level:g}, method={self.method!r})"
        )

    def __str__(self) -> str:
        # The ends are rounded outward: what is printed holds what was computed.
        value, low, high = interval_texts(float(self), self.low, self.high, digits=4)
        if self.is_exact:
            return f"{value} ({self.method})"
        return f"{value} [{low}, {high}] ({100.0 * self.level:g} %, {self.method})"


def _estimate(
    value: float, low: float, high: float, level: float, method: str, error: float
) -> Estimate:
    return Estimate(value, low, high, level=level, method=method, standard_error=error)


def is_number(value: Any) -> bool:
    """Whether it is a number, and not True or False."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_integer(value: Any) -> bool:
    """Whether it is a whole number, and not True or False."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def check_share(value: Any, what: str) -> float:
    """The value as a float strictly between 0 and 1, or an error that names it."""
    if not is_number(value) or not 0.0 < float(value) < 1.0:
        raise ValueError(f"{what} must lie strictly between 0 and 1, got {value!r}")
    return float(value)
