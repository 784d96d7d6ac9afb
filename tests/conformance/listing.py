"""The public list of deselected tests: read, matched with the tests that exist, and judged."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

LIST = Path(__file__).with_name("deselected.toml")
KINDS = {
    "private": "functions, attributes and state that scikit-learn does not promise",
    "solver": "limits, messages and counts of scikit-learn's own solvers",
    "defect": "scikit-learn is wrong there",
    "other": "differences that remain",
}


@dataclass(frozen=True)
class Group:
    """Tests deselected for one reason: 'file::function', which stands for all its parameters, or
    'file::function[parameters]', where * stands for any text."""

    kind: str
    reason: str
    tests: tuple[str, ...]
    rounding: bool = False  # the last bits decide: a test that passes makes no entry stale

    def entries_for(self, test: str) -> list[str]:
        """The entries that name a test."""
        return [entry for entry in self.tests if _names(entry, test)]


def _names(entry: str, test: str) -> bool:
    if "[" not in entry:
        return entry == test.partition("[")[0]
    return fnmatchcase(test, entry.replace("[", "[[]"))


def read(path: Path = LIST) -> list[Group]:
    """The groups of the list; raises where one says less than it must."""
    groups = []
    for entry in tomllib.loads(path.read_text("utf-8"))["group"]:
        group = Group(
            entry["kind"], entry["reason"], tuple(entry["tests"]), entry.get("rounding", False)
        )
        if group.kind not in KINDS:
            raise ValueError(f"kind={group.kind!r} is none of {', '.join(KINDS)}")
        if not group.reason or not group.tests:
            raise ValueError(f"a group needs a reason and tests: {entry}")
        groups.append(group)
    return groups


@dataclass(frozen=True)
class Result:
    """What became of one test, and whether it called something of this library."""

    test: str
    outcome: str
    ours: bool
    seconds: float
    message: str

    @property
    def file(self) -> str:
        return self.test.partition("::")[0]


@dataclass
class Count:
    """Tests of one file, or of all, by what they say about this library."""

    passed: int = 0
    failed: int = 0
    private: int = 0
    solver: int = 0
    defect: int = 0
    other: int = 0
    skipped: int = 0
    foreign: int = 0  # called nothing of ours: they say nothing

    @property
    def share(self) -> float:
        """passed / all that call ours and were run, without private details and solvers."""
        return _ratio(self.passed, self.failed + self.defect + self.other)

    @property
    def strict(self) -> float:
        """passed / all that call ours and were run."""
        left = self.failed + self.private + self.solver + self.defect + self.other
        return _ratio(self.passed, left)

    def __add__(self, more: Count) -> Count:
        mine, theirs = vars(self), vars(more)
        return Count(**{name: mine[name] + theirs[name] for name in mine})


def _ratio(passed: int, left: int) -> float:
    return passed / (passed + left) if passed + left else 1.0


@dataclass(frozen=True)
class Verdict:
    """Counts by file, the tests that failed unexpectedly, and the entries that are stale."""

    counts: dict[str, Count]
    failures: list[Result]
    stale: list[str]

    @property
    def total(self) -> Count:
        return sum(self.counts.values(), Count())


def judge(results: Iterable[Result], groups: Iterable[Group], *, complete: bool) -> Verdict:
    """Every result counted once; complete: whether every test of the list should have been run."""
    counts: dict[str, Count] = {}
    failures, stale, met = [], [], set()
    groups = list(groups)
    for result in results:
        count = counts.setdefault(result.file, Count())
        named = [(group, entry) for group in groups for entry in group.entries_for(result.test)]
        met.update(entry for _, entry in named)
        if result.outcome == "passed":
            stale += [
                f"{entry} names {result.test}, which passes"
                for group, entry in named
                if not group.rounding
            ]
        if result.outcome == "failed" and named:
            kind = named[0][0].kind
        elif result.outcome == "failed":
            kind = "failed"
            failures.append(result)
        elif result.outcome in ("skipped", "xfailed"):
            kind = "skipped"
        else:
            kind = "passed" if result.ours else "foreign"
        setattr(count, kind, getattr(count, kind) + 1)
    if complete:
        entries = [entry for group in groups for entry in group.tests]
        stale += [f"{entry} names no test" for entry in entries if entry not in met]
        stale += [
            f"{e} is listed twice" for e in sorted({e for e in entries if entries.count(e) > 1})
        ]
    return Verdict(counts, failures, stale)
