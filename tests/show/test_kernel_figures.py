"""Figures of kernels: what they say is what they were given."""

from __future__ import annotations

import numpy as np
import pytest
from show.reading import column, notes, parts, picture, table, tables, texts, title
from sklearn.datasets import make_moons

from fenchel import SVC, KernelRidge, NadarayaWatson, kernels, show
from fenchel.show.formatting import percent

rng = np.random.default_rng(6)
X, y = make_moons(200, noise=0.25, random_state=0)


@pytest.fixture(scope="module")
def machine():
    return SVC(C=2.0, gamma=1.0, tol=1e-5).fit(X, y)


# Curves


def test_four_bandwidths_side_by_side():
    x = rng.uniform(0.0, 6.0, 60)
    t = np.sin(x) + 0.2 * rng.normal(size=60)
    fits = {
        s: KernelRidge(alpha=0.1, kernel="rbf", gamma=0.5 / s**2).fit(x[:, None], t).predict
        for s in (0.1, 0.5, 1.0, 5.0)
    }
    chart = show.bandwidth_curves(x, t, fits, truth=np.sin)
    rows = [row for row in table(chart, *"pgxy") if row["g"] is not None]
    for p, fit in enumerate(fits.values()):
        here = [row for row in rows if row["p"] == p]
        places = np.array(column(here, "x"))
        assert np.allclose(column(here, "y"), fit(places[:, None]), atol=0.02)
        # The picture's line is nowhere farther from the curve than a part of a pixel.
        fine = np.linspace(x.min(), x.max(), 300)
        line = np.interp(fine, places, column(here, "y"))
        assert np.abs(line - fit(fine[:, None])).max() < 0.06
    assert len(parts(chart, "i", "j")[0]) == 60  # the rows travel once for all panels
    said = texts(picture(chart))
    assert {f"bandwidth {s}" for s in ("0.1", "0.5", "1", "5")} <= set(said)
    assert said.count("2") == 2  # on the axes of the lower panels: no panel has a number above it
    assert title(chart).startswith("Bandwidth 1 is nearest to the truth")


def test_curves_have_gaps_and_errors():
    x = np.append(rng.uniform(0.0, 1.0, 20), rng.uniform(4.0, 5.0, 20))
    models = {h: NadarayaWatson(bandwidth=h).fit(x[:, None], x) for h in (0.05, 1.0)}
    curves = {h: np.where(np.abs(np.linspace(0, 5, 100) - 2.5) < 1.4, np.nan, 1.0) for h in models}
    chart = show.bandwidth_curves(
        x, x, curves, places=np.linspace(0, 5, 100), errors=[0.3, 0.2], parameter="width"
    )
    assert {row["g"] for row in table(chart, *"pgxy")} == {None, 1.0, 2.0}
    assert title(chart) == "Width 1 has the least leave-one-out error, 0.2"
    assert {"width 0.05 (0.3)", "width 1 (0.2)"} <= set(texts(picture(chart)))


def test_a_curve_that_overshoots_does_not_flatten_the_others():
    x = np.linspace(0.0, 1.0, 50)
    chart = show.bandwidth_curves(x, x, {1: lambda p: 1e6 * p[:, 0], 2: lambda p: p[:, 0]})
    (scale,) = {
        tuple(layer["encoding"]["y"]["scale"]["domain"])
        for layer in chart.to_dict()["spec"]["layer"]
        if "scale" in layer["encoding"].get("y", {})
    }
    assert scale[1] < 2.0


# Margins


def test_a_street_shows_weights_and_slacks(machine):
    chart = show.svm_street(machine.decision_function, X, y, machine.support_, machine.dual_coef_)
    rings = table(chart, *"xyascw")
    alpha = np.abs(machine.dual_coef_[0])
    assert column(rings, "a") == pytest.approx(np.sort(alpha)[::-1].tolist(), rel=1e-2)
    slack = np.maximum(1.0 - np.where(y == 1, 1.0, -1.0) * machine.decision_function(X), 0.0)
    for ring in rings:
        k = np.argmin(np.hypot(X[:, 0] - ring["x"], X[:, 1] - ring["y"]))
        assert k in machine.support_ and ring["c"] == y[k]
        assert ring["s"] == pytest.approx(slack[k] if slack[k] > 2e-3 else 0.0, rel=1e-2)
    have = int((slack > 2e-3).sum())
    assert title(chart) == (
        f"{len(alpha)} support vectors of 200 rows: {have} have slack, {slack.sum():.3g} in all"
    )


def test_bars_end_at_the_side_of_the_street(machine):
    chart = show.svm_street(machine.decision_function, X, y, machine.support_, machine.dual_coef_)
    bars = table(chart, *"xyuvs")
    assert 20 < len(bars) <= 60
    to = np.array([[row["u"], row["v"]] for row in bars])
    assert np.allclose(np.abs(machine.decision_function(to)), 1.0, atol=0.02)
    start = np.array([[row["x"], row["y"]] for row in bars])
    assert (np.abs(machine.decision_function(start) - machine.decision_function(to)) > 0.0).all()


def test_of_a_linear_machine_bars_are_slacks_over_the_norm():
    model = SVC(kernel="linear", tol=1e-6).fit(X, y)
    chart = show.svm_street(model.decision_function, X, y, model.support_, model.dual_coef_)
    size = np.linalg.norm(model.coef_)
    for row in table(chart, *"xyuvs"):
        length = np.hypot(row["x"] - row["u"], row["y"] - row["v"])
        assert length == pytest.approx(row["s"] / size, rel=0.02, abs=0.01)


def test_lines_of_the_street_are_level_lines(machine):
    chart = show.svm_street(machine.decision_function, X, y, machine.support_, machine.dual_coef_)
    levels = [
        machine.decision_function(np.array([[row["x"], row["y"]] for row in rows]))
        for rows in parts(chart, *"kixy")
    ]
    for level, found in zip((-1.0, 0.0, 1.0), levels, strict=True):
        assert np.median(np.abs(found - level)) < 0.02


def test_a_hard_margin_has_no_slack():
    Z = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    model = SVC(kernel="linear", C=np.inf).fit(Z, [0, 0, 1, 1])
    chart = show.svm_street(
        model.decision_function, Z, [0, 0, 1, 1], model.support_, model.dual_coef_
    )
    assert title(chart).endswith("none has slack") and "slacks" not in notes(chart)


def test_the_boundary_of_a_kernel_machine_is_drawn_where_it_changes_its_mind(machine):
    chart = show.decision_boundary(None, None, machine.predict, X, y)
    lines = np.array([[row["x"], row["y"]] for row in table(chart, *"kixy")])
    assert len(lines) > 20 and np.median(np.abs(machine.decision_function(lines))) < 0.02
    wrong = (machine.predict(X) != y).mean()
    assert title(chart) == f"{percent(wrong)} of the rows lie in a region of another class"


# Matrices


def block(i, j, K, order, begins):
    rows, columns = order[begins[i] : begins[i + 1]], order[begins[j] : begins[j + 1]]
    return K[np.ix_(rows, columns)].mean()


def test_a_gram_matrix_by_class():
    K = kernels.Gaussian(1.0).tile(X, X)
    chart = show.gram_matrix(K, y, labels=["no", "yes"])
    cells = table(chart, *"ijv")
    assert len(cells) == 56 * 57 // 2
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    vector = np.linalg.eigh(centred)[1][:, -1]
    vector *= np.sign(vector[np.abs(vector).argmax()])
    order = np.lexsort((vector.round(6), y))
    begins = np.linspace(0, 200, 57).round().astype(int)
    for row in cells[::50]:
        value = block(int(row["i"]), int(row["j"]), K, order, begins)
        assert row["v"] == pytest.approx(value, abs=3e-3)
    same = y[:, None] == y
    assert (
        title(chart)
        == f"Mean value {K[same].mean():.3g} within classes, {K[~same].mean():.3g} between"
    )
    assert {"no", "yes"} <= set(texts(picture(chart)))
    strip = table(chart, *"abcn")
    assert [(row["a"], row["b"]) for row in strip] == [(0.0, 0.5), (0.5, 1.0)]


def test_without_classes_the_leading_eigenvector_orders_the_rows():
    Z = np.concatenate([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 9.0])
    shuffled = rng.permutation(40)
    K = kernels.Gaussian(0.5).tile(Z[shuffled], Z[shuffled])
    cells = table(show.gram_matrix(K), *"ijv")
    between = [row["v"] for row in cells if row["i"] >= 20 > row["j"]]
    assert len(between) == 400 and max(between) < 1e-3


def test_many_rows_have_the_same_order_as_few():
    Z = rng.normal(size=(500, 2)) * [3.0, 1.0]
    linear = (Z - Z.mean(axis=0)) @ (Z - Z.mean(axis=0)).T
    chart = show.gram_matrix(linear)
    share = np.linalg.eigvalsh(np.cov(Z.T))
    held = percent(share[-1] / share.sum())
    assert title(chart) == f"The leading axis holds {held} of the centred matrix"
    corners = {(row["i"], row["j"]): row["v"] for row in table(chart, *"ijv")}
    assert corners[0, 0] > 0.0 > corners[55, 0]


@pytest.mark.parametrize("n", [5, 450])
@pytest.mark.parametrize("make", [np.zeros, np.ones, np.eye])
def test_rows_that_are_all_alike_stay_in_order(n, make):
    K = make(n) if make is np.eye else make((n, n))
    chart = show.gram_matrix(K)
    assert title(chart).startswith("The leading axis holds ")
    values = {(row["i"], row["j"]): row["v"] for row in table(chart, *"ijv")}
    assert values[1, 1] > 0.0 or make is np.zeros
    assert values[1, 0] == (make is np.ones)


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda: show.bandwidth_curves([0.0], [0.0, 1.0], {1: np.ravel}), "x and y"),
        (lambda: show.bandwidth_curves([0.0], [1.0], {}), "curves"),
        (lambda: show.bandwidth_curves([0.0], [1.0], {1: [1.0]}), "400 places"),
        (lambda: show.bandwidth_curves([0.0], [1.0], {1: np.ravel}, errors=[1, 2]), "errors"),
        (lambda: show.bandwidth_curves([0.0], [1.0], {1: [1.0, 1.0]}, places=[1, 0]), "rise"),
        (lambda: show.svm_street(np.ravel, np.eye(2), [0, 1], [0], [1.0]), "one number"),
        (lambda: show.svm_street(np.sum, np.eye(3)[:, :2], [0, 1, 2], [0], [1.0]), "two classes"),
        (lambda: show.svm_street(np.sum, np.eye(2), [0, 1], [7], [1.0]), "numbers of the 2 rows"),
        (lambda: show.svm_street(np.sum, np.eye(2), [0, 1], [0], [[1.0], [2.0]]), "dual_coef"),
        (lambda: show.gram_matrix(np.ones((2, 3))), "square"),
        (lambda: show.gram_matrix([[1.0, 0.0], [0.5, 1.0]]), r"K\[0, 1\]"),
        (lambda: show.gram_matrix([[np.nan]]), "finite"),
        (lambda: show.gram_matrix(np.eye(2), [0]), "codes"),
    ],
)
def test_kernel_figures_that_are_none_are_said(draw, words):
    with pytest.raises(ValueError, match=words):
        draw()


def test_tables_stay_small_for_any_number_of_rows(machine):
    many = np.tile(X, (100, 1))
    chart = show.svm_street(
        machine.decision_function, many, np.tile(y, 100), np.arange(5000), np.ones(5000)
    )
    assert len(table(chart, *"xyascw")) == 250 and "250 of the largest" in notes(chart)
    assert sum(map(len, tables(chart))) < 2500
