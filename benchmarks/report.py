"""Results as tables that read as plain text and as Markdown, and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .machine import Machine
from .protocol import Fit, Row, Workload

LEGEND = """\
s to gap    best time at the loosest tolerance whose own duality gap the judge found at the target
s to value  best time at the loosest tolerance whose value is within the target of the best lower
            bound proved by anyone in this run: good enough, though not provably so by itself
first call  the first fit in a fresh process, compilation included; the other times are warm
floor       the longer of operations / measured BLAS rate and bytes / measured read bandwidth"""


@dataclass(frozen=True)
class Result:
    suite: str
    workload: Workload
    rows: list[Row]
    floor: float
    floor_meaning: str

    def best(self, of: Callable[[Row], Fit | None], *, ours: bool) -> float | None:
        times = [
            seconds
            for row in self.rows
            if row.ours == ours and not row.yardstick
            if (seconds := row.seconds(of(row))) is not None
        ]
        return min(times, default=None)

    def ratio(self, of: Callable[[Row], Fit | None]) -> float | None:
        """Best peer over ours: above 1, ours is the faster."""
        ours, peer = self.best(of, ours=True), self.best(of, ours=False)
        return peer / ours if ours and peer else None


def certified(row: Row) -> Fit | None:
    return row.certified


def settled(row: Row) -> Fit | None:
    return row.settled


def number(x: float | None, form: str = "{:.3g}") -> str:
    return "-" if x is None else form.format(x)


def pipes(header: list[str], body: list[list[str]]) -> str:
    """A Markdown table with its columns aligned."""
    widths = [max(len(line[k]) for line in [header, *body]) for k in range(len(header))]

    def line(cells: Iterable[str]) -> str:
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        return f"| {' | '.join(padded)} |".rstrip()

    rule = f"|{'|'.join('-' * (width + 2) for width in widths)}|"
    return "\n".join([line(header), rule, *map(line, body)])


def remark(row: Row, target: float) -> str:
    parts = [row.failure]
    last = row.certified or (row.trace[-1] if row.trace else None)
    if last is not None:
        if row.certified and row.worst_gap(last) > target:
            parts.append(f"unsteady: gap {row.worst_gap(last):.1e} in one run")
        if last.claimed is not None:
            parts.append(f"its own certificate says {last.claimed:.1e}")
        parts += last.remarks[:2]
    return "; ".join(filter(None, parts)).replace("|", "/")


def table(result: Result) -> str:
    title = f"### {result.suite}: {result.workload.name}"
    if result.workload.missing:
        return f"{title}\n\nSkipped: {result.workload.missing}."
    target = result.workload.target
    late = float("inf")
    body = [
        [
            row.contender + (" (yardstick)" if row.yardstick else ""),
            number(row.seconds(row.certified)),
            number(row.certified and row.certified.gap, "{:.1e}"),
            number(row.certified and row.certified.tol, "{:g}"),
            number(row.seconds(row.settled)),
            number(row.settled and row.settled.tol, "{:g}"),
            number(row.first_call),
            remark(row, target),
        ]
        for row in sorted(result.rows, key=lambda row: row.seconds(row.certified) or late)
    ]
    header = ["contender", "s to gap", "gap", "tol", "s to value", "tol", "first call", "remark"]
    lines = [
        title,
        "",
        (
            (f"Relative gap to certify: {target:g}. " if target else "") + result.workload.note
        ).rstrip(),
        f"Floor {result.floor:.3g} s ({result.floor_meaning}).",
        "",
        pipes(header, body),
        "",
        f"Best peer / ours: {number(result.ratio(certified), '{:.2f}')} to the gap, "
        f"{number(result.ratio(settled), '{:.2f}')} to the value.",
    ]
    return "\n".join(lines)


def heading(machine: Machine, versions: dict[str, str], date: str) -> str:
    return "\n".join(
        [
            f"{machine.processor}, {machine.threads} threads, {machine.memory_gib:.0f} GiB; {date}",
            f"float64 matrix product {machine.flops_per_second / 1e9:.0f} GFLOP/s, "
            f"reading {machine.bytes_per_second / 1e9:.0f} GB/s",
            ", ".join(f"{name} {version}" for name, version in versions.items()),
        ]
    )


def summary(results: list[Result]) -> str:
    body = [
        [
            f"{result.suite}: {result.workload.name}",
            number(result.best(certified, ours=True)),
            number(result.best(certified, ours=False)),
            number(result.ratio(certified), "{:.2f}"),
            number(result.ratio(settled), "{:.2f}"),
            number(result.floor),
        ]
        for result in results
    ]
    header = ["workload", "ours, s", "best peer, s", "peer / ours", "to the value", "floor, s"]
    return pipes(header, body)


def as_json(machine: Machine, versions: dict[str, str], date: str, results: list[Result]) -> Any:
    return {
        "date": date,
        "machine": asdict(machine),
        "versions": versions,
        "workloads": [
            {
                "suite": result.suite,
                "name": result.workload.name,
                "target": result.workload.target,
                "note": result.workload.note,
                "missing": result.workload.missing,
                "floor_seconds": result.floor,
                "floor_meaning": result.floor_meaning,
                "peer_over_ours_to_gap": result.ratio(certified),
                "peer_over_ours_to_value": result.ratio(settled),
                "rows": [row_json(row) for row in result.rows],
            }
            for result in results
        ],
    }


def row_json(row: Row) -> dict[str, Any]:
    return {
        "contender": row.contender,
        "ours": row.ours,
        "yardstick": row.yardstick,
        "failure": row.failure,
        "first_call": row.first_call,
        "seconds_to_gap": row.seconds(row.certified),
        "seconds_to_value": row.seconds(row.settled),
        "certified": fit_json(row.certified),
        "settled": fit_json(row.settled),
        "trace": [fit_json(fit) for fit in row.trace],
        "runs": {f"{tol:g}": [run.seconds for run in runs] for tol, runs in row.runs.items()},
    }


def fit_json(fit: Fit | None) -> dict[str, Any] | None:
    if fit is None:
        return None
    numbers = {name: np.asarray(getattr(fit, name)).tolist() for name in ("value", "bound")}
    return {**asdict(fit), **numbers, "gap": fit.gap}
