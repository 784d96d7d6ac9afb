"""The checks of a report: each sentence true, each severity with its size."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from app import reports

from fenchel.app.report.build import Options, build
from fenchel.app.report.checks import findings
from fenchel.app.report.split import Grouping

QUICK = {"models": ("logistic",), "challenger": False}


def rows(n=400, seed=0):
    """Two classes that follow from x; noise besides."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=n), rng.normal(size=n)
    y = np.where(x + 0.5 * rng.normal(size=n) > 0.3, "bad", "good")
    return pl.DataFrame({"x": x, "z": z, "y": y})


def checked(frame, *, problems=(), **options):
    source = replace(reports.source(frame), problems=tuple(problems))
    report = build(source, Options(**{"target": "y", **QUICK, **options}))
    return {one["code"]: one for one in report.numbers["findings"]}, report


def test_how_the_file_was_read_is_a_problem_to_confirm():
    found, report = checked(rows(), problems=["the table seems to have no header: say --no-header"])
    assert found["R1"]["severity"] == "problem" and "--no-header" in found["R1"]["what"]
    assert "R1 how the file was read" in report.verdict()[-1]
    assert checked(rows())[0]["R1"]["severity"] == "passed"


def test_codes_and_garbage_are_named_with_value_count_and_column():
    rng = np.random.default_rng(1)
    age, amount = rng.integers(18, 90, 400).astype(float), rng.lognormal(7.0, 0.8, 400).round()
    age[::10], amount[57] = -999.0, 99_999_999.0
    found, report = checked(rows().with_columns(age=age, amount=amount))
    said = found["D7"]
    assert said["severity"] == "warning"
    assert "'age' holds -999 in 40 rows (10.0 %)" in said["what"]
    assert "one cell of 'amount', 99999999 (row 58), makes most of its variance" in said["what"]
    assert "the codes of 'age' count as missing" in said["do"]
    assert "the extreme cells of 'amount' are clipped" in said["do"]
    assert "--as-is" in said["do"]
    assert "age is missing" in report.encoder.names
    plain, kept = checked(rows().with_columns(age=age, amount=amount), as_is=True)
    assert plain["D7"]["severity"] == "warning" and "age is missing" not in kept.encoder.names
    assert "In this report" not in plain["D7"]["do"]


def test_total_rows_near_copies_and_nearly_constant_columns_are_named():
    frame = rows().with_columns(sold=pl.Series(np.arange(1, 401)), paid=pl.Series(np.arange(400.0)))
    flat = np.zeros(400)
    flat[7] = 1.0
    near = frame["x"].to_numpy().copy()
    near[:2] = 5.0
    frame = frame.with_columns(flat=flat, near=near)
    total = pl.DataFrame(
        {"x": [0.0], "z": [0.0], "y": ["good"], "sold": [80_200], "paid": [79_800.0],
         "flat": [0.0], "near": [0.0]}
    )  # fmt: skip
    found, _ = checked(pl.concat([frame, total]))
    assert found["D11"]["severity"] == "problem" and "row 401" in found["D11"]["what"]
    assert "'x' and 'near' (equal in 99.5" in found["D9"]["what"]
    assert "'flat' (but for 1 row)" in found["D10"]["what"]
    calm, _ = checked(rows())
    assert {calm[code]["severity"] for code in ("D7", "D9", "D10", "D11")} == {"passed"}


def test_imbalance_sends_readers_to_what_their_report_has():
    rng = np.random.default_rng(0)
    two = rows().with_columns(y=pl.Series(np.where(np.arange(400) < 20, "bad", "good")))
    three = rows().with_columns(y=pl.Series(np.where(rng.random(400) < 0.05, "c", "a")))
    three = three.with_columns(
        y=pl.when(pl.arange(400) % 3 == 0).then(pl.lit("b")).otherwise(pl.col("y"))
    )
    found, report = checked(two)
    assert "precision-recall curve" in found["P3"]["do"] and "precision_recall" in report.figures
    found, report = checked(three)
    assert found["P3"]["severity"] != "passed" and "precision_recall" not in report.figures
    assert "precision-recall" not in found["P3"]["do"] and "each class" in found["P3"]["do"]


@pytest.mark.parametrize(
    ("again", "severity"), [(0, "passed"), (1, "info"), (12, "warning"), (60, "problem")]
)
def test_duplicate_test_rows_weigh_by_their_share(again, severity):
    numbers = reports.cancer().numbers
    numbers = {**numbers, "rows": {**numbers["rows"], "test": 400}}
    numbers["duplicates"] = {"rows": again, "test_rows_in_training": again}
    assert {one["code"]: one for one in findings(numbers)}["P1"]["severity"] == severity


@pytest.mark.parametrize(
    ("off", "apart", "severity"),
    [(0, 0.0, "passed"), (1, 0.05, "info"), (1, 0.3, "warning"), (3, 0.05, "warning")],
)
def test_calibration_weighs_by_its_size(off, apart, severity):
    numbers = dict(reports.cancer().numbers)
    bins = [
        {"predicted": 0.5, "observed": {"value": 0.5 + apart}, "off": k < off} for k in range(10)
    ]
    numbers["calibration"] = {"bins": bins, "off": off}
    found = {one["code"]: one for one in findings(numbers)}
    assert found["T1"]["severity"] == severity
    if off:
        assert f"In {off} of 10 groups" in found["T1"]["what"]


def test_the_figure_of_calibration_and_its_finding_agree():
    rng = np.random.default_rng(3)
    frame = rows(1500).with_columns(x=pl.col("x") * 1.0)
    wrong = frame.with_columns(y=pl.Series(np.where(rng.random(1500) < 0.5, "bad", "good")))
    mixed = pl.concat([frame.head(1100), wrong.tail(400)])
    _, report = checked(mixed)
    held, notes = report.numbers["calibration"], report.figures["calibration"]["notes"]
    outside = [
        one for one in held["bins"]
        if not one["observed"]["low"] <= one["predicted"] <= one["observed"]["high"]
    ]  # fmt: skip
    assert len(outside) == held["off"] == sum(one["off"] for one in held["bins"])
    word = "No bin misses" if not held["off"] else f"{held['off']} "
    assert word in notes


def test_groups_and_dates_are_named_until_the_rows_are_split_by_them():
    rng = np.random.default_rng(0)
    frame = rows().with_columns(
        patient_id=pl.Series(rng.integers(1000, 1090, 400)),
        on=pl.Series(rng.integers(19000, 19300, 400)).cast(pl.Date),
    )
    found, report = checked(frame)
    assert found["P7"]["severity"] == "warning" and "--groups patient_id" in found["P7"]["do"]
    assert found["P8"]["severity"] == "info" and "--time on" in found["P8"]["do"]
    assert not any("patient_id" in name for name in report.encoder.names)
    found, report = checked(frame, by=Grouping(groups="patient_id"))
    assert found["P7"]["severity"] == "passed"
    assert "by group: all rows of one 'patient_id'" in found["P7"]["what"]
    found, report = checked(frame, by=Grouping(time="on"))
    assert found["P8"]["severity"] == "passed" and "on" not in report.encoder.columns
    assert "in time" in report.numbers["rows"]["split"]["words"]


def test_the_rows_of_the_locked_part_are_told():
    _, report = checked(rows(), seed=5)
    locked = report.numbers["rows"]["locked"]
    assert len(locked) == report.numbers["rows"]["test"] == 100
    assert report.numbers["reproduction"]["seed"] == 5
    assert locked == sorted(set(locked)) and locked[0] >= 1 and locked[-1] <= 400
    assert all(one["row"] in locked for one in report.numbers["worst_rows"])


OUTCOMES = ("better", "stable", "agree", "calibrated", "certified", "trusted", "enough", "proved")


@pytest.mark.parametrize("report", [reports.cancer, reports.diabetes, reports.bottles])
def test_the_name_of_a_check_does_not_say_how_it_ended(report):
    """It stands over a problem as over what passed: "better than a constant" must not."""
    for one in report().numbers["findings"]:
        assert not any(word in one["name"].split() for word in OUTCOMES), one["name"]


@pytest.mark.parametrize("report", [reports.cancer, reports.diabetes, reports.hostile])
def test_an_interval_reads_the_same_in_the_verdict_and_in_the_findings(report):
    numbers = report().numbers
    (said,) = [one["what"] for one in numbers["findings"] if one["code"] == "C6"]
    (score,) = [line for line in report().verdict() if "locked test rows: " in line]
    interval = re.search(r"-?[\d.]+ (\[.*?\])", score.partition("rows: ")[2])
    assert interval and interval[0] in said and interval[1] in report().html()


def test_sentences_of_findings_begin_as_sentences_do():
    frame = rows().with_columns(pl.Series("amount", [99_999_999.0, *np.arange(399.0)]))
    found, _ = checked(frame)
    assert found["D7"]["what"].startswith("One cell of 'amount', 99999999 (row 1)")
    for one in found.values():
        assert one["what"][:1] in "'\"" or one["what"][:1] == one["what"][:1].upper(), one["what"]


def test_a_total_among_the_rows_is_no_leak():
    rng = np.random.default_rng(0)
    units, sales = rng.integers(1, 100, 60), rng.uniform(10.0, 1000.0, 60)
    frame = pl.DataFrame({"units": [*units, units.sum()], "sales": [*sales, sales.sum()]})
    found, _ = checked(
        frame.with_columns(x=pl.Series(rng.normal(size=61))), target="sales", models=("ridge",)
    )
    assert found["D11"]["severity"] == "problem" and found["D5"]["severity"] == "passed"


def test_a_model_is_called_alike_in_the_table_the_findings_and_the_figures():
    page = reports.cancer().html()
    (said,) = [one for one in reports.cancer().numbers["findings"] if one["code"] == "M3"]
    for name in ("logistic", "logistic-l1", "svm", "svm-squared"):
        assert f"--model {name}<" in page
        assert f"'{name}'" in said["what"]


def test_headings_and_leads_are_true_of_few_columns_and_few_rows():
    frame = pl.DataFrame({"x": np.arange(60.0), "y": ["a", "b", "c"] * 20})
    _, report = checked(frame, models=("logistic",))
    page = report.html()
    assert "Accuracy of every fold" in page and "1 column besides the target" in page
    assert "The intervals of the groups" not in page  # 15 test rows make no groups
