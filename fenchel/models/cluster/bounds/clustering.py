"""A clustering in a few passes over the rows: what its closed-form dual point asks for.

Rows belong to the nearest centre. All numbers are about a point in the middle of the centres, and
weights are over a power of two, so that the largest lies between ½ and 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.partition.closed_form import ClusterGeometry, low_rank_bound
from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.blocks import Block, Blocks, Totals
from fenchel.data.reduction import Maximum, tree_sum
from fenchel.models.cluster.rows import nearest_centres
from fenchel.models.estimator import as_numpy
from fenchel.solve.least_squares.tsqr import TSQR

Floats = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)
CHUNK = 4096  # rows that are factored at once, which bounds their roundings too
# Below this the square of the largest entry has lost digits to underflow, and nothing is claimed.
SMALLEST = 1e-100


@dataclass(frozen=True, slots=True)
class AboutCentres:
    """Rows about a common point, each with the cluster of its nearest centre.

    C: centres in the precision of the blocks; middle: the point; exponent: of the weights.
    """

    C: NDArray[Any]
    middle: Floats
    exponent: int

    def parts(self, block: Block) -> Any:
        """(y, √s, labels, d²) of a few rows at a time; those of weight zero are left out."""
        for lo in range(0, block.n_rows, CHUNK):
            X: Any = block.X[lo : lo + CHUNK]
            X = X if is_sparse(X) else as_numpy(X)
            root = np.ones(X.shape[0])
            if block.weight is not None:
                s = np.asarray(to_numpy(block.weight[lo : lo + CHUNK]), np.float64)
                some = np.flatnonzero(s > 0.0)
                X, root = X[some], np.sqrt(np.ldexp(s[some], -self.exponent))
            if not X.shape[0]:
                continue
            labels, squares = nearest_centres(X, self.C)
            wide = np.asarray(X.toarray() if is_sparse(X) else X, np.float64)
            yield wide - self.middle, root, labels, squares


@dataclass(frozen=True, slots=True)
class ClusterSums:
    """Σ s, Σ s y and the number of rows of each cluster, Σ s yy', Σ s d², the number of chunks, and
    the largest |y|: a statistic."""

    rows: AboutCentres

    def __call__(self, block: Block) -> Totals:
        k, d = self.rows.C.shape
        mass, sums, square = np.zeros(k), np.zeros((k, d)), np.zeros((d, d))
        count, cost, chunks, most = np.zeros(k, np.int64), 0.0, 0, 0.0
        for y, root, labels, squares in self.rows.parts(block):
            member = np.zeros((len(y), k))
            member[np.arange(len(y)), labels] = root * root
            mass += member.sum(axis=0)
            count += np.bincount(labels, minlength=k)
            sums += member.T @ y
            z = root[:, None] * y
            square += z.T @ z
            cost += float((root * root) @ squares)
            chunks += 1
            most = max(most, float(np.abs(y).max()))
        return Totals(mass, sums, square, count, cost, chunks, Maximum(np.array([most])))


@dataclass(frozen=True, slots=True)
class Margins:
    """-min qₐᵦ over the rows of a (k, k), and the largest |w|²: a statistic."""

    rows: AboutCentres
    means: Floats

    def __call__(self, block: Block) -> Maximum:
        k = len(self.means)
        delta = self.means[:, None, :] - self.means
        square = (delta * delta).sum(axis=2)
        least, reach = np.full((k, k), np.inf), 0.0
        for y, _, labels, _ in self.rows.parts(block):
            w = y - self.means[labels]
            reach = max(reach, float((w * w).sum(axis=1).max()))
            for a in np.unique(labels):
                q = square[a] + 2.0 * (w[labels == a] @ delta[a].T).min(axis=0)
                least[a] = np.minimum(least[a], q)
        return Maximum(np.append(-least.ravel(), reach))


@dataclass(frozen=True, slots=True)
class ClusterFactors:
    """Of each cluster R with R'R its scatter about the mean: a statistic."""

    rows: AboutCentres
    means: Floats

    def __call__(self, block: Block) -> Totals:
        k, d = self.means.shape
        found = [[TSQR(np.empty((0, d)))] for _ in range(k)]
        for y, root, labels, _ in self.rows.parts(block):
            w = root[:, None] * (y - self.means[labels])
            for a in np.unique(labels):
                found[a].append(TSQR.reduced(w[labels == a]))
        return Totals(*map(tree_sum, found))


@dataclass(frozen=True, slots=True)
class DualColumns:
    """The factor of [√s, √s y, √s g], g the columns of the closed-form dual point: a statistic."""

    rows: AboutCentres
    means: Floats
    pairs: NDArray[np.int64]
    floor: Floats  # z / h (k, k)

    def __call__(self, block: Block) -> TSQR:
        d = self.means.shape[1]
        width = 1 + d + len(self.pairs)
        delta = self.means[:, None, :] - self.means
        square = (delta * delta).sum(axis=2)
        found = [self._of(part, delta, square) for part in self.rows.parts(block)]
        return tree_sum([TSQR(np.empty((0, width))), *found])

    def _of(self, part: Any, delta: Floats, square: Floats) -> TSQR:
        y, root, labels, _ = part
        d = y.shape[1]
        A = np.zeros((len(y), 1 + d + len(self.pairs)))
        A[:, 0], A[:, 1 : 1 + d] = root, root[:, None] * y
        w = y - self.means[labels]
        for a in np.unique(labels):
            here = np.flatnonzero(labels == a)
            mine = np.flatnonzero(self.pairs[:, 0] == a)
            other = self.pairs[mine, 1]
            q = square[a, other] + 2.0 * (w[here] @ delta[a, other].T)
            g = np.maximum(q - self.floor[a, other], 0.0) * root[here, None]
            A[np.ix_(here, 1 + d + mine)] = g
        return TSQR.reduced(A)


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredClustering:
    """The clusters of the nearest centres, with mass: their number may be less than that of the
    centres.

    within: their scatter matrix, rounded; cost: Σ s d² to the centres; size: the largest |y|;
    count, parts: of rows, and of chunks of them.
    """

    rows: AboutCentres
    mass: Floats
    means: Floats
    within: Floats
    cost: float
    size: float
    count: int
    parts: int

    @classmethod
    def of(cls, blocks: Blocks, C: NDArray[Any]) -> MeasuredClustering:
        middle = np.asarray(C, np.float64).mean(axis=0)
        rows = AboutCentres(C, middle, weight_exponent(blocks))
        mass, sums, square, count, cost, chunks, most = blocks.reduce(ClusterSums(rows))
        kept = np.flatnonzero(count > 0)
        means = sums[kept] / mass[kept, None]
        within = square - (means.T * mass[kept]) @ means
        if len(kept) < len(C):  # labels are places among the centres that have rows
            rows = AboutCentres(np.ascontiguousarray(C[kept]), middle, rows.exponent)
        size = float(most.values[0])
        return cls(rows, mass[kept], means, within, cost, size, int(count.sum()), int(chunks))

    @property
    def k(self) -> int:
        return len(self.mass)

    def error(self) -> float:
        """By how much means, and differences from them, may be off: n terms and the shift."""
        d = self.means.shape[1]
        return math.sqrt(d) * (self.count + 16.0) * EPS * self.size

    def drift(self, columns: int) -> float:
        """The relative error of the columns of a triangular factor: of each of the chunks and of
        every level of the tree in which they meet (Higham, theorem 19.4), and of what was
        factored."""
        deep = 4.0 + math.log2(self.parts + 1.0)
        return EPS * (16.0 + 16.0 * deep * columns * min(self.count + columns, 2 * CHUNK))

    def geometry(self, blocks: Blocks) -> ClusterGeometry | None:
        """What the proof of optimality asks for; None where the rows nearest to another cluster
        forbid it, or rounding does."""
        if self.k < 2 or not self.size > SMALLEST:
            return None
        found = blocks.reduce(Margins(self.rows, self.means)).values
        least = -found[:-1].reshape(self.k, self.k)
        if not least[~np.eye(self.k, dtype=bool)].min() > 0.0:
            return None
        factors = blocks.reduce(ClusterFactors(self.rows, self.means))
        return ClusterGeometry(
            self.mass, self.means, least, tuple(one.R for one in factors), math.sqrt(found[-1]),
            self.count, self.error(), self.drift(self.means.shape[1]),
        )  # fmt: skip

    def dual_bound(self, blocks: Blocks, k: int) -> float:
        """The largest bound that closed-form dual points prove, of k clusters, in units of the
        weights; the multiplier z is looked for among a few."""
        if self.k < 2 or not self.size > SMALLEST:
            return 0.0
        scale = float(np.linalg.eigvalsh(self.within)[-1])
        pairs = np.argwhere(~np.eye(self.k, dtype=bool))
        harmonic = self.mass * self.mass[:, None] / (self.mass + self.mass[:, None])

        def bound(z: float) -> float:
            R = blocks.reduce(DualColumns(self.rows, self.means, pairs, z * scale / harmonic)).R
            error = self.drift(R.shape[1])
            return low_rank_bound(R, self.means.shape[1], pairs, self.mass, k, error)

        return max(_climb(bound), 0.0) if scale > 0.0 else 0.0


# z over the largest eigenvalue of the scatter within clusters: nearly always one of the inner four
# is best, and the last where clusters lie far apart.
GRID = (0.25, 0.4, 0.6, 0.8, 1.0, 1.3, 1.7, 2.5, 4.0)


def _climb(bound: Any) -> float:
    """The largest of a function along the grid, going up from the middle."""
    seen: dict[int, float] = {}

    def at(i: int) -> float:
        if i not in seen:
            seen[i] = bound(GRID[i])
        return seen[i]

    place = 3
    step = 1 if at(4) > at(3) else -1
    while 0 <= place + step < len(GRID) and at(place + step) > at(place):
        place += step
    return max(seen.values())


def weight_exponent(blocks: Blocks) -> int:
    """The power of two above the largest weight; 0 without weights."""

    def stat(block: Block) -> Maximum:
        most = 0.5 if block.weight is None else float(np.max(to_numpy(block.weight)))
        return Maximum(np.array([most]))

    return math.frexp(float(blocks.reduce(stat).values[0]))[1]
