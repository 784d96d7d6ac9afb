"""How a text table is written: its encoding, delimiter, quotes, and the names of its columns."""

from __future__ import annotations

import codecs
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from fenchel.app.errors import BadData, BadUsage
from fenchel.app.table.files.source import READABLE, Input
from fenchel.app.table.text.column_names import name_columns
from fenchel.app.table.text.delimiter import find_layout, records, sample_size
from fenchel.app.table.text.quoting import QuoteCheck, Quoting, QuotingSurvey
from fenchel.app.table.text.reading_options import DELIMITER_NAMES, SPACES, Reading
from fenchel.data.display.counts import counted

_MARK = codecs.BOM_UTF8
_HEAD = 2**20  # bytes that the dialect is found from, and that a header may have
_LINES = 5000  # of the head that are looked at
_PIECE = 2**23  # bytes looked at in one go
_HOLES = b"\x81\x8d\x8f\x90\x9d"  # bytes that Windows-1252 gives no character
_ENCODINGS = {"cp1252": "Latin-1 (Windows-1252)", "latin-1": "Latin-1 (ISO 8859-1)"}


@dataclass(frozen=True)
class Dialect:
    """How a text table is written."""

    delimiter: str
    encoding: str
    quoting: Quoting
    names: tuple[str, ...]
    header: bool
    start: int  # bytes before the first row
    lines: int  # physical lines before it
    trailing: bool = False  # every row ends in a delimiter, behind which there is nothing
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()  # what the user should confirm

    @property
    def width(self) -> int:
        """The number of fields of a row."""
        return len(self.names) + self.trailing

    @property
    def kind(self) -> str:
        """What such a table is called."""
        return {"\t": "TSV", SPACES: "space-separated text"}.get(self.delimiter, "CSV")


def delimiter_words(delimiter: str) -> str:
    """The delimiter as a sentence names it."""
    return DELIMITER_NAMES.get(delimiter, repr(delimiter))


def dialect(source: Input, reading: Reading | None = None, known: Collection[str] = ()) -> Dialect:
    """The dialect of a text table, with a note on all that is not plain CSV.

    Parameters
    ----------
    source : Input
    reading : Reading
        What the user says; everything else is detected.
    known : collection of str
        Names that the columns may have: a first line that holds them is a header.
    """
    reading = reading or Reading()
    with source.bytes() as stream:
        head = stream.read(_HEAD)
    notes = ["unpacked by gzip"] if source.packed else []
    mark = len(_MARK) if head.startswith(_MARK) else 0
    if mark:
        notes.append("byte order mark dropped")
    _check_lines(source, head[mark:])
    lines = _physical_lines(head[mark:])
    if reading.skip:
        if reading.skip >= len(lines):
            raise BadUsage(
                f"--skip {reading.skip} leaves nothing of {source.name}, which has "
                f"{len(lines)} lines{' in its first MiB' if len(head) == _HEAD else ''}: skip fewer"
            )
        notes.append(f"{counted(reading.skip, 'line')} skipped at the top")
    given = None if reading.quoting is None else str(reading.quoting)
    texts = [line.decode("latin-1") for line in lines[reading.skip :][:_LINES]]
    if not any(text.strip() for text in texts):
        raise BadData(f"{source.name} has nothing but blank lines: it has no header and no rows")
    if any(text.lstrip().lower().startswith("@relation") for text in texts[:200]):
        raise BadData(f"{source.name} is an ARFF file: save the table as CSV")
    layout = find_layout(texts, source.name, reading.delimiter, given, titles=not reading.skip)
    if layout.commented and reading.has_header is False:
        layout = replace(layout, lines=layout.lines + 1, commented=False)
    above = reading.skip + layout.lines
    offset = mark + sum(map(len, lines[:above]))
    encoding, check = _scanned(source, offset, layout.delimiter)
    if encoding != "utf-8":
        notes.append(f"read as {_ENCODINGS[encoding]}, since it is not UTF-8")
    table = [line.decode(encoding, "replace") for line in lines[above:][:_LINES]]
    quoting, said = _quoting(source, reading, layout.delimiter, check, table, offset, above)
    found = name_columns(source.name, table, layout, quoting, reading, known)
    if layout.delimiter != "," and len(found.names) > 1:
        shown = "runs of blanks" if layout.delimiter == SPACES else repr(layout.delimiter)
        notes.append(f"delimiter {delimiter_words(layout.delimiter)} ({shown})")
    notes += [*layout.notes, *said]
    size = sum(map(len, lines[above : above + found.lines]))
    return Dialect(
        delimiter=layout.delimiter,
        encoding=encoding,
        quoting=quoting,
        names=found.names,
        header=found.header,
        start=offset + size,
        lines=above + found.lines,
        trailing=found.trailing,
        notes=(*notes, *found.notes),
        problems=found.problems,
    )


def _check_lines(source: Input, head: bytes) -> None:
    if b"\n" not in head and b"\r" in head:
        raise BadData(
            f"{source.name} ends its lines in carriage returns alone: save it with line feeds"
        )
    if b"\n" not in head and len(head) > _HEAD - len(_MARK) - 1:
        raise BadData(f"{source.name} has a first line of more than {_HEAD} bytes: no header")


def _physical_lines(head: bytes) -> list[bytes]:
    """The lines of a file's beginning, each with its end; the last may be cut, and is left out."""
    lines = head.split(b"\n")
    whole = [line + b"\n" for line in lines[:-1]]
    if lines[-1] and (len(head) < _HEAD - len(_MARK) or not whole):
        whole.append(lines[-1])
    return whole


def _scanned(source: Input, offset: int, delimiter: str) -> tuple[str, QuoteCheck]:
    """UTF-8 if all of it is, else Latin-1, by preference that of Windows; and what quotes do."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    utf, holes, waiting, place = True, False, False, 0
    check = QuoteCheck(delimiter)
    with source.bytes() as stream:
        while chunk := stream.read(_PIECE):
            if b"\0" in chunk:
                raise BadData(f"{source.name} is not text: fenchel reads {READABLE}")
            if utf and (waiting or not chunk.isascii()):
                try:
                    decoder.decode(chunk)
                    waiting = bool(decoder.getstate()[0])
                except UnicodeDecodeError:
                    utf = False
            holes = holes or (not chunk.isascii() and any(hole in chunk for hole in _HOLES))
            check.add(chunk[max(offset - place, 0) :] if place < offset else chunk)
            place += len(chunk)
    if utf and not waiting:
        return "utf-8", check
    return ("latin-1" if holes else "cp1252"), check


def _quoting(
    source: Input,
    reading: Reading,
    delimiter: str,
    check: QuoteCheck,
    table: Sequence[str],
    offset: int,
    above: int,
) -> tuple[Quoting, list[str]]:
    """The rule of the quotes, and a note if it is not the standard one."""
    if reading.quoting == "none" or not check.has_quotes:
        return "none", []  # where there are no quotes, the quick way
    if check.finish():
        if reading.quoting is None and _is_cut_by_itself(table, delimiter):
            return "none", [
                "quotes are read as characters: cells between them would reach over lines that are "
                "whole by themselves"
            ]
        return "standard", []
    rule: Quoting | None = "none"
    fault = None
    if delimiter != SPACES:
        with source.bytes() as stream:
            stream.seek(offset)
            survey = QuotingSurvey.of(stream, delimiter)
        rule, fault = survey.rule, survey.fault
        if reading.quoting == "standard" or (rule is None and reading.bad_lines == "skip"):
            rule = "literal" if fault is None or reading.bad_lines == "skip" else None
    if rule is None:
        line, text = fault or (0, "")
        raise BadData(
            f"{source.name}: line {above + line} has a quote that is not closed at the end of its "
            f"cell ({text!r}): write quotes inside a cell twice, read quotes as characters with "
            "--quoting none, or leave such lines out with --skip-bad-lines"
        )
    words = {
        "none": "quotes are read as characters, since they do not enclose cells",
        "literal": "quotes in the middle of a cell are read as characters",
    }
    return rule, [words[rule]]


def _is_cut_by_itself(table: Sequence[str], delimiter: str) -> bool:
    """Whether cells between quotes hold line ends, though every line has all fields by itself."""
    first = next(records(table, delimiter, "none", 1), None)
    if delimiter == SPACES or first is None:
        return False
    lines = table[: sample_size(len(first[1]))]
    alone = [fields for _, fields in records(lines, delimiter, "none", len(lines))]
    joined = list(records(lines, delimiter, "standard", len(lines)))
    widths = {len(fields) for fields in alone}
    return len(joined) < len(alone) and len(widths) == 1 and widths.pop() > 1
