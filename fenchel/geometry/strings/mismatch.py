"""The mismatch kernel: strings compared by k-mers that differ in a few characters."""

from __future__ import annotations

import reprlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import Any, final

import numpy as np

from fenchel.data.parallel import parallel_map
from fenchel.geometry.strings.code_points import CodePoints, Codes, Numbers
from fenchel.geometry.strings.kmers.counts import (
    BITS,
    Counts,
    count_products,
    kmer_counts,
    merged_counts,
    names_of,
)
from fenchel.geometry.strings.string_kernel import FeatureKernel, Floats, Values, checked_integer

PART = 256  # rows whose values with themselves are made at once
MOST = 20_000  # products of counts for a tile: each takes a millisecond and more


@final
@dataclass(frozen=True, slots=True)
class Mismatch(FeatureKernel):
    """k(s, t) = Σ_u φ_u(s) φ_u(t), φ_u(s) = how many k-mers of s differ from u in at most m places.

    u runs over all strings of k characters of the alphabet. The features are never made: two k-mers
    at Hamming distance d have as many u near both whichever they are, c_d, so that

        k(s, t) = Σ_d c_d M_d(s, t),   d ≤ min(2m, k),

    with M_d the number of pairs of k-mers at distance d; these follow exactly from the counts of
    k-mers with some characters left out. A tile takes Σ_{i ≤ 2m} C(k, i) products of counts: 16 for
    k = 5 and m = 1, 57 for k = 6 and m = 2.

    alphabet: its characters, such as "ACGT" (of bytes, those with these numbers); strings that hold
    any other are refused. None: all there are, 256 bytes or 1,114,112 code points, so that a value
    depends on the two strings alone; for m = 1, c₁/c₀ is then about 1/k. normalised: as of
    Spectrum; without it values are of the order of c₀, which for all characters is large.

    Reference: Leslie, Eskin, Cohen, Weston and Noble, Mismatch string kernels for discriminative
    protein classification, Bioinformatics 20 (2004); Kuksa, Huang and Pavlovic, Scalable algorithms
    for string kernels with inexact matching, NIPS 2008.

    Examples
    --------
    "AC" and "AG" are both near "AA", "AC", "AG" and "AT".

    >>> from fenchel import kernels
    >>> kernels.Mismatch(2, 1, "ACGT", normalised=False).tile(["AC"], ["AC", "AG", "GT"]).tolist()
    [[7.0, 4.0, 2.0]]
    """

    k: int = 3
    m: int = 1
    alphabet: str | bytes | None = None
    normalised: bool = True

    def __post_init__(self) -> None:
        checked_integer("k", self.k, 1)
        checked_integer("m", self.m, 0)
        if self.m >= self.k:
            raise ValueError(f"m must be less than k = {self.k}, got {self.m!r}")
        k, m = int(self.k), int(self.m)
        products = sum(comb(k, i) for i in range(min(2 * m, k) + 1))
        if products > MOST:
            raise ValueError(
                f"k = {k} and m = {m} take {products} products of counts for a tile, and "
                f"at most {MOST} are made: take a smaller m"
            )
        if self.alphabet is None:
            return
        if not isinstance(self.alphabet, str | bytes) or not self.alphabet:
            raise ValueError(f"alphabet must be a string of characters, got {self.alphabet!r}")
        if isinstance(self.alphabet, bytes):
            object.__setattr__(self, "alphabet", self.alphabet.decode("latin-1"))
        if len(set(self.alphabet)) < len(self.alphabet):
            raise ValueError(f"alphabet names a character twice: {self.alphabet!r}")

    @property
    def tile_rows(self) -> int:
        return 128

    def prepare(self, texts: tuple[CodePoints, ...]) -> tuple[Any, ...]:
        if self.alphabet is not None:
            for table in texts:
                _check_alphabet(table, str(self.alphabet))
        return kmer_counts(texts, int(self.k))

    def inner_products(self, rows: Counts, points: Counts) -> Values:
        return Values(self._sums((rows, points), count_products))

    def squares(self, rows: Counts) -> Values:
        out = np.zeros(rows.shape[0])

        def fill(part: slice) -> None:
            out[part] = self._sums((rows[part],), Counts.squares)

        parts = [slice(lo, lo + PART) for lo in range(0, len(out), PART)]
        parallel_map(fill, parts)
        return Values(out)

    def _sums(self, tables: tuple[Counts, ...], value: Callable[..., Floats]) -> Floats:
        """Σ_d c_d M_d, from what `value` makes of the counts of k-mers without some characters.

        With i characters left out, in every way, a pair at distance d ≤ i agrees in C(k-d, i-d) of
        them: M_i is what is left of their sum once the nearer pairs are taken off. All of these are
        whole numbers.
        """
        k, m, texts = int(self.k), int(self.m), tables[0].words.texts
        size = texts.characters if self.alphabet is None else len(self.alphabet)
        gapped = GappedKmers.of(tables)
        at_distance: list[Floats] = []
        out: Any = 0.0
        for left_out in range(min(2 * m, k) + 1):
            total: Any = 0.0
            for kept in combinations(range(k), k - left_out):
                total = total + value(*gapped.counts(kept))
            for d, pairs in enumerate(at_distance):
                total = total - comb(k - d, left_out - d) * pairs
            at_distance.append(total)
            out = out + float(common_neighbours(k, m, left_out, size)) * total
        return np.asarray(out)


@dataclass(frozen=True, slots=True, eq=False)
class GappedKmers:
    """The k-mers of some rows as rows of characters, of which any may be left out.

    characters: (number of k-mers, k); tables: counts whose ids are rows of these.
    """

    characters: Numbers
    tables: tuple[Counts, ...]
    base: int

    @classmethod
    def of(cls, tables: tuple[Counts, ...]) -> GappedKmers:
        words = tables[0].words
        entries = [table.entries for table in tables]
        ids = [table.ids[at] for table, at in zip(tables, entries, strict=True)]
        used, found = np.unique(np.concatenate(ids), return_inverse=True)
        places = words.first[used][:, None] + np.arange(words.k)
        parts, lo = [], 0
        for table, at in zip(tables, entries, strict=True):
            here = found.reshape(-1)[lo : lo + len(at)].astype(np.int32)
            begins = np.cumsum(table.lengths) - table.lengths
            parts.append(
                replace(table, ids=here, counts=table.counts[at], starts=begins, names=len(used))
            )
            lo += len(at)
        characters = words.texts.codes[places].astype(np.int64)
        return cls(characters, tuple(parts), max(len(words.texts.alphabet), 2))

    def counts(self, kept: tuple[int, ...]) -> list[Counts]:
        """The tables with these characters of each k-mer alone."""
        names, size = self._names(kept)
        return [
            merged_counts(names[t.ids], t.counts, t.starts, t.lengths, size, t.words)
            for t in self.tables
        ]

    def _names(self, kept: tuple[int, ...]) -> tuple[Codes, int]:
        names, size = np.zeros(len(self.characters), np.int32), 1
        left = list(kept)
        while left:
            keys = names.astype(np.int64)
            bound = size
            while left and bound * self.base <= 2**BITS:
                keys = keys * self.base + self.characters[:, left.pop()]
                bound *= self.base
            names, first = names_of(keys)
            size = max(len(first), 1)
        return names, size


def common_neighbours(k: int, m: int, d: int, size: int) -> int:
    """c_d: how many strings of k characters, of an alphabet of this size, differ in at most m
    places from each of two that differ in d.

    Of the d places i agree with the first, j with the second and the others with neither; of the
    rest r agree with none.
    """
    total = 0
    for r in range(min(m, k - d) + 1):
        apart = comb(k - d, r) * (size - 1) ** r
        for i in range(d + 1):
            for j in range(d - i + 1):
                if max(d - i, d - j) + r <= m:
                    neither = max(size - 2, 0) ** (d - i - j)
                    total += apart * comb(d, i) * comb(d - i, j) * neither
    return total


def _check_alphabet(table: CodePoints, alphabet: str) -> None:
    known = np.isin(table.alphabet, [ord(c) for c in alphabet])
    if known.all():
        return
    for row, (start, length) in enumerate(zip(table.starts, table.lengths, strict=True)):
        codes = table.codes[start : start + length]
        strange = np.flatnonzero(~known[codes])
        if len(strange):
            text = "".join(map(chr, table.alphabet[codes]))
            raise ValueError(
                f"row {row}, {reprlib.repr(text)}, holds {text[strange[0]]!r} at position "
                f"{strange[0]}, which is not in the alphabet {alphabet!r} of the kernel: add it to "
                "the alphabet, or leave such rows out"
            )
