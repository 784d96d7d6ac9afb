"""How many modules a fit enters on its way from `fit` to the solution: the count may only fall.

A reader who follows a fit opens each of these files. A module counts when Python code of its file
runs, on any thread; constructors that dataclasses write, and compiled loops, do not.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import fenchel
from fenchel import Lasso, LogisticRegression

ROOT = Path(fenchel.__file__).parent
# The most modules that a fit may enter; lower the number when a walk becomes shorter.
MOST = {"lasso": 44, "logistic": 44}


def modules_entered(fit: Callable[[], object]) -> set[str]:
    """The files of the package whose functions a call runs."""
    entered: set[str] = set()

    def note(frame, event, _):
        if event == "call":
            entered.add(frame.f_code.co_filename)

    fit()  # what is loaded when first used is no step of the walk
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        fit()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    files = (Path(name) for name in entered)
    return {file.relative_to(ROOT).as_posix() for file in files if file.is_relative_to(ROOT)}


def table(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X, X[:, :5].sum(axis=1) + rng.standard_normal(n)


# Below and above 131,072 values, from which on passes are compiled; narrow and wide.
@pytest.mark.parametrize("shape", [(500, 8), (20_000, 10), (300, 2_000)])
@pytest.mark.parametrize("name", MOST)
def test_modules_from_fit_to_solution(name, shape):
    X, y = table(*shape)
    fits = {
        "lasso": lambda: Lasso(alpha=0.1).fit(X, y),
        "logistic": lambda: LogisticRegression().fit(X, y > 0),
    }
    files = modules_entered(fits[name])
    assert len(files) <= MOST[name], sorted(files)
