"""The command line on tables that are hard to take: an answer or one sentence."""

from __future__ import annotations

import os

import numpy as np
import polars as pl
import pytest
from app.shell import together

N = 60


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Every table below, fitted by one process: {name: Done}."""
    room = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, N)).round(3)
    y = np.where(a + 0.5 * rng.normal(size=N) > 0, "yes", "no")
    lines = [f"{a[i]},{b[i]},{y[i]}" for i in range(N)]

    def text(name, header, rows, end="\n", start=b""):
        (room / name).write_bytes(start + end.join([header, *rows, ""]).encode())

    text("bom.csv", "a,b,y", lines, start=b"\xef\xbb\xbf")
    text("semicolons.csv", "a;b;y", [x.replace(",", ";").replace(".", ",") for x in lines], "\r\n")
    text("crlf.csv", "a,b,y", lines, "\r\n")
    text("quotes.csv", '"a ""q"", z","b,b",y', lines)
    text("one_row.csv", "a,b,y", lines[:1])
    text("one_column.csv", "y", [x.rpartition(",")[2] for x in lines])
    text("empty_column.csv", "a,e,y", [f"{a[i]},,{y[i]}" for i in range(N)])
    levels = [f"level {i % 10_000},{a[i % N]},{y[i % N]}" for i in range(20_000)]
    text("categories.csv", "c,a,y", levels)
    text("one_class.csv", "a,b,y", [x.rpartition(",")[0] + ",yes" for x in lines])
    text("twice.csv", "a,a,y", lines)
    text("ragged.csv", "a,b,y", [*lines[:6], "1,2", *lines[6:]])
    text("steering.csv", '<script>alert(1)</script>,"b\x1b[31m\x07",y', lines)
    text("long_name.csv", f"{'a' * 5000},b,y", lines)
    text("no_rows.csv", "a,b,y", [])
    (room / "no_bytes.csv").write_bytes(b"")
    (room / "binary.csv").write_bytes(bytes(range(256)) * 9)
    pl.DataFrame({"a": a, "b": b, "y": y}).write_parquet(room / "whole.parquet")
    whole = (room / "whole.parquet").read_bytes()
    (room / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    (room / "holed.parquet").write_bytes(whole[:40] + bytes(200) + whole[240:])
    (room / "folder").mkdir()
    text("locked.csv", "a,b,y", lines)
    (room / "locked.csv").chmod(0)
    names = [*sorted(os.listdir(room)), "nowhere.csv"]
    jobs = [["fit", name, "--target", "y", "-o", f"{name}.fen"] for name in names]
    return dict(zip(names, together(jobs, room, room / "said"), strict=True))


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("bom.csv", "byte order mark"),
        ("semicolons.csv", "columns 'a', 'b' are read as numbers: "),
        ("crlf.csv", ""),
        ("quotes.csv", ""),
        ("twice.csv", "duplicate column 'a' renamed 'a_2'"),
        ("whole.parquet", ""),
        ("long_name.csv", ""),
    ],
)
def test_tables_of_any_hand_are_fitted_alike(done, name, note):
    """The rows are the same, so is the objective, to the last digit that is shown."""
    assert note in done[name].err
    said = done[name].fine().splitlines()
    assert said[-2] == done["crlf.csv"].out.splitlines()[-2]
    assert said[-2].startswith("certificate objective ") and "(duality)" in said[-2]
    assert said[-1] == f"written     {name}.fen"


def test_columns_that_say_nothing_are_left_out_and_named(done):
    assert "column 'e' is left out: no row has a value" in done["empty_column.csv"].err
    assert "1 column encoded" in done["empty_column.csv"].fine()


def test_ten_thousand_categories(done):
    assert "1 column encoded" in done["categories.csv"].fine()


def test_names_that_steer_a_terminal_are_only_shown(done):
    said = done["steering.csv"]
    said.fine()
    assert "\x1b" not in said.out + said.err and "\x07" not in said.out + said.err


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("one_row.csv", "one_row.csv: the target 'y' holds nothing but"),
        ("one_class.csv", "one_class.csv: the target 'y' holds nothing but 'yes'"),
        ("one_column.csv", "one_column.csv: no column of the table can be used"),
        ("ragged.csv", "ragged.csv: line 8 (row 7) has 2 fields where the header has 3"),
        ("no_rows.csv", "no_rows.csv has columns but no rows"),
        ("no_bytes.csv", "no_bytes.csv is empty"),
        ("binary.csv", "binary.csv is not text"),
        ("cut.parquet", "cut.parquet cannot be read as Parquet"),
        ("holed.parquet", "holed.parquet cannot be read as Parquet"),
        ("folder", "folder is a directory: name a file in it"),
        ("nowhere.csv", "nowhere.csv does not exist"),
    ],
)
def test_tables_that_cannot_be_used_end_in_one_sentence(done, name, words):
    assert words in done[name].failed(3)
    assert not done[name].out


@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="root may read every file")
def test_a_file_without_permission(done):
    assert "locked.csv cannot be read: change its permissions" in done["locked.csv"].failed(3)
