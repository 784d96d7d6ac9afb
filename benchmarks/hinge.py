"""Linear support vector machines: hinge and squared hinge, dense rows and sparse text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from joblib import cpu_count

from . import bounds, gap
from .data import Table, dense_classes, text_classes
from .gap import Verdict
from .logistic import liblinear, read, work
from .protocol import Contender, Workload, estimator, our_ladder, tolerances

TARGET = 1e-6
SIZES = {  # scale -> rows, columns of the dense and the sparse table
    "full": ((50_000, 500), (200_000, 50_000)),
    "small": ((1_500, 40), (2_000, 1_000)),
}
KINKED = (
    "All are judged by their value against one lower bound, found beforehand: dual coordinate "
    "ascent by the judge, its dual point checked in numpy."
)


def ours(name: str, C: float, loss: str, **parameters: Any) -> Contender:
    return estimator(
        name,
        "fenchel.LinearSVC",
        our_ladder(TARGET),
        read,
        ours=True,
        C=C,
        loss=loss,
        **parameters,
    )


def scikit_learn(name: str, C: float, loss: str, dual: bool, **parameters: Any) -> Contender:
    return estimator(
        f"scikit-learn {name}",
        "sklearn.svm.LinearSVC",
        tolerances(1e-1, 1e-7),
        read,
        C=C,
        loss=loss,
        dual=dual,
        max_iter=100_000,
        random_state=0,
        **parameters,
    )


def snapml(C: float) -> Contender:
    def prepare(table: Table) -> Callable[[float], Any]:
        from snapml import SupportVectorMachine

        return lambda tol: SupportVectorMachine(
            regularizer=1 / C,
            tol=tol,
            max_iter=10_000,
            fit_intercept=False,
            n_jobs=cpu_count(),
            random_state=0,
        ).fit(table.X, table.y)

    return Contender(
        "snapml", prepare, lambda model: (np.ravel(model.coef_), 0.0), tolerances(1e-3, 1e-10)
    )


def hinge(C: float, *, dense: bool) -> tuple[Contender, ...]:
    slow = liblinear(C, 3, "dual (-s 3)")
    if dense:  # nearly all of its time is the copying of dense rows into its nodes
        slow = Contender(slow.name, slow.prepare, slow.read, tolerances(1e-2, 1e-5, 1))
    return (
        ours("fenchel", C, "hinge", fit_intercept=False),
        scikit_learn("dual", C, "hinge", True, fit_intercept=False),
        snapml(C),
        slow,
    )


def free(C: float) -> tuple[Contender, ...]:
    """Problem 0 leaves the intercept free, problem 1 penalises it."""
    held = ours("fenchel, penalised", C, "hinge", intercept_scaling=1.0, problem=1, yardstick=True)
    return (
        ours("fenchel, free", C, "hinge"),
        held,
        scikit_learn("dual, penalised", C, "hinge", True, intercept_scaling=1.0, problem=1),
    )


def squared(C: float) -> tuple[Contender, ...]:
    loss = "squared_hinge"
    return (
        ours("fenchel", C, loss, fit_intercept=False),
        scikit_learn("primal", C, loss, False, fit_intercept=False),
        scikit_learn("dual", C, loss, True, fit_intercept=False),
        liblinear(C, 2, "primal (-s 2)"),
        liblinear(C, 1, "dual (-s 1)"),
    )


def known(C: float) -> Callable[[Table], tuple[float, ...]]:
    def bound(table: Table) -> tuple[float, ...]:
        a = bounds.hinge_dual(table.X, table.y, C)
        return (gap.hinge_bound(table.X, table.y, C, a, intercept=False),)

    return bound


def both_known(C: float) -> Callable[[Table], tuple[float, ...]]:
    def bound(table: Table, held: bool) -> float:
        a = bounds.hinge_dual(table.X, table.y, C, intercept=True, held=held)
        return gap.hinge_bound(table.X, table.y, C, a, intercept=True, held=held)

    return lambda table: (bound(table, False), bound(table, True))


def judge(C: float) -> Callable[[Table, Any], Verdict]:
    return lambda table, point: gap.hinge(table.X, table.y, C, *point)


def penalised(contender: Contender) -> Contender:
    """Says with the plane whether its intercept is held, for `judge_either`."""
    return Contender(
        contender.name,
        contender.prepare,
        lambda model: (*contender.read(model), contender.problem == 1),
        contender.ladder,
        contender.ours,
        contender.yardstick,
        contender.problem,
    )


def judge_either(C: float) -> Callable[[Table, Any], Verdict]:
    return lambda table, point: gap.hinge(table.X, table.y, C, *point[:2], held=point[2])


def workloads(scale: str) -> list[Workload]:
    dense, text = SIZES[scale]
    small, one = 1e-3, 1.0

    def rows() -> Table:
        return dense_classes(*dense, condition=2500, seed=9)

    def documents() -> Table:
        return text_classes(*text, words=50, seed=10)

    dense_name = f"dense, {dense[0]:,} x {dense[1]:,}, C={small:g}"
    text_name = f"sparse text, {text[0]:,} x {text[1]:,}, C={one:g}, no intercept"
    return [
        Workload(
            f"SVM hinge, {dense_name}, no intercept",
            TARGET,
            rows,
            judge(small),
            work,
            hinge(small, dense=True),
            known=known(small),
            note=KINKED,
        ),
        Workload(
            f"SVM hinge, {dense_name}, with intercept",
            TARGET,
            rows,
            judge_either(small),
            work,
            tuple(map(penalised, free(small))),
            one_problem=False,
            known=both_known(small),
            note="The problems differ: ours leaves the intercept free, scikit-learn penalises it "
            "(so does ours with intercept_scaling=1, the yardstick). " + KINKED,
        ),
        Workload(
            f"SVM hinge, {text_name}",
            TARGET,
            documents,
            judge(one),
            work,
            hinge(one, dense=False),
            known=known(one),
            note=KINKED,
        ),
        Workload(
            f"SVM squared hinge, {text_name}",
            TARGET,
            documents,
            lambda table, point: gap.squared_hinge(table.X, table.y, one, point[0]),
            work,
            squared(one),
        ),
    ]
