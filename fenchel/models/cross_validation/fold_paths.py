"""Regularisation paths, one a fold: the fits of a grid of penalties and their scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.problem import Problem
from fenchel.data.blocks import Blocks
from fenchel.data.design.matrix import MatrixDesign, Point
from fenchel.solve.minimise import minimise
from fenchel.solve.select import solver_named
from fenchel.solve.solver import State

Floats = NDArray[np.float64]
TINY = (
    2**12
)  # entries of a table up to which coefficients in folds, which are shown, get all digits


@dataclass(frozen=True, slots=True)
class PathPoint:
    """One fit of a path: its point, its proved relative gap, and the steps that it took."""

    point: Point
    gap: float
    steps: int


def fit_path(
    rows: Blocks,
    values: Floats,
    build: Callable[[MatrixDesign, float], Problem],
    solver: str,
    tol: float,
    max_steps: int,
) -> list[PathPoint]:
    """One fit for each value of the penalty, in that order; each starts where the last one ended,
    with its curvature."""
    path: list[PathPoint] = []
    last: State | None = None
    design = MatrixDesign(rows)
    for value in values.tolist():
        problem = build(design, value)
        chosen = solver_named(solver, problem, tol)
        solution = minimise(problem, chosen, tol=tol, max_steps=max_steps, start=last, polish=TINY)
        last = solution.state
        path.append(PathPoint(solution.point, solution.certificate.relative_gap, solution.steps))
    return path


@dataclass(frozen=True, slots=True)
class FoldPaths:
    """What the fits in all folds gave: arrays (folds, ratios, values, ...); coefs have two more
    axes, the planes and their coefficients."""

    coefs: Floats
    scores: Floats
    gaps: Floats
    steps: NDArray[np.int32]

    def best(self) -> tuple[int, int]:
        """Numbers of the value and of the ratio with the best mean score; of equals the first
        value, as in scikit-learn. A fold in which a score is not defined does not count."""
        undefined = np.isnan(self.scores).any(axis=(1, 2))
        if undefined.all():
            raise ValueError(
                "the score is not defined (NaN) in any fold: use fewer folds, or another scoring"
            )
        return _first(self.scores[~undefined].mean(axis=0))

    def best_by_fold(self) -> list[tuple[int, int]]:
        """The same for each fold alone."""
        return [_first(np.where(np.isnan(scores), -np.inf, scores)) for scores in self.scores]

    def by_class(
        self, labels: NDArray[Any], *, ratios: bool
    ) -> tuple[dict[Any, Floats], dict[Any, Floats], NDArray[np.int32]]:
        """Coefficients and scores by class and steps, in scikit-learn's shapes up to 1.9; ratios:
        whether their axis is kept."""
        coefs, scores = self.coefs.swapaxes(1, 2), self.scores.swapaxes(1, 2)
        steps = self.steps.swapaxes(1, 2)
        if not ratios:
            coefs, scores, steps = coefs[:, :, 0], scores[:, :, 0], steps[:, :, 0]
        by_label = {label: coefs[..., k, :].copy() for k, label in enumerate(labels)}
        return by_label, {label: scores.copy() for label in labels}, steps[None].copy()


def _first(scores: Floats) -> tuple[int, int]:
    value, ratio = np.unravel_index(int(np.argmax(scores.T)), scores.T.shape)
    return int(value), int(ratio)
