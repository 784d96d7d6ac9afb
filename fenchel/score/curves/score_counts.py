"""The one statistic behind every curve: how much of each class lies at each distinct score."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fenchel.data.blocks import keep_pages
from fenchel.data.parallel import map_ordered, parallel_map, thread_count
from fenchel.score.labels import LabelledScores

Floats = NDArray[np.float64]
S = TypeVar("S")
MANY = 1 << 15  # rows from which sorting in buckets pays for loading the compiled loops
BUCKET = 1 << 15  # rows of a bucket, on average; more than 256 of them would scatter too widely
CELLS = 4096  # resolution of the lookup table of the bucket sort


@dataclass(frozen=True, slots=True)
class ScoreCounts:
    """Distinct scores in descending order, with the weight of the positives and of the negatives
    at each, and the sums of their squared weights (the same arrays where every weight is one)."""

    score: Floats
    positive: Floats
    negative: Floats
    positive2: Floats
    negative2: Floats


def count_by_score(rows: LabelledScores) -> ScoreCounts:
    """Rows gathered by score; O(n log n)."""
    if rows.weight is None and rows.score.size >= MANY:
        return SortedRuns.of(rows).joined()
    order = np.argsort(rows.score)[::-1]
    score, positive = rows.score[order] + 0.0, rows.positive[order]
    if not score.size:
        return ScoreCounts(score, score, score, score, score)
    begins = np.flatnonzero(np.append(True, score[1:] != score[:-1]))

    def total(values: Any) -> Floats:
        return np.add.reduceat(values, begins, dtype=np.float64)

    if rows.weight is None:
        hits, misses = total(positive), total(~positive)
        return ScoreCounts(score[begins], hits, misses, hits, misses)
    weight = rows.weight[order]
    square = weight * weight
    return ScoreCounts(
        score[begins],
        total(np.where(positive, weight, 0.0)),
        total(np.where(positive, 0.0, weight)),
        total(np.where(positive, square, 0.0)),
        total(np.where(positive, 0.0, square)),
    )


@dataclass(frozen=True, slots=True)
class SortedRuns:
    """Scores sorted in buckets that follow each other: bucket b holds its negatives, ascending, at
    starts[2b] … and then its positives, ascending, at starts[2b + 1] …"""

    values: Floats
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, rows: LabelledScores) -> SortedRuns:
        """Two readings of the scores and one writing, on every thread; each bucket fits a cache."""
        from fenchel.score.curves.compiled import CELL, scatter, sort

        keep_pages()

        score, positive = np.ascontiguousarray(rows.score), rows.positive
        n, workers = score.size, thread_count()
        buckets = 1 << min(max((n // BUCKET).bit_length(), 1), 8)
        place = _placing(score, buckets)
        cuts = np.linspace(0, n, 4 * workers + 1).astype(np.int64)
        parts = [slice(a, b) for a, b in pairwise(cuts)]
        bucket = np.empty(n, np.uint16)
        counts = np.zeros((len(parts), 2 * buckets), np.int64)

        def count(c: int) -> None:
            part = parts[c]
            place(score[part], positive[part], bucket[part], counts[c])

        _all(count, len(parts))
        starts = np.concatenate([[0], np.cumsum(counts.sum(axis=0))])
        ends = starts[:-1] + np.cumsum(counts, axis=0) - counts
        values = np.empty(n)
        _all(lambda c: scatter(score[parts[c]], bucket[parts[c]], ends[c], values), len(parts))
        longest = int(np.diff(starts).max())

        def arrange(b: int) -> None:
            scratch, cells = np.empty(longest), np.empty(longest // CELL + 2, np.int64)
            for k in (2 * b, 2 * b + 1):
                sort(values[starts[k] : starts[k + 1]], scratch, cells)

        _all(arrange, buckets)
        return cls(values, starts)

    def each(self, work: Callable[[ScoreCounts, int, int], S]) -> Iterator[S]:
        """work(groups, positives above, negatives above) of every bucket, from the top."""
        above = self.above

        def gather(b: int) -> S:
            n = self.starts[2 * b + 2] - self.starts[2 * b]
            score, hits, misses = (np.empty(n) for _ in range(3))
            return work(self._merged(b, score, hits, misses), above[b, 1], above[b, 0])

        return map_ordered(gather, range(len(above) - 1, -1, -1), thread_count())

    def pairs_in_order(self) -> int:
        """Twice the pairs whose positive has the higher score, and those that tie once."""
        from fenchel.score.curves.compiled import pairs_in_order

        starts, below = self.starts, np.concatenate([[0], np.cumsum(np.diff(self.starts)[::2])])

        def count(b: int) -> int:
            a, m, e = starts[2 * b : 2 * b + 3]
            return pairs_in_order(self.values[m:e], self.values[a:m], below[b])

        return sum(parallel_map(count, range(len(starts) // 2)))

    def joined(self) -> ScoreCounts:
        """The groups of all buckets, from the top."""
        n, above = self.values.size, self.above.sum(axis=1)
        score, hits, misses = (np.empty(n) for _ in range(3))

        def gather(b: int) -> slice:
            at = above[b]
            part = slice(at, at + self.starts[2 * b + 2] - self.starts[2 * b])
            found = self._merged(b, score[part], hits[part], misses[part])
            return slice(at, at + found.score.size)

        parts = parallel_map(gather, range(len(above) - 1, -1, -1))
        if sum(part.stop - part.start for part in parts) < n:  # ties: close the ranks
            score, hits, misses = (
                np.concatenate([values[part] for part in parts]) for values in (score, hits, misses)
            )
        return ScoreCounts(score, hits, misses, hits, misses)

    @property
    def above(self) -> NDArray[np.int64]:
        """How many negatives and positives lie in the buckets above each."""
        sizes = np.diff(self.starts).reshape(-1, 2)
        return sizes[::-1].cumsum(axis=0)[::-1] - sizes

    def _merged(self, b: int, score: Floats, hits: Floats, misses: Floats) -> ScoreCounts:
        from fenchel.score.curves.compiled import merge

        a, m, e = self.starts[2 * b : 2 * b + 3]
        g = merge(self.values[m:e], self.values[a:m], score, hits, misses)
        hits, misses = hits[:g], misses[:g]
        return ScoreCounts(score[:g], hits, misses, hits, misses)


def _placing(score: Floats, buckets: int) -> Callable[..., None]:
    """The loop that finds each score's bucket, bound to the splitters of a sample."""
    from fenchel.score.curves.compiled import bucket_of, bucket_of_even

    sample = np.sort(score[:: max(1, score.size // CELLS)])
    splitters = sample[np.arange(1, buckets) * sample.size // buckets]
    low, high = sample[sample.size // 256], sample[-1 - sample.size // 256]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        scale = (CELLS - 1) / (high - low)
    if 0.0 < scale < np.inf:
        cell = np.clip((sample - low) * scale, 0.0, CELLS - 1.0).astype(np.int64)
        # An uneven table would leave most scores in one bucket, and one thread with most work.
        if np.bincount(cell).max() <= sample.size // 16:
            edges = low + np.arange(CELLS) / scale
            table = np.searchsorted(splitters, edges, side="right")
            return lambda s, positive, bucket, counts: bucket_of_even(
                s, positive, low, scale, table, bucket, counts
            )
    return lambda s, positive, bucket, counts: bucket_of(s, positive, splitters, bucket, counts)


def _all(work: Callable[[int], None], count: int) -> None:
    parallel_map(work, range(count))
