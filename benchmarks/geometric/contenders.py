"""Ways to name a contender that has no tolerance, or that is given a start."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.data import Table
from benchmarks.gap import Verdict
from benchmarks.protocol import Contender

NO_TOLERANCE = (0.0,)


def same(answer: Any) -> Any:
    return answer


def call(name: str, prepare: Callable[[Table], Callable[[], Any]], **more: Any) -> Contender:
    """`prepare(table)` gives what is timed; its answer goes to the judge as it is."""

    def prepared(table: Table) -> Callable[[float], Any]:
        task = prepare(table)
        return lambda _: task()

    return Contender(name, prepared, more.pop("read", same), NO_TOLERANCE, **more)


def nothing(table: Table) -> dict[str, Any]:
    return {}


def fitted(
    name: str,
    path: str,
    read: Callable[[Any], Any],
    *,
    given: Callable[[Table], dict[str, Any]] = nothing,
    labels: bool = False,
    dtype: Any = None,
    ladder: tuple[float, ...] = NO_TOLERANCE,
    tolerance: str = "tol",
    ours: bool = False,
    yardstick: bool = False,
    problem: int = 0,
    **parameters: Any,
) -> Contender:
    """A class of scikit-learn's kind fitted to X, and to y if `labels`.

    given: parameters that come of the table, as a start; dtype: of X, if not its own.
    """

    def prepare(table: Table) -> Callable[[float], Any]:
        module, _, cls = path.rpartition(".")
        kind = getattr(import_module(module), cls)
        X = table.X if dtype is None else np.asarray(table.X, dtype)
        rows = (X, table.y) if labels else (X,)
        all_given = {**parameters, **given(table)}

        def fit(tol: float) -> Any:
            chosen = {tolerance: tol, **all_given} if len(ladder) > 1 else all_given
            return kind(**chosen).fit(*rows)

        return fit

    return Contender(name, prepare, read, ladder, ours, yardstick, problem)


class Reference:
    """What the judge finds by itself, once for each table."""

    def __init__(self, find: Callable[[Table], Any]) -> None:
        self.find, self.found = find, (None, None)

    def __call__(self, table: Table) -> Any:
        if self.found[0] is not table.X:
            self.found = (table.X, self.find(table))
        return self.found[1]


def off_by(error: float) -> Verdict:
    """An error as a verdict: its relative gap is the error, where that is small."""
    return Verdict(1.0 + float(error), 1.0)
