"""Support vector machines by their dual: one problem, its solver, and what a fit says of it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from fenchel.convex.certificate import Certificate
from fenchel.convex.loss.base import PiecewiseLinear
from fenchel.convex.loss.one_class import OneClass
from fenchel.convex.penalty import L2
from fenchel.convex.problem import Problem
from fenchel.geometry.kernel.named_kernel import GAMMAS, NAMES
from fenchel.geometry.kernel.vector_kernels import KernelFunction
from fenchel.models.kernel.gram_rows import GramRows
from fenchel.models.kernel.svm.linear_shift import LinearShift
from fenchel.models.progress import watch
from fenchel.solve.decomposition.block_smo import BlockSMO
from fenchel.solve.minimise import minimise

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
STEPS = 1000  # each of up to two hundred turns of a block

SHARED: dict[str, list[Any]] = {
    "kernel": [StrOptions(set(NAMES)), KernelFunction, callable],
    "degree": [Interval(Integral, 0, None, closed="left")],
    "gamma": [Interval(Real, 0, None, closed="neither"), StrOptions(set(GAMMAS))],
    "coef0": [Interval(Real, None, None, closed="neither")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "shrinking": ["boolean"],
    "cache_size": [Interval(Real, 0, None, closed="neither")],
    "verbose": ["verbose"],
    "max_iter": [Interval(Integral, -1, None, closed="left")],
}


@dataclass(frozen=True, slots=True)
class DualFit:
    """An expansion Σ βᵢ k(xᵢ, ·) + b.

    certificate: on C Σ s l + ‖f‖²/2; history: one certificate a step, on the same.
    """

    beta: Floats = field(repr=False)
    b: float
    certificate: Certificate
    history: tuple[Certificate, ...] = field(repr=False)
    pairs: int
    converged: bool


def fit_dual(
    estimator: Any,
    gram: GramRows,
    loss: PiecewiseLinear,
    C: float,
    y: Floats,
    s: Floats | None,
    members: Numbers | None = None,
    start: Floats | None = None,
) -> DualFit:
    """min over f and b of C Σ sᵢ l(yᵢ, f(xᵢ) + b) + ‖f‖²/2 over the members."""
    shift = LinearShift.of(gram if members is None else gram.among_members(members))
    design = gram.design(y, s, members) if shift is None else shift.gram.design(y, s)
    factor = C * design.weight
    problem = Problem(loss, L2(1.0 / factor), design, True)
    found = _driven(estimator, gram, problem, factor, start)
    if shift is None:
        return found
    b = shift.outward(found.beta, found.b)
    proof = shift.paid(found.certificate, found.beta, b, found.b, factor)
    return replace(found, b=b, certificate=proof)


def fit_one_class(estimator: Any, gram: GramRows, nu: float, s: Floats | None) -> DualFit:
    """min over f and ρ of ‖f‖²/2 + Σ sᵢ max(0, ρ - f(xᵢ)) - ν ρ Σ sᵢ, with b = -ρ."""
    design = gram.design(np.zeros(gram.n), s)
    return _driven(estimator, gram, OneClass(design, nu), 1.0, None)


def _driven(
    estimator: Any,
    gram: GramRows,
    problem: Problem | OneClass,
    factor: float,
    start: Floats | None,
) -> DualFit:
    solver = BlockSMO(
        goal=float(estimator.tol),
        measure="kkt",
        memory=float(estimator.cache_size) * 2**20,
        max_pairs=math.inf if estimator.max_iter < 0 else float(estimator.max_iter),
        convex=gram.convex,
    )
    with watch(estimator.verbose, estimator.tol) as show:
        found = minimise(
            problem,
            solver,
            tol=float(estimator.tol),
            max_steps=STEPS,
            start=None if start is None else (start, 0.0),
            callback=lambda step, point, certificate: bool(show(step, point, certificate)),
            proof=gram.convex,
        )
    proof = found.certificate
    if not gram.convex:  # the loop certifies nothing without convexity: what the solver states
        stated = solver.prove(problem, found.state)
        proof = replace(stated, steps=proof.steps, seconds=proof.seconds)
    beta, b = found.point
    return DualFit(
        beta,
        float(b),
        proof.scaled(factor),
        tuple(one.scaled(factor) for one in found.history),
        found.state.memory.pairs,
        found.converged,
    )
