"""The public pages: what completion lists, what it loads, and that names stay what they are."""

from __future__ import annotations

import importlib
import subprocess
import sys
import time

import pytest

import fenchel

PAGES = ["data", "convex", "geometry", "solve", "models", "score", "show"]


@pytest.mark.parametrize("room", PAGES)
def test_completion_lists_what_is_public_and_nothing_else(room):
    page = importlib.import_module(f"fenchel.{room}")
    assert set(page.__all__) <= set(dir(page))
    assert room == "show" or dir(page) == sorted(page.__all__)
    for name in page.__all__:
        home = getattr(page, name).__module__
        assert home.startswith("fenchel."), f"{name} comes from {home}"
    with pytest.raises(AttributeError, match=f"'fenchel.{room}' has no attribute 'nothing'"):
        _ = page.nothing


@pytest.mark.parametrize("room", PAGES)
def test_help_names_every_function(room):
    """`help(fenchel.score)` begins with a table of contents. Left out: `curve_auc` and its like,
    which are `auc` of a curve, and `silhouette_samples`, which is `silhouette` of each row."""
    page = importlib.import_module(f"fenchel.{room}")
    functions = {name for name in page.__all__ if name.islower() and not name.startswith("curve_")}
    functions = {name for name in functions if not name.endswith("_samples")}
    missing = {name for name in functions if name not in page.__doc__}
    assert not missing, f"the docstring of fenchel.{room} does not mention {missing}"


def test_rooms_are_listed_beside_the_names():
    assert {"score", "show", "kernels", "testing", "auc", "Ridge"} <= set(dir(fenchel))
    assert all(getattr(fenchel, name) is not None for name in dir(fenchel))


def test_a_function_keeps_its_name_where_its_module_was_imported():
    importlib.import_module("fenchel.solve.minimise")
    assert fenchel.solve.minimise is fenchel.minimise
    assert callable(fenchel.solve.minimise)


def test_import_takes_less_than_a_tenth_of_a_second():
    code = "import time; t = time.process_time(); import fenchel; print(time.process_time() - t)"
    times = []
    for _ in range(5):
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        times.append(float(found.stdout))
        time.sleep(0.01)
    assert min(times) < 0.1, times
