"""The proof where nothing but the data holds the coefficients: Φ*(sθ) = 0, to the last digit.

Such a θ is made by Newton's step in the dual: θ + l″ΦΔ, with Δ solving that equation. Rounding
leaves p = Φ*(sθ) and the bound pays for it, since for u = w + Δ and the optimum (w*, b*)

P(w*, b*) ≥ -Σ s l*(y, θ) + ⟨p, u⟩ - ‖p‖‖u - w*‖    (b and Σ sθ being one more entry of w and p)

in dual norms of the curvature H. For a quadratic loss ‖w - w*‖²/2 is the gap itself, so this is
proved; for the others ‖w - w*‖ is taken as ten times the Newton step. Nearly dependent columns
are first made orthogonal, so that p is measured along every direction that float64 can tell from
none. Directions along which the scores change by about 1e-14 of the columns' length are flat.

The same holds with λ|w|²/2, for p = Φ*(sθ) + λu and less λ|u|²/2. It serves where λ is so small
against the columns that |Φ*(sθ)|²/(2λ) is all rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from scipy import linalg

from fenchel.convex.certificate import Certificate
from fenchel.convex.distance import Distance, Square
from fenchel.convex.hessian import Factor, column_centre, curvature
from fenchel.convex.loss import Bent
from fenchel.convex.margin import SquareMargin
from fenchel.convex.penalty import L2, is_bounded
from fenchel.data.arrays import Array, double, host, is_sparse, like
from fenchel.data.blocks import Block, Totals, free_memory
from fenchel.data.design import MatrixDesign, Point, Rows
from fenchel.data.products import adjoint
from fenchel.data.sweep import DualRows

if TYPE_CHECKING:
    from fenchel.convex.problem import Problem

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
EPS = float(np.finfo(np.float64).eps)
LEFT = 1e-9  # of θ's size may be left of Φ*(sθ); more, and no Newton step could reach zero
WELL = 1e-4  # the least pivot of a factor that needs no other coordinates


def certify_unpenalised(problem: Problem, point: Point, given: bool) -> Certificate:
    """The certificate of a problem without a penalty, or with the constraint w ≥ 0.

    given: the dual point lies beside the target, to be checked and not made. Where none is found,
    the bound is Σ s inf l(y, ·).
    """
    w = point[0]
    bounded = is_bounded(problem.penalty)
    active = w > 0.0 if bounded else np.ones(len(w), bool)
    if isinstance(problem.design, MatrixDesign) and _fits(problem) and active.ndim == 1:
        for _ in range(5):
            setting = _setting(problem, point, active, bounded, given)
            found = None if setting is None else _correct(setting)
            if setting is None or found is None:
                break
            pushed = _pushed(setting, found, active)
            if not pushed.any():
                return _settle(setting, found, point)
            # A coefficient that wants to leave zero is one more equation for θ to satisfy.
            active = active | pushed
    return _without(problem, point)


def _without(problem: Problem, point: Point) -> Certificate:
    """The certificate of θ = 0, which every problem allows."""
    return problem.close(point, _at_zero(problem, point), 0.0)


def _at_zero(problem: Problem, point: Point) -> Totals:
    """The sums of θ = 0, whether or not another dual point lies beside the target."""
    loss, tally = problem.loss, problem.tally()

    def rows(y: Array, scores: list[Array], s: Array | None) -> tuple[Array, Totals]:
        nothing = 0.0 * scores[0]
        return nothing, tally(y, scores[0], loss.value(y, scores[0]), nothing, s)

    _, _, *sums = problem.design.sweep([point], rows, exact=True)
    return Totals(*sums)


def sharpen(problem: Problem, point: Point, plain: Certificate, rest: Floats) -> Certificate:
    """A better certificate where the plain one has lost its gap |∇P|²/(2λ) in rounding.

    rest: |∇P| in w, at most 1e-10 of what its sum was made from; |l'|² ≤ 2 l sup l″ tells that.
    """
    lost = float(np.vdot(rest, rest)) / (2.0 * _ridge(problem))
    if lost < 0.1 * plain.gap or not isinstance(problem.design, MatrixDesign) or not _fits(problem):
        return plain
    lengths = _lengths(problem.design)
    size = math.sqrt(2.0 * problem.loss.smoothness * plain.value)
    if rest.ndim == 2:
        rest = rest.max(axis=1)
    if not (rest <= 0.1 * LEFT * size * lengths).all():
        return plain
    setting = _setting(problem, point, np.ones(len(lengths), bool), False, False)
    found = None if setting is None or setting.T is not None else _correct(setting)
    if setting is None or found is None:
        return plain
    sharp = _settle(setting, found, point)
    return sharp if sharp.bound > plain.bound else plain


def _fits(problem: Problem) -> bool:
    size = problem.design.dimension * (problem.outputs or 1)
    return 48.0 * size * size < free_memory()


@dataclass(frozen=True, slots=True)
class Frame:
    """Rows in new coordinates, (x - centre) T - offset: orthonormal columns for the active
    coefficients, then those held at zero in units of their length. level·w is the score that the
    new rows lack, flat directions included."""

    T: Floats
    inverse: Floats
    centre: Floats
    offset: Floats
    level: Floats

    def rows(self, block: Block) -> Block:
        X = double(block.X)
        if self.centre.any():  # never where rows are sparse
            X = X - like(self.centre, X)
        X = X @ like(self.T, X)
        X -= like(self.offset, X)
        return replace(block, X=X)

    def point(self, point: Point) -> Point:
        w, b = point
        return self.inverse @ w, b + self.level @ w


def _frame(problem: Problem, active: Mask) -> tuple[Frame, int] | None:
    """The frame, and how many of its coordinates the active coefficients span.

    Two rounds: the first leaves lengths below 1e-8 unresolved, as any Gram matrix does, and the
    second measures what the first has made longer. None where squares leave float64.
    """
    d, a = len(active), int(active.sum())
    T = np.eye(d)[:, np.argsort(~active, kind="stable")]
    centre = column_centre(problem)
    frame = Frame(T, T.T, centre, np.zeros(d), centre)
    rest = np.eye(d - a)
    for last in (False, True):
        G, mean = _scatter(problem, frame)
        if not np.isfinite(G).all():
            return None
        length = np.ones(len(G)) if last else np.sqrt(np.maximum(np.diagonal(G), 0.0))
        length[length == 0.0] = 1.0
        if a:
            values, V = linalg.eigh(G[:a, :a] / length[:a, None] / length[:a])
            least = 8.0 * a * EPS * max(values[-1], 1.0)
            keep = (values > least) | (not last)
            root, V = np.sqrt(np.maximum(values, least))[keep], V[:, keep]
            a = len(root)
        else:
            root, V = np.ones(0), np.zeros((0, 0))
        step = linalg.block_diag(V / root, rest) / length[:, None]
        back = linalg.block_diag(root[:, None] * V.T, rest) * length
        frame = Frame(
            frame.T @ step,
            back @ frame.inverse,
            frame.centre,
            (frame.offset + mean) @ step,
            frame.level + mean @ frame.inverse,
        )
    return frame, a


def _scatter(problem: Problem, frame: Frame) -> tuple[Floats, Floats]:
    """Second moments of the rows in a frame, about their mean where the intercept is free."""
    base = problem.design
    assert isinstance(base, MatrixDesign)
    d = frame.T.shape[1]
    design = MatrixDesign(base.blocks.map(frame.rows, d))
    with np.errstate(over="ignore", invalid="ignore"):
        gram: Any = design.gram((np.zeros(d), 0.0), _one, None)
    G, mean = gram[:d, :d] / base.weight, gram[d, :d] / gram[d, d]
    if not problem.intercept:
        return G, 0.0 * mean
    return G - np.outer(mean, mean), mean


@dataclass(frozen=True, slots=True)
class Setting:
    """Where θ is sought: rows and point in the problem's coordinates or, T given, in a frame's."""

    problem: Problem
    design: MatrixDesign
    at: Point
    factor: Factor | None  # of the curvature along the first `free` coordinates
    free: int
    lengths: Floats  # of the problem's columns
    T: Floats | None
    given: bool


@dataclass(frozen=True, slots=True)
class Reached:
    """A dual point: its sums, p = Φ*(sθ) and Σ sθ, the Newton steps to it and their length,
    ‖p‖ in the curvature's dual norm and the size of θ."""

    sums: Totals
    pull: Floats
    level: Any
    step: Point
    far: float
    rest: float
    size: float


def _setting(
    problem: Problem, point: Point, active: Mask, bounded: bool, given: bool
) -> Setting | None:
    design, d = problem.design, len(active)
    assert isinstance(design, MatrixDesign)
    free = replace(problem, penalty=L2(0.0))
    lengths, lam = _lengths(design), _ridge(problem)
    if not np.isfinite(lengths).all():
        return None
    centre = column_centre(free)
    # A column far from zero loses digits in every score, though its centred curvature is well.
    near = bool((np.abs(centre) < (1.0 - 1e-6) * lengths).all())
    if near and not bounded and not given:
        factor = curvature(free, point, centre).factor(lam)
        chol = factor.root.chol
        if chol is not None and np.diagonal(chol).min() > WELL:
            return Setting(problem, design, point, factor, d, lengths, None, False)
    framed = None if lam else _frame(problem, active)
    if framed is None:
        return None
    frame, a = framed
    u, b = frame.point(point)
    rows = design.blocks.map(frame.rows, len(u))
    known = None
    if not given and (a or problem.intercept):
        spanned = rows.map(lambda block: replace(block, X=block.X[:, :a]), a)
        inside = replace(free, design=MatrixDesign(spanned))
        known = curvature(inside, (u[:a], b), np.zeros(a)).factor(0.0)
    return Setting(problem, MatrixDesign(rows), (u, b), known, a, lengths, frame.T, given)


def _correct(setting: Setting) -> Reached | None:
    """Newton's steps in the dual until rounding stops them; None where θ leaves the domain."""
    problem, a, total = setting.problem, setting.free, setting.problem.design.weight
    lam = _ridge(problem)
    loss, tally, given = problem.loss, problem.tally(), setting.given

    def by_gradient(y: Array, scores: list[Array], s: Array | None) -> tuple[Array, Totals]:
        value, theta, bent = loss.evaluate(y, scores[0])
        return sums_of(y, scores[0], value, theta + loss.bend(bent, scores[1]), s)

    def by_dual(
        y: Array, theta: Array, scores: list[Array], s: Array | None
    ) -> tuple[Array, Totals]:
        return sums_of(y, scores[0], loss.value(y, scores[0]), theta, s)

    def sums_of(
        y: Array, z: Array, value: Array, theta: Array, s: Array | None
    ) -> tuple[Array, Totals]:
        r = theta if s is None else theta * (s if theta.ndim == 1 else s[:, None])
        square = float(array_namespace(theta).sum(r * theta))
        return r, Totals(*tally(y, z, value, theta, s), square)

    rows: Rows = DualRows(by_dual) if given else by_gradient
    u, b = setting.at
    step = (np.zeros_like(u), np.zeros_like(b))
    before, far = math.inf, 0.0
    for _ in range(6):
        pull, level, *sums, square = setting.design.sweep([setting.at, step], rows, exact=True)
        if not np.isfinite([sums[1], square]).all():
            return None
        p, level = pull / total, level / total if problem.intercept else 0.0 * level
        if lam:
            p = p + lam * (u + step[0])
        if setting.factor is None:
            rest = math.sqrt(float(np.vdot(p[:a], p[:a]) + np.vdot(level, level)))
            far = math.sqrt(float(np.vdot(u, u) + np.vdot(b, b)))
            break
        dw, db = setting.factor.solve(-p[:a], -level)
        rest = math.sqrt(max(-float(np.vdot(p[:a], dw) + np.vdot(level, db)), 0.0))
        if not rest < 0.5 * before:
            break
        far += rest
        before = rest
        whole = np.zeros_like(u)
        whole[:a] = dw
        step = (step[0] + whole, step[1] + db)
    size = math.sqrt(square / total)
    unit = setting.lengths if setting.T is None else np.ones(len(p))
    left = np.abs(p[:a]) if p.ndim == 1 else np.abs(p[:a]).max(axis=1)
    if (left > LEFT * size * unit[:a]).any() or (np.abs(level) > LEFT * size).any():
        return None
    return Reached(Totals(*sums), p, level, step, far, rest, size)


def _pushed(setting: Setting, found: Reached, active: Mask) -> Mask:
    """Coefficients held at zero whose growth would lower the objective: Φ*(sθ) < 0 there."""
    pushed = ~active
    if pushed.any():
        pushed[pushed] = found.pull[setting.free :] < -1e-12 * found.size
    return pushed


def _settle(setting: Setting, found: Reached, point: Point) -> Certificate:
    problem, (u, b) = setting.problem, setting.at
    total = problem.design.weight
    value, dual, floor = found.sums
    u, b = u + found.step[0], b + found.step[1]
    owed = 0.5 * _ridge(problem) * float(np.vdot(u, u)) - float(np.vdot(found.pull, u))
    if problem.intercept:
        owed -= float(np.vdot(found.level, b - problem.middle))
    reach = 11.0 * found.far + (0.0 if setting.given else found.rest)
    if setting.given and isinstance(problem.loss, Bent) and isinstance(problem.loss, Distance):
        reach = 2.0 * _farthest(problem, value / total)  # the point and the optimum alike
    elif setting.given and isinstance(problem.loss, Bent):
        # A margin of one is a score of one, which a light row makes a long way in the frame.
        reach += 1.0 / math.sqrt(_least_share(problem))
    if isinstance(problem.loss, Square | SquareMargin):
        whole = (value + dual) / total + problem.penalty.value(point[0], problem.design.inner)
        slack = max(whole + owed + found.rest * found.far, 0.0)
        reach = found.far + found.rest + math.sqrt(found.rest**2 + 2.0 * slack)
    charge = found.rest * reach + owed
    held = found.pull[setting.free :]
    charge -= 10.0 * float(np.minimum(held, 0.0).sum()) * float(np.linalg.norm(u) + found.far)
    step, w = found.step[0], point[0]
    if setting.T is not None:
        step = setting.T @ step
    if setting.T is not None:  # there λ = 0; the frame's scores are not those of the point
        value = _at_zero(problem, point)[0]
    # The scores are right to about EPS Σ |x||w|, and so are value and bound.
    spread = (setting.lengths @ (np.abs(w) + np.abs(w + step))).sum() + 2.0 * np.abs(point[1]).sum()
    charge += 4.0 * EPS * found.size * float(spread)
    return problem.close(point, Totals(value, dual, floor), charge)


def _farthest(problem: Problem, value: float) -> float:
    """√Σ s (z - middle)² at most, for scores z whose loss is no larger than this value.

    l(y, z) ≥ m(|z - y| - width - soft m/2), m the lesser slope, bounds Σ s|z - y|; a sum of squares
    is at most that sum squared over the least weight.
    """
    loss, design = problem.loss, problem.design
    assert isinstance(loss, Bent) and isinstance(design, MatrixDesign)
    low, high = loss.slopes(np.zeros(1))
    m = min(-float(low), float(high))
    s = design.weights() / design.weight
    y = design.each(problem.origin(), lambda y, z: y)
    apart = value / m + loss.width + 0.5 * loss.soft * max(-float(low), float(high))
    return (apart + float(s @ np.abs(y - problem.middle))) / math.sqrt(_least_share(problem))


def _least_share(problem: Problem) -> float:
    """The least weight of a row that has any, of weights that sum to one."""
    assert isinstance(problem.design, MatrixDesign)
    s = problem.design.weights()
    return float(s[s > 0.0].min()) / problem.design.weight


def _ridge(problem: Problem) -> float:
    return problem.penalty.lam if isinstance(problem.penalty, L2) else 0.0


def _lengths(design: MatrixDesign) -> Floats:
    """√Σ s x² of each column, infinite where the squares are."""

    def stat(block: Block) -> Floats:
        X = double(block.X)
        s = like(np.ones(block.n_rows), X) if block.weight is None else double(block.weight)
        with np.errstate(over="ignore"):
            return host(adjoint(X.multiply(X).tocsr() if is_sparse(X) else X * X, s))

    return np.sqrt(design.blocks.reduce(stat) / design.weight)


def _one(y: Array, z: Array) -> Array:
    return 0.0 * z + 1.0
