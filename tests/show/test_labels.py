"""Names on axes: the ends that tell them apart are kept, and they stand upright where they can."""

from __future__ import annotations

import numpy as np
from show.reading import walk

from fenchel.show import coefficients, correlation_heatmap, importance, regularisation_path
from fenchel.show.labels import LONGEST, middle_cut

LEVELS = [
    f"purpose of the loan application={level}" for level in ("business", "car (new)", "radio")
]


def axes(chart):
    return [
        one["axis"] for _, one in walk(chart.to_dict()) if isinstance(one, dict) and one.get("axis")
    ]


def test_a_long_name_keeps_both_its_ends():
    short = [middle_cut(name) for name in LEVELS]
    assert len(set(short)) == 3 and all(len(name) == LONGEST for name in short)
    assert short[0].startswith("purpose") and short[0].endswith("=business")
    assert middle_cut("age") == "age"


def test_levels_of_one_column_are_told_apart_in_every_figure_of_names():
    values = np.array([1.0, -2.0, 0.5])
    for chart in (coefficients(LEVELS, values), importance(LEVELS, values)):
        assert any("slice(datum.label, -" in str(axis.get("labelExpr")) for axis in axes(chart))
    path = regularisation_path([10.0, 1.0], [[0.0, 0.0, 0.0], values], names=LEVELS)
    said = [one["s"] for _, one in walk(path.to_dict()) if isinstance(one, dict) and "s" in one]
    assert {middle_cut(name) for name in LEVELS} <= set(said)


def test_names_stand_upright_where_they_have_room():
    matrix = np.eye(3)
    angles = {
        axis["labelAngle"]
        for axis in axes(correlation_heatmap(matrix, ["age", "bmi", "sex"]))
        if "labelAngle" in axis
    }
    assert angles == {0}
    angles = {
        axis["labelAngle"]
        for axis in axes(correlation_heatmap(matrix, LEVELS))
        if "labelAngle" in axis
    }
    assert angles == {-40}


def test_few_bars_fill_their_figure():
    assert importance(["a", "b", "c"], [3.0, 2.0, 1.0]).to_dict()["height"] > 90
    assert coefficients(list("abcdefghij"), np.arange(10.0)).to_dict()["height"] == 190
