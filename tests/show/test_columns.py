"""Figures of columns: correlations, importance, one column by class, drift."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform
from show.inputs import CORRELATION
from show.reading import column, notes, picture, table, tables, texts, title

from fenchel import population_stability, show
from fenchel.show.columns.heatmap import clustered_order

rng = np.random.default_rng(4)


def cells(chart):
    """(names in order, matrix) of a heatmap."""
    names = column(table(chart, "k", "s"), "s")
    rows = table(chart, "i", "j", "r")
    found = np.full((len(names), len(names)), np.nan)
    for row in rows:
        if row["r"] is not None:
            found[int(row["i"]), int(row["j"])] = row["r"]
    return names, found


def test_a_heatmap_holds_the_correlations_of_its_names():
    r = CORRELATION[:12, :12]
    names, found = cells(show.correlation_heatmap(r, [f"c{i}" for i in range(12)]))
    at = [int(name[1:]) for name in names]
    assert sorted(at) == list(range(12))
    assert np.allclose(found, r[np.ix_(at, at)], atol=6e-4)


def test_columns_stand_in_the_order_of_the_clustering():
    far = squareform(1.0 - np.abs(CORRELATION[:20, :20]), checks=False)
    want = leaves_list(linkage(far, "average", optimal_ordering=True))
    assert clustered_order(CORRELATION[:20, :20]).tolist() == want.tolist()
    # Two groups that are mixed in the table stand apart in the figure, whatever the sign.
    group = np.arange(8) % 2
    r = np.where(group[:, None] == group, 0.9, 0.05) * np.where(np.arange(8) < 4, 1.0, -1.0)
    r = np.where(np.arange(8)[:, None] < 4, 1.0, -1.0) * r
    np.fill_diagonal(r, 1.0)
    order = clustered_order(r)
    assert (np.diff(group[order]) != 0).sum() == 1


def test_the_strongest_pair_is_the_title():
    r = np.eye(3) + np.array([[0, 0.2, -0.93], [0.2, 0, 0.1], [-0.93, 0.1, 0]])
    chart = show.correlation_heatmap(r, ["age", "bmi", "dose"])
    assert title(chart) == "Strongest correlation: -0.93, age and dose"
    assert {"−0.93", "0.20", "0.10"} <= set(texts(picture(chart)))
    assert "1.00" not in texts(picture(chart))  # the diagonal says nothing
    assert title(show.correlation_heatmap([[1.0]])) == "One column has no correlation"
    spec = chart.to_dict()["layer"][0]["encoding"]["color"]
    assert spec["scale"]["domain"] == [-1.0, 0.0, 1.0] and len(spec["scale"]["range"]) == 3


def test_many_columns_are_those_with_the_strongest_correlations():
    names, found = cells(show.correlation_heatmap(CORRELATION, range(60)))
    assert len(names) == 40
    apart = np.abs(CORRELATION - np.eye(60)).max(axis=1)
    assert {int(name) for name in names} == set(np.argsort(-apart, kind="stable")[:40].tolist())
    assert "40 of 60 columns" in notes(show.correlation_heatmap(CORRELATION, range(60)))
    r = CORRELATION[:4, :4].copy()
    r[1, :] = r[:, 1] = np.nan  # a column without variance
    names, found = cells(show.correlation_heatmap(r, list("abcd")))
    assert np.isnan(found[names.index("b")]).all() and np.isfinite(found).sum() == 9


@pytest.mark.parametrize(
    ("matrix", "names", "said"),
    [
        (np.ones((2, 3)), None, "square"),
        ([[1.0, 0.5], [0.4, 1.0]], None, "symmetric"),
        ([[1.0, 3.0], [3.0, 1.0]], None, "between -1 and 1, and matrix has 3"),
        (np.eye(2), ["a"], "2 columns need 2 names"),
        ([[1.0, np.nan], [0.5, 1.0]], None, "symmetric"),
    ],
)
def test_what_is_no_correlation_is_refused(matrix, names, said):
    with pytest.raises(ValueError, match=said):
        show.correlation_heatmap(matrix, names)


def test_the_most_important_columns_come_first():
    values = np.array([0.1, -0.02, 0.5, 0.0, 0.3])
    ends = values - 0.05, values + 0.05
    chart = show.importance(list("abcde"), values, ends, top=4)
    rows = table(chart, "s", "x", "a", "b", "d")
    assert column(rows, "s") == ["c", "e", "a", "d"]
    assert np.allclose(column(rows, "x"), [0.5, 0.3, 0.1, 0.0], atol=1e-3)
    assert np.allclose(column(rows, "a"), [0.45, 0.25, 0.05, -0.05], atol=1e-3)
    assert column(rows, "d") == [0, 0, 0, 1]  # an interval that holds 0
    assert title(chart) == "Most important of 5 columns: c, 0.5"
    assert "Grey: the interval holds 0" in notes(chart) and "95 % intervals" in notes(chart)
    assert "The 4 largest" in notes(chart)
    plain = show.importance(["a"], [1.0])
    assert title(plain) == "One column: a, 1" and "interval" not in notes(plain)
    for names, numbers, intervals, said in (
        (["a"], [1.0, 2.0], None, "names"),
        (["a"], [np.nan], None, "finite"),
        (["a", "b"], [1.0, 2.0], ([0.0], [1.0]), "intervals"),
    ):
        with pytest.raises(ValueError, match=said):
            show.importance(names, numbers, intervals)


def test_shares_of_each_class():
    counts = {"no": [8, 2, 0], "yes": [1, 4, 5]}
    chart = show.class_histograms(counts, [0, 10, 20, 30], column="age")
    rows = table(chart, "k", "a", "b", "y", "n", "s")
    for k, one in enumerate(counts.values()):
        mine = {row["a"]: row for row in rows if row["k"] == k}
        for edge, n in zip((0, 10, 20), one, strict=True):
            assert n == 0 or mine[edge]["n"] == n
            assert n == 0 or mine[edge]["y"] == pytest.approx(n / sum(one), abs=1e-3)
        assert len(mine) == sum(n > 0 for n in one)
    assert title(chart) == "age by class"
    assert "no (10 rows), yes (10 rows)" in notes(chart)
    assert {"no", "yes", "age", "share of the class"} <= set(texts(picture(chart)))
    outlines = [rows for rows in tables(chart) if set(rows[0]) == {"i", "x", "y"}]
    for line, one in zip(outlines, counts.values(), strict=True):
        x, y = np.array(column(line, "x")), np.array(column(line, "y"))
        assert np.trapezoid(y, x) == pytest.approx(10.0, rel=1e-2) and sum(one) == 10


def test_uneven_bins_are_densities():
    chart = show.class_histograms({"a": [10, 10]}, [0, 1, 10])
    rows = table(chart, "k", "a", "b", "y", "n", "s")
    assert column(rows, "y") == pytest.approx([0.5, 0.5 / 9], abs=1e-3)
    assert column(rows, "s") == [0.5, 0.5]
    assert "areas are shares" in notes(chart)
    assert "share of the class per unit" in texts(picture(chart))


def test_levels_and_classes_that_are_many():
    chart = show.class_histograms({"no": [3, 1], "yes": [0, 2]}, ["m", "f"], column="sex")
    rows = table(chart, "k", "l", "y", "n")
    assert [(row["k"], row["l"], row["n"]) for row in rows] == [
        (0, "m", 3),
        (0, "f", 1),
        (1, "m", 0),
        (1, "f", 2),
    ]
    assert column(rows, "y") == pytest.approx([0.75, 0.25, 0.0, 1.0])
    many = show.class_histograms({i: [i + 1, 1] for i in range(9)}, [0, 1, 2])
    names = column(table(many, "k", "s"), "s")
    assert len(names) == 6 and names[-1] == "4 other classes"
    bars = table(many, "k", "a", "b", "y", "n", "s")
    assert sum(column(bars, "n")) == sum(range(1, 10)) + 9
    levels = show.class_histograms({"a": np.ones(30)}, range(30))
    assert "19 others" in column(table(levels, "k", "l", "y", "n"), "l")
    assert sum(column(table(levels, "k", "l", "y", "n"), "n")) == 30


@pytest.mark.parametrize(
    ("counts", "bins", "said"),
    [
        ({}, [0, 1], "counts is empty"),
        ({"a": [1, 2]}, [0], "edges or 2 names"),
        ({"a": [1, 2], "b": [1]}, [0, 1, 2], "counts of 'b'"),
        ({"a": [1, -2]}, [0, 1, 2], "not negative"),
        ({"a": [1, 2]}, [0, 2, 1], "edges that rise"),
    ],
)
def test_bins_that_do_not_fit_are_refused(counts, bins, said):
    with pytest.raises(ValueError, match=said):
        show.class_histograms(counts, bins)


def test_drift_is_graded_by_the_usual_limits():
    chart = show.drift(list("abcd"), [0.05, 0.3, 0.1, 0.25])
    rows = table(chart, "s", "x", "g")
    assert [(row["s"], row["g"]) for row in rows] == [
        ("b", "large"),
        ("d", "large"),
        ("c", "moderate"),
        ("a", "stable"),
    ]
    assert title(chart) == "2 of 4 columns have shifted, 1 moderately"
    assert {"0.1", "0.25"} <= set(texts(picture(chart)))
    limits = table(chart, "x", "s")
    assert column(limits, "x") == [0.1, 0.25]
    assert title(show.drift(["a"], [0.0])) == "The column is stable"
    assert title(show.drift(["a", "b"], [0.0, 0.2])) == "1 of 2 columns has shifted moderately"
    assert "The 20 largest of 30" in notes(show.drift(range(30), np.linspace(0, 1, 30)))
    for names, values, said in ((["a"], [], "names"), (["a"], [-1.0], "not negative")):
        with pytest.raises(ValueError, match=said):
            show.drift(names, values)


def test_drift_of_few_rows_may_be_chance():
    few = population_stability([4, 3, 3], [2, 3, 5])
    many = population_stability([400, 300, 300], [200, 300, 500])
    assert few.value > 0.1 and few.grade() == "stable"
    rows = table(show.drift(["few", "many"], [few, many]), "s", "x", "g")
    assert {row["s"]: row["g"] for row in rows} == {"few": "stable", "many": many.grade()}
