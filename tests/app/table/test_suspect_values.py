"""Codes of missing values, and cells that dominate a scale."""

from __future__ import annotations

import numpy as np
import pytest

from fenchel.app.table.profile.suspect_values import clip_limits, suspect_values

RNG = np.random.default_rng(0)
AGES = RNG.integers(17, 91, 400).astype(float)
AMOUNTS = RNG.lognormal(7.8, 0.8, 400).round()


def with_cells(x, value, count):
    x = x.copy()
    x[np.linspace(3, len(x) - 4, count).astype(int)] = value
    return x


def names(x):
    return [(one.cell, one.count, one.kind, one.written) for one in suspect_values(x)]


@pytest.mark.parametrize(
    ("x", "value", "count"),
    [
        (AGES, -999.0, 40),
        (AGES, 999.0, 4),
        (AGES, -1.0, 5),
        (AMOUNTS, 99_999_999.0, 3),
        (RNG.normal(120.0, 12.0, 400), 0.0, 9),  # a blood pressure of 0
        (RNG.integers(1, 6, 400).astype(float), 9.0, 12),  # 9: no answer
        (1e-8 * AGES, -88.0, 6),
    ],
)
def test_codes_of_missing_values(x, value, count):
    assert names(with_cells(x, value, count)) == [(value, count, "code", True)]


def test_a_value_that_repeats_among_values_that_do_not():
    income = RNG.lognormal(10.0, 0.6, 600)
    income[::10] = 0.0  # near enough to the others to be a measurement
    assert names(income) == [(0.0, 60, "repeated", True)]
    inside = RNG.uniform(500.0, 15_000.0, 600)
    inside[::12] = 9999.0
    assert names(inside) == [(9999.0, 50, "repeated", True)]


def test_two_codes_at_one_end():
    x = with_cells(with_cells(AGES, 998.0, 5), 999.0, 4)
    assert {(value, written) for value, _, _, written in names(x)} == {(998.0, True), (999.0, True)}
    found = names(with_cells(with_cells(AGES, -99.0, 5), 999.0, 4))
    assert {value for value, *_ in found} == {-99.0, 999.0}


def test_a_repeated_value_that_is_no_customary_code_is_named_but_not_taken_for_one():
    assert names(with_cells(AGES, 523.0, 5)) == [(523.0, 5, "code", False)]


def test_cells_that_dominate():
    x = with_cells(AMOUNTS, 99_999_999.0, 1)
    (found,) = suspect_values(x)
    assert (found.cell, found.kind, found.count) == (99_999_999.0, "dominant", 1)
    assert (
        found.nearest == np.delete(AMOUNTS, found.rows[0]).max()
        and x[found.rows[0]] == 99_999_999.0
    )
    low, high = clip_limits(x)
    assert (low, high) == (AMOUNTS.min(), np.delete(AMOUNTS, found.rows[0]).max())
    assert clip_limits(AMOUNTS) is None


@pytest.mark.parametrize(
    "x",
    [
        AGES,
        AMOUNTS,
        RNG.normal(size=1000),
        RNG.standard_t(3, 2000),
        RNG.lognormal(0.0, 2.0, 5000),
        RNG.poisson(2.0, 1000).astype(float),
        np.where(RNG.random(1000) < 0.9, 0.0, RNG.lognormal(8.0, 1.0, 1000)),  # mostly zero
        RNG.integers(0, 2, 500).astype(float),
        np.repeat([1.0, 2.0, 3.0], 50),
        RNG.choice([0.0, 12.5, 18.0, 80.0], 300),  # four values, one of them far
        RNG.integers(0, 10, 500).astype(float),
        np.full(100, 5.0),
        np.arange(15.0),
        np.array([]),
    ],
    ids=lambda x: f"{len(x)} values",
)
def test_ordinary_columns_are_left_alone(x):
    assert suspect_values(x) == ()


def test_missing_cells_and_rows():
    x = with_cells(AGES, -999.0, 40)
    x[0] = np.nan
    (found,) = suspect_values(x)
    assert found.rows[0] == 3 and len(found.rows) == 3 and all(x[list(found.rows)] == -999.0)


@pytest.mark.parametrize("scale", [1e-300, 1e-8, 1e300])
def test_any_scale(scale):
    assert [one.kind for one in suspect_values(scale * with_cells(AGES, 1e6, 1))] == ["dominant"]
    assert suspect_values(scale * AGES) == ()
    big = np.finfo(np.float64).max
    assert suspect_values(np.array([big, -big, 0.0] * 10)) == ()
