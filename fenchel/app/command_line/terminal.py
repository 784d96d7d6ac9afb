"""Words for people on a terminal, and one JSON document for machines."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, TextIO

import click

from fenchel.app.command_line.interrupt import check

# Marks that turn the direction of text round, which could make it read as something else.
_TURNING = {*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C}


def shown(text: object) -> str:
    """One line without characters that steer a terminal: what came from data is only ever shown."""
    plain = str(text)
    if plain.isascii() and plain.isprintable():
        return plain
    return "".join(_visible(letter) for letter in plain)


def _visible(letter: str) -> str:
    code = ord(letter)
    if code < 32 or 127 <= code < 160 or code in _TURNING or 0xD800 <= code < 0xE000:
        return letter.encode("unicode_escape").decode("ascii")
    return letter


def is_colored(stream: TextIO) -> bool:
    """Whether colours are welcome: on a terminal, unless NO_COLOR or TERM=dumb says otherwise."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def say(text: object = "", **style: Any) -> None:
    """A line on standard output."""
    _print(shown(text), sys.stdout, style)


def tell(text: object, **style: Any) -> None:
    """A line on standard error."""
    _print(shown(text), sys.stderr, style)


def _print(line: str, stream: TextIO, style: dict[str, Any]) -> None:
    if style and is_colored(stream):
        line = click.style(line, **style)
    print(line, file=stream, flush=stream is sys.stderr)


def note(text: object) -> None:
    """Something to know, on standard error."""
    tell(f"note: {text}", fg="yellow")


def warn(text: object) -> None:
    """Something that may make the result useless, on standard error, even where notes are off."""
    tell(f"warning: {text}", fg="yellow")


def problem(text: object) -> None:
    """A decision that the user should confirm, on standard error, even where notes are off."""
    tell(f"problem: {text}", fg="red")


def stepper(quiet: bool) -> Callable[[str], None]:
    """A function that tells on standard error what is being done."""

    def step(line: str) -> None:
        check()
        if not quiet:
            tell(f"{line} …", dim=True)

    return step


def rows_of_text(
    head: Sequence[str], rows: Sequence[Sequence[object]], right: Sequence[int] = ()
) -> list[str]:
    """A table as lines of aligned columns; those in `right` are flush right."""
    table = [[shown(cell) for cell in row] for row in [head, *rows]]
    wide = [max(len(row[at]) for row in table) for at in range(len(head))]
    lines = []
    for row in table:
        cells = [
            cell.rjust(wide[at]) if at in right else cell.ljust(wide[at])
            for at, cell in enumerate(row)
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def say_rows(
    head: Sequence[str], rows: Sequence[Sequence[object]], right: Sequence[int] = ()
) -> None:
    """That table on standard output."""
    first, *rest = rows_of_text(head, rows, right)
    say(first, bold=True)
    for line in rest:
        say(line)


def say_json(document: Any) -> None:
    """The one document of --json; numbers that are not finite are null."""
    print(json.dumps(_plain(document), indent=2, allow_nan=False))


def _plain(value: Any) -> Any:
    """In JSON's own types; an estimate is an object of its value, interval and method."""
    from fenchel.score.estimate import Estimate

    if isinstance(value, Estimate):
        names = ("low", "high", "level", "method")
        return {"value": _plain(float(value)), **{n: _plain(getattr(value, n)) for n in names}}
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return _plain(value.tolist())  # of numpy


def estimate_words(found: Any) -> tuple[str, str, str]:
    """(value, interval, method) of a number, for a table."""
    from fenchel.score.estimate import Estimate

    if not isinstance(found, Estimate):
        return f"{float(found):.4g}", "", ""
    value = "–" if math.isnan(found) else f"{float(found):.4g}"
    between = "" if math.isnan(found.low) else f"[{found.low:.4g}, {found.high:.4g}]"
    return value, between, found.method
