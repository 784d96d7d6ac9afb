"""What the docstrings of the estimators show is what happens."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import fenchel.models

ROOMS = [room.name for room in pkgutil.walk_packages(fenchel.models.__path__, "fenchel.models.")]


@pytest.mark.parametrize("room", ROOMS)
def test_examples_are_true(room):
    doctest.testmod(importlib.import_module(room), raise_on_error=True)
