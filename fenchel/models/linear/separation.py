"""Data that a hyperplane separates have no finite unpenalised optimum: the proof is the plane."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from scipy.optimize import linprog

from fenchel.convex.certificate import warn_outside
from fenchel.convex.problem import Problem
from fenchel.data.arrays import Array, to_float64, to_numpy
from fenchel.data.blocks import Totals
from fenchel.data.design.matrix import Point
from fenchel.solve.minimise import Solution

Floats = NDArray[np.float64]
PATIENCE = 12  # Newton needs fewer steps where an optimum exists
LARGEST = 3e7  # entries of the linear program


@dataclass(frozen=True, slots=True)
class Separation:
    """A direction (w, b) along which no row's loss rises and some row's falls for ever.

    margin: the least of yᵢ(xᵢ·w + b), or of the score of the right class above the next one:
    positive where the separation is complete, zero where rows lie on the plane itself.
    touching: how many rows do. columns: those that the direction uses.
    """

    direction: Point
    margin: float
    touching: int
    columns: tuple[int, ...]

    @property
    def complete(self) -> bool:
        return self.margin > 0.0


class MinTuple(tuple[Any, ...]):
    """The least of several numbers: `+` takes the smaller, entry by entry."""

    __slots__ = ()

    def __add__(self, other: Any) -> MinTuple:
        return MinTuple(min(a, b) for a, b in zip(self, other, strict=True))


def row_margins(y: Array, z: Array) -> Array:
    """yᵢzᵢ, or the score of the right class above the best of the others."""
    if z.ndim == 1:
        return y * z
    xp = array_namespace(z)
    right = xp.arange(z.shape[1], device=z.device)[None, :] == y[:, None]
    own = xp.sum(xp.where(right, z, 0.0), axis=1)
    return own - xp.max(xp.where(right, -xp.inf, z), axis=1)


def least_margin(problem: Problem, point: Point) -> float:
    """The least margin of the rows that have weight, in float64."""

    def rows(y: Array, scores: list[Array], s: Array | None) -> tuple[Array, Totals]:
        margin = row_margins(to_float64(y) if scores[0].ndim == 1 else y, scores[0])
        xp = array_namespace(margin)
        if s is not None:
            margin = xp.where(s > 0, margin, xp.inf)
        return 0.0 * scores[0], Totals(MinTuple((float(xp.min(margin)),)))

    return float(problem.design.sweep([point], rows, exact=True)[2][0])


def find_separation(problem: Problem, point: Point, step: int) -> list[Separation]:
    """A proof of separation if the fit has reached one: at most one entry."""
    if step < 2:
        return []
    least = least_margin(problem, point)
    if least > 0.0:
        w, b = point
        return [Separation((w / least, b / least), 1.0, 0, _used(w))]
    if step == PATIENCE:
        return _separation_lp(problem)
    return []


def _used(w: Floats) -> tuple[int, ...]:
    size = np.abs(w) if w.ndim == 1 else np.abs(w).max(axis=1)
    return tuple(int(j) for j in np.flatnonzero(size > 1e-9 * max(size.max(), 1e-300)))


def _separation_lp(problem: Problem) -> list[Separation]:
    """Quasi-complete separation by a linear program: max Σ mᵢ(v), 0 ≤ mᵢ(v), -1 ≤ v ≤ 1.

    Reference: Konis, 2007.
    """
    design, K = problem.table, problem.outputs
    d, n = design.dimension, design.n_rows
    size = d + problem.intercept
    if not design.blocks.local or n * size * ((K or 1) ** 2) > LARGEST:
        return []
    whole = design.blocks.map(lambda block: block).gather()
    X = to_numpy(whole.X.toarray() if design.blocks.sparse else whole.X)
    scale = np.abs(X).max(axis=0)
    X = X / np.where(scale > 0, scale, 1.0)
    rows = np.hstack([X, np.ones((n, 1))]) if problem.intercept else X
    y = to_numpy(whole.y)
    if whole.weight is not None:
        rows, y = rows[to_numpy(whole.weight) > 0], y[to_numpy(whole.weight) > 0]
    if K is None:
        M = rows * y[:, None]
    else:
        M = np.concatenate([_against(rows, y, k, K) for k in range(K)])
    answer = linprog(-M.sum(axis=0), A_ub=-M, b_ub=np.zeros(len(M)), bounds=(-1.0, 1.0))
    if answer.status != 0 or -answer.fun <= 1e-7:
        return []
    margins = M @ answer.x
    if margins.min() < -1e-9 or margins.max() <= 1e-7:
        return []
    v = answer.x.reshape((size,) if K is None else (K, size)).T
    w = v[:d] / (np.where(scale > 0, scale, 1.0) if K is None else scale[:, None])
    b = v[d] if problem.intercept else problem.origin()[1]
    return [Separation((w, b), 0.0, int((margins <= 1e-9).sum()), _used(w))]


def _against(rows: Floats, y: NDArray[Any], k: int, K: int) -> Floats:
    """The rows of other classes as constraints: own score above that of class k."""
    here = np.flatnonzero(y != k)
    out = np.zeros((len(here), K, rows.shape[1]))
    out[np.arange(len(here)), y[here].astype(int)] = rows[here]
    out[:, k] -= rows[here]
    return out.reshape(len(here), -1)


def warn_separated(
    estimator: Any, problem: Problem, solution: Solution[Point], found: Separation
) -> Solution[Point]:
    """The warning, and the solution to keep: a finite plane, never marked as converged."""
    names = vars(estimator).get("feature_names_in_")
    shown = [str(j) if names is None else str(names[j]) for j in found.columns[:8]]
    more = "" if len(found.columns) <= 8 else f" and {len(found.columns) - 8} more"
    how = (
        "completely: every row lies on its own side"
        if found.complete
        else f"quasi-completely: {found.touching} rows lie on the plane, the others beyond it"
    )
    remedy = "Give it a penalty."
    if "C" in estimator.get_params():
        remedy = "separation_ holds the direction that proves it. Set a finite C."
    warn_outside(
        f"the classes are separated {how} (columns {', '.join(shown)}{more}), so without a penalty "
        f"no finite optimum exists. {remedy}"
    )
    point = found.direction if found.complete else solution.point
    value = problem.known_value(point).value
    final = replace(solution.certificate, value=value, bound=0.0, kind="duality")
    return replace(
        solution,
        point=point,
        certificate=final,
        converged=False,
        reason="the classes are separated",
    )
