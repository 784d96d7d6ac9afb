"""The L1 penalty: lasso paths on dense and on sparse columns, and logistic regression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from . import gap
from .data import Table, dense_classes, factor_regression, text_regression
from .gap import Verdict
from .logistic import read, work
from .machine import Work
from .protocol import Contender, Workload, estimator, our_ladder, tolerances

PATH, SINGLE = 1e-4, 1e-6  # the relative gap of every point of a path, and of one fit
SIZES = {  # scale -> rows, columns, penalties of the dense and the sparse path; of the classes
    "full": ((2_000, 20_000, 50), (50_000, 50_000, 30), (10_000, 1_000)),
    "small": ((100, 600, 10), (800, 500, 8), (400, 60)),
}
L1_C = 100  # over the number of rows

Fit = Callable[[float], Any]


def penalties(table: Table, count: int) -> np.ndarray:
    """From the least for which all coefficients are zero down to a fiftieth of it."""
    largest = np.abs(table.X.T @ table.y).max() / len(table.y)
    return largest * np.geomspace(1, 0.02, count)


def path(
    name: str,
    count: int,
    ladder: tuple[float, ...],
    solve: Callable[[Table, np.ndarray], Fit],
    *,
    ours: bool = False,
) -> Contender:
    """solve(table, alphas) imports what it needs and gives fit(tol) -> (alphas, coefs, ...)."""

    def prepare(table: Table) -> Fit:
        return solve(table, penalties(table, count))

    return Contender(name, prepare, lambda found: np.asarray(found[1]), ladder, ours=ours)


def ours(table: Table, alphas: np.ndarray) -> Fit:
    from fenchel import lasso_path

    return lambda tol: lasso_path(table.X, table.y, alphas=alphas, tol=tol)


def scikit_learn(table: Table, alphas: np.ndarray) -> Fit:
    from sklearn.linear_model import lasso_path

    return lambda tol: lasso_path(table.X, table.y, alphas=alphas, tol=tol, max_iter=100_000)


def celer(prune: int) -> Callable[[Table, np.ndarray], Fit]:
    def solve(table: Table, alphas: np.ndarray) -> Fit:
        from celer import celer_path

        return lambda tol: celer_path(
            table.X, table.y, "lasso", alphas=alphas, tol=tol, max_iter=100, prune=prune
        )

    return solve


def skglm(table: Table, alphas: np.ndarray) -> Fit:
    from skglm import Lasso

    return lambda tol: Lasso(tol=tol, fit_intercept=False, warm_start=True).path(
        table.X, table.y, alphas
    )


def paths(count: int) -> tuple[Contender, ...]:
    """Their tolerances: a gap over ‖y‖²/n (celer) or ‖y‖² (scikit-learn), a slope (skglm)."""
    fine = tolerances(1e-4, 1e-9)
    return (
        path("fenchel lasso_path", count, our_ladder(PATH), ours, ours=True),
        path("celer celer_path", count, fine, celer(0)),
        path("celer celer_path, prune=1", count, fine, celer(1)),
        path("scikit-learn lasso_path", count, tolerances(1e-4, 1e-8, 1), scikit_learn),
        path("skglm path", count, tolerances(1e-3, 1e-8), skglm),
    )


def judge(count: int) -> Callable[[Table, np.ndarray], Verdict]:
    return lambda table, W: gap.lasso_path(table.X, table.y, penalties(table, count), W)


def path_work(count: int) -> Callable[[Table], Work]:
    def floor(table: Table) -> Work:
        entries = table.X.nnz if sparse.issparse(table.X) else table.X.size
        size = 12 * entries if sparse.issparse(table.X) else 8 * entries
        return Work(2.0 * entries * count, size, "Xᵀr for each penalty, all in one reading of X")

    return floor


def l1_classes(C: float) -> tuple[Contender, ...]:
    shared: dict[str, Any] = {"C": C, "fit_intercept": False}

    def peer(name: str, path: str, ladder: tuple[float, ...], **parameters: Any) -> Contender:
        return estimator(name, path, ladder, read, **shared, **parameters)

    def skglm_l1(table: Table) -> Fit:
        from skglm import SparseLogisticRegression

        alpha = 1 / (C * len(table.y))
        return lambda tol: SparseLogisticRegression(
            alpha, tol=tol, max_iter=200, fit_intercept=False
        ).fit(table.X, table.y)

    theirs, fine = "sklearn.linear_model.LogisticRegression", tolerances(1e-2, 1e-8)
    return (
        peer("fenchel", "fenchel.LogisticRegression", our_ladder(SINGLE), l1_ratio=1.0, ours=True),
        peer("celer", "celer.LogisticRegression", fine, max_iter=200),
        Contender("skglm", skglm_l1, read, fine),
        peer(
            "scikit-learn liblinear",
            theirs,
            fine,
            l1_ratio=1.0,
            solver="liblinear",
            max_iter=100_000,
        ),
        peer(
            "scikit-learn saga",
            theirs,
            tolerances(1e-2, 1e-6, 1),
            l1_ratio=1.0,
            solver="saga",
            max_iter=100_000,
        ),
    )


def workloads(scale: str) -> list[Workload]:
    (n, d, count), (N, D, few), classes = SIZES[scale]
    C = L1_C / classes[0]
    note = "The gap is the worst along the path; no intercept."
    return [
        Workload(
            f"lasso path, dense, {n:,} x {d:,}, {count} penalties",
            PATH,
            lambda: factor_regression(n, d, seed=6),
            judge(count),
            path_work(count),
            paths(count),
            note=note,
        ),
        Workload(
            f"lasso path, sparse text, {N:,} x {D:,}, {few} penalties",
            PATH,
            lambda: text_regression(N, D, words=50, seed=7),
            judge(few),
            path_work(few),
            paths(few),
            note=note,
        ),
        Workload(
            f"L1 logistic, {classes[0]:,} x {classes[1]:,}, C={C:g}, no intercept",
            SINGLE,
            lambda: dense_classes(*classes, condition=100, seed=8),
            lambda table, point: gap.logistic_l1(table.X, table.y, C, point[0]),
            work,
            l1_classes(C),
        ),
    ]
