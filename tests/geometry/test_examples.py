"""What the docstrings of the room show is what happens."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import fenchel.geometry

FILES = [
    file.name for file in pkgutil.walk_packages(fenchel.geometry.__path__, "fenchel.geometry.")
]


@pytest.mark.parametrize("file", FILES)
def test_examples_are_true(file):
    if file.endswith("device_loop"):
        pytest.importorskip("triton", reason="the compiler of loops on a device is not installed")
    doctest.testmod(importlib.import_module(file), raise_on_error=True)
