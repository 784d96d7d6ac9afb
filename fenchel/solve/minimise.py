"""The only loop: a solver proposes, the certificate disposes."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fenchel.convex.certificate import Certificate, warn_outside
from fenchel.convex.objective import Objective
from fenchel.convex.penalty import is_bounded
from fenchel.convex.problem import Problem, is_free
from fenchel.data.blocks import one_blas_thread
from fenchel.data.design import Point
from fenchel.solve.choose import choose
from fenchel.solve.solver import Solver, State

if TYPE_CHECKING:
    Callback = Callable[[int, Point, Certificate], bool | None]

SMALL = 2**16  # entries: a pass over so many takes a third of a millisecond, measured
FINE = 1e-15  # relative gap below which further steps find rounding alone


@dataclass(frozen=True, slots=True)
class Solution:
    """A point, its certificate, and how it was reached.

    history: one certificate a step; those of kind "estimate" cost no pass and prove nothing.
    """

    point: Point
    certificate: Certificate
    history: tuple[Certificate, ...]
    converged: bool
    reason: str
    solver: Solver
    state: State

    @property
    def steps(self) -> int:
        return self.certificate.steps


# Worker threads of BLAS go on spinning after a product, in the way of the passes between them.
@one_blas_thread()
def minimise(
    problem: Objective,
    solver: Solver | str = "auto",
    *,
    tol: float = 1e-6,
    max_steps: int = 100,
    start: Point | State | None = None,
    callback: Callback | None = None,
    proof: bool = True,
    polish: int = SMALL,
) -> Solution:
    """Drive a problem until its relative duality gap is at most tol.

    Parameters
    ----------
    problem : Objective, such as a Problem
    solver : a Solver, or "auto" for the one that fits
    tol : float
        Relative duality gap to reach.
    max_steps : int
    start : where to begin: a point, or the state of a neighbouring problem's solution
    callback : function of (step, point, certificate)
        A true answer stops the fit.
    proof : bool
        False stops by the solver's own estimate and certifies nothing: for the smaller problems
        inside a solver.
    polish : int
        Entries of a table up to which some steps more give all digits of the coefficients.

    Ctrl-C ends the loop; the last point is returned with its gap and a warning that says so.
    """
    solver = choose(problem, tol) if isinstance(solver, str) else solver
    reason = solver.refuses(problem)
    if reason is not None:
        raise ValueError(reason)
    begun = time.perf_counter()
    judge = Judge(problem, solver, tol, proof)
    history: list[Certificate] = []
    state: State | None = None
    outcome, step, converged = "", 0, False
    try:
        state = solver.init(problem, _allowed(problem, start))  # type: ignore[arg-type]
        while True:
            certificate = replace(judge(state), steps=step, seconds=time.perf_counter() - begun)
            history.append(certificate)
            if callback is not None and callback(step, state.point, certificate):
                outcome = "stopped by the callback"
            elif judge.closed(certificate, state):
                converged = True
                outcome = "converged"
            elif state.stuck:
                outcome = "no step lowers the objective in float64"
            elif step >= max_steps:
                outcome = f"reached max_iter={max_steps}"
            if outcome:
                break
            state = solver.step(problem, state)
            step += 1
    except KeyboardInterrupt:
        if state is None:
            raise
        outcome = "interrupted"
    if proof and not converged:
        proved = problem.certify(state.point, state.seen, state.theta, enough=tol)
        own = solver.prove(problem, state)
        if own is not None and own.relative_gap < proved.relative_gap:
            proved = own
        final = replace(proved, steps=step, seconds=time.perf_counter() - begun)
        converged = final.relative_gap <= tol
        history[-1:] = [final]
        if not converged and outcome != "stopped by the callback":
            remedy = "Raise max_iter, loosen tol, or scale the columns."
            if state.stuck:
                remedy = "Scale the columns or loosen tol."
            warn_outside(
                f"{outcome}: relative duality gap {final.relative_gap:.2g} after {step} steps, "
                f"asked tol={tol:.2g}. {remedy}"
            )
    sharp = solver.sharpened(FINE) if proof and converged else None
    if sharp is not None and _entries(problem) <= polish:
        reached = state
        for state, certificate in _polish(problem, sharp, reached, history[-1], max_steps - step):
            history.append(replace(certificate, seconds=time.perf_counter() - begun))
            if callback is not None and callback(certificate.steps, state.point, history[-1]):
                break
    seconds = time.perf_counter() - begun
    final = replace(history[-1], seconds=seconds)
    return Solution(state.point, final, tuple(history), converged, outcome, solver, state)


def _entries(problem: Objective) -> float:
    """Rows times unknowns; of other objectives than a Problem, too many."""
    if not isinstance(problem, Problem):
        return math.inf
    design = problem.design
    return design.n_rows * (design.dimension + 1) * (problem.outputs or 1)


def _polish(
    problem: Objective, solver: Solver, state: State, proved: Certificate, most: int
) -> Iterator[tuple[State, Certificate]]:
    """Further steps from a proved point, those that leave a smaller gap.

    A relative gap g leaves coefficients right to about √g: of 1e-6 three digits, where two more
    Newton steps give them all, and a few more the corner of a polyhedron. On small tables those
    cost next to nothing. A bound above the value shows how much rounding there is in it: such a
    step is not taken.
    """
    gap, idle, first = proved.relative_gap, 0, proved.steps + 1
    for step in range(first, first + min(most, 8)):
        if gap <= FINE or state.stuck or idle > 0:
            return
        state = solver.step(problem, state)
        if not math.isfinite(state.decrement):  # in the middle of a smooth problem
            continue
        found = solver.prove(problem, state) if solver.proves else None
        if found is None:
            found = problem.certify(state.point, state.seen, state.theta, enough=FINE)
        rounding = 1e-13 * abs(found.value)
        if found.kind == "estimate" or not -rounding <= found.gap < gap * abs(proved.value):
            idle += 1
            continue
        gap = found.relative_gap
        yield state, replace(found, steps=step)


def _allowed(problem: Objective, start: Point | State | None) -> Point | State | None:
    """The start, or the nearest point of the problem's domain where that of another problem lies
    outside: b = 0 without an intercept, w ≥ 0 under that constraint."""
    if start is None:
        return None
    w, b = start.point if isinstance(start, State) else start
    negative = is_bounded(problem.penalty) and bool((w < 0.0).any())
    shifted = not problem.intercept and bool(np.any(b))
    if not negative and not shifted:
        return start
    # What a state remembers belongs to its own point: the moved one goes alone.
    return (w.clip(0.0, None) if negative else w, 0.0 * b if shifted else b)


class Judge:
    """Asks for a proof, which may cost a pass, only when the estimate says that it will succeed."""

    def __init__(self, problem: Objective, solver: Solver, tol: float, proof: bool) -> None:
        self.problem, self.solver, self.tol, self.proof = problem, solver, tol, proof
        self.free = is_free(problem.penalty)
        self.failed = float("inf")

    def __call__(self, state: State) -> Certificate:
        seen, problem = state.seen, self.problem
        if self.proof and self.solver.proves:
            own = self.solver.prove(problem, state)
            if own is not None:
                return own
        if state.theta is not None:
            return self._beside(state)
        slack = state.decrement if self.free else problem.slack(state.point, seen)
        # Without an intercept, and in float64, the slack is the gap: the proof is free.
        known = seen.exact and not problem.intercept and not self.free
        estimate = Certificate(seen.value, seen.value - slack, "duality" if known else "estimate")
        if not self.proof or slack > min(self.tol * abs(seen.value), 0.5 * self.failed):
            return estimate
        proved = problem.certify(state.point, seen, enough=self.tol)
        if proved.relative_gap > self.tol:
            self.failed = slack
        return proved

    def _beside(self, state: State) -> Certificate:
        """A dual point of the solver's own: its estimate says when to look at it."""
        value, slack = state.seen.value, state.decrement
        if not self.proof or slack > min(self.tol * abs(value), 0.5 * self.failed):
            return Certificate(value, value - slack, "estimate")
        proved = self.problem.certify(state.point, theta=state.theta, enough=self.tol)
        if proved.relative_gap > self.tol:
            self.failed = slack
        return proved

    def closed(self, certificate: Certificate, state: State) -> bool:
        if not self.proof:
            return state.decrement <= self.tol * abs(state.seen.value)
        return certificate.kind != "estimate" and certificate.relative_gap <= self.tol
