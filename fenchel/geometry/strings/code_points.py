"""Strings as their code points: rows of unequal lengths in one array, in one alphabet.

A str is its Unicode code points, a bytes object its bytes. Strings that look alike may differ in
their code points; to bring them to one normalisation form (`unicodedata.normalize`) is for whoever
gives them.
"""

from __future__ import annotations

import reprlib
import sys
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.strings import string_column

Codes = NDArray[np.int32]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class CodePoints:
    """Rows of strings.

    codes: the places of their characters in `alphabet`, which holds the code points that occur in
    rising order; row i: codes[starts[i] : starts[i] + lengths[i]]. characters: how many there are
    of its kind, whether or not they occur: code points or bytes.
    """

    codes: Codes
    starts: Numbers
    lengths: Numbers
    alphabet: Codes
    characters: int

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.starts), 1

    @property
    def longest(self) -> int:
        return int(self.lengths.max(initial=0))

    def __getitem__(self, pick: Any) -> CodePoints:
        return replace(self, starts=self.starts[pick], lengths=self.lengths[pick])


def code_points(*tables: Any) -> tuple[CodePoints, ...]:
    """Tables of strings in one alphabet; refuses str beside bytes, and what is no string."""
    columns = [string_column(rows)[:, 0].tolist() if len(rows) else [] for rows in tables]
    items = [item for column in columns for item in column]
    text = bool(items) and isinstance(items[0], str)
    other = next((item for item in items if isinstance(item, str) != text), None)
    if other is not None:
        raise ValueError(
            f"{reprlib.repr(items[0])} is {type(items[0]).__name__} and {reprlib.repr(other)} is "
            f"{type(other).__name__}: decode the bytes or encode the strings, so that the rows of "
            "the fit and all others are of one type"
        )
    if text:
        whole = np.frombuffer("".join(items).encode("utf-32-le", "surrogatepass"), "<u4")
    else:
        whole = np.frombuffer(b"".join(items), np.uint8)
    lengths = np.fromiter(map(len, items), np.int64, len(items))
    starts = np.cumsum(lengths) - lengths
    seen = np.zeros(int(whole.max(initial=0)) + 1, bool)
    seen[whole] = True
    places = np.cumsum(seen, dtype=np.int32) - np.int32(1)
    codes, alphabet = places[whole], np.flatnonzero(seen).astype(np.int32)
    characters = sys.maxunicode + 1 if text else 256
    parts, lo = [], 0
    for column in columns:
        rows = slice(lo, lo + len(column))
        parts.append(CodePoints(codes, starts[rows], lengths[rows], alphabet, characters))
        lo = rows.stop
    return tuple(parts)
