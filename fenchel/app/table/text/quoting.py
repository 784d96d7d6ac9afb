"""Which rule the quotes of a text table follow, and records under each rule.

- standard (RFC 4180): a quote opens a cell at its beginning, closes it at its end, and is written
  twice inside; delimiters and line ends between quotes are part of the cell.
- literal: standard, but quotes inside a cell that does not begin with one are characters.
- none: every quote is a character.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from fenchel.app.table.text.reading_options import SPACES

Quoting = Literal["standard", "literal", "none"]
_LONGEST = 2**20  # bytes of a record whose quote is not closed yet
_CONSISTENT = 0.99  # share of the records with the same number of fields that confirms a rule


class QuoteCheck:
    """Whether all quotes of a stream follow the standard rule, from pieces of any size.

    Counted from the start, every odd quote opens and every even one closes; a quote written twice
    closes and opens again. So an odd one follows a delimiter, a line end or a quote, and an even
    one stands before one of these: nothing else needs to be looked at.
    """

    def __init__(self, delimiter: str) -> None:
        blanks = b" \t" if delimiter == SPACES else delimiter.encode()
        self._before = np.zeros(256, np.bool_)
        self._before[list(blanks + b'\n"')] = True
        self._after = self._before.copy()
        self._after[13] = True
        self.is_standard, self.has_quotes = True, False
        self._inside, self._last, self._closed = 0, 10, False

    def add(self, piece: bytes) -> None:
        """Takes the next bytes."""
        if not piece or not self.is_standard:
            return
        if self._closed:
            self.is_standard = bool(self._after[piece[0]])
            self._closed = False
        if b'"' in piece:
            self.has_quotes = True
            self._check(np.frombuffer(piece, np.uint8))
        self._last = piece[-1]

    def _check(self, letters: NDArray[np.uint8]) -> None:
        at = np.flatnonzero(letters == 34)
        opening, closing = at[self._inside :: 2], at[1 - self._inside :: 2]
        if len(opening) and opening[0] == 0:
            self.is_standard &= bool(self._before[self._last])
            opening = opening[1:]
        if len(closing) and closing[-1] == len(letters) - 1:
            self._closed = True
            closing = closing[:-1]
        self.is_standard &= bool(self._before[letters[opening - 1]].all())
        self.is_standard &= bool(self._after[letters[closing + 1]].all())
        self._inside = (self._inside + len(at)) % 2

    def finish(self) -> bool:
        """Whether the rule holds, now that the stream has ended."""
        return self.is_standard and not self._inside


@dataclass(frozen=True)
class Record:
    """A record under the literal rule, written by the standard one."""

    text: bytes
    lines: int
    width: int
    enclosed: int = 0  # cells between quotes
    fault: bool = False  # a quote that neither opens nor closes a cell, or is never closed


class LiteralRules:
    """Cuts lines into records under the literal rule."""

    def __init__(self, delimiter: str) -> None:
        self._mark = delimiter.encode()
        mark = re.escape(self._mark)
        self._open = re.compile(rb' *"')
        self._inside = re.compile(rb'((?:[^"]++|"")*+)"')
        self._after = re.compile(rb" *(?=" + mark + rb"|$)")
        self._plain = re.compile(rb"[^" + mark + rb"]*")

    def records(self, lines: Iterable[bytes]) -> Iterator[Record]:
        """All records; one with a fault is a single line, and the next begins below it."""
        source, again = iter(lines), deque[bytes]()

        def following() -> bytes | None:
            return again.popleft() if again else next(source, None)

        while (line := following()) is not None:
            if b'"' not in line:
                yield Record(line, 1, line.count(self._mark) + 1)
                continue
            taken = [line]
            found = self._record(taken, following)
            if found.fault:
                again.extendleft(reversed(taken[1:]))
            yield found

    def _record(self, taken: list[bytes], following: Callable[[], bytes | None]) -> Record:
        body, end = _ended(taken[0])
        made: list[bytes] = []
        place, width, enclosed, size = 0, 1, 0, 0
        fault = Record(taken[0], 1, 0, fault=True)
        while True:
            opened = self._open.match(body, place)
            if opened is None:
                plain = self._plain.match(body, place)
                assert plain is not None
                text = plain[0]
                made.append(b'"' + text.replace(b'"', b'""') + b'"' if b'"' in text else text)
                place = plain.end()
            else:
                made.append(b'"')
                place = opened.end()
                while (closed := self._inside.match(body, place)) is None:
                    made.append(body[place:] + end)
                    size += len(body)
                    line = following() if size <= _LONGEST else None
                    if line is None:
                        return fault
                    taken.append(line)
                    (body, end), place = _ended(line), 0
                made.append(closed[0])
                after = self._after.match(body, closed.end())
                if after is None:
                    return fault
                place, enclosed = after.end(), enclosed + 1
            if place >= len(body):
                return Record(b"".join(made) + end, len(taken), width, enclosed)
            made.append(self._mark)
            place, width = place + 1, width + 1


def _ended(line: bytes) -> tuple[bytes, bytes]:
    body = line.rstrip(b"\r\n")
    return body, line[len(body) :]


@dataclass
class QuotingSurvey:
    """How the records of a table come out under the literal rule and under none."""

    rows: int = 0
    enclosed: int = 0  # records with a cell between quotes
    literal: Counter[int] = field(default_factory=Counter)  # number of fields -> records
    none: Counter[int] = field(default_factory=Counter)
    fault: tuple[int, str] | None = None  # line number from 1, and its beginning

    @classmethod
    def of(cls, lines: Iterable[bytes], delimiter: str) -> QuotingSurvey:
        """The survey of these lines."""
        found, mark, number = cls(), delimiter.encode(), 0

        def counted() -> Iterator[bytes]:
            for line in lines:
                if not line.isspace():
                    found.none[line.count(mark) + 1] += 1
                yield line

        for record in LiteralRules(delimiter).records(counted()):
            if record.fault and found.fault is None:
                found.fault = number + 1, record.text.decode("utf-8", "replace").strip()[:60]
            number += record.lines
            if not record.text.isspace():
                found.rows += 1
                found.enclosed += record.enclosed > 0
                found.literal[record.width] += 1
        return found

    @property
    def rule(self) -> Quoting | None:
        """The rule that these records follow, None if they follow none."""
        # Where nothing stands between quotes but a few cells without a delimiter in them, quotes
        # are characters of a file written without quoting.
        if self.fault is None and _agreement(self.literal) >= _CONSISTENT:
            return "literal"
        if _agreement(self.none) >= _CONSISTENT and self.enclosed < 0.5 * self.rows:
            return "none"
        return "literal" if self.fault is None else None


def _agreement(widths: Counter[int]) -> float:
    return max(widths.values(), default=0) / max(sum(widths.values()), 1)


def literal_slabs(
    stream: BinaryIO, delimiter: str, size: int, dropped: list[tuple[int, str]] | None
) -> Iterator[tuple[int, bytes]]:
    """(physical lines, text by the standard rule) in pieces of about `size` bytes.

    Records with a fault go to `dropped` as (number of the line in the stream, its beginning), or
    stay in the text where that is None. A piece ends before each of them.
    """
    pending: list[bytes] = []
    lines = filled = number = 0
    for record in LiteralRules(delimiter).records(stream):
        number += record.lines
        if record.fault and dropped is not None:
            dropped.append((number, record.text.decode("utf-8", "replace").strip()[:60]))
            lines += record.lines
            yield lines, b"".join(pending)
            pending, lines, filled = [], 0, 0
            continue
        pending.append(record.text)
        lines, filled = lines + record.lines, filled + len(record.text)
        if filled >= size:
            yield lines, b"".join(pending)
            pending, lines, filled = [], 0, 0
    if pending:
        yield lines, b"".join(pending).rstrip(b"\r\n")
