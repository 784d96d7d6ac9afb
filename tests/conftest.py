"""Fixtures every test may ask for: seeds, floating types, hidden packages, sparse arrays only."""

from __future__ import annotations

import builtins
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import date

# scikit-learn's check of array API input runs only where scipy was told so before its import.
os.environ.setdefault("SCIPY_ARRAY_API", "1")
# A process of several has its share of the cores (the first, which hands out the tests, hands its
# environment on too, and so sets nothing): threads of BLAS beyond that spin, waiting for others,
# and of small matrices cost ten times the time of one.
os.environ.update(
    {
        f"{library}_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // int(processes)))
        for processes in [os.environ.get("PYTEST_XDIST_WORKER_COUNT")]
        for library in ("OMP", "OPENBLAS")
        if processes is not None and f"{library}_NUM_THREADS" not in os.environ
    }
)

import numpy as np
import pytest
from hypothesis import settings
from scipy import sparse

SEED = "FENCHEL_TESTS_SEED"

# A shared machine makes any deadline flaky. Examples are fixed unless a seed is asked for.
settings.register_profile(
    "fenchel", deadline=None, print_blob=True, derandomize=SEED not in os.environ
)
settings.load_profile("fenchel")


def seeds(text: str) -> list[int]:
    """'7' is one seed, '0-9' a range with both ends, 'all' is 0 to 99."""
    first, _, last = ("0-99" if text == "all" else text).partition("-")
    try:
        chosen = list(range(int(first), int(last or first) + 1))
    except ValueError:
        chosen = []
    if not chosen or chosen[-1] > 99:
        raise pytest.UsageError(
            f"{SEED}={text!r}: give a seed from 0 to 99, a range '0-9', or 'all'"
        )
    return chosen


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Marks tests by the optional package that their name says they need, and puts the files that
    take longest first, so that no process has one left when the others are done.

    Processes share the tests by name, so a name must not hold an address in memory, which differs
    between processes.
    """
    for item in items:
        if re.search(r"\bat 0x[0-9a-fA-F]+", item.name):
            raise pytest.UsageError(f"{item.nodeid}: give ids=... without an address in memory")
        if "torch" in item.name:
            item.add_marker(pytest.mark.torch)
    yield
    tests = Counter(item.path for item in items)
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.path not in slow, -tests[item.path], item.path))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """A test that is skipped for want of torch must carry the mark.

    CI runs everything without torch first, and then, with torch, what is marked: a test without the
    mark would never run.
    """
    report = yield
    reason = str(report.longrepr) if report.skipped else ""
    if "torch" in reason and item.get_closest_marker("torch") is None:
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} is skipped without torch: mark it with pytest.mark.torch"
    return report


@pytest.fixture(params=seeds(os.environ.get(SEED, "0")), ids=lambda seed: f"seed{seed}")
def global_random_seed(request: pytest.FixtureRequest) -> int:
    """The seed of a test that must hold for any seed from 0 to 99; FENCHEL_TESTS_SEED chooses."""
    return request.param


@pytest.fixture
def weekly_seed() -> int:
    """The seed of tests that look for something new each week: FENCHEL_TESTS_SEED, or the week."""
    if SEED in os.environ:
        return seeds(os.environ[SEED])[0]
    week = date.today().isocalendar()
    return 100 * week.year + week.week


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def global_dtype(request: pytest.FixtureRequest) -> type:
    return request.param


@pytest.fixture
def hide(monkeypatch: pytest.MonkeyPatch):
    """hide("pandas", ...): from here on those packages cannot be imported, as if not installed."""

    def hide(*packages: str) -> None:
        real = builtins.__import__

        def refuse(name, globals=None, locals=None, fromlist=(), level=0):
            if level == 0 and name.partition(".")[0] in packages:
                raise ModuleNotFoundError(f"No module named {name!r} (hidden)", name=name)
            return real(name, globals, locals, fromlist, level)

        for module in list(sys.modules):
            if module.partition(".")[0] in packages:
                monkeypatch.delitem(sys.modules, module)
        monkeypatch.setattr(builtins, "__import__", refuse)

    return hide


@pytest.fixture
def sparse_arrays_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails the test that uses what a sparse matrix has and a sparse array has not."""
    for method in ("__mul__", "__rmul__", "__pow__", "getrow", "getcol", "getH", "asfptype"):

        def refuse(self, *_, method=method):
            raise AssertionError(f"the sparse matrix interface was used: {method}")

        monkeypatch.setattr(sparse.spmatrix, method, refuse)
