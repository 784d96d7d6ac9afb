"""Value and dual point of a certificate from one pass in float64, each with its rounding error.

The sums are those of `rows.statistics.dual_sums`, the errors those of `rounding`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.convex.certification.dual_point import DualPoint, KernelDualPoint, PointValue, sized
from fenchel.convex.certification.rounding import (
    PAIRS,
    TREE,
    UNDERFLOW,
    U,
    down,
    gamma,
    up,
)
from fenchel.convex.loss.distance import Distance
from fenchel.convex.loss.multiclass import Joint
from fenchel.convex.penalty import L1L2, Penalty
from fenchel.data.blocks import Totals
from fenchel.data.design.kernel import KernelExpansion
from fenchel.data.design.matrix import MatrixDesign, Point

if TYPE_CHECKING:
    from fenchel.convex.problem import Problem

Floats = NDArray[np.float64]
# Bounds of rounding errors are for the worst case; of sums of n terms it is √n times the usual one.
NOISE = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class GapEvidence:
    """What is known of the objective at a point and of a dual point.

    level and level_error: Σ sθ/S; size: Σ s|θ|/S of each column; slip: at least Σ s|θ - l'|/S, l'
    at the true scores; steep: Σ s|l'|/S; zeta: at least the error of any score.
    """

    value: PointValue
    dual: DualPoint | KernelDualPoint
    floor: float
    level: Floats
    level_error: Floats
    size: Floats
    slip: Floats
    steep: float
    zeta: float

    def certificate(self, penalty: Penalty) -> Certificate:
        """value ≥ optimum ≥ bound. The error of the value is the bound's to pay: the value is then
        the nearest that is known to that of the point, and no gap is negative."""
        return certified(self.value, self.dual.bound(penalty), self.floor)

    def is_closed(self, penalty: Penalty, tol: float) -> bool:
        """Whether the gap, but for what is charged for rounding, is at most tol, or so far below
        those charges that rounding is all that is left of it."""
        value, blur = self.value.value, self.dual.blur(penalty)
        gap = value - self.dual.bound(penalty) - blur
        size = max(abs(value), self.floor)
        return gap <= max(tol * size, NOISE * (blur + self.value.error))


def certified(value: PointValue, bound: float, floor: float) -> Certificate:
    """The certificate of a value and a bound, with the value's error taken off the bound."""
    if not math.isfinite(value.value):
        return Certificate(math.inf, bound, "duality", floor=floor)
    return Certificate(value.value, paid(value, bound), "duality", floor=floor)


def paid(value: PointValue, bound: float) -> float:
    """The bound less the error of the value."""
    least = down(bound - value.error, 2) if math.isfinite(value.error) else -math.inf
    # That no loss is negative needs no arithmetic: a bound of zero stays, below any value.
    return float(max(least, min(bound, 0.0)))


def evidence_of(
    problem: Problem,
    point: Point,
    found: Totals,
    imbalance: Floats | None,
    squares: tuple[float, float] | None = None,
    in_pairs: bool = False,
) -> GapEvidence:
    """From Totals(Φ*(sθ), Σsθ, *dual_sums) of an exact sweep at the point; imbalance: what centred
    θ there. squares: ⟨w, w⟩ and ⟨v, v⟩ of a kernel's expansions, where they are known; in_pairs:
    whether they and the scores were summed in pairs of floats.
    """
    _, level, value, steep, _, _, positive, negative, _, floor = found
    S, K = problem.design.weight, problem.outputs or 1
    zeta = score_error(problem, point, in_pairs)
    known = point_value(problem, point, float(value), float(steep), zeta, squares, in_pairs)
    dual = _dual_point(problem, found, imbalance, squares, in_pairs)
    size = (sized(positive, K) + sized(negative, K)) / S
    return GapEvidence(
        known,
        dual,
        float(floor) / S,
        sized(level, K) / S,
        gamma(_rows(problem) + TREE) * size,
        size,
        problem.loss.formula_rounding * U * size + slope_error(problem, float(steep) / S, zeta),
        float(steep) / S,
        zeta,
    )


def slope_error(problem: Problem, steep: float, zeta: float) -> float:
    """At least Σ s|l'(y, z) - l'(y, u)|/S for scores that differ by ζ on average, or, of an
    exponential loss, at most; inf where l' jumps."""
    if problem.loss.is_exponential:
        return steep * math.expm1(min(2.0 * zeta, 700.0))
    return problem.loss.smoothness * zeta


def point_value(
    problem: Problem,
    point: Point,
    value: float,
    steep: float,
    zeta: float,
    squares: tuple[float, float] | None = None,
    in_pairs: bool = False,
) -> PointValue:
    """P at a point from Σ s l(y, z) and Σ s|l'(y, z)| of scores made in float64."""
    design, loss = problem.design, problem.loss
    S = design.weight
    error = loss_error(problem, value / S, steep / S, zeta)
    error += (value / S) * (gamma(_rows(problem) + TREE) + loss.formula_rounding * U)
    if isinstance(loss, Joint):  # log Σ e^z - z_y is a difference of numbers of the size of one
        error += 4.0 * loss.n_classes * U
    omega, slack = penalty_value(problem, point, squares, in_pairs)
    total = float(value / S + omega)
    return PointValue(total, float(up(error + slack + 4.0 * U * total)))


def score_error(problem: Problem, point: Point, in_pairs: bool = False) -> float:
    """ζ of a pass in float64, or of scores of a kernel summed in pairs and rounded once."""
    design = problem.design
    if in_pairs and isinstance(design, KernelExpansion):
        return design.score_size(point) * (4.0 * U + design.entry_error)
    entries = design.entry_error if isinstance(design, KernelExpansion) else 0.0
    return design.score_size(point) * (gamma(design.score_terms + 1) + entries)


def loss_error(problem: Problem, value: float, steep: float, zeta: float) -> float:
    """How much the mean loss may change with scores by ζ each: value and Σ s|l'| at one end."""
    loss = problem.loss
    with np.errstate(over="ignore", invalid="ignore"):
        smooth = steep * zeta + 0.5 * loss.smoothness * zeta * zeta * (problem.outputs or 1)
        if loss.is_exponential:
            smooth = value * math.expm1(min(zeta, 700.0))
        bounds = [v for v in (smooth, loss.steepness * zeta) if v == v]
    return min(bounds, default=math.inf)


def penalty_value(
    problem: Problem,
    point: Point,
    squares: tuple[float, float] | None = None,
    in_pairs: bool = False,
) -> tuple[float, float]:
    """Ω(w), and its rounding error; squares as in `evidence_of`."""
    penalty, design, w = problem.penalty, problem.design, point[0]
    if not isinstance(design, KernelExpansion) or not isinstance(penalty, L1L2):
        omega = penalty.value(w, design.inner)
        return omega, abs(omega) * gamma(np.size(w) + 6)
    known = design.inner(w, w) if squares is None else squares[0]
    size, columns = design.expansion_size(w), w[:1].size
    error = 0.5 * penalty.l2 * kernel_error(problem, in_pairs) * size * size * columns
    return 0.5 * penalty.l2 * known, error


def kernel_error(problem: Problem, in_pairs: bool = False) -> float:
    """The error of f·g relative to Σ|αᵢ|√k(xᵢ, xᵢ) Σ|βⱼ|√k(xⱼ, xⱼ), entries of K included."""
    design = problem.design
    entries = design.entry_error if isinstance(design, KernelExpansion) else 0.0
    return (PAIRS if in_pairs else gamma(2 * design.score_terms + 8)) + 2.0 * entries


def _rows(problem: Problem) -> int:
    """Rows whose terms a sum may add one after the other."""
    design = problem.design
    return design.blocks.longest if isinstance(design, MatrixDesign) else design.n_rows


def _dual_point(
    problem: Problem,
    found: Totals,
    imbalance: Floats | None,
    squares: tuple[float, float] | None,
    in_pairs: bool,
) -> DualPoint | KernelDualPoint:
    pull, _, _, _, conjugate, size, positive, negative, cross, _ = found
    design, S, K = problem.design, problem.design.weight, problem.outputs or 1
    share = gamma(_rows(problem) + TREE)
    more, less, sizes = sized(positive, K), sized(negative, K), np.atleast_1d(size)
    both = more + less
    # What rounding may have made of the sum: of its terms, and of each term's own formula.
    terms = sizes.sum() + 2.0 * np.sum(cross)
    if not isinstance(problem.loss, Distance):  # of which l*(y, θ) - yθ is a sum of terms ≥ 0
        terms += 2.0 * both.sum()
    rise = (share + problem.loss.formula_rounding * U) * terms
    moved = np.zeros(K)  # by how much the exact θ moves Φ*(sθ), over M
    if isinstance(problem.loss, Joint):  # entries of q ≥ 0 that sum to one up to rounding
        rise += 4.0 * K * U * S
        moved = moved + 4.0 * K * U * S
    if imbalance is not None:
        off = np.abs(more - less) + share * both
        if isinstance(problem.loss, Joint):
            # Mixed with a constant choice of classes, of which `double_double_sums` says more.
            mass = np.maximum(imbalance[1] * S, UNDERFLOW)
            moved = moved + off + min(1.0, 4.0 * float(np.max(off / mass))) * (both + 2.0 * S)
        else:
            heavy = np.maximum(np.maximum(more, less) * (1.0 - share), UNDERFLOW)
            ratio = np.minimum(off / heavy, 1.0)
            rise += float(np.sum(ratio * sizes))
            moved = moved + ratio * both
    total = (float(np.sum(conjugate)) + rise) / S
    rise = rise / S + abs(total) * gamma(16) + UNDERFLOW
    total += abs(total) * gamma(16) + UNDERFLOW
    v = pull / S
    if not isinstance(design, MatrixDesign):  # whose adjoint has no sums
        moved = (moved + 8.0 * U * both) / S
        return _kernel_dual_point(problem, total, rise, v, both / S, moved, squares, in_pairs)
    M, moved = design.blocks.column_sizes, (moved + (share + 8.0 * U) * both) / S
    error = np.multiply.outer(M, moved) if v.ndim == 2 else M * moved[0]
    return DualPoint(total, v, error + np.abs(v) * gamma(4) + UNDERFLOW * _rows(problem), rise)


def _kernel_dual_point(
    problem: Problem,
    conjugate: float,
    rise: float,
    v: Floats,
    both: Floats,
    moved: Floats,
    known: tuple[float, float] | None,
    in_pairs: bool,
) -> KernelDualPoint:
    design = problem.design
    assert isinstance(design, KernelExpansion)
    size = design.expansion_size(v)
    plain = design.inner(v, v) if known is None else known[1]
    plain = max(float(plain), 0.0)
    square = plain + len(both) * kernel_error(problem, in_pairs) * size * size
    share = float(np.max(moved / np.maximum(both, UNDERFLOW), initial=0.0))
    norm = math.sqrt(square) + (share + 8.0 * U) * size * math.sqrt(len(both))
    return KernelDualPoint(conjugate, up(norm * norm, 4), rise, plain)
