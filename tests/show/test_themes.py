"""Colours that all can tell apart on both grounds, and numbers as they are written."""

from __future__ import annotations

import itertools
import math

import altair as alt
import numpy as np
import pytest

from fenchel import Estimate
from fenchel.show import enable_theme, theme
from fenchel.show.encoding import decades, records, rounded, significant, table
from fenchel.show.formatting import distinct, estimated, lines, number, percent, plain
from fenchel.show.theme import BLUE, CATEGORIES, GREY, ORANGE

# Machado, Oliveira and Fernandes, A physiologically-based model for simulation of color vision
# deficiency, IEEE TVCG 15 (2009), severity 1: protan, deutan, tritan.
VISIONS = [
    np.eye(3),
    np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]),
    np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
    np.array([[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]]),
]
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour):
    c = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255.0
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def contrast(a, b):
    low, high = sorted(float(XYZ[1] @ linear(c)) for c in (a, b))
    return (high + 0.05) / (low + 0.05)


def seen(colour, vision):
    """CIE Lab of a colour as somebody sees it."""
    x = XYZ @ np.clip(vision @ linear(colour), 0.0, 1.0) / [0.95047, 1.0, 1.08883]
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16.0 / 116.0)
    return np.array([116.0 * f[1] - 16.0, 500.0 * (f[0] - f[1]), 200.0 * (f[1] - f[2])])


@pytest.mark.parametrize("dark", [False, True])
def test_marks_and_words_stand_out(dark):
    looks = theme(dark)
    for colour in (*CATEGORIES, GREY):
        assert contrast(colour, looks["background"]) >= 3.0, colour
    for part in ("title", "axis", "legend"):
        for key, colour in looks[part].items():
            if key.lower().endswith("color") and "grid" not in key.lower():
                assert contrast(colour, looks["background"]) >= 4.5, (part, key)
    assert contrast(looks["text"]["color"], looks["background"]) >= 7.0


@pytest.mark.parametrize("vision", VISIONS, ids=["usual", "protan", "deutan", "tritan"])
def test_colours_are_told_apart(vision):
    for a, b in itertools.combinations((*CATEGORIES, GREY), 2):
        assert np.linalg.norm(seen(a, vision) - seen(b, vision)) > 14.0, (a, b)
    assert np.linalg.norm(seen(BLUE, vision) - seen(ORANGE, vision)) > 50.0


def test_looks_for_a_session():
    before = alt.theme.active
    try:
        enable_theme(dark=True)
        spec = alt.Chart(alt.InlineData(values=[])).mark_point().to_dict()
        assert spec["config"]["background"] == theme(dark=True)["background"]
    finally:
        alt.theme.enable(before)


def test_numbers_are_as_long_as_a_pixel_needs():
    assert rounded([0.123456789], 1.0).tolist() == [0.1235]
    assert rounded([123456.789, 0.0]).tolist() == [123460.0, 0.0]
    values = np.random.default_rng(0).normal(size=1000) * 1e5
    off = np.abs(rounded(values) - values).max()
    assert off < np.ptp(values) / (400.0 * 10.0)
    assert rounded([5.0, 5.0]).tolist() == [5.0, 5.0]
    assert (
        rounded([-1e-9], 1.0).tolist() == [0.0]
        and math.copysign(1.0, rounded([-1e-9], 1.0)[0]) == 1
    )
    assert np.isnan(rounded([np.nan, 1.0])[0])
    assert significant([1.23456e-7, 0.0]).tolist() == [1.235e-07, 0.0]


def test_tables_are_written_short():
    assert table(x=[1.0, np.nan, -0.5], k=[1, 2, 3]).values == "x,k\n1,1\n,2\n-0.5,3"
    rows = records(s=["a", "b"], x=np.array([1.0, np.inf])).values
    assert rows == [{"s": "a", "x": 1}, {"s": "b", "x": None}]


@pytest.mark.parametrize(
    ("values", "marks"),
    [
        ([1e-3, 1.0], [1e-3, 1e-2, 1e-1, 1.0]),
        ([3.0, 40.0], [5.0, 10.0, 20.0]),
        ([1e-16, 1.0], [1e-16, 1e-13, 1e-10, 1e-7, 1e-4, 1e-1]),
        ([7.0, 7.0], [7.0]),
        ([], [1.0]),
    ],
)
def test_marks_of_a_logarithmic_axis(values, marks):
    assert decades(values) == marks


def test_numbers_are_said_with_the_digits_they_have():
    def of(value, low, high):
        return estimated(Estimate(value, low, high, level=0.95, method="m"))

    assert of(0.98765, 0.98123, 0.99234) == "0.988 [0.981, 0.993]"
    assert of(0.5, 0.1, 0.9) == "0.50 [0.10, 0.90]"
    assert of(12345.6, 11000.0, 13000.0) == "12346 [11000, 13000]"
    assert of(1.0, 1.0, 1.0) == "1.0000 [1.0000, 1.0000]"
    assert of(0.5, math.nan, math.nan) == "0.5"
    assert estimated(0.123456) == "0.1235"
    assert [number(v) for v in (2501.4, 12.34, 1e-9, 3e7, -999_999.0)] == [
        "2501",
        "12.3",
        "1e-09",
        "3e+07",
        "-999999",
    ]
    assert [percent(s) for s in (0.0, 0.012, 0.5, 0.999, 1.0)] == [
        "0 %",
        "1.2 %",
        "50 %",
        "99.9 %",
        "100 %",
    ]


def test_words_are_one_line_and_not_endless():
    assert plain("a\n b\t c") == "a b c"
    assert len(plain("x" * 1000)) == 80
    assert distinct(["a", "a", "b", "a"]) == ["a", "a (2)", "b", "a (3)"]
    assert len(set(distinct(["x" * 100, "x" * 200]))) == 2
    assert lines(["One 5 %.", "", "Two."], 8) == ["One 5 %. Two."]
    assert all(not line.startswith("%") for line in lines(["word " * 9 + "10 % more"], 20))
