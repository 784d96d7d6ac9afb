"""Text in slabs that end where a line ends, so that each can be parsed by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

_LONGEST = 2**26  # bytes of one line


def first_line(slab: bytes) -> tuple[bytes, bytes]:
    """The first line, without its end, and the rest; line ends inside quotes do not count."""
    end = slab.find(b"\n")
    while end >= 0 and slab.count(b'"', 0, end) % 2:
        end = slab.find(b"\n", end + 1)
    if end < 0:
        return slab.rstrip(b"\r"), b""
    return slab[:end].rstrip(b"\r"), slab[end + 1 :]


def line_chunks(stream: BinaryIO, size: int, *, quoted: bool = True) -> Iterator[bytes]:
    """The stream in pieces of about `size` bytes, each of whole lines.

    A doubled quote inside quotes counts twice, so a line ends where the number of quotes before
    it is even; without `quoted`, at every line feed. Empty lines at the end of the stream are left
    out.
    """
    held = bytearray(size)
    filled = 0
    while True:
        count = stream.readinto(memoryview(held)[filled:])  # type: ignore[attr-defined]
        if not count:
            break
        filled += count
        cut = _last_end(held, filled, quoted)
        if cut:
            yield bytes(memoryview(held)[:cut])
            held[: filled - cut] = held[cut:filled]
            filled -= cut
        elif filled > _LONGEST:
            raise ValueError(
                f"a line is longer than {_LONGEST >> 20} MiB: perhaps a quote is not closed, or "
                "lines do not end in a line feed"
            )
        if filled == len(held):
            held.extend(bytes(len(held)))
    rest = bytes(memoryview(held)[:filled]).rstrip(b"\r\n")
    if rest:
        yield rest


def _quotes(slab: bytearray, end: int) -> int:
    """The quotes before `end`; `bytearray.count` takes ten times as long where they are many."""
    return int(np.count_nonzero(np.frombuffer(slab, np.uint8, end) == 34))


def _last_end(slab: bytearray, filled: int, quoted: bool) -> int:
    """Just behind the last line that ends outside quotes and is not empty; 0 if there is none."""
    cut = slab.rfind(b"\n", 0, filled) + 1
    odd = _quotes(slab, cut) % 2 if quoted else 0
    while cut and odd:
        before = slab.rfind(b"\n", 0, cut - 1) + 1
        odd ^= slab.count(b'"', before, cut) % 2
        cut = before
    while cut:  # whether empty lines are the last is not known yet: they wait
        end = cut - 1 - slab.endswith(b"\r\n", 0, cut)
        if end and slab[end - 1] != 10:
            break
        cut = end
    return cut
