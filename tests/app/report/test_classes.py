"""What the report and the command line say of discriminants and neighbours."""

from __future__ import annotations

import json
import re
from functools import cache
from html import unescape

import numpy as np
import polars as pl
import pytest
from app.reports import source
from app.shell import together
from sklearn.datasets import load_diabetes, load_iris

from fenchel.app.report.build import Options, build


def iris() -> pl.DataFrame:
    data = load_iris()
    names = [str(data.target_names[k]) for k in data.target]
    return pl.DataFrame(data.data, schema=["a", "b", "c", "d"]).with_columns(
        pl.Series("kind", names)
    )


@cache
def report(model, kind="kind"):
    frame = iris()
    if kind == "two":
        frame = frame.filter(pl.col("kind") != "setosa")
    if kind == "number":
        data = load_diabetes()
        frame = pl.DataFrame(data.data[:, :5], schema=list("abcde")).with_columns(
            pl.Series("kind", data.target)
        )
    return build(source(frame), Options(target="kind", models=(model,), challenger=False))


def page_text(found):
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", found.html())).split())


def test_neighbours_are_shown_by_their_errors_left_out_and_their_regions():
    found = report("knn")
    held, model = found.numbers["model"]["leave_one_out"], found.model
    assert held["chosen"] == model.n_neighbors_ == 1 + int(np.argmin(held["errors"]))
    np.testing.assert_array_equal(held["errors"], model.loo_errors_)
    np.testing.assert_array_equal(held["standard_errors"], model.loo_standard_errors_)
    curve, plane = found.figures["leave_one_out"], found.figures["boundary"]
    assert curve["title"].startswith(f"neighbours = {held['chosen']}: leave-one-out error")
    assert "projected onto it" in plane["notes"] and "region of another class" in plane["title"]
    assert "first principal component" in json.dumps(plane["spec"])
    text = page_text(found)
    assert f"{held['chosen']} neighbours have the least error" in text
    assert "There is no validation curve" not in text and "no other coefficients" not in text
    assert "the leave-one-out error is exact" in text and "This model minimises nothing" in text
    proof = found.numbers["certificate"]
    assert proof["certified"] and proof["definition"] == "leave-one-out error"
    assert proof["objective"] == proof["recomputed"]["objective"] == min(held["errors"])
    assert len(found.html()) < 2_000_000


def test_neighbours_of_a_number():
    number = report("knn", "number")
    title = number.figures["leave_one_out"]["title"]
    assert "mean squared leave-one-out error" in title and "boundary" not in number.figures
    assert number.numbers["model"]["bayes_error"] is None


@pytest.mark.parametrize(("model", "kind"), [("rda", "kind"), ("lda", "two")])
def test_discriminants_tell_the_bayes_error_of_the_fitted_classes(model, kind):
    found = report(model, kind)
    held = found.numbers["model"]["bayes_error"]
    assert 0.0 < held["value"] < 0.2
    if model == "lda":  # of two classes
        assert "closed form" in held["reason"]
        assert held["value"] == pytest.approx(float(found.model.bayes_error()))
    else:
        assert held["low"] < held["value"] < held["high"] and "Bernstein" in held["method"]
    text = page_text(found)
    assert "Bayes error of the fitted classes" in text and "Gaussian classes were the truth" in text
    assert "boundary" in found.figures and "leave_one_out" not in found.figures
    proof = found.numbers["certificate"]
    assert proof["definition"] == "" and proof["tolerance"] == 1e-9
    assert "lower bound of the objective" in text
    where = "principal component" if model == "rda" else "two strongest columns"
    assert where in json.dumps(found.figures["boundary"])


def test_the_same_on_the_command_line(tmp_path):
    iris().write_csv(tmp_path / "t.csv")
    iris().write_parquet(tmp_path / "copy.parquet")
    fit = ("fit", "t.csv", "--target", "kind", "--model")
    jobs = {
        "auto": [*fit, "knn", "-o", "auto.fen"],
        "auto json": [*fit, "knn", "--json"],
        "five": [*fit, "knn", "--set", "n_neighbors=5", "-o", "five.fen"],
        "all": [*fit, "knn", "--set", "n_neighbors=150", "-o", "all.fen"],
        "too many": [*fit, "knn", "--set", "n_neighbors=151", "-o", "more.fen"],
        "lda": [*fit, "lda", "-o", "lda.fen", "--json"],
        "certified": ["certify", "auto.fen", "t.csv"],
        "copy": ["certify", "auto.fen", "copy.parquet"],
        "lda certified": ["certify", "lda.fen", "t.csv", "--require", "gap<=1e-9"],
        "told": ["inspect", "auto.fen"],
    }
    done = dict(zip(jobs, together(list(jobs.values()), tmp_path, tmp_path / "room"), strict=True))
    auto = done["auto"].fine()
    k = int(re.search(r"chosen +n_neighbors (\d+)", auto)[1])
    document = done["auto json"].document()
    assert document["model"]["chosen"] == {"n_neighbors": k} and document["converged"]
    assert f"chosen      n_neighbors {k}" in done["told"].fine()
    assert "leave-one-out error" in auto and "optimum" not in auto
    five = done["five"].fine()
    assert "chosen" not in five and "as many as leave-one-out says" not in five
    assert "leave-one-out error" in five
    assert "written" in done["all"].fine()
    refusal = done["too many"].failed(2)
    assert "--set n_neighbors=151" in refusal and "n_samples_fit = 150" in refusal
    lda = done["lda"].document()
    assert lda["converged"] and lda["certificate"]["kind"] == "exact"
    for name in ("certified", "copy"):
        assert "agrees with the one in the model file" in done[name].fine()
    assert "leave-one-out error" in done["certified"].out
    assert "objective" in done["lda certified"].fine()
