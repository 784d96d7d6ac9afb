"""Every curve of a score as one object that adds up.

A threshold t flags the rows with score ≥ t. Of all positives it flags the share tpr(t), of all
negatives fpr(t). Each distinct score is one vertex; ties make a slanted edge, which is the same as
counting them one half. Only the order of the scores matters, so infinite ones are welcome.

Curves of parts of a table add up to the curve of the table: sorted runs are merged, exactly. With a
`limit`, neighbouring scores are pooled into groups, heaviest ones kept apart; every vertex that is
left is still exact, and what may lie between two of them is bounded by the box they span.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.score.curves.score_counts import Floats, ScoreCounts, count_by_score
from fenchel.score.estimate import check_share, is_integer
from fenchel.score.labels import marked

Line = tuple[Floats, Floats, Floats]


@dataclass(frozen=True, eq=False)
class Curve:
    """Scores of two classes, gathered by score in descending order; `+` merges two tables.

    Attributes
    ----------
    high, low : array of shape (g,)
        Largest and smallest score of each group; the same where the group is one score.
    positive, negative : array of shape (g,)
        Weight of its positives and of its negatives.
    positive2, negative2 : array of shape (g,)
        Sums of their squared weights.
    limit : int or None
        The most groups it may have; None keeps every distinct score.

    Examples
    --------
    >>> from fenchel import Curve
    >>> first = Curve.of([0, 1, 1], [0.1, 0.4, 0.4])
    >>> both = first + Curve.of([0, 1], [0.4, 0.9])
    >>> both.thresholds.tolist()
    [inf, 0.9, 0.4, 0.1]
    >>> both.tpr.round(3).tolist(), both.fpr.tolist()
    ([0.0, 0.333, 1.0, 1.0], [0.0, 0.0, 0.5, 1.0])
    >>> round(both.auc(), 4)
    0.8333
    """

    high: Floats
    low: Floats
    positive: Floats
    negative: Floats
    positive2: Floats
    negative2: Floats
    limit: int | None = None

    @classmethod
    def of(
        cls,
        y_true: Any,
        y_score: Any,
        *,
        sample_weight: Any = None,
        pos_label: Any = None,
        limit: int | None = None,
    ) -> Curve:
        """The curve of labels and scores.

        With `pos_label` given, one class alone is fine too: a part of a table may have no other.
        """
        if limit is not None and not (is_integer(limit) and limit >= 2):
            raise ValueError(f"limit must be at least 2 groups, a whole number, got {limit!r}")
        one_class = pos_label is not None
        rows = marked(y_true, y_score, sample_weight, pos_label, one_class=one_class)
        return cls.gathered(count_by_score(rows), limit)

    @classmethod
    def gathered(cls, groups: ScoreCounts, limit: int | None = None) -> Curve:
        """The curve of rows already gathered by score."""
        score, positive, negative = groups.score, groups.positive, groups.negative
        squares = groups.positive2, groups.negative2
        return cls(score, score, positive, negative, *squares, limit)._pooled()

    def __reduce__(self) -> tuple[Any, ...]:
        # Not every way to store arrays remembers that two of them are one: see is_counted.
        squares = (None, None) if self.is_counted else (self.positive2, self.negative2)
        low = None if self.low is self.high else self.low
        return _restored, (self.high, low, self.positive, self.negative, *squares, self.limit)

    def __add__(self, other: Curve) -> Curve:
        if not isinstance(other, Curve):
            return NotImplemented
        limits = [c.limit for c in (self, other) if c.limit is not None]
        if not self.high.size or not other.high.size:
            whole = other if not self.high.size else self
            return replace(whole, limit=min(limits) if limits else None)._pooled()
        high = np.concatenate([self.high, other.high])
        order = np.argsort(-high, kind="stable")  # two runs: a merge
        high = high[order]
        low = np.concatenate([self.low, other.low])[order]
        # A group opens where it lies below all that came before; pooled groups may overlap.
        reach = np.minimum.accumulate(low)
        begins = np.flatnonzero(np.append(True, high[1:] < reach[:-1]))

        def total(name: str) -> Floats:
            parts = np.concatenate([getattr(self, name), getattr(other, name)])
            return np.add.reduceat(parts[order], begins)

        positive, negative = total("positive"), total("negative")
        squares = positive, negative
        if not (self.is_counted and other.is_counted):
            squares = total("positive2"), total("negative2")
        low = np.minimum.reduceat(low, begins)
        limit = min(limits) if limits else None
        return Curve(high[begins], low, positive, negative, *squares, limit)._pooled()

    def __radd__(self, other: Any) -> Curve:
        # sum() begins with 0.
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def _pooled(self) -> Curve:
        """At most `limit` groups: cut where the heaviest cells of the dyadic tree of all floats
        divide, so that parts pooled apart are pooled at the same places."""
        if self.limit is None or self.high.size <= self.limit:
            return self
        from fenchel.score.curves.compiled import spans

        key = _ordinal(self.high)
        level = np.frexp((key[:-1] ^ key[1:]).astype(np.float64))[1]
        first, last = np.empty((2, level.size), np.int64)
        spans(level, first, last)
        mass = self.positive / max(self.n_positive, 1e-300)
        mass = mass + self.negative / max(self.n_negative, 1e-300)
        before = np.concatenate([[0.0], np.cumsum(mass)])
        cell = before[last + 1] - before[first]
        keep = np.sort(np.argpartition(-cell, self.limit - 2)[: self.limit - 1])
        begins = np.concatenate([[0], keep + 1])
        ends = np.append(begins[1:], self.high.size) - 1

        def total(values: Floats) -> Floats:
            return np.add.reduceat(values, begins)

        positive, negative = total(self.positive), total(self.negative)
        squares = positive, negative
        if not self.is_counted:
            squares = total(self.positive2), total(self.negative2)
        high, low = self.high[begins], np.minimum.reduceat(self.low, begins)
        assert np.array_equal(low, self.low[ends])
        return Curve(high, low, positive, negative, *squares, self.limit)

    # ------------------------------------------------------------------------------- the counts

    @property
    def is_counted(self) -> bool:
        """Whether every weight is one, so that the sums are counts."""
        return self.positive2 is self.positive

    @property
    def is_exact(self) -> bool:
        """Whether every group is one score."""
        return bool((self.high == self.low).all())

    @cached_property
    def tp(self) -> Floats:
        """Weight of the positives with score ≥ low, group by group."""
        return np.cumsum(self.positive)

    @cached_property
    def fp(self) -> Floats:
        """Weight of the negatives with score ≥ low, group by group."""
        return np.cumsum(self.negative)

    @cached_property
    def n_positive(self) -> float:
        """Weight of all positives."""
        # Counts add up exactly in any order; other weights must end where their running sum does.
        return float(self.positive.sum() if self.is_counted else self.tp[-1:].sum())

    @cached_property
    def n_negative(self) -> float:
        """Weight of all negatives."""
        return float(self.negative.sum() if self.is_counted else self.fp[-1:].sum())

    @property
    def prior(self) -> float:
        """Share of positives."""
        P, N = self.both()
        return P / (P + N)

    def both(self) -> tuple[float, float]:
        """Weights of the two classes, none of them zero."""
        return self._some(self.n_positive, "positive"), self._some(self.n_negative, "negative")

    @staticmethod
    def _some(weight: float, kind: str) -> float:
        if not weight > 0.0:
            raise ValueError(f"no {kind} row: a curve needs rows of both classes")
        return weight

    # ------------------------------------------------------------------------------- the curves

    @cached_property
    def thresholds(self) -> Floats:
        """∞, which flags nothing, even where scores are ∞; then the lowest score of each group."""
        return np.append(np.inf, self.low)

    @cached_property
    def tpr(self) -> Floats:
        """True positive rate at each threshold: recall, power."""
        return np.append(0.0, self.tp / self._some(self.n_positive, "positive"))

    @cached_property
    def fpr(self) -> Floats:
        """False positive rate at each threshold: the error of the first kind."""
        return np.append(0.0, self.fp / self.both()[1])

    @cached_property
    def flagged(self) -> Floats:
        """Share of all rows flagged at each threshold."""
        return np.append(0.0, (self.tp + self.fp) / sum(self.both()))

    @cached_property
    def precision(self) -> Floats:
        """Share of positives among the flagged; 1 where nothing is flagged."""
        return np.append(1.0, self.tp / (self.tp + self.fp))

    def roc(self, *, drop_intermediate: bool = False) -> Line:
        """(fpr, tpr, thresholds), rising; `drop_intermediate` leaves out a vertex between two equal
        steps, which lies on their line."""
        if not drop_intermediate or self.high.size < 3:
            return self.fpr, self.tpr, self.thresholds
        from fenchel.score.curves.compiled import corner_line, corners

        # In one reading: with ten million scores each array that is not made is time saved.
        groups = self.positive, self.negative
        fpr, tpr, thresholds = (np.empty(corners(*groups) + 1) for _ in range(3))
        corner_line(self.low, *groups, self.both(), fpr, tpr, thresholds)
        return fpr, tpr, thresholds

    def precision_recall(self, *, drop_intermediate: bool = False) -> Line:
        """(precision, recall, thresholds), from the lowest threshold to the highest; precision and
        recall end with 1 and 0, where nothing is flagged. `drop_intermediate` leaves out thresholds
        between two of the same recall."""
        precision, recall, thresholds = self.precision, self.tpr, self.thresholds
        if drop_intermediate:
            keep = np.append(True, _changes(self.tp))
            precision, recall, thresholds = precision[keep], recall[keep], thresholds[keep]
        return precision[::-1], recall[::-1], thresholds[:0:-1]

    def lift(self) -> Line:
        """(flagged share, precision over the share of positives, thresholds); flagged > 0."""
        return self.flagged[1:], self.precision[1:] / self.prior, self.thresholds[1:]

    def gains(self) -> Line:
        """(flagged share, share of the positives found, thresholds)."""
        return self.flagged, self.tpr, self.thresholds

    def det(self, *, drop_intermediate: bool = False) -> Line:
        """(fpr, fnr, thresholds), both errors by rising threshold: from the last that misses
        nothing to the first that raises no false alarm. `drop_intermediate` leaves out thresholds
        between two of the same fnr."""
        fpr, tpr, thresholds = self.fpr, self.tpr, self.thresholds
        if drop_intermediate:
            keep = _changes(np.append(0.0, self.tp))
            fpr, tpr, thresholds = fpr[keep], tpr[keep], thresholds[keep]
        first = int(np.searchsorted(fpr, 0.0, side="right")) - 1
        last = int(np.searchsorted(tpr, 1.0)) + 1
        part = slice(first, max(last, first + 1))
        return fpr[part][::-1], 1.0 - tpr[part][::-1], thresholds[part][::-1]

    def hull(self) -> NDArray[np.int64]:
        """Indices of the vertices on the least concave curve above the ROC: the thresholds that are
        best for some prior and costs, since (fpr, tpr) between two is reached by mixing them."""
        from fenchel.score.curves.compiled import upper_hull

        keep = np.empty(self.fpr.size, np.int64)
        return keep[: upper_hull(self.fpr, self.tpr, keep)]

    def cost(
        self, prior: float | None = None, cost_fp: float = 1.0, cost_fn: float = 1.0
    ) -> Floats:
        """Expected cost at each threshold: π c₁₀ (1 - tpr) + (1 - π) c₀₁ fpr."""
        share = self.prior if prior is None else check_share(prior, "prior")
        return share * cost_fn * (1.0 - self.tpr) + (1.0 - share) * cost_fp * self.fpr

    # ------------------------------------------------------------------------------- the area

    def auc(self) -> float:
        """P(score of a positive > score of a negative) + ½ P(equal): the area under the ROC."""
        _, N = self.both()
        below = (N - self.fp + 0.5 * self.negative) / N
        # Two sums of one kind, so that classes apart make exactly 1, and exactly 0.
        return float((self.positive * below).sum() / self.positive.sum())

    def auc_bounds(self) -> tuple[float, float]:
        """What the area of the unpooled scores may be: pairs inside one pooled group count from
        none to all. Both are `auc()` where no scores were pooled."""
        P, N = self.both()
        pooled = self.high > self.low
        slack = 0.5 * float((self.positive[pooled] / P) @ (self.negative[pooled] / N))
        area = self.auc()
        return max(area - slack, 0.0), min(area + slack, 1.0)

    @property
    def slack(self) -> float:
        """The largest share of one class inside a pooled group: no curve of the unpooled scores is
        farther than this, in either rate, from a vertex of this one. 0 where nothing is pooled."""
        P, N = self.both()
        pooled = self.high > self.low
        shares = np.maximum(self.positive[pooled] / P, self.negative[pooled] / N)
        return float(shares.max(initial=0.0))


def curve_from(
    y_true: Any, y_score: Any = None, sample_weight: Any = None, pos_label: Any = None
) -> Curve:
    """The curve itself, where there is one, or that of labels and scores."""
    if isinstance(y_true, Curve):
        if not (y_score is sample_weight is pos_label is None):
            raise ValueError("a Curve has its scores: leave y_score, sample_weight, pos_label out")
        return y_true
    if y_score is None:
        raise ValueError("y_score is missing: give the scores of the rows, or a Curve alone")
    return Curve.of(y_true, y_score, sample_weight=sample_weight, pos_label=pos_label)


def _restored(
    high: Floats,
    low: Floats | None,
    positive: Floats,
    negative: Floats,
    positive2: Floats | None,
    negative2: Floats | None,
    limit: int | None,
) -> Curve:
    low = high if low is None else low
    positive2 = positive if positive2 is None else positive2
    negative2 = negative if negative2 is None else negative2
    return Curve(high, low, positive, negative, positive2, negative2, limit)


def _changes(counts: Floats) -> NDArray[np.bool_]:
    """Where a running count differs from the one before or after, and both ends."""
    change = np.diff(counts) != 0.0
    return np.append(True, change) | np.append(change, True)


def _ordinal(score: Floats) -> NDArray[np.uint64]:
    """Whole numbers in the order of the floats."""
    bits = (score + 0.0).view(np.uint64)
    top = np.uint64(1 << 63)
    return np.where(bits & top, ~bits, bits | top)
