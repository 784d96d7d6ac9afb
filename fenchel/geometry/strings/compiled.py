"""Strings compared in compiled loops: gap-weighted subsequences and edit distances.

Each loop takes some rows, runs on the thread that calls it and holds no interpreter lock. Strings
are rows of codes, as `code_points` has them; values do not depend on which rows a call takes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

Codes = NDArray[np.int32]
Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]
_settings: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}

# Pairs of strings compared side by side: a vector of AVX-512, or two of AVX2. (200 characters,
# k = 4, microseconds a pair on Zen 5: 31 for 4, 17 for 8, 15 for 16, 17 for 32 lanes.)
LANES = 8
BYTES = 8 * LANES
# Columns of a strip: k levels of it, 128 kB for k = 8, stay in a core's second cache.
STRIP = 256
# Terms added in plain sums before they join a compensated one: of strings with long runs of one
# character many terms are equal, and rounding then adds up (3,000 x's: 8e-14 in place of 2e-15).
SUMMED = 16
# Sums of gap weights below it are zero, so that none becomes denormal, where products are slow; of
# a string with itself the sum is at least 1.
NONE = 1e-290
WORD = 64
# A number of the wide range is x B^e with 1/√B ≤ x < √B, B = 2⁵¹².
BASE, ROOT = 2.0**512, 2.0**256


def _row_code(stored: bool) -> Any:
    """One row of the table of a level for LANES pairs at once, in vectors, which numba has none of.

    For l = 0 … m-1, of the vectors below[l], text[l] and the row's own characters:
        eₗ = below[l] where text[l] is the row's character, else 0
        rₗ = decay rₗ₋₁ + eₗ,  level[l] = decay level[l] + rₗ      (stored)
        rₗ = rₗ₋₁ + eₗ                                             (else)
    r begins as what `run` holds, and its last value is left there.
    """
    wide = ir.VectorType(ir.DoubleType(), LANES)
    zero = ir.Constant(wide, [0.0] * LANES)
    contracts = ("contract",)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        m, decay, row, text, below, level, run = args

        def at(address: Any, column: Any = None) -> Any:
            place = builder.inttoptr(address, wide.as_pointer())
            return place if column is None else builder.gep(place, [column])

        def load(place: Any) -> Any:
            return builder.load(place, align=8)

        lane = ir.IntType(32)
        factor = builder.insert_element(zero, decay, lane(0))
        factor = builder.shuffle_vector(
            factor, factor, ir.Constant(ir.VectorType(lane, LANES), [0] * LANES)
        )
        own = load(at(row))
        held = cgutils.alloca_once(builder, wide)
        builder.store(load(at(run)), held)
        with cgutils.for_range(builder, m) as loop:
            same = builder.fcmp_ordered("==", own, load(at(text, loop.index)))
            value = builder.select(same, load(at(below, loop.index)), zero)
            r = builder.load(held)
            if not stored:
                r = builder.fadd(r, value)
            else:
                r = builder.fadd(builder.fmul(factor, r, flags=contracts), value, flags=contracts)
                place = at(level, loop.index)
                new = builder.fmul(factor, load(place), flags=contracts)
                new = builder.fadd(new, r, flags=contracts)
                some = builder.fcmp_ordered(">", new, ir.Constant(wide, [NONE] * LANES))
                builder.store(builder.select(some, new, zero), place, align=8)
            builder.store(r, held)
        builder.store(builder.load(held), at(run), align=8)
        return context.get_dummy_value()

    return types.void(types.int64, types.float64, *[types.int64] * 5), code


def _advance_code(
    typing_context: Any, m: Any, decay: Any, row: Any, text: Any, below: Any, level: Any, run: Any
) -> Any:
    return _row_code(stored=True)


def _matched_code(
    typing_context: Any, m: Any, decay: Any, row: Any, text: Any, below: Any, level: Any, run: Any
) -> Any:
    return _row_code(stored=False)


advance: Any = intrinsic(_advance_code)
matched: Any = intrinsic(_matched_code)


@njit(**_settings)
def first_is_row(codes_a: Codes, a: int, n: int, codes_b: Codes, b: int, m: int) -> bool:
    """Whether the first of two strings runs along the rows of their table: the shorter does, of
    equal length the first in the order of the alphabet, so that a value is the same to the bit
    whichever is named first."""
    if n != m:
        return n < m
    for p in range(n):
        if codes_a[a + p] != codes_b[b + p]:
            return bool(codes_a[a + p] < codes_b[b + p])
    return True


@njit(**_settings)
def lay(codes: Codes, start: int, length: int, lane: int, out: Floats) -> None:
    """A string in one lane of a batch."""
    for p in range(length):
        out[p * LANES + lane] = codes[start + p]


@njit(**_settings)
def gap_weighted(
    codes_a: Codes,
    starts_a: Numbers,
    lengths_a: Numbers,
    codes_b: Codes,
    starts_b: Numbers,
    lengths_b: Numbers,
    left: Numbers,
    right: Numbers,
    k: int,
    decay: float,
    out: Floats,
) -> None:
    """out[p] = Σ decay^gaps over common subsequences of k characters of rows left[p] and right[p].

    Pairs are taken LANES at a time, in their order; a table of one batch is walked in strips of
    columns, and what a strip hands to the next is kept for each row. The sum is Kahan's.
    """
    most_rows, most_columns = 0, 0
    for p in range(left.size):
        n, m = lengths_a[left[p]], lengths_b[right[p]]
        most_rows, most_columns = max(most_rows, min(n, m)), max(most_columns, max(n, m))
    each = 1 if most_columns > STRIP else 0  # with one strip nothing is handed on
    edge = (most_rows * each + 1) * LANES
    rows, columns = np.empty(most_rows * LANES + 1), np.empty(most_columns * LANES + 1)
    wide = (STRIP + 1) * LANES
    levels = np.empty(k * wide)
    runs, before, after = np.zeros(k * edge), np.zeros(k * edge), np.zeros(k * edge)
    run, total, lost = np.empty(LANES), np.empty(LANES), np.empty(LANES)
    rows_at, columns_at, levels_at = rows.ctypes.data, columns.ctypes.data, levels.ctypes.data
    runs_at, run_at = runs.ctypes.data, run.ctypes.data
    for q in range(wide):
        levels[q] = 1.0
    for lo in range(0, left.size, LANES):
        hi = min(lo + LANES, left.size)
        n_rows, n_columns = 0, 0
        for p in range(lo, hi):
            n, m = lengths_a[left[p]], lengths_b[right[p]]
            n_rows, n_columns = max(n_rows, min(n, m)), max(n_columns, max(n, m))
        for q in range(n_rows * LANES):
            rows[q] = -1.0  # beyond a string's end no characters are equal
        for q in range(n_columns * LANES):
            columns[q] = -2.0
        for p in range(lo, hi):
            a, n = starts_a[left[p]], lengths_a[left[p]]
            b, m = starts_b[right[p]], lengths_b[right[p]]
            if first_is_row(codes_a, a, n, codes_b, b, m):
                lay(codes_a, a, n, p - lo, rows)
                lay(codes_b, b, m, p - lo, columns)
            else:
                lay(codes_b, b, m, p - lo, rows)
                lay(codes_a, a, n, p - lo, columns)
        for r in range(LANES):
            total[r], lost[r] = 0.0, 0.0
        for q in range(k * edge):
            runs[q], before[q], after[q] = 0.0, 0.0, 0.0
        for strip in range(0, n_columns, STRIP):
            width = min(STRIP, n_columns - strip)
            text = columns_at + strip * BYTES
            for q in range(wide, k * wide):
                levels[q] = 0.0
            for i in range(n_rows):
                row, here = rows_at + i * BYTES, i * each * LANES
                if each == 1:
                    for level in range(1, k):
                        for r in range(LANES):
                            levels[level * wide + r] = before[level * edge + here + r]
                top = levels_at + (k - 1) * wide * 8
                for part in range(0, width, SUMMED):
                    for r in range(LANES):
                        run[r] = 0.0
                    some, shift = min(SUMMED, width - part), part * BYTES
                    matched(some, decay, row, text + shift, top + shift, 0, run_at)
                    for r in range(LANES):
                        if run[r] > 0.0:  # else what a batch is filled up with would move a bit
                            value = run[r] - lost[r]
                            new = total[r] + value
                            lost[r] = (new - total[r]) - value
                            total[r] = new
                for level in range(k - 1, 0, -1):
                    at = level * edge + here
                    if each == 0:
                        for r in range(LANES):
                            runs[at + r] = 0.0
                    below = levels_at + (level - 1) * wide * 8
                    own = below + wide * 8 + BYTES
                    advance(width, decay, row, text, below, own, runs_at + at * 8)
                    if each == 1:
                        last = level * wide + width * LANES
                        for r in range(LANES):
                            after[at + LANES + r] = levels[last + r]
            before, after = after, before
        for p in range(lo, hi):
            out[p] = total[p - lo]


@njit(**_settings)
def wide_sum(x: float, e: int, y: float, f: int) -> Any:
    """x B^e + y B^f, neither negative."""
    if y == 0.0:
        return x, e
    if x == 0.0 or f > e + 1:
        return y, f
    if f == e:
        x += y
    elif e == f + 1:
        x += y / BASE
    elif f == e + 1:
        x, e = y + x / BASE, f
    if x >= ROOT:
        x, e = x / BASE, e + 1
    return x, e


@njit(**_settings)
def wide_decayed(x: float, e: int, decay: float) -> Any:
    """decay x B^e."""
    x *= decay
    if 0.0 < x < 1.0 / ROOT:
        x, e = x * BASE, e - 1
    return x, e


@njit(**_settings)
def gap_weighted_wide(
    s: Codes, t: Codes, k: int, decay: float, levels: Floats, exponents: Numbers
) -> Any:
    """The sum of `gap_weighted` for one pair as (x, e), x B^e, where float64 may not hold it.

    levels and exponents: (k, len(t) + 1), the first level ones, the others zeros.
    """
    total, scale = 0.0, 0
    for i in range(s.size):
        for level in range(k, 0, -1):
            x, e = 0.0, 0
            for j in range(t.size):
                if level < k:
                    x, e = wide_decayed(x, e, decay)
                if s[i] == t[j]:
                    x, e = wide_sum(x, e, levels[level - 1, j], exponents[level - 1, j])
                if level < k:
                    y, f = wide_decayed(levels[level, j + 1], exponents[level, j + 1], decay)
                    levels[level, j + 1], exponents[level, j + 1] = wide_sum(y, f, x, e)
            if level == k:
                total, scale = wide_sum(total, scale, x, e)
    return total, scale


@njit(**_settings)
def edit_distance(
    pattern: Codes, text: Codes, masks: NDArray[np.uint64], up: NDArray[np.uint8], down: Any
) -> Any:
    """Insertions, deletions and substitutions from one string to the other, 64 rows of the table
    at a time as the bits of a word.

    masks: a zero for each character; up, down: as many entries as the text has, for the steps of
    +1 and -1 along the last row of the words before.
    """
    one, zero = np.uint64(1), np.uint64(0)
    n, m = pattern.size, text.size
    if n == 0:
        return m
    for j in range(m):
        up[j], down[j] = 1, 0
    for lo in range(0, n, WORD):
        hi = min(lo + WORD, n)
        for p in range(lo, hi):
            masks[pattern[p]] |= one << np.uint64(p - lo)
        last = np.uint64(hi - lo - 1)
        rises, falls = ~zero, zero  # vertical steps of +1 and -1
        for j in range(m):
            same = masks[text[j]]
            above, below = np.uint64(up[j]), np.uint64(down[j])
            still = same | falls
            same |= below
            x = (((same & rises) + rises) ^ rises) | same
            plus, minus = falls | ~(x | rises), rises & x
            up[j], down[j] = (plus >> last) & one, (minus >> last) & one
            plus, minus = (plus << one) | above, (minus << one) | below
            rises, falls = minus | ~(still | plus), plus & still
        for p in range(lo, hi):
            masks[pattern[p]] = zero
    distance = np.int64(n)
    for j in range(m):
        distance += np.int64(up[j]) - np.int64(down[j])
    return distance


@njit(**_settings)
def edit_distances(
    codes_a: Codes,
    starts_a: Numbers,
    lengths_a: Numbers,
    codes_b: Codes,
    starts_b: Numbers,
    lengths_b: Numbers,
    characters: int,
    out: Floats,
) -> None:
    """out[i, j] = the edit distance of row i and row j."""
    longest = 0
    for j in range(starts_b.size):
        longest = max(longest, lengths_b[j])
    masks = np.zeros(characters, np.uint64)
    up, down = np.empty(longest, np.uint8), np.empty(longest, np.uint8)
    for i in range(starts_a.size):
        pattern = codes_a[starts_a[i] : starts_a[i] + lengths_a[i]]
        for j in range(starts_b.size):
            text = codes_b[starts_b[j] : starts_b[j] + lengths_b[j]]
            out[i, j] = edit_distance(pattern, text, masks, up, down)
