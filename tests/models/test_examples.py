"""What the docstrings of the estimators show is what happens."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import runpy
from fractions import Fraction
from pathlib import Path

import pytest

import fenchel.models

ROOMS = [room.name for room in pkgutil.walk_packages(fenchel.models.__path__, "fenchel.models.")]


@pytest.mark.parametrize("room", ROOMS)
def test_examples_are_true(room):
    doctest.testmod(importlib.import_module(room), raise_on_error=True)


def test_the_example_recomputes_certificates(capsys):
    path = Path(__file__).parents[2] / "examples" / "recompute_certificate.py"
    found = runpy.run_path(str(path))["found"]
    assert set(found) == {"ridge", "lasso", "hinge", "logistic"}
    for model, value, bound, near, low, value_off, bound_off in found.values():
        proof = model.certificate_
        assert bound <= value and value_off <= 1e-11 * value and bound_off <= 1e-11 * value
        assert abs(Fraction(near) - value) <= value_off and abs(Fraction(low) - bound) <= bound_off
        assert proof.value == pytest.approx(float(value), rel=1e-13)
        assert proof.bound <= value  # exactly: no rounding forgives a bound above the value
        assert float(bound) == pytest.approx(proof.bound, rel=2e-6)
    assert len(capsys.readouterr().out.splitlines()) == 3 * len(found)
