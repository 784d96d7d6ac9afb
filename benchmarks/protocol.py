"""What a suite declares: workloads, their contenders, and what a run of one gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

import numpy as np

from .data import Table
from .gap import Numbers, Verdict
from .machine import Work


@dataclass(frozen=True)
class Contender:
    """A way to fit the workload's table to a tolerance.

    `prepare(table)` imports what it needs and gives fit(tol), the only thing that is timed;
    `read` takes from the fitted model what the judge needs.
    """

    name: str
    prepare: Callable[[Table], Callable[[float], Any]]
    read: Callable[[Any], Any]
    ladder: tuple[float, ...]  # tolerances, loosest first; one entry if there is no tolerance
    ours: bool = False
    yardstick: bool = False  # shown beside the peers, never counted as one
    problem: int = 0  # which of the workload's problems it solves, where they are several


@dataclass(frozen=True)
class Workload:
    """A table, a problem on it, and who is to solve it.

    `known(table)` gives a lower bound of each problem's optimum, found beforehand by the judge
    itself: for losses with kinks, where the fitted plane alone does not tell a good dual point.
    """

    name: str
    target: float  # the relative gap to certify
    table: Callable[[], Table]
    judge: Callable[[Table, Any], Verdict]
    work: Callable[[Table], Work]
    contenders: tuple[Contender, ...]
    one_problem: bool = True  # False if contenders may be judged on different ones
    known: Callable[[Table], tuple[float, ...]] | None = None
    note: str = ""
    missing: str = ""  # why it cannot run here; empty if it can


@dataclass(frozen=True)
class Timed:
    """What a fit returns instead of a model if it has measured its own time."""

    seconds: float


@dataclass(frozen=True)
class Fit:
    """One fit: its tolerance, its time, and the judge's two numbers, or arrays for a path."""

    tol: float
    seconds: float
    value: Numbers
    bound: Numbers
    claimed: float | None = None  # the relative gap that the model itself reports, if it does
    remarks: tuple[str, ...] = ()

    @property
    def gap(self) -> float:
        return Verdict(self.value, self.bound).relative_gap

    def excess(self, bound: Numbers) -> float:
        """How far the value may be above the optimum, given the best bound anyone has proved."""
        return Verdict(self.value, bound).relative_gap

    def given(self, bound: float | None) -> Fit:
        """The same fit, where a bound of the optimum is known beforehand."""
        if bound is None:
            return self
        return replace(self, bound=float(np.maximum(self.bound, bound)))


@dataclass
class Row:
    """All that is known of one contender on one workload; `failure` says why, where it failed."""

    contender: str
    ours: bool = False
    yardstick: bool = False
    failure: str = ""
    trace: list[Fit] = field(default_factory=list)
    certified: Fit | None = None  # the first rung whose own gap is at the target
    settled: Fit | None = None  # the first rung whose excess is at the target
    runs: dict[float, list[Fit]] = field(default_factory=dict)  # tolerance -> timed runs

    @property
    def first_call(self) -> float | None:
        return self.trace[0].seconds if self.trace else None

    def seconds(self, fit: Fit | None) -> float | None:
        """The best timed run at that fit's tolerance; its climbing run if none could be timed."""
        if fit is None:
            return None
        return min((run.seconds for run in self.runs.get(fit.tol, ())), default=fit.seconds)

    def worst_gap(self, fit: Fit) -> float:
        """Over all runs at that tolerance, because threads make some contenders random."""
        return max(run.gap for run in (fit, *self.runs.get(fit.tol, ())))


def tolerances(loosest: float, tightest: float, per_decade: int = 2) -> tuple[float, ...]:
    """A geometric ladder, ends included, rounded to two digits."""
    steps = round(per_decade * np.log10(loosest / tightest)) + 1
    return tuple(float(f"{tol:.1e}") for tol in np.geomspace(loosest, tightest, steps))


def our_ladder(target: float) -> tuple[float, ...]:
    """Our tolerance is the gap itself: looser for the excess, tighter should the judge disagree."""
    return tuple(float(f"{target * factor:.1e}") for factor in (1e3, 1e2, 10, 1, 0.3, 0.1))


def estimator(
    name: str,
    path: str,
    ladder: tuple[float, ...],
    read: Callable[[Any], Any],
    *,
    ours: bool = False,
    yardstick: bool = False,
    problem: int = 0,
    **parameters: Any,
) -> Contender:
    """A class with scikit-learn's interface, named 'module.Class' and imported by who runs it."""

    def prepare(table: Table) -> Callable[[float], Any]:
        module, _, cls = path.rpartition(".")
        kind = getattr(import_module(module), cls)
        with_tol = len(ladder) > 1

        def fit(tol: float) -> Any:
            chosen = {"tol": tol, **parameters} if with_tol else parameters
            return kind(**chosen).fit(table.X, table.y)

        return fit

    return Contender(name, prepare, read, ladder, ours, yardstick, problem)
