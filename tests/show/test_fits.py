"""Figures of a fit: certificates, coefficients, paths, losses and descent."""

from __future__ import annotations

import math

import numpy as np
import pytest
from show.inputs import HISTORY, PATH, STRENGTHS, WALK, H
from show.reading import column, notes, picture, table, tables, texts, title

from fenchel import Certificate, Exponential, LogisticRegression, convergence_profile, show
from fenchel.show.fit.losses import LOSSES


def test_distances_of_a_history():
    rows = table(show.convergence(HISTORY), "k", "x", "y", "e")
    best, proved = 1.5501, 1.55
    for name, of in (
        ("gap", lambda c: c.gap),
        ("objective", lambda c: c.value - proved),
        ("bound", lambda c: best - c.bound),
    ):
        mine = [row for row in rows if row["k"] == name]
        assert column(mine, "x") == [0, 1, 2]
        want = [of(c) / best for c in HISTORY]
        assert np.allclose(column(mine, "y"), want, rtol=1e-3)
        assert column(mine, "e") == ["estimated", "proved", "proved"]
    assert title(show.convergence(HISTORY)) == "Gap 6.5e-05 of the objective after 2 steps"
    assert "Hollow" in notes(show.convergence(HISTORY))
    assert "Hollow" not in notes(show.convergence(HISTORY[1:]))


def test_a_history_of_a_fitted_model():
    X = np.random.default_rng(0).normal(size=(200, 5))
    y = (X @ [1.0, -2.0, 0.0, 0.5, 0.0] + 0.3 > 0).astype(int)
    model = LogisticRegression(C=1.0).fit(X, y)
    last = model.history_[-1]
    said = title(show.convergence(model.history_))
    assert said.startswith(f"Gap {last.relative_gap:.2g} of the objective after {last.steps} steps")
    said = title(show.objective(model.history_))
    assert said == f"Objective {last.value:.5g}, optimum at least {last.bound:.5g}"
    for against in ("steps", "seconds"):
        rows = table(show.objective(model.history_, against=against), "k", "x", "y", "e")
        values = [row["y"] for row in rows if row["k"] == "objective"]
        span = max(values) - min(values)
        assert np.allclose(values, [c.value for c in model.history_], atol=span / 4000.0)


def test_long_histories_are_thinned():
    history = [Certificate(1.0 + 0.999**t, 1.0 - 0.999**t, steps=t) for t in range(20_000)]
    for figure in (show.convergence, show.objective):
        rows = table(figure(history), "k", "x", "y", "e")
        assert len(rows) < 400
        assert max(column(rows, "x")) == 19_999


@pytest.mark.parametrize(
    ("history", "against", "said"),
    [
        ([], "steps", "empty"),
        (HISTORY, "epochs", "'steps' or 'seconds'"),
        ([Certificate(1.0, 0.5), Certificate(1.0, 0.6)], "seconds", "no times"),
        ([Certificate(math.inf, 0.5)], "steps", "never finite"),
    ],
)
def test_a_history_that_says_nothing_is_refused(history, against, said):
    with pytest.raises(ValueError, match=said):
        show.convergence(history, against=against)


def test_nothing_is_claimed_without_a_proof():
    loose = [Certificate(2.0, 1.0, "estimate", 1), Certificate(1.5, 1.4, "estimate", 2)]
    assert "optimum" not in title(show.objective(loose))
    assert "estimates" in notes(show.objective(loose))
    blind = [Certificate(2.0, -math.inf, "estimate", 1), Certificate(1.5, -math.inf, "estimate", 2)]
    assert title(show.convergence(blind)) == "Nothing proved about the optimum after 2 steps"
    assert title(show.convergence([Certificate(3.0, 3.0)])) == "Gap 0 of the objective after 1 step"


def test_the_largest_coefficients_come_first():
    names, values = [f"c{i}" for i in range(30)], np.linspace(-1.0, 2.0, 30)
    chart = show.coefficients(names, values, intervals=(values - 0.5, values + 0.25), top=5)
    rows = table(chart, "s", "x", "a", "b", "k")
    order = np.argsort(-np.abs(values))[:5]
    assert column(rows, "s") == [names[i] for i in order]
    assert np.allclose(column(rows, "x"), values[order], atol=1e-3)
    assert np.allclose(column(rows, "a"), values[order] - 0.5, atol=1e-3)
    assert np.allclose(column(rows, "b"), values[order] + 0.25, atol=1e-3)
    assert title(chart) == "The 5 largest of 30 coefficients"
    assert title(show.coefficients(["a"], [1.0])) == "One coefficient"
    missing = show.coefficients(["a", "b"], [np.nan, 1.0])
    assert column(table(missing, "s", "x", "a", "b", "k"), "s") == ["b", "a"]
    with pytest.raises(ValueError, match="names"):
        show.coefficients(["a"], [1.0, 2.0])
    with pytest.raises(ValueError, match="intervals"):
        show.coefficients(["a", "b"], [1.0, 2.0], intervals=([0.0], [1.0]))


def test_a_path_passes_through_its_coefficients():
    rows = table(show.regularisation_path(STRENGTHS, PATH), "k", "x", "y")
    largest = np.argsort(-np.abs(PATH).max(axis=0), kind="stable")
    for row in rows:
        at = np.argmin(np.abs(STRENGTHS - row["x"]))
        assert abs(PATH[at, largest[int(row["k"])]] - row["y"]) < 1e-2
    chart = show.regularisation_path(STRENGTHS, PATH, chosen=1.0)
    kept = int((PATH[np.argmin(np.abs(np.log(STRENGTHS)))] != 0).sum())
    assert title(chart) == f"{kept} of 9 coefficients are not zero at penalty = 1"
    for values, said in ((PATH.T, "shape"), (PATH[:, 0], "shape")):
        with pytest.raises(ValueError, match=said):
            show.regularisation_path(STRENGTHS, values)
    with pytest.raises(ValueError, match="positive"):
        show.regularisation_path(STRENGTHS - 1.0, PATH)
    with pytest.raises(ValueError, match="names"):
        show.regularisation_path(STRENGTHS, PATH, names=["a"])


def test_losses_lie_above_the_error_they_stand_for():
    rows = table(show.surrogates(), "k", "x", "y")
    assert set(column(rows, "k")) == set(LOSSES)
    for row in rows:
        loss = LOSSES[row["k"]]
        m = np.array([row["x"]])
        want = float(loss.phi(m)[0] / loss.phi(np.zeros(1))[0])
        assert abs(row["y"] - want) < 2e-2 * max(want, 1.0)
        assert row["y"] >= (1.0 if row["x"] < 0.0 else 0.0) - 1e-3
    assert "0-1 error" in texts(picture(show.surrogates()))
    with pytest.raises(ValueError, match="told apart"):
        show.surrogates({str(i): Exponential() for i in range(7)})


def test_level_lines_are_level():
    centre = np.array([1.0, -0.5])
    chart = show.level_lines(H, minimiser=centre, path=WALK)
    rows = table(chart, "k", "i", "x", "y")
    levels = {}
    for row in rows:
        w = np.array([row["x"], row["y"]]) - centre
        levels.setdefault(row["k"], []).append(0.5 * w @ H @ w)
    spread = [np.ptp(found) / np.mean(found) for found in levels.values()]
    assert len(levels) == 7 and max(spread) < 0.02
    walked = table(chart, "t", "x", "y")
    assert np.allclose(column(walked, "x"), [w[0] for w in WALK], atol=1e-2)
    values, vectors = np.linalg.eigh(H)
    for row, value, vector in zip(
        table(chart, "x", "y", "u", "v", "p", "q", "s"), values, vectors.T, strict=True
    ):
        arrow = np.array([row["u"] - row["x"], row["v"] - row["y"]])
        assert abs(abs(arrow @ vector) / np.linalg.norm(arrow) - 1.0) < 1e-3
        assert row["s"] == f"λ = {value:.3g}"
    assert title(chart).endswith(f"condition number {values[1] / values[0]:.3g}")
    scales = [
        layer["encoding"][side]["scale"]["domain"]
        for layer in chart.to_dict()["layer"][:1]
        for side in "xy"
    ]
    assert abs(np.ptp(scales[0]) - np.ptp(scales[1])) < 1e-2  # right angles stay right


def test_errors_along_eigenvectors_are_as_predicted():
    profile = convergence_profile(H, 0.5)
    measured, predicted = (
        rows for rows in tables(show.eigen_errors(profile, WALK)) if set(rows[0]) == {"k", "x", "y"}
    )
    q = profile.error(WALK[0], 60)
    for row in [*measured, *predicted]:
        want = abs(q[int(row["x"]), int(row["k"])])
        assert math.isclose(row["y"], want, rel_tol=1e-3, abs_tol=1e-14)
    assert title(show.eigen_errors(profile, WALK)).startswith("The slowest direction keeps 76.8 %")
    away = convergence_profile(np.diag([1.0, 10.0]), 0.25)
    steps = [np.array([1.0, (-1.5) ** t]) for t in range(5)]
    assert (
        title(show.eigen_errors(away, steps)) == "No convergence: one error grows by 1.5 each step"
    )


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: show.level_lines(np.eye(3)), "2 × 2"),
        (lambda: show.level_lines([[1.0, 2.0], [0.0, 1.0]]), "symmetric"),
        (lambda: show.level_lines(np.diag([1.0, -1.0])), "positive definite"),
        (lambda: show.level_lines(H, path=[[1.0, np.nan]]), "finite"),
        (lambda: show.eigen_errors(convergence_profile(H, 0.5), np.ones((4, 3))), "shape"),
    ],
)
def test_what_is_no_plane_is_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()
