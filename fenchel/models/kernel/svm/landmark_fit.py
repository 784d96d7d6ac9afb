"""Support vector machines over landmarks: the losses over their features, and over all functions.

    min over f = Σ cⱼ k(zⱼ, ·) and b of C Σ sᵢ l(yᵢ, f(xᵢ) + b) + ‖f‖²/2

The features are the rows of a table, on which the problem is that of a linear machine. The same f
is a point, and the same dual variables are one, of the problem over all functions of the kernel.
"""

from __future__ import annotations

from functools import reduce
from math import isinf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.convex.loss.base import Loss
from fenchel.convex.loss.hinge import Hinge
from fenchel.convex.penalty import L2
from fenchel.convex.problem import Problem
from fenchel.data.arrays import is_sparse
from fenchel.data.blocks import Block
from fenchel.data.design.kernel import KernelDesign
from fenchel.data.design.matrix import MatrixDesign
from fenchel.data.in_memory import ArrayBlocks
from fenchel.geometry.kernel.nystroem import NystroemFeatures
from fenchel.geometry.kernel.vector_kernels import KernelFunction
from fenchel.models.estimator import as_numpy
from fenchel.models.kernel.landmark_rows import AT_FIT, GAP, LandmarkRows
from fenchel.models.kernel.svm.dual_fit import DualFit
from fenchel.models.kernel.svm.machines import Machine
from fenchel.models.progress import watch
from fenchel.solve.minimise import minimise

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


def fit_on_features(
    estimator: Any,
    rows: LandmarkRows,
    loss: Loss,
    C: float,
    y: Floats,
    s: Floats,
    members: Numbers | None = None,
) -> tuple[DualFit, Certificate | None]:
    """The machine over the landmarks among the members, its coefficients on these; and its proof
    among all functions of the kernel, where that takes no longer."""
    here = np.arange(len(y)) if members is None else members
    inside = np.flatnonzero(np.isin(rows.numbers, here))
    if not len(inside):
        raise ValueError(
            "none of the landmarks is a row of these two classes: give more landmarks, or their "
            "row numbers"
        )
    features = rows.features
    if len(inside) < len(rows.numbers):
        points = features.points[inside]
        (prepared,) = features.kernel.prepared(points)
        K = features.kernel.tile(prepared, prepared)
        features, kept = NystroemFeatures.by_pivots(features.kernel, points, K)
        inside = inside[kept]
    X = rows.blocks.gather().X
    X = X if is_sparse(X) else as_numpy(X)
    block = Block(0, X if members is None else X[here], y, s)
    factor = C * float(s.sum())
    table = features.table(ArrayBlocks(block))
    problem = Problem(loss, L2(1.0 / factor), MatrixDesign(table), True)
    tol = float(estimator.tol)
    with watch(estimator.verbose, tol) as show:
        found = minimise(
            problem,
            tol=tol,
            callback=lambda step, point, certificate: bool(show(step, point, certificate)),
        )
    w, b = found.point
    beta = np.zeros(len(here))
    beta[np.searchsorted(here, rows.numbers[inside])] = features.basis @ w
    whole = None
    if len(here) <= AT_FIT * len(inside):
        dual = found.state.dual
        whole = among_all(features.kernel, block, loss, factor, beta, float(b), dual)
    fit = DualFit(
        beta,
        float(b),
        found.certificate.scaled(factor),
        tuple(one.scaled(factor) for one in found.history),
        found.steps,
        found.converged,
    )
    return fit, whole


def machines_on_features(
    estimator: Any, rows: LandmarkRows, machines: list[Machine], codes: Numbers, s: Floats
) -> tuple[list[DualFit], Certificate | None]:
    """The machines of some classes, and the sum of their proofs among all functions."""
    C = float(estimator.C)
    if isinf(C) or estimator.probability:
        wrong = "C=inf" if isinf(C) else "probability=True"
        raise ValueError(f"{wrong} is not fitted on landmarks: leave out one of the two")
    fits, among = [], []
    for machine in machines:
        members = machine.members(codes)
        y, here = machine.targets(codes[members]), members
        some = None if len(here) == len(codes) else here
        one, whole = fit_on_features(estimator, rows, Hinge(), C, y, s[members], some)
        fits.append(one)
        among.append(whole)
    known = [whole for whole in among if whole is not None]
    return fits, reduce(Certificate.__add__, known) if len(known) == len(among) else None


def among_all(
    kernel: KernelFunction,
    block: Block,
    loss: Loss,
    factor: float,
    beta: Floats,
    b: float,
    dual: Floats | None = None,
) -> Certificate:
    """The certificate of f = Σ βᵢ k(xᵢ, ·) and b among all functions of the kernel; dual: of each
    row, where the loss's gradient is not to be it."""
    design = KernelDesign(kernel, ArrayBlocks(block))
    problem = Problem(loss, L2(1.0 / factor), design, True)
    return problem.certify((beta, b), None, dual, GAP).scaled(factor)
