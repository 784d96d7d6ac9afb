"""Numbers as they are said in a title."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from typing import Any

from fenchel.data.display.rounding import interval_texts
from fenchel.score.estimate import Estimate

NAME, LONGEST = 80, 400  # letters of a name and of a text


def number(value: Any, digits: int = 3) -> str:
    """The value with so many significant digits and no trailing zeros; whole up to a million."""
    found = float(value)
    return f"{found:.0f}" if 10.0**digits <= abs(found) < 1e6 else f"{found:.{digits}g}"


def capital(text: str) -> str:
    """The text with its first letter large."""
    return text[:1].upper() + text[1:]


def percent(share: float) -> str:
    """A share in per cent, with a digit more where it is near 0 or 1."""
    value = 100.0 * float(share)
    near = min(abs(value), abs(100.0 - value))
    return f"{value:.{0 if near >= 10.0 or near == 0.0 else 1}f} %"


def estimated(value: float) -> str:
    """A number with its interval, if it has one, down to the digit that the interval can tell.

    The ends of the interval are rounded outward (`fenchel.data.display.rounding`).
    """
    if not isinstance(value, Estimate) or not math.isfinite(value.low + value.high):
        return number(value, 4)
    if value.is_exact:
        return f"{number(value, 4)} exactly"
    shown, low, high = interval_texts(float(value), value.low, value.high)
    return f"{shown} [{low}, {high}]"


def level_of(value: Any) -> str:
    """How the interval of an Estimate was made, as a sentence, and nothing of a bare number."""
    if not isinstance(value, Estimate) or not math.isfinite(value.low + value.high):
        return ""
    if value.is_exact:
        return f"{value.method[:1].upper()}{value.method[1:]}."
    return f"{100.0 * value.level:g} % interval: {value.method}."


def lines(sentences: Iterable[str], width: float) -> list[str]:
    """Sentences broken into lines of so many letters, but not before a sign of per cent."""
    whole = plain(" ".join(sentences), LONGEST).replace(" %", "\N{NO-BREAK SPACE}%")
    found = textwrap.wrap(whole, max(int(width), 20), break_on_hyphens=False)
    return [line.replace("\N{NO-BREAK SPACE}", " ") for line in found]


def plain(text: Any, most: int = NAME) -> str:
    """Somebody's text as one line, for it to be drawn as it is; what is too long is cut."""
    said = " ".join(str(text).split())
    return said if len(said) <= most else f"{said[: most - 1]}…"


def distinct(names: Iterable[Any]) -> list[str]:
    """The names as text, each that was there before with a number after it."""
    found: list[str] = []
    taken: set[str] = set()
    for name in map(plain, names):
        candidate, count = name, 2
        while candidate in taken:
            candidate, count = f"{name} ({count})", count + 1
        taken.add(candidate)
        found.append(candidate)
    return found
