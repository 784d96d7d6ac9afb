"""HTML, built so that whatever came from data stays text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Any

# Control characters that no HTML document may hold; tabs and line ends are fine.
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")
_JOINTS = re.compile(r"(?<=[_/:=])(?=\w)|(?<=[^\W\d][.-])(?=[^\W\d])")
_EMPTY = frozenset(("input", "meta", "br", "hr", "link"))
LONGEST = 80


class Markup(str):
    """A string that is HTML already."""


def escaped(text: Any) -> Markup:
    """Text as HTML: itself where it is HTML already, and with every sign of HTML undone if not."""
    if isinstance(text, Markup):
        return text
    return Markup(html.escape(_CONTROLS.sub("\ufffd", str(text)), quote=True))


def tag(_name: str, *children: Any, **attributes: Any) -> Markup:
    """An element; `class_` is class, `data_row` is data-row; None and False leave one out."""
    parts = [f"<{_name}"]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        name = key.rstrip("_").replace("_", "-")
        parts.append(f" {name}" if value is True else f' {name}="{escaped(value)}"')
    parts.append(">")
    if _name not in _EMPTY:
        parts += [joined(children), f"</{_name}>"]
    return Markup("".join(parts))


def joined(children: Iterable[Any]) -> Markup:
    """Children one after the other; lists are opened, None is nothing."""
    parts = []
    for child in children:
        if child is None:
            continue
        if isinstance(child, list | tuple):
            parts.append(joined(child))
        else:
            parts.append(escaped(child))
    return Markup("".join(parts))


def named(text: Any, longest: int = LONGEST) -> Markup:
    """A name out of the data: kept apart from the direction of the text around it, and short.

    It may be broken behind the signs that join words (_ . / - : =), and at spaces.
    """
    whole = " ".join(str(text).split())
    if len(whole) <= longest:
        return tag("bdi", _breakable(whole))
    return tag("bdi", _breakable(whole[: longest - 1] + "…"), title=whole[:500])


def _breakable(text: str) -> Markup:
    return Markup("<wbr>".join(escaped(part) for part in _JOINTS.split(text)))
