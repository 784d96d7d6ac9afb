"""Results as dataframes and as HTML: one way for all, escaped, readable, no package needed."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from fenchel.data.display.result_table import Tabular, frame_like, frame_of, html_table

EVIL = "<script>alert('1')</script>&\""


class Reader(HTMLParser):
    """Cells of a table, and all attributes."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.attributes, self.tags, self.caption, self._at = [], [], [], "", None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        self._at = tag
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        self._at = None

    def handle_data(self, data):
        if self._at in ("td", "th"):
            self.rows[-1][-1] += data
        elif self._at == "caption":
            self.caption += data


class Plain(Tabular):
    def __init__(self, **columns):
        self.given = columns

    def columns(self):
        return self.given

    def caption(self):
        return f"A table of {EVIL}"


TABLE = Plain(
    name=["a", EVIL, None],
    n=np.array([1, 2000, 3]),
    rate=[0.123456, 0.5, None],
    rate_low=[0.0987654, 0.25, None],
    rate_high=[0.200001, 0.75, None],
    upper=[0.29741, 1e-9, 1.0],
    chosen=np.array([True, False, False]),
)


def test_cells_are_escaped_and_bounds_rounded_outward():
    text = TABLE._repr_html_()
    read = Reader(text)
    assert "script" not in read.tags and "<script" not in text
    assert read.caption == f"A table of {EVIL}"
    # A number and its interval are one column.
    assert read.rows[0] == ["name", "n", "rate", "upper", "chosen"]
    assert read.rows[1] == ["a", "1", "0.12 [0.09, 0.21]", "0.2975", "yes"]
    assert read.rows[2] == [EVIL, "2,000", "0.50 [0.25, 0.75]", "1e-09", "no"]
    assert read.rows[3] == ["–", "3", "–", "1", "no"]


def test_the_table_has_no_colours_and_no_addresses_of_its_own():
    text = TABLE._repr_html_()
    assert not re.search(r"https?:|url\(|@import|<style|<script|src=|href=", text)
    styles = ";".join(value for name, value in Reader(text).attributes if name == "style")
    colours = re.findall(r"(?:color|background):([^;]+)", styles)
    assert set(colours) == {"inherit", "transparent"}
    assert "#" not in styles and set(re.findall(r"rgba\([^)]*\)", styles)) == {
        "rgba(128, 128, 128, 0.35)"
    }
    assert {name for name, _ in Reader(text).attributes} == {"style", "scope"}


def test_an_objective_and_its_bound_keep_the_digits_that_tell_them_apart():
    row = Reader(html_table({"value": [37.758945961], "bound": [37.758945949]}, "proof")).rows[1]
    assert row == ["37.75894596", "37.75894594"]


def test_a_long_table_shows_both_ends():
    text = html_table({"i": np.arange(1000), "x": ["z" * 500] * 1000}, "numbers")
    rows = Reader(text).rows
    assert Reader(text).caption == "numbers (1,000 rows)"
    assert [row[0] for row in rows[1:]] == [*map(str, range(12)), "…", *map(str, range(994, 1000))]
    assert len(rows[1][1]) == 80 and len(text) < 20_000
    assert Reader(html_table({}, "nothing")).rows == [[]]


@pytest.mark.parametrize("kind", [None, "pandas", "polars"])
def test_frames_have_the_columns(kind):
    frame = TABLE.to_frame(kind)
    assert type(frame).__module__.startswith(kind or "pandas")
    assert list(frame.columns) == list(TABLE.given)
    assert frame["n"].to_list() == [1, 2000, 3] and frame["chosen"].to_list()[0] is True
    assert frame["rate"].to_list()[:2] == [0.123456, 0.5]
    mixed = frame_of({"value": [1, "auto", None], "number": [1, 2.5, None]}, kind)
    assert mixed["value"].to_list()[:2] == ["1", "auto"]
    assert mixed["number"].to_list()[:2] == [1.0, 2.5]


def test_frames_without_pandas_and_without_both(hide):
    with pytest.raises(ValueError, match="kind must be 'pandas' or 'polars', got 'dask'"):
        TABLE.to_frame("dask")
    hide("pandas")
    assert type(TABLE.to_frame()).__module__.startswith("polars")
    with pytest.raises(ImportError, match="to_frame needs pandas, which is not installed: pip"):
        TABLE.to_frame("pandas")
    hide("pandas", "polars")
    with pytest.raises(ImportError, match="needs pandas or polars, which is not installed: pip"):
        TABLE.to_frame()
    assert "<table" in TABLE._repr_html_()


def test_a_frame_like_the_one_given():
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    made = pl.DataFrame({"prediction": ["yes", "no"], "probability": [0.9, 0.2]})
    given = pd.DataFrame({"x": [1, 2]}, index=["r7", "r3"])
    found = frame_like(made, given)
    assert isinstance(found, pd.DataFrame) and found.index.tolist() == ["r7", "r3"]
    assert found["prediction"].tolist() == ["yes", "no"]
    assert isinstance(frame_like(made, pa.table({"x": [1, 2]})), pa.Table)
    assert frame_like(made, made) is made and frame_like(made, {"x": [1, 2]}) is made
