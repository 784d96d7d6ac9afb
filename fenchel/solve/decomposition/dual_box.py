"""The dual of a kernel problem with a loss of straight pieces, in the coefficients β of f.

    min over β of β'(K + D)β/2 - y'β + w|β|₁,   low ≤ β ≤ high,   Σβ = 0 where b is free,

for Σ sᵢ l(yᵢ, f(xᵢ) + b) + λ‖f‖²/2, f = Σ βᵢ k(xᵢ, ·), θᵢ = -λβᵢ/sᵢ: the interval is that of the
slopes of l, w the half-width of its flat piece, Dᵢᵢ = λ soft/sᵢ where its joints are parabolas. The
hinge is such a loss about the target yᵢ = ±1 with w = 0. The support of a distribution (`OneClass`)
has y = 0, w = 0 and Σβ = νS.

Reference: Schölkopf and Smola, Learning with Kernels (2002), sections 7.3 and 9.2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.loss.base import PiecewiseLinear
from fenchel.convex.loss.one_class import OneClass
from fenchel.convex.penalty import L2
from fenchel.convex.problem import Problem
from fenchel.data.design.kernel import KernelExpansion

Floats = NDArray[np.float64]
SLACK = 1e-12  # of the largest score: sums of 10⁴ terms in another order differ by no more
BALANCE = 1e-14  # of Σ|β|: what 10⁴ steps leave of Σβ = 0, their roundings being independent


@dataclass(frozen=True, slots=True)
class DualBox:
    """The interval of every coefficient, the linear term and the diagonal D."""

    y: Floats
    low: Floats
    high: Floats
    width: float
    ridge: Floats
    free: bool  # whether b is free, so that Σβ is fixed
    top: float  # the largest entry of K
    first: Floats | None = None  # where to begin, if not at zero

    @classmethod
    def of(cls, problem: Problem | OneClass) -> DualBox:
        if isinstance(problem, OneClass):
            most = problem.weights
            top = float(np.abs(problem.design.diagonal()).max(initial=0.0))
            zero = np.zeros(len(most))
            return cls(zero, zero, most, 0.0, zero, True, top, problem.origin()[0])
        loss, penalty, design = problem.loss, problem.penalty, problem.design
        assert isinstance(loss, PiecewiseLinear)
        assert isinstance(penalty, L2)
        assert isinstance(design, KernelExpansion)
        y, s = design.sides
        y = np.asarray(y, np.float64)
        weight = np.ones(len(y)) if s is None else s
        size = weight / design.weight / penalty.lam
        low, high = (np.broadcast_to(np.asarray(end), y.shape) for end in loss.dual_interval(y))
        ridge = np.zeros(len(y))
        if loss.smoothing > 0.0:
            np.divide(loss.smoothing, size, out=ridge, where=size > 0.0)
        top = float(np.abs(design.diagonal()).max(initial=0.0))
        return cls(y, -size * high, -size * low, loss.dead_zone, ridge, problem.intercept, top)

    def start(self) -> Floats:
        """Where to begin without a better point."""
        return np.zeros(len(self.y)) if self.first is None else self.first

    def feasible(self, beta: Floats) -> Floats:
        """A point of the box near β, with Σβ = 0 where b is free: the heavier side is scaled down,
        and 0 lies in every interval. Coefficients at a bound stay there, if the others can give
        enough: off by a rounding their rows would break the optimality conditions. What rounding
        alone left of Σβ stays too, for the same reason: the certificate pays for it.
        (`OneClass.project` has seen to another sum.)"""
        beta = np.clip(beta, self.low, self.high)
        if not self.free or self.first is not None:
            return beta
        excess = float(beta.sum())
        if abs(excess) <= BALANCE * float(np.abs(beta).sum()):
            return beta
        heavy = beta > 0.0 if excess > 0.0 else beta < 0.0
        inside = heavy & (beta < self.high) & (beta > self.low)
        some = inside if abs(float(beta[inside].sum())) > abs(excess) else heavy
        if not some.any():
            return beta
        return np.where(some, beta * (1.0 - excess / float(beta[some].sum())), beta)

    def slopes(self, beta: Floats, F: Floats) -> tuple[Floats, Floats]:
        """Of the objective where βᵢ rises and where it falls; inf and -inf where it cannot."""
        rise = F + np.where(beta >= 0.0, self.width, -self.width)
        fall = F + np.where(beta > 0.0, self.width, -self.width)
        rise[beta >= self.high] = np.inf
        fall[beta <= self.low] = -np.inf
        return rise, fall

    def violation(self, rise: Floats, fall: Floats) -> float:
        """By how much the optimality conditions are missed, in units of the score."""
        least, most = float(rise.min()), float(fall.max())
        return max(most - least if self.free else max(most, -least), 0.0)

    def level(self, rise: Floats, fall: Floats) -> float:
        """b: the middle of the interval that the optimality conditions leave to -b."""
        if not self.free:
            return 0.0
        if self.first is not None and np.isfinite(rise).any() and rise.min() <= fall.max():
            # At this ρ or below no row under its bound is an outlier, so that outliers weigh at
            # most νS; below it by what scores of the same row may differ by, summed in other tiles.
            room = np.isfinite(rise)
            return SLACK * float(np.abs(rise[room]).max()) - float(rise.min())
        ends = [end for end in (float(rise.min()), float(fall.max())) if np.isfinite(end)]
        return -sum(ends) / len(ends) if ends else 0.0

    def dual_point(self, problem: Problem, beta: Floats) -> Floats:
        """θ = -λβ/s, inside the domain of l* to the bit."""
        loss, penalty, design = problem.loss, problem.penalty, problem.design
        assert isinstance(loss, PiecewiseLinear)
        assert isinstance(penalty, L2)
        assert isinstance(design, KernelExpansion)
        s = design.sides[1]
        share = (np.ones(len(beta)) if s is None else s) / design.weight
        theta = np.zeros(len(beta))
        np.divide(-penalty.lam * beta, share, out=theta, where=share > 0.0)
        return np.asarray(theta.clip(*loss.dual_interval(self.y)))
