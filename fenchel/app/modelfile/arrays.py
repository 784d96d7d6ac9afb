"""Arrays as raw little-endian bytes: what types there are, and what bytes are valid in them."""

from __future__ import annotations

import hashlib
import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.app.errors import ModelFileError
from fenchel.app.modelfile.manifest import fields

NUMBERS = (
    *("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4"),
    *("<i8", "<u8", "<f2", "<f4", "<f8"),
)
_TEXT = re.compile(r"<U[1-9][0-9]{0,7}\Z")
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
DIMENSIONS = 32
MOST_BYTES = 2**60  # of one array; also of one with no entries, were its empty sides not empty
LAST_CHARACTER = 0x10FFFF


@dataclass(frozen=True, slots=True)
class ArrayLayout:
    """Type, shape and order of an array, and the digest of its bytes."""

    dtype: str
    shape: tuple[int, ...]
    columns_first: bool
    sha256: str

    @property
    def size(self) -> int:
        """Bytes, in whole numbers that do not overflow."""
        return np.dtype(self.dtype).itemsize * math.prod(self.shape)

    def to_json(self) -> dict[str, Any]:
        order = {"order": "F"} if self.columns_first else {}
        shape = list(self.shape)
        return {"dtype": self.dtype, "shape": shape, **order, "sha256": self.sha256}


def layout_from(found: Any, where: str) -> ArrayLayout:
    """A layout as the manifest has it, checked before anything is allocated."""
    found = fields(found, where, ("dtype", "shape", "sha256"), ("order",))
    dtype = dtype_from(found["dtype"], where)
    shape, order, sha256 = found["shape"], found.get("order", "C"), found["sha256"]
    if type(shape) is not list or len(shape) > DIMENSIONS:
        raise ModelFileError(f"{where} has no list of at most {DIMENSIONS} lengths for a shape")
    if any(type(n) is not int or n < 0 for n in shape):
        raise ModelFileError(f"{where} has a length that is not a whole number of 0 or more")
    if dtype.itemsize * math.prod(max(n, 1) for n in shape) > MOST_BYTES:
        raise ModelFileError(f"{where} states a shape larger than any memory")
    if order not in ("C", "F") or (order == "C" and "order" in found):
        raise ModelFileError(f"{where} has an order that is not known")
    if type(sha256) is not str or not _SHA256.match(sha256):
        raise ModelFileError(f"{where} has no SHA-256 of 64 hexadecimal digits")
    return ArrayLayout(found["dtype"], tuple(shape), order == "F", sha256)


def dtype_from(name: Any, where: str) -> np.dtype[Any]:
    """A type from the closed list of names."""
    if type(name) is not str or not (name in NUMBERS or _TEXT.match(name)):
        shown = name[:40] if type(name) is str else name
        raise ModelFileError(f"{where} has the type {shown!r}, which model files do not hold")
    return np.dtype(name)


def dtype_name(dtype: np.dtype[Any]) -> str | None:
    """The name of a type in a file, or None where files do not hold it."""
    name = dtype.newbyteorder("<").str
    return name if name in NUMBERS or _TEXT.match(name) else None


def raw(array: NDArray[Any]) -> tuple[ArrayLayout, NDArray[np.uint8]]:
    """The layout of an array and its bytes, a view of them where they lie in order already."""
    name = dtype_name(array.dtype)
    if name is None:
        raise ModelFileError(f"arrays of {array.dtype} are not held by model files")
    columns_first = array.flags.f_contiguous and not array.flags.c_contiguous
    ordered = np.ascontiguousarray(array.T if columns_first else array, dtype=np.dtype(name))
    data = ordered.reshape(-1).view(np.uint8)
    sha256 = hashlib.sha256(data.data).hexdigest()
    return ArrayLayout(name, array.shape, columns_first, sha256), data


def empty(layout: ArrayLayout) -> tuple[NDArray[Any], NDArray[np.uint8]]:
    """An array of this layout, and its bytes to be filled."""
    order: Any = "F" if layout.columns_first else "C"
    try:
        array = np.empty(layout.shape, np.dtype(layout.dtype), order)
    except MemoryError:
        raise ModelFileError(
            f"an array of {layout.size / 2**30:.1f} GiB does not fit in memory"
        ) from None
    flat = (array.T if layout.columns_first else array).reshape(-1)
    return array, flat.view(np.uint8)


def finish(array: NDArray[Any], data: NDArray[np.uint8], where: str) -> NDArray[Any]:
    """The array in this machine's byte order, its bytes being valid in its type."""
    if array.dtype.kind == "b" and data.size and int(data.max()) > 1:
        raise ModelFileError(f"{where} holds a truth value that is neither 0 nor 1")
    if array.dtype.kind == "U" and data.size and int(data.view("<u4").max()) > LAST_CHARACTER:
        raise ModelFileError(f"{where} holds a number that is no Unicode character")
    native = array.dtype.newbyteorder("=")
    return array if native == array.dtype else array.astype(native)
