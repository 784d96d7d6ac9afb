"""The public pages: what completion lists, what it loads, and that names stay what they are."""

from __future__ import annotations

import html
import importlib
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator

import fenchel
from fenchel.models.estimator import Estimator

PAGES = ["data", "convex", "geometry", "solve", "models", "score", "show"]


@pytest.mark.parametrize("room", PAGES)
def test_completion_lists_what_is_public_and_nothing_else(room):
    page = importlib.import_module(f"fenchel.{room}")
    assert dir(page) == sorted(page.__all__)
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


def test_every_estimator_shows_its_certificate_in_a_notebook():
    models = [getattr(fenchel.models, name) for name in fenchel.models.__all__]
    classes = {one for one in models if isinstance(one, type) and issubclass(one, BaseEstimator)}
    assert classes and all(issubclass(one, Estimator) for one in classes)


def test_a_page_in_a_notebook():
    X = np.random.default_rng(0).standard_normal((40, 2))
    for model in (fenchel.Ridge(), fenchel.KMeans(2, random_state=0), fenchel.PCA()):
        assert "<caption" not in model._repr_html_()
        model.fit(X, X[:, 0] + X[:, 1])
        shown, proof = model._repr_html_(), model.certificate_
        assert "sk-top-container" in shown and shown.endswith(proof._repr_html_())
        assert html.escape(proof.caption()) in shown
        with config_context(display="text"):
            assert not isinstance(getattr(model, "_repr_html_", ""), Callable)
