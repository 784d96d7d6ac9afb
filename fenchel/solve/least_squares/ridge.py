"""Ridge regression on a table, in the form that its shape asks for.

minimise over (w, b):  Σᵢ sᵢ (yᵢ - xᵢ·w - b)² + α|w|²
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate, Kind, summed_history, warn_outside
from fenchel.convex.loss.distance import Square
from fenchel.convex.penalty import L2
from fenchel.convex.problem import Problem
from fenchel.data.arrays import to_float64, to_numpy
from fenchel.data.blocks import Block, Blocks
from fenchel.data.design.matrix import MatrixDesign, Point
from fenchel.solve.least_squares.moments import (
    RegressionMoments,
    divided,
    recentred,
    regression_moments,
)
from fenchel.solve.least_squares.result import unscale
from fenchel.solve.least_squares.ridge_solvers import DualRidge, PrimalRidge, row_gram
from fenchel.solve.least_squares.solve import LeastSquares, check_representable, least_squares
from fenchel.solve.minimise import dependence_hidden, minimise
from fenchel.solve.smooth.newton_cg import NewtonCG
from fenchel.solve.solver import Solver

Floats = NDArray[np.float64]
Columns = NDArray[np.int64]
Form = Literal["primal", "dual", "newton-cg", "least squares"]
_DENSE = 8192  # columns, or rows, whose products make a matrix that is worth holding
_SPARSE = 1024


@dataclass(frozen=True, slots=True, eq=False)
class RidgeFit:
    """Coefficients w (d, K) and b (K,) of K targets, proved together.

    The certificate is that of the objective summed over the targets; where its squares leave the
    range of float64, that of the target divided by a power of two.
    """

    w: Floats
    b: Floats
    flat: bool  # y was a vector
    history: tuple[Certificate, ...]
    converged: bool
    steps: NDArray[np.int32]  # for each target, one solve and one more for every correction
    form: Form

    @property
    def certificate(self) -> Certificate:
        return self.history[-1]


def form_for(blocks: Blocks) -> Form:
    """d x d for tall tables, n x n for wide ones held in memory, neither where both are large."""
    n, d = blocks.n_rows, blocks.n_cols
    most = _SPARSE if blocks.sparse else _DENSE
    if n < d and blocks.local and n <= most:
        return "dual"
    return "primal" if d <= most else "newton-cg"


def ridge(
    blocks: Blocks,
    alpha: Any,
    intercept: bool = True,
    *,
    tol: float = 1e-6,
    max_steps: int = 100,
    form: Form | None = None,
    known: tuple[Blocks, RegressionMoments] | None = None,
) -> RidgeFit:
    """Ridge regression of every target in y, with one α for all of them or one for each.

    α = 0 is least squares. known: what `regression_moments` has told about the rows, where that was
    asked.
    """
    form = form or form_for(blocks)
    if not np.any(alpha):
        whole = _free(blocks, least_squares(blocks, intercept), intercept, tol)
        each_target(alpha, len(whole.b))
        return whole
    rows, found = known or regression_moments(blocks, form == "primal", intercept)
    table = PreparedTable(rows, found, intercept, form)
    alphas = each_target(alpha, found.targets)
    w, b = np.zeros((found.d, found.targets)), np.zeros(found.targets)
    steps = np.ones(found.targets, np.int32)
    histories: list[tuple[Certificate, ...]] = []
    converged = True
    for value in np.unique(alphas):
        columns = np.flatnonzero(alphas == value)
        # A penalty below the rounding errors of the squares is none, if the proof agrees.
        if value <= 1e-24 * found.square[: found.d].max():
            some = chosen_targets(blocks, columns, found.flat)
            free = least_squares(some, intercept)
            if value == 0.0:
                check_representable(blocks, free.coef)
            proof = None
            if np.isfinite(free.coef).all():
                proof = squares_certificate(some, free, intercept, float(value))
            if proof is not None and (value == 0.0 or proof.closed(min(tol, 1e-12))):
                w[:, columns] = free.coef.reshape(found.d, -1)
                b[columns] = free.intercept
                steps[columns] += free.refinements
                histories.append((proof,))
                converged &= proof.closed(tol)
                continue
        problem, solver = table.problem(float(value), columns)
        solution = minimise(problem, solver, tol=tol, max_steps=max_steps)
        point = table.given(columns, *solution.point)
        w[:, columns], b[columns] = (unscale(part, found.exponent) for part in point)
        steps[columns] += solution.steps
        path, closed = (*solution.history[:-1], solution.certificate), solution.converged
        if table.is_moved:  # rounding of b is seen by the rows as they were given
            proof = table.certify(blocks, float(value), columns, point, tol)
            proof = table.better_bound(proof, path[-1])
            path, closed = (*path[:-1], proof), closed and proof.closed(tol)
            if solution.converged and not closed:
                warn_not_certified(proof, tol)
        histories.append(tuple(map(table.objective, path)))
        converged &= closed
    history = tuple(summed_history(histories))
    return RidgeFit(w, b, found.flat, history, converged, steps, form)


def _free(blocks: Blocks, found: LeastSquares, intercept: bool, tol: float) -> RidgeFit:
    check_representable(blocks, found.coef)
    w, b = found.coef.reshape(len(found.coef), -1), np.atleast_1d(found.intercept)
    proof = squares_certificate(blocks, found, intercept)
    steps = np.full(len(b), found.refinements + 1, np.int32)
    flat, closed = found.coef.ndim == 1, proof.closed(tol)
    if not closed:
        warn_not_certified(proof, tol)
    return RidgeFit(w, b, flat, (proof,), closed, steps, "least squares")


def warn_not_certified(proof: Certificate, tol: float) -> None:
    """The warning of a fit without steps whose certificate has not closed."""
    if proof.kind == "estimate" and proof.error <= tol:
        from fenchel.convex.convergence import DependentColumns

        warn_outside(dependence_hidden(proof), DependentColumns)
        return
    warn_outside(
        f"relative gap {proof.relative_gap:.2g}, asked tol={tol:.2g}: scale the columns, drop "
        "dependent ones, or loosen tol",
    )


@dataclass(frozen=True, eq=False)
class PreparedTable:
    """The rows as the problems see them: y scaled and large means taken off where need be."""

    rows: Blocks
    found: RegressionMoments
    intercept: bool
    form: Form

    @cached_property
    def base(self) -> tuple[Blocks, RegressionMoments]:
        return recentred(self.rows, self.found) if self.intercept else (self.rows, self.found)

    @cached_property
    def dual_gram(self) -> tuple[Floats, Floats, Floats]:
        """Of rows in memory: S^½X̃X̃'S^½, √s and y (n, K)."""
        rows, found = self.base
        whole = rows.gather()
        n = whole.n_rows
        root = np.ones(n) if whole.weight is None else np.sqrt(to_numpy(whole.weight))
        gram = row_gram(whole.X, root, found.mean[: found.d] if self.intercept else None)
        return gram, root, to_numpy(to_float64(whole.y)).reshape(n, -1)

    @cached_property
    def full(self) -> RegressionMoments:
        """The survey with its scatter."""
        rows, found = self.base
        return found if found.scatter is not None else regression_moments(rows, True, False)[1]

    def problem(self, alpha: float, columns: Columns) -> tuple[Problem, Solver]:
        return self._on(self.base[0], alpha, columns), self._solver(alpha, columns)

    def _on(self, rows: Blocks, alpha: float, columns: Columns) -> Problem:
        design = MatrixDesign(chosen_targets(rows, columns, self.found.flat))
        targets = len(columns) if len(columns) > 1 else None
        penalty = L2(alpha / self.found.weight)
        return Problem(Square(), penalty, design, self.intercept, targets)

    @property
    def is_moved(self) -> bool:
        """Whether the problems see other columns or targets than were given."""
        return self.found.moved is not None or self.base[0] is not self.rows

    def certify(
        self, blocks: Blocks, alpha: float, columns: Columns, point: Point, tol: float
    ) -> Certificate:
        """The certificate on the rows as they were given, but for the scale of the target."""
        problem = self._on(divided(blocks, self.found.exponent), alpha, columns)
        w, b = point
        single = (w[:, 0], float(b[0])) if problem.targets is None else point
        return problem.certify(single, enough=min(tol, 1e-9))

    def _solver(self, alpha: float, columns: Columns) -> Solver:
        if self.form == "newton-cg":
            return NewtonCG()
        if self.form == "dual":
            gram, root, y = self.dual_gram
            dual = DualRidge(self.base[1], columns, gram, root, y[:, columns])
            # Rows nearly dependent, or columns so unlike that their sum forgets the small ones:
            # the d x d equations keep each column's own scale.
            if self.found.d > _DENSE or dual.factor(alpha, self.intercept) is not None:
                return dual
        return PrimalRidge(self.full, columns)

    def better_bound(self, given: Certificate, moved: Certificate) -> Certificate:
        """The certificate on the given rows with the bound on the moved ones, if that is better and
        holds for both: the differences are exact where no mean was taken off."""
        exact = self.base[0] is self.rows
        return given.with_bound_of(moved) if exact else given

    def given(self, columns: Columns, w: Floats, b: Any) -> tuple[Floats, Floats]:
        """The point beside the columns as they were given, target still scaled."""
        d, moved = self.found.d, self.found.moved
        w = w.reshape(d, -1)
        off = self.found.mean - self.base[1].mean
        b = np.atleast_1d(b) + off[d + columns] - off[:d] @ w
        return w, b if moved is None else moved.outward(w, b)

    def objective(self, certificate: Certificate) -> Certificate:
        """From ½ the weighted mean of squares to their sum, in the units of the table."""
        whole = certificate.scaled(2.0 * self.found.weight)
        scale = float(unscale(1.0, 2 * self.found.exponent))
        return whole.scaled(scale) if scale * whole.value < np.inf else whole


def each_target(alpha: Any, targets: int) -> Floats:
    """α for each target, from one for all of them or one for each."""
    alphas = np.ravel(np.asarray(alpha, np.float64))
    if len(alphas) not in (1, targets):
        raise ValueError(
            "Number of targets and number of penalties do not correspond: "
            f"{len(alphas)} != {targets}"
        )
    if not ((alphas >= 0.0) & (alphas < np.inf)).all():
        raise ValueError(f"alpha must be finite and not negative, got {alphas.tolist()}")
    return np.broadcast_to(alphas, targets)


def chosen_targets(blocks: Blocks, columns: Columns, flat: bool) -> Blocks:
    """The table with some of its targets; a single one as a vector."""
    if flat:
        return blocks
    chosen: Any = int(columns[0]) if len(columns) == 1 else columns

    def pick(block: Block) -> Block:
        assert block.y is not None
        return Block(block.start, block.X, block.y[:, chosen], block.weight)

    return blocks.map_targets(pick)


def squares_certificate(
    blocks: Blocks, found: LeastSquares, intercept: bool, alpha: float = 0.0
) -> Certificate:
    """The certificate of a least squares solution, under a penalty that it ignores.

    Value and bound are those of the rows divided by powers of two, in which no square overflows.
    Columns that are dependent up to rounding alone leave no bound of the whole problem: the
    certificate is then an estimate, of the problem on the directions that float64 tells apart.
    """
    frame, K = found.frame, max(1, found.coef.reshape(len(found.coef), -1).shape[1])
    w = unscale(found.coef.reshape(len(found.coef), -1), (frame.column - frame.target)[:, None])
    b = unscale(np.atleast_1d(found.intercept), -frame.target)

    def framed(block: Block) -> Block:
        X, y, s = frame.rows(block)
        return Block(block.start, X, y, s)

    def column(k: int) -> MatrixDesign:
        plain = not (frame.column.any() or frame.target or frame.weight)
        rows = blocks if plain else blocks.map(framed)
        flat = plain and found.coef.ndim == 1
        return MatrixDesign(chosen_targets(rows, np.array([k]), flat))

    parts = []
    for k in range(K):
        problem = Problem(Square(), L2(0.0), column(k), intercept)
        proof = problem.certify((w[:, k], float(b[k])))
        parts.append(proof.scaled(2.0 * problem.design.weight))
    power = 2 * frame.target + frame.weight - found.exponent
    total = reduce(Certificate.__add__, parts).scaled(float(unscale(1.0, power)))
    value, bound = total.value, total.bound
    kind: Kind = "estimate" if total.kind == "estimate" else found.kind
    if alpha > 0.0:
        half = found.exponent // 2
        with np.errstate(over="ignore"):
            penalty = np.sum(np.square(np.sqrt(alpha) * unscale(found.coef, -half)))
        value += float(unscale(penalty, 2 * half - found.exponent))
    return replace(total, value=value, bound=bound, kind=kind, steps=found.refinements)
