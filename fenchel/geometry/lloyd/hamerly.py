"""Exact nearest centres of rows in memory while the centres move: Hamerly's two bounds a row.

A row keeps u ≥ d(x, c(a)) of its centre a and l ≤ d(x, c(j)) of every other. After the centres move
by p(j), u + p(a) and l - max p(j), j ≠ a, are such bounds again. While

    u (1 + 4γ) < max(l, s(a)),   s(a) = minⱼ d(c(a), c(j)) / 2,   γ = (d/16 + 20) 2⁻⁵³

the row's nearest centre is still a, also among distances as they are rounded, whose squares are off
by a factor 1 ± γ: d(x, c(j)) ≥ 2 s(a) - u. The other rows are gathered, and a product of each tile
of them with all centres finds the nearest one and new bounds, as `fenchel.geometry.distance` shows;
what the product leaves open is decided by the distances themselves. So labels are always those of a
search among all float64 distances, ties to the lower number.

Of two centres the nearer one is told by the side of the plane between them: `bisector.plane`.

Cost of a step: O(n + k² d) and O(k d) for each row that is searched.

Reference: Hamerly, Making k-means even faster, SDM (2010).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.data.parallel import one_blas_thread, parallel_map, thread_count
from fenchel.geometry.distance import (
    LANES,
    bound_factor,
    squared_distances,
    unit_roundoff,
)
from fenchel.geometry.lloyd.bisector.compiled import doubtful, lengths, nearer_of_two
from fenchel.geometry.lloyd.bisector.plane import BisectingPlane
from fenchel.geometry.lloyd.compiled import (
    Centres,
    Moves,
    move_rows,
    nearest_of_range,
    own_squares,
    shifted_squares,
)
from fenchel.geometry.lloyd.elkan.bounds import EachBound
from fenchel.geometry.lloyd.elkan.compiled import nearest_by_bounds

Floats = NDArray[np.float64]
GRID = 256  # ranges of rows begin at multiples of it
# Products of a tile and all centres: half a megabyte in float32, what a core's second cache holds.
TILE = 2**17
# Centres beyond which the k² d of the distances between them cost more than they save: it is that
# of searching so many rows.
PAIRS = 0.25
# Beyond this share of undecided pairs products in float64 are worth their time (`tiles.DEAR`).
OPEN = 1.0 / 32.0
# Steps from one trial of a distance to the own centre to the next, where it costs more than the
# searches it saves. (Nanoseconds of one core; of 784 columns and 50 centres 560 against 1,700: one
# row in five was settled by it.)
REST = 9
FAR = 1e15  # times the size of the rows: products with centres beyond it are made in float64


class CentreSums(NamedTuple):
    """Σ sᵢ (xᵢ - middle) over the rows of each centre, Σ sᵢ, and the number of rows with sᵢ > 0."""

    sums: Floats
    mass: Floats
    counts: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Reassignment:
    """What an assignment did: rows with another centre than before, and rows searched."""

    changed: int
    searched: int


class BoundedRows:
    """Rows of a table in memory and their nearest centres, followed from one set of centres to the
    next.

    What it holds besides the rows makes the next answer faster, and changes none.

    Parameters
    ----------
    X : array (n, d) in C order, float32 or float64, finite, entries below 1e100
    weight : array (n,) or None
    middle : array (d,)
        Near the mean of the rows; of X's precision, so that differences from it round once.

    Attributes
    ----------
    labels : array (n,) of int32
        The nearest centre of each row, after `assign`; written to by the next one.
    """

    def __init__(self, X: NDArray[Any], weight: Floats | None, middle: Floats) -> None:
        self.X = X.view()
        self.X.flags.writeable = False  # one type for the loops, whatever was given
        n, d = X.shape
        self.weight = np.zeros(0) if weight is None else np.asarray(weight, np.float64)
        self.middle = np.asarray(middle, X.dtype)
        self.dtype = np.dtype(np.float32 if d * unit_roundoff(np.float32) <= 0.01 else np.float64)
        self.labels = np.full(n, -1, np.int32)
        self.squares = np.empty(n)
        self._upper, self._lower = np.empty(n, np.float32), np.empty(n, np.float32)
        self._found, self._changed = np.empty(n, np.int64), np.empty(n, np.int64)
        self._before = np.empty(n, np.int32)
        self._centres: NDArray[Any] | None = None
        self._sums: CentreSums | None = None
        self._exact_sums = False
        self._plane: BisectingPlane | None = None
        self._each: EachBound | None = None
        self._resting = 0  # steps until distances to the own centre are tried again
        self._in_ranges(lambda lo, hi: shifted_squares(self.X, self.middle, lo, hi, self.squares))
        self._total = float(
            (self.squares @ self.weight) if weight is not None else self.squares.sum()
        )
        extent = math.sqrt(float(self.squares.max()))
        self.scale = 2.0 ** -math.ceil(math.log2(extent)) if extent > 0.0 else 1.0
        self.squares *= self.scale * self.scale

    def total(self) -> float:
        """Σ sᵢ ‖xᵢ - middle‖²."""
        return self._total

    def forget(self) -> None:
        """Begin anew: the next centres have nothing to do with the last."""
        self._centres = None

    def assign(self, C: NDArray[Any]) -> Reassignment:
        """The nearest of the centres C (k, d), of X's type, to each row."""
        C = np.ascontiguousarray(C, dtype=self.X.dtype).copy()
        C.flags.writeable = False
        old = self._centres
        follows = old is not None and old.shape == C.shape
        if not follows:
            self.labels[:] = -1
            self._sums = None
            self._plane = None
        self._centres = C
        if len(C) == 1:
            changed = int((self.labels != 0).sum())
            self.labels[:] = 0
            if self._sums is None:
                self._add_all(1)
            return Reassignment(changed, 0)
        if len(C) == 2:
            return self._split(C)
        centres, moves, between = self._prepared(C), None, None
        if self._each is not None and not self._each.reaches(centres):
            follows = False
        if follows and old is not None:
            between = self._between(C)
            moves = self._moves(old, C, between)
        if moves is None:
            self._each = EachBound.suited(self.X, centres, PAIRS)
        elif self._each is not None and between is not None:
            return self._compare(centres, moves, self._each, between)
        return self._search(centres, moves)

    def _search(self, centres: Centres, moves: Moves | None) -> Reassignment:
        """`assign` by products of rows and centres, of all rows or of those that bounds leave."""
        C, empty = centres.rows, np.empty((0, 0), np.float32)
        each = empty if self._each is None else self._each.bounds
        tile = max(TILE // len(C), 16)

        tighten = self._tightens()

        none = np.zeros(len(C))
        known = Moves(none, none, none) if moves is None else moves

        def work(lo: int, hi: int) -> tuple[int, int, int, int]:
            return nearest_of_range(
                self.X, self.squares, centres, known, moves is None, tighten, tile, self.labels,
                self._upper, self._lower, self._found, self._changed, self._before, each, lo, hi,
            )  # fmt: skip

        spans, results = self._in_ranges(work)
        searched = sum(result[1] for result in results)
        exact = sum(result[2] for result in results)
        if moves is not None and tighten:
            self._learn_of_tightening(len(C), searched, sum(result[3] for result in results))
        if exact > searched * (1.0 + OPEN * len(C)) and searched > GRID:
            self.dtype = np.dtype(np.float64)
        self._follow(len(C), spans, [result[0] for result in results])
        return Reassignment(sum(result[0] for result in results), searched)

    def _compare(
        self, centres: Centres, moves: Moves, each: EachBound, between: Floats
    ) -> Reassignment:
        """`assign` by the bounds of each row and centre."""
        stored, risen = each.moved(moves.own)
        halves = each.halves(between)

        def work(lo: int, hi: int) -> tuple[int, int]:
            return nearest_by_bounds(
                self.X, centres.rows, moves, halves, stored, risen, self.scale, centres.guard,
                each.slack, each.tiny, self.labels, self._upper, self._lower, each.bounds, lo, hi,
                self._changed[lo:hi], self._before[lo:hi],
            )  # fmt: skip

        spans, results = self._in_ranges(work)
        self._follow(len(centres.rows), spans, [result[0] for result in results])
        return Reassignment(sum(r[0] for r in results), sum(r[1] for r in results))

    def _split(self, C: NDArray[Any]) -> Reassignment:
        """`assign` for two centres. The bounds of rows hold κ and ‖y‖."""
        before = self._plane
        self._plane = plane = BisectingPlane.between(C, self.middle, self.scale, before)
        kept, length = self._upper, self._lower
        # E of the longest row, ‖y‖ ≤ 1, stands for that of each; rounding of κ's side of the test.
        a = (plane.turned + 1.01 * plane.slack) * (1.0 + 1e-12)
        b = (plane.shifted + plane.apart) * (1.0 + 1e-12)

        def work(lo: int, hi: int) -> tuple[int, int]:
            found = self._found[lo:hi]
            if before is None:
                lengths(self.squares, lo, hi, length)
                found[:] = np.arange(lo, hi)
                count = hi - lo
            else:
                count = doubtful(kept, length, a, b, lo, hi, found)
            if not count:
                return 0, 0
            changed = nearer_of_two(
                self.X, self.squares, C, self.middle, plane.normal * self.scale, plane.threshold,
                plane.slack, plane.apart, plane.turned, plane.shifted, found[:count], kept, length,
                self.labels, self._changed[lo:hi], self._before[lo:hi],
            )[0]  # fmt: skip
            return changed, count

        spans, results = self._in_ranges(work)
        self._follow(2, spans, [result[0] for result in results])
        return Reassignment(sum(result[0] for result in results), sum(r[1] for r in results))

    def sums(self, *, fresh: bool = False) -> CentreSums:
        """Over the rows of each centre. fresh: made anew, free of what differences leave over."""
        assert self._sums is not None, "assign first"
        if fresh and not self._exact_sums:
            self._add_all(len(self._sums.mass))
        return self._sums

    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Forget centres without rows."""
        assert self._centres is not None and self._sums is not None, "assign first"
        place = (np.cumsum(kept) - 1).astype(np.int32)
        self.labels[:] = place[self.labels]
        self._centres = self._centres[kept]
        self._each = None
        kept_sums: list[Any] = [np.ascontiguousarray(part[kept]) for part in self._sums]
        self._sums = CentreSums(*kept_sums)

    def distances(self, C: NDArray[Any], known: Floats | None = None) -> Floats:
        """d² of each row and the centre of its label, or what is known, whichever is smaller."""
        out = np.full(len(self.X), np.inf) if known is None else known
        C = np.ascontiguousarray(C, dtype=self.X.dtype)
        C.flags.writeable = False
        self._in_ranges(lambda lo, hi: own_squares(self.X, C, self.labels, lo, hi, out))
        return out

    def _tightens(self) -> bool:
        """Whether the distance to the own centre is made before a search: where it did not pay, it
        is tried again every few steps."""
        self._resting = max(self._resting - 1, 0)
        return self._resting == 0

    def _learn_of_tightening(self, k: int, searched: int, looked: int) -> None:
        """Of so many rows looked at, so many had to be searched nevertheless."""
        d = self.X.shape[1]
        distance, search = 0.7 * d + 15.0, 0.022 * k * d + 0.5 * k + d + 30.0
        if (looked - searched) * search < looked * distance:
            self._resting = REST

    def _prepared(self, C: NDArray[Any]) -> Centres:
        d = C.shape[1]
        moved = (C.astype(np.float64) - self.middle.astype(np.float64)) * self.scale
        top = float(np.einsum("ij,ij->i", moved, moved).max())
        dtype = self.dtype if top < FAR * FAR else np.dtype(np.float64)
        stored = moved.astype(dtype)
        slack, kind = bound_factor(d, dtype), np.finfo(str(dtype))
        squares = np.einsum("ij,ij->i", stored, stored, dtype=np.float64)
        tiny = float(kind.tiny) * (4 * d + 16)
        return Centres(
            C,
            self.middle,
            self.scale,
            stored * dtype.type(-2.0),
            (squares * (1.0 - slack)).astype(dtype),
            slack,
            2.5 * slack * top + 4.0 * tiny,
            float(kind.eps),
            tiny,
            1.0 + 4.0 * (d / LANES + 20.0) * 2.0**-53,
        )

    def _between(self, C: NDArray[Any]) -> Floats | None:
        """Lower bounds of the distances between centres, times scale; None: more than they save."""
        k, d = C.shape
        if not 1 < k <= PAIRS * len(self.X):
            return None
        between = squared_distances(C, C)
        # off by δN with N ≤ 64 d²
        between *= 1.0 - 80.0 * bound_factor(d, np.float64)
        np.fill_diagonal(between, np.inf)
        return np.asarray(np.sqrt(np.maximum(between, 0.0)) * self.scale)

    def _moves(self, old: NDArray[Any], C: NDArray[Any], between: Floats | None) -> Moves:
        k, d = C.shape
        rounding = 1.0 + 8.0 * (d + 16.0) * 2.0**-53
        path = C.astype(np.float64) - old.astype(np.float64)
        own = np.sqrt(np.einsum("ij,ij->i", path, path)) * (rounding * self.scale)
        own[own > 0.0] += 1e-150  # squares of shorter moves underflow
        own[(path != 0.0).any(axis=1) & (own == 0.0)] = 1e-150
        order = np.argsort(own)
        other = np.full(k, own[order[-1]])
        other[order[-1]] = own[order[-2]] if k > 1 else 0.0
        half = np.zeros(k) if between is None else 0.5 * between.min(axis=1)
        return Moves(own, other, half)

    def _follow(self, k: int, spans: list[tuple[int, int]], counts: list[int]) -> None:
        """Bring the sums up to date with the labels."""
        rows = [self._changed[lo : lo + c] for (lo, _), c in zip(spans, counts, strict=True)]
        before = [self._before[lo : lo + c] for (lo, _), c in zip(spans, counts, strict=True)]
        n = sum(counts)
        if self._sums is None or n > len(self.X) // 2:
            self._add_all(k)
        elif n:
            self._exact_sums = False
            self._move(np.concatenate(rows), np.concatenate(before))
            empty = self._sums.counts == 0
            self._sums.sums[empty], self._sums.mass[empty] = 0.0, 0.0

    def _add_all(self, k: int) -> None:
        d = self.X.shape[1]
        self._sums = CentreSums(np.zeros((k, d)), np.zeros(k), np.zeros(k, np.int64))
        self._exact_sums = True
        rows = np.arange(len(self.X))
        self._move(rows, np.full(len(rows), -1, np.int32))

    def _move(self, rows: NDArray[np.int64], before: NDArray[np.int32]) -> None:
        assert self._sums is not None
        sums = self._sums
        k, workers = len(sums.mass), thread_count()
        workers = min(workers, k) if rows.size * self.X.shape[1] > 2**16 else 1
        cuts = [k * t // workers for t in range(workers + 1)]

        def work(t: int) -> None:
            move_rows(
                self.X, self.weight, self.middle, rows, before, self.labels,
                cuts[t], cuts[t + 1], *sums,
            )  # fmt: skip

        parallel_map(work, range(workers), workers)

    def _in_ranges(self, work: Any) -> tuple[list[tuple[int, int]], list[Any]]:
        """work(lo, hi) for ranges of rows, on all threads: what each row is given depends on
        nothing else."""
        # One range a thread: threads wait for the interpreter before and after each of them, which
        # took longer than the work where 16 threads had 64.
        n, workers = len(self.X), thread_count()
        step = max(GRID, math.ceil(n / workers / GRID) * GRID)
        spans = [(lo, min(lo + step, n)) for lo in range(0, n, step)]
        with one_blas_thread():
            return spans, parallel_map(lambda span: work(*span), spans, workers)
