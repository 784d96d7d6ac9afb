"""Permutation importance, and coefficients with intervals from the unpenalised fit."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from app import reports
from scipy import sparse

import fenchel
from fenchel.app.report.analysis.importance import importance
from fenchel.app.report.analysis.unpenalised import unpenalised
from fenchel.app.report.build import Options, build
from fenchel.app.table.encoding.encoder import Encoder
from fenchel.app.table.task import find_task


def rows(n=600, seed=0):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(3.0, 2.0, n), rng.normal(size=n)
    job = rng.choice(["clerk", "cook", "pilot"], n, p=[0.5, 0.3, 0.2])
    shift = np.select([job == "cook", job == "pilot"], [0.8, -0.8], 0.0)
    y = rng.random(n) < 1.0 / (1.0 + np.exp(-(0.5 * (x - 3.0) + shift)))
    return pl.DataFrame({"x": x, "z": z, "job": job, "y": np.where(y, "yes", "no")})


def prepared(frame, model):
    task = find_task(frame, "y")
    encoder = Encoder.fit(frame, task)
    X, y = encoder.transform(frame), task.codes(frame)
    return task, encoder, X, y, model.fit(X, y)


def test_what_matters_stands_first_and_what_does_not_holds_zero():
    task, encoder, X, y, model = prepared(rows(), fenchel.LogisticRegression())
    found = importance(task, model, encoder, X, y, 0, 0.95)
    rise = {one["column"]: one["rise"] for one in found["columns"]}
    assert [one["column"] for one in found["columns"]][:2] == ["x", "job"]
    assert rise["x"]["low"] > 0.0 and rise["z"]["low"] < 0.005
    assert found["loss"] == "log loss" and found["rows"] == 600
    again = importance(task, model, encoder, sparse.csr_array(X), y, 0, 0.95)
    for one, other in zip(found["columns"], again["columns"], strict=True):
        assert one["rise"]["value"] == pytest.approx(other["rise"]["value"], rel=1e-9)
    assert importance(task, model, encoder, X, y, 0, 0.95) == found


def test_against_its_definition():
    task, encoder, X, y, model = prepared(rows(120), fenchel.LogisticRegression())
    found = importance(task, model, encoder, X, y, 3, 0.95)
    rng = np.random.default_rng(3)

    def loss(rows):
        return -np.log(model.predict_proba(rows)[np.arange(len(y)), y])

    for name in ("x", "z", "job"):
        places = [j for j, plan in enumerate(encoder.origins) if plan.name == name]
        total = 0.0
        for _ in range(5):
            shuffled = X.copy()
            shuffled[:, places] = X[rng.permutation(len(y))][:, places]
            total += float((loss(shuffled) - loss(X)).mean()) / 5.0
        (mine,) = [one for one in found["columns"] if one["column"] == name]
        assert mine["rise"]["value"] == pytest.approx(total, rel=1e-9, abs=1e-12)


def test_numbers_and_models_without_probabilities():
    frame = rows()
    task, encoder, X, y, model = prepared(frame, fenchel.LinearSVC())
    assert importance(task, model, encoder, X, y, 0, 0.95)["loss"] == "error rate"
    number = frame.with_columns(y=pl.col("x") * 2.0 + pl.col("z"))
    task, encoder, X, y, model = prepared(number, fenchel.Ridge())
    found = importance(task, model, encoder, X, y, 0, 0.95)
    assert found["loss"].startswith("squared error") and found["columns"][0]["column"] == "x"


def test_odds_ratios_of_the_unpenalised_fit():
    task, encoder, X, y, _ = prepared(rows(3000), fenchel.LogisticRegression())
    found = unpenalised(task, encoder, X, y, 0.95)
    assert found["kind"] == "odds ratio" and found["method"] == "Wald"
    held = {one["column"]: one for one in found["columns"]}
    assert set(held) == {"x", "z", "job=cook", "job=pilot"}  # the most frequent level is left out
    assert held["job=cook"]["unit"] == "against 'clerk'"
    true = {"x": np.exp(0.5 * 2.0), "job=cook": np.exp(0.8), "job=pilot": np.exp(-0.8), "z": 1.0}
    for name, value in true.items():
        one = held[name]["estimate"]
        assert one["low"] <= value * 1.05 and one["high"] >= value / 1.05
    assert held["x"]["p_value"] < 1e-6 and "per standard deviation (1.9" in held["x"]["unit"]


def test_why_there_are_none():
    task, encoder, X, y, _ = prepared(rows(40), fenchel.LogisticRegression())
    assert (
        "rows of the rarer class for 4 columns" in unpenalised(task, encoder, X, y, 0.95)["reason"]
    )
    apart = rows(600).with_columns(y=pl.Series(np.where(rows(600)["x"] > 3.0, "yes", "no")))
    task, encoder, X, y, _ = prepared(apart, fenchel.LogisticRegression())
    assert "reason" in unpenalised(task, encoder, X, y, 0.95)
    report = build(
        reports.source(rows(60)), Options(target="y", models=("logistic",), challenger=False)
    )
    assert "Odds ratios with intervals are not given" in report.html()


def test_slopes_of_a_number():
    frame = rows(400).with_columns(y=pl.col("x") * 2.0 + pl.col("z"))
    task, encoder, X, y, _ = prepared(frame, fenchel.Ridge())
    found = unpenalised(task, encoder, X, y, 0.95)
    assert found["kind"] == "slope" and found["method"] == "Wald, HC3"
    held = {one["column"]: one["estimate"] for one in found["columns"]}
    assert held["x"]["value"] == pytest.approx(2.0 * frame["x"].std(ddof=0), rel=1e-6)
