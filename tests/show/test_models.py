"""Figures of folds and of models, and of predicted numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtri
from show.inputs import LEARNING, MEAN, STRENGTHS, TEST, TRAIN, VALIDATION, X, Z, tuned
from show.reading import column, notes, picture, table, tables, texts, title

from fenchel import Estimate, show


def test_a_validation_curve_shows_its_estimates():
    rows = table(show.validation_curve(VALIDATION), "x", "y", "t", "a", "b")
    estimates = VALIDATION.estimates()
    assert np.allclose(column(rows, "x"), STRENGTHS, rtol=1e-5)
    assert np.allclose(column(rows, "y"), [float(e) for e in estimates], atol=1e-3)
    assert np.allclose(column(rows, "a"), [e.low for e in estimates], atol=1e-3)
    assert np.allclose(column(rows, "t"), TRAIN.mean(axis=1), atol=1e-3)
    dots = [t for t in tables(show.validation_curve(VALIDATION)) if set(t[0]) == {"x", "y"}]
    (folds,) = dots
    assert np.allclose(column(folds, "y"), TEST.ravel(), atol=1e-3)
    best = estimates[VALIDATION.best_index]
    said = title(show.validation_curve(VALIDATION, score="accuracy"))
    assert said.startswith(f"C = {VALIDATION.best:.4g}: accuracy {best:.3f}")


def test_the_choice_is_marked():
    assert "best" in texts(picture(show.validation_curve(VALIDATION)))
    drawn = texts(picture(show.validation_curve(VALIDATION, simplest="first")))
    simple = VALIDATION.one_standard_error("first")
    assert ("one standard error" in drawn) == (simple != VALIDATION.best)
    chart = show.validation_curve(VALIDATION, chosen=STRENGTHS[2])
    assert "chosen" in texts(picture(chart))
    assert title(chart).startswith(f"C = {STRENGTHS[2]:.4g}")
    with pytest.raises(ValueError, match="not one of the values"):
        show.validation_curve(VALIDATION, chosen=5.0)


def test_settings_that_are_no_numbers_stand_side_by_side():
    chart = show.validation_curve(tuned("kernel", ["a", "b", "c", None, True, "a ", 2]))
    names = column(table(chart, "x", "y", "t", "a", "b"), "x")
    assert names == ["a", "b", "c", "None", "True", "a (2)", "2"]
    assert "setting" not in texts(picture(chart)) and "kernel" in texts(picture(chart))


def test_a_learning_curve_shows_its_estimates():
    rows = table(show.learning_curve(LEARNING), "x", "y", "t", "a", "b")
    assert column(rows, "x") == LEARNING.train_sizes.tolist()
    last = LEARNING.estimates()[-1]
    assert abs(rows[-1]["y"] - last) < 1e-3 and abs(rows[-1]["b"] - last.high) < 1e-3
    assert title(show.learning_curve(LEARNING)).startswith(f"640 rows: score {last:.4f}")


def test_fold_scores_and_their_mean():
    chart = show.fold_scores({"one": TEST[0], "two": TEST[1]}, means={"one": MEAN}, score="AUC")
    rows = table(chart, "s", "k", "x")
    assert np.allclose(column(rows, "x"), np.concatenate([TEST[0], TEST[1]]), atol=1e-3)
    means = table(chart, "s", "x", "a", "b")
    assert means[0] == {"s": "one", "x": 0.9, "a": 0.85, "b": 0.93}
    assert abs(means[1]["x"] - TEST[1].mean()) < 1e-3 and means[1]["a"] is None
    assert title(chart) == "one: AUC 0.900 [0.850, 0.930]"
    assert "a method" in notes(chart)
    with pytest.raises(ValueError, match="no score"):
        show.fold_scores({})


def test_models_are_compared_best_first():
    models = {"weak": 0.6, "strong": Estimate(0.95, 0.9, 0.99, level=0.95, method="m"), "none": 0.5}
    chart = show.comparison(models, baseline="none", score="AUC")
    rows = table(chart, "s", "x", "a", "b")
    assert column(rows, "s") == ["strong", "weak", "none"]
    assert rows[0] == {"s": "strong", "x": 0.95, "a": 0.9, "b": 0.99}
    assert title(chart) == "strong: AUC 0.950 [0.900, 0.990]"
    assert "none, 0.45 below the best" in notes(chart)
    with pytest.raises(ValueError, match="baseline"):
        show.comparison(models, baseline="other")
    with pytest.raises(ValueError, match="no model"):
        show.comparison({})


def test_predicted_and_observed_numbers():
    from sklearn.metrics import mean_absolute_error, r2_score

    said = title(show.predicted_observed(Z, X))
    error = mean_absolute_error(Z, X)
    assert said == f"R² {r2_score(Z, X):.3f}, mean absolute error {error:.3g}"
    rows = table(show.predicted_observed(Z, X), "i", "j")
    assert len(rows) == 300
    # Places are steps of a grid that spans the axis: they lie as the numbers do.
    for field, values in (("i", X), ("j", Z)):
        steps = np.array(column(rows, field))
        slope, start = np.polyfit(steps, values, 1)
        assert np.abs(start + slope * steps - values).max() < np.ptp(values) / 4000.0


def test_many_rows_are_counted():
    rng = np.random.default_rng(1)
    x = rng.normal(size=50_000)
    for figure in (show.predicted_observed, show.residuals, show.leverage):
        chart = figure(np.abs(x + rng.normal(size=50_000)), x)
        rows = table(chart, "i", "j", "n")
        assert sum(column(rows, "n")) == 50_000 and len(rows) <= 48 * 36
        assert "50,000 rows" in notes(chart)


def test_residuals_have_their_running_mean():
    rng = np.random.default_rng(2)
    x = np.sort(rng.normal(size=900))
    chart = show.residuals(x**2, np.zeros(900) + x)
    (trend,) = (rows for rows in tables(chart) if set(rows[0]) == {"x", "y"})
    parts = np.array_split(np.arange(900), 30)
    left = x**2 - x
    assert np.allclose(column(trend, "y"), [left[part].mean() for part in parts], atol=1e-2)
    assert title(show.residuals([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])).startswith("Residuals: mean 0,")


def test_quantiles_of_normal_numbers_lie_where_they_should():
    rng = np.random.default_rng(3)
    noise = rng.normal(size=5000)
    chart = show.quantile_plot(noise, np.zeros(5000))
    rows = table(chart, "x", "y", "a", "b")
    assert 250 <= len(rows) <= 300
    assert abs(rows[0]["x"] - ndtri(0.5 / 5000)) < 1e-2
    assert abs(rows[0]["y"] - (noise.min() - noise.mean()) / noise.std()) < 1e-2
    inside = float(title(chart).split(" %")[0])
    assert inside > 85.0
    heavy = show.quantile_plot(rng.standard_t(2, size=5000), np.zeros(5000))
    assert float(title(heavy).split(" %")[0]) < 50.0


def test_leverage_names_the_rows_beyond_the_usual():
    h = np.array([0.01] * 98 + [0.5, 0.6])
    assert (
        title(show.leverage(h, np.zeros(100), columns=4))
        == "2 of 100 rows have a leverage above 0.08"
    )
    assert title(show.leverage(h, np.zeros(100))) == "Leverage: largest 0.6, mean 0.0208"


@pytest.mark.parametrize(
    ("y", "prediction", "said"),
    [
        ([1.0, 2.0], [1.0], "one length"),
        ([1.0, np.nan], [1.0, 2.0], "missing or infinite"),
        ([], [], "no row to draw"),
        (["a", "b"], [1.0, 2.0], "must be numbers"),
    ],
)
def test_numbers_that_do_not_pair_are_refused(y, prediction, said):
    for figure in (show.predicted_observed, show.residuals, show.quantile_plot, show.leverage):
        with pytest.raises(ValueError, match=said):
            figure(y, prediction)


def test_histograms_of_columns():
    chart = show.column_histograms(
        {"age": ([3, 0, 5], [0, 10, 20, 30]), "sex": ([5, 3], ["m", "f"])}
    )
    rows = table(chart, "i", "k", "a", "b", "y", "n", "s")
    bars = [row for row in rows if row["n"]]
    assert [(row["i"], row["n"], row["s"]) for row in bars] == [
        (0, 3, "0 to 10"),
        (0, 5, "20 to 30"),
        (1, 5, "m"),
        (1, 3, "f"),
    ]
    assert [row["s"] for row in rows if row["k"] == 1] == ["age", "sex"]
    assert {"age", "sex", "0", "30", "m", "f"} <= set(texts(picture(chart)))
    many = show.column_histograms({i: (np.ones(100), np.arange(101)) for i in range(99)})
    rows = table(many, "i", "k", "a", "b", "y", "n", "s")
    assert title(many) == "The first 32 of 99 columns"
    assert sum(row["n"] for row in rows) == 3200
    levels = show.column_histograms({"c": (np.ones(50), [f"v{i}" for i in range(50)])})
    assert "39 others" in column(table(levels, "i", "k", "a", "b", "y", "n", "s"), "s")
    with pytest.raises(ValueError, match="edges"):
        show.column_histograms({"c": ([1, 2], [0])})
    with pytest.raises(ValueError, match="no column"):
        show.column_histograms({})
