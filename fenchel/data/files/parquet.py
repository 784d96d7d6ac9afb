"""The footer of a Parquet file: how many rows and bytes each row group has.

A column of a row group is the least that a reader fetches at once, so to read in bounded memory
one needs these numbers. The footer is a Thrift structure in the compact protocol; only what is
needed here is kept.

Reference: the Apache Parquet format, `parquet.thrift`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MAGIC = b"PAR1"
_DEEPEST = 32  # nested structures in a footer that is no attack


@dataclass(frozen=True, slots=True)
class RowGroup:
    """One row group: its rows, and the bytes that each column takes in the file."""

    rows: int
    bytes: dict[str, int]


@dataclass(frozen=True, slots=True)
class RowRange:
    """Rows start … start + rows - 1 of whole row groups, and the bytes each column takes there."""

    start: int
    rows: int
    bytes: dict[str, int]

    def parts(self, columns: Sequence[str], budget: int) -> Iterator[list[str]]:
        """Consecutive columns that can be fetched together: as few bytes in the file as half the
        budget, and as few values as the budget holds; or one column."""
        part: list[str] = []
        total = 0
        for name in columns:
            total += self.bytes[name]
            if part and (total > budget // 2 or 8 * self.rows * (len(part) + 1) > budget):
                yield part
                part, total = [], self.bytes[name]
            part.append(name)
        if part:
            yield part


def row_groups(path: Path) -> list[RowGroup]:
    """The row groups of a Parquet file; ValueError says what is wrong with the file."""
    with open(path, "rb") as file:
        size = file.seek(0, 2)
        head, tail = b"", b""
        if size >= 12:
            file.seek(0)
            head = file.read(4)
            file.seek(-8, 2)
            tail = file.read(8)
        if tail[4:] == b"PARE":
            raise ValueError("its footer is encrypted")
        if head != _MAGIC or tail[4:] != _MAGIC:
            whole = "it is cut short" if head == _MAGIC else "it is no Parquet file"
            raise ValueError(f"{whole} (the mark PAR1 is missing)")
        length = int.from_bytes(tail[:4], "little")
        if length > size - 12:
            raise ValueError("its footer is longer than the file")
        file.seek(-8 - length, 2)
        footer = file.read(length)
    try:
        return [_row_group(group) for group in _Compact(footer).structure().get(4, [])]
    except (IndexError, KeyError, TypeError, UnicodeDecodeError, AttributeError) as error:
        raise ValueError("its footer is damaged") from error


def _row_group(group: dict[int, Any]) -> RowGroup:
    sizes: dict[str, int] = {}
    for chunk in group[1]:
        meta = chunk[3]
        name = meta[3][0].decode()  # nested columns count for the column that holds them
        if name in sizes and len(meta[3]) == 1:
            raise ValueError(f"two of its columns are called '{name}'")
        sizes[name] = sizes.get(name, 0) + meta[7]
    return RowGroup(group[3], sizes)


def pieces(groups: Sequence[RowGroup], row_bytes: int, budget: int) -> Iterator[RowRange]:
    """The row groups in order, small ones together up to half the budget."""
    start, rows, held = 0, 0, dict[str, int]()
    for group in groups:
        if rows and (rows + group.rows) * row_bytes > budget // 2:
            yield RowRange(start, rows, held)
            start, rows, held = start + rows, 0, {}
        rows += group.rows
        held = {name: held.get(name, 0) + size for name, size in group.bytes.items()}
    if rows:
        yield RowRange(start, rows, held)


class _Compact:
    """Reads Thrift's compact protocol: a structure as a dict from field number to value."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def structure(self, depth: int = 0) -> dict[int, Any]:
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            number = number + step if step else self._zigzag()
            fields[number] = kind == 1 if kind <= 2 else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if depth > _DEEPEST:
            raise IndexError("nested too deeply")
        if kind <= 3:
            return self._byte()
        if kind <= 6:
            return self._zigzag()
        if kind == 7:
            return self._take(8)
        if kind == 8:
            return self._take(self._varint())
        if kind in (9, 10):
            head = self._byte()
            count = head >> 4
            return self._items(self._varint() if count == 15 else count, head & 15, depth)
        if kind == 12:
            return self.structure(depth + 1)
        raise IndexError(f"no such type in a footer: {kind}")

    def _items(self, count: int, kind: int, depth: int) -> list[Any]:
        if count > len(self._data):
            raise IndexError("a list longer than the footer")
        return [self._value(kind, depth + 1) for _ in range(count)]

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _take(self, count: int) -> bytes:
        self._at += count
        if self._at > len(self._data):
            raise IndexError("past the end")
        return self._data[self._at - count : self._at]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise IndexError("a number too long")

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
