"""A bound from Newton's decrement, for smooth losses that hardly any penalty holds.

    P* ≥ P(u) - g'H⁻¹g / (2(1 - τ)²)
    g = ∇P(u),   H = Σ s h x̃x̃'/S + λ I,   Ht = g,   τ ≥ maxᵢ|x̃ᵢ·t|

x̃ = (x, 1), the last entry where b is free and without λ. Proof: θ′ = l'(y, z) - h x̃·t is a dual
point with Φ*(sθ′)/S = -λ(u - t) and Σ sθ′ = 0 exactly. Its conjugate is at most l*(y, l') - z h
x̃·t + h (x̃·t)²/(2(1 - τ)²) (`Loss.inner_curvature`), and Fenchel and Young turn -Σ s l*(y, l')
into Σ s l(y, z) - ⟨Φ*(sl'), u⟩. So the bound is that of a feasible dual point which is never made.
For a quadratic loss τ = 0; the error of H is of no account where it is verified.

u need not be the point that is certified: a bound belongs to no point. Newton's steps u - t make g
as small as rounding allows.

Columns that are nearly dependent are made orthogonal first, x̃ ↦ T'x̃ in pairs of floats, so that H
is known along every direction; columns that are exactly dependent are left out, which changes no
score.

Reference: Boyd and Vandenberghe, Convex Optimization (2004), section 9.6 (self-concordance).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certification.coordinates import (
    Coordinates,
    coordinate_sizes,
    curvature_matrix,
    resolved,
    whitened,
    without_dependent,
)
from fenchel.convex.certification.dual_point import DualPoint
from fenchel.convex.certification.float_sums import GapEvidence
from fenchel.convex.certification.rounding import U, down, gamma, up
from fenchel.convex.certification.verified_solve import VerifiedFactor
from fenchel.convex.loss.distance import Square
from fenchel.convex.loss.multiclass import Joint
from fenchel.convex.penalty import L2, is_nonnegative
from fenchel.data.design.matrix import MatrixDesign, Point

if TYPE_CHECKING:
    from fenchel.convex.problem import Problem

Floats = NDArray[np.float64]
Look = Callable[[Point, bool], GapEvidence]
STEPS = 8  # Newton's method doubles the digits: from one to all of float64 in five
ORDER = 2500  # unknowns up to which a factor and its inverse take about two seconds
TRIES = 6  # coordinates, or distances from the joints of l″
SHORT = 0.125  # τ up to which 1/(1 - τ)² is near one


@dataclass(frozen=True, slots=True, eq=False)
class Gradient:
    """∇P at a point in some coordinates, class after class, and its error."""

    g: Floats
    error: Floats


def newton_bound(
    problem: Problem, point: Point, look: Look, enough: float, part: bool = False
) -> float:
    """At most the optimum; 0 where nothing is proved.

    look: the evidence at a point without centring, in pairs of floats or not; enough: a gap
    relative to the value that needs no better bound; part: at most the optimum over the directions
    of w along which the rows move by more than the rounding of their entries, where there are
    others.
    """
    joint = problem.outputs is not None
    if not isinstance(problem.design, MatrixDesign) or (is_nonnegative(problem.penalty) and joint):
        return 0.0
    if (problem.design.dimension + 1) * (problem.outputs or 1) > ORDER:
        return 0.0
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        return _newton_bound(problem, point, look, enough, part)


def _newton_bound(problem: Problem, point: Point, look: Look, enough: float, part: bool) -> float:
    best, pairs, before, u = 0.0, False, math.inf, point
    held = np.zeros(0, np.int64)
    coordinates: Coordinates | None = None
    for _ in range(STEPS):
        seen = look(u, pairs)
        low = seen.value.value - seen.value.error
        if not math.isfinite(low) or not isinstance(seen.dual, DualPoint):
            return best
        if coordinates is None:
            coordinates = Coordinates.of(problem)
            if is_nonnegative(problem.penalty):
                held = _held(problem, u, seen)
                columns = np.setdiff1d(coordinates.columns, held)
                coordinates = Coordinates(coordinates.centre, columns)
            if part:
                coordinates = _resolved(problem, u, coordinates)
            if coordinates is None:
                return best
        found = _decrement(problem, u, seen, coordinates)
        if found is None:
            return best
        coordinates, step, decrement, reach, far = found
        if reach <= SHORT and _stay_held(problem, seen, held, far):
            best = max(best, down(low - up(0.5 * decrement / (1.0 - reach) ** 2, 8), 4))
        size = enough * abs(seen.value.value)
        if low - best <= size and seen.value.error <= size:
            break
        if decrement > 0.25 * before or (not pairs and decrement <= seen.value.error):
            if pairs:
                break
            pairs = True  # rounding is what is left
        before = decrement
        u = (u[0] - step[0], u[1] - step[1])
    return best


def _resolved(problem: Problem, u: Point, coordinates: Coordinates) -> Coordinates | None:
    """The directions along which the rows move by more than the rounding of their entries; None
    where all do."""
    if isinstance(problem.loss, Joint):
        one = u[0][:, 0], float(u[1][0])
        H, _ = curvature_matrix(replace(problem, loss=Square()), one, coordinates, 0.0)
    else:
        H, _ = curvature_matrix(problem, u, coordinates, 0.0)
    if not np.isfinite(H).all() or not coordinates.count:
        return None
    return resolved(problem, coordinates, H)


def _held(problem: Problem, u: Point, seen: GapEvidence) -> NDArray[np.int64]:
    """Coefficients that the constraint w ≥ 0 holds at zero beyond doubt."""
    dual = seen.dual
    assert isinstance(dual, DualPoint) and isinstance(problem.design, MatrixDesign)
    clear = dual.v - dual.error > 1e-9 * problem.design.blocks.column_sizes * seen.size[0]
    return np.flatnonzero((u[0] == 0.0) & clear)


def _stay_held(problem: Problem, seen: GapEvidence, held: NDArray[np.int64], far: float) -> bool:
    """Whether Φ*(sθ′) is positive for those: |Σ s h (x̃·t) xⱼ| ≤ τ sup l″ Mⱼ."""
    dual = seen.dual
    assert isinstance(dual, DualPoint) and isinstance(problem.design, MatrixDesign)
    if not len(held):
        return True
    curved = problem.loss.smoothness
    if problem.loss.is_exponential:  # of which l″ = |l'|
        curved = seen.steep * math.exp(min(2.0 * seen.zeta, 700.0))
    move = up(far * curved, 4) * problem.design.blocks.column_sizes[held]
    return bool((dual.v[held] - dual.error[held] >= move).all())


def _strength(problem: Problem) -> float:
    """λ."""
    return problem.penalty.lam if isinstance(problem.penalty, L2) else 0.0


def _decrement(
    problem: Problem, u: Point, seen: GapEvidence, coordinates: Coordinates
) -> tuple[Coordinates, Point, float, float, float] | None:
    """Newton's step, g'H⁻¹g and τ, each at most, in coordinates where H is known; and the largest
    |x̃·t|, which τ is but where l* is a parabola wherever the step may lead, τ = 0, or may lead out
    of one, τ = inf."""
    reach = 1e-6 * max(seen.steep, U)  # of kinks in the slope; tried afterwards
    found = None
    for _ in range(TRIES):
        H, eta = curvature_matrix(problem, u, coordinates, reach)
        lam = _strength(problem)
        whole = _with_ridge(problem, H, coordinates, lam)
        if not len(whole):
            return coordinates, _step(problem, coordinates, np.zeros(0)), 0.0, 0.0, 0.0
        factor = VerifiedFactor.of(whole, eta) if np.isfinite(whole).all() else None
        if factor is None:
            if not np.isfinite(H).all() or not coordinates.count or found is not None:
                return found
            own = _one_block(problem, H, coordinates)
            fewer = None
            if coordinates.T is None and lam == 0.0:
                fewer = without_dependent(problem, coordinates, own)
            coordinates = whitened(coordinates, own) if fewer is None else fewer
            continue
        sizes = coordinate_sizes(problem, coordinates)
        gradient = _gradient(problem, u, seen, coordinates, sizes, lam)
        square = factor.square(gradient.g, gradient.error)
        t = factor.solve(gradient.g)
        if isinstance(problem.loss, Joint):
            sizes = np.tile(sizes, len(gradient.g) // len(sizes))
        far = tau = factor.reach(square, sizes)
        inside = tau <= reach or problem.loss.is_quadratic
        if problem.loss.is_piecewise_quadratic:
            tau = 0.0 if inside else math.inf
        elif isinstance(problem.loss, Joint):
            tau *= 2.0  # of differences of two scores
        found = coordinates, _step(problem, coordinates, t), square, tau, far
        if math.isfinite(tau):
            return found
        reach = 2.0 * far  # rows nearer to a joint than that are left out of H
    return found


def _one_block(problem: Problem, H: Floats, coordinates: Coordinates) -> Floats:
    """The curvature matrix of one score, or the sum of those of all classes."""
    if not isinstance(problem.loss, Joint):
        return H
    K, size = problem.outputs or 1, coordinates.count + problem.intercept
    whole = H.reshape(K, size, K, size)
    return np.asarray(sum(whole[k, :, k, :] for k in range(K)))


def _with_ridge(problem: Problem, H: Floats, coordinates: Coordinates, lam: float) -> Floats:
    """H with λ on the slopes; of K classes without a penalty the last is left out, since one vector
    added to all changes nothing."""
    count, size = coordinates.count, coordinates.count + problem.intercept
    K = problem.outputs if isinstance(problem.loss, Joint) else None
    if K is None:
        whole = H.copy()
        whole[:count, :count] += coordinates.ridge(lam)
        return whole
    if lam == 0.0:
        return H[: (K - 1) * size, : (K - 1) * size].copy()
    whole = H.copy()
    ridge = coordinates.ridge(lam)
    for k in range(K):
        at = slice(k * size, k * size + count)
        whole[at, at] += ridge
    if problem.intercept:  # only the sum of the intercepts' shifts is flat: hold the last one
        whole[-1, :] = whole[:, -1] = 0.0
        whole[-1, -1] = 1.0
    return whole


def _gradient(
    problem: Problem,
    u: Point,
    seen: GapEvidence,
    coordinates: Coordinates,
    sizes: Floats,
    lam: float,
) -> Gradient:
    dual = seen.dual
    assert isinstance(dual, DualPoint) and isinstance(problem.design, MatrixDesign)
    p = (dual.v + lam * u[0]).reshape(len(u[0]), -1)
    error = (dual.error + np.abs(lam * u[0]) * gamma(4)).reshape(p.shape)
    parts = []
    for k in range(p.shape[1]):
        g, e = coordinates.gradient(
            p[:, k],
            error[:, k],
            float(seen.level[k]),
            float(seen.level_error[k]),
            problem.intercept,
        )
        parts.append((g, e + seen.slip[k] * sizes))
    joint = isinstance(problem.loss, Joint)
    if joint and lam == 0.0:
        parts = parts[:-1]
    g, e = np.concatenate([part[0] for part in parts]), np.concatenate([p[1] for p in parts])
    if joint and lam > 0.0 and problem.intercept:
        g[-1] = e[-1] = 0.0
    return Gradient(g, e)


def _step(problem: Problem, coordinates: Coordinates, t: Floats) -> Any:
    if not isinstance(problem.loss, Joint):
        return coordinates.back(t, problem.intercept)
    K, size = problem.outputs or 1, coordinates.count + problem.intercept
    t = np.concatenate([t, np.zeros(K * size - len(t))]).reshape(K, size)
    parts = [coordinates.back(part, problem.intercept) for part in t]
    return np.stack([w for w, _ in parts], axis=1), np.array([b for _, b in parts])
