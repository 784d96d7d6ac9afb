"""Rows in a plane, clusters and axes: what is drawn is what was counted."""

from __future__ import annotations

import numpy as np
import pytest
from show.reading import notes, parts, tables, title

from fenchel import show

rng = np.random.default_rng(5)
SIDE = np.linspace(-1.0, 1.0, 21)
SAID = (SIDE[:, None] > 0.3 * SIDE).astype(int)
POINTS = rng.uniform(-0.95, 0.95, size=(400, 2))
CODES = (POINTS[:, 1] > 0.3 * POINTS[:, 0]).astype(int)


def test_the_ground_is_the_prediction_everywhere():
    chart = show.decision_boundary(SIDE, SIDE, SAID, POINTS, CODES, labels=["no", "yes"])
    covered = np.full(SAID.shape, -1)
    colours = [layer["mark"]["color"] for layer in chart.to_dict()["layer"] if "x2" in str(layer)]
    grounds = parts(chart, "i", "e", "j", "t")
    assert len(grounds) == len(colours) == 2 and colours[0] != colours[1]
    for code, rows in enumerate(grounds):
        for row in rows:
            run = slice(int(row["j"]), int(row["t"])), slice(int(row["i"]), int(row["e"]))
            assert (covered[run] == -1).all()
            covered[run] = code
    assert np.array_equal(covered, SAID)


def test_surer_is_darker():
    sure = np.abs(SIDE[:, None] - 0.3 * SIDE)
    chart = show.decision_boundary(SIDE, SIDE, SAID, POINTS, CODES, sure=sure)
    assert "stronger where it is surer" in notes(chart)
    grounds = parts(chart, "i", "e", "j", "t", "s")
    assert len(grounds) == 2
    for rows in grounds:
        for row in rows:
            lines = slice(int(row["j"]), int(row["t"]))
            run = np.minimum(sure[lines, int(row["i"]) : int(row["e"])], 1.0)
            assert np.abs(run - row["s"] / 8).max() <= 0.5 / 8 + 1e-12


def test_every_row_is_counted_once():
    for chart in (
        show.decision_boundary(SIDE, SIDE, SAID, POINTS, CODES),
        show.embedding(POINTS, CODES),
    ):
        counts = [sum(row["n"] for row in rows) for rows in parts(chart, "i", "j", "n")]
        assert counts == np.bincount(CODES).tolist()
    many = rng.integers(9, size=400)
    counts = [
        sum(row["n"] for row in rows) for rows in parts(show.embedding(POINTS, many), "i", "j", "n")
    ]
    # Six groups have a colour of their own, the others are one.
    assert counts == [*np.bincount(many)[:6].tolist(), int((many >= 6).sum())]


def test_rows_outside_the_grid_are_left_out():
    far = np.concatenate([POINTS, [[50.0, 0.0], [0.0, -50.0]]])
    chart = show.decision_boundary(SIDE, SIDE, SAID, far, np.append(CODES, [0, 1]))
    drawn = sum(row["n"] for rows in parts(chart, "i", "j", "n") for row in rows)
    assert drawn == len(POINTS)


def test_shares_of_the_scatter():
    chart = show.elbow([1, 2, 4], [8.0, 2.0, 1.0], bound=[8.0, 1.0, 0.0], reference=[9, 6, 3])
    lines = [[row["y"] for row in rows] for rows in parts(chart, "k", "y")]
    wanted = [1.0, 0.25, 0.125], [1.0, 2 / 3, 1 / 3], [1.0, 0.125, 0.0]
    for line, want in zip(lines, wanted, strict=True):
        assert line == pytest.approx(want, abs=1e-3)
    assert title(show.elbow([1, 2], [4.0, 1.0], chosen=2)) == "2 clusters leave 25 % of the scatter"
    assert title(show.elbow([1, 2], [4.0, 1.0], chosen=1)).startswith("One cluster")


def test_starts_and_their_bound():
    chart = show.restarts([5.0, 4.0, 4.0], bound=3.0)
    assert title(chart) == "2 of 3 starts came to the best objective"
    assert [row["y"] for row in parts(chart, "i", "y")[0]] == [4.0, 4.0, 5.0]
    assert "no clustering is below 3" in notes(chart)


def test_silhouettes_are_sorted_by_cluster_and_keep_their_mean():
    values, codes = rng.uniform(-0.3, 1.0, 5000), rng.integers(3, size=5000)
    chart = show.silhouettes(values, codes)
    shown = parts(chart, "a", "b", "s")
    assert len(shown) == 3 and sum(map(len, shown)) <= 410
    for k, rows in enumerate(shown):
        drawn = [row["s"] for row in rows]
        assert drawn == sorted(drawn, reverse=True)
        chunks = np.array_split(np.sort(values[codes == k])[::-1], len(drawn))
        assert drawn == pytest.approx([chunk.mean() for chunk in chunks], abs=1e-3)


def test_a_scree_plot_sums_up():
    chart = show.scree([5.0, 3.0, 2.0])
    rows = next(rows for rows in tables(chart) if "c" in rows[0])
    assert [row["s"] for row in rows] == pytest.approx([0.5, 0.3, 0.2])
    assert [row["c"] for row in rows] == pytest.approx([0.5, 0.8, 1.0])


def test_a_scree_plot_shows_negative_eigenvalues():
    """Of distances that are not Euclidean: in the title's share they count for nothing."""
    chart = show.scree([6.0, 4.0, 0.0, -1e-18, -2.0])
    rows = next(rows for rows in tables(chart) if "c" in rows[0])
    assert [row["s"] for row in rows] == pytest.approx([0.6, 0.4, 0.0, 0.0, -0.2])
    assert [row["c"] for row in rows] == pytest.approx([0.6, 1.0, 1.0, 1.0, 1.0])
    assert "1 eigenvalue is negative (bars below zero), 20 % of the sum" in notes(chart)
    many = show.scree(np.linspace(3.0, -1.0, 101))
    rows = next(rows for rows in tables(many) if "c" in rows[0])
    assert [row["n"] for row in rows] == [*range(1, 21), *range(92, 102)]
    assert "The first 20 and the last 10 of 101." in notes(many)
    assert "25 eigenvalues are negative" in notes(many)
    D = np.abs(np.subtract.outer(POINTS[:30, 0], POINTS[:30, 0])) ** 1.5
    B = -0.5 * D**2
    B -= B.mean(axis=0)
    B -= B.mean(axis=1)[:, None]
    assert "negative" in notes(show.scree(np.linalg.eigvalsh(B)[::-1]))


def test_groups_may_be_words_or_left_out():
    """Labels of any clustering: words, and the -1 of rows that belong to none."""
    codes = np.array([1, 0, 1, 1])
    words = np.array(["b", "a", "b", "b"], dtype=object)
    points, values = POINTS[:4], [0.5, 0.2, -0.1, 0.7]
    assert "Means: 1 0.2, 2 0.37." in notes(show.silhouettes(values, codes))
    assert "Means: a 0.2, b 0.37." in notes(show.silhouettes(values, words))
    left = show.silhouettes(values, codes - 1)
    assert "Means: -1 0.2, 0 0.37." in notes(left)
    for given in (codes, words, codes - 1):
        counts = [
            sum(row["n"] for row in rows)
            for rows in parts(show.embedding(points, given), "i", "j", "n")
        ]
        assert counts == [1, 3]
    with pytest.raises(ValueError, match="2 groups need 2 labels, got 1"):
        show.embedding(points, codes, labels=["a"])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: show.decision_boundary(SIDE, SIDE, SAID[:3], POINTS, CODES), "shape"),
        (lambda: show.elbow([1, 2], [1.0]), "one number for each"),
        (lambda: show.restarts([]), "finite objective"),
        (lambda: show.restarts([np.nan]), "finite objective"),
        (lambda: show.silhouettes([0.1], [0, 1]), "every row"),
        (lambda: show.scree([1.0, 2.0]), "largest comes first"),
        (lambda: show.scree([-1.0]), "negative"),
        (lambda: show.embedding(np.ones((3, 3))), r"\(n, 2\)"),
        (lambda: show.embedding([[np.nan, 0.0]]), "finite"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()
