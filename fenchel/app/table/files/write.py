"""Predictions to a CSV or Parquet file, some rows at a time; the file appears when it is whole."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from queue import Queue
from threading import Thread
from types import TracebackType
from typing import Any, BinaryIO

import polars as pl
from polars.io.plugins import register_io_source

from fenchel.app.atomic_file import atomic_file
from fenchel.app.errors import BadData, BadUsage
from fenchel.app.table.text.cells import numbers

_FORMULA = r"^[=+\-@\t\r]"  # what a spreadsheet would take for a formula
_KINDS = {".csv": ",", ".tsv": "\t", ".parquet": "", ".pq": ""}
_AHEAD = 2  # batches that wait for the Parquet writer


class PredictionWriter:
    """`with PredictionWriter(path) as out: out.write(frame)`.

    The rows go to a temporary file beside the path, which takes its name at the end of the block
    and is removed if the block fails. "-" is standard output, as CSV. In CSV, text that begins
    like a formula (= + - @) gets an apostrophe before it, unless it is a number.
    """

    def __init__(self, path: str) -> None:
        self.path, self.rows = path, 0
        self._place = Path(path)
        suffix = ".csv" if path == "-" else self._place.suffix.lower()
        if suffix not in _KINDS:
            raise BadUsage(f"cannot write {path}: its name must end in .csv, .tsv or .parquet")
        if path != "-" and self._place.is_dir():
            raise BadUsage(f"cannot write {path}: it is a directory")
        self._separator = _KINDS[suffix]
        self._whole = ExitStack()
        self._file: BinaryIO | None = None
        self._sink: _ParquetSink | None = None
        self._types: dict[str, pl.DataType] = {}

    def __enter__(self) -> PredictionWriter:
        if self.path == "-":
            self._file = sys.stdout.buffer
        else:
            try:
                self._file = self._whole.enter_context(atomic_file(self._place))
            except OSError as error:
                raise BadData(f"cannot write {self.path}: {error.strerror}") from None
        return self

    def write(self, frame: pl.DataFrame) -> None:
        """Adds rows; every batch has the columns of the first."""
        if self._file is None:
            raise ValueError("write inside the with block")
        if not self._types:
            self._types = dict(frame.schema)
        try:
            if dict(frame.schema) != self._types:
                frame = frame.select(list(self._types)).cast(dict(self._types))  # type: ignore[arg-type]
            if self._separator:
                self._write_text(frame, self._file)
            else:
                self._sink = self._sink or _ParquetSink(self._file, self._types)
                self._sink.put(frame)
        except BrokenPipeError:
            raise
        except (OSError, pl.exceptions.PolarsError) as error:
            raise BadData(f"cannot write {self.path}: {_reason(error)}") from None
        self.rows += frame.height

    def _write_text(self, frame: pl.DataFrame, file: BinaryIO) -> None:
        first = not self.rows
        columns = [_guarded(column) for column in frame.iter_columns()]
        names = _guarded(pl.Series(frame.columns, dtype=pl.String)).to_list()
        safe = pl.DataFrame(
            [column.alias(name) for column, name in zip(columns, names, strict=True)]
        )
        file.write(safe.write_csv(separator=self._separator, include_header=first).encode())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._file is not None
        if self.path == "-":
            if kind is None:
                self._file.flush()
            return
        try:
            # Leaving with the fault, ours or the block's, leaves nothing at the path.
            with self._whole:
                if self._sink is not None:
                    self._sink.close(failed=kind is not None)
                elif not self._separator and kind is None:
                    pl.DataFrame().write_parquet(self._file)
                if error is not None:
                    raise error
        except (OSError, pl.exceptions.PolarsError) as fault:
            if fault is not error:
                raise BadData(f"cannot write {self.path}: {_reason(fault)}") from None
        except BaseException as fault:
            if fault is not error:
                raise


def _reason(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _guarded(column: pl.Series) -> pl.Series:
    """Text that a spreadsheet would run as a formula, with an apostrophe before it."""
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype != pl.String:
        return column
    risky = column.str.contains(_FORMULA).fill_null(False)
    if not risky.any():
        return column
    risky &= numbers(column).is_null()
    return ("'" + column).alias(column.name).zip_with(risky, column)


class _ParquetSink:
    """A Parquet file written by a thread that waits for batches."""

    def __init__(self, file: BinaryIO, types: dict[str, pl.DataType]) -> None:
        self._waiting: Queue[pl.DataFrame | None] = Queue(_AHEAD)
        self._failed: BaseException | None = None
        self._ended = False
        table = register_io_source(self._frames, schema=types, validate_schema=False)
        self._thread = Thread(target=self._run, args=(table, file), daemon=True)
        self._thread.start()

    def _run(self, table: pl.LazyFrame, file: BinaryIO) -> None:
        try:
            table.sink_parquet(file, maintain_order=True)
        except BaseException as error:
            self._failed = error
        while not self._ended and self._waiting.get() is not None:
            pass  # after a failure, so that whoever puts does not wait for ever

    def _frames(self, columns: Any, predicate: Any, rows: Any, size: Any) -> Iterator[pl.DataFrame]:
        while (frame := self._waiting.get()) is not None:
            yield frame
        self._ended = True

    def put(self, frame: pl.DataFrame) -> None:
        if self._failed is not None:
            raise self._failed
        self._waiting.put(frame)

    def close(self, failed: bool) -> None:
        self._waiting.put(None)
        self._thread.join()
        if self._failed is not None and not failed:
            raise self._failed
