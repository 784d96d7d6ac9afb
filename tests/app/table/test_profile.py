"""Columns told apart, and how they go with the target."""

from __future__ import annotations

import json
from datetime import date, timedelta

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_iris

from fenchel.app.table.files.table_reader import bundled
from fenchel.app.table.profile import column_profile as module
from fenchel.app.table.profile.column_profile import duplicate_rows, profile
from fenchel.app.table.task import Task, find_task
from fenchel.score.area.auc import auc

N = 400


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N)
    noise = rng.normal(size=N)
    job = rng.choice(["clerk", "cook", "pilot"], N)
    return pl.DataFrame(
        {
            "noise": noise,
            "signal": noise + y,
            "leak": y + 0.1 * rng.random(N),
            "copy": np.where(y == 1, "ill", "well"),
            "job": job,
            "again": job,
            "same": ["x"] * N,
            "same but missing": pl.Series([5.0, None] * (N // 2)),
            "empty": pl.Series([None] * N, dtype=pl.String),
            "row": np.arange(N) + 7,
            "shuffled": rng.permutation(N),
            "customer_id": np.arange(N) * 3,
            "paid": np.arange(N) * 3 + rng.integers(0, 2, N),
            "key": [f"k{i:04}" for i in range(N)],
            "prose": [
                f"a {a} story about {b} that nobody {c}"
                for a, b, c in rng.choice([f"w{chr(97 + k)}" for k in range(26)], (N, 3))
            ],
            "on": [date(2024, 1, 1) + timedelta(days=int(d)) for d in rng.integers(0, 99, N)],
            "flag": rng.integers(0, 2, N) == 1,
            "holes": pl.Series([None if i % 4 else float(i) for i in range(N)]),
            "y": y,
        }
    )


@pytest.fixture(scope="module")
def found(table):
    return {column.name: column for column in profile(table, find_task(table))}


def test_kinds(found):
    kinds = {name: column.kind for name, column in found.items()}
    assert kinds == {
        **dict.fromkeys(["noise", "signal", "leak", "same but missing", "paid", "holes"], "number"),
        **dict.fromkeys(["copy", "job", "again"], "category"),
        **dict.fromkeys(["row", "shuffled", "customer_id", "key"], "identifier"),
        "same": "constant",
        "empty": "empty",
        "prose": "text",
        "on": "date",
        "flag": "truth value",
    }
    assert "y" not in found


def test_numbers(found, table):
    noise = found["noise"]
    assert noise.low == table["noise"].min() and noise.high == table["noise"].max()
    assert noise.mean == pytest.approx(table["noise"].mean())
    assert noise.deviation == pytest.approx(table["noise"].std(ddof=0))
    assert sum(noise.counts) == N and len(noise.edges) == len(noise.counts) + 1
    assert noise.edges[0] == noise.low and noise.edges[-1] == noise.high
    assert noise.distinct == N and noise.missing == 0
    assert found["holes"].missing == 300 and found["holes"].distinct == 100
    assert "75 % missing" in found["holes"].remarks
    assert "one value only" in found["same but missing"].remarks[0]


def test_levels_and_dates(found, table):
    job = found["job"]
    assert job.distinct == 3 and sum(count for _, count in job.levels) == N
    assert job.levels[0][1] >= job.levels[1][1] >= job.levels[2][1]
    assert found["on"].low == str(table["on"].min()) and sum(found["on"].counts) == N
    assert dict(found["flag"].levels)["true"] == table["flag"].sum()


def test_association_and_leaks(found, table):
    signal = found["signal"]
    assert signal.measure == "AUC" and signal.leak is None
    assert signal.association == pytest.approx(auc(table["y"], table["signal"]))
    assert 0.5 <= found["noise"].association < 0.6
    assert "AUC 1.0000" in found["leak"].leak and not found["leak"].copy
    assert found["copy"].copy and "another name" in found["copy"].leak
    assert found["copy"].association > 0.99 and found["copy"].measure == "Cramér's V"
    assert found["job"].association < 0.2 and found["job"].leak is None
    assert [name for name, column in found.items() if column.leak] == ["leak", "copy"]


def test_equal_columns(found):
    assert found["again"].same_as == "job" and "equal to column 'job'" in found["again"].remarks
    assert [n for n, column in found.items() if column.same_as] == ["again"]


def test_plain_values(found):
    for column in found.values():
        assert json.loads(json.dumps(column.to_dict(), allow_nan=False)) == column.to_dict()


def test_several_classes():
    data = load_iris()
    table = pl.DataFrame(data.data, schema=list("abcd")).with_columns(
        y=pl.Series([str(data.target_names[t]) for t in data.target]),
        code=pl.Series([[2, 0, 1][t] for t in data.target]),
        near=pl.Series(data.target + np.linspace(0, 0.5, 150)),
    )
    found = {column.name: column for column in profile(table, find_task(table))}
    assert found["c"].measure == "correlation ratio" and 0.9 < found["c"].association < 1
    assert not any(found[name].leak for name in "abcd")
    assert found["code"].copy and "order" in found["near"].leak


def test_number_target():
    rng = np.random.default_rng(1)
    x = rng.normal(size=300)
    y = np.exp(x)
    table = pl.DataFrame(
        {
            "x": x,
            "line": 3 - 2 * y,
            "other": rng.normal(size=300),
            "half": x + rng.normal(size=300),
            "group": np.where(y > 1, "high", "low"),
            "y": y,
        }
    )
    found = {column.name: column for column in profile(table, find_task(table))}
    assert "rank correlation" in found["x"].leak and not found["x"].copy
    assert found["line"].copy
    assert found["other"].leak is None and found["other"].association < 0.2
    assert found["half"].measure == "|correlation|"
    assert found["group"].measure == "correlation ratio" and found["group"].leak is None


def test_no_target_and_little_data():
    table = pl.DataFrame({"a": [1.0, 2.0], "b": ["u", "v"], "l": [[1], [2]]})
    one, two, nested = profile(table, Task("none"))
    assert one.association is None and one.kind == "number" and two.kind == "category"
    assert nested.kind == "nested" and "List" in nested.remarks[0]
    tiny = profile(table.with_columns(y=pl.Series([0, 1])), find_task(pl.DataFrame({"y": [0, 1]})))
    assert not any(column.leak or column.copy for column in tiny)
    (single,) = profile(pl.DataFrame({"a": [1.0]}), Task("none"))
    assert single.kind == "constant"


def test_huge_and_odd_numbers():
    big = np.finfo(np.float64).max
    table = pl.DataFrame(
        {"a": [big, -big, 0.0] * 20, "b": [np.inf, np.nan, 1.0] * 20, "y": [0, 1, 1] * 20}
    )
    a, b = profile(table, find_task(table))
    assert a.high == big and a.deviation <= big and sum(a.counts) == 60
    assert b.missing == 40 and b.distinct == 1


def test_ten_thousand_categories():
    rng = np.random.default_rng(0)
    table = pl.DataFrame(
        {"c": [f"level {i}" for i in rng.integers(0, 10_000, 30_000)], "y": [0, 1, 1] * 10_000}
    )
    (column,) = profile(table, find_task(table))
    assert column.kind == "category" and column.distinct > 9000 and len(column.levels) == 10
    assert column.leak is None and column.association < 0.1


def test_sample(monkeypatch):
    monkeypatch.setattr(module, "MOST_ROWS", 200)
    columns = profile(bundled().frame, find_task(bundled().frame))
    assert all("sample of 200 rows" in column.remarks[-1] for column in columns)
    assert sum(columns[0].counts) == 200 and columns[0].rows == 569
    assert columns == profile(bundled().frame, find_task(bundled().frame))


def test_duplicate_rows():
    table = pl.DataFrame({"a": [1, 1, 1, 2], "b": ["x", "x", None, "x"]})
    assert duplicate_rows(table) == 1
    assert duplicate_rows(bundled().frame) == 0
