"""Square loss with corners in its penalty, for one α after another, each begun at the last one.

minimise over (w, b):  Σ sᵢ (yᵢ - xᵢ·w - b)² / (2Σs) + αρ|w|₁ + α(1 - ρ)|w|²/2
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.convex.certification.float_sums import paid
from fenchel.convex.loss.distance import Square
from fenchel.convex.penalty import L1L2, L2, Penalty, elastic_net, is_unpenalised
from fenchel.convex.problem import Problem
from fenchel.data.arrays import Array, to_float64, to_numpy
from fenchel.data.blocks import Block, Blocks
from fenchel.data.design.matrix import MatrixDesign, Point
from fenchel.data.in_memory import ArrayBlocks
from fenchel.models.progress import Show
from fenchel.models.rounding import round_point, round_solution
from fenchel.solve.least_squares.nnls import nonnegative
from fenchel.solve.least_squares.ridge import ridge
from fenchel.solve.minimise import SMALL, minimise
from fenchel.solve.solver import State

Floats = NDArray[np.float64]
FAINT = 1e-12
LOOSEST = 1e-4  # relative gap of fits inside folds: at 1e-2 the scores of neighbours mix up
LEAST = 1e-15  # the grid's α where no column says anything of the target


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """One point of a path and what is proved of it."""

    w: Floats
    b: float
    certificate: Certificate
    history: tuple[Certificate, ...]
    converged: bool
    steps: int


@dataclass(frozen=True, slots=True)
class TargetExtent:
    """The shape of a target and the size of its largest entry, over rows with weight."""

    columns: tuple[int, ...]  # () for a vector
    top: float

    @classmethod
    def of(cls, block: Block) -> TargetExtent:
        if block.y is None:
            raise ValueError("a regression needs a target: pass y, or target= to scan")
        y = np.abs(to_numpy(block.y))
        if block.weight is not None:
            y = y[to_numpy(block.weight) > 0.0]
        return cls(tuple(block.y.shape[1:]), float(y.max(initial=0.0)))

    def __add__(self, other: Any) -> TargetExtent:
        return TargetExtent(self.columns, max(self.top, other.top))

    @property
    def targets(self) -> int:
        return self.columns[0] if self.columns else 1

    @property
    def exponent(self) -> int:
        """e such that y / 2^e has squares well inside float64; 0 where y itself has."""
        usual = 1e-60 < self.top < 1e60 or self.top == 0.0
        return 0 if usual else int(np.frexp(self.top)[1])


def target_rows_of(blocks: Blocks, k: int | None, exponent: int) -> Blocks:
    """The rows with the k-th column of y, or y itself, divided by 2^exponent, for a target."""
    if k is None and exponent == 0:
        return blocks

    def change(y: Array) -> Array:
        y = y if k is None else y[:, k]
        if exponent:  # in two halves: 2^exponent itself may not be a float
            half = exponent // 2
            y = array_namespace(y).astype(y, array_namespace(y).float64)
            y = y * 2.0**-half * 2.0 ** (half - exponent)
        return y

    if blocks.local:  # the rows stay where they lie
        whole = blocks.gather()
        return ArrayBlocks(Block(whole.start, whole.X, change(whole.y), whole.weight), blocks.names)
    return blocks.map_targets(lambda b: Block(b.start, b.X, change(b.y), b.weight))


@dataclass(frozen=True, slots=True)
class ElasticNetPath:
    """What the fits of a path have in common.

    The target was divided by 2^exponent; α, coefficients and certificates are in its own units,
    certificates as far as float64 reaches.
    """

    ratio: float
    intercept: bool = True
    positive: bool = False
    tol: float = 1e-6
    max_steps: int = 1000
    exponent: int = 0
    polish: int = SMALL

    def grid(self, design: MatrixDesign, eps: float, count: int) -> Floats:
        """α from the smallest that makes w = 0 down to eps times that, evenly in its logarithm."""
        if self.ratio == 0.0:
            raise ValueError(
                "Automatic alpha grid generation is not supported for l1_ratio=0. Please supply a "
                "grid by providing your estimator with the appropriate `alphas=` argument."
            )
        problem = Problem(Square(), L2(0.0), design, self.intercept)
        mean = float(design.target[0]) if self.intercept else 0.0
        pull = problem.evaluate((np.zeros(design.dimension), mean), exact=True).grad_w
        top = max(0.0, float(np.max(-pull if self.positive else np.abs(pull)))) / self.ratio
        with np.errstate(over="ignore", under="ignore"):
            top = float(np.ldexp(top, self.exponent))
        if not LEAST * 2.0 ** min(0, self.exponent) < top < np.inf:
            return np.full(count, LEAST)
        return np.geomspace(top, top * eps, num=count)

    def fits(
        self,
        design: MatrixDesign,
        alphas: Iterable[float],
        start: Point | None = None,
        dtype: Any = np.float64,
        show: Show | None = None,
    ) -> list[Fit]:
        """One fit for each α, in the given order; coefficients rounded to dtype."""
        known: Point | State | None = start
        made = []
        for alpha in alphas:
            problem = Problem(Square(), self._penalty(float(alpha)), design, self.intercept)
            if alpha * self.ratio == 0.0:
                made.append(self._smooth(problem, design, float(alpha), dtype))
                continue
            if _below_rounding(problem.penalty, design):
                free = self._smooth(problem, design, 0.0, dtype)
                if free.converged:
                    made.append(free)
                    continue
            solution = minimise(
                problem,
                tol=self.tol,
                max_steps=self.max_steps,
                start=known,
                callback=show,
                polish=self.polish,
            )
            known = solution.state
            solution = round_solution(problem, solution, dtype, self.tol)
            w, b = solution.point
            path = (*solution.history[:-1], solution.certificate)
            made.append(self._units(Fit(w, b, path[-1], path, solution.converged, solution.steps)))
        return made

    def _penalty(self, alpha: float) -> Penalty:
        if self.exponent == 0:
            return elastic_net(alpha, self.ratio, self.positive)
        absolute, square = alpha * self.ratio, alpha * (1.0 - self.ratio)
        with np.errstate(over="ignore", under="ignore"):
            absolute = float(np.ldexp(absolute, -self.exponent))
        lam = min(absolute + square, np.finfo(np.float64).max)
        return elastic_net(lam, min(absolute / lam, 1.0) if lam > 0.0 else 1.0, self.positive)

    def _smooth(self, problem: Problem, design: MatrixDesign, alpha: float, dtype: Any) -> Fit:
        """Least squares and ridge regression, which have better methods than descent, with what is
        proved of their point in the problem: its optimum is no less than theirs."""
        lam, rows = alpha * design.weight, design.blocks
        if self.positive:
            found = nonnegative(rows, lam, self.intercept, self.tol)
        else:
            found = ridge(rows, lam, self.intercept, tol=self.tol, max_steps=self.max_steps)
        history = tuple(proof.scaled(0.5 / design.weight) for proof in found.history)
        point, steps = (found.w[:, 0], float(found.b[0])), int(found.steps[0])
        last, closed = history[-1], found.converged
        if alpha * (1.0 - self.ratio) == 0.0 and not is_unpenalised(problem.penalty):
            known = problem.known_value(point)
            last = replace(last, value=known.value, bound=paid(known, last.bound))
            closed = last.closed(self.tol)
        point, last, closed = round_point(problem, point, last, closed, dtype, self.tol)
        return self._units(Fit(*point, last, (*history[:-1], last), closed, steps))

    def _units(self, fit: Fit) -> Fit:
        """The fit in the units of the target."""
        if self.exponent == 0:
            return fit
        e = self.exponent
        scale = float(np.ldexp(1.0, min(max(2 * e, -1022), 1023)))
        reach = abs(2 * e) <= 1022 and scale * fit.certificate.value < np.inf
        history = tuple(c.scaled(scale) for c in fit.history) if reach else fit.history
        w, b = np.ldexp(fit.w, e), float(np.ldexp(fit.b, e))
        return replace(fit, w=w, b=b, certificate=history[-1], history=history)

    def backwards(self, point: Point) -> Point:
        """A point in the units of the target as a start."""
        w, b = point
        return np.ldexp(w, -self.exponent), float(np.ldexp(b, -self.exponent))


def _below_rounding(penalty: Penalty, design: MatrixDesign) -> bool:
    """Whether the weight of |w|₁ may be below the rounding errors of X'r, judged by a few rows: no
    dual point in float64 would then fit under it, and least squares may do."""
    if not isinstance(penalty, L1L2) or not design.blocks.local:
        return False
    block = next(iter(design.blocks))
    assert block.y is not None
    size = float(abs(to_float64(block.X[:8])).max())
    return penalty.l1 <= FAINT * size * float(np.abs(to_numpy(block.y[:64])).max())
