"""L2 logistic regression, two classes: dense and ill-conditioned, dense and wide, sparse text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import cpu_count
from scipy import sparse

from . import gap
from .data import Table, dense_classes, text_classes
from .gap import Verdict
from .machine import Work
from .protocol import Contender, Workload, estimator, our_ladder, tolerances

TARGET = 1e-6
SIZES = {  # scale -> rows, columns of the tall, the wide and the sparse table
    "full": ((500_000, 50), (50_000, 500), (200_000, 50_000)),
    "small": ((10_000, 20), (2_000, 100), (5_000, 3_000)),
}

Fit = Callable[[float], Any]


def read(model: Any) -> tuple[np.ndarray, float]:
    return np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])


def signs(y: np.ndarray) -> np.ndarray:
    return np.where(y == y.max(), 1.0, -1.0)


def logistic_regression(
    name: str, module: str, ladder: tuple[float, ...], **parameters: Any
) -> Contender:
    return estimator(name, f"{module}.LogisticRegression", ladder, read, **parameters)


def snapml(C: float, dual: bool) -> Contender:
    def prepare(table: Table) -> Fit:
        from snapml import LogisticRegression

        return lambda tol: LogisticRegression(
            regularizer=1 / C,
            dual=dual,
            tol=tol,
            max_iter=10_000,
            fit_intercept=False,
            n_jobs=cpu_count(),
            random_state=0,
        ).fit(table.X, table.y)

    name = f"snapml {'dual' if dual else 'primal'}"
    return Contender(
        name, prepare, lambda model: (np.ravel(model.coef_), 0.0), tolerances(1e-2, 1e-9)
    )


def liblinear(C: float, solver: int, method: str) -> Contender:
    """LIBLINEAR's own binding; copying the table into its nodes is part of its time."""

    def prepare(table: Table) -> Fit:
        from liblinear.liblinearutil import parameter, problem, train

        s = signs(table.y)
        return lambda tol: train(
            problem(s, table.X), parameter(f"-s {solver} -c {C} -e {tol} -B -1 -q")
        )

    def weights(model: Any) -> tuple[np.ndarray, float]:
        w, _ = model.get_decfun()
        return np.array(w) * model.get_labels()[0], 0.0

    return Contender(f"liblinear {method}", prepare, weights, tolerances(1e-1, 1e-7))


def skglm(C: float) -> Contender:
    """Its solver called directly, because its estimator class does not take this solver."""

    def prepare(table: Table) -> Fit:
        from skglm.datafits import Logistic
        from skglm.penalties import L2
        from skglm.solvers import LBFGS

        s = signs(table.y)
        lam = 1 / (C * len(s))

        def fit(tol: float) -> np.ndarray:
            X = table.X.tocsc() if sparse.issparse(table.X) else table.X
            w, _, _ = LBFGS(tol=tol, max_iter=10_000).solve(X, s, Logistic(), L2(lam))
            return w

        return fit

    return Contender("skglm LBFGS", prepare, lambda w: (w, 0.0), tolerances(1e-3, 1e-10))


def contenders(C: float, *, intercept: bool, dense: bool) -> tuple[Contender, ...]:
    """With a free intercept who has one; else the peers that penalise theirs or have none."""
    shared: dict[str, Any] = {"C": C, "fit_intercept": intercept, "max_iter": 10_000}
    ours = logistic_regression(
        "fenchel", "fenchel", our_ladder(TARGET), C=C, fit_intercept=intercept, ours=True
    )
    first, second = tolerances(1e-2, 1e-9), tolerances(1e-2, 1e-8)
    if not intercept:
        peers = [snapml(C, dual=True), snapml(C, dual=False), skglm(C)]
        if not dense:
            peers += [
                liblinear(C, 0, "trust region (-s 0)"),
                liblinear(C, 7, "dual (-s 7)"),
                logistic_regression(
                    "scikit-learn liblinear",
                    "sklearn.linear_model",
                    first,
                    solver="liblinear",
                    **shared,
                ),
            ]
        return (ours, *peers)
    solvers = [("lbfgs", first), ("newton-cg", second)]
    if dense:
        solvers.append(("newton-cholesky", second))
    return (
        ours,
        *(
            logistic_regression(
                f"scikit-learn {solver}", "sklearn.linear_model", ladder, solver=solver, **shared
            )
            for solver, ladder in solvers
        ),
        *(
            logistic_regression(
                f"scikit-learn-intelex {solver}",
                "sklearnex.linear_model",
                ladder,
                solver=solver,
                **shared,
            )
            for solver, ladder in solvers[:2]
        ),
    )


def judge(C: float, intercept: bool) -> Callable[[Table, Any], Verdict]:
    return lambda table, point: gap.logistic(table.X, table.y, C, *point, intercept=intercept)


def work(table: Table) -> Work:
    X = table.X
    entries = X.nnz if sparse.issparse(X) else X.size
    size = 12 * entries if sparse.issparse(X) else 8 * entries
    return Work(8 * entries, 2 * size, "value and gradient twice, each in one reading of X")


def workloads(scale: str) -> list[Workload]:
    tall, wide, text = SIZES[scale]
    tables: list[tuple[str, float, bool, Callable[[], Table]]] = [
        ("tall, condition 2500", 1.0, True, lambda: dense_classes(*tall, condition=2500, seed=0)),
        ("wide, condition 2500", 1e-2, True, lambda: dense_classes(*wide, condition=2500, seed=1)),
        ("wide, uncorrelated", 1e-2, True, lambda: dense_classes(*wide, condition=1, seed=2)),
        ("sparse text", 1.0, False, lambda: text_classes(*text, words=50, seed=3)),
    ]
    shapes = dict(zip([name for name, *_ in tables], [tall, wide, wide, text], strict=True))
    return [
        Workload(
            f"{name}, {shapes[name][0]:,} x {shapes[name][1]:,}, C={C:g}, "
            f"{'free' if intercept else 'no'} intercept",
            TARGET,
            table,
            judge(C, intercept),
            work,
            contenders(C, intercept=intercept, dense=dense),
            note="" if intercept else "Peers without a free intercept, so all are without one.",
        )
        for name, C, dense, table in tables
        for intercept in (True, False)
    ]
