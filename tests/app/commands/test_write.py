"""Predictions on disk: whole or not at all, and harmless in a spreadsheet."""

from __future__ import annotations

import io
import os
import sys

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from fenchel.app.errors import BadData, BadUsage
from fenchel.app.table.files.table_reader import read_table
from fenchel.app.table.files.write import PredictionWriter


def frames(count, rows=1000):
    rng = np.random.default_rng(0)
    for _ in range(count):
        yield pl.DataFrame({"class": ["a", "b"] * (rows // 2), "probability": rng.random(rows)})


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
def test_round_trip(tmp_path, kind):
    path = tmp_path / f"out.{kind}"
    with PredictionWriter(str(path)) as out:
        for frame in frames(20):
            out.write(frame)
            assert not path.exists()
    assert out.rows == 20_000
    assert_frame_equal(read_table(str(path)).frame, pl.concat(frames(20)))
    assert os.listdir(tmp_path) == [path.name]
    assert os.stat(path).st_mode & 0o400


def test_formulas_are_text(tmp_path):
    path = tmp_path / "out.csv"
    cells = ["=1+1", "+cmd", "-2+3", "@x", "-5", "+1.5e3", "a=b", "\t=1", None, ""]
    with PredictionWriter(str(path)) as out:
        out.write(pl.DataFrame({"=name": cells, "n": [-1.5] * len(cells)}))
    kept = pl.read_csv(path, infer_schema=False)
    assert kept.columns == ["'=name", "n"]
    assert kept.to_series(0).to_list() == [
        *("'=1+1", "'+cmd", "'-2+3", "'@x", "-5", "+1.5e3", "a=b", "'\t=1", None, ""),
    ]
    assert set(kept["n"]) == {"-1.5"}


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_failure_leaves_what_was_there(tmp_path, kind):
    path = tmp_path / f"out.{kind}"
    path.write_text("before")
    with pytest.raises(RuntimeError), PredictionWriter(str(path)) as out:
        for frame in frames(5):
            out.write(frame)
        raise RuntimeError
    assert path.read_text() == "before" and os.listdir(tmp_path) == [path.name]
    with PredictionWriter(str(path)) as out:
        out.write(next(frames(1)))
    assert read_table(str(path)).frame.height == 1000


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_batches_take_the_types_of_the_first(tmp_path, kind):
    path = tmp_path / f"out.{kind}"
    with PredictionWriter(str(path)) as out:
        out.write(pl.DataFrame({"a": [1.5], "b": ["x"]}))
        out.write(pl.DataFrame({"b": ["y"], "a": [2]}))
    assert read_table(str(path)).frame.rows() == [(1.5, "x"), (2.0, "y")]
    with pytest.raises(BadData, match="cannot write"), PredictionWriter(str(path)) as out:
        out.write(pl.DataFrame({"a": [1.5]}))
        out.write(pl.DataFrame({"a": ["word"]}))


def test_places_that_cannot_be_written(tmp_path):
    for name in ("out.xlsx", "out", "out.csv.gz"):
        with pytest.raises(BadUsage, match=r"must end in \.csv, \.tsv or \.parquet"):
            PredictionWriter(str(tmp_path / name))
    folder = tmp_path / "d.csv"
    folder.mkdir()
    with pytest.raises(BadUsage, match="is a directory"):
        PredictionWriter(str(folder))
    with pytest.raises(BadData, match="No such file or directory"):
        PredictionWriter(str(tmp_path / "no" / "out.csv")).__enter__()
    with pytest.raises(ValueError, match="with block"):
        PredictionWriter(str(tmp_path / "out.csv")).write(pl.DataFrame())


def test_standard_output(monkeypatch):
    held = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(held, write_through=True))
    with PredictionWriter("-") as out:
        out.write(pl.DataFrame({"a": [1.5, 2.0]}))
        out.write(pl.DataFrame({"a": [3.0]}))
    assert held.getvalue() == b"a\n1.5\n2.0\n3.0\n"


def test_nothing_written(tmp_path):
    with PredictionWriter(str(tmp_path / "out.parquet")):
        pass
    assert pl.read_parquet(tmp_path / "out.parquet").shape == (0, 0)
