"""Tables in files: Parquet, CSV and .npy, of any size, parsed once."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.blocks import Block, keep_pages, map_ordered, one_blas_thread, thread_count
from fenchel.data.files.cache import (
    Cache,
    CachedColumn,
    FileBlocks,
    FileStamp,
    Mapped,
    TableFileError,
)
from fenchel.data.files.readers import Batch, ParquetReader, Reader, TextReader
from fenchel.data.intake import as_type, float_type, stack_columns
from fenchel.data.validation import NO_WEIGHT, check_shape, fault

Series = Any  # a polars column
_TEXT = {".csv": ",", ".tsv": "\t"}
_STEP = 2**25  # bytes of an .npy file converted at a time
_MOST_LABELS = 10_000


def scan(
    path: Any,
    *,
    target: str | int | None = None,
    columns: Sequence[str] | Sequence[int] | None = None,
    weight: str | int | None = None,
    dtype: Any = None,
    cache_dir: Any = None,
) -> FileBlocks:
    """The table in a file, which may be larger than memory.

    A Parquet or text file is parsed once, in bounded memory, into a memory-mapped cache of its
    used columns, so that later passes run at memory speed. The cache is removed by `close()`, at
    the end of a `with` block, when the table is no longer used, and at exit. An .npy file of
    C-ordered float32 or float64 is mapped where it lies.

    Parameters
    ----------
    path : a .parquet, .csv, .csv.gz, .tsv, .tsv.gz or .npy file
        Text has a header line, and is UTF-8.
    target, weight : name of the column with the target, with the row weights
        For .npy the number of the column. A target of strings is held as codes 0, 1, … for the
        sorted labels in `classes`.
    columns : names (for .npy numbers) of the columns of X, in that order; default: all others
    dtype : float32 or float64; default: float32 if every column of X is, else float64
    cache_dir : directory for the cache; default: the system's directory for temporary files

    Raises
    ------
    TableFileError
        An OSError that names the file, where it is missing, damaged, or changes after the scan.
    ValueError
        Naming row and column, for missing or infinite values, text among numbers, unknown columns.

    Examples
    --------
    >>> import numpy as np, tempfile, fenchel.data
    >>> with tempfile.TemporaryDirectory() as room:
    ...     np.save(room + "/a.npy", np.arange(12.0).reshape(4, 3))
    ...     with fenchel.data.scan(room + "/a.npy", target=2) as table:
    ...         print(table.n_rows, table.n_cols, table.reduce(lambda block: block.y.sum()))
    4 2 26.0
    """
    keep_pages()
    path = Path(path)
    if dtype is not None and np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {dtype!r}")
    source = FileStamp.of(path)
    *_, kind, packed = ["", "", *(suffix.lower() for suffix in path.suffixes)]
    if packed != ".gz":
        kind, packed = packed, ""
    if kind == ".npy" and not packed:
        return _scan_npy(source, target, columns, weight, dtype, cache_dir)
    if kind in (".parquet", ".pq") and not packed:
        reader: Reader = ParquetReader(_polars(), path)
    elif kind in _TEXT:
        reader = TextReader(_polars(), path, _TEXT[kind], bool(packed))
    else:
        known = ".parquet, .csv, .csv.gz, .tsv, .tsv.gz and .npy"
        raise TableFileError(f"{path} has a format that scan does not read: {known}")
    picked = _ColumnChoice.of(path, list(reader.types), target, columns, weight)
    reader.check(picked.features, picked.target, picked.weight)
    if dtype is None:
        small = all(reader.types[name] == "float32" for name in picked.features)
        dtype = np.float32 if small else np.float64
    return _parse(source, reader, picked, np.dtype(dtype), cache_dir)


def _polars() -> Any:
    try:
        import polars
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "reading Parquet and CSV needs polars: pip install fenchel[app]", name="polars"
        ) from error
    return polars


@dataclass(frozen=True, slots=True)
class _ColumnChoice:
    """The columns in use, by name."""

    features: tuple[str, ...]
    target: str | None
    weight: str | None

    @property
    def others(self) -> list[str]:
        """The target and the weight, where there are any; once if they are one column."""
        return list(dict.fromkeys(n for n in (self.target, self.weight) if n is not None))

    @classmethod
    def of(
        cls, path: Path, known: list[str], target: Any, columns: Any, weight: Any
    ) -> _ColumnChoice:
        if isinstance(columns, str):
            raise ValueError(f"columns must be a list of names, got the one name {columns!r}")
        for name in (*(columns or ()), target, weight):
            if name is not None and name not in known:
                near = get_close_matches(str(name), known, 3, 0.5) or known[:5]
                listed = ", ".join(f"'{n}'" for n in near)
                raise ValueError(f"{path} has no column '{name}': it has for example {listed}")
        others = {target, weight}
        features = [n for n in known if n not in others] if columns is None else list(columns)
        if not features:
            raise ValueError(f"{path} has no column left for X beside target and weight")
        if len(set(features)) < len(features) or others.intersection(features):
            raise ValueError(f"columns of {path}: each once, and neither target nor weight")
        return cls(tuple(features), target, weight)


def _weight_of(path: Path, block: Block, names: Sequence[str]) -> float:
    """Σ weights of the rows, after a look at every value."""
    with one_blas_thread():  # the threads of BLAS would spin on, and slow the parser down
        found = fault(block, names)
    if found is not None:
        raise ValueError(f"{path}: {found}")
    return float(block.n_rows if block.weight is None else block.weight.sum(dtype=np.float64))


def _check_total(path: Path, total: float) -> None:
    if total == 0.0:
        raise ValueError(f"{path}: {NO_WEIGHT}")


def _parse(
    source: FileStamp, reader: Reader, picked: _ColumnChoice, dtype: np.dtype[Any], place: Any
) -> FileBlocks:
    path, types = source.path, reader.types
    cache = Cache(source, picked.features, dtype, place)
    labels: dict[str, int] = {}
    total = 0.0
    kind = types[picked.target] if picked.target is not None else ""
    try:
        cache.room(reader.rows)
        batches = reader.batches(picked.features, picked.others, dtype, cache.path)
        for columns, frame in _prefetch(batches):
            if picked.target is not None and types[picked.target] != kind:
                kind = types[picked.target]  # whole numbers so far, and now a fraction
                cache.rewrite_y(lambda old: old.astype(dtype))
            y = _target(reader, cache.n_rows, frame[picked.target], kind, labels) if kind else None
            if y is not None and y.dtype.kind == "f":
                y = as_type(y, dtype)
            weight = None
            if picked.weight is not None:
                weight = as_type(reader.numbers(frame[picked.weight]), dtype)
            total += _append(cache, columns, y, weight)
        if cache.n_rows == 0:
            raise TableFileError(f"{path} has columns but no rows")
        _check_total(path, total)
        classes = None
        if kind == "text":
            classes = np.array(sorted(labels))
            code = np.searchsorted(classes, list(labels))  # by order of appearance, until now
            cache.rewrite_y(lambda old: code[old])
        return cache.blocks(classes)
    except BaseException:
        cache.discard()
        raise


def _append(
    cache: Cache, columns: list[NDArray[Any]], y: NDArray[Any] | None, weight: NDArray[Any] | None
) -> float:
    """The columns go into the cache as rows, checked; Σ weights of the rows."""
    start, dtype = cache.n_rows, cache.dtype

    def turn(rows: slice) -> tuple[Block, float, int]:
        # A block at a time, so that all that is done to its rows finds them in the processor's
        # cache, and by every thread: the caller's thread only writes.
        X = stack_columns([values[rows] for values in columns], dtype)
        target, s = (None if v is None else v[rows] for v in (y, weight))
        block = Block(start + rows.start, X, target, s)
        return block, _weight_of(cache.source.path, block, cache.names), zlib.crc32(X.data)

    total = 0.0
    for block, weight_of, crc in map_ordered(
        turn, list(cache.spans(len(columns[0]))), thread_count()
    ):
        cache.append(block, crc)
        total += weight_of
    return total


def _prefetch(batches: Iterator[Batch]) -> Iterator[Batch]:
    """The batches, each parsed while the one before it is checked and written."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = pool.submit(next, batches, None)
            yield batch


def _target(
    reader: Reader, start: int, column: Series, kind: str, labels: dict[str, int]
) -> NDArray[Any]:
    """The target as floats, whole numbers, truth values, or codes of labels as they appear."""
    pl, path = reader.pl, reader.path
    if column.null_count():
        row = start + int(column.is_null().arg_true()[0])
        raise ValueError(
            f"{path}: the target '{column.name}' of row {row} is missing: drop that row"
        )
    if kind == "text":
        column = column.cast(pl.String)
        found = column.unique(maintain_order=True)
        codes = [labels.setdefault(label, len(labels)) for label in found.to_list()]
        if len(labels) > _MOST_LABELS:
            raise ValueError(
                f"{path}: the target '{column.name}' holds more than {_MOST_LABELS} different "
                "texts, which cannot be classes: choose another column as target"
            )
        column = column.replace_strict(found, pl.Series(codes, dtype=pl.Int64))
    elif kind == "int":
        column = column.cast(pl.Int64)
    elif kind != "bool":
        return reader.numbers(column)
    return np.asarray(column.to_numpy())


def _scan_npy(
    source: FileStamp, target: Any, columns: Any, weight: Any, dtype: Any, place: Any
) -> FileBlocks:
    """An .npy file, mapped where it lies if that is what the passes want, else converted."""
    path = source.path
    try:
        raw = np.lib.format.open_memmap(path, mode="r")
    except (ValueError, EOFError, OSError) as error:
        raise TableFileError(f"{path} cannot be read as .npy: {error}") from error
    if raw.dtype.kind not in "fiub":
        raise ValueError(f"{path} holds {raw.dtype} where numbers are needed")
    try:
        check_shape(raw.shape)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    names = [str(j) for j in range(raw.shape[1])]
    position_of = lambda j: None if j is None else _position(path, j, len(names))  # noqa: E731
    chosen = None if columns is None else [position_of(j) for j in columns]
    picked = _ColumnChoice.of(path, names, position_of(target), chosen, position_of(weight))
    features = [int(name) for name in picked.features]
    runs = _runs(features)
    order = "C" if raw.flags.c_contiguous else "F"
    rows = Mapped(path, raw.dtype, raw.shape, raw.offset, order)

    def cut(block: Block) -> Block:
        X = block.X
        y = None if picked.target is None else X[:, int(picked.target)].copy()
        s = None if picked.weight is None else X[:, int(picked.weight)].copy()
        table = np.empty((len(X), len(features)), dtype=X.dtype)
        for ours, theirs in runs:
            table[:, ours] = X[:, theirs]
        return Block(block.start, table, y, s)

    def check(block: Block) -> float:
        return _weight_of(path, block, picked.features)

    kind = np.dtype(dtype) if dtype is not None else np.dtype(float_type(raw.dtype))
    if order == "C" and raw.dtype == kind:
        whole = features == list(range(len(names)))
        blocks = FileBlocks(
            source, None, CachedColumn(rows), cut=None if whole else cut, n_cols=len(features)
        )
        _check_total(path, blocks.reduce(check))
        return blocks
    cache = Cache(source, picked.features, kind, place)
    try:
        cache.room(len(raw))
        total = 0.0
        step = max(1, _STEP // (8 * len(names)))
        for lo in range(0, len(raw), step):
            part = cut(Block(lo, rows.array[lo : lo + step]))
            X, y, s = as_type(part.X, kind), part.y, part.weight
            if y is not None and y.dtype.kind == "f":
                y = as_type(y, kind)
            s = None if s is None else as_type(s, kind)
            block = Block(lo, X, y, s)
            total += check(block)
            cache.append(block)
            rows.release_all()
        _check_total(path, total)
        return cache.blocks(None)
    except BaseException:
        cache.discard()
        raise


def _position(path: Path, j: Any, width: int) -> str:
    """A column number as the name of that column; negative numbers count from the end."""
    if isinstance(j, bool) or not isinstance(j, (int, np.integer)) or not -width <= j < width:
        raise ValueError(
            f"{path} has no column {j!r}: its columns are the numbers 0 to {width - 1}"
        )
    return str(int(j) % width)


def _runs(columns: Sequence[int]) -> list[tuple[slice, slice]]:
    """Runs of consecutive columns, as slices of the answer and of the table: slices copy many
    times faster than single columns."""
    starts = [i for i, j in enumerate(columns) if i == 0 or columns[i - 1] != j - 1]
    ends = [*starts[1:], len(columns)]
    return [
        (slice(lo, hi), slice(columns[lo], columns[lo] + hi - lo))
        for lo, hi in zip(starts, ends, strict=True)
    ]
