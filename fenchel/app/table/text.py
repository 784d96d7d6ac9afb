"""Text tables: their delimiter, encoding and header told, their rows as frames of text cells."""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fenchel.app.fault import BadData
from fenchel.app.table.cells import MARKERS, cells
from fenchel.app.table.opening import READABLE, Input
from fenchel.data.lines import first_line, slabs

MOST_COLUMNS = 10_000
LONGEST_CELL = 2**20  # bytes
_DELIMITERS = ",;\t|"
_WORDS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_MARK = codecs.BOM_UTF8
_HEAD = 2**20  # bytes that the delimiter is told from, and that a header may have
_LOOK = 100  # rows that the delimiter is told from
_SLAB = 2**23  # bytes of text parsed at a time
_HOLES = b"\x81\x8d\x8f\x90\x9d"  # bytes that Windows-1252 gives no character


@dataclass(frozen=True)
class Dialect:
    """How a text table is written."""

    delimiter: str
    encoding: str
    names: tuple[str, ...]
    notes: tuple[str, ...]


def dialect(source: Input) -> Dialect:
    """Delimiter, encoding and names of a text table, with a note on all that is not plain CSV."""
    encoding = _encoding(source)
    with source.bytes() as stream:
        head = stream.read(_HEAD)
    notes = []
    if source.packed:
        notes.append("unpacked by gzip")
    if head.startswith(_MARK):
        head = head.removeprefix(_MARK)
        notes.append("byte order mark dropped")
    if encoding != "utf-8":
        notes.append(f"read as {_ENCODINGS[encoding]}, since it is not UTF-8")
    if b"\n" not in head and b"\r" in head:
        raise BadData(
            f"{source.name} ends its lines in carriage returns alone: save it with line feeds"
        )
    if b"\n" not in head and len(head) > _HEAD - len(_MARK) - 1:
        raise BadData(f"{source.name} has a first line of more than {_HEAD} bytes: no header")
    text = head.decode(encoding, "replace")
    delimiter = _delimiter(source.name, text)
    if delimiter != ",":
        notes.append(f"delimiter {_WORDS[delimiter]} ({delimiter!r})")
    names, renamed = _names(source, first_line(head)[0].decode(encoding, "replace"), delimiter)
    return Dialect(delimiter, encoding, names, (*notes, *renamed))


_ENCODINGS = {"cp1252": "Latin-1 (Windows-1252)", "latin-1": "Latin-1 (ISO 8859-1)"}


def _encoding(source: Input) -> str:
    """UTF-8 if all of it is, else Latin-1 with the characters that Windows added."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    utf, holes, waiting = True, False, False
    with source.bytes() as stream:
        while chunk := stream.read(_SLAB):
            if b"\0" in chunk:
                raise BadData(f"{source.name} is no text: fenchel reads {READABLE}")
            if utf and (waiting or not chunk.isascii()):
                try:
                    decoder.decode(chunk)
                    waiting = bool(decoder.getstate()[0])
                except UnicodeDecodeError:
                    utf = False
            holes = holes or (not chunk.isascii() and any(hole in chunk for hole in _HOLES))
    if utf and not waiting:
        return "utf-8"
    return "latin-1" if holes else "cp1252"


def _delimiter(name: str, text: str) -> str:
    """The delimiter under which the header has fields, and the most rows as many as it."""
    whole = text[: text.rfind("\n") + 1] or text  # the last line may be cut
    best, delimiter = (0.0, 1), ""
    order = "\t,;|" if ".tsv" in name.lower() else _DELIMITERS
    for mark in order:
        widths = []
        try:
            for fields in csv.reader(io.StringIO(whole, newline=""), delimiter=mark):
                if fields:
                    widths.append(len(fields))
                if len(widths) > _LOOK:
                    break
        except csv.Error:  # a field beyond the limits of that reader: later checks will say it
            pass
        if not widths or widths[0] == 1:
            continue
        fit = (widths.count(widths[0]) / len(widths), widths[0])
        if fit > best:
            best, delimiter = fit, mark
    if delimiter:
        return delimiter
    return next((mark for mark in order if mark not in whole), ",")


def _names(source: Input, line: str, delimiter: str) -> tuple[tuple[str, ...], list[str]]:
    try:
        fields = next(csv.reader(io.StringIO(line, newline=""), delimiter=delimiter), [])
    except csv.Error as error:
        raise BadData(f"{source.name} has a header that cannot be read: {error}") from None
    if len(fields) > MOST_COLUMNS:
        raise BadData(
            f"{source.name} has {len(fields)} columns, more than {MOST_COLUMNS}: "
            "keep those you need"
        )
    if not any(field.strip() for field in fields):
        raise BadData(f"{source.name} has no header in its first line: add the names of columns")
    counted = [[str(i + k) for i in range(len(fields))] for k in (0, 1)]
    if fields not in counted and all(_is_number(field) for field in fields):
        raise BadData(
            f"{source.name} has numbers in its first line where the names of the columns are "
            "needed: add a header line"
        )
    return distinct_names(fields)


def distinct_names(fields: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """The names with every one given and none twice, and notes on those that were changed."""
    notes: list[str] = []
    given = {field.strip() for field in fields}
    names: dict[str, None] = {}
    for at, field in enumerate(fields, 1):
        plain = field.strip()
        name = plain or f"column {at}"
        count = 1
        while name in names or (name != plain and name in given):
            count += 1
            name = f"{plain or f'column {at}'}_{count}"
        if not plain:
            notes.append(f"column {at} has no name: called '{name}'")
        elif name != plain:
            notes.append(f"duplicate column '{plain}' renamed '{name}'")
        names[name] = None
    return tuple(names), notes


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class TextRows:
    """One walk through the rows of a text table; `markers` and `commas` count what was met."""

    def __init__(self, source: Input, how: Dialect, columns: Sequence[str] | None = None) -> None:
        self.source, self.how = source, how
        self.names = how.names if columns is None else tuple(columns)
        self.markers: Counter[str] = Counter()
        self.commas = self.blanks = self.rows = 0
        self._width = len(how.names)
        place = {name: at for at, name in enumerate(how.names)}
        self._keep = sorted(place[name] for name in self.names)
        self._order = [self._keep.index(place[name]) for name in self.names]

    def __iter__(self) -> Iterator[pl.DataFrame]:
        first = True
        with self.source.bytes() as stream:
            parts = slabs(stream, _SLAB)
            while (slab := self._next(parts)) is not None:
                if first:
                    slab, first = first_line(slab)[1], False
                if not slab or (self._width > 1 and slab.isspace()):
                    continue
                if self.how.encoding != "utf-8":
                    slab = slab.decode(self.how.encoding).encode()
                frame = self._parsed(slab)
                yield self._cleaned(frame, b" " in slab or b"\t" in slab)
                self.rows += frame.height

    def _next(self, parts: Iterator[bytes]) -> bytes | None:
        try:
            return next(parts, None)
        except ValueError as error:
            raise BadData(
                f"{self.source.name} cannot be read after row {self.rows}: {error}"
            ) from None

    def _parsed(self, slab: bytes) -> pl.DataFrame:
        """The lines as text; an error names the first with more or fewer fields than the header."""
        # Under a header of our own, so that a short first line is not taken for the whole width.
        header = self.how.delimiter.join(str(at) for at in range(self._width)).encode()
        last = self._width - 1
        keep = self._keep if last in self._keep else [*self._keep, last]
        try:
            frame = pl.read_csv(
                header + b"\n" + slab,
                separator=self.how.delimiter,
                columns=keep,
                infer_schema=False,
            )
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            self._check_widths(slab)
            raise BadData(self._unreadable(error)) from None
        # Fields that are not there are read as missing, so a row cut short has no last field.
        if last and frame.to_series(len(keep) - 1).null_count():
            blank = self._check_widths(slab)
            if blank.any():
                self.blanks += int(blank.sum())
                if len(blank) != frame.height:
                    raise BadData(self._unreadable(None))
                frame = frame.filter(pl.Series(~blank))
        frame = frame[:, : len(self._keep)][:, self._order]
        frame.columns = list(self.names)
        return frame

    def _unreadable(self, error: BaseException | None) -> str:
        return (
            f"{self.source.name} cannot be read after row {self.rows}: perhaps a quote stands in "
            "the middle of a cell (inside quotes it is written twice), or a line is damaged"
        )

    def _check_widths(self, slab: bytes) -> NDArray[np.bool_]:
        """Which lines are blank; an error for the first with too few or too many fields."""
        letters = np.frombuffer(slab if slab.endswith(b"\n") else slab + b"\n", np.uint8)
        ends, marks = letters == 10, letters == ord(self.how.delimiter)
        if b'"' in slab:
            inside = (np.cumsum(letters == 34) & 1).astype(bool)
            if inside[-1]:
                raise BadData(
                    f"{self.source.name} opens a quote after row {self.rows} that is never closed"
                )
            ends, marks = ends & ~inside, marks & ~inside
        stops = np.flatnonzero(ends)
        fields = np.diff(np.searchsorted(np.flatnonzero(marks), stops), prepend=0) + 1
        lengths = np.diff(stops, prepend=-1) - 1
        blank = (lengths == 0) | ((lengths == 1) & (letters[stops - 1] == 13))
        odd = np.flatnonzero((fields != self._width) & ~blank)
        if len(odd):
            row = self.rows + int(odd[0]) + 1 - int(blank[: odd[0]].sum())
            raise BadData(
                f"{self.source.name}: row {row} (below the header) has {fields[odd[0]]} fields "
                f"where the header has {self._width}: correct that line, or quote the cell with a "
                f"{_WORDS[self.how.delimiter]}"
            )
        return blank

    def _cleaned(self, frame: pl.DataFrame, spaces: bool) -> pl.DataFrame:
        if spaces:
            frame = frame.select(pl.all().str.strip_chars())
        longest = frame.select(pl.all().str.len_bytes().max()).row(0)
        marked = frame.select(pl.all().is_in(MARKERS).any()).row(0)
        columns = []
        for column, most, has_marker in zip(frame.iter_columns(), longest, marked, strict=True):
            if most is not None and most > LONGEST_CELL:
                raise BadData(
                    f"{self.source.name}: column '{column.name}' has a cell of {most} bytes after "
                    f"row {self.rows}, more than {LONGEST_CELL}: perhaps a quote is not closed"
                )
            if has_marker:
                column = cells(column, self.markers, strip=False)
            if self.how.delimiter == ";":
                column = self._points(column)
            columns.append(column)
        return pl.DataFrame(columns)

    def _points(self, column: pl.Series) -> pl.Series:
        """Numbers with a decimal comma, as semicolons between columns go with, with a point."""
        if not column.str.contains(",", literal=True).any():
            return column
        comma = column.str.contains(r"^[+-]?\d+,\d+([eE][+-]?\d+)?$")
        count = int(comma.sum())
        if not count:
            return column
        self.commas += count
        return column.zip_with(~comma.fill_null(False), column.str.replace(",", ".", literal=True))
