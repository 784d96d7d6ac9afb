"""Where a text table begins and what separates its columns, from its first lines.

A delimiter is right if it cuts most lines into the same number of fields; of several that do, the
one whose fields are whole (numbers, or text without another delimiter), then the one with the most.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fenchel.app.table.text.header import header_evidence
from fenchel.app.table.text.number_format import is_number
from fenchel.app.table.text.reading_options import SPACES
from fenchel.data.display.counts import counted

_DELIMITERS = ",;\t|"
_LOOK = 100  # records that the delimiter is found from
_MOST_TITLES = 10  # lines above the header that are no part of the table
_CONSISTENT = 0.9  # share of the lines with the same number of fields
_CELLS = 40_000  # of the sample that shows what the columns hold
_DIGITS = re.compile(r"\d[\d .]* [\d .]*").fullmatch  # numbers side by side
_QUOTED = re.compile(r'"((?:[^"]|"")*)"|(\S+)')


@dataclass(frozen=True)
class TextLayout:
    """The delimiter, and how many physical lines stand above the table."""

    delimiter: str
    lines: int
    notes: tuple[str, ...] = ()
    commented: bool = False  # the header begins with "#"


def records(
    lines: Sequence[str], delimiter: str, quoting: str, most: int
) -> Iterator[tuple[int, list[str]]]:
    """(physical lines read so far, fields) of the first records that are not blank."""
    if delimiter == SPACES:
        for number, line in enumerate(lines[: most + 1000], 1):
            if line.strip():
                yield number, _split(line, quoting)
                most -= 1
            if most <= 0:
                return
        return
    reader = csv.reader(
        lines,
        delimiter=delimiter,
        quoting=csv.QUOTE_NONE if quoting == "none" else csv.QUOTE_MINIMAL,
        skipinitialspace=quoting == "literal",
    )
    try:
        for fields in reader:
            if fields and (len(fields) > 1 or fields[0].strip()):
                yield reader.line_num, fields
                most -= 1
            if most <= 0:
                return
    except csv.Error:  # a field beyond the limits of that reader: later checks will say it
        return


def _split(line: str, quoting: str) -> list[str]:
    if quoting == "none" or '"' not in line:
        return line.split()
    found = _QUOTED.finditer(line)
    return [m[2] if m[2] is not None else m[1].replace('""', '"') for m in found]


def sample_size(width: int) -> int:
    """How many rows show what the columns hold; fewer of wide tables."""
    return max(20, min(500, _CELLS // max(width, 1)))


def find_layout(
    lines: Sequence[str], name: str, delimiter: str | None, quoting: str | None, titles: bool
) -> TextLayout:
    """The layout of the table in these physical lines.

    Parameters
    ----------
    lines : of the file's head, each with its end
    name : of the file, whose ending may speak for tabs
    delimiter, quoting : what the user says about them
    titles : whether lines above the header may be taken for a title
    """
    top = _blank_lines(lines, 0)
    hint = re.fullmatch(r"sep=(.)\s*", lines[top]) if top < len(lines) else None
    notes: list[str] = []
    if hint is not None:
        delimiter, top = delimiter or hint[1], top + 1
        notes.append(f"the first line names the delimiter ({hint[0].strip()}) and is not read")
    comments = top
    while comments < len(lines) and lines[comments].lstrip().startswith("#"):
        comments = _blank_lines(lines, comments + 1)
    start = comments if comments < len(lines) else top
    mark, above = _delimiter(lines[start:], name, delimiter, quoting, titles)
    if start > top and _are_rows(lines[top:start], lines[start:], mark, quoting):
        start, above = top, 0
    if start > top:
        last = max(at for at in range(top, start) if lines[at].strip())
        if not above and _is_commented_header(lines[last], lines[start:], mark, quoting):
            return TextLayout(mark, last, tuple(notes), commented=True)
        said = lines[top].strip()[:60]
        notes.append(f"{counted(start - top, 'line')} of comments ('{said}') not read")
    if above:
        words = lines[start].strip().strip(mark)[:60]
        notes.append(f"{counted(above, 'line')} above the table ('{words}') not read")
    return TextLayout(mark, start + above, tuple(notes))


def _blank_lines(lines: Sequence[str], start: int) -> int:
    while start < len(lines) and not lines[start].strip():
        start += 1
    return start


def _are_rows(
    comments: Sequence[str], body: Sequence[str], delimiter: str, quoting: str | None
) -> bool:
    """Whether several lines that begin with "#" are cut like the rows, as codes of colours are."""
    rule = quoting or "standard"
    rows = [fields for _, fields in records(body, delimiter, rule, 50)]
    found = [fields for _, fields in records(comments, delimiter, rule, 50)]
    if len(found) < 2 or not rows or (width := usual_width(rows)) < 2:
        return False
    return all(len(fields) == width for fields in found)


def _is_commented_header(
    line: str, body: Sequence[str], delimiter: str, quoting: str | None
) -> bool:
    """Whether a comment just above the rows names as many columns as they have, and they have
    no header of their own."""
    rows = [fields for _, fields in records(body, delimiter, quoting or "standard", 50)]
    names = [fields for _, fields in records([uncommented(line)], delimiter, "standard", 1)]
    if not rows or not names or len(names[0]) != len(rows[0]) or len(rows[0]) < 2:
        return False
    return header_evidence(names[0], rows).header and not header_evidence(rows[0], rows[1:]).header


def uncommented(line: str) -> str:
    """A header without the "#" before it, unless that is the whole first name."""
    bare = line.lstrip().removeprefix("#").lstrip(" ")
    return bare if bare[:1] not in (*_DELIMITERS, "") else line.lstrip()


@dataclass(frozen=True)
class _Cut:
    """How well a delimiter cuts the lines."""

    delimiter: str
    quoting: str
    share: float  # of lines with the most frequent number of fields
    quality: float  # share of fields that are whole
    width: int
    above: int  # physical lines that are a title

    @property
    def rank(self) -> tuple[float, float, int]:
        return round(self.share, 2), round(self.quality, 1), self.width


def _delimiter(
    body: Sequence[str], name: str, given: str | None, quoting: str | None, titles: bool
) -> tuple[str, int]:
    order = "\t,;|" if ".tsv" in name.lower() else _DELIMITERS
    if given is not None:
        cut = _cut(body, given, quoting, titles)
        return given, cut.above if cut is not None else 0
    cuts = [cut for mark in order if (cut := _cut(body, mark, quoting, titles)) is not None]
    best = max(cuts, key=lambda cut: cut.rank, default=None)
    if best is None or best.share < _CONSISTENT or best.quality < 0.75:
        spaces = _cut(body, SPACES, quoting, titles)
        if spaces is not None and spaces.share >= _CONSISTENT and _has_numbers(body, spaces):
            weak = best is None or best.share < _CONSISTENT
            if weak or (spaces.quality == 1.0 and best is not None and best.quality < 0.75):
                return SPACES, spaces.above
    if best is not None:
        return best.delimiter, best.above
    text = "".join(body[:_LOOK])
    return next((mark for mark in order if mark not in text), ","), 0


def _cut(body: Sequence[str], mark: str, quoting: str | None, titles: bool) -> _Cut | None:
    """None where the first record, or the one below a title, is not cut."""
    if not any(mark in line for line in body[:_LOOK]):
        return None
    if mark == SPACES:
        lines = [line.strip() for line in body[:_LOOK] if line.strip()]
        if all(map(is_number, lines[1:] or lines)):
            return None  # one column of numbers such as 1 000 or 5 kr
    rules = [quoting] if quoting else ["standard", "none"] if _has_quotes(body) else ["standard"]
    cuts = [_cut_by(body, mark, rule, titles) for rule in rules]
    return max((cut for cut in cuts if cut is not None), key=lambda cut: cut.rank, default=None)


def _cut_by(body: Sequence[str], mark: str, rule: str, titles: bool) -> _Cut | None:
    found = list(records(body, mark, rule, _LOOK))
    if not found:
        return None
    above = _titles(found, 3 if mark == SPACES else 2) if titles else 0
    kept = [fields for _, fields in found[above:]]
    first, width = len(kept[0]), usual_width(kept)
    if first == 1:
        return None
    rows = [fields for fields in kept if len(fields) == width]
    cells = [cell for fields in rows for cell in fields]
    whole = sum(_is_whole(cell.strip(), mark) for cell in cells)
    # A header may have a field less (above the names of rows) or more (an end without a value).
    share = (len(rows) + (abs(first - width) == 1)) / len(kept)
    quality = whole / max(len(cells), 1)
    return _Cut(mark, rule, share, quality, width, found[above - 1][0] if above else 0)


def _is_whole(cell: str, mark: str) -> bool:
    """Whether a cell is a number, or text that no other delimiter would cut."""
    if is_number(cell):
        return True
    return not any(other in cell for other in _DELIMITERS if other != mark) and not _DIGITS(cell)


def usual_width(rows: Sequence[Sequence[str]]) -> int:
    """The most frequent number of fields below the first line; of equals that of the first."""
    first = len(rows[0])
    widths = Counter(len(fields) for fields in rows[1:])
    return max(widths, key=lambda one: (widths[one], one == first, one), default=first)


def _has_quotes(body: Sequence[str]) -> bool:
    return any('"' in line for line in body)


def _titles(found: Sequence[tuple[int, list[str]]], least: int) -> int:
    """How many records above the table are a title: of one field, above columns of numbers, of
    which there are at `least` so many."""
    above, width = 0, usual_width([fields for _, fields in found])
    if width < least:
        return 0
    while above < min(len(found) - 1, _MOST_TITLES):
        fields = found[above][1]
        alone = sum(bool(cell.strip()) for cell in fields) == 1 and bool(fields[0].strip())
        if (
            not alone
            or (len(fields) > 1 and len(fields) != width)
            or (width < 3 and len(fields) > 1)
        ):
            break
        above += 1
    if not above:
        return 0
    rest = [fields for _, fields in found[above:]]
    rows = [fields for fields in rest if len(fields) == width]
    if len(rest[0]) != width or len(rows) < 0.95 * len(rest) or len(rows) < 2:
        return 0
    padded = any(len(fields) > 1 for _, fields in found[:above])
    if padded and not header_evidence(rows[0], rows[1:]).header:
        return 0
    return above if _columns_of_numbers(rows[1:]) else 0


def _columns_of_numbers(rows: Sequence[Sequence[str]]) -> int:
    return sum(
        all(is_number(cell.strip()) for cell in column) for column in zip(*rows, strict=True)
    )


def _has_numbers(body: Sequence[str], cut: _Cut) -> bool:
    """Words between single blanks are prose; a table has a column of numbers."""
    found = [fields for _, fields in records(body[cut.above :], SPACES, cut.quoting, _LOOK)]
    rows = [fields for fields in found if len(fields) == cut.width]
    if len(rows) == 1:
        return 3 * sum(map(is_number, rows[0])) >= max(len(rows[0]), 3)
    return len(rows) > 1 and _columns_of_numbers(rows[1:]) > 0
