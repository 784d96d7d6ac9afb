"""Columns far from zero beside a free intercept, moved near it before a solver sees them.

P(w, b) on rows x is P(w, b + c·w) on rows x - c. Where every entry of a column lies within a factor
of two of c the differences are exact (Sterbenz), so a bound of the one problem is a bound of the
other. The point is mapped back with every product c w exact and one rounding of b, which a
certificate in the coordinates of (w, b) sees.

Cost: a look at 256 rows; where a column is far, one pass for its range and a copy of the rows.

Reference: Sterbenz, Floating-point computation, 1974 (exact differences); Shewchuk, Adaptive
precision floating-point arithmetic, 1997 (exact sums).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.convex.problem import Problem
from fenchel.data.arrays import Array, is_sparse, like, to_numpy
from fenchel.data.block import stride
from fenchel.data.blocks import Block, Blocks
from fenchel.data.design.matrix import MatrixDesign, Point
from fenchel.data.in_memory import ArrayBlocks
from fenchel.data.linear_algebra.double_double import two_product
from fenchel.solve.least_squares.scaling import ColumnRange
from fenchel.solve.solver import Solver, State

Floats = NDArray[np.float64]
# A column is far where its largest entry exceeds its range R times. Sums of squares that are not
# about the mean then lose R² units of rounding to the offset: at 10³ five digits of sixteen remain
# for a Newton step, and less beyond. Every entry is within a factor of two of every other.
FAR = 1e3
FEW = 256  # rows that tell whether a column may be far


@dataclass(frozen=True, slots=True, eq=False)
class CentredProblem:
    """The rows x - c, and c: zero for every column that is not far."""

    rows: Blocks
    centre: Floats

    def inward(self, w: Floats, b: Any) -> Any:
        """The intercept beside these rows."""
        return _plus(b, self.centre, w, 1.0)

    def outward(self, w: Floats, b: Any) -> Any:
        """The intercept beside the rows as they were given, rounded once."""
        return _plus(b, self.centre, w, -1.0)


def centred(blocks: Blocks) -> CentredProblem | None:
    """The rows with their far columns moved; None where there is none."""
    # Not `sample`, which is a pass: fits of small tables would take longer.
    few = _some(blocks.whole) if isinstance(blocks, ArrayBlocks) else blocks.of_first(_some)
    maybe = _maybe_far(few.X)
    if not maybe.any():
        return None
    ranges: ColumnRange = blocks.map_targets(_untargeted).reduce(ColumnRange.of)
    low, high = ranges.low, ranges.high
    with np.errstate(over="ignore", invalid="ignore"):
        far = maybe & (FAR * (high - low) < ranges.size) & (low < high) & (ranges.size < np.inf)
    if not far.any():
        return None
    held = to_numpy(few.X[:, np.flatnonzero(far)].toarray() if is_sparse(few.X) else few.X[:, far])
    centre = np.zeros(blocks.n_cols)
    middle = np.mean(held / ranges.size[far], axis=0, dtype=np.float64) * ranges.size[far]
    centre[far] = middle.clip(low[far], high[far]).astype(held.dtype)
    return CentredProblem(_moved(blocks, centre), centre)


def _some(block: Block) -> Block:
    return stride(block, max(1, block.n_rows // FEW))


def _untargeted(block: Block) -> Block:
    return replace(block, y=like(np.zeros(block.n_rows), block.X))


def _maybe_far(X: Array) -> NDArray[np.bool_]:
    """Which columns look far in a few rows; those that seem constant do not."""
    if is_sparse(X):
        full = np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]
        maybe = np.zeros(X.shape[1], bool)
        if full.any():
            maybe[full] = _maybe_far(X[:, np.flatnonzero(full)].toarray())
        return maybe
    X = to_numpy(X)
    low, high = X.min(axis=0, initial=np.inf), X.max(axis=0, initial=-np.inf)
    with np.errstate(over="ignore", invalid="ignore"):
        near = FAR * (high - low) < np.maximum(np.abs(low), np.abs(high))
    return np.asarray(near & (low < high))


def _moved(blocks: Blocks, centre: Floats) -> Blocks:
    def move(block: Block) -> Block:
        X = block.X
        if is_sparse(X):  # a far column has an entry in every row, so none is filled in
            data = X.data - centre.astype(X.dtype)[X.indices]
            return replace(block, X=type(X)((data, X.indices, X.indptr), shape=X.shape))
        return replace(block, X=X - like(centre, X))

    if isinstance(blocks, ArrayBlocks):
        return ArrayBlocks(move(blocks.whole), blocks.names)
    return blocks.map(move, dtype=blocks.dtype, sparse=blocks.sparse)


def _plus(b: Any, centre: Floats, w: Floats, sign: float) -> Any:
    """b + sign c·w, rounded once."""
    if np.ndim(b):
        return np.array([_plus(float(b[k]), centre, w[:, k], sign) for k in range(len(b))])
    far = centre != 0.0
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        products, errors = two_product(centre[far], sign * w[far])
        if not (np.isfinite(products).all() and np.isfinite(errors).all()):
            return float(b + sign * (centre @ w))
    return math.fsum((b, *products, *errors))


def centred_solver(problem: Any, solver: Solver, start: Any) -> Solver:
    """A solver that works on centred rows, where a free intercept stands beside far columns; else
    the same one."""
    if not solver.moves or not isinstance(problem, Problem) or not problem.intercept:
        return solver
    design = problem.design
    if not isinstance(design, MatrixDesign):
        return solver
    if isinstance(start, State) and isinstance(start.memory, Inside):
        known = start.memory.solver
        if known.given is design:  # the next problem on the same rows
            return replace(known, solver=solver)
    found = centred(design.blocks)
    if found is None:
        return solver
    return CentredSolver(solver, design, found, MatrixDesign(found.rows))


@dataclass(frozen=True, slots=True, eq=False)
class Inside:
    """The state in the coordinates of centred rows, and the solver that reached it."""

    solver: CentredSolver
    state: State


@dataclass(frozen=True, slots=True, eq=False)
class CentredSolver(Solver):
    """Another solver on centred rows. Its points are in the coordinates of the given ones, and so
    are all certificates."""

    solver: Solver
    given: MatrixDesign
    shift: CentredProblem
    design: MatrixDesign

    def init(self, problem: Problem, start: Point | State | None) -> State:
        if isinstance(start, State):
            known = isinstance(start.memory, Inside) and start.memory.solver.design is self.design
            start = start.memory.state if known else self._inward(start.point)
        elif start is not None:
            start = self._inward(start)
        return self._outward(self.solver.init(self._inside(problem), start))

    def step(self, problem: Problem, state: State) -> State:
        return self._outward(self.solver.step(self._inside(problem), state.memory.state))

    def sharpened(self, goal: float) -> Solver | None:
        solver = self.solver.sharpened(goal)
        return None if solver is None else replace(self, solver=solver)

    def prove(self, problem: Problem, state: State) -> Certificate | None:
        """The value at the point, with the better of the bounds on the given rows and on these."""
        inside, inner = self._inside(problem), state.memory.state
        proved = inside.certify(inner.point, inner.seen, inner.dual)
        own = self.solver.prove(inside, inner)
        if own is not None:
            proved = proved.with_bound_of(own)
        return problem.certify(state.point).with_bound_of(proved)

    def _inside(self, problem: Problem) -> Problem:
        return replace(problem, design=self.design)

    def _inward(self, point: Point) -> Point:
        w, b = point
        return w, self.shift.inward(np.asarray(w, np.float64), b)

    def _outward(self, state: State) -> State:
        w, b = state.point
        # What was seen belongs to scores that rounding of b has moved.
        seen = replace(state.seen, exact=False)
        point = (w, self.shift.outward(w, b))
        return replace(state, point=point, seen=seen, memory=Inside(self, state))
