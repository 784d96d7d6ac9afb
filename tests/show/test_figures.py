"""Laws of every figure: valid, small, titled, drawn without a warning, safe with hostile names."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
from functools import cache

import altair as alt
import pytest
from show.cases import CASES
from show.reading import EXPRESSIONS, picture, size, tables, walk
from vl_convert import vegalite_to_vega

import fenchel.show
from fenchel.show import theme

PARTS = {"OperatingPoints", "enable_theme", "operating_points", "theme", "thin", "threshold_slider"}
FIGURES = sorted(set(fenchel.show.__all__) - PARTS)
FILES = [file.name for file in pkgutil.walk_packages(fenchel.show.__path__, "fenchel.show.")]
MARK = "zqx"


@cache
def drawn(case):
    return CASES[case]()


EVERY = pytest.mark.parametrize("case", sorted(CASES))


def test_every_figure_has_a_case():
    assert {case.split()[0] for case in CASES} == set(FIGURES)


@pytest.mark.parametrize("file", FILES)
def test_examples_are_true(file):
    doctest.testmod(importlib.import_module(file), raise_on_error=True)


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_can_be_given_a_title_and_a_size(name):
    names = inspect.signature(getattr(fenchel.show, name)).parameters
    assert {"title", "width", "height"} <= set(names), name


@EVERY
def test_a_figure_is_valid_small_and_says_what_it_shows(case):
    chart = drawn(case)
    spec = chart.to_dict()  # checked against the schema of Vega-Lite
    assert size(chart) < 40_000
    assert spec["title"]["text"] and spec["description"]
    rows = tables(chart)
    assert all(len(table) <= 2000 for table in rows)
    assert sum(map(len, rows)) <= 2500
    assert isinstance(chart, alt.LayerChart | alt.FacetChart)


@EVERY
def test_a_figure_is_drawn_without_a_warning(case, capfd):
    chart = drawn(case)
    for dark in (False, True)[: 1 + (case in FIGURES)]:
        svg = picture(chart, dark=dark)
        assert theme(dark)["background"] in svg
        assert "<script" not in svg
        assert "NaN" not in svg and "undefined" not in svg
    printed = capfd.readouterr()
    assert not printed.out and not printed.err


@EVERY
def test_a_figure_is_as_wide_as_its_place(case):
    chart = CASES[case](width="container")
    if isinstance(chart, alt.LayerChart):
        assert chart.to_dict()["width"] == "container"


@EVERY
def test_names_are_data_and_never_code(case):
    spec = drawn(case).to_dict()
    fields = {value for key, value in walk(spec) if key in ("field", "lookup") if value is not None}
    assert all(re.fullmatch(r"[a-z]", field) for field in fields), fields
    vega = vegalite_to_vega(spec)
    for key, value in [*walk(spec), *walk(vega)]:
        assert MARK not in key
        if key in EXPRESSIONS and isinstance(value, str):
            assert MARK not in value, value


def test_the_whole_report_is_small():
    """A figure takes 7.5 kB on average: reports draw some forty of them, in less than 300 kB."""
    assert sum(size(drawn(name)) for name in FIGURES) < 7_500 * len(FIGURES)


def test_charts_can_be_put_side_by_side():
    """Figures have no config of their own, and one slider moves several."""
    from show.inputs import CURVE

    slider = fenchel.show.threshold_slider(CURVE, 0.3)
    both = fenchel.show.roc(CURVE, threshold=slider) | fenchel.show.confusion(
        CURVE, threshold=slider
    )
    spec = both.configure(**theme(dark=True)).to_dict()
    (param,) = spec["params"]
    assert param["name"] == "threshold" and param["bind"]["input"] == "range"
    assert vegalite_to_vega(spec)
