"""Newton's step on the support, inside the orthant of the signs of w, where ‖w‖₁ is linear.

Reference: Andrew and Gao, Scalable training of L1-regularized log-linear models, ICML (2007).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.loss.base import Loss
from fenchel.convex.loss.multiclass import Multinomial
from fenchel.solve.smooth.newton_cg import conjugate_gradients
from fenchel.solve.sparse.lasso_qp import L1L2Part
from fenchel.solve.sparse.quadratic_model import Derivatives, Iterate, most_curved
from fenchel.solve.sparse.working_set import WorkingSet

Floats = NDArray[np.float64]
PRODUCTS = 40


def orthantwise_step(
    loss: Loss,
    working_set: WorkingSet,
    corners: L1L2Part,
    at: Iterate,
    slopes: Derivatives,
    value: float,
) -> Iterate | None:
    """A Newton step in the nonzero entries, by conjugate gradients; those that would change their
    sign become zero. None where it does not lower the objective.

    Reference: Andrew and Gao, Scalable training of L1-regularized log-linear models, ICML (2007).
    """
    y, s, free = working_set.columns.y, working_set.columns.s, working_set.free
    u, sign = at.u, np.sign(at.u)
    inside = u != 0.0
    count = int(inside.sum())
    if not count:
        return None
    least = 1e-6 * most_curved(loss, slopes.curvature)

    def opened(p: Floats) -> tuple[Floats, Any]:
        v = np.zeros_like(u)
        v[inside] = p[:count]
        return v, (p[count:] if u.ndim == 2 else float(p[count])) if free else 0.0

    def closed(v: Floats, level: Any) -> Floats:
        return np.concatenate([v[inside], np.atleast_1d(level)]) if free else v[inside]

    def product(p: Floats) -> Floats:
        v, level = opened(p)
        dz = working_set.forward(v) + level
        r = loss.curvature_product(slopes.curvature, dz) + least * dz
        r = s * r if r.ndim == 1 else s[:, None] * r
        return closed(working_set.adjoint(r) + corners.b * v, r.sum(axis=0))

    slope = closed(slopes.grad_w + corners.a * sign + corners.b * u, slopes.grad_b)
    own = (
        slopes.curvature * (1.0 - slopes.curvature)
        if isinstance(loss, Multinomial)
        else slopes.curvature
    )
    own = (s * own if own.ndim == 1 else s[:, None] * own) + least * s.mean()
    diagonal = closed(working_set.all_squares(own) + corners.b, own.sum(axis=0))
    diagonal = np.maximum(diagonal, 1e-300)
    p = conjugate_gradients(product, lambda q: q / diagonal, -slope, 1e-6, PRODUCTS)
    v, level = opened(p)
    t = 1.0
    for _ in range(8):
        new = u + t * v
        new = np.where(new * sign > 0.0, new, 0.0)
        c = at.c + t * level if free else at.c
        z = working_set.forward(new) + c
        if float(s @ loss.value(y, z)) + corners.value(new) < value:
            return Iterate(new, c, z)
        t *= 0.5
    return None
