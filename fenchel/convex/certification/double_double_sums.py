"""Value and dual point of a certificate in pairs of floats: 106 bits where float64 loses its
digits.

A score Xw + b is made in pairs of floats, and with it the residual, or the difference of two
classes' scores, before it is rounded. The dual point is a vector of floats θ; what is made of it,
Φ*(sθ), Σ sθ and the part of Σ s l*(y, θ) that is linear in θ, is again a sum in pairs. Where b is
free the heavier side of θ is scaled by c = 1 - ε exactly: ε is known to 53 bits of itself, so that
v = v₊ + v₋ - ε v₊ and the conjugates lose nothing.

For K classes θ is known by its entries off the row's own class, q_k ≥ 0 as floats; that of the own
class is minus their sum. Its column sums ρ_k, which are not quite zero, are made so by a mixture
(1 - t)θ + tη with a constant choice of classes η = q̄ - e_y, q̄_k = n_k/S - (1 - t)ρ_k/(tS), n_k the
weight of class k: l*(y, η) ≤ 0, so that the conjugate rises by nothing.

Reference: Ogita, Rump and Oishi, Accurate sum and dot product, SIAM J. Sci. Comput. 26 (2005).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certification.dual_point import DualPoint, PointValue
from fenchel.convex.certification.float_sums import (
    GapEvidence,
    loss_error,
    penalty_value,
    slope_error,
)
from fenchel.convex.certification.rounding import PAIRS, UNDERFLOW, U, gamma, up
from fenchel.convex.loss.base import Loss
from fenchel.convex.loss.distance import Distance
from fenchel.convex.loss.hinge import Shortfall
from fenchel.convex.loss.multiclass import Joint, MulticlassHinge
from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.block import part_of
from fenchel.data.blocks import Block, Totals
from fenchel.data.design.matrix import Point
from fenchel.data.linear_algebra.double_double import (
    DoubleDouble,
    OzakiMatrix,
    two_product,
    two_sum,
)

if TYPE_CHECKING:
    from fenchel.convex.problem import Problem

Floats = NDArray[np.float64]
# Slices of at least 18 bits, six of which reach 100 bits, need at most so many rows or columns.
ROWS = 2**16


@dataclass(frozen=True, slots=True, eq=False)
class DoubleDoubleSums:
    """The statistic of `pair_evidence`: sums over a block of rows.

    θ is the slope at the point's scores or, given, lies beside the rows; middle, imbalance and
    scale as in `rows.statistics.DualSums`.
    """

    loss: Loss
    middle: float
    point: Point
    centring_sums: Floats | None
    scale: float
    given: bool

    def __call__(self, block: Block) -> Totals:
        parts = [self._part(some) for some in chunks(block)]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total

    def _part(self, block: Block) -> Totals:
        loss = self.loss
        X = block.X.astype(np.float64) if is_sparse(block.X) else to_numpy(block.X)
        y = to_numpy(block.y)
        s = np.ones(block.n_rows) if block.weight is None else to_numpy(block.weight)
        given = to_numpy(block.aux["dual"]) if self.given else None
        matrix, ones = OzakiMatrix.of(X), OzakiMatrix.of(np.ones((block.n_rows, 1)))
        w, b = self.point
        z = matrix.forward(DoubleDouble.of(np.asarray(w, np.float64).reshape(X.shape[1], -1)))
        z = z.plus(np.broadcast_to(np.asarray(b, np.float64).reshape(1, -1), z.hi.shape))
        if isinstance(loss, Joint):
            return self._joint(matrix, ones, y, s, z, given)
        hi, lo = z.hi[:, 0], z.lo[:, 0]
        value, slope = loss.from_pair(y, hi, lo)
        theta = slope if given is None else given
        if self.centring_sums is not None:
            theta = loss.centre_dual(y, theta, self.centring_sums)
        theta = self.scale * theta if self.scale != 1.0 else theta
        theta = np.where(s > 0.0, theta, 0.0)
        linear, curved = loss.split_conjugate(y, theta)
        shift = np.full_like(theta, -self.middle if isinstance(loss, Distance) else 0.0)
        a = DoubleDouble(*two_sum(np.broadcast_to(linear, theta.shape), shift))
        r = DoubleDouble(*two_product(theta, s))
        product = times(r, a)
        sides = [np.where(side, 1.0, 0.0) for side in (theta > 0.0, theta < 0.0)]
        columns = [
            *(masked(r, side) for side in sides),
            *(masked(product, side) for side in sides),
        ]
        sums = ones.adjoint(stacked(columns))
        curved = _weighed(s, curved)
        plain = [
            _weighed(s, value),
            _weighed(s, np.abs(slope)),
            *(np.where(side > 0.0, curved, 0.0) for side in sides),
            np.abs(curved),
            np.abs(r.hi),
            np.abs(product.hi),
            _weighed(s, np.abs(hi)),
        ]
        return Totals(matrix.adjoint(stacked(columns[:2])), sums, _sums(ones, plain))

    def _joint(
        self,
        matrix: OzakiMatrix,
        ones: OzakiMatrix,
        y: NDArray[np.int64],
        s: Floats,
        z: DoubleDouble,
        given: Floats | None,
    ) -> Totals:
        loss = self.loss
        assert isinstance(loss, Joint)
        rows, y = np.arange(len(y)), y.astype(np.int64)
        own = DoubleDouble(-z.hi[rows, y][:, None], -z.lo[rows, y][:, None])
        apart = z + DoubleDouble(*(np.broadcast_to(v, z.hi.shape) for v in (own.hi, own.lo)))
        value, slope = loss.from_differences(y, apart.hi, apart.lo)
        theta = slope if given is None else given
        if self.centring_sums is not None:
            theta = loss.centre_dual(y, theta, self.centring_sums)
        theta = self.scale * theta if self.scale != 1.0 else theta
        rest = np.maximum(theta, 0.0)
        rest[rows, y] = 0.0
        rest[s <= 0.0] = 0.0
        total = rest.sum(axis=1)
        over = total > 1.0 - 8.0 * U
        if over.any():
            rest[over] *= ((1.0 - 1e-12) / total[over])[:, None]
        conjugate = loss.conjugate_of_rest(rest)
        r = DoubleDouble(*two_product(rest, np.broadcast_to(s[:, None], rest.shape)))
        side = DoubleDouble.of(np.zeros(len(y)))
        for k in range(rest.shape[1]):
            side = side + DoubleDouble(r.hi[:, k], r.lo[:, k])
        r.hi[rows, y], r.lo[rows, y] = -side.hi, -side.lo
        member = np.zeros_like(rest)
        member[rows, y] = s
        columns = stacked([r, DoubleDouble.of(member)])
        conjugate = _weighed(s, conjugate)
        plain = [
            _weighed(s, value),
            _weighed(s, np.abs(slope).sum(axis=1)),
            conjugate,
            np.abs(conjugate),
            np.abs(r.hi).sum(axis=1),
            _weighed(s, np.abs(apart.hi).sum(axis=1)),
        ]
        return Totals(matrix.adjoint(columns), ones.adjoint(columns), _sums(ones, plain))


def pair_evidence(
    problem: Problem,
    point: Point,
    imbalance: Floats | None,
    scale: float,
    given: bool,
    floor: float,
) -> GapEvidence:
    """The evidence of one pass in pairs of floats; problems of one target on the rows of a
    table."""
    design = problem.table
    stat = DoubleDoubleSums(problem.loss, float(problem.middle), point, imbalance, scale, given)
    found = design.blocks.reduce(stat)
    free = imbalance is not None
    if isinstance(problem.loss, Joint):
        return _joint_evidence(problem, point, found, free, floor)
    S, M = design.weight, design.blocks.column_sizes
    pulled, sums, plain = found
    value, steep, curve_up, curve_down, curved, size, cross, scores = (float(v) for v in plain)
    up_, down_, linear_up, linear_down = columns_of(DoubleDouble(sums.hi[0], sums.lo[0]), 4)
    v_up, v_down = columns_of(pulled, 2)
    v = v_up + v_down
    linear, extra = linear_up + linear_down, 0.0
    curve = curve_up + curve_down
    if free:
        off = up_ + down_  # of the positive and the negative part
        heavy, v_heavy, l_heavy, c_heavy = (
            (up_, v_up, linear_up, curve_up)
            if float(off.hi) > 0.0
            else (down_, v_down, linear_down, curve_down)
        )
        share = abs(float(off.hi)) / abs(float(heavy.hi)) if float(heavy.hi) != 0.0 else 0.0
        v = v.plus(-share * v_heavy.hi)
        linear = linear.plus(np.asarray(-share * float(l_heavy.hi)))
        curve = curve - share * c_heavy
        extra = share * gamma(8)
    known = _value(problem, point, value, steep)
    rows = _share(problem)
    conjugate = (float(linear.hi) + float(linear.lo) + curve) / S
    slack = (rows * curved + (PAIRS + extra) * (cross + curved)) / S
    conjugate += up(slack + abs(conjugate) * gamma(4) + UNDERFLOW)
    error = np.abs(v.hi) * gamma(8) / S + (PAIRS + extra) * 4.0 * M * size / S + UNDERFLOW
    level, whole = np.array([float((up_ + down_).hi) / S]), np.array([size / S])
    dual, zeta = DualPoint(conjugate, v.hi / S, error), _score_error(problem, point)
    return GapEvidence(
        known,
        dual,
        floor,
        level,
        np.abs(level) * gamma(8) + 4.0 * PAIRS * whole,
        whole,
        _slip(problem, whole, steep / S, zeta, scores / S),
        steep / S,
        zeta,
    )


def _score_error(problem: Problem, point: Point) -> float:
    """ζ of scores in pairs, before they are rounded."""
    return (2.0 * PAIRS + 4.0 * U * U) * problem.design.score_size(point)


def _share(problem: Problem) -> float:
    """The error of a sum of terms of one sign: of each term's formula, of a chunk's sum, which is
    rounded once, and of the tree in which those meet."""
    depth = math.log2(max(problem.design.n_rows, 1)) + 3.0
    return (problem.loss.formula_rounding + depth) * U


def _slip(problem: Problem, size: Floats, steep: float, zeta: float, scores: float) -> Floats:
    """Σ s|θ - l'|/S: rounding of slopes, and of the scores that are no differences."""
    if not isinstance(problem.loss, Distance | Shortfall):
        zeta = zeta + 2.0 * U * scores
    return problem.loss.formula_rounding * U * size + slope_error(problem, steep, zeta)


def _joint_evidence(
    problem: Problem, point: Point, found: Totals, free: bool, floor: float
) -> GapEvidence:
    design = problem.table
    S, M, K = design.weight, design.blocks.column_sizes, problem.outputs or 1
    pulled, sums, plain = found
    value, steep, conjugate, sizes, size, scores = (float(v) for v in plain)
    v = DoubleDouble(pulled.hi[:, :K], pulled.lo[:, :K])
    T = pulled.hi[:, K:]
    rho, mass = sums.hi[0, :K], sums.hi[0, K:]
    conjugate, extra = conjugate / S, 0.0
    if free:
        excess = np.where(rho > 0.0, rho / np.where(mass > 0.0, mass, UNDERFLOW), 0.0)
        t = min(1.0, 2.0 * float(excess.max(initial=0.0)))
        share = t * mass / mass.sum() - (1.0 - t) * rho / mass.sum()  # t q̄
        moved = np.multiply.outer(T.sum(axis=1), share) - t * T
        v = v.plus(moved).plus(-t * v.hi)
        conjugate = (
            min(conjugate * (1.0 - t), conjugate) if conjugate > 0.0 else conjugate * (1.0 - t)
        )
        extra = 64.0 * U * (t * float(mass.sum()) + float(np.abs(rho).sum()))
    known = _value(problem, point, value, steep)
    rows = _share(problem)
    conjugate += up(rows * sizes / S + abs(conjugate) * gamma(4) + UNDERFLOW)
    wide = np.multiply.outer(M, np.full(K, (4.0 * PAIRS * size + extra) / S))
    dual = DualPoint(conjugate, v.hi / S, np.abs(v.hi) * gamma(8) / S + wide + UNDERFLOW)
    level, whole, zeta = rho / S, np.full(K, 2.0 * size / S), _score_error(problem, point)
    return GapEvidence(
        known,
        dual,
        floor,
        level,
        np.abs(level) * gamma(8) + 4.0 * PAIRS * whole,
        whole,
        _slip(problem, whole, steep / S, zeta, scores / S),
        steep / S,
        zeta,
    )


def _value(problem: Problem, point: Point, value: float, steep: float) -> PointValue:
    """P from sums of losses at scores that were rounded once."""
    design = problem.table
    S = design.weight
    omega, slack = penalty_value(problem, point)
    rows = _share(problem)
    size = design.score_size(point)
    error = rows * value / S + (PAIRS + U * U) * size * steep / S
    if not isinstance(problem.loss, Distance | Shortfall | MulticlassHinge):
        # The rounding of a score, U of it, enters by the slope: what that leaves out.
        error += loss_error(problem, value / S, 0.0, 2.0 * U * size)
    total = float(value / S + omega)
    return PointValue(total, up(error + slack + 4.0 * U * total + UNDERFLOW))


def chunks(block: Block) -> Iterator[Block]:
    n = block.n_rows
    if n <= ROWS:
        yield block
        return
    for lo in range(0, n, ROWS):
        yield part_of(block, slice(lo, min(lo + ROWS, n)), block.start + lo)


def _weighed(s: Floats, values: Floats) -> Floats:
    """s times values; a row of no weight counts nothing, even at infinity."""
    return np.where(s > 0.0, values, 0.0) * s


def _sums(ones: OzakiMatrix, columns: list[Floats]) -> Floats:
    """The sum of each column, rounded once; plainly where one is not finite."""
    values = np.stack(columns, axis=1)
    if not np.isfinite(values).all():
        return np.asarray(values.sum(axis=0))
    return np.asarray(ones.adjoint(DoubleDouble.of(values)).hi[0])


def times(r: DoubleDouble, a: DoubleDouble) -> DoubleDouble:
    """r a in pairs."""
    return r.times(a.hi).plus(r.hi * a.lo)


def masked(r: DoubleDouble, side: Floats) -> DoubleDouble:
    return DoubleDouble(r.hi * side, r.lo * side)


def stacked(columns: list[DoubleDouble]) -> DoubleDouble:
    def wide(part: Floats) -> Floats:
        return part if part.ndim == 2 else part[:, None]

    return DoubleDouble(
        np.concatenate([wide(c.hi) for c in columns], axis=1),
        np.concatenate([wide(c.lo) for c in columns], axis=1),
    )


def columns_of(both: DoubleDouble, count: int) -> list[DoubleDouble]:
    return [DoubleDouble(both.hi[..., k], both.lo[..., k]) for k in range(count)]
