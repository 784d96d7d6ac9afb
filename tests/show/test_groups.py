"""Figures of clusters, mixtures and densities: what they say is what they were given."""

from __future__ import annotations

import numpy as np
import pytest
from show.reading import column, notes, picture, table, tables, texts, title
from sklearn.datasets import load_iris

from fenchel import BisectingKMeans, KMeans, choose_k, quantize_density, show, voronoi_cells
from fenchel.show.structure.polygons import sides_once

SQUARE = (0.0, 1.0, 0.0, 1.0)
rng = np.random.default_rng(8)


@pytest.fixture(scope="module")
def iris():
    return load_iris()


def steps_of(X, start, counts):
    fits = [KMeans(len(start), init=start, max_iter=t, tol=0.0).fit(X) for t in counts]
    return [start, *(fit.cluster_centers_ for fit in fits)], fits


# Lloyd's algorithm


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_iterations_show_rows_centres_and_cells(iris):
    X = iris.data[:, [2, 3]]
    path, fits = steps_of(X, X[[0, 1, 99]], (1, 2, 6))
    box = (0.0, 8.0, -1.0, 4.0)
    cells = [voronoi_cells(C, box) for C in path]
    chart = show.lloyd_iterations(X, path, cells, steps=[0, 1, 2, 6])
    rows = table(chart, *"pkcdoxyn")
    assert {row["p"] for row in rows} == {0, 1, 2, 6}
    for step, C, shown in zip((0, 1, 2, 6), path, cells, strict=True):
        here = [row for row in rows if row["p"] == step]
        assert sum(row["n"] for row in here) == 150
        centres = [[row["x"], row["y"]] for row in here if row["k"] == 2]
        assert np.allclose(np.array(centres) * [8, 5] + [0, -1], C, atol=1e-3)
        corners = [row for row in here if row["k"] == 0]
        assert len(corners) == sum(map(len, shown))
    first = ((X[:, None] - path[0]) ** 2).sum(axis=2).min(axis=1).sum()
    share = 100.0 * (1.0 - fits[-1].inertia_ / first)
    assert title(chart) == f"6 steps of Lloyd's algorithm take {share:.0f} % off the scatter"
    last = [row for row in rows if row["p"] == 6 and row["k"] == 1]
    sizes = [sum(row["n"] for row in last if row["c"] == c) for c in range(3)]
    assert sizes == np.bincount(fits[-1].labels_).tolist()
    assert {"start", "step 1", "step 6"} <= set(texts(picture(chart)))


def test_iterations_by_class_have_a_legend(iris):
    X = iris.data[:, [2, 3]]
    chart = show.lloyd_iterations(X, [X[:3]], codes=iris.target, labels=iris.target_names)
    assert {"setosa", "versicolor", "virginica"} <= set(texts(picture(chart)))
    rows = table(chart, *"pkcdoxyn")
    assert [sum(r["n"] for r in rows if r["k"] == 1 and r["c"] == c) for c in range(3)] == [50] * 3
    assert "class" in notes(chart)


def test_of_many_iterations_the_first_and_the_last_are_drawn():
    X = rng.normal(size=(40, 2))
    rows = table(show.lloyd_iterations(X, [X[:2] + 0.1 * t for t in range(30)]), *"pkcdoxyn")
    assert sorted({row["p"] for row in rows}) == [0, 1, 2, 3, 4, 29]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([[0.0]], [[[0.0, 0.0]]]), "points"),
        (([[np.nan, 0.0]], [[[0.0, 0.0]]]), "points"),
        (([[0.0, 0.0]], []), "centers"),
        (([[0.0, 0.0]], [[0.0, 0.0]]), "centers"),
        (([[0.0, 0.0]], [[[np.inf, 0.0]]]), "finite"),
        (([[0.0, 0.0]], [[[0.0, 0.0]]], []), "one list of polygons"),
        (([[0.0, 0.0]], [[[0.0, 0.0]]], [[]]), "one polygon for each"),
    ],
)
def test_iterations_that_do_not_fit_together_are_said(arguments, words):
    with pytest.raises(ValueError, match=words):
        show.lloyd_iterations(*arguments)
    with pytest.raises(ValueError, match="steps"):
        show.lloyd_iterations([[0.0, 0.0]], [[[0.0, 0.0]]] * 2, steps=[1, 1])
    with pytest.raises(ValueError, match="codes"):
        show.lloyd_iterations([[0.0, 0.0]], [[[0.0, 0.0]]], codes=[1, 2])


def test_classes_within_clusters(iris):
    labels = KMeans(3).fit(iris.data).labels_
    chart = show.cluster_classes(labels, iris.target, class_labels=iris.target_names)
    counts = np.zeros((3, 3))
    np.add.at(counts, (iris.target, labels), 1)
    rows = table(chart, "k", "l", "y", "n")
    for row in rows:
        kind, cluster = int(row["k"]), int(row["l"]) - 1
        assert row["n"] == counts[kind, cluster]
        assert row["y"] == pytest.approx(counts[kind, cluster] / counts[:, cluster].sum(), abs=1e-3)
    pure = counts.max(axis=0).sum() / 150
    assert title(chart).startswith(f"{100 * pure:.0f} %")
    with pytest.raises(ValueError, match="one label each"):
        show.cluster_classes([0, 1], [0])


# Densities


def test_sides_of_cells_are_drawn_once():
    cells = voronoi_cells(rng.random((60, 2)), SQUARE)
    lines = sides_once(cells)
    corners = sum(map(len, cells))
    edge = [line for line in lines if (line[::2] % 1 == 0).all() or (line[1::2] % 1 == 0).all()]
    outer = [line for line in edge if line[0] == line[2] or line[1] == line[3]]
    assert 2 * len(lines) - len(outer) == corners
    whole = np.hypot(*(lines[:, :2] - lines[:, 2:]).T).sum()
    around = sum(np.hypot(*(cell - np.roll(cell, 1, axis=0)).T).sum() for cell in cells)
    assert 2.0 * whole - 4.0 == pytest.approx(around)


def test_cells_over_their_density():
    image = np.zeros((20, 40))
    image[5:, :10] = 2.0
    found = quantize_density(image, 6, (0, 4, 0, 2))
    chart = show.density_cells(found.centers, found.cells, image, history=found.history)
    (ground,) = tables_with(chart, "iejts")
    assert ground == [{"i": 0, "e": 8, "j": 5, "t": 20, "s": 12}]  # 40 columns drawn as 32
    points = table(chart, "x", "y")
    assert np.allclose(column(points, "x"), found.centers[:, 0], atol=1e-3)
    assert len(table(chart, *"xyuv")) == len(sides_once(found.cells))
    off = 100.0 * (1.0 - found.energy / found.history[0].value)
    assert title(chart) == f"6 cells: {found.steps} steps take {off:.0f} % off the energy"
    plain = show.density_cells(found.centers, found.cells)
    assert title(plain) == "6 cells of a density" and "Grey" not in notes(plain)


def tables_with(chart, fields):
    return [rows for rows in tables(chart) if rows and set(rows[0]) == set(fields)]


def test_many_cells_are_points():
    C = rng.random((3000, 2))
    chart = show.density_cells(C, voronoi_cells(C, SQUARE))
    assert len(table(chart, "x", "y")) == 1000
    assert "1,000 of 3,000" in notes(chart) and "Lines" not in notes(chart)


@pytest.mark.parametrize(
    ("density", "words"),
    [(-np.ones((2, 2)), "not negative"), (np.ones(3), "image"), (lambda x, y: np.nan, "finite")],
)
def test_a_density_that_is_none_is_said(density, words):
    cells = voronoi_cells([[0.5, 0.5]], SQUARE)
    with pytest.raises(ValueError, match=words):
        show.density_cells([[0.5, 0.5]], cells, density)
    with pytest.raises(ValueError, match="one polygon"):
        show.density_cells([[0.5, 0.5]], [], np.ones((2, 2)))
    with pytest.raises(ValueError, match="nothing to draw"):
        show.density_cells([[0.5, 0.5]], [np.zeros((0, 2))])
    with pytest.raises(ValueError, match="shape"):
        show.density_cells([0.5], cells)


# Mixtures


def test_ellipses_hold_the_share_of_their_component():
    S = np.array([[2.0, 1.2], [1.2, 1.0]])
    mean = np.array([3.0, -1.0])
    rows = rng.multivariate_normal(mean, S, 20_000)
    chart = show.mixture_ellipses(rows, [1.0], [mean], [S], levels=[0.5, 0.9])
    curve = table(chart, *"cdixy")
    for number, level in enumerate((0.5, 0.9)):
        corners = np.array([[r["x"], r["y"]] for r in curve if r["d"] == number])
        away = np.einsum("ij,ij->i", corners - mean, np.linalg.solve(S, (corners - mean).T).T)
        radius = -2.0 * np.log(1.0 - level)
        assert np.allclose(away, radius, rtol=0.02)
        inside = np.einsum("ij,ij->i", rows - mean, np.linalg.solve(S, (rows - mean).T).T) < radius
        assert inside.mean() == pytest.approx(level, abs=0.01)
    assert title(chart) == "One Gaussian component" and "50 % and 90 %" in notes(chart)


def test_rows_have_the_mixed_colours_of_their_components():
    rows = [[-5.0, 0.0], [0.0, 0.0], [5.0, 0.0]]
    means = [[-5.0, 0.0], [5.0, 0.0]]
    chart = show.mixture_ellipses(rows, [0.5, 0.5], means, [np.eye(2)] * 2)
    (layer,) = (one for one in chart.to_dict()["layer"] if "fill" in one["encoding"])
    shades = layer["encoding"]["fill"]["scale"]["range"]
    drawn = sorted(table(chart, "i", "j", "n", "c"), key=lambda row: row["i"])
    left, middle, right = (
        np.array([int(shades[int(row["c"])][i : i + 2], 16) for i in (1, 3, 5)]) for row in drawn
    )
    between = (np.minimum(left, right) <= middle) & (middle <= np.maximum(left, right))
    assert between.all() and (middle != left).any() and (middle != right).any()
    assert title(chart) == "67 % of the rows have a responsibility of 0.9 or more"
    given = show.mixture_ellipses(
        rows, [0.5, 0.5], means, [np.eye(2)] * 2, responsibilities=np.eye(2)[[0, 0, 1]]
    )
    assert title(given).startswith("100 %")


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_covariances_of_every_shape(kind):
    S = np.diag([4.0, 1.0])
    whole = {"full": [S, S], "tied": S, "diag": [[4.0, 1.0]] * 2, "spherical": [4.0, 4.0]}[kind]
    chart = show.mixture_ellipses(
        [[0.0, 0.0]], [0.5, 0.5], [[0, 0], [9, 9]], whole, covariance_type=kind, levels=[0.5]
    )
    x = [row["x"] for row in table(chart, *"cdixy") if row["d"] == 0]
    assert max(x) == pytest.approx(2.0 * (2.0 * np.log(2.0)) ** 0.5, rel=1e-2)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"covariances": np.eye(2)}, "covariances of"),
        ({"covariances": [-np.eye(2)] * 2}, "positive definite"),
        ({"covariances": [np.full((2, 2), np.nan)] * 2}, "finite"),
        ({"weights": [0.5]}, "components"),
        ({"levels": [1.0]}, "levels"),
        ({"levels": []}, "levels"),
        ({"points": [0.0, 1.0]}, "points"),
        ({"responsibilities": [[1.0]]}, "responsibilities"),
        ({"covariance_type": "round"}, "covariance_type"),
        ({"labels": ["one"]}, "2 labels|need 2"),
    ],
)
def test_a_mixture_that_is_none_is_said(given, words):
    usual = {
        "points": [[0.0, 0.0]],
        "weights": [0.5, 0.5],
        "means": [[0.0, 0.0], [1.0, 1.0]],
        "covariances": [np.eye(2)] * 2,
    }
    with pytest.raises(ValueError, match=words):
        show.mixture_ellipses(**(usual | given))


# Trees and choices


def test_a_dendrogram_is_the_tree(iris):
    model = BisectingKMeans(6).fit(iris.data)
    tree = model.tree_
    chart = show.dendrogram(tree.divided, tree.inertia, tree.mass, cut=3)
    rows = table(chart, *"abcdk")
    levels = np.sqrt(tree.levels() / tree.levels()[0])
    bars = [row for row in rows if row["b"] == row["d"]]
    assert np.allclose(sorted(column(bars, "b")), np.sort(levels[:5]), atol=1e-3)
    leaves = [row for row in rows if row["d"] == min(column(rows, "d"))]
    assert sorted(column(leaves, "c")) == [1, 2, 3, 4, 5, 6]
    # Below the cut each branch has the colour of its cluster among three.
    by_place = {int(row["c"]): int(row["k"]) for row in leaves}
    assert [by_place[place] for place in range(1, 7)] == (tree.ancestors(3) + 1).tolist()
    (cut,) = [rows for rows in tables(chart) if list(rows[0]) == ["y"]]
    assert levels[2] < cut[0]["y"] < levels[1]
    share = 100.0 * tree.levels() / tree.levels()[0]
    assert title(chart) == (
        f"3 clusters leave {share[2]:.0f} % of the scatter, 4 leave {share[3]:.0f} %"
    )
    said = texts(picture(chart))
    assert sum(text.endswith(" %") for text in said) >= 6


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"divided": [1, 0]}, "each step"),
        ({"divided": [0, 0]}, "each step"),
        ({"divided": [0.0, 1.0]}, "node numbers"),
        ({"inertia": [1.0]}, "need the scatter"),
        ({"inertia": [1.0, -1.0, 0.0, 0.0, 0.0]}, "not negative"),
        ({"mass": [1.0]}, "mass"),
        ({"cut": 4}, "between 1 and"),
    ],
)
def test_a_tree_that_is_none_is_said(given, words):
    usual = {"divided": [0, 2], "inertia": [9.0, 3.0, 4.0, 1.0, 1.0]}
    with pytest.raises(ValueError, match=words):
        show.dendrogram(**(usual | given))


def test_criteria_stand_side_by_side(iris):
    found = choose_k(iris.data, range(1, 6), "bic", also=("silhouette", "penalty"))
    chart = show.choice_of_k(found)
    rows = table(chart, *"pkyvabc")
    for place, name in zip((2, 1, 0), ("bic", "silhouette", "penalty"), strict=True):
        here = [row for row in rows if row["p"] == place]
        values = found.values[name][np.isfinite(found.values[name])]
        assert np.allclose(column(here, "v"), values, rtol=1e-4)
        slope = np.polyfit(values, column(here, "y"), 1)
        assert slope[0] > 0.0 and np.allclose(
            np.polyval(slope, values), column(here, "y"), atol=1e-3
        )
        (chosen,) = (row["k"] for row in here if row["c"] == 1)
        assert chosen == found.choices[name]
    assert found.choices["bic"] == found.k and title(chart) == found.caption().rstrip(".")
    said = texts(picture(chart))
    assert f"BIC: {found.k} (less is better)" in said
    assert f"Silhouette: {found.choices['silhouette']} (more is better)" in said
    assert "first one decides" in notes(chart)
    alone = show.choice_of_k(choose_k(iris.data, (1,), "bic", also=("silhouette",)))
    assert "Silhouette: none (more is better)" in texts(picture(alone))
