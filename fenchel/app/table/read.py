"""A table from a file or standard input, whole with its types or in batches as it is written."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import polars as pl

from fenchel.app.fault import BadData
from fenchel.app.table.gather import typed_columns
from fenchel.app.table.native import NativeRows
from fenchel.app.table.opening import Input, opened
from fenchel.app.table.task import near
from fenchel.app.table.text import TextRows, dialect


@dataclass(frozen=True)
class Source:
    """A table that was read, and what was done to read it."""

    frame: pl.DataFrame
    name: str
    format: str
    sha256: str  # of the file's bytes
    notes: tuple[str, ...] = ()
    formats: Mapping[str, str] = field(default_factory=dict)  # column -> how its dates are written


def read_table(path: str, *, text: Collection[str] = ()) -> Source:
    """The whole table with types; "-" is standard input.

    Cells of text files become numbers where at least 99 % of a column's cells are, dates and truth
    values likewise; what was decided is in `notes`. Columns named in `text` stay text.

    Raises
    ------
    BadData
        One sentence with the file, the row and the remedy, for whatever cannot be read.
    """
    with opened(path) as source:
        if source.format == "text":
            how = dialect(source)
            frame, formats, notes = typed_columns(source, how, text)
            kind = "TSV" if how.delimiter == "\t" else "CSV"
            told = (*how.notes, *notes)
        else:
            rows = NativeRows(source)
            _check_columns(source, rows.names)
            parts = list(rows.frames(rows.names))
            frame = pl.concat(parts) if parts else pl.DataFrame()
            formats, kind, told = {}, source.format, tuple(rows.notes)
        if not frame.height:
            raise BadData(f"{source.name} has columns but no rows")
        name = Path(source.name).name  # where it lies is nobody's business
        return Source(frame, name, kind, source.sha256(), told, formats)


def batches(
    path: str, columns: Sequence[str] | None = None, rows: int = 65536
) -> Iterator[pl.DataFrame]:
    """The table at most `rows` rows at a time, in bounded memory.

    Cells of text files stay text (null where missing), so that no batch decides a type: whoever
    takes them knows what each column was. BadData names a column that is not there.
    """
    with opened(path) as source:
        empty = True
        for frame in _frames(source, columns):
            for part in frame.iter_slices(rows):
                empty = False
                yield part
        if empty:
            raise BadData(f"{source.name} has columns but no rows")


def column_names(path: str) -> tuple[str, ...]:
    """The columns of a file, told without reading its rows; not for standard input."""
    with opened(path) as source:
        if source.format == "text":
            return dialect(source).names
        return tuple(NativeRows(source).names)


def _frames(source: Input, columns: Sequence[str] | None) -> Iterator[pl.DataFrame]:
    if source.format == "text":
        how = dialect(source)
        _check_columns(source, how.names, columns)
        yield from TextRows(source, how, columns)
        return
    native = NativeRows(source)
    _check_columns(source, native.names, columns)
    yield from native.frames(native.names if columns is None else columns)


def _check_columns(
    source: Input, known: Sequence[str], wanted: Sequence[str] | None = None
) -> None:
    if not known:
        raise BadData(f"{source.name} has no column that can be used")
    for name in wanted or ():
        if name not in known:
            raise BadData(f"{source.name} has no column '{name}': {near(name, known)}")


def bundled() -> Source:
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
