"""The report: its numbers, its files, what it says and what it does not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from app import reports

from fenchel.app.catalogue import MODELS
from fenchel.app.errors import BadData, BadUsage
from fenchel.app.modelfile import open_model
from fenchel.app.report.analysis.binary import positive_score
from fenchel.app.report.build import Options, build
from fenchel.app.report.split import split_rows
from fenchel.app.table.files.table_reader import bundled

ALL = [
    *(reports.cancer, reports.wine, reports.diabetes, reports.hostile),
    *(reports.loose, reports.bottles),
]
TASKS = [reports.cancer, reports.wine, reports.diabetes, reports.hostile]
INTERVAL = {"low", "high", "level", "method"}


def entries(value: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Everything that has a value, wherever it stands."""
    if isinstance(value, dict):
        if "value" in value:
            yield path, value
        for key, part in value.items():
            yield from entries(part, f"{path}.{key}")
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from entries(part, f"{path}[{place}]")


@pytest.mark.parametrize("report", ALL)
def test_every_number_has_its_interval_or_says_why_not(report):
    numbers = json.loads(report().json())
    found = 0
    for path, entry in entries(numbers):
        found += 1
        if entry["value"] is None:
            assert entry["reason"], path
        elif "reason" in entry:
            assert isinstance(entry["reason"], str) and entry["reason"], path
        else:
            assert set(entry) >= INTERVAL, path
            assert entry["low"] <= entry["value"] <= entry["high"], path
            assert 0.0 < entry["level"] <= 1.0 and entry["method"], path
    assert found
    for metric in numbers.get("metrics", ()):
        assert "value" in metric["model"] and "value" in metric["baseline"]


@pytest.mark.parametrize("report", ALL)
def test_the_json_is_every_number_and_nothing_else(report):
    assert json.loads(report().json()) == report().numbers


def test_verdicts_are_what_a_person_asks_first():
    first, positive, model, score, proof, checks = reports.cancer().verdict()
    assert first.startswith("breast cancer") and "malignant or benign" in first
    assert positive == "positive class: malignant (by its name; --positive chooses)"
    rivals = len(reports.cancer().numbers["contest"]["models"]) - 1
    assert rivals >= len(MODELS["two classes"]) - 2  # a covariance for each class takes more rows
    assert "logistic regression" in model and f"{rivals} other models and a constant" in model
    assert re.search(r"AUC on 143 locked test rows: 0\.99\d \[0\.9\d+, \d\.\d+\] \(95 %\)", score)
    assert score.endswith("a constant has 0.5")
    assert proof.startswith("certified: the fit is within")
    assert re.fullmatch(r"\d+ checks: no problem and no warning", checks)
    assert "R² on 111 locked test rows" in reports.diabetes().verdict()[2]
    assert "accuracy on 45 locked test rows" in reports.wine().verdict()[2]
    _, why, clusters, plane, _ = reports.bottles().verdict()
    assert why.startswith("nothing to predict") and "--target" in why
    assert re.fullmatch(
        r"k-means: 3 clusters with 55\.2 % of the variance inside them, at most 1\.\d % above the "
        r"least possible; no 3 clusters can have less than 54\.\d %",
        clusters,
    )
    assert plane.endswith("hold 55.4 % of the variance, and no other plane holds more")
    assert "D5 suspected leaks" in reports.hostile().verdict()[-1]


def test_verdicts_hold_no_sign_that_a_terminal_obeys():
    found = replace(reports.loose(), numbers=dict(reports.loose().numbers))
    found.numbers["source"] = {**found.numbers["source"], "name": "a\x1b[31mb\nc"}
    assert all(line.isprintable() for line in found.verdict())


def test_the_threshold_table_counts_the_test_rows(tmp_path):
    report = reports.cancer()
    paths = report.write(tmp_path)
    held = open_model(tmp_path / "model.fen")
    frame = bundled().frame
    task = held.task
    parts = split_rows(frame, task, 0.25, 0)
    test = parts.frame[parts.test]
    score = positive_score(held.model, held.encoder.transform(test))
    y = task.codes(test)
    columns = report.numbers["decisions"]["table"]["columns"]
    for t, tp, fp in zip(columns["threshold"], columns["tp"], columns["fp"], strict=True):
        assert (tp, fp) == (int((score[y == 1] >= t).sum()), int((score[y == 0] >= t).sum()))
    assert report.numbers["decisions"]["start"] in columns["threshold"]
    assert [path.name for path in paths] == ["report.html", "model.fen", "report.json"]
    assert held.manifest["extra"]["data"]["sha256"] == report.numbers["source"]["sha256"]


def test_marked_thresholds_are_counted_and_promised():
    report = reports.cancer()
    own, cost, promised = report.numbers["decisions"]["marked"]
    assert (own["key"], own["threshold"]) == ("own", 0.5)
    assert cost["key"] == "cost"
    assert promised["fpr"]["high"] == 0.05 and promised["fpr"]["level"] >= 0.95
    assert promised["fpr"]["value"] <= 0.05
    short = reports.hostile().numbers["decisions"]["marked"][2]
    assert "take at least 59 negatives" in short["reason"]


def test_metrics_of_a_model_without_probabilities_say_so():
    options = Options(models=("svm",))
    numbers = build(bundled(), options).numbers
    found = {metric["key"]: metric["model"] for metric in numbers["metrics"]}
    for key in ("log_loss", "brier"):
        assert found[key] == {"value": None, "reason": "this model gives scores, not probabilities"}
    assert numbers["calibration"]["reason"] == found["brier"]["reason"]
    assert numbers["decisions"]["marked"][0]["threshold"] == 0.0


def steady(text: str) -> str:
    """The text without the one line that differs from run to run."""
    lines = text.splitlines()
    moving = [line for line in lines if 'id="clock"' in line or line.startswith(' "clock":')]
    assert len(moving) == 1
    return "\n".join(line for line in lines if line not in moving)


def test_the_same_table_gives_the_same_bytes_but_for_one_line():
    frame = reports.hostile_frame(100).drop("leak")
    options = Options(target="</td>", models=("logistic", "svm-squared"))
    first, second = (build(reports.source(frame), options) for _ in range(2))
    assert steady(first.html()) == steady(second.html())
    assert steady(first.json()) == steady(second.json())
    assert first.numbers["clock"] != second.numbers["clock"]


def test_the_test_part_is_not_seen_before_the_end():
    """Other answers in the locked rows change nothing that was chosen or fitted."""
    frame = bundled().frame
    task_of = reports.cancer().task
    test = split_rows(frame, task_of, 0.25, 0).test
    swapped = frame.with_row_index("k").with_columns(
        pl.when(pl.col("k").is_in(test.tolist()))
        .then(pl.lit(0.0))
        .otherwise(pl.col("mean radius"))
        .alias("mean radius")
    )
    options = Options(target="diagnosis", models=("logistic",))
    one, other = (
        build(reports.source(table), options).model for table in (frame, swapped.drop("k"))
    )
    assert np.array_equal(one.coef_, other.coef_)


def test_writing_takes_a_folder_or_a_name(tmp_path):
    report = reports.wine()
    assert [path.name for path in report.write(tmp_path / "new" / "folder")] == [
        "report.html",
        "model.fen",
        "report.json",
    ]
    named = report.write(tmp_path / "wine.html")
    assert [path.name for path in named] == ["wine.html", "wine.fen", "wine.json"]
    assert json.loads(named[2].read_text())["clock"]["model_file"]["name"] == "wine.fen"
    (tmp_path / "file").write_text("")
    with pytest.raises(BadData, match="cannot write"):
        report.write(tmp_path / "file")


def test_a_table_without_a_target_has_its_rows_and_its_clusters_in_files(tmp_path):
    names = [p.name for p in reports.loose().write(tmp_path)]
    assert names == ["report.html", "rows.csv", "model.fen", "report.json"]
    named = [p.name for p in reports.loose().write(tmp_path / "t.html")]
    assert named == ["t.html", "t-rows.csv", "t.fen", "t.json"]


def test_tables_that_cannot_be_studied_are_refused_in_one_sentence():
    x = np.arange(30.0)
    few = pl.DataFrame({"x": x[:14], "y": ["a"] * 7 + ["b"] * 7})
    with pytest.raises(BadData, match="has 7 rows, and at least 8 of each"):
        build(reports.source(few), Options(target="y"))
    short = pl.DataFrame({"x": x[:12], "y": x[:12] ** 2})
    with pytest.raises(BadData, match="at least 20 are needed"):
        build(reports.source(short), Options(target="y"))
    fine = pl.DataFrame({"x": x, "y": x % 2})
    for wrong in ({"test_share": 0.0}, {"alpha": 1.5}, {"cost_fp": -1.0}, {"seed": -1}):
        with pytest.raises(BadUsage):
            build(reports.source(fine), Options(target="y", **wrong))
    with pytest.raises(BadUsage, match="did you mean logistic"):
        build(reports.source(fine), Options(target="y", models=("logistik",)))
    with pytest.raises(BadUsage, match="no column 'z' to drop"):
        build(reports.source(fine), Options(target="y", drop=("z",)))


def test_rare_classes_are_left_out_and_named():
    rng = np.random.default_rng(0)
    y = ["a"] * 40 + ["b"] * 40 + ["c"] * 5
    frame = pl.DataFrame(
        {"x": rng.normal(size=85) + np.repeat([0.0, 2.0, 9.0], [40, 40, 5]), "y": y}
    )
    report = build(reports.source(frame), Options(target="y", models=("logistic",)))
    assert report.task.kind == "two classes"
    assert report.numbers["rows"]["rare_classes"] == [{"class": "c", "rows": 5}]
    assert report.numbers["rows"]["used"] == 80
    codes = [one["code"] for one in report.numbers["findings"] if one["severity"] == "warning"]
    assert "P2" in codes


def test_the_sample_of_the_readme_is_what_is_printed():
    """But for a gap that rounding leaves of a proof in float64, which differs from machine to
    machine: up to 1e-12 of the value, `ROUNDING` of `minimise`."""
    readme = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")
    _, _, after = readme.partition("fenchel report\n```\n```\n")
    *sample, written = after.partition("\n```")[0].splitlines()
    assert written.startswith("written: fenchel-report/report.html")
    near = re.compile(r"within (rounding|\d(\.\d)?e-1[2-5]) of")
    alike = [
        [near.sub("within rounding of", line) for line in lines]
        for lines in (sample, reports.cancer().verdict())
    ]
    assert alike[0] == alike[1]


def test_tables_with_a_target_are_mapped_too():
    for report, labels in (
        (reports.cancer(), {"malignant", "benign"}),
        (reports.diabetes(), {"lowest quarter", "highest quarter"}),
    ):
        (told,) = report.numbers["embeddings"]
        assert told["certificate"]["relative_gap"] < 1e-6 and len(told["axes"]) == 2
        assert 0.7 < told["dimensions"][-1]["trustworthiness"]["value"] <= 1.0
        drawn = json.dumps(report.figures["embedding_0"]["spec"])
        assert all(label in drawn for label in labels) and "scree_0" in report.figures
        assert 'id="embedding"' in report.html()
