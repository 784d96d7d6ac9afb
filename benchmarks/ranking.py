"""Rankings by all pairs of rows, against one logistic fit on the same rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import bounds, gap
from .data import Table, dense_regression
from .gap import Verdict
from .logistic import read, work
from .protocol import Contender, Workload, estimator, our_ladder

TARGET = 1e-6
ALPHA = 1e-3  # of both: C = 1/(nα)
LEVELS = 5
WIDTH = 1e-3  # of the hinge's rounded corner, which costs about WIDTH² of the bound
SIZES = {"full": (100_000, 50), "small": (1_500, 8)}


def table(n: int, d: int, graded: bool) -> Table:
    X, y = dense_regression(n, d, condition=2500, seed=11)
    if graded:
        y = np.searchsorted(np.quantile(y, np.arange(1, LEVELS) / LEVELS), y).astype(np.float64)
    return Table(X, y)


def halves(y: np.ndarray) -> np.ndarray:
    return (y > np.median(y)).astype(np.int64)


def logistic() -> Contender:
    """Counted as the peer: the same rows, a target that is above its median or not, the same λ."""

    def prepare(table: Table) -> Callable[[float], Any]:
        from fenchel import LogisticRegression

        labels, C = halves(table.y), 1 / (ALPHA * len(table.y))
        return lambda tol: LogisticRegression(C=C, tol=tol).fit(table.X, labels)

    return Contender("fenchel LogisticRegression", prepare, read, our_ladder(TARGET), problem=1)


def judge(loss: str) -> Callable[[Table, Any], Verdict]:
    def either(table: Table, point: Any) -> Verdict:
        X, y = table
        if isinstance(point, tuple):
            C = 1 / (ALPHA * len(y))
            return gap.logistic(X, halves(y), C, *point, intercept=True)
        return gap.ranking(X, y, ALPHA, point, loss)

    return either


def known(table: Table) -> tuple[float, ...]:
    """Of the hinge; nothing of the logistic fit, whose plane tells its own dual point."""
    X, y = table
    w = bounds.ranking_plane(X, y, ALPHA, WIDTH)
    return float(gap.ranking(X, y, ALPHA, w, "hinge", WIDTH).bound), -np.inf


def workloads(scale: str) -> list[Workload]:
    n, d = SIZES[scale]

    def rows(graded: bool) -> Callable[[], Table]:
        return lambda: table(n, d, graded)

    return [
        Workload(
            f"ranking, {loss.replace('_', ' ')}, {n:,} x {d}, {kind} target",
            TARGET,
            rows(graded),
            judge(loss),
            work,
            (
                estimator(
                    "fenchel PairwiseRanker",
                    "fenchel.PairwiseRanker",
                    our_ladder(TARGET),
                    lambda model: np.ravel(model.coef_),
                    ours=True,
                    loss=loss,
                    alpha=ALPHA,
                ),
                logistic(),
            ),
            one_problem=False,
            known=known if loss == "hinge" else None,
            note="The peer is one logistic fit of ours: a ranking is to take no more than ten "
            "times as long, a ratio of 0.1. The judge goes through every pair.",
        )
        for kind, graded in (("continuous", False), (f"{LEVELS}-level", True))
        for loss in ("logistic", "squared_hinge", "hinge")
    ]
