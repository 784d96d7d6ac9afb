"""Rows in files, mapped into memory a block at a time, and the cache that parsed files go into."""

from __future__ import annotations

import hashlib
import json
import logging
import mmap
import os
import shutil
import sys
import tempfile
import weakref
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.blocks import Block, IndexedBlocks, Statistic, block_rows
from fenchel.data.statistic import SMALL, on_block

_LOG = logging.getLogger("fenchel")
_ENDS = 4096


class TableFileError(OSError):
    """A table's file, or its cache, that is missing, damaged, changed or of no use."""


@contextmanager
def writing(path: Path, directory: Path) -> Iterator[None]:
    """A failed write inside is said in one sentence that names the table and the directory."""
    try:
        yield
    except OSError as error:
        raise TableFileError(
            f"the cache of {path} cannot be written in {directory} ({error.strerror}): make room "
            "there or choose a directory with cache_dir="
        ) from error


@dataclass(frozen=True, slots=True)
class FileStamp:
    """What a file was when it was scanned: size, time of change, its first and last bytes."""

    path: Path
    size: int
    mtime_ns: int
    ends: str

    @classmethod
    def of(cls, path: Path) -> FileStamp:
        try:
            if path.is_dir():
                raise TableFileError(f"{path} is a directory: name a file in it")
            with open(path, "rb") as file:
                about = os.fstat(file.fileno())
                ends = hashlib.blake2b(file.read(_ENDS), digest_size=16)
                file.seek(max(0, about.st_size - _ENDS))
                ends.update(file.read(_ENDS))
        except FileNotFoundError:
            raise TableFileError(f"{path} does not exist: check the path") from None
        except PermissionError:
            raise TableFileError(f"{path} cannot be read: change its permissions") from None
        if about.st_size == 0:
            raise TableFileError(f"{path} is empty: it has no columns and no rows")
        return cls(path, about.st_size, about.st_mtime_ns, ends.hexdigest())

    def check(self) -> None:
        """An error if the file is no longer what it was."""
        try:
            now = FileStamp.of(self.path)
        except TableFileError as error:
            raise TableFileError(f"{error} (it was there when scanned: scan it again)") from None
        if now != self:
            raise TableFileError(f"{self.path} has changed since it was scanned: scan it again")


class Mapped:
    """A file of rows, mapped read-only; its pages can be given back after use."""

    def __init__(
        self, path: Path, dtype: Any, shape: tuple[int, ...], offset: int = 0, order: Any = "C"
    ) -> None:
        self.path, self._offset = path, offset
        with open(path, "rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        count = int(np.prod(shape, dtype=object))
        self._end = offset + count * np.dtype(dtype).itemsize
        self.check()
        self.array: NDArray[Any] = np.frombuffer(
            self._map, dtype=dtype, count=count, offset=offset
        ).reshape(shape, order=order)

    def check(self) -> None:
        """An error if the file has become shorter than its rows: to read on would be fatal."""
        if self._map.size() < self._end:
            raise TableFileError(
                f"{self.path} is truncated: it holds fewer rows than its header states"
            )

    def release(self, lo: int, hi: int) -> None:
        """Rows lo … hi - 1 need not stay in memory; reading them again maps them again."""
        row = self.array.itemsize * int(np.prod(self.array.shape[1:], dtype=object))
        self._release(self._offset + lo * row, self._offset + hi * row)

    def release_all(self) -> None:
        self._release(0, self._end)

    def _release(self, first: int, last: int) -> None:
        if sys.platform != "win32":
            first -= first % mmap.PAGESIZE
            self._map.madvise(mmap.MADV_DONTNEED, first, last - first)


@dataclass(frozen=True, slots=True)
class CachedColumn:
    """One array of the cache: its rows in a file, and a checksum for each block of rows."""

    rows: Mapped
    crc: tuple[int, ...] | None = None

    def verify(self, i: int, lo: int, hi: int) -> None:
        if self.crc is not None and zlib.crc32(self.rows.array[lo:hi].data) != self.crc[i]:
            raise TableFileError(
                f"{self.rows.path} is damaged in block {i} (rows {lo} to {hi - 1}): scan the "
                "table again"
            )


class FileBlocks(IndexedBlocks):
    """A table in files, read through the page cache a block at a time.

    At most one block for each thread is held; two passes read the same bytes, checked against
    their checksums the first time, or the source says that it has changed.

    Attributes
    ----------
    path : the file that was scanned
    cache_dir, cache_bytes : the directory of the cache and its size; None and 0 without one
    classes : the sorted labels of a target of strings, whose codes y holds; None for numbers
    """

    def __init__(
        self,
        source: FileStamp,
        names: tuple[str, ...] | None,
        X: CachedColumn,
        y: CachedColumn | None = None,
        weight: CachedColumn | None = None,
        *,
        cache: Path | None = None,
        classes: NDArray[Any] | None = None,
        cut: Callable[[Block], Block] | None = None,
        n_cols: int | None = None,
    ) -> None:
        self._parts: tuple[CachedColumn | None, ...] = (X, y, weight)
        self._source, self._cut = source, cut
        self.path, self.cache_dir, self.names, self.classes = source.path, cache, names, classes
        table = X.rows.array
        self.n_rows, width = (int(m) for m in table.shape)
        self.n_cols = width if n_cols is None else n_cols
        self.dtype = table.dtype
        self.rows = block_rows(self.n_rows, self.n_cols, table.itemsize * self.n_cols)
        held = [part.rows.array.nbytes for part in self._parts if part is not None]
        self.cache_bytes = 0 if cache is None else sum(held)
        self._seen = np.zeros(self.count, dtype=bool)
        self._closed = False
        # At garbage collection and at exit too; a forked child must not remove its parent's cache.
        self._remove = weakref.finalize(self, _remove, cache, os.getpid())

    @property
    def local(self) -> bool:
        return False

    @property
    def sparse(self) -> bool:
        return False

    def block(self, i: int) -> Block:
        if self._closed:
            raise TableFileError(f"the scan of {self.path} is closed: scan it again")
        lo, hi = self._range(i)
        if not self._seen[i]:
            for part in self._parts:
                if part is not None:
                    part.verify(i, lo, hi)
            self._seen[i] = True
        X, y, weight = (None if part is None else part.rows.array[lo:hi] for part in self._parts)
        block = Block(lo, X, y, weight)
        return block if self._cut is None else self._cut(block)

    def _range(self, i: int) -> tuple[int, int]:
        return i * self.rows, min((i + 1) * self.rows, self.n_rows)

    def _release(self, i: int) -> None:
        for part in self._parts:
            if part is not None:
                part.rows.release(*self._range(i))

    def _check(self) -> None:
        if not self._closed:
            self._source.check()
            for part in self._parts:
                if part is not None:
                    part.rows.check()

    def visit(self, i: int, stat: Callable[[Block], Statistic]) -> Statistic:
        try:
            # The last block may be short: it runs the loop that the others run.
            least = 1 if self.n_rows * self.n_cols >= SMALL else SMALL
            return on_block(stat, self.block(i), least)
        finally:
            self._release(i)

    def reduce(self, stat: Callable[[Block], Statistic]) -> Statistic:
        self._check()
        total = super().reduce(stat)
        self._check()  # a source that changed under the pass spoils it
        return total

    def __iter__(self) -> Iterator[Block]:
        self._check()
        for i in range(self.count):
            yield self.block(i)
            self._release(i)

    def close(self) -> None:
        """Remove the cache; the rows can no longer be read."""
        self._closed = True
        self._parts = ()
        self._remove()

    def __enter__(self) -> FileBlocks:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        size = f"{self.n_rows} x {self.n_cols} {self.dtype}"
        cache = f"cache {self.cache_bytes / 1e6:.1f} MB" if self.cache_dir else "no cache"
        state = "closed" if self._closed else cache
        return f"FileBlocks('{self.path}', {size}, {state})"


def _remove(cache: Path | None, process: int) -> None:
    if cache is not None and os.getpid() == process:
        shutil.rmtree(cache, ignore_errors=True)


def spans(at: int, count: int, block: int) -> Iterator[slice]:
    """Rows 0 … count - 1 of what follows row `at`, cut where a block of the cache ends."""
    lo = 0
    while lo < count:
        hi = min(count, lo + block - (at + lo) % block)
        yield slice(lo, hi)
        lo = hi


class _Writer:
    """One array on its way into the cache, with a checksum for each block of rows."""

    def __init__(self, path: Path, dtype: Any, rows: int, width: int | None) -> None:
        self.path, self.dtype, self.width = path, np.dtype(dtype).newbyteorder("<"), width
        self._block, self._at, self._crc = rows, 0, list[int]()
        self._file = open(path, "wb", buffering=0)  # noqa: SIM115  (closed by `done`)

    def append(self, values: NDArray[Any], dtype: Any = None, crc: int | None = None) -> None:
        """The next values, and their checksum if it is known already: one for each `spans`."""
        values = np.ascontiguousarray(values, dtype=dtype or self.dtype)
        left = values.reshape(-1).view(np.uint8).data
        while len(left):  # a write may take less than it is given
            left = left[self._file.write(left) :]
        for rows in spans(self._at, len(values), self._block):
            if self._at % self._block:  # a block begun before: its checksum goes on
                self._crc[-1] = zlib.crc32(values[rows].data, self._crc[-1])
            else:
                self._crc.append(zlib.crc32(values[rows].data) if crc is None else crc)
            self._at += rows.stop - rows.start

    def rewrite(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> None:
        """The values so far, changed a block at a time, perhaps into another type."""
        self.close()
        old, self._crc, self._at = self.path.with_suffix(".old"), [], 0
        os.replace(self.path, old)
        self._file = open(self.path, "wb", buffering=0)  # noqa: SIM115
        with open(old, "rb") as file:
            while part := file.read(self._block * self.dtype.itemsize):
                values = change(np.frombuffer(part, self.dtype))
                dtype = values.dtype.newbyteorder("<")
                self.append(values, dtype)
        self.dtype = dtype
        old.unlink()

    def close(self) -> None:
        self._file.close()

    def done(self) -> tuple[CachedColumn, dict[str, Any]]:
        self.close()
        shape = (self._at,) if self.width is None else (self._at, self.width)
        about = {"dtype": self.dtype.str, "shape": shape, "crc32": self._crc}
        return CachedColumn(Mapped(self.path, self.dtype, shape), tuple(self._crc)), about


class Cache:
    """A directory that a table is parsed into: raw little-endian rows, and a manifest."""

    def __init__(self, source: FileStamp, names: tuple[str, ...], dtype: Any, place: Any) -> None:
        self.source, self.names, self.n_rows = source, names, 0
        row = np.dtype(dtype).itemsize * len(names)
        self._block = block_rows(2**62, len(names), row)
        try:
            self.path = Path(tempfile.mkdtemp(prefix="fenchel-", dir=place))
        except OSError as error:
            raise TableFileError(
                f"no cache for {source.path} can be made in {place or tempfile.gettempdir()} "
                f"({error.strerror}): choose a directory with cache_dir="
            ) from error
        self.dtype = np.dtype(dtype)
        self._arrays = {"X": _Writer(self.path / "X.bin", dtype, self._block, len(names))}

    def room(self, rows: int) -> None:
        """An error now rather than later, if the disk has no room for so many rows."""
        need = rows * (self.dtype.itemsize * len(self.names) + 16)
        free = shutil.disk_usage(self.path).free
        if need > free:
            raise TableFileError(
                f"the cache of {self.source.path} needs {need / 1e9:.1f} GB and {self.path.parent} "
                f"has {free / 1e9:.1f} GB left: choose another directory with cache_dir="
            )

    def spans(self, count: int) -> Iterator[slice]:
        """The next `count` rows, cut where a block ends."""
        return spans(self.n_rows, count, self._block)

    def append(self, block: Block, crc: int | None = None) -> None:
        """The next rows, with the checksum of X if they are one of `spans` and it is known."""
        with writing(self.source.path, self.path.parent):
            self._arrays["X"].append(block.X, crc=crc)
            for name, values in (("y", block.y), ("weight", block.weight)):
                if values is not None:
                    if name not in self._arrays:
                        path = self.path / f"{name}.bin"
                        self._arrays[name] = _Writer(path, values.dtype, self._block, None)
                    self._arrays[name].append(values)
        self.n_rows += block.n_rows

    def rewrite_y(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> None:
        if "y" in self._arrays:
            self._arrays["y"].rewrite(change)

    def blocks(self, classes: NDArray[Any] | None) -> FileBlocks:
        """The table, now that all its rows are here."""
        columns, about = {}, {}
        for name, writer in self._arrays.items():
            columns[name], about[name] = writer.done()
        source = self.source
        manifest = {
            "format": 1,
            "source": [str(source.path.absolute()), source.size, source.mtime_ns, source.ends],
            "names": self.names,
            "block_rows": self._block,
            "arrays": about,
            "classes": None if classes is None else classes.tolist(),
        }
        (self.path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
        source.check()
        X, y, weight = columns["X"], columns.get("y"), columns.get("weight")
        blocks = FileBlocks(source, self.names, X, y, weight, cache=self.path, classes=classes)
        _LOG.info("%s: %.1f MB cached in %s", source.path, blocks.cache_bytes / 1e6, self.path)
        return blocks

    def discard(self) -> None:
        for writer in self._arrays.values():
            writer.close()
        shutil.rmtree(self.path, ignore_errors=True)
