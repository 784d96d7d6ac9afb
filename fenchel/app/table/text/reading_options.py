"""How a text table shall be read: what the user says about it, in place of what is detected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fenchel.app.errors import BadUsage

SPACES = " "  # as a delimiter: runs of blanks, with or without blanks around a line
_NAMED = {"comma": ",", "semicolon": ";", "tab": "\t", "\\t": "\t", "bar": "|", "space": SPACES}
DELIMITER_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", SPACES: "space"}


@dataclass(frozen=True)
class Reading:
    """The options of the command line about a text table; None, 0 and () mean: detect it.

    Attributes
    ----------
    header : whether the first line holds the names of the columns
    names : names of the columns; without `header` they mean that the first line is a row
    skip : lines to leave out before the header or the first row
    delimiter : one character; " " stands for runs of spaces and tabs
    quoting : "standard" (cells may stand between quotes) or "none" (quotes are characters)
    bad_lines : "error" or "skip": lines with too many or too few fields
    decimal : "." or ",", for columns that may be read either way
    """

    header: bool | None = None
    names: tuple[str, ...] = ()
    skip: int = 0
    delimiter: str | None = None
    quoting: Literal["standard", "none"] | None = None
    bad_lines: Literal["error", "skip"] = "error"
    decimal: Literal[".", ","] | None = None

    def __post_init__(self) -> None:
        if self.skip < 0:
            raise BadUsage(f"--skip {self.skip} is negative: give the number of lines to leave out")
        mark = self.delimiter
        if mark is not None and (len(mark) != 1 or not mark.isascii() or mark.isalnum()):
            raise BadUsage(
                f"--delimiter {mark!r} is not one character: give one such as ';', or one of the "
                f"words {', '.join(DELIMITER_NAMES.values())}"
            )
        if mark is not None and mark in '"\r\n\0':
            raise BadUsage(f"--delimiter {mark!r} cannot separate columns: give another character")
        twice = [name for at, name in enumerate(self.names) if name in self.names[:at]]
        if twice:
            raise BadUsage(f"--names has '{twice[0]}' twice: give every column a name of its own")
        if not all(self.names):
            raise BadUsage("--names has an empty name: give every column a name")

    @property
    def has_header(self) -> bool | None:
        """Whether the first line is a header; None if that is to be detected."""
        if self.header is None and self.names:
            return False
        return self.header

    @property
    def text_only(self) -> tuple[str, ...]:
        """The options given that concern text tables alone, as the command line writes them."""
        given = {
            "--header" if self.header else "--no-header": self.header is not None,
            "--skip": self.skip > 0,
            "--delimiter": self.delimiter is not None,
            "--quoting": self.quoting is not None,
            "--skip-bad-lines": self.bad_lines == "skip",
            "--decimal": self.decimal is not None,
        }
        return tuple(option for option, is_given in given.items() if is_given)


def delimiter_of(text: str) -> str:
    """The delimiter that an option names, by itself or by a word such as "tab"."""
    return _NAMED.get(text.strip().lower() or SPACES, text)
