"""Kernel support vector machines, whose dual coefficients are a dual point."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from sklearn.metrics.pairwise import pairwise_kernels

from fenchel.convex.certificate import Certificate
from fenchel.convex.certification.rounding import U, down, gamma, up
from fenchel.convex.loss.base import PiecewiseLinear
from fenchel.convex.loss.hinge import Hinge
from fenchel.convex.penalty import L2
from fenchel.convex.problem import Problem
from fenchel.data.arrays import is_sparse, to_float64, to_numpy
from fenchel.data.blocks import Block, free_memory
from fenchel.data.design.kernel import KernelDesign
from fenchel.data.in_memory import ArrayBlocks
from fenchel.geometry.kernel.vector_kernels import (
    Gaussian,
    KernelFunction,
    Linear,
    Polynomial,
    Precomputed,
)

Floats = NDArray[np.float64]
TILE = 2**23  # entries of a kernel made at once


def host_rows(X: Any) -> Any:
    """Rows in float64 as a numpy array, or sparse as they are."""
    return to_float64(X) if is_sparse(X) else to_numpy(X)


def certify_kernel(model: Any, whole: Block) -> Certificate:
    """The certificate of a fitted SVC, summed over its pairs of classes; y holds class codes.

    C Σ sᵢ max(0, 1 - yᵢ(f(xᵢ) + b)) + ‖f‖²/2,  f = Σⱼ cⱼ k(xⱼ, ·),  θᵢ = -cᵢ / (C sᵢ)

    θ is zero outside the support: those rows add their losses to the value and nothing to the
    bound, so that only the kernel among support vectors is held.
    """
    n, fitted = whole.n_rows, model.shape_fit_[0]
    if n != fitted:
        raise ValueError(
            f"this SVC was fitted on {fitted} rows and X has {n}: pass the rows it was fitted on"
        )
    rows, codes = host_rows(whole.X), to_numpy(whole.y)
    s = np.ones(n) if whole.weight is None else to_numpy(whole.weight)
    support = _support(model, rows, s)
    kernel, table = _kernel(model, rows)
    s = s * model.class_weight_[codes]
    total: Certificate | None = None
    for first, second, positive, coef, b in _pairs(model, codes, support):
        rows_here = np.flatnonzero(((codes == first) | (codes == second)) & (s > 0.0))
        y = np.where(codes == positive, 1.0, -1.0)
        one = certify_machine(model.C, kernel, table, rows_here, coef, b, y, s)
        total = one if total is None else total + one
    assert total is not None
    return total


def certify_machine(
    C: float,
    kernel: KernelFunction,
    table: Any,
    rows: Any,
    coef: Floats,
    b: float,
    y: Floats,
    s: Floats,
    loss: PiecewiseLinear | None = None,
) -> Certificate:
    """The certificate of one machine: table, all rows as the kernel takes them; rows, the numbers
    of those of its classes that have weight; coef, y and s of all rows; loss: the hinge unless
    given, with l*(y, 0) = 0.

    A score of a row outside the support is off by ζ at most (`certification.rounding`), its loss by
    what it rises within ζ, and the sum of n such losses by γ(n) of itself: the bound pays.
    """
    loss = Hinge() if loss is None else loss
    support = rows[coef[rows] != 0.0]
    _check_memory(len(support), "the kernel among support vectors")
    c, weight = coef[support], s[support]
    rest = np.setdiff1d(rows, support, assume_unique=True)
    points = table[support]
    design = KernelDesign(kernel, ArrayBlocks(Block(0, points, y[support], weight), None))
    share = gamma(len(support) + 4) + design.entry_error
    size = design.expansion_size(c) if len(support) else 0.0
    missed = off = 0.0
    step = max(1, TILE // max(len(support), 1))
    for lo in range(0, len(rest), step):
        here = rest[lo : lo + step]
        z = kernel.tile(table[here], points) @ c + b if len(support) else np.full(len(here), b)
        zeta = share * np.sqrt(np.maximum(kernel.sizes(table[here]), 0.0)) * size
        zeta = zeta + 4.0 * U * (np.abs(z) + abs(b) + np.abs(y[here]) + loss.dead_zone)
        far = loss.value(y[here], z)
        # A convex loss falls by no more on one side than it rises on the other.
        ends = np.maximum(loss.value(y[here], z - 2.0 * zeta), loss.value(y[here], z + 2.0 * zeta))
        missed += float(s[here] @ far)
        off += float(s[here] @ (ends - far))
    off = up(off + gamma(len(rest) + 16) * missed, len(rest) + 8)
    if not len(support):
        return Certificate(C * missed, 0.0, "duality")
    factor = C * design.weight
    theta = (-c / (C * weight)).clip(*loss.dual_interval(y[support]))
    problem = Problem(loss, L2(1.0 / factor), design, True)
    proof = problem.certify((c, b), dual=theta).scaled(factor)
    value = proof.value + C * missed
    # That no loss is negative needs no arithmetic: a bound of zero stays.
    least = max(down(proof.bound - C * off - 8.0 * U * value, 4), min(proof.bound, 0.0))
    return replace(proof, value=value, bound=least)


def _pairs(model: Any, codes: Any, support: Any) -> Iterator[tuple[int, int, int, Floats, float]]:
    """For each pair of classes: both, the positive one, the coefficient of each row and b.

    Of two classes the second is positive, of more the first of each pair; there a support vector
    of class i has its coefficient against class j in row j - 1 of dual_coef_ if j > i, else row j.
    """
    dual = model.dual_coef_
    dual = np.asarray(dual.toarray() if is_sparse(dual) else dual)
    if len(dual) != len(model.classes_) - 1:
        raise ValueError(
            f"this SVC knows {len(model.classes_)} classes and has coefficients for {len(dual) + 1}"
            ": its library left out a class without weight; fit it on rows of positive weight"
        )
    if len(model.classes_) == 2:
        coef = np.zeros(len(codes))
        coef[support] = dual[0]
        yield 0, 1, 1, coef, float(model.intercept_[0])
        return
    for number, (i, j) in enumerate(combinations(range(len(model.classes_)), 2)):
        coef = np.zeros(len(codes))
        of = codes[support]
        coef[support[of == i]] = dual[j - 1, of == i]
        coef[support[of == j]] = dual[i, of == j]
        yield i, j, i, coef, float(model.intercept_[number])


def _support(model: Any, rows: Any, s: Floats) -> Any:
    """The numbers of the support vectors among the rows.

    libsvm drops rows of weight zero and then counts those that are left.
    """
    among = np.flatnonzero(s > 0.0)
    if callable(model.kernel) or model.kernel == "precomputed":
        return among[model.support_]
    held = _dense(model.support_vectors_)
    for found in (model.support_, among[np.minimum(model.support_, len(among) - 1)]):
        if np.array_equal(held, _dense(rows[found])):
            return found
    raise ValueError(
        "the support vectors of this SVC are not the rows of X that it names: pass the rows it was "
        "fitted on, in their order"
    )


def _dense(rows: Any) -> Floats:
    return to_numpy(rows.toarray() if is_sparse(rows) else rows)


def _kernel(model: Any, rows: Any) -> tuple[KernelFunction, Any]:
    """k, and the rows as it takes them; refuses what is no positive semidefinite kernel."""
    name = model.kernel
    parameters = {"gamma": model._gamma, "degree": model.degree, "coef0": model.coef0}
    width, degree, coef0 = float(model._gamma), model.degree, float(model.coef0)
    if name == "linear":
        return Linear(), rows
    if name == "rbf" and width > 0.0:
        return Gaussian(width), rows
    if name == "poly" and coef0 >= 0.0 and width > 0.0 and degree >= 1:
        return Polynomial(int(degree), width, coef0), rows
    _check_memory(2 * rows.shape[0], "checking that the kernel is positive semidefinite")
    if name == "precomputed":
        K = rows.toarray() if is_sparse(rows) else rows
    elif callable(name):
        K = np.asarray(name(rows, rows), dtype=np.float64)
    else:
        parameters = parameters if name == "poly" else {"gamma": model._gamma, "coef0": model.coef0}
        K = pairwise_kernels(rows, metric=name, **parameters)
    _check_positive(K)
    return Precomputed(0.5 * (K + K.T)), np.arange(len(K))[:, None]


def _check_positive(K: Floats) -> None:
    size = float(np.abs(K).max())
    slack = 8.0 * len(K) * float(np.finfo(np.float64).eps) * size
    try:
        if float(np.abs(K - K.T).max()) > slack:
            raise linalg.LinAlgError
        linalg.cholesky(K + slack * np.eye(len(K)), lower=True, check_finite=False)
    except linalg.LinAlgError:
        raise ValueError(
            "the kernel is not positive semidefinite on these rows, so the objective of this SVC "
            "is not convex and has no certificate"
        ) from None


def _check_memory(rows: int, what: str) -> None:
    need, have = 16.0 * rows * rows, free_memory()
    if need > have:
        raise MemoryError(
            f"{what} needs {need / 2**30:.1f} GiB and {have / 2**30:.1f} GiB are free: certify a "
            "fit on fewer rows"
        )
