"""Losses are drawn as losses, and a parameter has one axis in every figure."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from show.inputs import LEARNING, PATH, STRENGTHS, TEST, TRAIN, VALIDATION, tuned
from show.reading import column, notes, picture, table, tables, texts, title

from fenchel import Estimate, LogisticRegression, cross_validate, learning_curve, show
from fenchel import validation_curve as validated
from fenchel.score.validation.metric import ScoredMetric, metric_named

LOSS = ScoredMetric("log loss", -1)
TURNED = replace(VALIDATION, train_scores=-TRAIN, test_scores=-TEST, metric=LOSS)
LEARNT = replace(LEARNING, train_scores=-TRAIN, test_scores=-TEST, metric=LOSS)


@pytest.mark.parametrize(
    ("name", "words", "sign"),
    [
        ("neg_log_loss", "log loss", -1),
        ("minus log loss", "log loss", -1),
        ("neg_brier_score", "Brier score", -1),
        ("neg_mean_squared_error", "mean squared error", -1),
        ("neg_root_mean_squared_error", "root mean squared error", -1),
        ("roc_auc", "AUC", 1),
        ("r2", "R²", 1),
        ("accuracy", "accuracy", 1),
        ("score", "score", 1),
        ("negative things", "negative things", 1),
    ],
)
def test_names_of_scores(name, words, sign):
    found = metric_named(name)
    assert (found.words, found.sign) == (words, sign)
    assert found.label == (words if sign > 0 else f"{words}, lower is better")


def test_a_loss_turns_its_interval():
    turned = LOSS.of(Estimate(-0.3, -0.4, -0.1, level=0.9, method="m", standard_error=0.07))
    assert (turned, turned.low, turned.high) == (0.3, 0.1, 0.4)
    assert (turned.level, turned.method, turned.standard_error) == (0.9, "m", 0.07)
    assert str(LOSS.of(0.0)) == "0.0"  # no minus zero
    assert LOSS.of(np.array([-1.0, 0.0])).tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("chart", "fields"),
    [
        (lambda **how: show.validation_curve(TURNED, **how), "xytab"),
        (lambda **how: show.learning_curve(LEARNT, **how), "xytab"),
    ],
    ids=["validation", "learning"],
)
@pytest.mark.parametrize("score", [None, "log loss", "neg_log_loss", "minus log loss"])
def test_curves_of_a_loss(chart, fields, score):
    drawn = chart(score=score)
    rows = table(drawn, *fields)
    assert all(row["a"] <= row["y"] <= row["b"] and row["t"] > 0.0 for row in rows)
    assert np.allclose(column(rows, "y"), TEST.mean(axis=1), atol=1e-3)
    (folds,) = (t for t in tables(drawn) if set(t[0]) == {"x", "y"} and len(t) > 7)
    assert min(column(folds, "y")) > 0.0
    assert "log loss, lower is better" in texts(picture(drawn))
    assert ": log loss 0." in title(drawn) and "-" not in title(drawn)


def test_the_best_loss_is_the_smallest():
    chart = show.validation_curve(TURNED)
    assert title(chart).startswith(f"C = {STRENGTHS[TURNED.best_index]:.4g}: log loss")
    mark = table(chart, "x", "y", "s")[0]
    assert mark["y"] == pytest.approx(TEST.mean(axis=1).min(), abs=1e-3)
    scores = {"good": [-0.1, -0.2], "bad": [-0.5, -0.6], "none": [-0.9, -0.9]}
    drawn = show.fold_scores(scores, score="neg_log_loss")
    assert title(drawn) == "good: log loss 0.15"
    assert min(column(table(drawn, "s", "k", "x"), "x")) > 0.0
    assert "log loss, lower is better" in texts(picture(drawn))
    means = {name: float(np.mean(values)) for name, values in scores.items()}
    drawn = show.comparison(means, baseline="none", score="neg_log_loss")
    rows = table(drawn, "s", "x", "a", "b")
    assert column(rows, "s") == ["good", "bad", "none"] and min(column(rows, "x")) > 0.0
    assert title(drawn) == "good: log loss 0.15"
    assert "none, 0.75 above the best" in notes(drawn)


def test_results_say_it_themselves():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 2
    X = rng.normal(size=(90, 2)) + y[:, None]
    how = {"cv": 3, "scoring": "neg_log_loss"}
    model = LogisticRegression()
    curve = validated(model, X, y, param_name="C", param_range=[0.01, 0.1, 1.0], **how)
    assert "log loss, lower is better" in texts(picture(show.validation_curve(curve)))
    assert ": log loss 0." in title(show.learning_curve(learning_curve(model, X, y, **how)))
    validation = cross_validate(model, X, y, **how)
    assert title(show.fold_scores({"logistic": validation})).startswith("logistic: log loss 0.")
    assert title(show.comparison({"logistic": validation})).startswith("logistic: log loss 0.")
    plain = cross_validate(model, X, y, cv=3)
    assert title(show.fold_scores({"logistic": plain})).startswith("logistic: accuracy 0.")


def axis(chart):
    """The axis of a parameter as it is specified: scale, label and marks."""
    found = [
        layer["encoding"]["x"]
        for layer in chart.to_dict()["layer"]
        if layer["encoding"].get("x", {}).get("field") == "x"
    ]
    assert all(one == found[0] for one in found)
    return {key: found[0][key] for key in ("scale", "axis", "type", "title")}


@pytest.mark.parametrize("name", ["C", "alpha", "logisticregression__C", "ridge__alpha"])
@pytest.mark.parametrize("values", [STRENGTHS, STRENGTHS[::-1], np.linspace(1.0, 4.0, 7)])
def test_the_path_and_the_validation_curve_share_their_axis(name, values):
    curve = show.validation_curve(tuned(name, values))
    path = show.regularisation_path(values, PATH, strength=name)
    assert axis(curve) == axis(path)
    assert axis(curve)["axis"]["title"] == f"{name} (weaker penalty to the right)"
    assert axis(curve)["scale"].get("reverse", False) == name.endswith("alpha")
    plots = [texts(picture(chart)) for chart in (curve, path)]
    marks = [f"{value:g}" for value in axis(curve)["axis"].get("values", [])]
    assert all(mark in plot for plot in plots for mark in marks)


def test_names_of_lines_stand_at_the_weakest_penalty():
    for strength, weakest in (("C", STRENGTHS.max()), ("alpha", STRENGTHS.min())):
        chart = show.regularisation_path(
            STRENGTHS, PATH, strength=strength, names=list("abcdefghi")
        )
        rows = [t for t in tables(chart) if t and set(t[0]) == {"k", "x", "y", "s"}]
        for ends in rows:
            assert column(ends, "x") == pytest.approx([weakest] * len(ends))


def test_other_parameters_run_upwards():
    found = axis(show.validation_curve(tuned("max_depth", [1, 2, 3, 4, 5, 6, 7])))
    assert found["axis"]["title"] == "max_depth" and not found["scale"].get("reverse")
    with pytest.raises(ValueError, match="chosen must be positive"):
        show.regularisation_path(STRENGTHS, PATH, chosen=0.0)
