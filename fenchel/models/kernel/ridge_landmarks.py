"""Kernel ridge regression on landmarks: its fit, and its proof among all functions of the kernel.

f = Σ cⱼ k(zⱼ, ·) over m rows z,   of all n rows   min Σ sᵢ (yᵢ - f(xᵢ))² + α‖f‖²
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate, warn_outside
from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.blocks import Blocks
from fenchel.data.design.kernel_tiles import kernel_product, symmetric_error, symmetric_product
from fenchel.data.linear_algebra.matrix_products import product_error
from fenchel.models.array_namespace import as_known
from fenchel.models.estimator import as_numpy
from fenchel.models.kernel.landmark_rows import (
    AT_FIT,
    LandmarkRows,
    fitted_landmarks,
    landmark_random,
    landmark_rows,
)
from fenchel.models.kernel.ridge_rows import RidgeRows
from fenchel.solve.gram.landmark_leave_one_out import landmark_left_out
from fenchel.solve.gram.landmark_proof import Residuals, U, full_certificate
from fenchel.solve.gram.landmark_ridge import LandmarkRidge

Floats = NDArray[np.float64]
# Rows up to which that proof is made when it is asked for: 2^35 values, minutes on two cores.
MOST_ROWS = 2**18


@dataclass(frozen=True, eq=False)
class DrawnLandmarks:
    """The landmarks of a fit, and what draws the rows of its preconditioner."""

    rows: LandmarkRows
    random: np.random.Generator

    @classmethod
    def of(cls, estimator: Any, blocks: Blocks, found: RidgeRows) -> Self:
        """found: all rows."""
        random = landmark_random(estimator)
        usable = None if (found.s > 0.0).all() else np.flatnonzero(found.s)
        own = estimator.kernel_params
        return cls(landmark_rows(estimator, blocks, usable, random, parameters=own), random)

    def left_out(self, found: RidgeRows, alphas: Floats) -> Floats:
        """Leave-one-out errors (n, T, A) in the units of found.y."""
        return landmark_left_out(
            self.rows.table, self.rows.features.basis, found.y, found.s, alphas
        )


def fit_landmarks(
    estimator: Any,
    blocks: Blocks,
    found: RidgeRows,
    alphas: Floats,
    drawn: DrawnLandmarks | None = None,
) -> None:
    """The fitted attributes of a KernelRidge with landmarks; found: all rows."""
    if not (alphas > 0.0).all():
        raise ValueError(
            "alpha=0 with landmarks: give alpha > 0, or fit LinearRegression to the features of "
            "fenchel.Nystroem"
        )
    drawn, tol = drawn or DrawnLandmarks.of(estimator, blocks, found), float(estimator.tol)
    rows = drawn.rows
    problem = _problem(rows, found, alphas, drawn.random)
    solved = problem.solve(tol)
    estimator.kernel_, estimator.X_fit_ = rows.outside, rows.points
    estimator.landmarks_ = rows.numbers
    # In float64 for rows of any type: to prove that rounding does no harm takes one pass more.
    c = np.ldexp(solved.c, found.exponent)
    estimator.dual_coef_ = c[:, 0] if found.flat else c
    certificate = solved.certificate
    estimator.certificate_ = found.objective(certificate)
    estimator.history_ = (estimator.certificate_,)
    estimator.converged_ = certificate.closed(tol)
    sample = "all" if solved.sampled >= blocks.n_rows else str(solved.sampled)
    estimator.storage_ = (
        f"{rows.asked} landmarks of rank {len(rows.numbers)}, their kernel values made anew in "
        f"each pass; preconditioned by the Gram matrix of {sample} rows, {solved.steps} steps"
    )
    if blocks.n_rows <= AT_FIT * rows.asked:
        whole = found.objective(_among_all(problem, solved.c))
        estimator.full_certificate_ = whole
        estimator.storage_ += f"; among all functions of the kernel {whole}"
    if not estimator.converged_:
        warn_outside(
            f"{certificate.reached()}, asked tol={tol:.2g}: raise alpha, which rounding in the "
            "kernel values of these landmarks outweighs, give fewer landmarks, or loosen tol"
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
            "fit and certify a sample of the rows"
        )
    problem = _problem(fitted_landmarks(estimator, blocks), found, alphas, np.random.default_rng(0))
    c = np.asarray(to_numpy(as_known(estimator.dual_coef_)), np.float64).reshape(
        -1, found.y.shape[1]
    )
    c = np.ldexp(c, -found.exponent)
    return found.objective(_among_all(problem, c))


def _problem(
    rows: LandmarkRows, found: RidgeRows, alphas: Floats, random: np.random.Generator
) -> LandmarkRidge:
    sides = found.y, found.s, alphas
    return LandmarkRidge(rows.table, rows.features.basis, rows.roots, *sides, random)


def _among_all(problem: LandmarkRidge, c: Floats) -> Certificate:
    """One pass over all pairs of rows."""
    table, y, s = problem.table, problem.y, problem.s[:, None]
    X = table.blocks.gather().X
    X = X if is_sparse(X) else as_numpy(X)
    rho = y - kernel_product(table.kernel, X, table.points, c)
    theta = s * rho

    def total(terms: Floats) -> Floats:
        # By halves along rows: of 128 terms one by one, and then in a tree.
        return np.ascontiguousarray(terms.T).sum(axis=1)

    quadratic = total(theta * symmetric_product(table.kernel, X, theta))
    (Z,) = table.kernel.prepared(table.points)
    norms = np.sum(c * (table.kernel.tile(Z, Z) @ c), axis=0)
    sums = total(theta * rho), total(s * y**2), total(theta * y)
    seen = Residuals(*sums, total(problem.root[:, None] * np.abs(theta)))
    pairwise = 192.0 * U
    rounding = replace(problem.rounding, rows=pairwise, columns=product_error(len(c)))
    products = symmetric_error(len(s), table.kernel.tile_rows) + pairwise
    return full_certificate(seen, quadratic, norms, c, problem.alpha, rounding, products)
