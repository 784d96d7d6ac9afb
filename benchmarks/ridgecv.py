"""Ridge regression with its penalty chosen by exact leave-one-out over a whole grid."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import gap
from .data import Table, dense_regression
from .gap import Verdict
from .machine import Work
from .protocol import Contender, Workload, estimator

TARGET = 1e-9
SIZES = {"full": (20_000, 500), "small": (2_000, 60)}
ALPHAS = np.geomspace(1e-2, 1e5, 50)
NO_TOLERANCE = (0.0,)

Chosen = tuple[float, np.ndarray, float]


def read(model: Any) -> Chosen:
    return float(model.alpha_), np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])


def judge(table: Table, chosen: Chosen) -> Verdict:
    """The gap of the refitted coefficients, once the choice itself is found right."""
    alpha, coef, intercept = chosen
    errors = gap.leave_one_out(table.X, table.y, ALPHAS)
    ours = errors[np.argmin(np.abs(ALPHAS - alpha))]
    if ours > errors.min() * (1 + 1e-9):
        raise ValueError(f"chose alpha {alpha:g}; leave-one-out says {ALPHAS[errors.argmin()]:g}")
    return gap.ridge(table.X, table.y, alpha, coef, intercept)


def eigh_route() -> Contender:
    """What plain numpy does with one eigendecomposition: a yardstick, not a library."""

    def prepare(table: Table) -> Callable[[float], Chosen]:
        X, y = table

        def fit(_: float) -> Chosen:
            alpha = float(ALPHAS[gap.leave_one_out(X, y, ALPHAS).argmin()])
            mean = X.mean(axis=0)
            A = X - mean
            w = np.linalg.solve(A.T @ A + alpha * np.eye(A.shape[1]), A.T @ (y - y.mean()))
            return alpha, w, float(y.mean() - mean @ w)

        return fit

    return Contender("numpy eigh", prepare, lambda chosen: chosen, NO_TOLERANCE, yardstick=True)


def work(table: Table) -> Work:
    n, d = table.X.shape
    flops = 3 * n * d**2 + 4 * n * d * len(ALPHAS) + 9 * d**3
    return Work(
        flops, 8.0 * n * d, "XᵀX, its eigenvectors, X in their basis, two products per grid"
    )


def workloads(scale: str) -> list[Workload]:
    n, d = SIZES[scale]
    peers = {"scikit-learn": None, "scikit-learn eigen": "eigen", "scikit-learn svd": "svd"}
    return [
        Workload(
            f"leave-one-out, {n:,} x {d}, {len(ALPHAS)} penalties",
            TARGET,
            lambda: dense_regression(n, d, condition=2500, seed=4),
            judge,
            work,
            (
                estimator(
                    "fenchel", "fenchel.RidgeCV", NO_TOLERANCE, read, ours=True, alphas=ALPHAS
                ),
                *(
                    estimator(
                        name,
                        "sklearn.linear_model.RidgeCV",
                        NO_TOLERANCE,
                        read,
                        alphas=ALPHAS,
                        gcv_mode=mode,
                    )
                    for name, mode in peers.items()
                ),
                eigh_route(),
            ),
            note="Nobody has a tolerance here; a wrong choice of penalty is a failure.",
        )
    ]
