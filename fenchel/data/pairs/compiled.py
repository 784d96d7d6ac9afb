"""Walks over the tree of pairs: targets are halved on the way down, scores merged on the way up.

Rows stand at positions 0 … m - 1, by group and then by target. A node [lo, hi) with lo < mid < hi
has its low targets in [lo, mid) and its high ones in [mid, hi); all pairs between the two meet
there, both sides being sorted by score. A node with mid = lo is a leaf: few rows, paired one by
one, or many of a single target, which make no pair.
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
# Called by the loops below and their like alone.
_inner: dict[str, Any] = {**_settings, "no_cpython_wrapper": True}
LEAF = 64  # rows that are paired one by one
SHORT = 16  # and sorted one by one
ALONE = 256  # rows of a group that are, where others come in spans
SPAN = 128  # rows of a span with several targets


@njit(**_settings)
def nodes(first: NDArray[Any], last: NDArray[Any], starts: NDArray[Any], out: NDArray[Any]) -> int:
    """The nodes (lo, mid, hi, top) of all groups in post-order, into `out`; how many they are.

    first, last: where the run of rows with the target of a position begins and ends. Nodes are cut
    at the end of a run that is nearest to the middle. top: 1 where no node lies above.
    """
    count = 0
    stack = np.empty((256, 4), np.int64)
    for g in range(starts.size - 1):
        stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = starts[g], -1, starts[g + 1], 1
        depth = 1
        while depth > 0:
            lo, mid, hi, top = stack[depth - 1]
            if mid >= 0:  # both halves are done
                out[count, 0], out[count, 1], out[count, 2], out[count, 3] = lo, mid, hi, top
                count += 1
                depth -= 1
                continue
            half = (lo + hi) // 2
            a, b = first[half], last[half]
            mid = a if a > lo and (half - a <= b - half or b >= hi) else b
            if hi - lo <= LEAF or mid >= hi:
                out[count, 0], out[count, 1], out[count, 2], out[count, 3] = lo, lo, hi, top
                count += 1
                depth -= 1
                continue
            stack[depth - 1, 1] = mid
            stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = mid, -1, hi, 0
            stack[depth + 1, 0], stack[depth + 1, 1] = lo, -1
            stack[depth + 1, 2], stack[depth + 1, 3] = mid, 0
            depth += 2
    return count


@njit(**_settings)
def spans_of(
    starts: NDArray[Any], last: NDArray[Any], out: NDArray[Any], owner: NDArray[Any]
) -> int:
    """Consecutive spans of rows (lo, hi) of each group, into `out`: long runs of one target, and
    SPAN or so rows of several; owner: the group. Returns their number."""
    count = 0
    for g in range(starts.size - 1):
        lo, end = starts[g], starts[g + 1]
        at = lo
        while at < end:
            stop = last[at]
            long = stop - at >= SPAN // 2 and end - starts[g] > ALONE
            if long and at > lo:  # what has gathered so far
                out[count, 0], out[count, 1], owner[count] = lo, at, g
                count, lo = count + 1, at
            full = stop - lo >= SPAN and end - starts[g] > ALONE
            if long or full or stop == end:
                out[count, 0], out[count, 1], owner[count] = lo, stop, g
                count, lo = count + 1, stop
            at = stop
    return count


@njit(**_inner)
def merge(
    lo: int,
    mid: int,
    hi: int,
    held: NDArray[Any],
    at: NDArray[Any],
    spare: NDArray[Any],
    places: NDArray[Any],
) -> None:
    """Two sorted halves become one."""
    for k in range(lo, mid):
        spare[0, k], spare[1, k] = held[0, k], held[1, k]
        places[k] = at[k]
    a, b, k = lo, mid, lo
    while a < mid and b < hi:
        if held[0, b] < spare[0, a]:
            held[0, k], held[1, k], at[k] = held[0, b], held[1, b], at[b]
            b += 1
        else:
            held[0, k], held[1, k], at[k] = spare[0, a], spare[1, a], places[a]
            a += 1
        k += 1
    while a < mid:
        held[0, k], held[1, k], at[k] = spare[0, a], spare[1, a], places[a]
        a += 1
        k += 1


@njit(**_inner)
def ordered_and_tied(
    lo: int,
    hi: int,
    z: NDArray[Any],
    s: NDArray[Any],
    held: NDArray[Any],
    at: NDArray[Any],
    spare: NDArray[Any],
    places: NDArray[Any],
) -> None:
    """A leaf sorted by score: held[0] the scores, held[1] the weights, `at` their positions."""
    for begin in range(lo, hi, SHORT):
        for q in range(begin, min(begin + SHORT, hi)):
            key, k = z[q], q
            while k > begin and held[0, k - 1] > key:
                held[0, k] = held[0, k - 1]
                at[k] = at[k - 1]
                k -= 1
            held[0, k] = key
            at[k] = q
    for k in range(lo, hi):
        held[1, k] = s[at[k]]
    size = SHORT
    while size < hi - lo:
        for begin in range(lo, hi - size, 2 * size):
            merge(begin, begin + size, min(begin + 2 * size, hi), held, at, spare, places)
        size *= 2


@njit(**_settings)
def ordered_mass(
    tree: NDArray[Any],
    first: NDArray[Any],
    z: NDArray[Any],
    s: NDArray[Any],
    held: NDArray[Any],
    at: NDArray[Any],
    spare: NDArray[Any],
    places: NDArray[Any],
) -> float:
    """Σ sᵢsⱼ over pairs (i high, j low) with zᵢ > zⱼ, and half of it where zᵢ = zⱼ."""
    total = 0.0
    for k in range(len(tree)):
        lo, mid, hi, top = tree[k, 0], tree[k, 1], tree[k, 2], tree[k, 3]
        if mid == lo:
            for i in range(lo, hi):
                below = 0.0
                for j in range(lo, max(lo, first[i])):
                    below += s[j] * (1.0 if z[j] < z[i] else 0.5 if z[j] == z[i] else 0.0)
                total += s[i] * below
            if not top:
                ordered_and_tied(lo, hi, z, s, held, at, spare, places)
            continue
        below, a, same, b = 0.0, lo, 0.0, lo
        for i in range(mid, hi):
            key = held[0, i]
            while a < mid and held[0, a] < key:
                below += held[1, a]
                a += 1
            if b <= a:
                same, b = 0.0, a
            while b < mid and held[0, b] == key:
                same += held[1, b]
                b += 1
            total += held[1, i] * (below + 0.5 * same)
        if not top:
            merge(lo, mid, hi, held, at, spare, places)
    return total


@njit(**_settings)
def pairs_between(
    tree: NDArray[Any],
    first: NDArray[Any],
    z: NDArray[Any],
    s: NDArray[Any],
    held: NDArray[Any],
    at: NDArray[Any],
    spare: NDArray[Any],
    places: NDArray[Any],
    low: float,
    high: float,
    out: NDArray[Any],
) -> tuple[int, int]:
    """Positions (i, j) of pairs with low ≤ zᵢ - zⱼ < high: every stride-th of them, into `out`.

    The stride doubles whenever `out` is full. Returns how many were kept, and the stride.
    """
    kept, stride, seen = 0, 1, 0
    for k in range(len(tree)):
        lo, mid, hi, top = tree[k, 0], tree[k, 1], tree[k, 2], tree[k, 3]
        if mid == lo:
            for i in range(lo, hi):
                for j in range(lo, max(lo, first[i])):
                    if low <= z[i] - z[j] < high:
                        if seen % stride == 0:
                            if kept == len(out):
                                kept, stride = _thin(out), 2 * stride
                            if seen % stride == 0:
                                out[kept, 0], out[kept, 1] = i, j
                                kept += 1
                        seen += 1
            if not top:
                ordered_and_tied(lo, hi, z, s, held, at, spare, places)
            continue
        inner, outer = mid, mid  # low targets from `outer` on are below high, from `inner` low
        for i in range(hi - 1, mid - 1, -1):
            key = held[0, i]
            while outer > lo and key - held[0, outer - 1] < high:
                outer -= 1
            while inner > outer and key - held[0, inner - 1] < low:
                inner -= 1
            j = outer + (-seen) % stride
            while j < inner:
                if kept == len(out):
                    kept, stride = _thin(out), 2 * stride
                    if (seen + j - outer) % stride != 0:
                        j += stride // 2
                        continue
                out[kept, 0], out[kept, 1] = at[i], at[j]
                kept += 1
                j += stride
            seen += inner - outer
        if not top:
            merge(lo, mid, hi, held, at, spare, places)
    return kept, stride


@njit(**_inner)
def _thin(out: NDArray[Any]) -> int:
    """Every second entry, moved to the front."""
    half = (len(out) + 1) // 2
    for k in range(half):
        out[k, 0], out[k, 1] = out[2 * k, 0], out[2 * k, 1]
    return half
