"""A table from a file or standard input, whole with its types or in batches as it is written."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from fenchel.app.errors import BadData, BadUsage
from fenchel.app.table.files.source import Input, opened
from fenchel.app.table.files.typed_files import NativeRows
from fenchel.app.table.task import near
from fenchel.app.table.text.cells import numbers
from fenchel.app.table.text.dialect import Dialect, dialect
from fenchel.app.table.text.infer_types import typed_columns
from fenchel.app.table.text.known_formats import KnownFormats
from fenchel.app.table.text.number_format import FormatEvidence, evidence, spread
from fenchel.app.table.text.reading_options import Reading
from fenchel.app.table.text.text_rows import TextRows

__all__ = [
    "Reading",
    "TableSource",
    "TableReader",
    "batches",
    "bundled",
    "column_names",
    "open_table",
    "read_table",
]


@dataclass(frozen=True)
class TableSource:
    """A table that was read, and what was done to read it."""

    frame: pl.DataFrame
    name: str
    format: str
    sha256: str  # of the file's bytes
    notes: tuple[str, ...] = ()
    formats: Mapping[str, str] = field(default_factory=dict)  # column -> how it is written
    problems: tuple[str, ...] = ()  # decisions that the user should confirm, one sentence each

    def to_dict(self) -> dict[str, Any]:
        """The table without its cells, for JSON."""
        return {
            "name": self.name,
            "format": self.format,
            "sha256": self.sha256,
            "rows": self.frame.height,
            "columns": self.frame.width,
            "notes": list(self.notes),
            "problems": list(self.problems),
        }


def read_table(
    path: str,
    *,
    text: Collection[str] = (),
    reading: Reading | None = None,
    expected: Mapping[str, str] | None = None,
) -> TableSource:
    """The whole table with types; "-" is standard input.

    Cells of text files become numbers where at least 99 % of a column's cells are, plain or as
    people write them ("1,169", "12.5 %"), dates and truth values likewise; what was decided is in
    `notes`, what should be confirmed in `problems`.

    Parameters
    ----------
    path : str
    text : collection of str
        Columns that stay text.
    reading : Reading
        What is known about a text table; everything else is detected.
    expected : mapping of str to str
        The columns of a model with the formats they had at its fit (empty if they had none): they
        help to recognise a header, and decide what could be read in two ways.

    Raises
    ------
    BadData
        One sentence with the file, the row and the remedy, for whatever cannot be read.
    BadUsage
        For a `reading` that the file cannot have.
    """
    reading = reading or Reading()
    with opened(path) as source:
        problems: tuple[str, ...] = ()
        if source.format == "text":
            how = dialect(source, reading, expected or ())
            found = typed_columns(source, how, text, reading, expected)
            frame, formats, kind = found.frame, found.formats, how.kind
            notes, problems = (*how.notes, *found.notes), how.problems
        else:
            rows = _native(source, reading)
            parts = list(rows.frames(rows.names))
            frame = pl.concat(parts) if parts else pl.DataFrame()
            formats, kind = {}, source.format
            notes = (*rows.notes, *_numbers_in_text(frame))
        if not frame.height:
            raise BadData(_no_rows(source))
        name = Path(source.name).name  # the folder is not part of the table
        return TableSource(frame, name, kind, source.sha256(), notes, formats, problems)


class TableReader:
    """An opened table: its columns, its rows in batches, and what was decided to read them."""

    def __init__(
        self,
        source: Input,
        reading: Reading | None = None,
        expected: Mapping[str, str] | None = None,
        target: str | None = None,
    ) -> None:
        self.name = source.name
        self._target = target
        self._source, self._reading = source, reading or Reading()
        self._expected = expected or {}
        self._dialect: Dialect | None = None
        if source.format == "text":
            self._dialect = dialect(source, self._reading, self._expected)
            self.names = self._dialect.names
            self.notes = list(self._dialect.notes)
            self.problems = self._dialect.problems
        else:
            self._rows = _native(source, self._reading)
            self.names, self.notes, self.problems = tuple(self._rows.names), [], ()

    def batches(
        self, columns: Sequence[str] | None = None, rows: int = 65536
    ) -> Iterator[pl.DataFrame]:
        """The table at most `rows` rows at a time, in bounded memory.

        Cells of text files stay text (null where missing), so that no batch decides a type: whoever
        takes them knows what each column was. Columns with an expected format whose cells are
        written in another one come as what they are. `notes` is complete after the last batch.
        """
        _check_columns(self._source, self.names, columns)
        empty = True
        for frame in self._frames(columns):
            for part in frame.iter_slices(rows):
                empty = False
                yield part
        if empty:
            raise BadData(_no_rows(self._source))

    def _frames(self, columns: Sequence[str] | None) -> Iterator[pl.DataFrame]:
        delimiter = "," if self._dialect is None else self._dialect.delimiter
        formats = KnownFormats(self._expected, self._reading.decimal, delimiter, self._target)
        if self._dialect is None:  # columns of text may be there, too
            for frame in self._rows.frames(self.names if columns is None else columns):
                yield formats.applied(frame)
            self.notes += formats.notes
            return
        skip_bad = self._reading.bad_lines == "skip"
        rows = TextRows(self._source, self._dialect, columns, skip_bad=skip_bad)
        for frame in rows:
            yield formats.applied(frame)
        self.notes += [*formats.notes, *rows.bad_notes]


@contextmanager
def open_table(
    path: str,
    *,
    reading: Reading | None = None,
    expected: Mapping[str, str] | None = None,
    target: str | None = None,
) -> Iterator[TableReader]:
    """The table of a file, opened to be read in batches; parameters as of `read_table`.

    The numbers of the `target` come as plain text, with cells that are none as they stand, so that
    whoever judges by it can name them.
    """
    with opened(path) as source:
        yield TableReader(source, reading, expected, target)


def batches(
    path: str,
    columns: Sequence[str] | None = None,
    rows: int = 65536,
    *,
    reading: Reading | None = None,
    expected: Mapping[str, str] | None = None,
) -> Iterator[pl.DataFrame]:
    """The rows of `open_table`; BadData names a column that is not there."""
    with open_table(path, reading=reading, expected=expected) as table:
        yield from table.batches(columns, rows)


def column_names(
    path: str, *, reading: Reading | None = None, expected: Mapping[str, str] | None = None
) -> tuple[str, ...]:
    """The columns of a file, without reading its rows; not for standard input."""
    with open_table(path, reading=reading, expected=expected) as table:
        return table.names


def _native(source: Input, reading: Reading) -> NativeRows:
    """The rows of a file that carries types, which no option about text can concern."""
    if reading.text_only:
        raise BadUsage(
            f"{reading.text_only[0]} is for text tables, and {source.name} is {source.format}, "
            "which says itself what its columns are: leave it out"
        )
    rows = NativeRows(source, reading.names)
    _check_columns(source, rows.names)
    return rows


def _numbers_in_text(frame: pl.DataFrame) -> Iterator[str]:
    """Notes on columns that a file declares as text, and that hold numbers as people write them."""
    for column in frame.iter_columns():
        if column.dtype != pl.String:
            continue
        cells = spread(column.drop_nulls())
        found = evidence(cells)
        if isinstance(found, FormatEvidence) and numbers(cells).null_count():
            yield (
                f"column '{column.name}' is text in the file and is kept as text, though it holds "
                f"numbers such as '{cells[0]}': write it as numbers"
            )


def _no_rows(source: Input) -> str:
    remedy = ": if its only line is a row, say --no-header" if source.format == "text" else ""
    return f"{source.name} has columns but no rows{remedy}"


def _check_columns(
    source: Input, known: Sequence[str], wanted: Sequence[str] | None = None
) -> None:
    if not known:
        raise BadData(f"{source.name} has no column that can be used")
    for name in wanted or ():
        if name not in known:
            raise BadData(f"{source.name} has no column '{name}': {near(name, known)}")


def bundled() -> TableSource:
    """scikit-learn's breast cancer data through the path of a user's CSV; target "diagnosis"."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    frame = pl.DataFrame(data.data, schema=[str(name) for name in data.feature_names])
    kinds = [str(data.target_names[code]) for code in data.target]
    frame = frame.with_columns(pl.Series("diagnosis", kinds))
    with tempfile.TemporaryDirectory(prefix="fenchel-") as room:
        path = Path(room) / "breast_cancer.csv"
        path.write_bytes(frame.write_csv().encode())
        return replace(read_table(str(path)), name="breast cancer (bundled with scikit-learn)")
