"""What a first fit compiles, and how fits scale with threads: the two suites without peers."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import fenchel
from benchmarks import __main__ as command
from benchmarks import compiling, scaling, scaling_jobs

# The cases that compile most: what each of the large files of compiled loops has to give.
HEAVY = [
    case
    for case in compiling.CASES
    if case.estimator in {"PairwiseRanker", "QuantileRegressor"}
    or (case.estimator, case.rows) == ("Lasso", "wide")
    or case.parameters == {"penalty": "l1"}
]
# 12 of ours and 6 of numpy's functions at most today, 0.15 s each on an idle core.
MOST = 20


def test_every_public_estimator_is_measured() -> None:
    public = (getattr(fenchel, name) for name in fenchel.__all__)
    names = {
        kind.__name__
        for kind in public
        if isinstance(kind, type) and issubclass(kind, BaseEstimator)
    }
    assert {case.estimator for case in compiling.CASES} == names
    assert len({case.name for case in compiling.CASES}) == len(compiling.CASES)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        # The loops of the squared hinge are those of the hinge.
        pytest.param(
            case,
            id=case.name,
            marks=pytest.mark.exhaustive if "squared_hinge" in case.name else (),
        )
        for case in HEAVY
    ],
)
def test_a_first_fit_compiles_little(case) -> None:
    """Counted, not timed: seconds depend on what else runs, and the number of functions does not.

    A slice that is assigned an array brings in numba's text, 30 functions for the message of an
    error; a literal, another order or another kind of array makes twins.
    """
    found = compiling.measure(case)
    modules = Counter(module for module, _, _ in found.functions)
    assert not [module for module in modules if module.startswith("numba.cpython.unicode")]
    ours = Counter(f"{module}.{name}" for module, name, _ in found.functions if "fenchel" in module)
    assert ours
    assert {name: count for name, count in ours.items() if count > 1} == {}
    assert sum(modules.values()) <= MOST, modules


def test_the_table_of_compiling_names_its_cases(monkeypatch) -> None:
    found = compiling.Compiled(2.5, 0.5, 1.75, 0.25, (("fenchel.x", "f", ""), ("numba.y", "g", "")))
    monkeypatch.setattr(compiling, "measure", lambda case: found)
    page, raw = compiling.page("small", "huber", lambda line: None)
    last = page.splitlines()[-1]
    assert [cell.strip() for cell in last.strip("|").split("|")] == [
        "HuberRegressor(), real", "2.00", "1.50", "1", "1",
    ]  # fmt: skip
    assert [line["seconds"] for line in raw] == [2.0]


@pytest.mark.parametrize(
    ("cores", "counts"), [(1, [1]), (2, [1, 2]), (6, [1, 2, 4, 6]), (16, [1, 2, 4, 8, 16])]
)
def test_threads_double_up_to_all_cores(cores, counts) -> None:
    assert scaling.thread_counts(cores) == counts


@pytest.mark.parametrize(
    "job", [job for job in scaling.jobs("small") if not job.missing], ids=lambda job: job.name
)
def test_every_job_runs_and_has_the_same_bits_on_two_threads(job, monkeypatch) -> None:
    monkeypatch.setattr(scaling, "RUNS", 1)
    columns = min(job.columns, 10)
    small = scaling.Job(job.name, min(job.rows, 2_000), columns, job.ready, job.reads)
    times = scaling.measure(small, [1, 2])
    assert times.agree and times.failure == ""
    assert all(seconds > 0.0 for seconds in times.seconds.values())
    assert times.cells([1, 2])[-2] == "yes"


def test_answers_that_differ_between_threads_are_said_to() -> None:
    calls = iter(range(100))

    @contextmanager
    def ready(n, d):
        yield lambda: (np.float64(next(calls)),)

    times = scaling.measure(scaling.Job("drift", 10, 2, ready, True), [1, 2])
    assert not times.agree
    assert times.cells([1, 2])[-2] == "NO" and times.cells([1, 2])[-1].endswith("GB/s")


def test_a_job_that_cannot_run_says_why() -> None:
    job = scaling.Job("scan", 10, 2, scaling_jobs.scanning, missing="polars is not installed")
    cells = scaling.measure(job, [1, 2]).cells([1, 2])
    assert cells[0] == "scan, 10 x 2" and cells[-1] == "polars is not installed"


def test_the_command_prints_the_table_with_the_machine(tmp_path, monkeypatch, capsys) -> None:
    file = tmp_path / "found.json"
    given = ["benchmarks", "scaling", "--scale", "small", "--only", "AUC", "--json", str(file)]
    monkeypatch.setattr("sys.argv", given)
    command.main()
    printed = capsys.readouterr().out
    assert "## Scaling" in printed and "AUC, 100,000" in printed and "threads" in printed
    found = json.loads(file.read_text())
    assert found["scaling"][0]["same_bits"] and found["workloads"] == []
    monkeypatch.setattr("sys.argv", ["benchmarks", "scale"])
    with pytest.raises(SystemExit):
        command.main()
    assert "there are logistic" in capsys.readouterr().err
