"""How often each k-mer occurs in each string, exactly, and inner products of such counts.

A k-mer is named by a number. While its characters, as digits, fit into 62 bits, that number in full
is looked up in an open table; longer ones are pairs of names of shorter ones, so that log₂ k rounds
name them all. No hash decides that two k-mers are equal.

Cost: O(L log k) for L characters; a product of the counts of n and m rows takes as many steps as
there are pairs of equal k-mers, or a matrix product where most k-mers occur in most rows.

Reference: Karp, Miller and Rosenberg, Rapid identification of repeated patterns in strings, trees
and arrays, STOC 1972.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.geometry.strings.code_points import CodePoints, Codes, Numbers

Floats = NDArray[np.float64]
BITS = 62  # of a key: digits and pairs of names are nonnegative int64
# Matrix products win where more than a 20th of their terms is not zero (256 x 512 rows of 1,000
# characters, one core, ms by lists and by products: 34 and 7 where a third is, 28 and 13 for a
# seventh, 22 and 25 for a 21st, 16 and 42 for a 73rd).
DENSE = 20.0
# Names that a tile has none of cost 8 bytes each; beyond this many times its entries they are named
# anew, by sorting.
SPARSE = 4


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """The distinct k-mers of some tables: `first` is where each occurs in `texts`."""

    k: int
    first: Numbers
    texts: CodePoints

    def __len__(self) -> int:
        return len(self.first)


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """The k-mers of each row.

    Row i has ids[starts[i] : starts[i] + lengths[i]], each once, and beside them how often; ids are
    below `names`. words: what they are names of.
    """

    ids: Codes
    counts: Floats
    starts: Numbers
    lengths: Numbers
    names: int
    words: Words

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.starts), self.names

    def __getitem__(self, pick: Any) -> Counts:
        return replace(self, starts=self.starts[pick], lengths=self.lengths[pick])

    @property
    def entries(self) -> Numbers:
        """The places of the entries of all rows, one row after the other."""
        ends = np.cumsum(self.lengths)
        return np.arange(self.lengths.sum()) + np.repeat(
            self.starts - ends + self.lengths, self.lengths
        )

    def squares(self) -> Floats:
        """The inner product of each row with itself."""
        rows = np.repeat(np.arange(len(self.starts)), self.lengths)
        squares = self.counts[self.entries] ** 2
        return np.asarray(np.bincount(rows, squares, len(self.starts)), np.float64)

    def dense(self) -> Floats:
        """The counts as a matrix with a column for each name."""
        out = np.zeros(self.shape)
        at = self.entries
        out[np.repeat(np.arange(len(out)), self.lengths), self.ids[at]] = self.counts[at]
        return out


def names_of(keys: Numbers) -> tuple[Codes, Numbers]:
    """A number for each key, equal for equal keys only, and where each number appears first."""
    from fenchel.geometry.strings.kmers.compiled import numbered

    names, first = np.empty(len(keys), np.int32), np.empty(len(keys), np.int64)
    return names, first[: numbered(np.ascontiguousarray(keys), names, first)].copy()


def digits_of_a_key(base: int) -> int:
    """How many digits in this base a key holds."""
    digits = 1
    while base ** (digits + 1) <= 2**BITS:
        digits += 1
    return digits


def kmer_counts(texts: tuple[CodePoints, ...], k: int) -> tuple[Counts, ...]:
    """The k-mers of each row of each table, in one naming; the tables share their codes."""
    starts = np.concatenate([table.starts for table in texts])
    lengths = np.concatenate([table.lengths for table in texts])
    windows = np.maximum(lengths - k + 1, 0)
    whole = texts[0]
    names, first = _windows(whole.codes, starts, windows, k, max(len(whole.alphabet), 2))
    here = np.cumsum(windows) - windows
    words = Words(k, first, whole)
    every = merged_counts(names, np.ones(len(names)), here, windows, len(first), words)
    parts, lo = [], 0
    for table in texts:
        parts.append(every[lo : lo + len(table.starts)])
        lo += len(table.starts)
    return tuple(parts)


def _windows(
    codes: Codes, starts: Numbers, windows: Numbers, k: int, base: int
) -> tuple[Codes, Numbers]:
    """The names of the k-mers of all rows, one row after the other, and where each occurs first."""
    from fenchel.geometry.strings.kmers.compiled import window_keys

    if not windows.any():
        return np.empty(0, np.int32), np.empty(0, np.int64)
    width = min(k, digits_of_a_key(base))
    keys = np.empty(len(codes) - width + 1, np.int64)
    window_keys(codes, width, base, keys)
    while width < k:
        names, first = names_of(keys)
        step = min(width, k - width)
        keys = names[:-step].astype(np.int64) * len(first) + names[step:]
        width += step
    # A window that begins in a row and ends in the next is none.
    change = np.zeros(len(keys) + 1, np.int64)
    inside = windows > 0
    np.add.at(change, starts[inside], 1)
    np.add.at(change, (starts + windows)[inside], -1)
    places = np.flatnonzero(np.cumsum(change[:-1]))
    names, first = names_of(keys[places])
    return names, places[first]


def merged_counts(
    names: Codes, weights: Floats, starts: Numbers, lengths: Numbers, size: int, words: Words
) -> Counts:
    """The names of each row, each once, with the sum of its weights."""
    from fenchel.geometry.strings.kmers.compiled import merged

    most = int(lengths.sum())
    ids, counts, sizes = np.empty(most, np.int32), np.empty(most), np.empty(len(starts), np.int64)
    place = np.zeros(size, np.int64)
    filled = merged(names, weights, starts, lengths, place, ids, counts, sizes)
    begins = np.cumsum(sizes) - sizes
    return Counts(ids[:filled], counts[:filled], begins, sizes, size, words)


def count_products(A: Counts, B: Counts) -> Floats:
    """The inner products of the counts of rows: whole numbers, exact up to 2⁵³."""
    from fenchel.geometry.strings.kmers.compiled import shared_counts

    n, m, names = len(A.starts), len(B.starts), max(A.names, 1)
    entries = int(A.lengths.sum()), int(B.lengths.sum())
    out = np.zeros((n, m))
    if not all(entries):
        return out
    if entries[0] * entries[1] * DENSE > float(n) * m * names * names:
        return np.asarray(A.dense() @ B.dense().T)
    if names > SPARSE * sum(entries):
        A, B = _named_anew(A, B)
    shared_counts(
        *(A.ids, A.counts, A.starts, A.lengths, B.ids, B.counts, B.starts, B.lengths, A.names, out)
    )
    return out


def _named_anew(A: Counts, B: Counts) -> tuple[Counts, Counts]:
    """The same with names for what occurs in B alone; what occurs in A alone has one."""
    at = B.entries
    known, ids = np.unique(B.ids[at], return_inverse=True)
    new = replace(
        B,
        ids=ids.astype(np.int32).reshape(-1),
        counts=B.counts[at],
        starts=np.cumsum(B.lengths) - B.lengths,
        names=len(known) + 1,
    )
    at = A.entries
    found = np.searchsorted(known, A.ids[at])
    missed = known[np.minimum(found, len(known) - 1)] != A.ids[at]
    found[missed] = len(known)
    return (
        replace(
            A,
            ids=found.astype(np.int32),
            counts=A.counts[at],
            starts=np.cumsum(A.lengths) - A.lengths,
            names=len(known) + 1,
        ),
        new,
    )
