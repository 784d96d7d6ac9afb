"""The challenger: trees on the same folds and locked rows, a yardstick that is never chosen."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest
from app import reports
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from fenchel.app.report.analysis.challenger import TreeColumns
from fenchel.app.report.build import Options, build
from fenchel.app.table.encoding.encoder import Encoder
from fenchel.app.table.task import Task, find_task


def checkered(n=600):
    """A relation that no line sees."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3))
    y = np.where(x[:, 0] * x[:, 1] > 0, "in", "out")
    return pl.DataFrame(x, schema=list("abc")).with_columns(y=pl.Series(y))


def straight(n=600):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3))
    y = np.where(x @ [1.0, 2.0, 0.0] + rng.logistic(size=n) > 0, "in", "out")
    return pl.DataFrame(x, schema=list("abc")).with_columns(y=pl.Series(y))


def built(frame, **options):
    return build(reports.source(frame), Options(target="y", models=("logistic",), **options))


def check_of(report):
    return {one["code"]: one for one in report.numbers["findings"]}.get("M4")


def test_a_relation_that_is_not_linear_is_said():
    report = built(checkered())
    found, said = report.numbers["challenger"], check_of(report)
    assert found["score"]["value"] > 0.9 and found["above_chosen"]["low"] > 0.2
    assert said["severity"] == "warning" and "the relation is not linear" in said["what"]
    assert type(report.model).__name__ == "LogisticRegression"
    page, clock = report.html(), report.numbers["clock"]["seconds"]
    assert "challenger: gradient-boosted trees" in page
    (path,) = re.findall(r'data-clock="seconds\.(fitting the challenger[^"]*)"', page)
    assert clock[path] > 0.0  # its time is stated, where the page's script looks for it


def test_a_linear_relation_loses_nothing():
    report = built(straight())
    assert check_of(report)["severity"] == "passed"
    assert "no better, the linear model loses nothing" in check_of(report)["what"]


def test_its_numbers_are_those_of_the_locked_rows_and_the_folds():
    frame = straight()
    report = built(frame)
    locked = np.array(report.numbers["rows"]["locked"]) - 1
    train = np.setdiff1d(np.arange(frame.height), locked)
    X, y = frame.select("a", "b", "c").to_numpy(), frame["y"].to_numpy()
    trees = HistGradientBoostingClassifier(max_iter=100, early_stopping=False, random_state=0)
    encoder = Encoder.fit(frame[train], find_task(frame, "y"))
    trees.fit(encoder.transform(frame[train]), y[train])
    p = trees.predict_proba(encoder.transform(frame[locked]))[:, 1]
    positive = report.task.positive
    area = roc_auc_score(y[locked] == positive, p if positive == "out" else 1.0 - p)
    assert report.numbers["challenger"]["test"] == pytest.approx(area, abs=1e-9)
    assert len(report.numbers["challenger"]["folds"]) == 5
    assert X.shape == (600, 3)


def test_it_can_be_left_out():
    report = built(straight(), challenger=False)
    assert report.numbers["challenger"] is None and check_of(report) is None
    assert "gradient-boosted" not in report.html()


def test_trees_see_categories_as_codes_and_few_words_of_a_text():
    rng = np.random.default_rng(0)
    words = ["red", "green", "blue", "call", "home", "free", "now", "later"]
    frame = pl.DataFrame(
        {
            "x": rng.normal(size=200),
            "job": rng.choice(["cook", "clerk", "pilot"], 200),
            "text": [" ".join(rng.choice(words, 6)) for _ in range(200)],
        }
    )
    encoder = Encoder.fit(frame, Task("none"))
    X = encoder.transform(frame)
    columns = TreeColumns.of(encoder)
    made = columns.take(X)
    assert sparse.issparse(X) and isinstance(made, np.ndarray)
    assert columns.categories == (1,) and set(np.unique(made[:, 1])) == {1.0, 2.0, 3.0}
    codes = frame["job"].replace_strict({"clerk": 0, "cook": 1, "pilot": 2}).to_numpy()
    assert len(set(zip(codes, made[:, 1], strict=True))) == 3  # one to one
    assert made.shape[1] <= 2 + 200


def test_the_rounds_of_many_classes_are_those_that_were_made():
    rng = np.random.default_rng(0)
    place = np.repeat(np.arange(12), 25)
    frame = pl.DataFrame({"x": place + rng.normal(size=300), "y": [f"kind {k}" for k in place]})
    report = built(frame)
    assert report.numbers["challenger"]["params"]["max_iter"] == 50
