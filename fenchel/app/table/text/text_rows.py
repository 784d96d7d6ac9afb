"""The rows of a text table as frames of text cells, in pieces of bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import BinaryIO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fenchel.app.errors import BadData
from fenchel.app.table.files.source import Input
from fenchel.app.table.text.cells import MARKERS, cells
from fenchel.app.table.text.column_names import MOST_COLUMNS
from fenchel.app.table.text.dialect import Dialect, delimiter_words
from fenchel.app.table.text.header import distinct_names
from fenchel.app.table.text.quoting import literal_slabs
from fenchel.app.table.text.reading_options import SPACES
from fenchel.data.display.counts import counted
from fenchel.data.files.text_chunks import line_chunks

__all__ = ["LONGEST_CELL", "MOST_COLUMNS", "TextRows", "distinct_names", "single_spaces"]

LONGEST_CELL = 2**20  # bytes
_SLAB = 2**23  # bytes of text parsed at a time
_EXAMPLES = 3
Fields = NDArray[np.int64]


class TextRows:
    """One pass over the rows of a text table; the counters say what was met on the way."""

    def __init__(
        self,
        source: Input,
        how: Dialect,
        columns: Sequence[str] | None = None,
        *,
        skip_bad: bool = False,
    ) -> None:
        self.source, self.how = source, how
        self.names = how.names if columns is None else tuple(columns)
        self.markers: Counter[str] = Counter()
        self.blanks = self.rows = 0
        self.bad: list[tuple[int, str]] = []  # lines left out: their number and what is wrong
        self._skip_bad = skip_bad
        self._line, self._place = how.lines, how.start  # physical lines, and bytes they take
        self._done = 0  # bytes of lines that were parsed and are not counted yet
        place = {name: at for at, name in enumerate(how.names)}
        self._keep = sorted(place[name] for name in self.names)
        self._order = [self._keep.index(place[name]) for name in self.names]

    def __iter__(self) -> Iterator[pl.DataFrame]:
        with self.source.bytes() as stream:
            stream.read(self.how.start)
            parts = self._slabs(stream)
            while (part := self._next(parts)) is not None:
                done, slab = part
                if slab and not (self.how.width > 1 and slab.isspace()):
                    frame = self._parsed(slab)
                    if frame.height:
                        yield self._cleaned(frame, _may_have_blanks(slab))
                    self.rows += frame.height
                self._done += done

    @property
    def _above(self) -> int:
        """Physical lines above the slab, counted when an error asks for them."""
        if self._done and self.how.quoting == "literal":
            self._line, self._done = self._line + self._done, 0
        if self._done:
            with self.source.bytes() as stream:
                stream.seek(self._place)
                self._place += self._done
                while self._done and (piece := stream.read(min(self._done, _SLAB))):
                    self._line += piece.count(b"\n")
                    self._done -= len(piece)
        return self._line

    def _slabs(self, stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
        """Text in UTF-8, delimited by one character and quoted as usual; before it how many bytes
        of the file it was, or how many lines where quotes are literal."""
        quoting, encoding = self.how.quoting, self.how.encoding
        if quoting == "literal":
            dropped: list[tuple[int, str]] | None = [] if self._skip_bad else None
            first = self.how.lines
            for lines, slab in literal_slabs(stream, self.how.delimiter, _SLAB, dropped):
                while dropped:
                    number, text = dropped.pop(0)
                    self.bad.append((first + number, f"a quote that is not closed in {text!r}"))
                yield lines, _in_utf8(slab, encoding)
            return
        for slab in line_chunks(stream, _SLAB, quoted=quoting != "none"):
            size = len(slab)
            if self.how.delimiter == SPACES:
                slab = single_spaces(slab, quoting != "none")
            yield size, _in_utf8(slab, encoding)

    def _next(self, parts: Iterator[tuple[int, bytes]]) -> tuple[int, bytes] | None:
        try:
            return next(parts, None)
        except ValueError as error:
            raise BadData(
                f"{self.source.name} cannot be read after line {self._above} (row {self.rows}): "
                f"{error}"
            ) from None

    def _parsed(self, slab: bytes) -> pl.DataFrame:
        """The lines as text; an error names the first with more or fewer fields than the header."""
        last = self.how.width - 1
        keep = self._keep if last in self._keep else [*self._keep, last]
        try:
            frame = self._read(slab, keep)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            kept = self._checked(slab)
            if kept == slab:
                raise BadData(self._unreadable()) from None
            frame = self._read(kept, keep)
            slab = kept
        # Fields that are not there are read as missing, so a row cut short has no last field.
        if last and frame.to_series(len(keep) - 1).null_count():
            kept = self._checked(slab)
            if kept != slab:
                frame, slab = self._read(kept, keep), kept
        if self.how.trailing:
            self._check_trailing(frame.to_series(len(keep) - 1), slab)
        frame = frame[:, : len(self._keep)][:, self._order]
        frame.columns = list(self.names)
        return frame

    def _read(self, slab: bytes, keep: Sequence[int]) -> pl.DataFrame:
        # Under a header of our own, so that a short first line is not taken for the whole width.
        header = self.how.delimiter.join(str(at) for at in range(self.how.width)).encode()
        return pl.read_csv(
            header + b"\n" + slab,
            separator=self.how.delimiter,
            quote_char=None if self.how.quoting == "none" else '"',
            columns=list(keep),
            infer_schema=False,
        )

    def _unreadable(self) -> str:
        return (
            f"{self.source.name} cannot be read after line {self._above} (row {self.rows}): a line "
            "may be damaged; correct it, or try --quoting none"
        )

    def _records(self, slab: bytes) -> tuple[Fields, Fields, Fields]:
        """For each record of the slab where it ends, its number of fields (0 if it is blank), and
        the physical line where it begins."""
        letters = np.frombuffer(slab if slab.endswith(b"\n") else slab + b"\n", np.uint8)
        feeds, marks = letters == 10, letters == ord(self.how.delimiter)
        ends = feeds
        if self.how.quoting != "none" and b'"' in slab:
            inside = (np.cumsum(letters == 34) & 1).astype(bool)
            if inside[-1]:
                raise BadData(
                    f"{self.source.name} opens a quote after line {self._above} (row {self.rows}) "
                    "that is never closed: close it, or read quotes as characters with --quoting "
                    "none"
                )
            ends, marks = ends & ~inside, marks & ~inside
        stops = np.flatnonzero(ends)
        fields = np.diff(np.searchsorted(np.flatnonzero(marks), stops), prepend=0) + 1
        lengths = np.diff(stops, prepend=-1) - 1
        blank = (lengths == 0) | ((lengths == 1) & (letters[stops - 1] == 13))
        fields[blank] = 0 if self.how.width > 1 else 1
        above = np.searchsorted(np.flatnonzero(feeds), stops)  # line feeds up to the end
        first = np.concatenate([[0], above[:-1] + 1]) if len(above) else above
        return stops, fields, self._above + first + 1

    def _checked(self, slab: bytes) -> bytes:
        """The slab without blank lines, and without lines of too few or too many fields where
        these are to be left out; else an error for the first of them."""
        stops, fields, lines = self._records(slab)
        width = self.how.width
        # A last line may lack the delimiter that all others end in.
        right = (fields == width) | (self.how.trailing & (fields == width - 1))
        blank = fields == 0
        self.blanks += int(blank.sum())
        odd = np.flatnonzero(~right & ~blank)
        if len(odd) and not self._skip_bad:
            at = int(odd[0])
            row = self.rows + at + 1 - int(blank[:at].sum())
            raise BadData(self._wrong_width(int(lines[at]), row, int(fields[at])))
        for at in odd.tolist():
            self.bad.append((int(lines[at]), _fields(int(fields[at]))))
        drop = np.flatnonzero(~right)
        if not len(drop):
            return slab
        begins = np.concatenate([[0], stops[:-1] + 1])
        kept, place = [], 0
        for at in drop.tolist():
            kept.append(slab[place : begins[at]])
            place = int(stops[at]) + 1
        kept.append(slab[place:])
        return b"".join(kept)

    def _wrong_width(self, line: int, row: int, fields: int) -> str:
        where = "the header has" if self.how.header else "the other lines have"
        mark = delimiter_words(self.how.delimiter)
        return (
            f"{self.source.name}: line {line} (row {row}) has {_fields(fields)} where {where} "
            f"{self.how.width - self.how.trailing}: correct that line, put a cell with a {mark} in "
            "it between quotes, or leave such lines out with --skip-bad-lines"
        )

    def _check_trailing(self, last: pl.Series, slab: bytes) -> None:
        """The column behind the last delimiter must stay empty: nothing is dropped unsaid."""
        filled = last.str.strip_chars().fill_null("") != ""
        if filled.any():
            at = int(filled.arg_true()[0])
            line = int(self._records(slab)[2][at])
            raise BadData(
                f"{self.source.name}: line {line} (row {self.rows + at + 1}) has a value behind "
                f"its last {delimiter_words(self.how.delimiter)}, where the lines above have none: "
                "give that column a name with --names"
            )

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
                    f"line {self._above} (row {self.rows}), more than {LONGEST_CELL}: perhaps a "
                    "quote is not closed"
                )
            columns.append(cells(column, self.markers, strip=False) if has_marker else column)
        return pl.DataFrame(columns)

    @property
    def notes(self) -> list[str]:
        """What was met on the way."""
        found = []
        if self.markers:
            marks = ", ".join(f"'{mark}'" for mark in sorted(self.markers))
            found.append(f"{counted(self.markers.total(), 'cell')} holding {marks} read as missing")
        if self.blanks:
            found.append(f"{counted(self.blanks, 'blank line')} skipped")
        return [*found, *self.bad_notes]

    @property
    def bad_notes(self) -> list[str]:
        """The lines that were left out."""
        if not self.bad:
            return []
        shown = ", ".join(f"line {line} with {what}" for line, what in self.bad[:_EXAMPLES])
        more = ", …" if len(self.bad) > _EXAMPLES else ""
        return [f"{counted(len(self.bad), 'damaged line')} left out ({shown}{more})"]


def _fields(count: int) -> str:
    return counted(count, "field")


def _may_have_blanks(slab: bytes) -> bool:
    """Whether a cell may have blanks around it, among them line ends between quotes."""
    return b" " in slab or b"\t" in slab or b'"' in slab or not slab.isascii()


def _in_utf8(slab: bytes, encoding: str) -> bytes:
    return slab if encoding == "utf-8" else slab.decode(encoding).encode()


def single_spaces(slab: bytes, quoted: bool) -> bytes:
    """Runs of spaces and tabs between fields as one space, none at the ends of a line.

    Blanks between quotes stay as they are where cells may be `quoted`.
    """
    letters = np.frombuffer(slab, np.uint8)
    blank = (letters == 32) | (letters == 9)
    if quoted and b'"' in slab:
        blank &= (np.cumsum(letters == 34) & 1) == 0
    end = (letters == 10) | (letters == 13)
    follows = np.concatenate([[True], (blank | end)[:-1]])  # the beginning of a line, or a blank
    keep = ~(blank & follows)
    letters, blank, end = letters[keep], blank[keep], end[keep]
    keep = ~(blank & np.concatenate([end[1:], [True]]))
    return np.where(blank, np.uint8(32), letters)[keep].tobytes()
