"""The certificate of a point: from one pass in float64 where that is enough, and from passes in
pairs of floats, or from Newton's decrement, where rounding or a faint penalty would leave it open.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.convex.certification.double_double_sums import pair_evidence
from fenchel.convex.certification.dual_point import DualPoint, PointValue
from fenchel.convex.certification.float_sums import GapEvidence, certified, evidence_of
from fenchel.convex.certification.newton_decrement import newton_bound
from fenchel.convex.certification.straight_pieces import straight_bound
from fenchel.convex.loss.base import Loss, PiecewiseLinear
from fenchel.convex.penalty import L1L2, L2, Penalty, is_nonnegative, is_unpenalised
from fenchel.convex.rows.statistics import DualSums, dual_sums, weighted
from fenchel.data.arrays import Array, to_numpy
from fenchel.data.blocks import Totals
from fenchel.data.design.kernel import KernelExpansion
from fenchel.data.design.matrix import MatrixDesign, Point, Rows
from fenchel.data.passes.sweep import DualRows

if TYPE_CHECKING:
    from fenchel.convex.problem import Problem

Floats = NDArray[np.float64]
# The tightest relative gap that passes of float64 are asked for in general.
IN_FLOAT64 = 1e-9
# Rounding may take this share of a value before it is made again in pairs of floats: a thousandth
# of that gap, or of the gap asked for, where that is more.
SHARE = 1e-3 * IN_FLOAT64
# Entries of a table that a pass of float64 reads in a third of a millisecond, and one in pairs in a
# few: there they are always made.
SMALL = 2**16
# Passes in pairs of floats cost about twenty of float64: they are made where rounding holds at
# least this share of the gap.
BLUR = 0.1
# A gradient so much smaller than its terms is at the end of what a solver reaches.
FAINT = 1e-7


@dataclass(frozen=True, slots=True)
class Prover:
    """The passes that certify points of a problem.

    given: whether a dual variable lies beside the rows; enough: the relative gap beyond which more
    passes are worth their cost.
    """

    problem: Problem
    given: bool
    enough: float

    def certificate(self, point: Point, imbalance: Floats | None) -> Certificate:
        """imbalance: what centres θ where b is free."""
        problem, penalty = self.problem, self.problem.penalty
        free = is_unpenalised(penalty)
        if free:  # where only θ with Φ*(sθ) = 0 is in the domain
            imbalance = None
        scale = 1.0
        seen = self._look(point, imbalance, scale)
        bound = 0.0 if free else seen.dual.bound(penalty)
        if _on_a_ball(penalty) and not free:
            scale = self._into_the_ball(seen)
            if scale < 1.0:
                seen = self._look(point, imbalance, scale)
                bound = max(bound, seen.dual.bound(penalty))
        value, floor = seen.value, seen.floor
        if not math.isfinite(value.value):
            return certified(value, bound, floor)
        blur = value.error + (0.0 if free else seen.dual.blur(penalty))
        blurred = blur > BLUR * (value.top - bound)
        rough = value.relative_error > max(SHARE, 1e-3 * self.enough)
        if rough or (blurred and self._is_open(value.top, bound, floor)):
            if problem.targets is not None and isinstance(problem.design, MatrixDesign):
                return problem.certify_each(point, self.enough)
            again = self._look_in_pairs(point, imbalance, scale, floor)
            if again is not None:
                value = again.value if again.value.error < value.error else value
                bound = max(bound, 0.0 if free else again.dual.bound(penalty))
        if self._is_open(value.top, bound, floor) and (
            free or blurred or self._is_faint(seen, point)
        ):
            bound = max(bound, self._by_second_order(point))
            if free and self._is_open(value.top, bound, floor):
                part = self._by_second_order(point, part=True)
                if part > bound and not self._is_open(value.top, part, floor):
                    return replace(certified(value, part, floor), kind="estimate")
        return certified(value, bound, floor)

    def value(self, point: Point) -> PointValue:
        """P at a point alone."""
        seen = self._look(point, None, 1.0)
        most = SHARE if self.problem.work <= SMALL else max(SHARE, 1e-3 * self.enough)
        if math.isfinite(seen.value.value) and seen.value.relative_error > most:
            again = self._look_in_pairs(point, None, 1.0, seen.floor)
            if again is not None and again.value.error < seen.value.error:
                return again.value
        return seen.value

    def _look_in_pairs(
        self, point: Point, imbalance: Floats | None, scale: float, floor: float
    ) -> GapEvidence | None:
        """The evidence of sums in pairs of floats; None where they are not made."""
        if isinstance(self.problem.design, KernelExpansion):
            return None if self.problem.outputs else self._look_at_kernel(point, imbalance)
        if not self._is_table:
            return None
        return pair_evidence(self.problem, point, imbalance, scale, self.given, floor)

    def _is_faint(self, seen: GapEvidence, point: Point) -> bool:
        """Whether the gradient is so small that an L2 penalty alone keeps the gap open."""
        penalty, dual = self.problem.penalty, seen.dual
        if not isinstance(penalty, L2) or not isinstance(dual, DualPoint) or not self._is_table:
            return False
        sizes = self.problem.design.blocks.column_sizes  # type: ignore[attr-defined]
        rest = np.abs(dual.v + penalty.lam * point[0]).reshape(len(sizes), -1).max(axis=1)
        slip = float(seen.slip.max())  # of θ, by rounding of the scores
        limit = FAINT * seen.size.max() + (slip if math.isfinite(slip) else 0.0)
        return bool((rest <= limit * sizes).all())

    def _is_open(self, top: float, bound: float, floor: float) -> bool:
        return top - bound > self.enough * max(abs(top), floor)

    @property
    def _is_table(self) -> bool:
        """Whether this is a problem of one target on the rows of a table."""
        return isinstance(self.problem.design, MatrixDesign) and self.problem.targets is None

    def _by_second_order(self, point: Point, part: bool = False) -> float:
        """A bound from curvature; part: of the problem on the directions that float64 tells apart
        in the columns, which is a certificate of that problem alone."""
        problem, loss = self.problem, self.problem.loss
        if not self._is_table:
            return 0.0
        if isinstance(loss, PiecewiseLinear) and loss.smoothing == 0.0:
            held = not isinstance(problem.penalty, L2) and not is_unpenalised(problem.penalty)
            return 0.0 if held or not self.given else straight_bound(problem, point)
        if not math.isfinite(loss.smoothness) and not loss.is_exponential:
            return 0.0  # no curvature anywhere
        plain = replace(self, given=False)

        def look(u: Point, pairs: bool) -> GapEvidence:
            if pairs:
                return pair_evidence(problem, u, None, 1.0, False, 0.0)
            return plain._look(u, None, 1.0)

        if is_unpenalised(problem.penalty) or isinstance(problem.penalty, L2):
            return newton_bound(problem, point, look, self.enough, part)
        return 0.0

    def _look(self, point: Point, imbalance: Floats | None, scale: float) -> GapEvidence:
        """The evidence of one pass in float64."""
        problem = self.problem
        sums = DualSums(problem.loss, problem.middle, imbalance, scale)
        rows: Rows = DualRows(_beside(sums, problem.loss)) if self.given else sums
        found = problem.design.sweep([point], rows, exact=True)
        return evidence_of(problem, point, found, imbalance)

    def _look_at_kernel(self, point: Point, imbalance: Floats | None) -> GapEvidence | None:
        """The evidence of scores and squares summed in pairs of floats, where K is kept."""
        problem, loss = self.problem, self.problem.loss
        design, (beta, b) = problem.design, point
        assert isinstance(design, KernelExpansion)
        f = design.paired_product(beta)
        if f is None:
            return None
        y, s = design.sides
        y = to_numpy(y)
        z = f.plus(np.full(len(y), float(b))).hi
        value, slope = loss.value(y, z), loss.gradient(y, z)
        theta = to_numpy(design.aux["dual"]) if self.given else slope
        if imbalance is not None:
            theta = loss.centre_dual(y, theta, imbalance)
        sums = dual_sums(loss, problem.middle, y, z, value, slope, theta, s)
        r = weighted(theta, s)
        image = design.paired_product(r)
        assert image is not None
        squares = float(beta @ f.hi), float(r @ image.hi) / design.weight**2
        found = Totals(r, r.sum(), *sums)
        return evidence_of(problem, point, found, imbalance, squares, True)

    def _into_the_ball(self, seen: GapEvidence) -> float:
        """The factor that takes θ to where Ω* is finite, but for rounding, which the bound sees to;
        1 where it is there."""
        penalty = self.problem.penalty
        dual: Any = seen.dual
        size = -dual.v if is_nonnegative(penalty) else np.abs(dual.v)
        top, a = float(size.max(initial=0.0)), penalty.l1
        return a / top if top > a else 1.0


def _on_a_ball(penalty: Penalty) -> bool:
    """Whether Ω* is infinite beyond a bound of |v|."""
    return isinstance(penalty, L1L2) and penalty.l2 == 0.0


def _beside(sums: DualSums, loss: Loss) -> Any:
    """The rows of a dual variable that is given."""

    def rows(y: Array, theta: Array, scores: list[Array], s: Array | None) -> tuple[Array, Totals]:
        value, slope, _ = loss.evaluate(y, scores[0])
        return sums.of_point(y, scores[0], value, slope, theta, s)

    return rows
