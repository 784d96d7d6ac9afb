"""scikit-learn's own tests, run on this library's classes in its place.

    python -m tests.conformance                 # every file, in about two minutes
    python -m tests.conformance --quick         # the quick files
    python -m tests.conformance ridge svm       # files by a part of their name
    python -m tests.conformance --plain ridge   # scikit-learn's own classes, to compare with

Exits with 1 if a test fails that the list does not name, or if the list names a test that passes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from conformance.listing import KINDS, Count, Verdict, judge, read
from conformance.running import FILES, QUICK, run, version_fault


def table(verdict: Verdict) -> str:
    """Counts by file, and of all together."""
    names = list(vars(Count()))
    head = [f"{'file':54}", *(f"{name:>8}" for name in [*names, "share", "strict"])]
    lines = ["".join(head)]
    for file, count in [*sorted(verdict.counts.items()), ("all", verdict.total)]:
        numbers = "".join(f"{number:8d}" for number in vars(count).values())
        lines.append(f"{file:54}{numbers}{100 * count.share:7.2f}%{100 * count.strict:7.2f}%")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("files", nargs="*", help="parts of the names of files; all without")
    parser.add_argument("--quick", action="store_true", help="only the quick files")
    parser.add_argument("--plain", action="store_true", help="with scikit-learn's own classes")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    parser.add_argument("-k", default="", help="as pytest's -k: tests by a part of their name")
    asked = parser.parse_args(arguments)
    fault = version_fault()
    if fault is not None:
        print(fault, file=sys.stderr)
        return 2
    known = QUICK if asked.quick else FILES
    files = [file for file in known if not asked.files or any(f in file for f in asked.files)]
    if not files:
        parser.error(f"no file is named {', '.join(asked.files)}: {', '.join(known)}")
    results = run(files, jobs=asked.jobs, plain=asked.plain, expression=asked.k)
    complete = files == list(FILES) and not asked.k
    verdict = judge(results, [] if asked.plain else read(), complete=complete)
    for failure in verdict.failures:
        print(f"FAILED {failure.test}\n       {failure.message}")
    for entry in verdict.stale:
        print(f"STALE  {entry}")
    print(table(verdict))
    print("\nnamed in deselected.toml, each with its reason:")
    for kind, meaning in KINDS.items():
        print(f"  {kind}: {meaning}")
    print("foreign: called nothing of this library, not counted; nor are skipped tests")
    print("share: passed / (passed + failed + defect + other)")
    print("strict: passed / (passed + failed + private + solver + defect + other)")
    return 1 if verdict.failures or verdict.stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
