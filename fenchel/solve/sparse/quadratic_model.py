"""The second-order model of the loss on some entries, and its minimum with the L1 penalty added."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.loss.base import Loss
from fenchel.convex.loss.distance import Huber, Square
from fenchel.convex.loss.hinge import ModifiedHuber, SquareMargin
from fenchel.convex.loss.multiclass import Multinomial
from fenchel.data.design.column_access import Index
from fenchel.solve.sparse.lasso_qp import L1L2Part, solve_lasso_qp
from fenchel.solve.sparse.working_set import WorkingSet

Floats = NDArray[np.float64]
GRAM = 4096  # the largest Gram matrix that is kept, where it serves a whole path
ONCE = 1200  # the largest one that is faster than epochs over the columns, where it serves once
# With at most so many values in the columns a larger Gram matrix is still faster than epochs.
WORK = 2**23
EPOCHS = 30


@dataclass(frozen=True, slots=True)
class Iterate:
    """Coefficients of the working set, the intercept, and the scores Au + c."""

    u: Floats
    c: Any
    z: Floats


@dataclass(frozen=True, slots=True)
class Derivatives:
    """The loss's derivatives at a place: θ and its curvature by rows, A'(sθ) and Σ sθ."""

    theta: Floats
    curvature: Floats
    grad_w: Floats
    grad_b: Any


@dataclass(frozen=True, slots=True)
class Hessian:
    """Σ s l″ of some entries, less the intercepts' part (G), with those (C), among those (B)."""

    G: Floats
    C: Floats
    B: Floats


def minimise_model(
    loss: Loss,
    working_set: WorkingSet,
    corners: L1L2Part,
    at: Iterate,
    slopes: Derivatives,
    picked: Index,
    damping: float,
    limit: float,
) -> tuple[Floats, Any]:
    """The change of the picked entries and of the intercepts that minimises the model."""
    if exceeds_gram(loss, working_set, picked):
        return _by_columns(loss, working_set, corners, at, slopes, picked, damping, limit)
    h = _hessian(loss, working_set, picked, at, slopes, damping)
    u, q = at.u.ravel()[picked], slopes.grad_w.ravel()[picked]
    if not working_set.free:
        return solve_lasso_qp(h.G, q, u, corners, limit) - u, 0.0 * at.c
    reach = _inverse(h.B)
    level = np.atleast_1d(slopes.grad_b)
    change = solve_lasso_qp(h.G, q - h.C @ (reach @ level), u, corners, limit) - u
    rise = -(reach @ (level + h.C.T @ change))
    return change, rise if at.u.ndim == 2 else float(rise[0])


def _inverse(B: Floats) -> Floats:
    """The pseudo-inverse of the intercepts' part."""
    if B.size == 1:
        return np.divide(1.0, B, out=np.zeros_like(B), where=B != 0.0)
    return np.asarray(np.linalg.pinv(B, hermitian=True), np.float64)


def exceeds_gram(loss: Loss, working_set: WorkingSet, picked: Index) -> bool:
    """Whether a Gram matrix of these entries takes longer than epochs over their columns."""
    if isinstance(loss, Square | SquareMargin) and len(picked) == working_set.size <= GRAM:
        return False  # made once for a whole path
    work = working_set.columns.n_rows * len(picked)
    return len(picked) > GRAM or (len(picked) > ONCE and work > WORK)


def _hessian(
    loss: Loss,
    working_set: WorkingSet,
    picked: Index,
    at: Iterate,
    slopes: Derivatives,
    damping: float,
) -> Hessian:
    if isinstance(loss, Multinomial):
        return _schur(
            *_joint(working_set, picked, slopes.curvature, damping * loss.smoothness),
            working_set.free,
        )
    if isinstance(loss, Square | SquareMargin):
        bend = loss.smoothness
        if len(picked) == working_set.size <= GRAM:
            means = working_set.level if working_set.free else np.zeros(working_set.size)
            G = working_set.plain_gram()
            G = G if bend == 1.0 else bend * G
            return Hessian(G, bend * means[:, None], np.full((1, 1), bend))
    weight = _weight(loss, working_set, at, slopes, damping)
    C = (
        working_set.adjoint(weight)[picked][:, None]
        if working_set.free
        else np.zeros((len(picked), 1))
    )
    return _schur(
        working_set.gram(picked, weight), C, np.full((1, 1), weight.sum()), working_set.free
    )


def _weight(
    loss: Loss, working_set: WorkingSet, at: Iterate, slopes: Derivatives, damping: float
) -> Floats:
    """s l″, no less than `damping` of a parabola that lies above the loss: rows without curvature
    would let go of w. On a branch that is straight, of slope θ at distance u from its minimum, such
    a parabola has the curvature |θ/u|; elsewhere sup l″ will do.

    Reference: Huber, Robust Statistics (1981), section 7.8.
    """
    y, s, theta = working_set.columns.y, working_set.columns.s, slopes.theta
    above = np.full_like(theta, most_curved(loss, slopes.curvature))
    if isinstance(loss, Huber | ModifiedHuber):
        u = at.z - y
        np.divide(np.abs(theta), np.abs(u), out=above, where=(theta != 0.0) & (u != 0.0))
    return np.asarray(s * np.maximum(slopes.curvature, damping * above))


def most_curved(loss: Loss, bent: Floats) -> float:
    """sup l″, or where that is infinite the largest of these rows."""
    finite = loss.smoothness < np.inf
    return loss.smoothness if finite else float(bent.max(initial=0.0)) or 1.0


def _schur(G: Floats, C: Floats, B: Floats, free: bool) -> Hessian:
    if free:
        G = G - C @ _inverse(B) @ C.T
    return Hessian(np.ascontiguousarray(G), C, B)


def _joint(
    working_set: WorkingSet, picked: Index, P: Floats, least: float
) -> tuple[Floats, Floats, Floats]:
    """Σ s x_j x_j' p_k(δ_kl - p_l) for entries (j, k) and (j', l): one Gram matrix for each class,
    less one of all entries together."""
    s, K = working_set.columns.s, P.shape[1]
    slots, classes = np.divmod(picked, K)
    root = np.sqrt(s)
    G = np.zeros((len(picked), len(picked)))
    C = np.zeros((len(picked), K))
    groups, order = [], []
    for k in np.unique(classes):
        mine = np.flatnonzero(classes == k)
        G[np.ix_(mine, mine)] = working_set.gram(slots[mine], s * (P[:, k] + least))
        groups.append((slots[mine], root * P[:, k]))
        order.append(mine)
        across = -(s * P[:, k])[:, None] * P
        across[:, k] += s * (P[:, k] + least)
        C[mine] = working_set.adjoint(across)[slots[mine]]
    if order:
        together = np.concatenate(order)
        G[np.ix_(together, together)] -= working_set.product(groups)
    B = np.diag(s @ (P + least)) - (P * s[:, None]).T @ P
    return G, C, B


def _by_columns(
    loss: Loss,
    working_set: WorkingSet,
    corners: L1L2Part,
    at: Iterate,
    slopes: Derivatives,
    picked: Index,
    damping: float,
    limit: float,
) -> tuple[Floats, Any]:
    """The same by epochs over the columns themselves, too many for a Gram matrix."""
    from fenchel.solve.sparse.compiled import csc_epoch

    s, n = working_set.columns.s, working_set.columns.n_rows
    w = at.u.ravel()[picked]
    if isinstance(loss, Multinomial):
        least, K = damping * loss.smoothness, loss.n_classes
        slots, classes = np.divmod(picked, K)
        r, h = slopes.theta.T.copy(), slopes.curvature.T.copy()
        own = s * (h * (1.0 - h) + least)
        bend = np.empty(len(picked))
        for k in range(K):
            bend[classes == k] = working_set.squares(slots[classes == k], own[k])
        levels = own.sum(axis=1)
    else:
        K, slots, classes = 1, picked, np.zeros(len(picked), np.int64)
        r, h = (
            (s * slopes.theta)[None].copy(),
            _weight(loss, working_set, at, slopes, damping)[None],
        )
        bend, levels = working_set.squares(slots, h[0]), h.sum(axis=1)
    rise, new = np.zeros(K), w.copy()
    dz = np.zeros((K, n if K > 1 else 0))
    levels = levels if working_set.free else np.zeros(K)
    csc_epoch(
        *working_set.strips(),
        slots.astype(np.int64),
        classes.astype(np.int64),
        r,
        h,
        s,
        dz,
        np.zeros(dz.shape[1]),
        bend,
        levels,
        new,
        rise,
        corners.a,
        corners.b,
        corners.positive,
        limit,
        EPOCHS,
    )
    if not working_set.free:
        return new - w, 0.0 * at.c
    return new - w, rise if at.u.ndim == 2 else float(rise[0])
