"""Every solver, and small problems of every loss, penalty and kind of rows."""

from __future__ import annotations

import numpy as np
from convex.cases import LOSSES, PENALTIES
from scipy import sparse

from fenchel import MatrixDesign, Problem, as_blocks
from fenchel.convex.loss.distance import Distance
from fenchel.convex.loss.multiclass import Joint
from fenchel.data.design.kernel import GramDesign
from fenchel.solve.decomposition.block_smo import BlockSMO
from fenchel.solve.gram.kernel_newton import KernelNewton
from fenchel.solve.piecewise.augmented_lagrangian import AugmentedLagrangian
from fenchel.solve.piecewise.multiclass_hinge import MulticlassLagrangian
from fenchel.solve.ranking.newton import RankingNewton
from fenchel.solve.smooth.newton import Newton
from fenchel.solve.smooth.newton_cg import NewtonCG
from fenchel.solve.sparse.coordinate_descent import CoordinateDescent
from fenchel.solve.sparse.nonnegative import NonNegativeDescent

SOLVERS = [
    Newton(),
    NewtonCG(),
    CoordinateDescent(),
    NonNegativeDescent(),
    AugmentedLagrangian(),
    MulticlassLagrangian(),
    RankingNewton(),
    BlockSMO(goal=1e-7),
    KernelNewton(),
]

# name: float type, layout, intercept, weights
ROWS = {
    "float64": (np.float64, np.asarray, True, False),
    "float64, weights, no intercept": (np.float64, np.asarray, False, True),
    "float32, weights": (np.float32, np.asarray, True, True),
    "float32, no intercept": (np.float32, np.asfortranarray, False, False),
    "CSR, weights": (np.float64, sparse.csr_array, True, True),
    "CSR float32, no intercept": (np.float32, sparse.csr_array, False, False),
}


def table(loss, d=4, seed=0):
    """Rows and targets that no plane separates or meets."""
    n = 18 * loss.n_classes if isinstance(loss, Joint) else 36
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7) + [0.0, 0.0, 0.5, 0.0]
    z = X @ rng.standard_normal(d) + rng.standard_normal(n)
    if isinstance(loss, Joint):
        y = (np.argsort(np.argsort(z)) * loss.n_classes) // n
        y[::5] = rng.integers(0, loss.n_classes, len(y[::5]))
        return X, y
    return X, z if isinstance(loss, Distance) else np.where(
        z + rng.standard_normal(n) > 0, 1.0, -1.0
    )


def problem_of(loss, penalty, rows) -> Problem:
    dtype, layout, intercept, weighted = ROWS[rows]
    X, y = table(loss)
    s = np.random.default_rng(1).integers(0, 3, len(y)).astype(float) if weighted else None
    return Problem(loss, penalty, MatrixDesign(as_blocks(layout(X.astype(dtype)), y, s)), intercept)


def kernel_problem(loss, penalty, intercept) -> Problem:
    X, y = table(loss)
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    return Problem(loss, penalty, GramDesign(K, y), intercept)


__all__ = ["LOSSES", "PENALTIES", "ROWS", "SOLVERS", "kernel_problem", "problem_of", "table"]
