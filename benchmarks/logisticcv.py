"""Logistic regression with C chosen by cross-validation: every fit of every fold is judged."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from . import gap
from .data import Table, dense_classes
from .gap import Verdict
from .machine import Work
from .protocol import Workload, estimator, our_ladder, tolerances

TARGET = 1e-4
FOLDS = 5
SIZES = {"full": (50_000, 100, 20), "small": (2_000, 15, 5)}


def grid(count: int) -> np.ndarray:
    return np.geomspace(1e-4, 1e2, count)


def read(model: Any) -> tuple[float, np.ndarray, np.ndarray]:
    """The chosen C, the refitted (w, b), and all paths as (folds, Cs, d + 1)."""
    chosen = np.append(np.ravel(model.coef_), np.ravel(model.intercept_))
    paths = model.coefs_paths_
    if isinstance(paths, dict):  # the layout of scikit-learn's use_legacy_attributes=True
        paths = paths[max(paths)]
    paths = np.asarray(paths)
    return float(np.ravel(model.C_)[0]), chosen, paths.reshape(FOLDS, -1, len(chosen))


def judge(table: Table, fitted: tuple[float, np.ndarray, np.ndarray]) -> Verdict:
    """The verdict with the largest relative gap, over the refit and all folds."""
    C, chosen, paths = fitted
    X, y = table
    verdicts = [gap.logistic(X, y, C, chosen[:-1], chosen[-1], intercept=True)]
    for (train, _), path in zip(StratifiedKFold(FOLDS).split(X, y), paths, strict=True):
        rows, labels = X[train], y[train]
        verdicts += [
            gap.logistic(rows, labels, C, point[:-1], point[-1], intercept=True)
            for C, point in zip(grid(len(path)), path, strict=True)
        ]
    return max(verdicts, key=lambda verdict: verdict.relative_gap)


def workloads(scale: str) -> list[Workload]:
    n, d, count = SIZES[scale]
    shared: dict[str, Any] = {
        "Cs": grid(count),
        "cv": FOLDS,
        "scoring": "accuracy",
        "l1_ratios": (0.0,),
        "use_legacy_attributes": False,
    }
    peers = [
        ("scikit-learn newton-cholesky", "newton-cholesky", 1),
        ("scikit-learn newton-cholesky, 2 jobs", "newton-cholesky", 2),
        ("scikit-learn lbfgs, 2 jobs", "lbfgs", 2),
    ]
    fits = FOLDS * count

    def work(table: Table) -> Work:
        entries = table.X.size * (fits * (1 - 1 / FOLDS) + 1)
        return Work(
            8 * entries, 16 * entries, f"value and gradient twice in each of {fits + 1} fits"
        )

    return [
        Workload(
            f"{FOLDS} folds x {count} values of C, {n:,} x {d}",
            TARGET,
            lambda: dense_classes(n, d, condition=2500, seed=5),
            judge,
            work,
            (
                estimator(
                    "fenchel",
                    "fenchel.LogisticRegressionCV",
                    our_ladder(TARGET / 100),  # the folds are certified to 100 tol
                    read,
                    ours=True,
                    **shared,
                ),
                *(
                    estimator(
                        name,
                        "sklearn.linear_model.LogisticRegressionCV",
                        tolerances(1e-3, 1e-8, 1),
                        read,
                        solver=solver,
                        n_jobs=jobs,
                        max_iter=10_000,
                        **shared,
                    )
                    for name, solver, jobs in peers
                ),
            ),
            one_problem=False,
            note="The gap is the worst of the refit and all fold fits.",
        )
    ]
