"""Files of named columns, some rows at a time, through polars, which the caller brings."""

from __future__ import annotations

import gzip
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from fenchel.data.blocks import map_ordered
from fenchel.data.files.cache import TableFileError, writing
from fenchel.data.files.parquet import RowRange, pieces, row_groups
from fenchel.data.files.text_chunks import first_line, line_chunks
from fenchel.data.intake import as_type

Polars = Any  # the module, or what it makes
# Some rows: the columns of X, as numbers of any type, and the target and the weight beside them.
Batch = tuple[list[NDArray[Any]], Polars]
_STEP = 2**25  # bytes of rows of a Parquet file in one batch
_SLICES = 4  # a row group that takes more batches than this
_SLICE = 2**26  # of so many bytes each goes through a file
_SLAB = 2**23  # bytes of text parsed at a time
_HEAD = 2**20  # bytes of text that the types of columns are told from
_MARK = b"\xef\xbb\xbf"  # some editors begin UTF-8 with it
_NUMBERS = ("float32", "float64", "int", "bool")


class Reader(ABC):
    """A file of named columns."""

    types: dict[str, str]  # float32, float64, int, bool, text, or polars' name of what is refused
    rows: int  # as far as known before parsing

    def __init__(self, pl: Polars, path: Path) -> None:
        self.pl, self.path = pl, path

    @abstractmethod
    def batches(
        self, features: Sequence[str], others: Sequence[str], dtype: np.dtype[Any], scratch: Path
    ) -> Iterator[Batch]:
        """All rows, some at a time, in order.

        The type of the target may change on the way. What does not fit into memory may be put
        into the directory `scratch`, as values of type `dtype`.
        """

    def numbers(self, column: Polars) -> NDArray[Any]:
        """A column as numbers, NaN where it has no value."""
        kind = column.dtype
        plain = kind.is_float() or (kind.is_integer() and not column.null_count())
        return np.asarray((column if plain else column.cast(self.pl.Float64)).to_numpy())

    def columns(self, frame: Polars, names: Sequence[str]) -> list[NDArray[Any]]:
        return [self.numbers(frame[name]) for name in names]

    def example(self, name: str) -> str:
        """What a column holds that is no number, and where, if that is known."""
        return ""

    def check(self, features: Sequence[str], target: str | None, weight: str | None) -> None:
        """An error unless the columns hold numbers; a target may hold text."""
        for name in (*features, target, weight):
            if name is None or self.types[name] in _NUMBERS:
                continue
            if name == target and self.types[name] == "text":
                continue
            remedy = "leave it out with columns=[...] or encode it first"
            raise ValueError(
                f"{self.path}: column '{name}' holds {self.types[name]}{self.example(name)} where "
                f"numbers are needed: {remedy if name in features else 'choose another column'}"
            )

    def kind(self, dtype: Polars) -> str:
        pl = self.pl
        if dtype.is_float() and dtype != pl.Float64:
            return "float32"
        if dtype.is_float() or dtype.is_decimal() or dtype == pl.Null:
            return "float64"
        if dtype.is_integer():
            return "int"
        if dtype == pl.Boolean:
            return "bool"
        return "text" if dtype in (pl.String, pl.Categorical, pl.Enum) else str(dtype)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Whatever goes wrong inside is said in one sentence that names the file."""
        errors = self.pl.exceptions
        try:
            yield
        except TableFileError:
            raise
        except (
            errors.PolarsError,
            errors.PanicException,
            OSError,
            EOFError,
            ValueError,
            zlib.error,
        ) as error:
            reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
            raise TableFileError(
                f"{self.path} cannot be read: {reason}; it may be damaged: write it again"
            ) from error


class ParquetReader(Reader):
    """A Parquet file, in pieces planned from the sizes in its footer."""

    def __init__(self, pl: Polars, path: Path) -> None:
        super().__init__(pl, path)
        with self.reading():
            self._groups = row_groups(path)
            self._table = pl.scan_parquet(path, glob=False)
            schema = self._table.collect_schema()
        self.types = {name: self.kind(dtype) for name, dtype in schema.items()}
        self.rows = sum(group.rows for group in self._groups)

    def batches(
        self, features: Sequence[str], others: Sequence[str], dtype: np.dtype[Any], scratch: Path
    ) -> Iterator[Batch]:
        names = [*features, *others]
        row_bytes = 8 * len(names)
        path = scratch / "columns.bin"
        for piece in pieces(self._groups, row_bytes, _STEP):
            size = piece.rows * row_bytes
            if size > _SLICES * _SLICE:
                yield from self._turned(piece, features, others, dtype, path)
                continue
            # polars copies the bytes of a whole row group whatever rows of it are wanted, but
            # decodes only the pages that hold them. A copy costs a tenth of decoding, and a few
            # copies cost less than a file to write and to read.
            most = -(-piece.rows // min(_SLICES, -(-size // _STEP)))
            for lo in range(0, piece.rows, most):
                hi = min(lo + most, piece.rows)
                parts = [
                    self._fetch(part, piece.start + lo, hi - lo)
                    for part in piece.parts(names, _STEP)
                ]
                frame = parts[0] if len(parts) == 1 else self.pl.concat(parts, how="horizontal")
                yield self.columns(frame, features), frame
        path.unlink(missing_ok=True)

    def _turned(
        self,
        piece: RowRange,
        features: Sequence[str],
        others: Sequence[str],
        dtype: np.dtype[Any],
        path: Path,
    ) -> Iterator[Batch]:
        """A row group too large to hold: its columns go to a file, and come back as rows.

        To fetch some rows is to copy the bytes of the whole row group, so to fetch it slice by
        slice would cost the square of its size.
        """
        rows, size = piece.rows, dtype.itemsize
        path.touch()  # that of the row group before is written over: its pages are there already

        def put(part: list[str]) -> None:
            most = max(1, _STEP // (16 * len(part)))  # two parts at a time
            with open(path, "r+b") as file:
                for lo in range(0, rows, most):
                    frame = self._fetch(part, piece.start + lo, min(most, rows - lo))
                    for name, values in zip(part, self.columns(frame, part), strict=True):
                        with writing(self.path, path.parent.parent):
                            file.seek((features.index(name) * rows + lo) * size)
                            file.write(as_type(values, dtype).data)

        # One column is decoded by one thread, so two parts at a time keep two threads busy.
        for _ in map_ordered(put, list(piece.parts(features, _STEP // 2)), 2):
            pass
        most = max(1, _STEP // (16 * len(features)))
        with open(path, "rb") as file:
            for lo, hi in ((lo, min(lo + most, rows)) for lo in range(0, rows, most)):
                columns = np.empty((len(features), hi - lo), dtype)
                for j, column in enumerate(columns):
                    file.seek((j * rows + lo) * size)
                    file.readinto(column.data)
                beside = self._fetch(others, piece.start + lo, hi - lo) if others else None
                yield list(columns), beside

    def _fetch(self, names: Sequence[str], start: int, rows: int) -> Polars:
        with self.reading():
            frame = self._table.select(names).slice(start, rows).collect()
        if frame.height != rows:
            raise TableFileError(
                f"{self.path} holds fewer rows than its footer states: write it again"
            )
        return frame


class TextReader(Reader):
    """Lines of separated fields under a header line, perhaps packed by gzip."""

    rows = 0

    def __init__(self, pl: Polars, path: Path, separator: str, packed: bool) -> None:
        super().__init__(pl, path)
        self._separator, self._packed = separator, packed
        with self.reading(), self._open() as stream:
            header, self._head = first_line(next(line_chunks(stream, _HEAD)))
            names = pl.read_csv(
                header.removeprefix(_MARK),
                has_header=False,
                separator=separator,
                infer_schema=False,
            ).row(0)
        self._names = self._header(names)
        self.types = dict.fromkeys(self._names, "float64")
        if self._head.strip():
            with self.reading():
                found = self._frame(self._head, None)
            self.types = {name: self.kind(found[name].dtype) for name in self._names}

    def _header(self, fields: Sequence[Any]) -> list[str]:
        names = ["" if field is None else str(field) for field in fields]
        if len(names) == 1 and any(mark in names[0] for mark in ";\t|,"):
            raise TableFileError(
                f"{self.path} does not separate its columns by {self._separator!r} (its header is "
                f"{names[0][:60]!r}): write it with commas, or as .tsv with tabs"
            )
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise TableFileError(f"{self.path} has two columns called '{twice}': rename one")
        counted = [[str(i + k) for i in range(len(names))] for k in (0, 1)]
        if names not in counted and all(_is_number(name) for name in names):
            raise TableFileError(
                f"{self.path} has numbers in its first line where the names of the columns are "
                "needed: add a header line"
            )
        return names

    @contextmanager
    def _open(self) -> Iterator[BinaryIO]:
        with (gzip.open if self._packed else open)(self.path, "rb") as stream:
            yield cast(BinaryIO, stream)

    def _frame(self, slab: bytes, types: dict[str, str] | None, names: Any = None) -> Polars:
        """The slab parsed as these types (None: as what it looks like)."""
        pl = self.pl
        of = {"bool": pl.Boolean, "text": pl.String, "int": pl.Int64}
        keep = [i for i, name in enumerate(self._names) if names is None or name in names]
        how: dict[str, Any] = {"infer_schema_length": None}
        if types is not None:
            kinds = (of.get(kind, pl.Float64) for kind in types.values())
            how = {"schema": {str(i): kind for i, kind in enumerate(kinds)}}
        # Under a header of our own, so that a short first line is not taken for the whole width.
        mark = self._separator.encode()
        header = mark.join(str(i).encode() for i in range(len(self._names)))
        frame = pl.read_csv(header + b"\n" + slab, separator=self._separator, columns=keep, **how)
        frame.columns = [self._names[i] for i in keep]
        return frame

    def batches(
        self, features: Sequence[str], others: Sequence[str], dtype: np.dtype[Any], scratch: Path
    ) -> Iterator[Batch]:
        start, first, names = 0, True, [*features, *others]
        with self._open() as stream:
            parts = line_chunks(stream, _SLAB)
            while (slab := self._next(parts)) is not None:
                if first:
                    slab, first = first_line(slab)[1], False
                if slab and not slab.isspace():
                    frame = self._parsed(slab, names, others, start)
                    start += frame.height
                    yield self.columns(frame, features), frame

    def _next(self, pieces: Iterator[bytes]) -> bytes | None:
        with self.reading():
            return next(pieces, None)

    def _parsed(
        self, slab: bytes, names: Sequence[str], others: Sequence[str], start: int
    ) -> Polars:
        whole = [name for name in others if self.types[name] == "int"]
        types = {
            name: "float64" if kind == "int" and name not in whole else kind
            for name, kind in self.types.items()
        }
        try:
            return self._frame(slab, types, names)
        except self.pl.exceptions.PolarsError:
            with self.reading():  # what is wrong with the lines themselves is said here
                texts = self._frame(slab, dict.fromkeys(types, "text"), names)
        odd = [(self._odd(texts[name], types[name]), name) for name in names]
        found = min((at for at in odd if at[0] >= 0), default=None)
        if found is not None:
            row, name = found
            raise ValueError(
                f"{self.path}: row {start + row}, column '{name}' holds {texts[name][row]!r} where "
                f"a {'truth value' if types[name] == 'bool' else 'number'} is needed: correct it, "
                "or leave the column out with columns=[...]"
            )
        if not whole:
            raise TableFileError(f"{self.path} cannot be read after row {start}: write it again")
        for name in whole:  # the whole numbers of the target have come to an end
            self.types[name] = "float64"
        return self._parsed(slab, names, others, start)

    def _odd(self, column: Polars, kind: str) -> int:
        """The first row whose text is not of the kind; -1 if there is none."""
        if kind == "text":
            return -1
        column = column.str.strip_chars()
        if kind == "bool":
            fits = column.str.to_lowercase().is_in(["true", "false"])
        else:
            fits = column.cast(self.pl.Float64, strict=False).is_not_null()
        rows = (column.is_not_null() & ~fits).arg_true()
        return int(rows[0]) if len(rows) else -1

    def example(self, name: str) -> str:
        column = self._frame(self._head, dict.fromkeys(self._names, "text"), [name])[name]
        row = self._odd(column, "float64")
        return f" ({column[row]!r} in row {row})" if row >= 0 else ""


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
