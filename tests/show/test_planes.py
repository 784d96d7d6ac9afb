"""Rules and Gaussian classes in a plane: lines where rules change, ellipses with their share."""

from __future__ import annotations

import numpy as np
import pytest
from show.reading import notes, parts, tables, texts, title
from show.reading import picture as drawn

from fenchel import GaussianClasses, QuadraticDiscriminantAnalysis, show
from fenchel.show.marching_squares import boundaries

rng = np.random.default_rng(3)
POINTS = rng.normal(size=(500, 2))
SIDE = np.linspace(-2.0, 2.0, 41)


def circle(P):
    return (np.hypot(P[:, 0], P[:, 1]) < 1.3).astype(int)


def sectors(P):
    return np.floor(3.0 * (np.arctan2(P[:, 1], P[:, 0]) / (2.0 * np.pi) % 1.0)).astype(int)


def saddle(P):
    return (P[:, 0] * P[:, 1] > 0.003).astype(int)


def bands(P):
    return np.array(["a", "b", "c"])[np.digitize(P[:, 0] + 0.3 * P[:, 1], [-0.7, 0.61])]


@pytest.mark.parametrize("rule", [circle, sectors, saddle, bands], ids=lambda r: r.__name__)
def test_lines_part_the_classes(rule):
    """A step to either side of a line finds two classes; every change of the rule has a line."""
    lines = boundaries(rule, SIDE, SIDE)
    places = np.concatenate(lines)
    step = 0.02 * np.stack([np.cos(np.arange(8.0)), np.sin(np.arange(8.0))], axis=1)
    around = np.array([rule(places + one) for one in step])
    mixed = (around != around[0]).any(axis=0)
    assert mixed.mean() > 0.98  # all but where three classes meet in a cell
    a = rng.uniform(-1.99, 1.99, size=(4000, 2))
    b = np.clip(a + rng.normal(scale=0.3, size=a.shape), -1.99, 1.99)
    for start, end in zip(a, b, strict=True):
        if (rule(start[None]) != rule(end[None])).all():
            way = start + np.linspace(0.0, 1.0, 40)[:, None] * (end - start)
            gap = np.linalg.norm(way[:, None] - places, axis=2).min()
            assert gap < 0.11  # vertices are a cell apart


def test_a_ring_is_closed_and_a_line_is_one():
    (ring,) = boundaries(circle, SIDE, SIDE)
    assert np.array_equal(ring[0], ring[-1])
    assert np.abs(np.hypot(*ring.T) - 1.3).max() < 1e-3
    assert len(boundaries(bands, SIDE, SIDE)) == 2
    assert len(boundaries(sectors, SIDE, SIDE)) == 3  # that meet in one place
    assert boundaries(lambda P: np.zeros(len(P)), SIDE, SIDE) == []
    # The middle of a saddle says which corners are one.
    rising, falling = (
        boundaries(lambda P, s=s: (P[:, 0] * P[:, 1] > s).astype(int), SIDE + 0.05, SIDE + 0.05)
        for s in (0.0005, -0.0005)
    )
    assert len(rising) == len(falling) == 2


def test_the_ground_of_a_rule_ends_where_the_rule_does():
    chart = show.decision_boundary(SIDE, SIDE, bands, POINTS, bands(POINTS), labels=None)
    assert title(chart) == "0 % of the rows lie in a region of another class"
    assert {"a", "b", "c"} <= set(texts(drawn(chart)))
    grounds = parts(chart, "i", "e", "j", "t")
    assert len(grounds) == 3
    low, width = SIDE[0] - 0.05, 0.1
    for code, rows in enumerate(grounds):
        for row in rows:
            y = SIDE[int(row["j"]) : int(row["t"])]
            begin, end = low + width * row["i"] + 0.003, low + width * row["e"] - 0.003
            inside = np.linspace(begin, end, 5)
            for height in y:
                said = bands(np.stack([inside, np.full(5, height)], axis=1))
                assert (said == "abc"[code]).all()
    wrong = np.where(np.arange(500) < 50, "a", bands(POINTS))
    share = (wrong != bands(POINTS)).mean()
    assert f"{100 * share:.1f} %" in title(show.decision_boundary(None, None, bands, POINTS, wrong))


def test_rules_are_compared_by_their_errors():
    truth = GaussianClasses([[0.0, 0.0], [2.0, 0.0]], [np.eye(2), [[0.3, 0.0], [0.0, 2.0]]])
    X, y = truth.sample(1000, random_state=0)
    rules = {"best": lambda P: 1 * (truth.eta(P) > 0.5), "other": lambda P: np.ones(len(P), int)}
    chart = show.boundary_lines(rules, X, y, labels=["no", "yes"])
    wrong = 100.0 * np.mean(rules["best"](X) != y)
    assert title(chart).startswith(f"Errors on these rows: best {wrong:.1f} %")
    lines = parts(chart, "k", "i", "x", "y")
    assert len(lines) == 1  # the other has no boundary
    places = np.array([[row["x"], row["y"]] for row in lines[0]])
    assert np.abs(truth.eta(places) - 0.5).max() < 0.03
    assert {"best", "other", "no", "yes"} <= set(texts(drawn(chart)))


def test_labels_of_rules_need_not_be_codes():
    words = np.array(["left", "right"])

    def rule(P):
        return words[(P[:, 0] > 0.0).astype(int)]

    for chart in (
        show.decision_boundary(None, None, rule, POINTS, rule(POINTS)),
        show.boundary_lines({"sign": rule}, POINTS, rule(POINTS)),
    ):
        assert {"left", "right"} <= set(texts(drawn(chart)))
        assert "0 %" in title(chart)


def ellipse_corners(chart, k, size):
    """The corners of an ellipse as the browser computes them."""
    (row,) = [row for row in tables(chart)[-1] if row["k"] == k]
    t = np.linspace(0.0, 2.0 * np.pi, 200)
    p, q = size * np.cos(t), size * np.sin(t)
    return np.stack(
        [row["u"] + row["a"] * p + row["b"] * q, row["v"] + row["c"] * p + row["d"] * q], axis=1
    )


def test_ellipses_hold_the_shares_they_say():
    means, covariance = np.array([[0.0, 1.0], [4.0, 2.0]]), [[[2.0, 1.2], [1.2, 1.0]], np.eye(2)]
    codes = rng.integers(2, size=20_000)
    X = np.array([rng.multivariate_normal(means[k], np.array(covariance[k])) for k in codes[:4000]])
    codes = codes[:4000]
    chart = show.class_ellipses(X, codes, means, covariance, levels=[0.9, 0.3])
    share = float(title(chart).split(" %")[0])
    assert share == pytest.approx(90.0, abs=2.0) and "90 % ellipse" in title(chart)
    assert "30 % and 90 %" in notes(chart)
    for k, sigma in enumerate(covariance):
        size = np.sqrt(-2.0 * np.log(0.1))
        away = ellipse_corners(chart, k, size) - means[k]
        reached = (away @ np.linalg.inv(sigma) * away).sum(axis=1)
        np.testing.assert_allclose(reached, size**2, rtol=0.02)
    assert drawn(chart).count("stroke-dasharray") >= 2


def test_ellipses_of_a_fitted_model_and_of_classes_without_rows():
    X, y = GaussianClasses([[0.0, 0.0], [3.0, 1.0]]).sample(200, random_state=1)
    model = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    chart = show.class_ellipses(X, y, model.means_, model.covariance_, labels=["no", "yes"])
    assert {"no", "yes"} <= set(texts(drawn(chart)))
    only = show.class_ellipses(X[y == 0], y[y == 0], model.means_, np.eye(2))
    assert "2" in texts(drawn(only))
    flat = show.class_ellipses([[0.0, 0.0], [5.0, 1e-3]], [0, 0], [[0.0, 0.0]], np.diag([4.0, 0.0]))
    assert title(flat).startswith("50 % of the rows")


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: show.boundary_lines({}, POINTS, circle(POINTS)), "one to 4 functions"),
        (lambda: show.boundary_lines({"a": lambda P: P}, POINTS, circle(POINTS)), "one class for"),
        (lambda: show.boundary_lines({"a": circle}, POINTS[:3], [1]), r"shape \(n, 2\)"),
        (
            lambda: show.decision_boundary(None, None, lambda P: 1, POINTS, circle(POINTS)),
            "one cla",
        ),
        (lambda: show.class_ellipses(POINTS, circle(POINTS), [[0.0, 0.0]], np.eye(2)), "2 classes"),
        (lambda: show.class_ellipses(POINTS, sectors(POINTS), np.eye(3)[:, :2], np.eye(3)), "A'ΣA"),
        (
            lambda: show.class_ellipses(POINTS, circle(POINTS), np.eye(2), -np.eye(2)),
            "class 0 is not positive",
        ),
        (
            lambda: show.class_ellipses(POINTS, circle(POINTS), np.eye(2), np.eye(2), levels=[1.0]),
            "levels must lie between",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()
