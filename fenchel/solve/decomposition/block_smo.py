"""Decomposition with blocks: sequential minimal optimisation on a working set of many rows.

Each turn takes the rows that violate the optimality conditions most, minimises the dual over their
coefficients with the others fixed, and adds their change to the scores F = Kβ - y, one product of a
few rows of K for all turns of the block. The rows may be of single precision: what ends a step are
the conditions, the value and the bound at scores made anew in float64. Where these disagree, the
next step corrects from them (iterative refinement), and where that does not help, with rows in
float64.

Cost of a turn: a product (q/2) x d x n for the rows that are new, q n for the scores.

Reference: Osuna, Freund and Girosi, An improved training algorithm for support vector machines
(1997); Wen, Shi, Li, He and Chen, ThunderSVM, JMLR 19 (2018).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.convex.certification.float_sums import GapEvidence, evidence_of
from fenchel.convex.loss.one_class import OneClass
from fenchel.convex.penalty import L2
from fenchel.convex.problem import Problem
from fenchel.convex.rows.statistics import dual_sums
from fenchel.data.arrays import Array
from fenchel.data.blocks import Totals
from fenchel.data.design.kernel import KernelExpansion
from fenchel.data.design.matrix import Point
from fenchel.solve.decomposition.compiled import pair_steps, single_steps
from fenchel.solve.decomposition.dual_box import DualBox
from fenchel.solve.decomposition.row_cache import RowCache
from fenchel.solve.decomposition.working_set import working_set
from fenchel.solve.needs import (
    Need,
    NeedsKernel,
    PositiveL2,
    RowLosses,
    SingleTargetOnly,
    StraightPieces,
)
from fenchel.solve.solver import Solver, State

Floats = NDArray[np.float64]
ROUGH = 1e-6  # share of a value that rounding of the scores may take
# Of the tolerance, at the running scores. Scores made anew cost as much as some fifty turns, and
# those of rows in float32 are off by a tenth of a tolerance of 1e-3 (0.09 to 0.12, d = 784).
NEAR = {"float64": 0.9, "float32": 0.8}


@dataclass(frozen=True, slots=True)
class DualValue:
    """The objective at a point."""

    value: float


@dataclass(frozen=True, slots=True)
class DualMemory:
    """Where the dual stands.

    F: Kβ - y, exact up to float64 at the end of every step; recent: the rows that were new in the
    last turn; proof: of this point; pairs: steps within blocks so far; cache: rows of K, which
    later steps change.
    """

    box: DualBox
    beta: Floats
    F: Floats
    recent: NDArray[np.int64]
    violation: float
    proof: Certificate
    pairs: int
    cache: RowCache = field(repr=False)


@dataclass(frozen=True, slots=True)
class BlockSMO(Solver):
    """Decomposition for kernel problems whose loss has three straight pieces, and an L2 penalty,
    and for the support of a distribution.

    goal: what to reach, in `measure`: the relative duality "gap", or by how much the optimality
    conditions are missed, in units of the score ("kkt"), the certificate's residual. block: rows in
    a working set. memory: bytes for rows of K that are not kept whole. max_pairs: steps in all;
    convex: whether the kernel is positive semi-definite, without which there is no bound.
    """

    goal: float = 1e-6
    measure: Literal["gap", "kkt"] = "gap"
    block: int = 1024
    memory: float = 2e8
    max_pairs: float = math.inf
    convex: bool = True

    needs: ClassVar[tuple[type[Need], ...]] = (
        RowLosses,
        NeedsKernel,
        PositiveL2,
        SingleTargetOnly,
        StraightPieces,
    )
    proves: ClassVar[bool] = True

    def missing(self, problem: Any) -> type[Need] | None:
        return None if isinstance(problem, OneClass) else Solver.missing(self, problem)

    def init(self, problem: Problem | OneClass, start: Point | State | None) -> State:
        box = DualBox.of(problem)
        beta = box.start()
        if start is not None:
            given = start.point[0] if isinstance(start, State) else start[0]
            beta = box.feasible(np.asarray(given, np.float64))
        assert isinstance(problem.design, KernelExpansion)
        if self.convex:
            problem.design.require_semidefinite()
        cache = RowCache(problem.design, 2 * self.block, self.memory, single=True)
        none = np.zeros(0, np.int64)
        return self._state(problem, box, beta, none, 0, cache, stalled=False)

    def step(self, problem: Problem | OneClass, state: State) -> State:
        memory: DualMemory = state.memory
        box, beta, F = memory.box, memory.beta.copy(), memory.F.copy()
        cache, recent, pairs = memory.cache, memory.recent, memory.pairs
        begun, taken = pairs, 0
        near = NEAR[cache.dtype.name]
        for _ in range(self._turns(len(F))):
            rise, fall = box.slopes(beta, F)
            violation = box.violation(rise, fall)
            if self._is_near(problem, box, beta, F, violation, near):
                break
            rows, recent = working_set(rise, fall, recent, self.block, box.free)
            taken = self._work(box, beta, F, cache, rows, violation, pairs)
            pairs += taken
            if taken == 0 or pairs >= self.max_pairs:
                break
        found = self._state(problem, box, beta, recent, pairs, cache, stalled=False)
        new: DualMemory = found.memory
        idle = pairs == begun or not new.violation <= 0.5 * memory.violation
        if idle and not new.violation <= self._enough(new) and cache.dtype == np.float32:
            # Rounding in the rows is all that is left to correct: rows in float64 from here on.
            cache = RowCache(cache.design, 2 * self.block, self.memory, single=False)
            return replace(found, memory=replace(new, cache=cache))
        return replace(found, stalled=pairs == begun or pairs >= self.max_pairs)

    def prove(self, problem: Problem | OneClass, state: State) -> Certificate:
        memory: DualMemory = state.memory
        return memory.proof

    def sharpened(self, goal: float) -> BlockSMO:
        return replace(self, goal=goal)

    def _turns(self, n: int) -> int:
        # Scores made anew cost about as much as the rows of a few turns: not too often.
        return 200 if n > self.block else 20

    def _enough(self, memory: DualMemory) -> float:
        """The violation that ends the fit."""
        if self.measure == "kkt":
            return self.goal
        return math.inf if memory.proof.relative_gap <= self.goal else 0.0

    def _is_near(
        self,
        problem: Problem | OneClass,
        box: DualBox,
        beta: Floats,
        F: Floats,
        violation: float,
        near: float,
    ) -> bool:
        """Whether the conditions hold at the running scores, with a margin for their rounding."""
        if self.measure == "kkt":
            return violation <= near * self.goal
        if violation == 0.0:
            return True
        rise, fall = box.slopes(beta, F)
        f = F + box.y - box.ridge * beta
        b = box.level(rise, fall)
        if isinstance(problem, OneClass):
            return problem.at(beta, f, -b).relative_gap <= 0.5 * self.goal
        return self._seen(problem, box, beta, f, b).is_closed(problem.penalty, 0.5 * self.goal)

    def _work(
        self,
        box: DualBox,
        beta: Floats,
        F: Floats,
        cache: RowCache,
        rows: NDArray[np.int64],
        violation: float,
        pairs: int,
    ) -> int:
        """One turn: the block's coefficients and all scores, in place; the steps it took."""
        K = cache.block(rows)
        K[np.diag_indices(len(rows))] += box.ridge[rows]
        b, f = beta[rows], F[rows]
        before = b.copy()
        # To a tenth of what is left: the other rows move the block's optimum anyway.
        stop = 0.1 * violation
        if self.measure == "kkt":
            stop = max(stop, 0.5 * self.goal)
        most = int(min(100 * len(rows), self.max_pairs - pairs))
        steps = pair_steps if box.free else single_steps
        taken = steps(K, f, b, box.low[rows], box.high[rows], box.width, stop, most)
        change = b - before
        beta[rows] = b
        cache.add(F, rows, change)
        F[rows] += box.ridge[rows] * change
        return int(taken)

    def _state(
        self,
        problem: Problem | OneClass,
        box: DualBox,
        beta: Floats,
        recent: NDArray[np.int64],
        pairs: int,
        cache: RowCache,
        *,
        stalled: bool,
    ) -> State:
        """The state at these coefficients, with scores and proof made in float64."""
        f = problem.design.map_rows((beta, 0.0), _plain)
        F = f - box.y + box.ridge * beta
        rise, fall = box.slopes(beta, F)
        violation = box.violation(rise, fall)
        b = box.level(rise, fall)
        proof = self._certificate(problem, box, beta, f, b, violation)
        memory = DualMemory(box, beta, F, recent, violation, proof, pairs, cache)
        theta = None if isinstance(problem, OneClass) else box.dual_point(problem, beta)
        left = proof.gap if self.convex else violation * abs(proof.value)
        return State((beta, b), DualValue(proof.value), left, stalled, memory, theta)

    def _certificate(
        self,
        problem: Problem | OneClass,
        box: DualBox,
        beta: Floats,
        f: Floats,
        b: float,
        violation: float,
    ) -> Certificate:
        """Value, bound and residual at β and b, from f = Kβ alone: no pass over the rows.

        P = Σ s l(y, f + b) + λ β'f/2 ≥ D = -Σ s l*(y, θ) - λ β'f/2 but for rounding, and for what
        it left of Σβ = 0, which value and bound pay.
        """
        residual = violation if self.measure == "kkt" or not self.convex else None
        if isinstance(problem, OneClass):
            found = replace(problem.at(beta, f, -b), residual=residual)
            return found if self.convex else unproved(found)
        seen = self._seen(problem, box, beta, f, b)
        if not self.convex:
            return unproved(Certificate(seen.value.value, -math.inf, residual=residual))
        found = seen.certificate(problem.penalty)
        if seen.value.relative_error > ROUGH:  # scores are made again in pairs of floats
            found = problem.certify((beta, b), dual=box.dual_point(problem, beta))
        return replace(found, residual=residual)

    def _seen(
        self, problem: Problem, box: DualBox, beta: Floats, f: Floats, b: float
    ) -> GapEvidence:
        """Value and dual point at β and b, from f = Kβ."""
        loss, design, z = problem.loss, problem.design, f + b
        assert isinstance(design, KernelExpansion)
        assert isinstance(problem.penalty, L2)
        theta, s = box.dual_point(problem, beta), design.sides[1]
        value, slope = loss.value(box.y, z), loss.gradient(box.y, z)
        sums = dual_sums(loss, problem.middle, box.y, z, value, slope, theta, s)
        pulled = theta if s is None else s * theta
        off = loss.centring_sums(box.y, theta, s) if box.free else None
        found, square = Totals(pulled, pulled.sum(), *sums), float(beta @ f)
        squares = square, problem.penalty.l2**2 * square  # v = -λβ
        return evidence_of(problem, (beta, b), found, off, squares)


def unproved(found: Certificate) -> Certificate:
    """What is left of a proof where the kernel is not positive semi-definite."""
    return replace(found, bound=-math.inf, kind="stationary", floor=0.0, scale=None)


def _plain(y: Array, z: Array) -> Any:
    return z
