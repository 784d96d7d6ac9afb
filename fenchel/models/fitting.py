"""Fitting Σ s l(y, x·w + b) + Ω(w) and writing down what an estimator promises of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate, summed_history
from fenchel.convex.loss.base import PiecewiseLinear
from fenchel.convex.loss.hinge import ModifiedHuber, SquaredHinge
from fenchel.convex.loss.margin import Margin
from fenchel.convex.loss.multiclass import Joint
from fenchel.convex.penalty import L2, is_unpenalised
from fenchel.convex.problem import Problem
from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.blocks import Blocks
from fenchel.data.design.matrix import Point
from fenchel.data.passes.shared_pass import SharedPass
from fenchel.models.labels import one_vs_rest, one_vs_rest_view
from fenchel.models.linear.separation import Separation, find_separation, warn_separated
from fenchel.models.progress import watch
from fenchel.models.rank_deficiency import dependence_named_later, is_solved, least_norm
from fenchel.models.rounding import round_solution
from fenchel.models.targets import set_coefficients
from fenchel.solve.minimise import Solution, minimise

Floats = NDArray[np.float64]
Build = Callable[[Blocks], Problem]


def solve(
    estimator: Any,
    problem: Problem,
    start: Point | None,
    dtype: Any,
    scaling: float | None = None,
) -> Solution[Point]:
    """The optimum by the solver that fits, to the estimator's tol, in the precision of its rows;
    scaling as in `fit_classifier`.

    Without a penalty a plane that separates the classes ends it: the loss vanishes on a longer one,
    or falls for ever.
    """
    found: list[Separation] = []
    free = is_unpenalised(problem.penalty) and isinstance(problem.loss, Margin | Joint)

    def callback(step: int, point: Point, certificate: Certificate) -> bool:
        show(step, point, certificate)
        if free and not isinstance(problem.loss, PiecewiseLinear):
            found.extend(find_separation(problem, point, step))
        return bool(found)

    with watch(estimator.verbose, estimator.tol) as show, dependence_named_later():
        solution = minimise(
            problem,
            tol=estimator.tol,
            max_steps=estimator.max_iter,
            start=start,
            callback=callback,
        )
    if found and isinstance(problem.loss, SquaredHinge | ModifiedHuber) and found[0].complete:
        w, b = found[0].direction
        point = (2.0 * w, 2.0 * b)  # a margin of two, so that rounding leaves one
        proved = replace(problem.certify(point), steps=solution.steps)
        closed = proved.closed(estimator.tol)
        solution = replace(solution, point=point, certificate=proved, converged=closed)
    elif found:
        kept = warn_separated(estimator, problem, solution, found[0])
        return round_solution(problem, kept, dtype, estimator.tol, scaling)
    design = problem.design
    if problem.penalty == L2(0.0) and is_solved(solution):
        wide = design.n_rows <= design.dimension
        if wide or not solution.converged:  # many planes meet all rows alike
            solution = least_norm(problem, solution, estimator.tol, quiet=solution.converged)
    return round_solution(problem, solution, dtype, estimator.tol, scaling)


def fit_classifier(
    estimator: Any,
    blocks: Blocks,
    build: Build,
    factor: float = 1.0,
    scaling: float | None = None,
    dtype: Any = None,
) -> None:
    """One plane for two classes; for more one joint fit, or each class against the rest.

    factor: the estimator's objective over ours; scaling: the constant column, the last,
    that stands for the intercept, if any; dtype: of the coefficients, that of the rows unless
    given.
    """
    K, dtype = len(estimator.classes_), blocks.dtype if dtype is None else dtype
    estimator.loss_ = build(blocks).loss
    joint = isinstance(estimator.loss_, Joint)
    starts = _starts(estimator, blocks.n_cols, K, joint, scaling)
    if joint or K == 2:
        problem = build(blocks)
        solutions = [solve(estimator, problem, starts[0], dtype, scaling)]
        W, b = solutions[0].point
        coef, level = np.atleast_2d(W.T), np.atleast_1d(b)
    else:

        def job(k: int) -> Callable[[Blocks], Solution[Point]]:
            return lambda rows: solve(estimator, build(rows), starts[k], dtype, scaling)

        if blocks.local:
            solutions = [job(k)(one_vs_rest(blocks, k, K)) for k in range(K)]
        else:  # one pass over the rows serves every class
            views = [one_vs_rest_view(k, K) for k in range(K)]
            solutions = SharedPass(blocks).run([job(k) for k in range(K)], views)
        coef = np.stack([s.point[0] for s in solutions])
        level = np.array([s.point[1] for s in solutions])
    if scaling is not None:
        coef, level = coef[:, :-1], scaling * coef[:, -1]
    with np.errstate(over="ignore", under="ignore"):
        if not (np.isfinite(coef.astype(dtype)).all() and np.isfinite(level.astype(dtype)).all()):
            dtype = np.dtype(np.float64)  # no infinity for want of range
        estimator.coef_ = np.ascontiguousarray(coef, dtype=dtype)
    estimator.intercept_ = np.array(level, dtype=dtype)
    estimator.loss_gap_ = float(sum(s.certificate.gap for s in solutions))
    _set_fit_attributes(estimator, solutions, factor)


def fit_regressor(
    estimator: Any,
    blocks: Blocks,
    problem: Problem,
    factor: float = 1.0,
    scaling: float | None = None,
) -> None:
    """One plane for a real target; factor and scaling as in `fit_classifier`."""
    start = None
    if estimator.warm_start and "coef_" in vars(estimator):
        w, b = to_numpy(estimator.coef_), np.ravel(to_numpy(vars(estimator).get("intercept_", 0.0)))
        if w.ndim == 1 and len(b) == 1:
            w, b = _penalised_intercept(w, b[0], scaling)
            start = (w, float(b)) if w.shape == (problem.design.dimension,) else None
    solution = solve(estimator, problem, start, blocks.dtype, scaling)
    w, b = solution.point
    if scaling is not None:
        w, b = w[:-1], scaling * w[-1]
    set_coefficients(estimator, w[:, None], np.array([b]), True, blocks.dtype, ravel=True)
    _set_fit_attributes(estimator, [solution], factor)


def _set_fit_attributes(
    estimator: Any, solutions: Sequence[Solution[Point]], factor: float
) -> None:
    parts = [s.certificate.scaled(factor) for s in solutions]
    histories = [(*s.history[:-1], s.certificate) for s in solutions]
    estimator.certificate_ = reduce(Certificate.__add__, parts)
    estimator.certificates_ = tuple(parts)
    estimator.history_ = tuple(c.scaled(factor) for c in summed_history(histories))
    estimator.converged_ = all(s.converged for s in solutions)
    estimator.n_iter_ = max(1, *(s.steps for s in solutions))


def _penalised_intercept(W: Floats, b: Floats, scaling: float | None) -> tuple[Floats, Floats]:
    """The intercept as the coefficient of a constant column, where one stands for it."""
    if scaling is None:
        return W, b
    return np.concatenate([W, b[..., None] / scaling], axis=-1), 0.0 * b


def _starts(
    estimator: Any, d: int, K: int, joint: bool, scaling: float | None
) -> list[Point | None]:
    """The last fit's planes, where they are wanted and have the shape of these."""
    planes = 1 if K == 2 else K
    if not estimator.warm_start or "coef_" not in vars(estimator):
        return [None] * planes
    coef = estimator.coef_
    W = to_numpy(coef.toarray() if is_sparse(coef) else coef)
    b = np.broadcast_to(np.ravel(to_numpy(vars(estimator).get("intercept_", 0.0))), len(W))
    W, b = _penalised_intercept(W, b, scaling)
    if W.shape != (planes, d):
        return [None] * planes
    if joint:
        return [(W.T, b)]
    return [(w, float(level)) for w, level in zip(W, b, strict=True)]
