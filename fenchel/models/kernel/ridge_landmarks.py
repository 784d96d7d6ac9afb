"""Kernel ridge regression on landmarks: its fit, and its proof among all functions of the kernel.

f = Σ cⱼ k(zⱼ, ·) over m rows z,   of all n rows   min Σ sᵢ (yᵢ - f(xᵢ))² + α‖f‖²
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from fenchel.convex.certificate import Certificate, warn_outside
from fenchel.data.arrays import host, is_sparse
from fenchel.data.blocks import Block, Blocks, InMemory
from fenchel.data.kernel_tiles import kernel_product, symmetric_error, symmetric_product
from fenchel.data.landmark_table import LandmarkTable
from fenchel.geometry.kernel import KernelFunction, Precomputed
from fenchel.geometry.named_kernel import GivenColumns, named_kernel
from fenchel.geometry.nystroem import NystroemFeatures, landmark_numbers
from fenchel.models.base import host_keep
from fenchel.models.kernel.ridge_rows import RidgeRows
from fenchel.models.namespace import as_known
from fenchel.solve.gram.landmark_proof import Seen, full_certificate
from fenchel.solve.gram.landmark_ridge import LandmarkRidge

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
# A fit makes its proof among all functions where that takes no more kernel values, n²/2, than four
# of its own passes.
AT_FIT = 8
# Rows up to which that proof is made when it is asked for: 2^35 values, minutes on two cores.
MOST_ROWS = 2**18


def fit_landmarks(estimator: Any, blocks: Blocks, found: RidgeRows, alphas: Floats) -> None:
    """The fitted attributes of a KernelRidge with landmarks; found: all rows."""
    if not (alphas > 0.0).all():
        raise ValueError(
            "alpha=0 with landmarks: give alpha > 0, or fit LinearRegression to the features of "
            "fenchel.Nystroem"
        )
    own = estimator.random_state is not None
    seed = check_random_state(estimator.random_state).randint(2**31) if own else 0
    random = np.random.default_rng(seed)
    kernel = named_kernel(
        estimator.kernel,
        blocks,
        gamma=estimator.gamma,
        degree=estimator.degree,
        coef0=estimator.coef0,
        parameters=estimator.kernel_params,
    )
    usable = None if (found.s > 0.0).all() else np.flatnonzero(found.s)
    numbers = landmark_numbers(estimator.landmarks, blocks.n_rows, usable, random)
    table, given = _table(kernel, estimator, blocks)
    points = table.take(numbers).X
    points = points if is_sparse(points) else host_keep(points)
    if not (given or kernel.is_psd):
        raise ValueError(
            f"kernel={estimator.kernel!r} is not positive semi-definite, and landmarks have "
            "features of such kernels alone: leave landmarks out, or take another kernel"
        )
    (prepared,) = kernel.prepared(points)
    features, kept = NystroemFeatures.by_pivots(kernel, points, kernel.tile(prepared, prepared))
    problem = _problem(features, table, found, alphas, random)
    solved = problem.solve(float(estimator.tol))
    count, rank = len(numbers), len(kept)
    estimator.kernel_ = GivenColumns() if given else kernel
    estimator.landmarks_ = numbers[kept]
    estimator.X_fit_ = host_keep(blocks.take(numbers[kept]).X) if given else features.points
    # In float64 for rows of any type: to prove that rounding does no harm takes one pass more.
    c = np.ldexp(solved.c, found.exponent)
    estimator.dual_coef_ = c[:, 0] if found.flat else c
    certificate = solved.certificate
    estimator.certificate_ = found.objective(certificate)
    estimator.history_ = (estimator.certificate_,)
    estimator.converged_ = certificate.closed(float(estimator.tol))
    told = "all" if solved.sampled >= blocks.n_rows else str(solved.sampled)
    estimator.storage_ = (
        f"{count} landmarks of rank {rank}, their kernel values made anew in each pass; "
        f"preconditioned by the Gram matrix of {told} rows, {solved.steps} steps"
    )
    if blocks.n_rows <= AT_FIT * count:
        whole = found.objective(_full(problem, solved.seen, solved.c))
        estimator.full_certificate_ = whole
        estimator.storage_ += f"; among all functions of the kernel {whole}"
    if not estimator.converged_:
        warn_outside(
            f"{certificate.reached()}, asked tol={float(estimator.tol):.2g}: raise alpha, which "
            "rounding in the kernel values of these landmarks outweighs, give fewer landmarks, or "
            "loosen tol"
        )


def certify_landmarks(
    estimator: Any, blocks: Blocks, found: RidgeRows, alphas: Floats
) -> Certificate:
    """The certificate of a fitted estimator among all functions of the kernel."""
    n = blocks.n_rows
    if n > MOST_ROWS:
        raise ValueError(
            f"the proof among all functions of the kernel takes {n} x {n} kernel values, hours for "
            f"more than {MOST_ROWS} rows: certificate_ is that among functions of the landmarks; "
            "certify a sample of the rows by a model fitted on it"
        )
    c = np.asarray(host(as_known(estimator.dual_coef_)), np.float64).reshape(-1, found.y.shape[1])
    points = as_known(estimator.X_fit_)
    points = points if is_sparse(points) else host_keep(points)
    kernel: KernelFunction = estimator.kernel_
    if isinstance(kernel, GivenColumns):
        kernel = named_kernel("precomputed", blocks)
        points = np.asarray(host_keep(as_known(estimator.landmarks_)))[:, None]
    table, _ = _table(kernel, estimator, blocks)
    features = NystroemFeatures(kernel, points, np.eye(len(c)))
    problem = _problem(features, table, found, alphas, np.random.default_rng(0))
    c = np.ldexp(c, -found.exponent)
    return found.objective(_full(problem, problem.seen(c), c))


def _table(kernel: KernelFunction, estimator: Any, blocks: Blocks) -> tuple[Blocks, bool]:
    """The rows as the kernel takes them, and whether these are the numbers of rows of a matrix."""
    if not (isinstance(kernel, Precomputed) and isinstance(estimator.kernel, str)):
        return blocks, False
    return InMemory(Block(0, np.arange(blocks.n_rows)[:, None]), None), True


def _problem(
    features: NystroemFeatures,
    table: Blocks,
    found: RidgeRows,
    alphas: Floats,
    random: np.random.Generator,
) -> LandmarkRidge:
    kernel, Z = features.kernel, features.points
    landmark = np.sqrt(np.maximum(kernel.diagonal(Z), 0.0))
    rows = LandmarkTable(kernel, Z, table)
    return LandmarkRidge(rows, features.basis, landmark, found.y, found.s, alphas, random)


def _full(problem: LandmarkRidge, seen: Seen, c: Floats) -> Certificate:
    """One pass over all pairs of rows."""
    table = problem.table
    X = table.blocks.gather().X
    X = X if is_sparse(X) else host_keep(X)
    rho = problem.y - kernel_product(table.kernel, X, table.points, c)
    theta = problem.s[:, None] * rho
    products = np.ascontiguousarray((theta * symmetric_product(table.kernel, X, theta)).T)
    quadratic = products.sum(axis=1)  # by halves along rows, which rounds 160 times at most
    (Z,) = table.kernel.prepared(table.points)
    norms = np.sum(c * (table.kernel.tile(Z, Z) @ c), axis=0)
    sums = symmetric_error(len(theta), table.kernel.tile_rows) + 192.0 * 2.0**-53
    return full_certificate(seen, quadratic, norms, c, problem.alpha, problem.rounding, sums)
