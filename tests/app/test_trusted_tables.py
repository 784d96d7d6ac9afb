"""Damage that a first user met, each named where it happens."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from app import reports

from fenchel.app.report.build import Options, build
from fenchel.app.report.checks.comparison import RANGE, fold_error
from fenchel.app.report.split import Grouping
from fenchel.app.table.files.table_reader import read_table

QUICK = {"target": "default", "models": ("logistic",), "challenger": False}


def credit(n=600, seed=0):
    rng = np.random.default_rng(seed)
    age, income = rng.integers(19, 75, n), rng.lognormal(10.0, 0.5, n).round(2)
    amount = rng.lognormal(8.0, 0.7, n).round()
    z = -1.0 + 0.03 * (age - 45) + 0.9 * (np.log(amount) - 8.0) - 0.8 * (np.log(income) - 10.0)
    default = (rng.random(n) < 1.0 / (1.0 + np.exp(-z))).astype(int)
    return pl.DataFrame(
        {
            "age": age,
            "income": income,
            "amount": amount,
            "housing": rng.choice(["own", "rent", "free"], n),
            "default": default,
        }
    )


def checked(frame, notes=(), **options):
    source = replace(reports.source(frame), notes=tuple(notes))
    report = build(source, Options(**{**QUICK, **options}))
    return {one["code"]: one for one in report.numbers["findings"]}, report


def test_a_counter_of_the_rows_is_left_out_of_both_parts():
    frame = credit().sort("default").with_columns(n=pl.arange(1, 601))
    found, report = checked(frame.select("n", *credit().columns))
    assert "'n'" in found["D3"]["what"] and "n" not in report.encoder.columns
    (column,) = [one for one in report.numbers["columns"] if one["name"] == "n"]
    assert column["kind"] == "identifier" and not column["used"]


def test_codes_that_only_test_rows_have_count_as_missing_there_too():
    _, plain = checked(credit())
    age = credit()["age"].to_numpy().astype(float)
    age[np.array(plain.numbers["rows"]["locked"])[:6] - 1] = -999.0
    found, report = checked(credit().with_columns(age=age))
    assert "the codes of 'age' count as missing" in found["D7"]["do"]
    values = {one["key"]: one["model"]["value"] for one in report.numbers["metrics"]}
    before = {one["key"]: one["model"]["value"] for one in plain.numbers["metrics"]}
    assert values["log_loss"] == pytest.approx(before["log_loss"], abs=0.05)
    as_is, _ = checked(credit().with_columns(age=age), as_is=True)
    assert "In this report" not in as_is["D7"]["do"]


def test_the_target_is_looked_at():
    y = credit()["default"].to_numpy().astype(float)
    y[40] = 11.0
    found, _ = checked(credit().with_columns(default=y), models=("ridge",))
    assert found["D12"]["severity"] == "problem" and "row 41 holds 11" in found["D12"]["what"]
    assert checked(credit())[0]["D12"]["severity"] == "passed"


@pytest.mark.parametrize("kind", ["number", "text"])
def test_a_leak_through_missing_cells(kind):
    y = credit()["default"].to_numpy()
    cells = [("charged_off" if kind == "text" else float(k)) if one else None
             for k, one in enumerate(y)]  # fmt: skip
    found, _ = checked(credit().with_columns(recovery=pl.Series(cells)))
    assert found["D5"]["severity"] == "problem"
    assert "'recovery': whether it is missing" in found["D5"]["what"]


def test_every_leak_has_its_own_reason():
    y = credit()["default"].to_numpy()
    frame = credit().with_columns(a=y + 0.01 * np.random.default_rng(0).random(600),
                                  b=np.where(y == 1, "x", "z"))  # fmt: skip
    found, _ = checked(frame)
    assert "'a': alone it gives AUC" in found["D5"]["what"]
    assert "'b': it is the target under another name" in found["D5"]["what"]


def test_columns_that_could_not_be_used_are_named():
    found, _ = checked(credit().with_columns(k=pl.Series([f"{i / 7:.3f}k" for i in range(600)])))
    assert "'k'" in found["D3"]["what"]
    rate = [f"{(i * 37 % 251) / 10}{'%' if i % 2 else ''}" for i in range(600)]
    found, _ = checked(credit().with_columns(rate=pl.Series(rate)))
    assert found["D13"]["severity"] == "warning" and "'rate'" in found["D13"]["what"]


def test_guesses_and_losses_of_the_reader_are_no_nothing(tmp_path):
    path = tmp_path / "t.csv"
    rows = [f"{k},{(k * 37) % 97},#DIV/0!" if k == 50 else f"{k},{(k * 37) % 97},{k % 9}.5"
            for k in range(1, 300)]  # fmt: skip
    path.write_text("\n".join(["row,x,default", *rows]))
    source = read_table(str(path))
    options = Options(target="default", models=("ridge",), challenger=False)
    found = {one["code"]: one for one in build(source, options).numbers["findings"]}
    assert found["R1"]["severity"] == "warning" and "#DIV/0!" in found["R1"]["what"]
    quiet, _ = checked(credit(), notes=["delimiter tab ('\\t')"])
    assert quiet["R1"]["severity"] == "passed"


def test_groups_widen_the_interval_and_are_counted():
    rng = np.random.default_rng(0)
    who = rng.integers(0, 80, 600)
    level = rng.normal(0.0, 2.0, 80)
    x = rng.normal(size=600) + level[who]
    y = np.where(x + level[who] + rng.normal(size=600) > 0, "ill", "well")
    frame = pl.DataFrame({"x": x, "patient": [f"P-{k:04}" for k in who], "default": y})
    found, _ = checked(frame)
    assert found["P7"]["severity"] == "warning" and "'patient'" in found["P7"]["what"]
    found, report = checked(frame, by=Grouping(groups="patient"))
    head = report.numbers["headline"]["model"]
    assert "cluster bootstrap over" in head["method"]
    assert f"are {report.numbers['rows']['split']['test_groups']} groups" in found["P9"]["what"]
    alone, _ = checked(credit().with_columns(key=pl.arange(600)), by=Grouping(groups="key"))
    assert "in effect" in alone["P9"]["what"]


def test_ordinary_folds_are_not_called_unstable():
    """The limit of the range of five folds is that of chance."""
    rng = np.random.default_rng(0)
    numbers = {
        "contest": {"rows": 450, "outer_folds": 5, "metric": "AUC"},
        "balance": [{"rows": 192}, {"rows": 408}],
        "rows": {"used": 600},
    }
    from sklearn.metrics import roc_auc_score

    fired = 0
    for _ in range(200):
        areas = []
        for _ in range(5):
            y = (rng.random(90) < 0.32).astype(int)
            areas.append(roc_auc_score(y, rng.normal(0.87 * y, 1.0)))
        spread = max(areas) - min(areas)
        fired += spread > RANGE * fold_error(numbers, float(np.mean(areas)))
    assert fired <= 6


def test_spellings_rows_without_target_and_coded_dates():
    frame = credit().with_columns(
        housing=pl.when(pl.arange(600) % 5 == 0).then(pl.lit("Own")).otherwise(pl.col("housing")),
        closed=pl.Series(np.where(np.arange(600) % 20 == 0, 2932896, 19000 + np.arange(600) % 700))
        .cast(pl.Int32).cast(pl.Date),
        default=pl.when(pl.arange(600) < 62).then(None).otherwise(pl.col("default")),
    )  # fmt: skip
    found, report = checked(frame)
    assert "'housing' has 'Own', 'own'" in found["D14"]["what"]
    assert "62 of 600 rows" in found["P10"]["what"]
    assert report.verdict()[0].startswith("table.csv: 538 of 600 rows")
    assert "'closed' holds 9999-12-31 in" in found["D7"]["what"]


def test_duplicates_do_not_make_a_relation_curved():
    frame = pl.concat([credit(), credit()])
    found, _ = checked(frame, challenger=True)
    assert found["M4"]["severity"] in ("info", "passed")
    if found["M4"]["severity"] == "info":
        assert "duplicates" in found["M4"]["what"] and "not linear" not in found["M4"]["what"]


def test_a_model_of_zeros_says_so():
    rng = np.random.default_rng(0)
    frame = credit().with_columns(default=rng.integers(0, 2, 600))
    report = build(
        reports.source(frame), Options(**{**QUICK, "models": ("logistic-l1",), "seed": 1})
    )
    if not np.any(report.model.coef_):
        found = {one["code"]: one for one in report.numbers["findings"]}
        assert "Every coefficient is 0" in found["C7"]["what"]
        assert report.numbers["headline"]["model"]["method"].startswith("exact")


def test_many_columns_and_pairs_that_were_not_compared():
    rng = np.random.default_rng(0)
    wide = {f"v{k}": rng.normal(size=120) for k in range(205)}
    frame = pl.DataFrame({**wide, "default": rng.integers(0, 2, 120)})
    found, _ = checked(frame)
    assert "not looked for among more than 200" in found["D9"]["what"]
