"""A pytest plugin that puts this library's classes and functions in scikit-learn's modules.

Loaded with `-p conformance.plugin` before any test module is imported. Each test's report says
whether the test called something of ours: a test that did not says nothing about us.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fenchel

# scikit-learn's public module -> its names that this library has too.
NAMESAKES = {
    "sklearn.linear_model": (
        "ElasticNet",
        "ElasticNetCV",
        "HuberRegressor",
        "Lasso",
        "LassoCV",
        "LinearRegression",
        "LogisticRegression",
        "LogisticRegressionCV",
        "Perceptron",
        "QuantileRegressor",
        "Ridge",
        "RidgeCV",
        "enet_path",
        "lasso_path",
    ),
    "sklearn.svm": ("LinearSVC", "LinearSVR"),
    "sklearn.metrics": (
        "average_precision_score",
        "det_curve",
        "precision_recall_curve",
        "roc_auc_score",
        "roc_curve",
    ),
}
RESULTS = "FENCHEL_CONFORMANCE_RESULTS"  # the file that receives one JSON line a test
PLAIN = "FENCHEL_CONFORMANCE_PLAIN"  # set: scikit-learn's own classes, to compare with

_before = pytest.StashKey[int]()  # calls before a test
_calls = 0  # calls of this library since the process began


class _Counted:
    """A method that counts how often it is looked up.

    A wrapper would add a frame to the stack, and with it another place to every warning.
    """

    def __init__(self, method: Any) -> None:
        self.method = method

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        global _calls
        _calls += instance is not None
        return self.method.__get__(instance, owner)


def _counted(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        global _calls
        _calls += 1
        return function(*args, **kwargs)

    return call


def _count_calls(ours: Any) -> Any:
    """A function that counts its calls, or a class that counts what is done with its objects."""
    if not isinstance(ours, type):
        return _counted(ours)
    for method in ("__init__", "fit", "predict"):
        setattr(ours, method, _Counted(getattr(ours, method)))
    return ours


def substitute() -> None:
    """Put every namesake in scikit-learn's modules, counting its calls."""
    for module, names in NAMESAKES.items():
        theirs = importlib.import_module(module)
        for name in names:
            getattr(theirs, name)  # a name that scikit-learn has no more would be a silent error
            source = theirs if PLAIN in os.environ else fenchel
            if name in dir(source):
                setattr(theirs, name, _count_calls(getattr(source, name)))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "thread_unsafe: scikit-learn's own mark")
    substitute()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    item.stash[_before] = _calls
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    report.user_properties = [("ours", _calls > item.stash[_before])]
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """One line for each phase of a test that decides: its call, or a set-up that ended it."""
    results = os.environ.get(RESULTS)
    if not results or "PYTEST_XDIST_WORKER" in os.environ:
        return
    if report.when == "call" or report.outcome != "passed":
        line = {
            "test": test_id(report.nodeid),
            "outcome": "xfailed" if "wasxfail" in vars(report) else report.outcome,
            "ours": dict(report.user_properties)["ours"],
            "seconds": report.duration,
            "message": _last_line(report),
        }
        with Path(results).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def test_id(nodeid: str) -> str:
    """'linear_model/tests/test_base.py::test_x[a]', wherever scikit-learn lies."""
    return nodeid.rpartition("sklearn/")[2] if "sklearn/" in nodeid.split("::")[0] else nodeid


def _last_line(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    return "" if crash is None else str(crash.message).splitlines()[0][:300]
