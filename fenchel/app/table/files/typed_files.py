"""Tables that carry their types: Parquet, Arrow and .npy, in pieces of bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import polars as pl

from fenchel.app.errors import BadData, BadUsage
from fenchel.app.table.files.source import Input
from fenchel.app.table.text.cells import cells
from fenchel.app.table.text.column_names import MOST_COLUMNS
from fenchel.data.files.parquet import pieces, row_groups

_STEP = 2**26  # bytes of rows fetched at a time
_MOST = 2**27  # bytes of a row group that are fetched at once: fetching a part may read it all


@contextmanager
def _reading(source: Input) -> Iterator[None]:
    """Whatever goes wrong inside is said in one sentence that names the file."""
    try:
        yield
    except BadData:
        raise
    except ValueError as error:
        if "allow_pickle" not in str(error):
            raise _damaged(source, error) from None
        raise BadData(
            f"{source.name} cannot be read as npy: it holds Python objects, which are never "
            "unpickled; write numbers or text"
        ) from None
    except (Exception, pl.exceptions.PanicException) as error:  # of damaged bytes come any
        raise _damaged(source, error) from None


def _damaged(source: Input, error: BaseException) -> BadData:
    reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
    return BadData(
        f"{source.name} cannot be read as {source.format}: {reason}; it may be damaged: write it "
        "again"
    )


class NativeRows:
    """The rows of a file that carries types; nested columns are left out, and named in `notes`."""

    def __init__(self, source: Input, names: Sequence[str] = ()) -> None:
        self.source = source
        self.notes: list[str] = []
        with _reading(source):
            self._open()
        self._given = self._renamed(names)
        if len(self._types) > MOST_COLUMNS:
            raise BadData(
                f"{source.name} has {len(self._types)} columns, more than {MOST_COLUMNS}: "
                "keep those you need"
            )
        self.names = []
        for name, kind in zip(self._given, self._types.values(), strict=True):
            if kind.is_nested() or kind in (pl.Object, pl.Binary, pl.Unknown):
                self.notes.append(f"column '{name}' holds {kind}, not single values: left out")
            else:
                self.names.append(name)

    def _renamed(self, names: Sequence[str]) -> dict[str, str]:
        """The names of the columns, each with the one it has in the file."""
        if names and len(names) != len(self._types):
            raise BadUsage(
                f"--names gives {len(names)} names, and {self.source.name} has {len(self._types)} "
                "columns: give one for each"
            )
        return dict(zip(names or self._types, self._types, strict=True))

    def _open(self) -> None:
        path = self.source.path
        self._array: Any = None
        if self.source.format == "npy":
            self._array = np.load(path, mmap_mode="r", allow_pickle=False)
            if not self._array.ndim:
                raise ValueError("it holds one value, not a table")
            if self._array.ndim > 2:
                raise BadData(
                    f"{self.source.name} cannot be read as npy: it holds an array of shape "
                    f"{self._array.shape}, and a table has two dimensions; reshape it"
                )
            self._types = dict(_array_frame(self._array[:0]).schema)
            self.rows = len(self._array)
            return
        if self.source.format == "Parquet":
            self._groups = row_groups(path)
            self._table = pl.scan_parquet(path, glob=False)
        elif self.source.format == "Arrow":
            self._table = pl.scan_ipc(path, glob=False)
        else:  # a stream has no table of contents, so it is held whole
            self._table = pl.read_ipc_stream(path).lazy()
        self._types = dict(self._table.collect_schema())
        self.rows = int(self._table.select(pl.len()).collect().item())

    def frames(self, names: Sequence[str]) -> Iterator[pl.DataFrame]:
        """These columns of all rows, in pieces of about 64 MiB."""
        for start, count in self._spans(max(8 * len(names), 1)):
            with _reading(self.source):
                frame = self._fetch(names, start, count)
            if frame.height != count:
                raise BadData(
                    f"{self.source.name} holds fewer rows than its footer states: write it again"
                )
            yield frame

    def _spans(self, row_bytes: int) -> Iterator[tuple[int, int]]:
        if self.source.format != "Parquet":
            step = max(1, _STEP // row_bytes)
            for start in range(0, self.rows, step):
                yield start, min(step, self.rows - start)
            return
        most = max(1, _MOST // row_bytes)
        for piece in pieces(self._groups, row_bytes, 2 * _STEP):
            for start in range(piece.start, piece.start + piece.rows, most):
                yield start, min(most, piece.start + piece.rows - start)

    def _fetch(self, names: Sequence[str], start: int, count: int) -> pl.DataFrame:
        inside = [self._given[name] for name in names]
        if self._array is not None:
            frame = _array_frame(self._array[start : start + count]).select(inside)
        else:
            frame = self._table.select(inside).slice(start, count).collect()
        frame.columns = list(names)
        return plain_frame(frame)


def _array_frame(array: Any) -> pl.DataFrame:
    """Rows of an array: its columns are called 0, 1, …, those of a structured array by name."""
    if array.dtype.names is not None:
        if array.ndim != 1:
            raise ValueError(f"a structured array has one dimension, not shape {array.shape}")
        columns = {str(name): array[name] for name in array.dtype.names}
    elif array.ndim == 1:
        columns = {"0": array}
    elif array.ndim == 2:
        columns = {str(at): array[:, at] for at in range(array.shape[1])}
    else:
        raise ValueError(f"a table has two dimensions, not shape {array.shape}")
    return pl.DataFrame({name: _array_column(name, values) for name, values in columns.items()})


def _array_column(name: str, values: Any) -> pl.Series:
    kind = values.dtype
    if values.ndim != 1 or kind.kind not in "fiubUMm":
        raise ValueError(f"column '{name}' holds {kind} where numbers, text or dates are needed")
    if kind.kind == "f":
        return pl.Series(name, values.astype(np.float32 if kind.itemsize <= 4 else np.float64))
    if kind.kind == "U":
        return pl.Series(name, values.tolist(), dtype=pl.String)
    if kind.kind in "Mm":
        return pl.Series(name, values.astype(f"{kind.kind}8[us]"))
    return pl.Series(name, values.astype(kind.newbyteorder("=")))


def plain_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """Text for names of categories, null for NaN and for text that says missing."""
    columns = []
    for column in frame.iter_columns():
        if column.dtype in (pl.Categorical, pl.Enum):
            column = column.cast(pl.String)
        if column.dtype == pl.String:
            column = cells(column)
        elif column.dtype.is_decimal():
            column = column.cast(pl.Float64)
        elif column.dtype.is_float():
            column = column.fill_nan(None)
        columns.append(column)
    return pl.DataFrame(columns)
