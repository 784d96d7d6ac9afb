"""Columns that depend on others: said by name, and the coefficients of least norm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fenchel.convex.certificate import warn_outside
from fenchel.convex.problem import Problem
from fenchel.data.arrays import double, like
from fenchel.data.blocks import Block, Blocks
from fenchel.data.design import MatrixDesign, Point
from fenchel.data.products import forward
from fenchel.solve.least_squares import least_squares
from fenchel.solve.minimise import Solution
from fenchel.solve.squares import LeastSquares


class RankDeficient(UserWarning):
    """Some columns are combinations of others; the message names them."""


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
        "are those of least norm; drop the columns named to make them unique"
    )


def least_norm(
    problem: Problem, solution: Solution[Point], *, quiet: bool = False
) -> Solution[Point]:
    """Among the coefficients that give the same scores, those of least norm; a warning where
    there was a choice, unless quiet.

    They are the least squares fit of the scores themselves. For problems without a penalty.
    """
    design = problem.design
    assert isinstance(design, MatrixDesign)
    w = solution.point[0]
    found = same_scores(design.blocks, solution.point, problem.intercept)
    if not found.dependent and design.n_rows > design.dimension:
        return solution
    if found.dependent and not quiet:
        warn_dependent(design.blocks, found)
    intercept = found.intercept if w.ndim == 2 else float(np.ravel(found.intercept)[0])
    point = (found.coef, intercept)
    done = solution.certificate
    proved = problem.certify(point)
    final = replace(proved, steps=done.steps, seconds=done.seconds)
    return replace(solution, point=point, certificate=final)


def same_scores(blocks: Blocks, point: Point, intercept: bool) -> LeastSquares:
    """The least squares fit of a point's own scores: the shortest coefficients that give them."""
    w, b = point

    def scored(block: Block) -> Block:
        X = double(block.X)
        return Block(block.start, X, forward(X, w) + like(b, X), block.weight)

    return least_squares(blocks.map(scored), intercept)
