"""The file behind a name: there, readable, and of a kind that is known by its first bytes."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import stat
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import BinaryIO, cast

from fenchel.app.errors import BadData

READABLE = "CSV, TSV, Parquet, Arrow and .npy"
_MAGIC = {
    b"PAR1": "Parquet",
    b"ARROW1": "Arrow",
    b"\xff\xff\xff\xff": "Arrow stream",
    b"\x93NUMPY": "npy",
}
_BY_SUFFIX = {
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".arrow": "Arrow",
    ".feather": "Arrow",
    ".ipc": "Arrow",
    ".npy": "npy",
}
_SHEETS = (".xlsx", ".xlsm", ".xls", ".ods")
_REFUSED = {
    b"PK\x03\x04": "is a zip archive: unpack it first",
    b"\xd0\xcf\x11\xe0": "is an old Office file: save the sheet as CSV",
    b"FEA1": "is Feather of version 1: write it again as Feather 2 or Parquet",
    b"PARE": "is an encrypted Parquet file: write it without encryption",
    b"BZh": "is packed by bzip2: unpack it first, or pack it by gzip",
    b"\xfd7zXZ": "is packed by xz: unpack it first, or pack it by gzip",
    b"\x28\xb5\x2f\xfd": "is packed by zstd: unpack it first, or pack it by gzip",
    b"\xff\xfe": "is UTF-16 text: save it as CSV in UTF-8",
    b"\xfe\xff": "is UTF-16 text: save it as CSV in UTF-8",
    b"SQLite format 3": "is an SQLite database: export the table as CSV",
    b"\x80\x04": "is a Python pickle, which is never opened: write it as CSV or Parquet",
    b"\x89HDF": f"is an HDF5 file: fenchel reads {READABLE}",
    b"%PDF": f"is a PDF: fenchel reads {READABLE}",
}


@dataclass(frozen=True)
class Input:
    """An opened name: what people call it, where its bytes lie, and what they are."""

    name: str
    path: Path
    format: str  # text, Parquet, Arrow, Arrow stream, npy
    packed: bool  # by gzip

    @contextmanager
    def bytes(self) -> Iterator[BinaryIO]:
        """The content from its beginning, unpacked; damage to the packing is BadData."""
        try:
            with (gzip.open if self.packed else open)(self.path, "rb") as stream:
                yield cast(BinaryIO, stream)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise BadData(
                f"{self.name} is damaged or truncated ({error}): compress it again"
            ) from None

    def sha256(self) -> str:
        """The fingerprint of the bytes as they lie in the file."""
        with open(self.path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def opened(path: str) -> Iterator[Input]:
    """The input of this name; "-" is standard input, whose bytes wait in a temporary file.

    A pipe cannot be read twice, and a first look is needed to tell encodings and kinds of column.
    """
    if path == "-":
        with _spooled(sys.stdin.buffer) as place:
            yield _told("standard input", place)
        return
    if _is_pipe(path):
        with open(path, "rb") as pipe, _spooled(pipe) as place:
            yield _told(Path(path).name, place)
        return
    yield _told(path, Path(path))


@contextmanager
def _spooled(stream: BinaryIO) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="fenchel-") as room:
        place = Path(room) / "input"
        with open(place, "wb") as file:
            shutil.copyfileobj(stream, file, 2**20)
        yield place


def _is_pipe(path: str) -> bool:
    """Whether this is a pipe; whatever cannot be opened is said here."""
    place = Path(path)
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            raise BadData(f"{path} is a directory: name a file in it")
        if stat.S_ISFIFO(mode):
            return True
        if not stat.S_ISREG(mode):
            raise BadData(f"{path} is not a file: name a file, or - for standard input")
        with open(path, "rb"):
            return False
    except (FileNotFoundError, NotADirectoryError):
        raise BadData(f"{path} does not exist: {_remedy(place)}") from None
    except PermissionError:
        raise BadData(f"{path} cannot be read: change its permissions") from None
    except (OSError, ValueError) as error:  # a name too long, a null character, a failing disk
        raise BadData(f"{path!r} cannot be opened: {_reason(error)}") from None


def _remedy(path: Path) -> str:
    try:
        near = get_close_matches(path.name, os.listdir(path.parent), 1, 0.6)
    except OSError:
        return f"there is no readable directory {path.parent}"
    return f"did you mean {path.parent / near[0]}?" if near else "check the path"


def _reason(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")


def _told(name: str, path: Path) -> Input:
    """The kind of the file, by its first bytes and not by its name."""
    with open(path, "rb") as file:
        head = file.read(16)
    if not head:
        raise BadData(f"{name} is empty: it has no columns and no rows")
    packed = head.startswith(b"\x1f\x8b")
    if packed:
        with Input(name, path, "text", True).bytes() as stream:
            head = stream.read(16)
        if not head:
            raise BadData(f"{name} is empty: it has no columns and no rows")
    suffixes = [suffix.lower() for suffix in Path(name).suffixes[-2:]]
    suffix = next((s for s in reversed(suffixes) if s != ".gz"), "")
    for magic, format in _MAGIC.items():
        if head.startswith(magic):
            if packed:
                raise BadData(f"{name} is {format} compressed by gzip: decompress it first")
            return Input(name, path, format, False)
    if suffix in _SHEETS:
        raise BadData(f"{name} is a spreadsheet, which fenchel does not read: save it as CSV")
    if head.startswith(b"PK\x03\x04") and _is_workbook(path):
        raise BadData(f"{name} is an Excel workbook, whatever its name says: save the sheet as CSV")
    for magic, words in _REFUSED.items():
        if head.startswith(magic):
            raise BadData(f"{name} {words}")
    if suffix in _BY_SUFFIX:
        kind = _BY_SUFFIX[suffix]
        raise BadData(
            f"{name} is not a {kind} file, whatever its name says: write it again, or as CSV"
        )
    return Input(name, path, "text", packed)


def _is_workbook(path: Path) -> bool:
    """Whether a zip archive holds a spreadsheet: its directory, at the end, names the parts."""
    with open(path, "rb") as file:
        begin = file.read(4096)
        file.seek(0, os.SEEK_END)
        file.seek(max(0, file.tell() - 65536))
        held = begin + file.read()
    return any(part in held for part in (b"xl/workbook", b"content.xml", b"[Content_Types].xml"))
