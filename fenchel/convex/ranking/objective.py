"""Pairwise ranking: the loss over all pairs of rows with unequal targets, its dual, its gap.

P(w) = Σ sᵢsⱼ φ(zᵢ - zⱼ) / Σ sᵢsⱼ + λ|w|²/2,  z = Φw, over pairs with yᵢ > yⱼ in one group

The dual has a θ for each pair: D(θ) = -Σ sᵢsⱼ φ*(θᵢⱼ) / Σ sᵢsⱼ - |Φ*f|²/(2λ), fᵢ being the sum of
sᵢsⱼθ/Σsᵢsⱼ over the pairs of row i, with the sign of its side. It is never written down: at
θ = φ′(zᵢ - zⱼ) all of its sums are those of the gradient, and the gap is |λw + Φ*f|²/(2λ). Where φ
has a kink, θ is the slope of its Moreau envelope, clip((1 - t)/width, 0, 1) for the hinge, and the
gap has one more sum, (1 - t)(1 - |θ|) over the pairs inside the width.

Rounding: θ is that of the scores ẑ as computed, |ẑ - z| ≤ ζ = γ(d + 8)·longest row·|w| and some
units of their range. It is as good a dual point as any, so that only Σ f(ẑ - z) ≤ 2ζ Σ|θ| is lost
to the bound; the value moves by 2ζ Σ|θ| + 2ζ² sup φ″, or 2ζ of a kink. The errors of the sums over
pairs (`pair_sums`) and of Φ*f come on top. A constant added to all rows moves no pair: rows far
from zero are measured from their mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.convex.certification.dual_point import PointValue
from fenchel.convex.certification.rounding import TREE, U, gamma, up
from fenchel.convex.loss.hinge import Hinge
from fenchel.convex.loss.margin import Logistic, Margin
from fenchel.convex.objective import Objective
from fenchel.convex.penalty import L2
from fenchel.convex.problem import EPS, Evaluation
from fenchel.convex.ranking.pair_sums import PairMeans, pair_sums
from fenchel.data.arrays import Array, is_sparse, like, to_float64, to_numpy
from fenchel.data.block import concatenate
from fenchel.data.blocks import Block
from fenchel.data.design.block_products import adjoint, forward
from fenchel.data.design.matrix import Concatenated, MatrixDesign, Point
from fenchel.data.in_memory import ArrayBlocks
from fenchel.data.pairs.target_tree import TargetPairs

Floats = NDArray[np.float64]
FEW = 1024  # rows that tell where columns lie
FAR = 1e3  # spreads from zero at which three digits of sixteen are lost


@dataclass(frozen=True, slots=True)
class RankingEvaluation(Evaluation):
    """What is known at a point: its scores, the sums over pairs at a width, and the envelope's
    objective, which has the gradient `adjoint` + λw. drift: how long the vectors were, in all,
    whose scores make up z: |w|, and more where steps were added to earlier scores."""

    z: Floats
    sums: PairMeans
    width: float
    smooth: float
    drift: float


@dataclass(frozen=True, slots=True)
class ActivePairs:
    """Pairs (i, j) and the curvature h of each; ∇² of the loss is Σ h(xᵢ - xⱼ)(xᵢ - xⱼ)'."""

    i: NDArray[np.int64]
    j: NDArray[np.int64]
    h: Floats
    whole: bool  # whether these are all that are curved


@dataclass(frozen=True)
class Ranking(Objective[Point]):
    """P(w) as above. Scores and what belongs to pairs are vectors on the driver; rows stay where
    they are and take part in two passes, z = Φw and Φ*f, both in float64."""

    loss: Margin
    penalty: L2
    design: MatrixDesign
    pairs: TargetPairs

    @property
    def kinked(self) -> bool:
        return isinstance(self.loss, Hinge)

    def origin(self) -> Point:
        return np.zeros(self.design.dimension), 0.0

    def project(self, point: Point) -> Point:
        """b = 0: pairs do not see it."""
        return (point[0], 0.0) if np.any(point[1]) else point

    def scores(self, w: Floats) -> Floats:
        """Φw: a pass, but for w = 0."""
        if not w.any():
            return np.zeros(self.design.n_rows)

        def stat(block: Block) -> Concatenated:
            return Concatenated([to_numpy(forward(self._near(to_float64(block.X)), w))])

        return np.concatenate(self.design.blocks.reduce(stat))

    def adjoint(self, force: Floats) -> Floats:
        """Φ*f: a pass."""

        def stat(block: Block) -> Floats:
            X = self._near(to_float64(block.X))
            here = force[block.start : block.start + block.n_rows]
            return to_numpy(adjoint(X, like(here, X)))

        return np.asarray(self.design.blocks.reduce(stat))

    def sums(self, z: Floats, width: float) -> PairMeans:
        return pair_sums(self.loss, self.pairs, z, width)

    def ridge(self, w: Floats) -> float:
        return self.penalty.value(w, self.design.inner)

    def seen(
        self, w: Floats, z: Floats, sums: PairMeans, width: float, drift: float = 0.0
    ) -> RankingEvaluation:
        """The evaluation, from sums that are known: one pass. drift: of scores before this."""
        pull, ridge = self.adjoint(sums.force), self.ridge(w)
        value, smooth = sums.value + ridge, sums.smooth + ridge
        drift += float(np.linalg.norm(w))
        return RankingEvaluation(value, pull, 0.0, np.zeros(2), True, z, sums, width, smooth, drift)

    def evaluate(
        self, point: Point, *, exact: bool = False, width: float = 1e-2
    ) -> RankingEvaluation:
        w = point[0]
        z = self.scores(w)
        return self.seen(w, z, self.sums(z, width), width)

    def gradient(self, w: Floats, seen: RankingEvaluation) -> Floats:
        """Of the envelope's objective."""
        return seen.grad_w + self.penalty.lam * w

    def gap_estimate(self, point: Point, seen: RankingEvaluation) -> float:
        """The gap at the envelope's θ, before rounding."""
        r = self.gradient(point[0], seen)
        return seen.sums.short + float(r @ r) / (2.0 * self.penalty.lam)

    def estimate(self, point: Point, seen: RankingEvaluation, decrement: float) -> Certificate:
        """The gap at the envelope's θ before rounding is charged."""
        return Certificate(seen.value, seen.value - self.gap_estimate(point, seen), "estimate")

    def certify(
        self,
        point: Point,
        seen: RankingEvaluation | None = None,
        dual: Floats | None = None,
        enough: float = 1e-9,
    ) -> Certificate:
        """The duality gap, in float64. The error of the sums is charged to the bound: on the value,
        and on Φ*f as the longest row times the error of f. Without `seen` a kink's width is the one
        with the least gap of a few."""
        w = point[0]
        seen = self.best(w) if seen is None else seen
        if seen.drift > 4.0 * float(np.linalg.norm(w)):  # scores that were added up from long steps
            z = self.scores(w)
            seen = self.seen(w, z, self.sums(z, seen.width), seen.width)
        rest = self.gradient(w, seen)
        short = seen.sums.short + seen.sums.lack
        return self._close(w, seen, short, rest, seen.sums.stray, seen.sums.steep)

    def best(self, w: Floats) -> RankingEvaluation:
        """The evaluation at the width that closes the gap of w best, of a few."""
        z = self.scores(w)
        widths = 10.0 ** np.arange(0.0, -9.0 if self.kinked else -1.0, -1.0)
        found = [self.seen(w, z, self.sums(z, width), width) for width in widths]
        return min(found, key=lambda one: self.gap_estimate((w, 0.0), one))

    def _close(
        self,
        w: Floats,
        seen: RankingEvaluation,
        short: float,
        rest: Floats,
        stray: float,
        steep: float,
    ) -> Certificate:
        """The certificate of a dual point: `short` at least the mean of φ + φ*(θ) - θt over the
        pairs, rest = λw + Φ*f, stray the error of f in the 1-norm, steep at least that of |θ|."""
        d, lam = len(w), self.penalty.lam
        zeta = self._score_error(seen)
        force = 2.0 * steep * gamma(self.design.blocks.longest + TREE + 8) + stray
        r = float(np.linalg.norm(rest)) * (1.0 + gamma(d + 8)) + force * self.longest
        r += 8.0 * U * lam * float(np.linalg.norm(w))
        own = self._value_error(w, seen)
        gap = up(short + r * r / (2.0 * lam) + own + 2.0 * zeta * steep, 8)
        bound = max(float(seen.value - gap), 0.0)  # φ and the penalty are not negative
        return Certificate(seen.value, bound, "duality", floor=EPS * EPS)

    def _score_error(self, seen: RankingEvaluation) -> float:
        """ζ."""
        d = self.design.dimension
        wide = 8.0 * U * (1.0 + float(np.ptp(seen.z)))
        return gamma(d + 8) * self.longest * seen.drift + wide

    def _value_error(self, w: Floats, seen: RankingEvaluation) -> float:
        """How far the value may be from that of its point."""
        zeta = self._score_error(seen)
        moved = 2.0 * zeta * min(self.loss.steepness, 1e300)
        if math.isfinite(self.loss.smoothness):
            moved = min(moved, 2.0 * zeta * (seen.sums.steep + zeta * self.loss.smoothness))
        own = seen.sums.error + self.ridge(w) * gamma(len(w) + 6) + 8.0 * U * seen.value
        return up(own + moved, 4)

    def known_value(self, point: Point, enough: float = 1e-9) -> PointValue:
        seen = self.evaluate(point)
        return PointValue(seen.value, self._value_error(point[0], seen))

    @cached_property
    def _centre(self) -> Floats | None:
        """About the mean of the rows, where they lie far from zero; None for rows as they are, and
        for sparse ones."""
        if self.design.blocks.sparse:
            return None
        few = to_numpy(to_float64(self.design.blocks.sample(FEW).gather().X))
        if not np.isfinite(few).all():
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            middle = 0.5 * few.min(axis=0) + 0.5 * few.max(axis=0)
            spread = 0.5 * few.max(axis=0) - 0.5 * few.min(axis=0)
        return middle if (np.abs(middle) > FAR * spread).any() else None

    def _near(self, X: Array) -> Array:
        """Rows measured from the centre, each entry to a unit of rounding."""
        return X if self._centre is None else X - like(self._centre, X)

    def polished(self, w: Floats, width: float, most: int = 2048) -> Certificate | None:
        """The certificate with θ chosen anew for the pairs near the kink, so that λw + Φ*f is as
        small as [-1, 0] allows; None where they are more than `most`.

        Any θ in [-1, 0] proves something, and with few such pairs least squares finds a better one
        than (1 - t)/width, in which rounding is magnified.
        """
        z = self.scores(w)
        i, j, weight, stride = self.pairs.between(z, 1.0 - width, 1.0 + width, most)
        if stride > 1 or not len(i):
            return None
        here = self.seen(w, z, self.sums(z, width), width)
        # The pairs below the width have θ = -1 and are only counted: nothing is magnified.
        below = pair_sums(self.loss, self.pairs, z, 1e-300, 1.0 - width)
        wanted = self.adjoint(below.force) + self.penalty.lam * w
        a, e = weight / self.pairs.mass, 1.0 - (z[i] - z[j])
        u = (e / width).clip(0.0, 1.0)
        D = self.differences(i, j)
        A = (to_numpy(D.toarray() if is_sparse(D) else D) * a[:, None]).T
        free = np.ones(len(u), bool)
        for _ in range(20):
            change = np.linalg.lstsq(A[:, free], wanted - A @ u, rcond=None)[0]
            moved = u.copy()
            moved[free] += change
            u = moved.clip(0.0, 1.0)
            free &= u == moved
            if free.all() or not free.any():
                break
        terms = e.clip(0.0, None) - u * e
        # Each e is off by a unit of the range of the scores, each sum by its terms.
        off = gamma(len(u) + 16) * float(a @ np.abs(e)) + 4.0 * U * (1.0 + np.ptp(z)) * a.sum()
        stray = below.stray + 2.0 * gamma(len(u) + 16) * float(a.sum())
        short, steep = float(a @ terms) + float(off), below.steep + float(a.sum())
        return self._close(w, here, short, wanted - A @ u, stray, steep)

    @cached_property
    def longest(self) -> float:
        """The length of the longest row."""

        def stat(block: Block) -> Concatenated:
            X = self._near(to_float64(block.X))
            if is_sparse(X):
                squares = X.multiply(X).sum(1)
            else:
                squares = (
                    np.einsum("ij,ij->i", X, X) if isinstance(X, np.ndarray) else (X * X).sum(1)
                )
            return Concatenated([float(np.sqrt(to_numpy(squares).max(initial=0.0)))])

        return float(max(self.design.blocks.reduce(stat)))

    def curved_pairs(self, seen: RankingEvaluation, most: int) -> ActivePairs:
        """Curved pairs: all of them, or at most `most` that stand for all."""
        low, high = -np.inf, 1.0
        if self.kinked:
            low = 1.0 - seen.width
        elif isinstance(self.loss, Logistic):
            low, high = -8.0, 8.0  # φ″ is below 4e-4 outside
        i, j, weight, stride = self.pairs.between(seen.z, low, high, most)
        t = seen.z[i] - seen.z[j]
        bend = np.full(len(t), 1.0 / seen.width) if self.kinked else self.loss.d2phi(t)
        return ActivePairs(i, j, weight * bend / self.pairs.mass, stride == 1)

    def differences(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> Array:
        """Rows xᵢ - xⱼ, in memory and in float64."""
        if isinstance(self.design.blocks, ArrayBlocks):
            X = self.design.blocks.gather().X
            return to_float64(X[i]) - to_float64(X[j])
        rows = np.unique(np.concatenate([i, j]))
        X = self.take(rows)
        return X[np.searchsorted(rows, i)] - X[np.searchsorted(rows, j)]

    def take(self, rows: NDArray[np.int64]) -> Array:
        """Some rows, sorted, in memory and in float64."""
        blocks = self.design.blocks
        if isinstance(blocks, ArrayBlocks):
            return to_float64(blocks.gather().X[rows])

        def stat(block: Block) -> Concatenated:
            a, b = np.searchsorted(rows, (block.start, block.start + block.n_rows))
            return Concatenated([Block(0, to_float64(block.X)[rows[a:b] - block.start])])

        return concatenate(self.design.blocks.reduce(stat)).X

    def sampled(self, rows: int) -> Ranking | None:
        """The same on about so many of its rows, whole groups where there are many; None where
        they make no pair."""
        n, groups = self.design.n_rows, len(self.pairs.starts) - 1
        chosen = np.zeros(n, bool)
        step = max(1, n // max(rows, 1))
        if groups > 64:
            starts = self.pairs.starts
            for g in range(0, groups, step):
                chosen[self.pairs.order[starts[g] : starts[g + 1]]] = True
        else:
            chosen[::step] = True
        pairs = self.pairs.only(chosen)
        if not pairs.mass > 0.0:
            return None
        X = self.take(np.flatnonzero(chosen))
        return Ranking(self.loss, self.penalty, MatrixDesign(ArrayBlocks(Block(0, X))), pairs)
