"""Bars that a result must clear: --require "auc>=0.9" --require "accuracy.low>=0.8"."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fenchel.app.errors import BadUsage
from fenchel.app.suggest import nearest

_FORM = re.compile(
    r"\s*([a-z][a-z0-9_]*)(?:\.(low|high))?\s*(>=|<=|>|<)\s*"
    r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*",
    re.ASCII,
)
_COMPARE = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}


class BarNotMet(Exception):
    """What --require asked for was not reached: exit code 1."""


@dataclass(frozen=True)
class Bar:
    """A number that a result, or an end of its interval, must reach."""

    name: str
    end: str | None  # low, high, or None for the number itself
    sign: str
    limit: float

    def __str__(self) -> str:
        end = f".{self.end}" if self.end else ""
        return f"{self.name}{end} {self.sign} {self.limit:g}"

    def value(self, found: Any) -> float:
        """What of the result is compared; NaN where it has no interval."""
        if self.end is None:
            return float(found)
        return float(getattr(found, self.end, math.nan))


def parse_bars(texts: Sequence[str], known: Collection[str]) -> tuple[Bar, ...]:
    """The bars of the texts; BadUsage for anything but name, sign and number."""
    bars = []
    for text in texts:
        found = _FORM.fullmatch(text)
        if found is None:
            raise BadUsage(
                f"--require {text!r} is not a name, one of >= <= > <, and a number: write for "
                'example --require "accuracy.low>=0.8"'
            )
        name, end, sign, limit = found.groups()
        if name not in known:
            hint = nearest(name, known, "there are")
            raise BadUsage(f"--require {text!r} names {name}, which is not a result here: {hint}")
        bars.append(Bar(name, end, sign, float(limit)))
    return tuple(bars)


def judged(bars: Sequence[Bar], results: Mapping[str, Any]) -> list[tuple[Bar, float, bool]]:
    """(bar, what was reached, whether that meets it); BadUsage for a result that is not there."""
    found = []
    for bar in bars:
        if bar.name not in results:
            there = ", ".join(results)
            raise BadUsage(f"--require asks for {bar.name}, and the results are {there}")
        value = bar.value(results[bar.name])
        found.append((bar, value, bool(_COMPARE[bar.sign](value, bar.limit))))  # NaN meets nothing
    return found


def bar_entries(bars: Sequence[Bar], results: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The bars with what was reached, for JSON."""
    return [
        {"bar": str(bar), "reached": value, "met": met} for bar, value, met in judged(bars, results)
    ]


def check_bars(bars: Sequence[Bar], results: Mapping[str, Any]) -> None:
    """BarNotMet, saying what was reached, unless every bar is met."""
    missed = []
    for bar, value, met in judged(bars, results):
        if not met:
            reached = "has no value" if math.isnan(value) else f"is {value:.6g}"
            end = f".{bar.end}" if bar.end else ""
            missed.append(f"{bar.name}{end} {reached}, and {bar} was required")
    if missed:
        raise BarNotMet("; ".join(missed))
