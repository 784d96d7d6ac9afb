"""Which rows make a pair, and the tree in which all pairs are met without being listed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
SHARE = 8  # of all rows are in each subtree that a thread takes at once


@dataclass(frozen=True)
class TargetPairs:
    """The pairs (i, j) of rows of one group with yᵢ > yⱼ, each of weight sᵢsⱼ.

    Rows of no weight make no pair. order: the others by group, then by target; what follows is
    told in their order. first, last: where the run of rows with the same target begins and ends;
    starts: where each group begins, and the end.
    """

    n_rows: int
    order: Integers
    weight: Floats
    first: Integers
    last: Integers
    starts: Integers

    @classmethod
    def of(
        cls, y: Floats, groups: Integers | None = None, weight: Floats | None = None
    ) -> TargetPairs:
        """From targets, group codes and weights, one a row."""
        n = len(y)
        rows = np.arange(n) if weight is None else np.flatnonzero(weight > 0.0)
        code = np.zeros(len(rows), np.int64) if groups is None else groups[rows]
        target = y[rows]
        by = np.argsort(target, kind="stable")
        if groups is not None:
            by = by[np.argsort(code[by], kind="stable")]
        rows, code, target = rows[by], code[by], target[by]
        m = len(rows)
        new_group = np.ones(m, bool)
        new_group[1:] = code[1:] != code[:-1]
        new_run = new_group.copy()
        new_run[1:] |= target[1:] != target[:-1]
        begins = np.flatnonzero(new_run)
        lengths = np.diff(np.append(begins, m))
        return cls(
            n,
            rows,
            np.ones(m) if weight is None else np.asarray(weight[rows], np.float64),
            np.repeat(begins, lengths),
            np.repeat(begins + lengths, lengths),
            np.append(np.flatnonzero(new_group), m),
        )

    def only(self, chosen: NDArray[np.bool_]) -> TargetPairs:
        """The pairs among some of the rows, numbered as in a table of those rows alone."""
        kept = chosen[self.order]
        group = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        place = np.cumsum(chosen) - 1
        rows = self.order[kept]
        count = int(chosen.sum())
        y, code, weight = np.zeros(count), np.zeros(count, np.int64), np.zeros(count)
        at = place[rows]
        y[at], code[at], weight[at] = self.first[kept], group[kept], self.weight[kept]
        return TargetPairs.of(y, code, weight)

    @cached_property
    def even(self) -> bool:
        """Whether all weights are one."""
        return bool((self.weight == 1.0).all())

    @cached_property
    def mass(self) -> float:
        """Σ sᵢsⱼ over all pairs."""
        before = np.append(0.0, np.cumsum(self.weight))
        start = np.repeat(self.starts[:-1], np.diff(self.starts))
        return float(self.weight @ (before[self.first] - before[start]))

    @cached_property
    def tree(self) -> Integers:
        """The nodes (lo, mid, hi, top) in post-order: see `compiled`."""
        from fenchel.data.pairs.compiled import nodes

        out = np.empty((2 * len(self.order) + 2, 4), np.int64)
        count = nodes(self.first, self.last, self.starts, out)
        return out[:count].copy()

    @cached_property
    def waves(self) -> list[list[Integers]]:
        """The tree in parts, wave after wave: the parts of a wave touch different rows.

        The same whatever the number of threads, so that sums have the same bits.
        """
        tree, most = self.tree, max(len(self.order) // SHARE, 2048)
        size = tree[:, 2] - tree[:, 0]
        above = np.flatnonzero((size > most) & (tree[:, 1] > tree[:, 0])).tolist()
        runs: list[Integers] = []
        begin = 0
        for stop in [*above, len(tree)]:
            # Whole subtrees in a row, as many as make up `most` rows.
            rows, k = 0, begin
            for end in (begin + _ends(tree[begin:stop])).tolist():
                rows += int(size[end])
                if rows >= most:
                    runs.append(tree[k : end + 1])
                    k, rows = end + 1, 0
            if k < stop:
                runs.append(tree[k:stop])
            begin = stop + 1
        waves = [runs]
        roots: list[tuple[int, int]] = []  # where those begin that have no parent yet, their waves
        for k in above:
            lo = int(tree[k, 0])
            wave = 1 + max((at for begin, at in roots if begin >= lo), default=0)
            roots = [*((begin, at) for begin, at in roots if begin < lo), (lo, wave)]
            if wave == len(waves):
                waves.append([])
            waves[wave].append(tree[k : k + 1])
        return waves

    @cached_property
    def spans(self) -> tuple[Integers, list[slice]]:
        """Consecutive spans of rows (lo, hi), with few targets or a single one: pairs meet one by
        one inside a span, and as wholes between the spans of a group. Which groups have several."""
        from fenchel.data.pairs.compiled import spans_of

        m = len(self.order)
        spans, owner = np.empty((m + 1, 2), np.int64), np.empty(m + 1, np.int64)
        count = spans_of(self.starts, self.last, spans, owner)
        edges = [*np.flatnonzero(np.diff(owner[:count], prepend=-1)).tolist(), count]
        several = [slice(a, b) for a, b in pairwise(edges) if b > a + 1]
        return spans[:count].copy(), several

    def workspace(self) -> tuple[Floats, NDArray[np.int32], Floats, NDArray[np.int32]]:
        """Room for a walk: sorted scores and weights and their positions, twice."""
        m = len(self.order)
        return np.empty((2, m)), np.empty(m, np.int32), np.empty((2, m)), np.empty(m, np.int32)

    def between(
        self, z: Floats, low: float, high: float, most: int
    ) -> tuple[Integers, Integers, Floats, int]:
        """Rows i and j of pairs with low ≤ zᵢ - zⱼ < high, their weights sᵢsⱼ, and one in how many
        they are.

        All of them where there are at most `most`; else every 2ᵏ-th, between most/2 and most of
        them, each weighted by 2ᵏ.
        """
        from fenchel.data.pairs.compiled import pairs_between

        here = z[self.order]
        out = np.empty((max(most, 2), 2), np.int32)
        space = self.workspace()
        kept, stride = pairs_between(
            self.tree, self.first, here, self.weight, *space, low, high, out
        )
        i, j = out[:kept, 0], out[:kept, 1]
        weight = self.weight[i] * self.weight[j] * float(stride)
        return self.order[i], self.order[j], weight, int(stride)

    def concordance(self, z: Floats) -> float:
        """The share of the pairs' weight with zᵢ > zⱼ, ties in z counting one half."""
        from fenchel.data.pairs.compiled import ordered_mass

        space = self.workspace()
        here = np.asarray(z, np.float64)[self.order]
        return float(ordered_mass(self.tree, self.first, here, self.weight, *space)) / self.mass


def _ends(tree: Integers) -> Integers:
    """The nodes of a post-ordered forest that have no parent in it."""
    if not len(tree):
        return np.zeros(0, np.int64)
    # A node has a parent here just where a later node begins at or before it.
    least = np.minimum.accumulate(tree[::-1, 0])[::-1]
    return np.flatnonzero(np.append(least[1:], np.iinfo(np.int64).max) >= tree[:, 2])


def group_codes(groups: Any, n: int) -> Integers:
    """Hashable labels as whole numbers, in the order of their first row."""
    labels = np.asarray(groups)
    if labels.ndim != 1 or len(labels) != n:
        raise ValueError(
            f"groups must hold one label for each of {n} rows, got shape {labels.shape}"
        )
    if labels.dtype.kind in "iufbUS":
        _, codes = np.unique(labels, return_inverse=True)
        return codes.astype(np.int64)
    seen: dict[Any, int] = {}
    return np.array([seen.setdefault(label, len(seen)) for label in labels.tolist()], np.int64)
