"""The proof of a point that somebody else has found."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from functools import reduce
from typing import Any

from fenchel.convex.certificate import Certificate
from fenchel.convex.convergence import NotCertified
from fenchel.convex.problem import Problem
from fenchel.data.design.matrix import Point
from fenchel.solve.minimise import minimise
from fenchel.solve.select import select

FINE = 1e-12  # the relative gap that rounding may leave of a proof in float64
SMALL = 2**22  # entries of a table up to which passes in pairs of floats take a tenth of a second
SHARP = 1e-8  # the relative gap beyond which a better dual point is looked for


def total(parts: list[Certificate]) -> Certificate:
    """The certificate of independent problems together."""
    return reduce(Certificate.__add__, parts)


def prove(problem: Problem, point: Point) -> Certificate:
    """The gap at the point's own dual point, sharpened by a better one where that is loose.

    A gradient that is small but not zero says little of the distance to an optimum that hardly
    any penalty holds, of columns at the edge of an L1 penalty's ball, or of rows at a kink. A
    solver goes on from the point to find out, until what it leaves open is small beside its gap.
    """
    proof = problem.certify(point, enough=FINE if problem.work <= SMALL else SHARP)
    if proof.relative_gap <= SHARP or not math.isfinite(proof.value):
        return proof
    if select(problem).refuses(problem) is not None:
        return proof
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotCertified)
        found: Any = None
        for _ in range(4):
            tol = max(0.1 * SHARP, 0.01 * min(proof.relative_gap, 1.0))
            found = minimise(problem, tol=tol, start=point if found is None else found.state)
            best = found.certificate
            if best.kind == "estimate":
                break
            proof = replace(proof, bound=max(proof.bound, best.bound))
            if best.gap <= 0.1 * proof.gap or tol <= 0.1 * SHARP:
                break
            if not found.converged:
                # Stalled at the edge of where the point lies. A bound belongs to no point: the
                # usual way from the origin may prove more.
                cold = minimise(problem, tol=tol).certificate
                if cold.kind != "estimate":
                    proof = replace(proof, bound=max(proof.bound, cold.bound))
                break
    return proof
