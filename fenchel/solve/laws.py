"""The law of a solver: it closes the certificate of every problem that it does not refuse."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np

from fenchel.convex.convergence import NotCertified
from fenchel.convex.laws.run import require
from fenchel.convex.objective import Objective
from fenchel.convex.problem import EPS, Problem
from fenchel.solve.minimise import Solution, minimise
from fenchel.solve.select import refusal, select
from fenchel.solve.solver import Solver

Random = np.random.Generator
LONGEST = 300  # letters of a refusal: three lines on a terminal


def closes_or_refuses(
    solver: Solver, problem: Objective[Any], tol: float, max_steps: int, rng: Random
) -> None:
    """A refusal in one sentence, or a certificate that holds against other points."""
    reason = refusal(solver, problem)
    if reason is not None:
        _is_sentence(solver, problem, reason)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotCertified)
        try:
            found = minimise(problem, solver, tol=tol, max_steps=max_steps)
        except NotCertified as told:
            require(solver, "the certificate closes", False, problem=problem, warning=told)
            return
    _holds(solver, problem, found, tol, rng)


def _is_sentence(solver: Solver, problem: Objective[Any], reason: str) -> None:
    one = bool(reason) and len(reason) <= LONGEST and "\n" not in reason
    one = one and not re.search(r"[.!?]( |$)", reason)
    require(solver, "a refusal is one sentence", one, problem=problem, refusal=reason)
    promised = re.search(r"; (\w+) takes it$", reason)
    if promised is not None:
        other = select(problem)
        holds = type(other).__name__ == promised[1] and other.refuses(problem) is None
        require(solver, "the solver that a refusal names takes the problem", holds, refusal=reason)


def _holds(
    solver: Solver, problem: Objective[Any], found: Solution[Any], tol: float, rng: Random
) -> None:
    proof = found.certificate
    shown = {"problem": problem, "certificate": proof}
    require(solver, "the certificate is closed", found.converged and proof.closed(tol), **shown)
    value = problem.evaluate(found.point, exact=True).value
    # A pass in float64 knows a loss to a unit of rounding of its residuals, which at the origin are
    # the targets: of a fit that leaves nothing it knows no more. (Of a loss that grows like the
    # residual the floor is 16√EPS of the targets' size, so that √EPS of it are such units.)
    origin = problem.evaluate(problem.origin(), exact=True).value
    rounding = max(1e-11 * max(abs(value), proof.size, proof.floor), EPS * abs(origin))
    rounding = max(rounding, EPS**0.5 * proof.floor)
    require(solver, "the value is that of the point", abs(value - proof.value) <= rounding, **shown)
    inside = problem.project(found.point) is found.point
    require(solver, "the point lies in the domain", inside, **shown)
    others = [problem.origin()]
    if isinstance(problem, Problem):
        w, b = found.point
        for scale in (1e-3, 0.1, 1.0):
            shift = scale * rng.standard_normal(np.shape(b)) if problem.intercept else 0.0
            near = (w + scale * rng.standard_normal(w.shape), b + shift)
            others.append(problem.project(near))
    for other in others:
        there = problem.evaluate(other, exact=True).value
        require(
            solver,
            "no point is below the bound",
            proof.bound <= there + rounding,
            at=other,
            **shown,
        )
