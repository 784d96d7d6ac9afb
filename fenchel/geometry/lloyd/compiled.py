"""Nearest centres of rows whose centres move, by bounds and products, in compiled loops.

Each loop takes some rows, runs on the thread that calls it and holds no interpreter lock. All
bounds are of distances times `scale`, in float32: upper ones are rounded up and lower ones down.
Their proof is in `hamerly`, that of the products in `fenchel.geometry.distance`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from fenchel.geometry.compiled import squared_distance, two_lowest
from fenchel.geometry.distance import LANES

Rows = NDArray[Any]  # float32 or float64
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Labels = NDArray[np.int32]
_settings: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}
UP, DOWN = 1.0 + 2.0**-22, 1.0 - 2.0**-22  # rounding to float32 is off by 2⁻²⁴ at most
LEAST = 1e-36  # below it float32 is denormal, and a bound is no longer off by a relative error


class Centres(NamedTuple):
    """Centres prepared for the loops.

    rows: themselves; doubled: -2 scale (c - middle) in the type of the products; norms:
    (1-δ)‖scale (c - middle)‖²; slack: δ; apart: 2.5 δ max ‖scale (c - middle)‖² and what underflow
    may add: beyond 2.5 δ‖scale (x - middle)‖² + apart a bound is certain to be the lower one.
    guard: what an upper bound is multiplied with, so that rounded distances compare as it does.
    """

    rows: Rows
    middle: Rows
    scale: float
    doubled: Rows
    norms: Rows
    slack: float
    apart: float
    eps: float
    tiny: float
    guard: float


class Moves(NamedTuple):
    """How far each centre moved at most, how far any other did, and half the distance from each to
    the nearest other at least: all times scale."""

    own: Floats
    other: Floats
    half: Floats


@njit(**_settings)
def raised(value: float) -> Any:
    return np.float32(value * UP + LEAST)


@njit(**_settings)
def lowered(value: float) -> Any:
    return np.float32(value * DOWN) if value > 2.0 * LEAST else np.float32(0.0)


@njit(**_settings)
def shifted_squares(X: Rows, middle: Rows, lo: int, hi: int, out: Floats) -> None:
    """‖xᵢ - middle‖² in float64."""
    lanes = np.empty(LANES, np.float64)
    for i in range(lo, hi):
        out[i] = squared_distance(X[i], middle, lanes)


@njit(**_settings)
def own_squares(X: Rows, C: Rows, labels: Labels, lo: int, hi: int, out: Floats) -> None:
    """d²(xᵢ, c(labelᵢ)), or the smaller of that and what is known, where out holds it."""
    lanes = np.empty(LANES, np.float64)
    for i in range(lo, hi):
        out[i] = min(out[i], squared_distance(X[i], C[labels[i]], lanes))


@njit(**_settings)
def unsettled(
    X: Rows,
    centres: Centres,
    moves: Moves,
    labels: Labels,
    upper: NDArray[np.float32],
    lower: NDArray[np.float32],
    lo: int,
    hi: int,
    found: Integers,
    tighten: bool,
) -> tuple[int, int]:
    """Bring the bounds of rows lo to hi - 1 up to date; the rows whose nearest centre they do not
    tell go to `found`. tighten: whether the distance to the own centre is made first. Returns how
    many rows went there, and of how many the bounds did not tell before that."""
    C, guard, scale = centres.rows, centres.guard, centres.scale
    lanes = np.empty(LANES, np.float64)
    count, looked = 0, 0
    for i in range(lo, hi):
        a = labels[i]
        u = raised(np.float64(upper[i]) + moves.own[a])
        low = lowered(np.float64(lower[i]) - moves.other[a])
        limit = max(np.float64(low), moves.half[a])
        if np.float64(u) * guard >= limit:
            looked += 1
            if tighten:
                u = raised(np.sqrt(squared_distance(X[i], C[a], lanes)) * scale * guard)
            if np.float64(u) * guard >= limit:
                found[count] = i
                count += 1
        upper[i] = u
        lower[i] = low
    return count, looked


@njit(**_settings)
def search(
    X: Rows,
    squares: Floats,
    centres: Centres,
    rows: Integers,
    tile: int,
    labels: Labels,
    upper: NDArray[np.float32],
    lower: NDArray[np.float32],
    changed: Integers,
    before: Labels,
    each: NDArray[np.float32],
) -> tuple[int, int]:
    """The nearest centre of some rows, ties to the lower number, and fresh bounds of theirs; each:
    of their distances to all centres, where it has columns.

    Rows whose centre is another than before go to `changed`, the old one to `before`. Returns how
    many those were, and how many distances had to be made because products could not decide.
    """
    C, middle, scale, doubled = centres.rows, centres.middle, centres.scale, centres.doubled
    norms, slack = centres.norms, centres.slack
    work = doubled.dtype.type
    k, d = C.shape
    # Differences are made in the wider of the two types, and stored in that of the products.
    zero, factor = work(0.0), X.dtype.type(scale)
    Z_buffer = np.empty(tile * d, doubled.dtype)
    G_buffer = np.empty(tile * k, doubled.dtype)
    low_buffer, next_buffer = np.empty(tile, doubled.dtype), np.empty(tile, doubled.dtype)
    at_buffer = np.empty(tile, doubled.dtype)  # whole numbers below 2²⁴, in the lanes of a bound
    lanes = np.empty(LANES, np.float64)
    count, exact = 0, 0
    for start in range(0, rows.size, tile):
        part = rows[start : start + tile]
        m = part.size
        Z = Z_buffer[: m * d].reshape(m, d)
        for p in range(m):
            x, z = X[part[p]], Z[p]
            for j in range(d):
                z[j] = work(((x[j] + zero) - middle[j]) * factor)
        G = G_buffer[: k * m].reshape(k, m)
        np.dot(doubled, Z.T, G)
        low, after, at = low_buffer[:m], next_buffer[:m], at_buffer[:m]
        low[:], after[:], at[:] = np.inf, np.inf, 0.0
        for j in range(k):
            two_lowest(G[j], norms[j], work(j), low, after, at)
        if each.shape[1]:
            for p in range(m):
                i = part[p]
                base = squares[i] * (1.0 - slack) - centres.tiny
                for j in range(k):
                    bound = np.float64(G[j, p] + norms[j])
                    bound -= centres.eps * abs(bound)
                    each[i, j] = lowered(np.sqrt(max(bound + base, 0.0)))
        for p in range(m):
            i = part[p]
            base = squares[i] * (1.0 - slack) - centres.tiny
            wide = 2.5 * slack * squares[i] + centres.apart
            first = np.int64(at[p])
            second = np.float64(after[p])
            upper_square = np.float64(low[p]) + base + wide
            if not second > np.float64(low[p]) + wide + centres.eps * abs(second):
                x = X[i]
                square = squared_distance(x, C[first], lanes)
                exact += 1
                t = square * scale * scale - base
                top = t + abs(t) * centres.eps + centres.tiny
                nearest = np.int64(first)
                for j in range(k):
                    if j != first and np.float64(G[j, p] + norms[j]) <= top:
                        other = squared_distance(x, C[j], lanes)
                        exact += 1
                        if other < square or (other == square and j < nearest):
                            square, nearest = other, np.int64(j)
                            t = square * scale * scale - base
                            top = t + abs(t) * centres.eps + centres.tiny
                if nearest != first:
                    second = np.float64(low[p])
                first = nearest
                upper_square = square * scale * scale * centres.guard
            upper[i] = raised(np.sqrt(max(upper_square, 0.0)))
            # The stored sum of product and norm is off by eps.
            second -= centres.eps * abs(second)
            lower[i] = lowered(np.sqrt(max(second + base, 0.0)))
            a = labels[i]
            if a != first:
                changed[count] = i
                before[count] = a
                count += 1
                labels[i] = first
    return count, exact


@njit(**_settings)
def nearest_of_range(
    X: Rows,
    squares: Floats,
    centres: Centres,
    moves: Moves,
    fresh: bool,
    tighten: bool,
    tile: int,
    labels: Labels,
    upper: NDArray[np.float32],
    lower: NDArray[np.float32],
    found: Integers,
    changed: Integers,
    before: Labels,
    each: NDArray[np.float32],
    lo: int,
    hi: int,
) -> tuple[int, int, int, int]:
    """`search` of those rows from lo to hi - 1 that `unsettled` leaves, or of all; in one call, as
    threads wait for the interpreter at each. Returns how many changed their centre, were searched,
    distances were made, and rows were looked at."""
    own = found[lo:hi]
    if fresh:
        count = looked = hi - lo
        for i in range(lo, hi):
            own[i - lo] = i
    else:
        count, looked = unsettled(X, centres, moves, labels, upper, lower, lo, hi, own, tighten)
    if count == 0:
        return 0, 0, 0, looked
    moved, exact = search(
        X, squares, centres, own[:count], tile, labels, upper, lower,
        changed[lo:hi], before[lo:hi], each,
    )  # fmt: skip
    return moved, count, exact, looked


@njit(**_settings)
def move_rows(
    X: Rows,
    weight: Floats,
    middle: Rows,
    rows: Integers,
    before: Labels,
    labels: Labels,
    first: int,
    last: int,
    sums: Floats,
    mass: Floats,
    counts: Integers,
) -> None:
    """Take some rows out of the sums of their old centres and into those of their new ones, as far
    as these are centres first to last - 1. An empty weight stands for ones.

    sums Σ sᵢ (xᵢ - middle), mass Σ sᵢ, counts: the rows with sᵢ > 0. In the order of the rows, so
    that the bits do not depend on how centres are shared between threads.
    """
    d = middle.size
    for p in range(rows.size):
        i = rows[p]
        a, b = before[p], labels[i]
        gives, takes = first <= a < last, first <= b < last
        if not gives and not takes:
            continue
        s = weight[i] if weight.size else 1.0
        if s == 0.0:
            continue
        x = X[i]
        if takes:
            total = sums[b]
            for j in range(d):
                total[j] += s * (np.float64(x[j]) - np.float64(middle[j]))
            mass[b] += s
            counts[b] += 1
        if gives:
            total = sums[a]
            for j in range(d):
                total[j] -= s * (np.float64(x[j]) - np.float64(middle[j]))
            mass[a] -= s
            counts[a] -= 1


@njit(**_settings)
def tile_squares(columns: Rows, c: Rows, out: Rows) -> None:
    """Squared distances of the rows of a tile, columns (d, m), to a point, in their precision."""
    d, m = c.size, out.size
    out[:] = 0.0
    four = d - d % 4
    for q in range(0, four, 4):  # four at a time read and write the sums a quarter as often
        c0, c1, c2, c3 = c[q], c[q + 1], c[q + 2], c[q + 3]
        x0, x1 = columns[q][:m], columns[q + 1][:m]
        x2, x3 = columns[q + 2][:m], columns[q + 3][:m]
        for i in range(m):
            e0, e1, e2, e3 = x0[i] - c0, x1[i] - c1, x2[i] - c2, x3[i] - c3
            out[i] += (e0 * e0 + e1 * e1) + (e2 * e2 + e3 * e3)
    for q in range(four, d):
        x = columns[q][:m]
        for i in range(m):
            e = x[i] - c[q]
            out[i] += e * e


# Sums of a tile may be taken in any order: in vectors, then.
@njit(**_settings, fastmath={"reassoc", "nnan", "nsz"})
def gain_of(known: Rows, new: Rows) -> Any:
    """Σ max(0, known - new)."""
    total = known[0] * 0
    for i in range(known.size):
        gain = known[i] - new[i]
        total += gain if gain > 0 else 0 * gain
    return total


@njit(**_settings)
def lower_squares(
    columns: Rows, c: Rows, weight: Rows, first: int, last: int, squares: Rows, sums: Floats
) -> None:
    """Take a new centre into the squares of tiles first to last - 1, and their Σ s D into sums."""
    new = np.empty(squares.shape[1], squares.dtype)
    for t in range(first, last):
        tile_squares(columns[t], c, new)
        known, total = squares[t], 0.0
        for i in range(new.size):
            known[i] = new[i] if new[i] < known[i] else known[i]
        if weight.size:
            s = weight[t]
            for i in range(new.size):
                total += np.float64(known[i]) * np.float64(s[i])
        else:
            for i in range(new.size):
                total += np.float64(known[i])
        sums[t] = total


@njit(**_settings)
def gains_of(
    columns: Rows, C: Rows, weight: Rows, squares: Rows, first: int, last: int, out: Floats
) -> None:
    """out[t, j] = Σ s max(0, D - d²(x, C[j])) over tile t, for tiles first to last - 1."""
    new = np.empty(squares.shape[1], squares.dtype)
    for t in range(first, last):
        known = squares[t]
        for j in range(C.shape[0]):
            tile_squares(columns[t], C[j], new)
            if weight.size:
                s, total = weight[t], 0.0
                for i in range(new.size):
                    total += np.float64(s[i]) * np.float64(max(known[i] - new[i], 0.0))
                out[t, j] = total
            else:
                out[t, j] = gain_of(known, new)
