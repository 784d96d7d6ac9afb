"""Starts pytest on scikit-learn's installed test files with this library in its place."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import sklearn
from conformance.listing import Result

ROOT = Path(__file__).resolve().parents[2]
VERSION = "1.9."
QUICK = (
    "linear_model/tests/test_base.py",
    "linear_model/tests/test_huber.py",
    "linear_model/tests/test_perceptron.py",
    "linear_model/tests/test_quantile.py",
    "linear_model/tests/test_common.py",
    "metrics/tests/test_ranking.py",
    "svm/tests/test_bounds.py",
    "svm/tests/test_sparse.py",
    "svm/tests/test_svm.py",
)
FILES = (
    *QUICK,
    "linear_model/tests/test_coordinate_descent.py",
    "linear_model/tests/test_logistic.py",
    "linear_model/tests/test_ridge.py",
    "linear_model/tests/test_sparse_coordinate_descent.py",
)


def home() -> Path:
    """The folder where scikit-learn is installed."""
    return Path(str(sklearn.__file__)).parent


def version_fault() -> str | None:
    """Why the tests cannot be run here, in a sentence, or None."""
    if not sklearn.__version__.startswith(VERSION):
        return (
            f"the list is that of scikit-learn {VERSION}x, and {sklearn.__version__} is installed"
        )
    missing = [file for file in FILES if not (home() / file).exists()]
    if missing:
        return f"scikit-learn's tests are not installed: {missing[0]} is missing"
    return None


def run(
    files: Sequence[str], *, jobs: int = 2, plain: bool = False, expression: str = ""
) -> list[Result]:
    """The result of every test of the files; pytest's own output is shown only if it breaks."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "results.jsonl")
        # Not what pytest tells its own processes: this may be one of them.
        outside = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
        environment = {
            **outside,
            "PYTHONPATH": os.pathsep.join(
                [str(ROOT), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
            ),
            "SCIPY_ARRAY_API": "1",  # or the tests of array API input are skipped
            "FENCHEL_CONFORMANCE_RESULTS": str(path),
        }
        if plain:
            environment["FENCHEL_CONFORMANCE_PLAIN"] = "1"
        settings = Path(folder, "pytest.ini")
        settings.write_text("[pytest]\n")
        command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "conformance.plugin"]
        command += ["-p", "no:cacheprovider", "-c", str(settings), "--rootdir", str(home())]
        command += ["--import-mode=importlib", "--disable-warnings", "-k", expression]
        if jobs > 1 and importlib.util.find_spec("xdist") is not None:
            command += ["-n", str(jobs)]
        command += [str(home() / file) for file in files]
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode not in (0, 1):  # neither all passed nor some failed
            raise RuntimeError(f"pytest ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        lines = path.read_text("utf-8").splitlines()
    return [Result(**json.loads(line)) for line in lines]
