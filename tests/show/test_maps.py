"""Figures of maps: what they say is what they were given."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from show.reading import column, notes, picture, table, tables, texts, title
from sklearn.datasets import load_iris, make_swiss_roll
from vl_convert import vegalite_to_vega

from fenchel import PCA, kneighbors_graph, show
from fenchel.show.maps.placing import LINE, placed
from fenchel.show.maps.rotation import RotationBox, projected, sliders

rng = np.random.default_rng(4)


@pytest.fixture(scope="module")
def iris():
    return load_iris()


def written(chart):
    """Names of a figure with the places that they are written beside."""
    return [row for rows in tables(chart) for row in rows if set(row) == set("abdens")]


def drawn_arrows(chart):
    return next(rows for rows in tables(chart) if set(rows[0]) == set("xys"))


# Names


def test_names_do_not_cover_each_other_or_the_points():
    points = rng.uniform(0.0, 300.0, size=(200, 2))
    words = ["iris virginica"] * 200
    found = placed(points, words, (300.0, 300.0), obstacles=points)
    boxes = np.array([[left, left + 5.9 * 14, y - LINE / 2, y + LINE / 2] for _, left, y in found])
    assert 3 < len(found) < 40
    for k, box in enumerate(boxes):
        others = np.delete(boxes, k, axis=0)
        meet = (others[:, 0] < box[1]) & (others[:, 1] > box[0])
        meet &= (others[:, 2] < box[3]) & (others[:, 3] > box[2])
        assert not meet.any()
        inside = (points[:, 0] > box[0]) & (points[:, 0] < box[1])
        assert not (inside & (points[:, 1] > box[2]) & (points[:, 1] < box[3])).any()
    assert (boxes >= 0.0).all() and (boxes <= 300.0).all()


def test_a_crowd_is_covered_only_where_there_is_no_other_room():
    at = np.array([[150.0, 150.0]])
    crowd = np.array([[170.0, 150.0], [170.0, 163.0]])
    ((_, left, middle),) = placed(at, ["word"], (300, 300), obstacles=at, crowd=crowd)
    assert (left, middle) == (157.0, 137.0)
    full = np.stack(np.meshgrid(np.arange(0, 300, 5), np.arange(0, 300, 5)), axis=-1).reshape(-1, 2)
    assert placed(at, ["word"], (300, 300), obstacles=at, crowd=full)
    assert not placed(at, ["word"], (300, 300), obstacles=full)


# Scores and columns


def test_a_biplot_shows_rows_and_columns_by_one_factor(iris):
    model = PCA(2).fit(iris.data)
    Z, V = model.transform(iris.data), model.components_.T
    shares = model.explained_variance_ratio_
    chart = show.biplot(
        Z, V, iris.target, shares=shares, column_names=iris.feature_names, labels=iris.target_names
    )
    arrows = drawn_arrows(chart)
    drawn = np.array([[row["x"], row["y"]] for row in arrows])
    order = [iris.feature_names.index(row["s"]) for row in arrows]
    factors = np.linalg.norm(drawn, axis=1) / np.linalg.norm(V[order], axis=1)
    assert np.allclose(factors, factors[0], rtol=0.02)
    assert np.allclose(drawn, factors[0] * V[order], atol=0.02)
    assert len(written(chart)) == 4 and title(chart) == "The plane holds 97.8 % of the variance"
    said = texts(picture(chart))
    assert {*iris.feature_names, *iris.target_names, "first axis (92.5 %)"} <= set(said)
    counts = [sum(column(rows, "n")) for rows in tables(chart) if set(rows[0]) == set("ijn")]
    assert counts == [50, 50, 50]


def test_of_many_columns_the_longest_have_arrows():
    V = np.stack([np.linspace(1.0, 2.0, 40), np.linspace(-1.0, 1.0, 40)], axis=1)
    chart = show.biplot(rng.normal(size=(50, 2)), V)
    arrows = drawn_arrows(chart)
    longest = np.argsort(-np.hypot(*V.T), kind="stable")[:15] + 1
    assert [int(row["s"]) for row in arrows] == longest.tolist()
    assert "15 longest of 40 columns" in notes(chart)


def test_a_correlation_circle_shows_correlations(iris):
    X = iris.data / iris.data.std(axis=0, ddof=1)
    model = PCA(2).fit(X)
    Z = model.transform(X)
    r = np.array([[np.corrcoef(x, z)[0, 1] for z in Z.T] for x in X.T])
    chart = show.correlation_circle(model.variables_ / np.sqrt(149), iris.feature_names)
    arrows = drawn_arrows(chart)
    for row in arrows:
        k = iris.feature_names.index(row["s"])
        assert np.allclose([row["x"], row["y"]], r[k], atol=1e-3)
    held = (r**2).sum(axis=1)
    assert (
        title(chart) == f"Held least: sepal length (cm), {100 * held.min():.1f} % of its variance"
    )
    assert set(iris.feature_names) <= set(texts(picture(chart)))


@pytest.mark.parametrize(("width", "height"), [(400, 400), (700, 300), (300, 500)])
def test_the_circle_is_round_and_inside_whatever_the_size(width, height):
    chart = show.correlation_circle([[1.0, 0.0]], width=width, height=height)
    encoding = chart.to_dict()["layer"][0]["encoding"]
    expressions = [encoding[axis]["scale"]["domain"][1]["expr"] for axis in "xy"]
    reaches = [eval(text, {"max": max}) for text in expressions]
    assert min(reaches) >= 1.0
    assert reaches[0] / width == pytest.approx(reaches[1] / height)


def test_names_keep_to_their_points_in_a_figure_of_any_width(iris):
    """In a figure that fills its place the browser sets them, by pixels, and inside of it."""
    model = PCA(2).fit(iris.data)
    Z, V = model.transform(iris.data), model.components_.T
    chart = show.biplot(Z, V, column_names=iris.feature_names, width="container")
    (layer,) = (one for one in chart.to_dict()["layer"] if "text" in one["encoding"])
    (text,) = (one["calculate"] for one in layer["transform"] if one["as"] == "x")
    low, high = layer["encoding"]["x"]["scale"]["domain"]
    known = {"max": max, "min": min}
    for row in written(chart):
        expression = text.replace("datum.a", str(row["a"])).replace("datum.d", str(row["d"]))
        expression = expression.replace("datum.n", str(row["n"]))
        for width in (240, 480, 1200):
            x = eval(expression, {**known, "width": width})
            left, tip = ((one - low) / (high - low) * width for one in (x, row["a"]))
            assert -1e-6 <= left <= width - row["n"] + 1e-6
            if 1.0 < left < width - row["n"] - 1.0:
                assert left - tip == pytest.approx(row["d"], abs=0.5)


# A map


def test_a_map_by_numbers_shows_their_means():
    Z = np.array([[0.0, 0.0], [0.0, 0.0], [9.0, 9.0]])
    chart = show.embedding(Z, values=[1.0, 3.0, 8.0], value_name="age")
    rows = table(chart, *"ijnc")
    assert sorted((row["n"], row["c"]) for row in rows) == [(1, 8.0), (2, 2.0)]
    assert "age" in texts(picture(chart)) and "mean" in notes(chart)


def test_outliers_of_a_map_have_their_names():
    Z = np.concatenate([rng.normal(size=(500, 2)), [[9.0, 9.0], [-9.0, 8.0]]])
    names = ["", *(f"row {k}" for k in range(499)), "far", "away"]
    chart = show.embedding(Z, row_names=names)
    said = [row["s"] for row in written(chart)]
    assert {"far", "away"} <= set(said) and len(said) <= 40 and "" not in said
    assert f"Names of {len(said)} of 501 rows" in notes(chart)
    (far,) = (row for row in written(chart) if row["s"] == "far")
    assert abs(far["b"] - 9.0) < 0.01 and abs(far["a"] - 9.0) < 0.01


# Three dimensions


def projection(box, steps, turn, tilt):
    """What the browser computes of the expressions."""
    known = {"PI": np.pi, "sin": np.sin, "cos": np.cos, "turn": turn, "tilt": tilt}
    for one in sliders(turn, tilt):
        text = one.param.to_dict()
        if "expr" in text:
            known[text["name"]] = eval(text["expr"], known)
    found = projected(box)
    names = dict(zip("ijk", steps.T, strict=True))
    return np.stack(
        [
            eval(
                found[f].replace("datum.i", "i").replace("datum.j", "j").replace("datum.k", "k"),
                {**known, **names},
            )
            for f in "xyz"
        ],
        axis=1,
    )


@pytest.mark.parametrize(("turn", "tilt"), [(0.0, 0.0), (30.0, 20.0), (200.0, -75.0)])
def test_the_box_turns_as_a_rigid_body(turn, tilt):
    Z = rng.normal(size=(40, 3)) * [3.0, 1.0, 2.0]
    box = RotationBox.around(Z, False)
    seen = projection(box, box.steps(Z), turn, tilt)
    middle = 0.5 * (Z.min(axis=0) + Z.max(axis=0))
    around = Rotation.from_euler("z", turn, degrees=True)
    tilted = Rotation.from_euler("x", tilt, degrees=True)
    away = tilted.apply(around.apply((Z - middle) / np.ptp(Z, axis=0).max()))
    # (right, up, away) are (x, z, y) after the turns.
    assert np.allclose(seen, away[:, [0, 2, 1]], atol=0.004)
    assert np.abs(seen).max() <= box.radius + 1e-9


def test_a_map_in_three_dimensions_has_two_sliders(iris):
    chart = show.embedding_3d(PCA(3).fit_transform(iris.data), iris.target, turn=120.0)
    bound = {p["name"]: p for p in chart.to_dict()["params"] if "bind" in p}
    assert set(bound) == {"turn", "tilt"} and bound["turn"]["value"] == 120.0
    assert all(p["bind"]["input"] == "range" for p in bound.values())
    assert len(table(chart, *"ijknc")) == 150
    assert picture(chart) != picture(chart, turn=10.0)
    assert picture(chart) != picture(chart, tilt=80.0)
    assert vegalite_to_vega((chart | chart.properties(title="b")).to_dict())


def test_many_rows_are_counted_in_cells():
    Z = rng.normal(size=(9000, 3))
    rows = table(show.embedding_3d(Z, Z[:, 0] > 0.0), *"ijknc")
    assert 200 < len(rows) <= 700 and sum(column(rows, "n")) == 9000
    assert sum(row["n"] for row in rows if row["c"] == 1) == (Z[:, 0] > 0.0).sum()


# Graphs


def test_the_swiss_roll_and_its_graph():
    X, t = make_swiss_roll(300, random_state=1)
    graph = kneighbors_graph(X, 6)
    chart = show.neighbour_graph(X, graph, values=t)
    joined = (graph + graph.T).toarray() > 0
    edges = table(chart, "a", "b")
    assert len(edges) == joined.sum() / 2
    assert all(joined[int(row["a"]), int(row["b"])] for row in edges)
    assert title(chart) == f"300 rows and {len(edges):,} edges: connected"
    pairs = np.stack(np.nonzero(joined), axis=1)
    assert title(show.neighbour_graph(X, pairs)) == title(chart)


def test_components_are_said_and_not_joined():
    X = np.concatenate([rng.normal(size=(900, 2)), rng.normal(size=(400, 2)), [[0.0, 0.0]]])
    groups = np.repeat([0, 1, 2], [900, 400, 1])
    X[:, 0] += 0.5 * groups
    parts = [kneighbors_graph(X[groups == k], 4).tocoo() for k in (0, 1)]
    pairs = np.concatenate(
        [np.stack([p.row, p.col], axis=1) + k for p, k in zip(parts, (0, 900), strict=True)]
    )
    chart = show.neighbour_graph(X, pairs, groups)
    assert "components" in title(chart) and "of 900" in title(chart)
    rows, edges = table(chart, *"ijnc"), table(chart, "a", "b")
    assert len(rows) <= 400 and sum(column(rows, "n")) == 1301
    classes = column(rows, "c")
    assert all(classes[int(row["a"])] == classes[int(row["b"])] for row in edges)
    assert classes.count(0.0) > 200 and classes.count(1.0) > 80 and classes.count(2.0) == 1


def test_quality_against_dimensions():
    chart = show.map_quality(
        [1, 2, 4], residual_variance=[0.5, 0.1, 0.02], continuity=[0.7, 0.9, 1]
    )
    assert title(chart) == "4 dimensions: continuity 1, residual variance 0.02"
    assert {"continuity", "residual variance"} <= set(texts(picture(chart)))
    lines = [rows for rows in tables(chart) if set(rows[0]) == {"k", "v"}]
    assert {tuple(column(rows, "v")) for rows in lines} == {(0.5, 0.1, 0.02), (0.7, 0.9, 1.0)}


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda: show.biplot([[0.0]], [[1.0, 0.0]]), "points"),
        (lambda: show.biplot([[0.0, 0.0]], [[1.0]]), "variables"),
        (lambda: show.biplot([[0.0, 0.0]], [[1.0, 0.0]], shares=[0.9, 0.8]), "shares"),
        (lambda: show.biplot([[0.0, 0.0]], [[1.0, 0.0]], column_names="ab"), "2|names"),
        (lambda: show.correlation_circle([[1.0, 1.0]], ["age"]), "'age'.*sqrt"),
        (lambda: show.correlation_circle([[np.nan, 0.0]]), "finite"),
        (lambda: show.embedding([[0.0, 0.0]], [0], values=[1.0]), "one of both"),
        (lambda: show.embedding([[0.0, 0.0]], values=[np.nan]), "values"),
        (lambda: show.embedding([[0.0, 0.0]], [0, 1]), "codes"),
        (lambda: show.embedding([[0.0, 0.0]], row_names=[]), "row_names"),
        (lambda: show.embedding_3d([[0.0, 0.0]]), r"\(n, 3\)"),
        (lambda: show.embedding_3d([[0.0, 0.0, np.inf]]), "finite"),
        (lambda: show.embedding_3d([[0.0, 0.0, 1.0]], tilt=100.0), "tilt"),
        (lambda: show.neighbour_graph([[0.0, 0.0]], [[0, 1]]), "row 1"),
        (lambda: show.neighbour_graph([[0.0, 0.0]], [[0.0, 0.5]]), "pairs"),
        (lambda: show.neighbour_graph(np.eye(2), kneighbors_graph(np.eye(3), 1)), "shape"),
        (lambda: show.map_quality([1, 2]), "give"),
        (lambda: show.map_quality([2, 1], continuity=[1.0, 1.0]), "rise"),
        (lambda: show.map_quality([1], continuity=[2.0]), "continuity"),
        (lambda: show.map_quality([1], continuity=[1.0], chosen=3), "chosen"),
    ],
)
def test_maps_that_are_none_are_said(draw, words):
    with pytest.raises(ValueError, match=words):
        draw()


def test_of_more_components_than_circles_the_largest_are_drawn():
    Z = rng.normal(size=(1000, 3))
    chart = show.neighbour_graph(Z, [[0, 1]])
    assert title(chart) == "1,000 rows and 1 edge: 999 components of 2, 1, 1, … rows"
    rows = table(chart, *"ijknc")
    assert len(rows) == 400 and "599 rows of small components" in notes(chart)
