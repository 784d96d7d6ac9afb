"""A bound for losses of straight pieces that little but the data holds, from a given dual point.

Under λ|w|²/2 the dual is best where q = p + λu = 0 and ρ = 0, p = Φ*(sθ)/S, ρ = Σ sθ/S, u the
optimum; without a penalty it asks for that, and under a faint one any q costs |q|²/(2λ). No vector
of floats gives either exactly. For any point u with scores z, and r = z - y,

    -Σ s l*(y, θ)/S - λ|u|²/2 = Σ s (θ r - w|θ|)/S + λ|u|²/2 - ⟨q, u⟩ - ρ b

w half the width of the flat piece, and θ is moved to q = ρ = 0 by δ = h x̃·t with Gt = (q, ρ),
G = Σ s h x̃x̃'/S:

hinge        h is the room of θ inside its interval, so that |x̃·t| ≤ τ ≤ 1 keeps it there; l* is
             linear on it, and the bound is Σ s θr/S - τ Σ s h|r|/S
residuals    h = 1, and no move is made: Fenchel and Young leave ⟨(q, ρ), Δ⟩ = Σ s (x̃·t)(x̃·Δ)/S
             to be charged, Δ the way from u to the optimum, whose residuals are no larger than
             the value reached allows: at most τ (2P(u)/m + 2w), m the lesser slope

With w ≥ 0 the same holds for the coefficients that are not zero; for the others v = p ≥ 0 is asked,
with room for the move.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certification.coordinates import (
    Coordinates,
    coordinate_sizes,
    resolved,
    whitened,
    without_dependent,
)
from fenchel.convex.certification.dual_point import OnTable
from fenchel.convex.certification.rounding import PAIRS, TREE, UNDERFLOW, U, down, gamma, up
from fenchel.convex.certification.verified_solve import VerifiedFactor
from fenchel.convex.loss.base import PiecewiseLinear
from fenchel.convex.loss.distance import Distance
from fenchel.convex.penalty import L2, is_nonnegative
from fenchel.data.arrays import is_sparse, to_float64, to_numpy
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


def straight_bound(problem: Problem, point: Point, part: bool = False) -> float:
    """At most the optimum; 0 where nothing is proved. θ lies beside the rows. part: as in
    `newton_bound`."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        return _bound(problem, point, part)


def _bound(problem: Problem, point: Point, part: bool) -> float:
    design, loss = problem.table, problem.loss
    assert isinstance(loss, PiecewiseLinear)
    stat = _PieceSums(loss, point, isinstance(loss, Distance))
    pulled, sums, plain = design.blocks.reduce(stat)
    S, M = design.weight, design.blocks.column_sizes
    size, along, value, missed = (float(v) / S for v in plain)
    ridge, pull = ridge_at(problem, point)
    p = np.asarray(pulled.hi[:, 0]) / S
    error = (np.abs(p) + np.abs(pull)) * gamma(8) + PAIRS * 4.0 * M * size + UNDERFLOW
    p = p + pull
    level = float(sums.hi[0, 0]) / S if problem.intercept else 0.0
    level_error = abs(level) * gamma(8) + 4.0 * PAIRS * size
    rows = gamma(design.blocks.longest + TREE) + 64.0 * U
    low = float(sums.hi[0, 1]) / S - rows * along - U * U * design.score_size(point) * size
    low, value = low + ridge * (1.0 - gamma(len(p) + 8)), value + up(ridge, len(p) + 8)
    base = Coordinates.of(problem)
    held = np.zeros(len(p), bool)
    if is_nonnegative(problem.penalty):
        held = (point[0] == 0.0) & (p - error > 1e-9 * M * size)
        base = replace(base, columns=np.flatnonzero(~held))
    found = reach_of_rows(problem, base, p, error, level, level_error, stat.weight, part)
    if found is None:
        return 0.0
    tau, room = found
    if held.any() and not (p[held] - error[held] >= up(tau * room) * M[held]).all():
        return 0.0
    if isinstance(loss, Distance):
        least = min(float(np.min(np.abs(end))) for end in loss.dual_interval(np.zeros(1)))
        far = 2.0 * (up(value * (1.0 + rows)) / least + loss.dead_zone)
        return max(down(low - up(tau * far, 4), 4), 0.0)
    if tau > 1.0:
        return 0.0
    return max(down(low - up(tau * missed * (1.0 + rows), 4), 4), 0.0)


def ridge_at(problem: Problem, point: Point) -> tuple[float, Floats]:
    """λ|u|²/2 and λu."""
    u = np.asarray(point[0], np.float64)
    lam = problem.penalty.lam if isinstance(problem.penalty, L2) else 0.0
    return 0.5 * lam * float(u @ u), lam * u


def row_weights(block: Block) -> Floats:
    """s of each row: h = 1."""
    return np.ones(block.n_rows) if block.weight is None else to_numpy(to_float64(block.weight))


def reach_of_rows(
    problem: OnTable,
    base: Coordinates,
    p: Floats,
    error: Floats,
    level: float,
    level_error: float,
    weight: Callable[[Block], Floats],
    part: bool,
) -> tuple[float, float] | None:
    """τ = max |x̃·t| for Gt = (p, ρ), which are known up to their errors, G = Σ s h x̃x̃'/S with
    `weight` s h of the rows of a block; and the largest h. None where G is not known to be positive
    definite on what it is asked for."""
    design = problem.table
    coordinates, eta = base, gamma(design.blocks.longest + TREE) + 32.0 * U
    for _ in range(4):
        if not coordinates.count + problem.intercept:
            return 0.0, 1.0
        gram = _PieceGram(weight, coordinates, problem.intercept)
        H = np.asarray(design.blocks.reduce(gram)) / design.weight
        if not np.isfinite(H).all():
            return None
        factor = VerifiedFactor.of(H, eta)
        if factor is None and not coordinates.count:
            return None
        if factor is None:
            fewer = None
            if coordinates.T is None:
                reduce = resolved if part else without_dependent
                fewer = reduce(problem, coordinates, H)
            coordinates = whitened(coordinates, H) if fewer is None else fewer
            continue
        g, e = coordinates.gradient(p, error, level, level_error, problem.intercept)
        square = factor.square(g, e)
        return factor.reach(square, coordinate_sizes(problem, coordinates)), 1.0
    return None


@dataclass(frozen=True, slots=True, eq=False)
class _PieceSums:
    """A statistic: Φ*(sθ) and (Σ sθ, Σ s(θr - w|θ|)) in pairs; Σ s|θ|, the size of the terms of the
    second sum, Σ s l(y, z) and Σ s h|r|."""

    loss: PiecewiseLinear
    point: Point
    residual: bool

    def __call__(self, block: Block) -> Totals:
        X = block.X.astype(np.float64) if is_sparse(block.X) else to_numpy(block.X)
        y, theta = to_numpy(block.y), to_numpy(block.aux["dual"])
        s = np.ones(len(y)) if block.weight is None else to_numpy(block.weight)
        matrix, ones = OzakiMatrix.of(X), OzakiMatrix.of(np.ones((len(y), 1)))
        w, b = self.point
        z = matrix.forward(DoubleDouble.of(np.asarray(w, np.float64)[:, None])).plus(
            np.full((len(y), 1), float(b))
        )
        r, e = two_sum(z.hi[:, 0], -y)
        r = r + (e + z.lo[:, 0])
        low, high = self.loss.dual_interval(y)
        theta = np.where(s > 0.0, np.clip(theta, low, high), 0.0)
        flat = self.loss.dead_zone * np.abs(theta)
        pair = DoubleDouble(*two_product(theta, s))
        term, rest = two_product(s * theta, r)
        both = DoubleDouble(
            np.stack([pair.hi, term - s * flat], axis=1), np.stack([pair.lo, rest], axis=1)
        )
        loss = (
            self.loss.phi(r) if isinstance(self.loss, Distance) else self.loss.value(y, z.hi[:, 0])
        )
        return Totals(
            matrix.adjoint(DoubleDouble(pair.hi[:, None], pair.lo[:, None])),
            ones.adjoint(both),
            np.array(
                [
                    np.sum(np.abs(pair.hi)),
                    np.sum(np.abs(term) + s * flat),
                    np.sum(np.where(s > 0.0, s * loss, 0.0)),
                    np.sum(np.where(s > 0.0, s * self.room(y, theta) * np.abs(r), 0.0)),
                ]
            ),
        )

    def weight(self, block: Block) -> Floats:
        """s h of each row."""
        s = np.ones(block.n_rows) if block.weight is None else to_numpy(block.weight)
        y, theta = to_numpy(block.y), to_numpy(block.aux["dual"])
        low, high = self.loss.dual_interval(y)
        return np.asarray(s * self.room(y, np.clip(theta, low, high)))

    def room(self, y: Floats, theta: Floats) -> Floats:
        """h: how far θ may move on its straight piece of l*; 1 for residuals, which do not move."""
        if self.residual:
            return np.ones_like(theta)
        low, high = self.loss.dual_interval(y)
        found: Any = np.minimum(theta - low, high - theta)
        return np.asarray(np.maximum(found, 0.0))


@dataclass(frozen=True, slots=True, eq=False)
class _PieceGram:
    """The statistic Σ s h z̃z̃'."""

    weight: Callable[[Block], Floats]
    coordinates: Coordinates
    intercept: bool

    def __call__(self, block: Block) -> Floats:
        Z = self.coordinates.rows(block.X)
        if self.intercept:
            Z = np.concatenate([Z, np.ones((len(Z), 1))], axis=1)
        half = Z * np.sqrt(self.weight(block))[:, None]
        return np.asarray(half.T @ half)
