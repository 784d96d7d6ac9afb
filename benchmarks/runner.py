"""The protocol: climb until certified, then time the contenders in turns.

1. Each contender, alone, climbs its ladder of tolerances until the judge finds its gap at the
   target. This warms it up too: compilation is in the first call, shown apart, never in a time.
2. The best lower bound that anybody's dual point gave is then a bound for all (along a path: the
   best at each of its points). A contender has *settled* at the first rung whose value is within
   the target of that bound: its answer was good enough there, although it could not have proved
   it alone. Where the loss has kinks, a bound is found beforehand and all are judged by it.
3. The rungs found are timed in turns, so that noise hits all alike: best of 3 to 7, one run above
   8 s.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from . import data
from .data import Table
from .protocol import Contender, Row, Workload
from .worker import Failed, Worker

PAUSE = 0.2  # seconds between runs: thread pools that spin after their work fall asleep
REPEATS = {8.0: 1, 0.5: 3, 0.0: 7}  # from this many seconds on: so many runs


def run(
    suite: str,
    scale: str,
    workload: Workload,
    *,
    limit: float,
    chosen: Callable[[Contender], bool],
    say: Callable[[str], None],
) -> tuple[Table, list[Row]]:
    table = workload.table()
    known: tuple[float, ...] | None = None
    if workload.known:
        start = time.perf_counter()
        known = workload.known(table)
        say(f"  bounds known beforehand, after {time.perf_counter() - start:.3g} s: {known}")
    rows: list[Row] = []
    workers: dict[str, Worker] = {}
    with tempfile.TemporaryDirectory() as folder:
        data.store(table, Path(folder))
        try:
            for contender in filter(chosen, workload.contenders):
                row = Row(contender.name, contender.ours, contender.yardstick)
                rows.append(row)
                names = (suite, scale, workload.name, contender.name)
                try:
                    bound = known[contender.problem] if known else None
                    workers[contender.name] = Worker(names, Path(folder), limit, bound)
                    climb(row, contender, workers[contender.name], workload.target, limit)
                except Failed as failure:
                    row.failure = str(failure)
                say(progress(row))
            if workload.one_problem:
                settle(rows, workload.target)
            take_turns(rows, workers)
        finally:
            for worker in workers.values():
                worker.close()
    return table, rows


def climb(row: Row, contender: Contender, worker: Worker, target: float, limit: float) -> None:
    """Tightens the tolerance until the gap is at the target, or three times the limit is spent."""
    start = time.perf_counter()
    for tol in contender.ladder:
        try:
            fit = worker.fit(tol)
        except Failed as failure:
            worker.close()
            raise Failed(f"{failure} at tol {tol:g}") from None
        row.trace.append(fit)
        if fit.gap <= target:
            row.certified = fit
            return
        if time.perf_counter() - start > 3 * limit:
            break
    least = min(row.trace, key=lambda fit: fit.gap)
    row.failure = f"target missed: gap {least.gap:.1e} at tol {least.tol:g}"


def settle(rows: list[Row], target: float) -> None:
    bounds = [np.asarray(fit.bound) for row in rows for fit in row.trace]
    if not bounds:
        return
    best = np.max(bounds, axis=0)
    for row in rows:
        for fit in row.trace:
            if fit.excess(best) <= target:
                row.settled = fit
                break


def take_turns(rows: list[Row], workers: dict[str, Worker]) -> None:
    """Times every rung of interest; a contender that fails now keeps the times it has."""
    due = [
        (row, tol)
        for row in rows
        for tol in dict.fromkeys(fit.tol for fit in (row.certified, row.settled) if fit)
    ]
    for turn in range(max(REPEATS.values())):
        for row, tol in due:
            worker, runs = workers[row.contender], row.runs.setdefault(tol, [])
            if not worker.process.is_alive() or (runs and turn >= repeats(runs[0].seconds)):
                continue
            time.sleep(PAUSE)
            try:
                runs.append(worker.fit(tol))
            except Failed as failure:
                worker.close()
                row.failure = row.failure or f"{failure} when timed at tol {tol:g}"


def repeats(seconds: float) -> int:
    return next(times for shortest, times in REPEATS.items() if seconds >= shortest)


def progress(row: Row) -> str:
    steps = ", ".join(f"{fit.tol:g}: {fit.seconds:.3g} s, gap {fit.gap:.1e}" for fit in row.trace)
    return f"  {row.contender}: {'; '.join(filter(None, [steps, row.failure]))}"
