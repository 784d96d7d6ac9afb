"""The matrix that a table becomes: the same in one piece, in batches, and after storage."""

from __future__ import annotations

import copy
import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

from fenchel.app.errors import BadData, BadUsage
from fenchel.app.table.encoding.encoder import Encoder, Surprises
from fenchel.app.table.files.table_reader import batches, bundled, read_table
from fenchel.app.table.profile.column_profile import profile
from fenchel.app.table.task import Task, find_task
from fenchel.app.table.text import text_rows as text

NONE = Task("none")
N = 120


def fit(frame, **how):
    return Encoder.fit(frame, find_task(frame), **how)


def plan(encoder, name):
    return next(found for found in encoder.plans if found.name == name)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    age = rng.integers(20, 70, N)
    return pl.DataFrame(
        {
            "age": pl.Series([None if i % 10 == 0 else int(a) for i, a in enumerate(age)]),
            "pay": rng.normal(1000, 50, N),
            "job": pl.Series([["cook", "pilot", "clerk", None, "cook"][i % 5] for i in range(N)]),
            "sex": [["f", "m", "m"][i % 3] for i in range(N)],
            "town": [["Ulm", "Bonn", "Ulm", f"t{i}"][i % 4] for i in range(N)],
            "on": [date(2024, 1, 1) + timedelta(days=i % 50) for i in range(N)],
            "ok": [i % 7 < 2 for i in range(N)],
            "id": np.arange(N),
            "fixed": ["x"] * N,
            "y": rng.choice(["no", "yes"], N),
        }
    )


def test_columns_and_names(table):
    encoder = fit(table)
    assert encoder.names == (
        *("age", "age is missing", "pay", "job=cook", "job=clerk", "job=pilot", "job is missing"),
        *("sex=f", "town=Ulm", "town=Bonn", "town=other", "on", "ok"),
    )
    assert encoder.columns == ("age", "pay", "job", "sex", "town", "on", "ok")
    assert encoder.text_columns == ("job", "sex", "town") and encoder.target == "y"
    assert len(encoder.origins) == len(encoder.names) == len(encoder.scales)
    dropped = {p.name: p.rule for p in encoder.plans if p.kind == "dropped"}
    assert dropped == {
        "id": "left out: counts the rows from 0 to 119: an identifier",
        "fixed": "left out: the same value in every row",
    }
    assert all(p.rule for p in encoder.plans)


def test_values(table):
    encoder = fit(table)
    X = encoder.transform(table)
    assert X.shape == (N, len(encoder.names)) and X.dtype == np.float64 and X.flags.c_contiguous
    column = dict(zip(encoder.names, X.T, strict=True))
    age = table["age"].to_numpy().astype(float)
    filled = np.where(np.isnan(age), np.nanmedian(age), age)
    np.testing.assert_allclose(column["age"], (filled - np.nanmean(age)) / np.nanstd(age))
    np.testing.assert_array_equal(column["age is missing"], np.isnan(age))
    assert column["pay"].mean() == pytest.approx(0) and column["pay"].std() == pytest.approx(1)
    np.testing.assert_array_equal(column["job=cook"], table["job"].eq_missing("cook"))
    np.testing.assert_array_equal(column["job is missing"], table["job"].is_null())
    np.testing.assert_array_equal(column["sex=f"], table["sex"] == "f")
    np.testing.assert_array_equal(column["ok"], table["ok"])
    at = encoder.names.index("on")
    assert np.ptp(column["on"]) * encoder.scales[at] == pytest.approx(49)
    towns = [name for name in encoder.names if name.startswith("town=")]
    assert towns == ["town=Ulm", "town=Bonn", "town=other"]
    np.testing.assert_array_equal(sum(column[name] for name in towns), 1.0)


def test_batches_and_text_give_the_same_bits(table, tmp_path, monkeypatch):
    monkeypatch.setattr(text, "_SLAB", 700)
    odd = table.with_columns(pay=pl.col("pay").round(2), w=pl.Series([0.0, -0.0, 1.0] * 40) - 0.5)
    for kind in ("csv", "semicolon", "parquet"):
        path = str(tmp_path / f"t.{kind}")
        if kind == "parquet":
            odd.write_parquet(path, row_group_size=50)
        elif kind == "csv":
            odd.write_csv(path, null_value="NA")
        else:
            odd.write_csv(path, separator=";", decimal_comma=True)
        source = read_table(path)
        encoder = Encoder.fit(source.frame, find_task(source.frame), formats=source.formats)
        whole = encoder.transform(source.frame)
        parts = [encoder.transform(part) for part in batches(path, encoder.columns, 7)]
        assert len(parts) > 10
        np.testing.assert_array_equal(np.concatenate(parts), whole)
        assert np.signbit(np.concatenate(parts)).tolist() == np.signbit(whole).tolist()
        again = read_table(path, text=encoder.text_columns).frame
        np.testing.assert_array_equal(encoder.transform(again), whole)
        if kind == "csv":
            first = whole
        np.testing.assert_array_equal(whole, first)


def cell(rng, kind):
    return {
        "whole": lambda: str(rng.integers(-3, 5)),
        "float": lambda: repr(float(rng.normal())),
        "odd": lambda: rng.choice(["1e3", "-.5", "+2", "nan", "-0", "0"]),
        "text": lambda: rng.choice(["a", "c,d", 'q"x', "é", "01", "x;y", "two\nlines", " b "]),
        "truth": lambda: rng.choice(["true", "False"]),
        "iso": lambda: f"2024-{rng.integers(1, 13):02}-{rng.integers(1, 29):02}",
        "day": lambda: f"{rng.integers(1, 29):02}/{rng.integers(1, 13):02}/2023",
        "comma": lambda: f"{rng.integers(9)},{rng.integers(99)}",
    }[kind]()


@pytest.mark.parametrize("seed", range(10))
def test_any_text_table(tmp_path, monkeypatch, seed):
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(text, "_SLAB", int(rng.choice([256, 1024, 2**23])))
    path = str(tmp_path / "t.csv")
    columns = {"y": [str(v) for v in rng.integers(0, 2, 200)]}
    for kind in ("whole", "float", "odd", "text", "truth", "iso", "day", "comma"):
        holes, strays = rng.choice([0.0, 0.1, 0.5]), rng.choice([0.0, 0.004])
        columns[kind] = [
            rng.choice(["", "NA", "?"]) if rng.random() < holes
            else "word" if rng.random() < strays else str(cell(rng, kind))
            for _ in range(200)
        ]  # fmt: skip
    ends = rng.choice(["\n", "\r\n"])
    separator = str(rng.choice([",", ";", "\t", "|"]))
    pl.DataFrame(columns).write_csv(path, separator=separator, line_terminator=str(ends))
    source = read_table(path)
    task = find_task(source.frame)
    encoder = Encoder.fit(source.frame, task, formats=source.formats)
    parts = list(batches(path, rows=int(rng.choice([1, 7, 64]))))
    streamed = np.concatenate([encoder.transform(part) for part in parts])
    assert streamed.tobytes() == encoder.transform(source.frame).tobytes()
    codes = np.concatenate([task.codes(part) for part in parts])
    assert codes.tobytes() == task.codes(source.frame).tobytes()


def test_dates_of_another_hand(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("d,y\n" + "".join(f"{i % 28 + 1}/02/2024,{i % 3 % 2}\n" for i in range(60)))
    source = read_table(str(path))
    encoder = Encoder.fit(source.frame, find_task(source.frame), formats=source.formats)
    surprises = Surprises()
    (batch,) = batches(str(path))
    np.testing.assert_array_equal(
        encoder.transform(batch, surprises), encoder.transform(source.frame)
    )
    assert surprises.sentences() == ()
    blind = Encoder.fit(source.frame, find_task(source.frame))
    blind.transform(batch, surprises)
    assert "60 cells not what the column holds" in surprises.sentences()[0]


def test_surprises(table):
    encoder = fit(table)
    new = table.head(4).with_columns(
        age=pl.Series(["30", "abc", "", "inf"]),
        pay=pl.Series([1000.0, None, float("nan"), float("inf")]),
        sex=pl.Series(["f", "x", "?", "m"]),
        town=pl.Series(["Ulm", "nowhere", None, "t1"]),
        ok=pl.Series([None, "TRUE", "0", "maybe"]),
    )
    surprises = Surprises()
    X = encoder.transform(new, surprises)
    assert np.isfinite(X).all()
    column = dict(zip(encoder.names, X.T, strict=True))
    assert column["age is missing"].tolist() == [0, 1, 1, 1]
    assert column["pay"][1] == column["pay"][2] == column["pay"][3] != column["pay"][0]
    assert column["sex=f"].tolist() == [1, 0, 0, 0]
    assert column["town=other"].tolist() == [0, 1, 0, 1] and column["town=Ulm"][2] == 1
    assert column["ok"].tolist() == [0, 1, 0, 0]
    told = "\n".join(surprises.sentences())
    assert "column 'age': 2 cells not what the column holds (such as 'abc')" in told
    assert "column 'pay': 2 cells missing, where training had none, filled with the median" in told
    assert "column 'sex': 1 cell with levels unknown to training (such as 'x')" in told
    assert "column 'ok': 1 cell missing, where training had none, filled with the more" in told
    encoder.transform(new, surprises)
    assert surprises.strays["age"] == 4


def test_columns_are_matched_by_name(table):
    encoder = fit(table)
    mixed = table.select(reversed(table.columns)).with_columns(extra=pl.lit(1))
    np.testing.assert_array_equal(encoder.transform(mixed), encoder.transform(table))
    assert encoder.check(table.columns) == ()
    assert encoder.check(mixed.columns) == (
        "1 column is not known to the model and not used: 'extra'",
    )
    with pytest.raises(BadData, match="no column 'age', which the model needs: did you mean 'Age'"):
        encoder.transform(table.rename({"age": "Age"}))


def test_drop(table):
    assert "pay" not in fit(table, drop=["pay"]).names
    with pytest.raises(BadUsage, match="no column 'pai' to drop: did you mean 'pay'"):
        fit(table, drop=["pai"])


def test_leaks_stay_and_copies_go(table):
    leaking = table.with_columns(
        leak=(pl.col("y") == "yes").cast(pl.Float64) + pl.Series(np.linspace(0, 0.5, N)),
        copy=(pl.col("y") == "yes").cast(pl.Int8),
        pay2=pl.col("pay"),
    )
    encoder = fit(leaking)
    assert "leak" in encoder.names
    assert "target under another name" in plan(encoder, "copy").rule
    assert "equal to column 'pay'" in plan(encoder, "pay2").rule


def test_every_type():
    kinds = {
        "u8": pl.Series([1, 2, None] * 20, dtype=pl.UInt8),
        "f32": pl.Series([1.5, 2.5, 3.5] * 20, dtype=pl.Float32),
        "decimal": pl.Series([Decimal("1.50"), Decimal("2.25"), Decimal("9")] * 20),
        "truth": pl.Series([True, None, False] * 20),
        "category": pl.Series(["a", "b", "c"] * 20, dtype=pl.Categorical),
        "enum": pl.Series(["p", "q", "q"] * 20, dtype=pl.Enum(["p", "q", "r"])),
        "day": pl.Series([date(2024, 1, i + 1) for i in range(3)] * 20),
        "moment": pl.Series([datetime(2024, 1, 1, i, i) for i in range(3)] * 20),
        "span": pl.Series([timedelta(minutes=i) for i in (1, 2, 4)] * 20),
        "time": pl.Series([time(i) for i in (1, 2, 4)] * 20),
        "nothing": pl.Series([None] * 60),
        "list": pl.Series([[1], [2], []] * 20),
        "struct": pl.Series([{"a": 1}] * 60),
        "binary": pl.Series([b"x", b"y", b"z"] * 20),
    }
    frame = pl.DataFrame(kinds)
    encoder = Encoder.fit(frame, NONE)
    X = encoder.transform(frame)
    assert np.isfinite(X).all()
    dropped = [p.name for p in encoder.plans if p.kind == "dropped"]
    assert dropped == ["nothing", "list", "struct", "binary"]
    assert {"truth is missing", "u8 is missing", "category=b", "enum=p"} <= set(encoder.names)
    span = X[:, encoder.names.index("span")]
    assert (span[2] - span[0]) / (span[1] - span[0]) == pytest.approx(3)


def test_only_missing_matters():
    frame = pl.DataFrame({"a": [5.0, None] * 20, "b": ["x", None] * 20, "c": np.arange(40) ** 2.0})
    encoder = Encoder.fit(frame, NONE)
    assert encoder.names == ("a is missing", "b is missing", "c")
    assert encoder.transform(frame)[:2, :2].tolist() == [[0, 0], [1, 1]]


def test_ten_thousand_categories():
    rng = np.random.default_rng(0)
    level = np.where(rng.random(30_000) < 0.5, rng.integers(0, 40, 30_000), 10**6)
    level = np.where(level == 10**6, rng.integers(1000, 11_000, 30_000), level)
    frame = pl.DataFrame({"c": [f"l{i}" for i in level]})
    encoder = Encoder.fit(frame, NONE)
    assert len(encoder.names) == 31 and encoder.names[-1] == "c=other"
    assert encoder.transform(frame).sum() == 30_000
    rare = pl.DataFrame({"c": [f"level{i // 2}" for i in range(1000)], "x": np.arange(1000) ** 2})
    assert "none of its 500 levels has 10 rows" in plan(Encoder.fit(rare, NONE), "c").rule


def test_names_stay_apart():
    frame = pl.DataFrame(
        {
            "a": ["b", "other", "c", "d"] * 20 + ["rare"],
            "a=b": np.arange(81.0) ** 2,
            "<script>alert(1)</script>": np.sin(np.arange(81.0)),
            "long": ["x" * 200, "y" * 200, "z" * 200] * 27,
        }
    )
    encoder = Encoder.fit(frame, NONE)
    assert len(set(encoder.names)) == len(encoder.names)
    assert "a=other" in encoder.names and "a=other levels" in encoder.names
    assert "<script>alert(1)</script>" in encoder.names
    assert max(len(name) for name in encoder.names) < 90


def test_extreme_numbers():
    big = np.finfo(np.float64).max
    frame = pl.DataFrame({"a": [big, -big, 0.0] * 10, "b": [1.0, 1.0 + 2**-52, 1.0] * 10})
    encoder = Encoder.fit(frame, NONE)
    assert np.isfinite(encoder.transform(frame)).all()
    far = pl.DataFrame({"a": [1.0], "b": [big]})
    assert np.isfinite(encoder.transform(far)).all()


def test_nothing_to_use():
    with pytest.raises(BadData, match="no column of the table can be used"):
        Encoder.fit(pl.DataFrame({"a": [1, 1], "y": [0, 1]}), Task("number", "y"))
    with pytest.raises(BadData, match="no column of the table can be used:"):
        Encoder.fit(pl.DataFrame({"y": [0, 1]}), Task("number", "y"))


def test_profiles_can_be_shared():
    source = bundled()
    task = find_task(source.frame)
    shared = Encoder.fit(source.frame.head(300), task, profile(source.frame, task))
    assert shared.transform(source.frame).shape == (569, 30)
    assert shared.transform(source.frame.head(300)).mean() == pytest.approx(0)
    assert shared.transform(source.frame.head(0)).shape == (0, 30)


def test_round_trip(table):
    encoder = fit(table)
    state, arrays = encoder.to_state()
    back = Encoder.from_state(json.loads(json.dumps(state)), arrays)
    assert back == encoder
    np.testing.assert_array_equal(back.transform(table), encoder.transform(table))


FORGERIES = {
    "format": lambda s, a: s.update(format=3),
    "format as truth": lambda s, a: s.update(format=True),
    "entry more": lambda s, a: s.update(more=1),
    "no plans": lambda s, a: s.update(plans=[]),
    "plans as text": lambda s, a: s.update(plans="ab"),
    "target": lambda s, a: s.update(target=3),
    "target among columns": lambda s, a: s.update(target="age"),
    "column twice": lambda s, a: s["plans"].__setitem__(1, s["plans"][0]),
    "plan as list": lambda s, a: s["plans"].__setitem__(0, []),
    "plan entry more": lambda s, a: s["plans"][0].update(more=1),
    "name": lambda s, a: s["plans"][0].update(name=None),
    "kind": lambda s, a: s["plans"][0].update(kind="magic"),
    "kind as list": lambda s, a: s["plans"][0].update(kind=[]),
    "flag": lambda s, a: s["plans"][0].update(flag=1),
    "levels of a number": lambda s, a: s["plans"][0].update(levels=["a"]),
    "other of a number": lambda s, a: s["plans"][0].update(other=True),
    "no levels": lambda s, a: s["plans"][2].update(levels=[]),
    "level twice": lambda s, a: s["plans"][2].update(levels=["a", "a"]),
    "level as number": lambda s, a: s["plans"][2].update(levels=[1, 2]),
    "many levels": lambda s, a: s["plans"][2].update(levels=[str(i) for i in range(31)]),
    "date format": lambda s, a: s["plans"][5].update(written="%Q"),
    "reason": lambda s, a: s["plans"][7].update(reason=7),
    "all dropped": lambda s, a: [p.update(kind="dropped", levels=[], other=False)
                                 for p in s["plans"]],
    "codes as text": lambda s, a: s["plans"][0].update(codes="9"),
    "codes that are texts": lambda s, a: s["plans"][0].update(codes=["9"]),
    "limits of one": lambda s, a: s["plans"][0].update(clip=[1.0]),
    "limits turned round": lambda s, a: s["plans"][0].update(clip=[2.0, 1.0]),
    "weights of nothing": lambda s, a: a.update(weights=np.ones(3)),
    "weights of a list": lambda s, a: a.update(weights=[]),
    "no array": lambda s, a: a.clear(),
    "array more": lambda s, a: a.update(more=np.zeros(1)),
    "array of floats32": lambda s, a: a.update(numbers=a["numbers"].astype(np.float32)),
    "array short": lambda s, a: a.update(numbers=a["numbers"][:-1]),
    "array as list": lambda s, a: a.update(numbers=a["numbers"].tolist()),
    "infinite": lambda s, a: a["numbers"].__setitem__((0, 0), np.inf),
    "scale 0": lambda s, a: a["numbers"].__setitem__((0, 1), 0.0),
    "scale below 0": lambda s, a: a["numbers"].__setitem__((1, 1), -1.0),
}  # fmt: skip


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES.keys())
def test_forged_states_are_refused(table, forge):
    state, arrays = copy.deepcopy(fit(table).to_state())
    forge(state, arrays)
    with pytest.raises(ValueError):
        Encoder.from_state(state, arrays)
    with pytest.raises(ValueError):
        Encoder.from_state([], arrays)
