"""What reports say of models that are not linear, and which models are compared at all."""

from __future__ import annotations

import json
import re
from functools import cache
from html import unescape

import numpy as np
import polars as pl
import pytest
from app.reports import source

from fenchel.app.catalogue import BASELINES, MODELS, MORE, entry_named
from fenchel.app.errors import BadUsage
from fenchel.app.report.analysis.binary import own_threshold
from fenchel.app.report.build import Options, build
from fenchel.app.report.checks.fit import checks as fit_checks


def ring(rows=160):
    """Two classes, one around the other, and a column without any use."""
    x = np.random.default_rng(0).normal(size=(rows, 3))
    inner = x[:, 0] ** 2 + x[:, 1] ** 2 < 1.4
    return pl.DataFrame({"u": x[:, 0], "v": x[:, 1], "w": x[:, 2]}).with_columns(
        pl.Series("kind", np.where(inner, "in", "out"))
    )


@cache
def report(model):
    number = entry_of("number", model)
    frame = ring(80 if number else 160)
    if number:
        u, v = frame["u"].to_numpy(), frame["v"].to_numpy()
        frame = frame.with_columns(pl.Series("kind", np.sin(2.0 * u) + 0.3 * v + 1e6))
    return build(source(frame), Options(target="kind", models=(model,), challenger=False))


def entry_of(kind, name):
    return name in ("svr-rbf", "local-linear") and entry_named(kind, name)


def page_text(found):
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", found.html())).split())


def said(found):
    return {one["code"]: one["what"] for one in found.numbers["findings"]}


@pytest.mark.parametrize("model", ["qda", "nadaraya-watson", "svm-rbf"])
def test_no_word_of_planes_and_coefficients_where_there_are_none(model):
    found = report(model)
    assert not found.numbers["model"]["linear"] and found.numbers["worth"]["better"]
    text = page_text(found)
    assert "plane separates" not in text and "planes separate" not in text
    assert "the linear model" not in text and "fitted coefficients" not in text
    assert "These are not of the chosen model" in text  # odds ratios
    assert said(found)["M3"] == "No other model was compared."
    assert "compared with a constant" in " ".join(found.verdict())
    assert "its score of the model" not in text


def test_a_bandwidth_is_shown_by_the_errors_left_out():
    found = report("nadaraya-watson")
    held, model = found.numbers["model"]["leave_one_out"], found.model
    assert held["parameter"] == "bandwidth" and held["chosen"] == model.bandwidth_
    np.testing.assert_array_equal(held["values"], model.bandwidths_)
    figure = found.figures["leave_one_out"]
    assert figure["title"].startswith("bandwidth = ") and "%" not in figure["title"]
    assert "of the shares" in " ".join(found.verdict())
    assert found.numbers["model"]["found_params"] == {"bandwidth": model.bandwidth_}
    assert "by the solver" not in page_text(found)


def test_support_vector_regression_does_not_mind_where_the_target_lies():
    found = report("svr-rbf")
    head = found.numbers["headline"]["model"]["value"]
    assert head > 0.5 and "leverage" not in found.figures
    proof = found.numbers["certificate"]
    assert "conditions of optimality" in proof["stopping_rule"] and proof["residual"] is not None
    assert set(found.numbers["model"]["chosen_params"]) == {"C", "epsilon"}


def test_closed_forms_have_no_run_of_a_solver():
    found = report("qda")
    text, proof = page_text(found), found.numbers["certificate"]
    assert proof["kind"] == "exact" and "log-likelihood" in proof["of"]
    assert "certified: a closed form" in " ".join(found.verdict())
    assert "How it was computed" in text and "by the fit" in text
    assert "Objective and bound after each step" not in text and "tolerance 1e-09" not in text
    assert "regularised covariances" in text


def test_yes_and_no_among_the_parameters():
    assert "shrinking yes" in page_text(report("svm-rbf"))


# ------------------------------------------------------------------------- which are compared


def test_every_entry_of_the_lists_makes_its_model():
    for group in (MODELS, MORE):
        for kind, entries in group.items():
            names = [entry.name for entry in entries]
            assert len(set(names)) == len(names)
            for entry in (*entries, *([BASELINES[kind]] if entries else [])):
                model = entry.make()
                for name, values in entry.grid_for(np.arange(5.0)).items():
                    assert name in model.get_params() and values
                    model.set_params(**{name: values[0]})._validate_params()


@pytest.mark.parametrize(
    ("name", "rows", "rarest", "columns", "why"),
    [
        ("lda", 20, 10, 7, "too few rows for so many columns"),
        ("lda", 21, 10, 7, ""),
        ("qda", 500, 20, 7, "too few rows of the rarest class"),
        ("qda", 500, 21, 7, ""),
        ("fisher", 40, 20, 2000, ""),
        ("fisher", 30_000, 15_000, 300, "so many columns"),
        ("nadaraya-watson", 4001, 2000, 3, "beyond 4,000 rows"),
        ("svm-rbf", 2001, 1000, 3, "beyond 2,000 rows"),
        ("knn", 15_001, 7000, 3, "beyond 15,000 rows"),
        ("logistic", 40_000, 9, 3000, ""),
    ],
)
def test_who_is_left_out_and_why(name, rows, rarest, columns, why):
    found = entry_named("two classes", name).left_out(rows, rarest, columns)
    assert why in found and bool(why) == bool(found)


def test_a_name_of_another_task_is_refused_with_those_there_are():
    with pytest.raises(BadUsage, match="svr-rbf does not predict two classes"):
        entry_named("two classes", "svr-rbf")


# ----------------------------------------------------------------------- clusters on request


def test_clusters_beside_a_target_on_request():
    rng = np.random.default_rng(0)
    group = np.arange(120) % 3
    x = rng.normal(size=(120, 2)) + 12.0 * np.array([[0, 0], [1, 0], [0, 1]])[group]
    names = pl.Series("kind", np.array(["p", "q", "r"])[group])
    frame = pl.DataFrame(x, schema=["u", "v"]).with_columns(names)
    options = Options(target="kind", models=("lda",), challenger=False, clusters=True)
    found = build(source(frame), options)
    (one,) = found.numbers["clusters"]["clusterings"]
    assert one["chosen"] == 3 and one["rows"] == found.numbers["rows"]["training"]
    assert "100 % of the rows" in found.figures["cluster_classes_0"]["title"]
    text = page_text(found)
    assert "which know nothing of the target" in text and "3 clusters" in text
    assert {"S2", "S3", "S4"} <= {one["code"] for one in found.numbers["findings"]}
    assert report("qda").numbers["clusters"] is None


# ------------------------------------------------------------------------------- single words


class Votes:
    def predict_proba(self, X):
        raise AssertionError


def test_ties_of_votes_lie_below_the_threshold_of_the_model_itself():
    score, labels = np.array([0.2, 0.5, 0.8]), np.array([0, 0, 1])
    assert own_threshold(Votes(), score, labels) > 0.5
    assert own_threshold(Votes(), score, np.array([0, 1, 1])) == 0.5
    assert ((score >= own_threshold(Votes(), score, labels)) == labels).all()


def test_a_score_near_one_is_not_rounded_to_it():
    numbers = json.loads(json.dumps(report("qda").numbers))
    numbers["contest"]["models"][0]["score"]["value"] = 0.99996
    numbers["training"]["score"] = 1.0
    told = {one["code"]: one["what"] for one in fit_checks(numbers)}
    assert "1 on the training rows and 0.99996 over the folds" in told["C3"]
