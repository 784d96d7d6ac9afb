"""Sorting many scores of two classes: splitters, one scatter, then buckets that fit a cache.

Splitters are scores of a sample: bucket j takes splitter[j-1] ≤ score < splitter[j], so that equal
scores meet in one bucket, and buckets follow each other in order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

_settings: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,  # nothing calls these loops from C: a tenth less to compile
}
# Called by the loops below alone.
_inner: dict[str, Any] = {**_settings, "no_cpython_wrapper": True}
SHORT = 24  # scores that are sorted by insertion
CELL = 4  # scores in a cell of a bucket, on average


@njit(**_settings)
def bucket_of(
    score: NDArray[Any],
    positive: NDArray[Any],
    splitters: NDArray[Any],
    bucket: NDArray[Any],
    counts: NDArray[Any],
) -> None:
    """2·(bucket of each score) + (its class) into `bucket`; how many there are into `counts`.

    The number of splitters is one less than a power of two."""
    steps = 0
    while (1 << steps) <= splitters.size:
        steps += 1
    for i in range(score.size):
        s, at = score[i], np.int64(0)
        for k in range(steps - 1, -1, -1):
            # A shift, where a branch would be guessed wrong half of the time.
            at += np.int64(s >= splitters[at + (1 << k) - 1]) << k
        b = 2 * at + np.int64(positive[i])
        bucket[i] = b
        counts[b] += 1


@njit(**_settings)
def bucket_of_even(
    score: NDArray[Any],
    positive: NDArray[Any],
    low: float,
    scale: float,
    table: NDArray[Any],
    bucket: NDArray[Any],
    counts: NDArray[Any],
) -> None:
    """As `place`, the bucket read from a table of (score - low)·scale: eight times as fast, where
    scores are spread evenly enough for that."""
    last = float(table.size - 1)
    for i in range(score.size):
        b = 2 * table[int(max(0.0, min((score[i] - low) * scale, last)))] + np.int64(positive[i])
        bucket[i] = b
        counts[b] += 1


@njit(**_settings)
def scatter(
    score: NDArray[Any], bucket: NDArray[Any], ends: NDArray[Any], out: NDArray[Any]
) -> None:
    """Every score to the next place of its bucket; `ends` moves along."""
    for i in range(score.size):
        b = bucket[i]
        out[ends[b]] = score[i]
        ends[b] += 1


@njit(**_inner)
def _insertion(v: NDArray[Any], lo: int, hi: int) -> None:
    for i in range(lo + 1, hi):
        x = v[i]
        j = i - 1
        while j >= lo and v[j] > x:
            v[j + 1] = v[j]
            j -= 1
        v[j + 1] = x


@njit(**_inner)
def _merge_sort(v: NDArray[Any], lo: int, hi: int, spare: NDArray[Any]) -> None:
    """v[lo:hi] in ascending order, by merging sorted runs; `spare` has room for as many.

    numpy's own sort would do, but compiling it takes 3 s, and this one 0.2 s.
    """
    for a in range(lo, hi, SHORT):
        _insertion(v, a, min(a + SHORT, hi))
    width = SHORT
    while width < hi - lo:
        for a in range(lo, hi - width, 2 * width):
            middle = a + width
            end = min(middle + width, hi)
            if v[middle - 1] <= v[middle]:
                continue
            for i in range(a, middle):
                spare[i] = v[i]
            i, j, k = a, middle, a
            while i < middle and j < end:
                if v[j] < spare[i]:
                    v[k] = v[j]
                    j += 1
                else:
                    v[k] = spare[i]
                    i += 1
                k += 1
            while i < middle:
                v[k] = spare[i]
                i += 1
                k += 1
        width *= 2


@njit(**_settings)
def sort(v: NDArray[Any], scratch: NDArray[Any], cells: NDArray[Any]) -> None:
    """v in ascending order: cells of equal width first, then each cell by itself.

    A monotone rounding keeps the cells in order; values spread so unevenly that a cell is long, or
    so widely that its width overflows, are sorted by comparison."""
    n = v.size
    if n <= SHORT:
        _merge_sort(v, 0, n, scratch)
        return
    low, high = v[0], v[0]
    for x in v:
        low, high = min(low, x), max(high, x)
    if low == high:
        return
    m = n // CELL
    scale = m / (high - low)
    if not (np.isfinite(scale) and np.isfinite(high - low)) or scale == 0.0:
        _merge_sort(v, 0, n, scratch)
        return
    for j in range(m + 2):
        cells[j] = 0
    for x in v:
        cells[min(int((x - low) * scale), m) + 1] += 1
    for j in range(m + 1):
        cells[j + 1] += cells[j]
    for x in v:
        j = min(int((x - low) * scale), m)
        scratch[cells[j]] = x
        cells[j] += 1
    start = 0
    for j in range(m + 1):
        end = cells[j]
        if end - start > SHORT:
            _merge_sort(scratch, start, end, v)  # all of v is in the cells by now
        elif end - start > 1:
            _insertion(scratch, start, end)
        start = end
    for i in range(n):
        v[i] = scratch[i]


@njit(**_settings)
def merge(
    positive: NDArray[Any],
    negative: NDArray[Any],
    score: NDArray[Any],
    hits: NDArray[Any],
    misses: NDArray[Any],
) -> int:
    """Distinct scores in descending order and how many positives and negatives have each, from two
    ascending runs; the number of distinct scores."""
    i, j, g = positive.size - 1, negative.size - 1, 0
    while i >= 0 or j >= 0:
        s = positive[i] if j < 0 or (i >= 0 and positive[i] >= negative[j]) else negative[j]
        p = n = 0
        while i >= 0 and positive[i] == s:
            i, p = i - 1, p + 1
        while j >= 0 and negative[j] == s:
            j, n = j - 1, n + 1
        score[g], hits[g], misses[g] = s + 0.0, p, n  # -0 and 0 are one score
        g += 1
    return g


@njit(**_settings)
def pairs_in_order(positive: NDArray[Any], negative: NDArray[Any], below: int) -> int:
    """Twice the negatives below each score of a positive, and those equal to it once, summed; from
    two ascending runs and the number of negatives below both."""
    n, less, most, total = negative.size, 0, 0, 0
    for s in positive:
        while less < n and negative[less] < s:
            less += 1
        while most < n and negative[most] <= s:
            most += 1
        total += less + most
    return total + 2 * below * positive.size


@njit(**_settings)
def spans(level: NDArray[Any], first: NDArray[Any], last: NDArray[Any]) -> None:
    """The widest run of gaps around each gap in which none has a higher level: from gap first[i]
    to gap last[i] - 1."""
    n = level.size
    stack = np.empty(n, np.int64)
    depth = 0
    for i in range(n):
        while depth > 0 and level[stack[depth - 1]] < level[i]:
            last[stack[depth - 1]] = i
            depth -= 1
        first[i] = stack[depth - 1] + 1 if depth > 0 else 0
        stack[depth] = i
        depth += 1
    for k in range(depth):
        last[stack[k]] = n


@njit(**_settings)
def upper_hull(x: NDArray[Any], y: NDArray[Any], keep: NDArray[Any]) -> int:
    """Indices of the least concave curve above points sorted by x and then y, into `keep`; how
    many they are."""
    top = 0
    for i in range(x.size):
        while top >= 2:
            a, b = keep[top - 2], keep[top - 1]
            if (x[b] - x[a]) * (y[i] - y[a]) >= (y[b] - y[a]) * (x[i] - x[a]):
                top -= 1
            else:
                break
        keep[top] = i
        top += 1
    return top


@njit(**_settings)
def corners(positive: NDArray[Any], negative: NDArray[Any]) -> int:
    """How many groups stay where one between two equal steps is left out."""
    g = positive.size
    count = min(g, 2)
    for i in range(1, g - 1):
        count += positive[i + 1] != positive[i] or negative[i + 1] != negative[i]
    return count


@njit(**_settings)
def corner_line(
    low: NDArray[Any],
    positive: NDArray[Any],
    negative: NDArray[Any],
    total: tuple[float, float],
    fpr: NDArray[Any],
    tpr: NDArray[Any],
    thresholds: NDArray[Any],
) -> None:
    """The rates at the groups that `corners` counts, after (0, 0) at infinity."""
    fpr[0], tpr[0], thresholds[0] = 0.0, 0.0, np.inf
    tp, fp, k, last = 0.0, 0.0, 1, positive.size - 1
    for i in range(positive.size):
        tp += positive[i]
        fp += negative[i]
        ends = i == 0 or i == last
        if ends or positive[i + 1] != positive[i] or negative[i + 1] != negative[i]:
            fpr[k], tpr[k], thresholds[k] = fp / total[1], tp / total[0], low[i]
            k += 1
