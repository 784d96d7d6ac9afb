"""python -m benchmarks [suite ...] [--only NAME] [--scale small] [--ours] [--json PATH]"""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module
from pathlib import Path

from . import machine, report
from .protocol import Contender, Workload
from .runner import run

SUITES = {
    "logistic": "logistic",
    "multinomial": "multinomial",
    "ridgecv": "ridgecv",
    "logisticcv": "logisticcv",
    "linear": "linear",
    "score": "score",
    "geometry": "geometry",
    "groups": "geometric.groups",
    "classes": "geometric.classes",
    "maps": "geometric.maps",
    "kernels": "geometric.kernels",
    "scan": "scan",
    "import": "imports",
}
# Suites without peers or a judge: each writes a table of its own.
PAGES = {"compile": "compiling", "scaling": "scaling"}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m benchmarks",
        description="Time to a certified relative gap: ours and every installed peer, in one run.",
    )
    parser.add_argument(
        "suite", nargs="*", help=f"any of {', '.join([*SUITES, *PAGES])}; all if none is given"
    )
    parser.add_argument("--only", default="", help="only workloads whose name contains this")
    parser.add_argument("--scale", choices=("full", "small"), default="full")
    parser.add_argument("--ours", action="store_true", help="leave the peers out")
    parser.add_argument(
        "--limit", type=float, default=90, help="seconds for one fit and its judging"
    )
    parser.add_argument("--json", type=Path, help="write everything measured to this file")
    parser.add_argument("--markdown", type=Path, help="write the tables to this file too")
    chosen = parser.parse_args()
    if unknown := set(chosen.suite) - {*SUITES, *PAGES}:
        there = ", ".join([*SUITES, *PAGES])
        parser.error(f"no suite {', '.join(sorted(unknown))}; there are {there}")
    chosen.suite = chosen.suite or [*SUITES, *PAGES]
    return chosen


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def measure(
    suite: str, workload: Workload, here: machine.Machine, chosen: argparse.Namespace
) -> report.Result:
    if workload.missing:
        return report.Result(suite, workload, [], 0.0, workload.missing)

    def wanted(contender: Contender) -> bool:
        return contender.ours or not chosen.ours

    table, rows = run(
        SUITES[suite],
        chosen.scale,
        workload,
        limit=chosen.limit,
        chosen=wanted,
        say=say,
    )
    work = workload.work(table)
    return report.Result(suite, workload, rows, here.floor(work), work.meaning)


def main() -> None:
    chosen = arguments()
    here, versions, date = machine.measure(), machine.versions(), machine.now()
    judged = [suite for suite in chosen.suite if suite in SUITES]
    pages = [report.heading(here, versions, date), *([report.LEGEND] if judged else [])]
    print("\n\n".join(pages), flush=True)
    results, own = [], {}
    for suite in chosen.suite:
        if suite in PAGES:
            print(f"\n{suite}", file=sys.stderr, flush=True)
            module = import_module(f"{__package__}.{PAGES[suite]}")
            page, own[suite] = module.page(chosen.scale, chosen.only.lower(), say)
            pages.append(page)
            print("\n" + page, flush=True)
            continue
        for workload in import_module(f"{__package__}.{SUITES[suite]}").workloads(chosen.scale):
            if chosen.only.lower() not in workload.name.lower():
                continue
            print(f"\n{suite}: {workload.name}", file=sys.stderr, flush=True)
            results.append(measure(suite, workload, here, chosen))
            pages.append(report.table(results[-1]))
            print("\n" + pages[-1], flush=True)
    if judged:
        pages.append(report.summary(results))
        print("\n" + pages[-1])
    if chosen.json:
        text = json.dumps({**report.as_json(here, versions, date, results), **own}, indent=1)
        chosen.json.write_text(text + "\n")
    if chosen.markdown:
        chosen.markdown.write_text("\n\n".join(pages) + "\n")


if __name__ == "__main__":
    main()
