"""Coefficients in the precision of the rows, and what that leaves of their certificate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fenchel.convex.certificate import Certificate, warn_outside
from fenchel.convex.objective import Objective
from fenchel.data.design import Point
from fenchel.solve.minimise import Solution


def in_precision(
    problem: Objective[Point], solution: Solution[Point], dtype: Any, tol: float
) -> Solution[Point]:
    """The solution rounded to the precision of the input, and the certificate of what is left."""
    point, proof, closed = rounded(
        problem, solution.point, solution.certificate, solution.converged, dtype, tol
    )
    return replace(solution, point=point, certificate=proof, converged=closed)


def rounded(
    problem: Objective[Point],
    point: Point,
    proof: Certificate,
    closed: bool,
    dtype: Any,
    tol: float,
) -> tuple[Point, Certificate, bool]:
    """A point, its proof, and whether that is closed, after rounding; left alone where it is open.

    The bound is one of the optimum and holds for every point: only the value is computed anew.
    """
    if dtype == np.float64 or not closed:
        return point, proof, closed
    with np.errstate(over="ignore"):
        w, b = (np.asarray(part, dtype=dtype).astype(np.float64) for part in point)
    point = (w, b if b.ndim else float(b))
    final = replace(proof, value=problem.evaluate(point, exact=True).value)
    closed = final.closed(tol)
    if not closed:
        warn_outside(
            f"coefficients in {np.dtype(dtype).name} leave a relative duality gap of "
            f"{final.relative_gap:.2g}, asked tol={tol:.2g}. Pass float64 rows or loosen tol."
        )
    return point, final, closed
