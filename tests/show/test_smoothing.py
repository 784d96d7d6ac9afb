"""Errors of rows left out, and local averages with their bands."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri
from show.reading import notes, parts, title

from fenchel import show

rng = np.random.default_rng(4)
COUNTS = np.arange(1, 61)
ERRORS = 0.1 + 0.002 * np.abs(COUNTS - 20.0)
SPREAD = np.full(60, 0.011)


def part(chart, *names):
    (found,) = parts(chart, *names)
    return {name: np.array([row[name] for row in found]) for name in names}


def test_the_curve_passes_every_error_and_its_band():
    chart = show.leave_one_out_curve(COUNTS, ERRORS, standard_errors=SPREAD, share=True)
    assert title(chart) == "neighbours = 20: leave-one-out error 10 % ± 1.1 %"
    assert "Within one of the least: neighbours 15 to 25." in notes(chart)
    line = part(chart, "x", "y", "a", "b")
    for field, values in (("y", ERRORS), ("a", ERRORS - SPREAD), ("b", ERRORS + SPREAD)):
        # Straight between the vertices on a logarithmic axis.
        seen = np.interp(np.log(COUNTS), np.log(line["x"]), line[field])
        assert np.abs(seen - values).max() < 1e-3
    spot = part(chart, "x", "y", "s")
    assert (spot["x"], spot["y"]) == (20, pytest.approx(0.1))
    taken = show.leave_one_out_curve(COUNTS, ERRORS, chosen=7)
    assert title(taken) == "neighbours = 7: leave-one-out error 0.126" and notes(taken) == ""


def test_the_reach_of_one_standard_error():
    errors = np.array([0.1, 0.3, 0.2, 0.12, 0.21, 0.19])
    spread = np.full(6, 0.03)
    said = notes(show.leave_one_out_curve(range(1, 7), errors, standard_errors=spread))
    assert "Within one of the least: neighbours 1 to 4, but for some between." in said
    said = notes(show.leave_one_out_curve(range(1, 7), errors, standard_errors=0.1 * spread))
    assert "No other value is within one of the least" in said


def test_errors_that_are_not_finite_are_not_drawn():
    values = np.geomspace(1e-3, 1.0, 9)
    errors = np.linspace(2.0, 1.0, 9)
    errors[0] = np.inf
    chart = show.leave_one_out_curve(values, errors, name="bandwidth")
    assert part(chart, "x", "y", "a", "b")["x"].min() > 1.5e-3
    assert title(chart) == "bandwidth = 1: leave-one-out error 1"
    for call, said in (
        (lambda: show.leave_one_out_curve([1, 2], [np.inf, np.nan]), "no error is finite"),
        (lambda: show.leave_one_out_curve([2, 1], [0.1, 0.2]), "the values must rise"),
        (lambda: show.leave_one_out_curve([1, 2], [0.1]), "one number for each value"),
        (lambda: show.leave_one_out_curve(values, errors, chosen=values[0]), "not one of"),
    ):
        with pytest.raises(ValueError, match=said):
            call()


def test_the_band_is_what_was_given_and_gaps_are_gaps():
    x, places = np.array([0.0, 1.0, 2.0, 8.0]), np.linspace(0.0, 10.0, 101)
    errors = 0.1 + 0.01 * places
    chart = show.local_average(x, x, places, np.sin(places), errors, reach=1.0, level=0.9)
    drawn = part(chart, "g", "x", "y", "a", "b")
    near = (places <= 3.0) | ((places >= 7.0) & (places <= 9.0))
    assert set(drawn["g"]) == {0, 1}
    z = ndtri(0.95)
    for g, run in ((0, places <= 3.0), (1, (places >= 7.0) & (places <= 9.0))):
        here = drawn["g"] == g
        assert drawn["x"][here].min() == pytest.approx(places[run].min(), abs=2e-3)
        assert drawn["x"][here].max() == pytest.approx(places[run].max(), abs=2e-3)
        for field, sign in (("y", 0.0), ("a", -z), ("b", z)):
            wanted = np.sin(places[run]) + sign * errors[run]
            seen = np.interp(places[run], drawn["x"][here], drawn[field][here])
            assert np.abs(seen - wanted).max() < 0.02
    assert f"at {100 * near.mean():.0f} % of the places" in title(chart)
    assert "90 %" in notes(chart) and "Gaps: no row is near." in notes(chart)


def test_infinite_standard_errors_are_gaps():
    places = np.arange(6.0)
    errors = np.array([1.0, np.inf, 1.0, 1.0, np.nan, 1.0])
    chart = show.local_average(places, places, places, places, errors)
    drawn = part(chart, "g", "x", "y", "a", "b")
    assert sorted(drawn["x"]) == [0, 2, 3, 5] and len(set(drawn["g"])) == 3
    assert title(show.local_average([1.0], [2.0], places + 5.0, places, reach=1.0)) == (
        "No row is near any of the places"
    )
    plain = show.local_average(places, places, places, places)
    assert title(plain) == "Local average" and "Shaded" not in notes(plain)


def test_what_cannot_be_drawn_is_refused():
    for call, said in (
        (lambda: show.local_average([1.0], [1.0, 2.0], [0.0], [0.0]), "every row"),
        (lambda: show.local_average([1.0], [1.0], [1.0, 0.0], [0.0, 0.0]), "must rise"),
    ):
        with pytest.raises(ValueError, match=said):
            call()
