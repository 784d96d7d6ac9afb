"""`fenchel.report`: dataframes of any kind, errors in Python's words, a page in a notebook."""

from __future__ import annotations

import html
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

import fenchel

QUICK = {"models": ["logistic"], "challenger": False}


def frame(n=160):
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    return pd.DataFrame(
        {
            "x": x,
            "kind": pd.Categorical(rng.choice(["u", "v"], n)),
            "when": pd.date_range("2024-01-01", periods=n),
            "bought": np.where(x + rng.normal(size=n) > 0, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def found():
    return fenchel.report(frame(), target="bought", seed=3, name="sales", **QUICK)


def test_dataframes_of_any_kind_give_the_same_report(found):
    table = frame()
    assert found.numbers["source"]["name"] == "sales"
    for other in (pl.DataFrame(table), pl.DataFrame(table).to_arrow(), table.to_dict("list")):
        again = fenchel.report(other, target="bought", seed=3, **QUICK)
        assert again.numbers["metrics"] == found.numbers["metrics"]
    before = frame()
    pd.testing.assert_frame_equal(table, before)


def test_it_shows_itself_and_saves(found, tmp_path):
    shown = found._repr_html_()
    assert shown.startswith("<iframe") and 'sandbox="allow-scripts"' in shown
    (inner,) = re.findall(r'srcdoc="(.*?)"></iframe>', shown, re.S)
    assert html.unescape(inner) == found.html()
    assert repr(found).splitlines()[0] == "<fenchel report>" and "AUC on 40" in repr(found)
    paths = found.save(tmp_path)
    assert [path.name for path in paths] == ["report.html", "model.fen", "report.json"]
    predicted = fenchel.open_model(tmp_path / "model.fen").predict(frame())
    assert set(predicted["prediction"]) == {"yes", "no"}


def test_the_call_is_told(found):
    said = found.numbers["reproduction"]["command"]
    assert said.startswith("fenchel.report(table, target='bought', seed=3, models=['logistic']")
    assert eval(said.replace("fenchel.report", "dict").replace("table,", "")) == {
        "target": "bought", "seed": 3, "name": "sales", **QUICK,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"target": "bougt"}, "no column 'bougt': did you mean 'bought'?"),
        ({"target": "bought", "positive": "maybe"}, "^positive 'maybe' is not a class of 'bought'"),
        ({"target": "bought", "kind": "x"}, "kind must be 'classes', 'number' or 'none'"),
        ({"target": "bought", "groups": "kind"}, "^groups 'kind' holds 2 groups"),
        ({"target": "bought", "groups": "kind", "time": "when"}, "give one of them"),
        ({"target": "bought", "test_share": 1.5}, "test_share"),
        ({"target": "bought", "models": ["forest"]}, "no model is called 'forest'"),
    ],
)
def test_errors_name_the_argument(given, words):
    with pytest.raises(ValueError, match=words):
        fenchel.report(frame(), **{**QUICK, **given})


def test_what_is_no_table():
    with pytest.raises(ValueError, match="int is no table"):
        fenchel.report(5)
    with pytest.raises(ValueError, match="0 rows"):
        fenchel.report(frame().head(0), target="bought")
    with pytest.raises(ValueError, match="lazy frame"):
        fenchel.report(pl.DataFrame(frame()).lazy())


def test_nothing_to_predict():
    found = fenchel.report(frame().drop(columns="bought"), kind="none")
    assert type(found.model).__name__ == "KMeans" and found.numbers["task"]["kind"] == "none"
    assert found.numbers["task"]["candidates"] == []
