"""The container: a zip without compression in which every byte is determined.

[header][manifest.json][header][arrays/0.bin] … [central directory][end, with a comment]

The comment holds the SHA-256 of the manifest, and the manifest that of every array. All other bytes
follow from these: names, sizes, CRC-32 and positions. A reader makes them anew and compares, so
there is no byte that could be changed without notice, and no entry, link, extra field or
compression that could be smuggled in.

Reference: PKWARE, .ZIP File Format Specification (APPNOTE), sections 4.3 to 4.5.
"""

from __future__ import annotations

import hashlib
import re
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from numpy.typing import NDArray

from fenchel.app.errors import ModelFileError
from fenchel.app.modelfile import manifest as manifests
from fenchel.app.modelfile.arrays import ArrayLayout, empty, finish, layout_from

MANIFEST = "manifest.json"
MOST_ENTRIES = 10_000
CHUNK = 2**20

_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_END64 = struct.Struct("<4sQ2H2I4Q")
_LOCATOR = struct.Struct("<4sIQI")
_DAY = 0x0021  # the first of January 1980, at midnight
_WRITTEN_BY = 3 << 8 | 45  # Unix, so that the attributes are those of a plain file
_PLAIN_FILE = 0o100644 << 16
_FULL = 0xFFFFFFFF  # stands for "in the extra field"
_COMMENT = re.compile(rb"fenchel model file, manifest sha256 ([0-9a-f]{64})\Z")
_COMMENT_LENGTH = len("fenchel model file, manifest sha256 ") + 64


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One stored file: its name, bytes and CRC-32."""

    name: str
    size: int
    crc: int

    @property
    def large(self) -> bool:
        """Whether its size takes 64 bits."""
        return self.size >= _FULL

    def header(self) -> bytes:
        """What lies before its bytes."""
        name = self.name.encode("ascii")
        extra = struct.pack("<2H2Q", 1, 16, self.size, self.size) if self.large else b""
        size = _FULL if self.large else self.size
        needed = 45 if self.large else 10
        lengths = len(name), len(extra)
        head = _LOCAL.pack(b"PK\3\4", needed, 0, 0, 0, _DAY, self.crc, size, size, *lengths)
        return head + name + extra

    def listed(self, offset: int) -> bytes:
        """Its line in the central directory."""
        name = self.name.encode("ascii")
        far = offset >= _FULL
        wide = ([self.size, self.size] if self.large else []) + ([offset] if far else [])
        extra = struct.pack(f"<2H{len(wide)}Q", 1, 8 * len(wide), *wide) if wide else b""
        size = _FULL if self.large else self.size
        needed = 45 if wide else 10
        head = _CENTRAL.pack(
            *(b"PK\1\2", _WRITTEN_BY, needed, 0, 0, 0, _DAY, self.crc, size, size),
            *(len(name), len(extra), 0, 0, 0, _PLAIN_FILE, _FULL if far else offset),
        )
        return head + name + extra


def array_entry(number: int, size: int, crc: int) -> StoredFile:
    return StoredFile(f"arrays/{number}.bin", size, crc)


def comment(manifest: bytes) -> bytes:
    digest = hashlib.sha256(manifest).hexdigest()
    return f"fenchel model file, manifest sha256 {digest}".encode("ascii")


def tail(entries: Sequence[StoredFile], remark: bytes) -> bytes:
    """The central directory and the end."""
    listed, offset = [], 0
    for entry in entries:
        listed.append(entry.listed(offset))
        offset += len(entry.header()) + entry.size
    directory = b"".join(listed)
    n, size = len(entries), len(directory)
    far = b""
    if max(offset, size) >= _FULL:
        far = _END64.pack(b"PK\6\6", 44, _WRITTEN_BY, 45, 0, 0, n, n, size, offset)
        far += _LOCATOR.pack(b"PK\6\7", 0, offset + size, 1)
    short = min(size, _FULL), min(offset, _FULL)
    return directory + far + _END.pack(b"PK\5\6", 0, 0, n, n, *short, len(remark)) + remark


def write(file: BinaryIO, manifest: bytes, arrays: Sequence[NDArray[Any]]) -> None:
    """The container with these bytes, written in one pass."""
    entries = [StoredFile(MANIFEST, len(manifest), zlib.crc32(manifest))]
    entries += [array_entry(k, a.nbytes, zlib.crc32(a.data)) for k, a in enumerate(arrays)]
    if len(entries) > MOST_ENTRIES:
        raise ModelFileError(
            f"the model has {len(arrays)} arrays, more than the {MOST_ENTRIES - 1} a file holds"
        )
    parts = [memoryview(manifest), *(array.data for array in arrays)]
    for entry, part in zip(entries, parts, strict=True):
        file.write(entry.header())
        for lo in range(0, entry.size, CHUNK):
            file.write(part[lo : lo + CHUNK])
    file.write(tail(entries, comment(manifest)))


@dataclass(frozen=True, slots=True)
class Container:
    """What a file holds: the manifest, its digest and the arrays in their order."""

    manifest: dict[str, Any]
    sha256: str
    layouts: tuple[ArrayLayout, ...]
    arrays: tuple[NDArray[Any], ...]


def read(file: BinaryIO, size: int) -> Container:
    """The container in a file of this many bytes, every one of them verified."""
    remark = _remark(file, size)
    data, entry = _manifest(file, size)
    if comment(data) != remark:
        raise ModelFileError(
            "manifest.json was changed: its SHA-256 is not the one it was saved with"
        )
    found = manifests.parse(data)
    if type(found.get("format")) is not int:
        raise ModelFileError("manifest.json has no format number")
    if found["format"] not in manifests.FORMATS:
        known = " and ".join(map(str, manifests.FORMATS))
        raise ModelFileError(
            f"it is of format {found['format']}, and this version of fenchel reads the formats "
            f"{known}: load it with the version that wrote it, or a newer one"
        )
    layouts = _layouts(found.get("arrays"))
    expected = _length(entry, layouts, remark)
    if size != expected:
        raise ModelFileError(
            f"it has {size} bytes, where its manifest states {expected}: it was cut short or "
            "added to"
        )
    entries, arrays = [entry], []
    for number, layout in enumerate(layouts):
        where = f"arrays/{number}.bin"
        head = _take(file, len(array_entry(number, layout.size, 0).header()))
        array, flat = empty(layout)
        digest, crc = hashlib.sha256(), 0
        for lo in range(0, layout.size, CHUNK):
            part = flat[lo : lo + CHUNK].data
            _fill(file, part)
            digest.update(part)
            crc = zlib.crc32(part, crc)
        if digest.hexdigest() != layout.sha256:
            raise ModelFileError(f"{where} was changed: its SHA-256 is not the manifest's")
        entries.append(array_entry(number, layout.size, crc))
        if head != entries[-1].header():
            raise ModelFileError(f"the zip header of {where} is not the one it was saved with")
        arrays.append(finish(array, flat, where))
    end = tail(entries, remark)
    if _take(file, len(end)) != end or file.read(1):
        raise ModelFileError("the zip directory is not the one it was saved with")
    return Container(found, hashlib.sha256(data).hexdigest(), layouts, tuple(arrays))


def _remark(file: BinaryIO, size: int) -> bytes:
    """The comment at the end: whether this is a model file at all."""
    file.seek(0)
    first = file.read(4)
    if first != b"PK\3\4":
        what = "it is empty" if size == 0 else "it does not begin as one"
        raise ModelFileError(f"it is not a fenchel model file: {what}")
    file.seek(max(size - _COMMENT_LENGTH, 0))
    remark = file.read(_COMMENT_LENGTH)
    if not _COMMENT.match(remark):
        raise ModelFileError(
            "it does not end as fenchel.save ends a file: it was cut short, changed, or written by "
            "another program"
        )
    file.seek(0)
    return remark


def _manifest(file: BinaryIO, size: int) -> tuple[bytes, StoredFile]:
    """The bytes of the first entry, which is the manifest."""
    shape = StoredFile(MANIFEST, 0, 0).header()
    head = _take(file, len(shape))
    _, *_, crc, stored, _, _, _ = _LOCAL.unpack(head[: _LOCAL.size])
    entry = StoredFile(MANIFEST, stored, crc)
    if head != entry.header():
        raise ModelFileError(
            f"its first entry is not {MANIFEST} as fenchel.save stores it: files that another "
            "program packed are not read"
        )
    if stored > min(manifests.LARGEST, size):
        raise ModelFileError(
            f"it claims a manifest of {stored} bytes; at most {manifests.LARGEST} are read"
        )
    data = _take(file, stored)
    if zlib.crc32(data) != crc:
        raise ModelFileError("manifest.json was changed: its CRC-32 is not the one in its header")
    return data, entry


def _layouts(found: Any) -> tuple[ArrayLayout, ...]:
    if type(found) is not list:
        raise ModelFileError("manifest.json has no list of arrays")
    if len(found) >= MOST_ENTRIES:
        raise ModelFileError(f"it has {len(found) + 1} entries, more than {MOST_ENTRIES}")
    return tuple(layout_from(one, f"arrays/{k}.bin") for k, one in enumerate(found))


def _length(entry: StoredFile, layouts: tuple[ArrayLayout, ...], remark: bytes) -> int:
    """The bytes of the whole file: known before any array is allocated."""
    sizes = enumerate(layout.size for layout in layouts)
    entries = [entry, *(array_entry(k, size, 0) for k, size in sizes)]
    return sum(len(e.header()) + e.size for e in entries) + len(tail(entries, remark))


def _take(file: BinaryIO, count: int) -> bytes:
    data = file.read(count)
    if len(data) != count:
        raise ModelFileError("it was cut short")
    return data


def _fill(file: BinaryIO, part: memoryview) -> None:
    done = 0
    while done < len(part):
        got = file.readinto(part[done:])  # type: ignore[attr-defined]
        if not got:
            raise ModelFileError("it was cut short while it was read")
        done += got
