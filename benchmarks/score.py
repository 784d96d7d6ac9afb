"""Judging many scores: the area under the ROC, its interval, the curve itself."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from scipy.stats import rankdata

from .data import Table
from .gap import Verdict
from .machine import Work
from .protocol import Contender, Workload

SIZES = {"full": 10_000_000, "small": 100_000}
TARGET = 1e-9  # how far an answer may be from the definition
KNOWN: dict[str, tuple[float, float]] = {}  # what the judge found, once in a process


def scores(n: int, levels: float | None) -> Table:
    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.3).astype(np.int64)
    score = rng.standard_normal(n) + y
    return Table((score if levels is None else np.round(score * levels) / levels)[:, None], y)


def definition(table: Table) -> tuple[float, float]:
    """The area and DeLong's standard error by midranks, ties one half."""
    if not KNOWN:
        score, positive = table.X[:, 0], table.y == 1
        m, n = positive.sum(), (~positive).sum()
        ranks = rankdata(score)
        V = (ranks[positive] - rankdata(score[positive])) / n
        U = 1.0 - (ranks[~positive] - rankdata(score[~positive])) / m
        KNOWN["here"] = V.mean(), float(np.sqrt(V.var(ddof=1) / m + U.var(ddof=1) / n))
    return KNOWN["here"]


def of_area(table: Table, area: float) -> Verdict:
    return Verdict(1.0 + abs(area - definition(table)[0]), 1.0)


def of_error(table: Table, found: tuple[float, float]) -> Verdict:
    area, error = definition(table)
    return Verdict(1.0 + abs(found[0] - area) + abs(found[1] / error - 1.0), 1.0)


def of_curve(table: Table, line: tuple[Any, Any]) -> Verdict:
    return of_area(table, float(np.trapezoid(line[1], line[0])))


def call(
    name: str, path: str, read: Callable[[Any], Any], *, ours: bool = False, **options: Any
) -> Contender:
    """A function of labels and scores, named 'module.function' and imported by who runs it."""

    def prepare(table: Table) -> Callable[[float], Any]:
        module, _, function = path.rpartition(".")
        judge = getattr(import_module(module), function)
        y, score = table.y, np.ascontiguousarray(table.X[:, 0])
        return lambda _: judge(y, score, **options)

    return Contender(name, prepare, read, (0.0,), ours)


def work(table: Table) -> Work:
    return Work(0.0, 2.0 * 9 * len(table.y), "scores and labels read twice")


def workloads(scale: str) -> list[Workload]:
    n = SIZES[scale]
    peers = (
        call("scikit-learn", "sklearn.metrics.roc_auc_score", float),
        call("scikit-learn-intelex", "sklearnex.metrics.roc_auc_score", float),
    )

    def workload(name: str, levels: float | None, judge: Any, contenders: Any) -> Workload:
        note = "Nobody has a tolerance here; an answer off the definition is a failure."
        title = f"{name}, {n:,} scores"
        return Workload(
            title, TARGET, lambda: scores(n, levels), judge, work, contenders, note=note
        )

    def error(found: Any) -> tuple[float, float]:
        return float(found), found.standard_error

    area = call("fenchel", "fenchel.auc", float, ours=True)

    def line(found: Any) -> tuple[Any, Any]:
        return found[0], found[1]

    return [
        workload("AUC", None, of_area, (area, *peers)),
        workload("AUC, a thousand levels", 100.0, of_area, (area, *peers)),
        workload(
            "roc_curve",
            None,
            of_curve,
            (
                call("fenchel", "fenchel.roc_curve", line, ours=True),
                call("scikit-learn", "sklearn.metrics.roc_curve", line),
            ),
        ),
        workload(
            "AUC with DeLong's interval",
            None,
            of_error,
            (call("fenchel", "fenchel.auc", error, ours=True, level=0.95), midranks()),
        ),
    ]


def midranks() -> Contender:
    """What scipy's midranks give: a yardstick, not a library."""

    def prepare(table: Table) -> Callable[[float], Any]:
        def fit(_: float) -> tuple[float, float]:
            KNOWN.clear()
            return definition(table)

        return fit

    return Contender("scipy midranks", prepare, lambda found: found, (0.0,), yardstick=True)
