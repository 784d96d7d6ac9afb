"""Every result that is a table: a dataframe, and HTML that says what its text says."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import scale

from fenchel import (
    Certificate,
    LogisticRegression,
    Ridge,
    calibration_bins,
    certify_clusters,
    certify_projection,
    choose_k,
    compare_auc,
    compare_models,
    cross_validate,
    gap_statistic,
    learning_curve,
    nested_cross_validate,
    risk_certificate,
    select,
    threshold_table,
    validation_curve,
)
from fenchel.data.display.result_table import Tabular

X, Y = load_breast_cancer(return_X_y=True)
X = scale(X[:, :5])
MODEL = LogisticRegression(C=0.1)
GRID = {"C": [0.01, 1.0]}
LOSS = {"scoring": "neg_log_loss", "cv": 3}
IRIS = load_iris().data


RESULTS = {
    "certificate": lambda: MODEL.fit(X, Y).certificate_,
    "certificate of clusters": lambda: certify_clusters(IRIS, IRIS[:, 0] > 5.8),
    "certificate of a projection": lambda: certify_projection(IRIS, [[1.0, 0.0, 0.0, 0.0]]),
    "certificate that proves nothing": lambda: Certificate(1.0, -np.inf, "estimate"),
    "cross_validate": lambda: cross_validate(
        MODEL, X, Y, cv=3, scoring=["accuracy", "neg_log_loss"], return_train_score=True
    ),
    "nested_cross_validate": lambda: nested_cross_validate(MODEL, GRID, X, Y, inner=3, outer=3),
    "select": lambda: select(MODEL, {"fit_intercept": [True, False], **GRID}, X, Y, **LOSS),
    "validation_curve": lambda: validation_curve(
        MODEL, X, Y, param_name="C", param_range=[0.01, 0.1, 1.0], **LOSS
    ),
    "learning_curve": lambda: learning_curve(MODEL, X, Y, train_sizes=[100, 300], **LOSS),
    "threshold_table": lambda: threshold_table(Y, X[:, 0]),
    "risk_certificate": lambda: risk_certificate(MODEL.fit(X[::2], Y[::2]), X[1::2], Y[1::2]),
    "calibration_bins": lambda: calibration_bins(Y, 1.0 / (1.0 + np.exp(X[:, 0]))),
    "gap_statistic": lambda: gap_statistic(KMeans(n_init=1, random_state=0), IRIS, [1, 2, 3]),
    "choose_k": lambda: choose_k(IRIS, [1, 2, 3], "silhouette", also=("bic",)),
    "compare_auc": lambda: compare_auc(Y, X[:, 0], X[:, 1]),
    "compare_models": lambda: compare_models(
        {"strong": MODEL, "weak": LogisticRegression(C=1e-4), "none": LogisticRegression(C=1e-9)},
        X,
        Y,
        **LOSS,
    ),
    "compare_models of two": lambda: compare_models(
        *(cross_validate(LogisticRegression(C=c), X, Y, **LOSS) for c in (0.1, 1e-4))
    ),
}


@pytest.fixture(scope="module")
def made():
    return {name: make() for name, make in RESULTS.items()}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_a_table(made, name):
    found = made[name]
    assert isinstance(found, Tabular)
    columns = found.columns()
    lengths = {len(values) for values in columns.values()}
    assert len(lengths) == 1
    for kind in ("pandas", "polars"):
        frame = found.to_frame(kind)
        assert list(frame.columns) == list(columns) and len(frame) == lengths.pop()
        lengths = {len(frame)}
    text = found._repr_html_()
    assert text.count("<tr>") == 1 + min(len(frame), 19) and "<script" not in text
    assert found.caption() and "\n" not in found.caption()
    assert "nan" not in text and "None" not in text


def test_the_numbers_are_those_of_the_result(made):
    table = made["threshold_table"]
    frame = table.to_frame()
    np.testing.assert_array_equal(frame["tpr_low"], table.tpr_low)
    assert len(frame) == len(table)
    folds = made["cross_validate"].to_frame()
    np.testing.assert_array_equal(folds["test_accuracy"], made["cross_validate"].test["accuracy"])
    assert folds["test_rows"].sum() == len(Y) and (folds["relative_gap"] < 1e-5).all()
    risk = made["risk_certificate"]
    assert risk.to_frame()["upper"].tolist() == [
        risk.error.upper,
        risk.false_positive.upper,
        risk.false_negative.upper,
        risk.calibration.excess,
    ]
    gap = made["gap_statistic"].to_frame()
    assert gap["clusters"][gap["chosen"]].tolist() == [made["gap_statistic"].chosen]
    proof = made["certificate"]
    (row,) = proof.to_frame("polars").to_dicts()
    assert (row["value"], row["bound"], row["gap"]) == (proof.value, proof.bound, proof.gap)
    nested = made["nested_cross_validate"]
    assert nested.to_frame()["C"].tolist() == [params["C"] for params in nested.params]


def test_a_bound_reads_in_the_table_as_in_the_sentence(made):
    risk = made["risk_certificate"]
    text = risk._repr_html_()
    for sentence in risk.sentences[:3]:
        (bound,) = re.findall(r"at most ([\d.]+ %)", sentence)
        assert f">{bound}</td>" in text
    assert re.search(r">100 % \[98\.\d, 100\]<", made["threshold_table"]._repr_html_())


def test_a_loss_is_shown_as_a_loss(made):
    """Without a minus sign, and with the direction in words."""
    for name in ("validation_curve", "learning_curve", "select", "compare_models"):
        found = made[name]
        assert "log loss, lower is better" in found.caption(), name
        (column,) = (c for c in found.columns() if c.endswith("log_loss") and "train" not in c)
        values = found.to_frame()
        assert (values[column] > 0.0).all()
        assert (values[f"{column}_low"] <= values[column]).all()
        assert (values[column] <= values[f"{column}_high"]).all()
    curve = made["validation_curve"]
    assert curve.to_frame()["test_log_loss"].to_list() == pytest.approx(
        (-curve.test_scores.mean(axis=1)).tolist()
    )
    text = str(made["compare_models"])
    assert text.startswith("log loss, lower is better") and "strong  0." in text
    two = made["compare_models of two"]
    difference = two.to_frame()["log_loss"].iloc[2]
    assert difference == pytest.approx(-float(two.difference)) and difference < 0.0
    assert "mean log loss, lower is better 0." in made["cross_validate"].caption()


def test_scores_keep_their_sign_and_their_name():
    found = validation_curve(Ridge(), X, X[:, 0], param_name="alpha", param_range=[1.0, 10.0])
    assert found.metric.label == "R²" and list(found.columns())[1] == "test_R²"
    assert found.to_frame()["test_R²"].tolist() == pytest.approx(found.test_scores.mean(axis=1))
