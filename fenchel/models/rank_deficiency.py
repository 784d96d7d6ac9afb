"""Linearly dependent columns: a warning that names them, and the coefficients of least norm."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from fenchel.convex.certificate import warn_outside
from fenchel.convex.convergence import DependentColumns
from fenchel.convex.problem import Problem
from fenchel.data.arrays import to_float64
from fenchel.data.blocks import Block, Blocks
from fenchel.data.design.block_products import scores
from fenchel.data.design.matrix import Point
from fenchel.solve.least_squares.result import LeastSquares
from fenchel.solve.least_squares.solve import least_squares
from fenchel.solve.minimise import DEPENDENT, ROUNDING, Solution


class RankDeficient(UserWarning):
    """Some columns are combinations of others; the message names them."""


@contextmanager
def dependence_named_later() -> Iterator[None]:
    """Leaves out the warning of dependent columns, which `least_norm` gives with their names."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DependentColumns)
        yield


def is_solved(solution: Solution[Point]) -> bool:
    """Whether the fit is at an optimum, perhaps over the directions of w that float64 tells
    apart."""
    return solution.converged or solution.reason == DEPENDENT


def warn_dependent(blocks: Blocks, found: LeastSquares) -> None:
    warn_outside(dependence(blocks, found), RankDeficient)


def dependence(blocks: Blocks, found: LeastSquares) -> str:
    """Which columns depend on which, in one sentence."""

    def say(column: int, others: tuple[int, ...]) -> str:
        if not others:
            return f"{blocks.column(column)} is constant"
        several = ", ".join(blocks.column(k) for k in others[:5])
        more = f" and {len(others) - 5} more" if len(others) > 5 else ""
        return f"{blocks.column(column)} is a combination of {several}{more}"

    parts = [say(*pair) for pair in found.dependent[:5]]
    more = len(found.dependent) - len(parts)
    tail = f"; and {more} more" if more else ""
    return (
        f"rank {found.rank} of {blocks.n_cols} columns: {'; '.join(parts)}{tail}. The coefficients "
        "are those of least norm; drop the columns named to make them unique. Where the columns "
        "are combinations up to rounding alone, the certificate is an estimate: it holds over the "
        "directions that float64 tells apart"
    )


def least_norm(
    problem: Problem, solution: Solution[Point], tol: float, *, quiet: bool = False
) -> Solution[Point]:
    """Among the coefficients that give the same scores, those of least norm; a warning where
    there was a choice, unless quiet.

    They are the least squares fit of the scores themselves. For problems without a penalty.
    """
    design = problem.table
    w = solution.point[0]
    found = refit_scores(design.blocks, solution.point, problem.intercept)
    if not found.dependent and design.n_rows > design.dimension:
        return solution
    if found.dependent and not quiet:
        warn_dependent(design.blocks, found)
    intercept = found.intercept if w.ndim == 2 else float(np.ravel(found.intercept)[0])
    point = (found.coef, intercept)
    done = solution.certificate
    if not np.isfinite(found.coef).all():  # beyond float64: the ones at hand are not
        return solution
    proved = problem.certify(point, enough=max(done.relative_gap, ROUNDING))
    # The same scores: a dual point that proved the other coefficients proves these.
    final = replace(proved.with_bound_of(done), steps=done.steps, seconds=done.seconds)
    return replace(solution, point=point, certificate=final, converged=final.closed(tol))


def refit_scores(blocks: Blocks, point: Point, intercept: bool) -> LeastSquares:
    """The least squares fit of a point's own scores: the shortest coefficients that give them."""
    w, b = point

    def scored(block: Block) -> Block:
        X = to_float64(block.X)
        return Block(block.start, X, scores(X, w, b), block.weight)

    return least_squares(blocks.map(scored), intercept)
