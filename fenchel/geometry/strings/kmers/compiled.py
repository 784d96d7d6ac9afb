"""k-mers named without collisions, counted for each row, and counts multiplied, in compiled loops.

Each loop runs on the thread that calls it and holds no interpreter lock; its time is linear in the
characters, or in the pairs of equal names.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Codes = NDArray[np.int32]
Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]
_settings: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴ over the golden ratio, for multiplicative hashing


@njit(**_settings)
def window_keys(codes: Codes, width: int, base: int, keys: Numbers) -> None:
    """keys[p] = the characters p … p + width - 1 as the digits of a number in this base."""
    top = 1
    for _ in range(width - 1):
        top *= base
    key = 0
    for p in range(codes.size):
        if p >= width:
            key -= codes[p - width] * top
        key = key * base + codes[p]
        if p >= width - 1:
            keys[p - width + 1] = key


@njit(**_settings)
def slot_of(key: int, bits: int, known: Numbers, taken: Codes) -> Any:
    """The place of a key in an open table of 2^bits entries, or where it would go."""
    mixed = np.uint64(key)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * GOLDEN
    slot = np.int64(mixed >> np.uint64(64 - bits))
    while taken[slot] != 0 and known[slot] != key:
        slot = (slot + 1) & (taken.size - 1)
    return slot


@njit(**_settings)
def numbered(keys: Numbers, names: Codes, first: Numbers) -> int:
    """names[p] = the number of keys[p] among the distinct keys, in the order they appear in; first:
    where each appears first. Returns how many there are. Keys are compared in full, so that no two
    share a number; the expected time is linear."""
    bits, count = np.int64(10), 0  # a literal would make a twin of `slot_of`
    known, taken = np.zeros(1 << bits, np.int64), np.zeros(1 << bits, np.int32)
    for p in range(keys.size):
        slot = slot_of(keys[p], bits, known, taken)
        if taken[slot] == 0:
            if 2 * count >= taken.size:
                bits += 2
                known, taken = np.zeros(1 << bits, np.int64), np.zeros(1 << bits, np.int32)
                for i in range(count):
                    again = slot_of(keys[first[i]], bits, known, taken)
                    known[again], taken[again] = keys[first[i]], i + 1
                slot = slot_of(keys[p], bits, known, taken)
            first[count] = p
            count += 1
            known[slot], taken[slot] = keys[p], count
        names[p] = taken[slot] - 1
    return count


@njit(**_settings)
def merged(
    names: Codes,
    weights: Floats,
    starts: Numbers,
    lengths: Numbers,
    place: Numbers,
    ids: Codes,
    counts: Floats,
    sizes: Numbers,
) -> int:
    """The distinct names of each row, in the order they appear in, with the sums of their weights.

    place: a zero for each name. Row i fills `sizes[i]` entries of ids and counts, one row after the
    other; returns how many are filled.
    """
    filled = 0
    for i in range(starts.size):
        begin = filled
        for q in range(starts[i], starts[i] + lengths[i]):
            name = names[q]
            if place[name] == 0:
                ids[filled], counts[filled] = name, 0.0
                filled += 1
                place[name] = filled
            counts[place[name] - 1] += weights[q]
        for q in range(begin, filled):
            place[ids[q]] = 0
        sizes[i] = filled - begin
    return filled


@njit(**_settings)
def shared_counts(
    ids_a: Codes,
    counts_a: Floats,
    starts_a: Numbers,
    lengths_a: Numbers,
    ids_b: Codes,
    counts_b: Floats,
    starts_b: Numbers,
    lengths_b: Numbers,
    names: int,
    out: Floats,
) -> None:
    """out[i, j] += Σ counts of row i times counts of row j, over the names that both have: for each
    name the rows of B that have it are listed once."""
    ends = np.zeros(names + 1, np.int64)
    for j in range(starts_b.size):
        for q in range(starts_b[j], starts_b[j] + lengths_b[j]):
            ends[ids_b[q] + 1] += 1
    for name in range(names):
        ends[name + 1] += ends[name]
    listed, weights = np.empty(ends[names], np.int32), np.empty(ends[names])
    for j in range(starts_b.size):
        for q in range(starts_b[j], starts_b[j] + lengths_b[j]):
            at = ends[ids_b[q]]
            listed[at], weights[at] = j, counts_b[q]
            ends[ids_b[q]] = at + 1
    for i in range(starts_a.size):
        own = out[i]
        for q in range(starts_a[i], starts_a[i] + lengths_a[i]):
            name, count = ids_a[q], counts_a[q]
            begin = ends[name - 1] if name > 0 else 0  # each end has moved on to the next
            for at in range(begin, ends[name]):
                own[listed[at]] += count * weights[at]
