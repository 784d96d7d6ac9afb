"""The only loop: steps of a solver until the certificate closes.

A solver's own estimate of the gap says when a certificate is worth its pass over the rows.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal

import numpy as np

from fenchel.convex.certificate import Certificate, warn_outside
from fenchel.convex.certification.proof import IN_FLOAT64, SMALL
from fenchel.convex.objective import Objective, P
from fenchel.data.blocks import one_blas_thread
from fenchel.solve.centring import centred_solver
from fenchel.solve.select import refusal, select
from fenchel.solve.solver import Solver, State

FINE = 1e-15  # relative gap below which further steps find rounding alone
ROUNDING = 1e-12  # relative gap that rounding may leave of a proof in float64, n < 10⁴ rows
STOPPED = "stopped by the callback"
DEPENDENT = "columns depend on others up to rounding"


@dataclass(frozen=True, slots=True)
class Solution(Generic[P]):
    """A point, its certificate, and how it was reached.

    history: one certificate a step; those of kind "estimate" cost no pass and prove nothing.
    """

    point: P
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
# A number beyond float64 on the way makes a point that is not taken or a certificate that says so.
@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def minimise(
    problem: Objective[P],
    solver: Solver | str = "auto",
    *,
    tol: float = 1e-6,
    max_steps: int = 100,
    start: P | State | None = None,
    callback: Callable[[int, P, Certificate], bool | None] | None = None,
    proof: bool = True,
    polish: float = SMALL,
    on_interrupt: Literal["raise", "return"] = "raise",
) -> Solution[P]:
    """Drive an objective until its certificate is closed.

    Parameters
    ----------
    problem : Objective, such as a Problem
    solver : a Solver, or "auto" for the one that fits
    tol : float
        What the certificate is to reach: a relative duality gap, or a residual where that decides.
    max_steps : int
    start : where to begin: a point, or the state of a neighbouring problem's solution
    callback : function of (step, point, certificate)
        A true answer stops the fit.
    proof : bool
        False stops by the solver's own estimate and certifies nothing: for the smaller problems
        inside a solver.
    polish : float
        Entries of a table up to which some steps more give all digits of the coefficients.
    on_interrupt : {"raise", "return"}
        What Ctrl-C does: it raises KeyboardInterrupt, or ends the loop, and the last point is
        returned with its gap and a warning that says so.
    """
    solver = select(problem, tol) if isinstance(solver, str) else solver
    reason = refusal(solver, problem)
    if reason is not None:
        raise ValueError(reason)
    begun = time.perf_counter()
    chosen, solver = solver, centred_solver(problem, solver, start)
    rule = StoppingRule(problem, solver, tol, proof)
    history: list[Certificate] = []
    state: State | None = None
    outcome, step, converged = "", 0, False
    try:
        state = solver.init(problem, _inside(problem, start))
        while True:
            certificate = replace(rule(state), steps=step, seconds=time.perf_counter() - begun)
            history.append(certificate)
            if callback is not None and callback(step, state.point, certificate):
                outcome = STOPPED
            elif rule.closed(certificate, state):
                converged = True
                outcome = "converged"
            elif rule.resolved:
                outcome = DEPENDENT
            elif state.stalled:
                outcome = "no step lowers the objective in float64"
            elif step >= max_steps:
                outcome = f"reached max_iter={max_steps}"
            if outcome:
                break
            state = solver.step(problem, state)
            step += 1
    except KeyboardInterrupt:
        if state is None or on_interrupt == "raise":
            raise
        outcome = "interrupted"
    if proof and not converged:
        enough = _enough(problem, tol)
        proved = problem.certify(state.point, state.seen, state.dual, enough=enough)
        own = solver.prove(problem, state)
        if own is not None and own.error < proved.error:
            proved = own
        final = replace(proved, steps=step, seconds=time.perf_counter() - begun)
        converged = final.closed(tol)
        history[-1:] = [final]
        if final.kind == "estimate" and final.error <= tol:
            from fenchel.convex.convergence import DependentColumns

            outcome = DEPENDENT
            warn_outside(dependence_hidden(final), DependentColumns)
        elif not converged and outcome != STOPPED:
            remedy = "Raise max_iter, loosen tol, or scale the columns."
            if final.kind in ("eigen", "sdp", "spectral", "stationary"):  # no scale is to blame
                remedy = "Try another start" if state.stalled else "Raise max_iter"
                remedy += " or loosen tol."
            elif state.stalled:
                remedy = "Scale the columns or loosen tol."
            warn_outside(
                f"{outcome}: {final.reached()} after {step} steps, asked tol={tol:.2g}. {remedy}"
            )
    sharp = solver.sharpened(FINE) if proof and converged else None
    if sharp is not None and problem.work <= polish:
        reached = state
        for state, certificate in _polish(problem, sharp, reached, history[-1], max_steps - step):
            history.append(replace(certificate, seconds=time.perf_counter() - begun))
            if callback is not None and callback(certificate.steps, state.point, history[-1]):
                break
    seconds = time.perf_counter() - begun
    final = replace(history[-1], seconds=seconds)
    return Solution(state.point, final, tuple(history), converged, outcome, chosen, state)


def _inside(problem: Objective[P], start: P | State | None) -> P | State | None:
    """The start, or the nearest point of the domain where that of another problem lies outside."""
    if start is None:
        return None
    point = start.point if isinstance(start, State) else start
    nearest = problem.project(point)
    # What a state remembers belongs to its own point: a moved one goes alone.
    return start if nearest is point else nearest


def _polish(
    problem: Objective[Any], solver: Solver, state: State, proved: Certificate, most: int
) -> Iterator[tuple[State, Certificate]]:
    """Further steps from a proved point, those that leave a smaller gap.

    A relative gap g leaves coefficients right to about √g: of 1e-6 three digits, where two more
    Newton steps give them all, and a few more the corner of a polyhedron. On small tables those
    cost next to nothing. A bound above the value shows how much rounding there is in it: such a
    step is not taken. No pass in pairs of floats is made where a gap of float64 is proved already:
    the solver's own gap then says whether a step led on, and the best bound is kept.
    """
    last, idle, first = proved, 0, proved.steps + 1
    for step in range(first, first + min(most, 8)):
        gap, left = last.relative_gap, _left(state)
        if min(gap, left) <= FINE or state.stalled or idle > 0:
            return
        state = solver.step(problem, state)
        if not math.isfinite(state.decrement):  # in the middle of a smooth problem
            continue
        enough = max(gap, IN_FLOAT64)
        found = solver.prove(problem, state) if solver.proves else None
        if found is None:
            found = problem.certify(state.point, state.seen, state.dual, enough=enough)
        size = abs(found.value)
        rounded = max(found.bound, last.bound) > found.value + 1e-13 * size
        found = found.with_bound_of(last)
        least = enough if _left(state) < 0.5 * left else math.nextafter(gap, 0.0)
        if found.kind == "estimate" or rounded or not found.gap <= least * size:
            idle += 1
            continue
        last = found
        yield state, replace(found, steps=step)


def dependence_hidden(proof: Certificate) -> str:
    """What an estimate over the directions that float64 tells apart says."""
    return (
        f"{DEPENDENT}: within {proof.relative_gap:.2g} of the optimum over the directions that "
        "float64 tells apart, and nothing is proved of the others. Drop dependent columns."
    )


def _enough(problem: Objective[Any], tol: float) -> float:
    """The gap beyond which more passes are worth their cost: on small tables one in pairs of floats
    takes less than a millisecond."""
    small = problem.work <= SMALL and problem.is_local
    return min(tol, ROUNDING) if small else tol


def _left(state: State) -> float:
    """The gap that the solver itself sees, relative to the value: rounding, which a proof charges,
    hides nothing that another step would find."""
    size = abs(state.seen.value)
    return state.decrement / size if size > 0.0 else math.inf


class StoppingRule:
    """Asks for a proof, which may cost a pass, only when the estimate says that it will succeed."""

    def __init__(self, problem: Objective[Any], solver: Solver, tol: float, proof: bool) -> None:
        self.problem, self.solver, self.tol, self.proof = problem, solver, tol, proof
        # Whether a proof closed but for directions of w that rounding hides.
        self.resolved = False
        self.failed = math.inf  # the estimated error at which a proof was last asked in vain

    def __call__(self, state: State) -> Certificate:
        seen, problem = state.seen, self.problem
        if self.proof and self.solver.proves:
            own = self.solver.prove(problem, state)
            if own is not None:
                return own
        if state.dual is None:
            estimate = problem.estimate(state.point, seen, state.decrement)
        else:  # a solver that keeps a dual point of its own also estimates its gap
            estimate = Certificate(seen.value, seen.value - state.decrement, "estimate")
        if not self.proof or estimate.error > min(self.tol, 0.5 * self.failed):
            return estimate
        if state.dual is None:
            proved = problem.certify(state.point, seen, enough=_enough(problem, self.tol))
        else:
            enough = _enough(problem, self.tol)
            proved = problem.certify(state.point, dual=state.dual, enough=enough)
        if not proved.closed(self.tol):
            self.failed = estimate.error
            self.resolved = proved.kind == "estimate" and proved.error <= self.tol
        return proved

    def closed(self, certificate: Certificate, state: State) -> bool:
        if not self.proof:
            return state.decrement <= self.tol * certificate.size
        return certificate.closed(self.tol)
