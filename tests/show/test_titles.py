"""No internal name is seen or heard: every axis, legend and tooltip of every figure has a title.

Fields of the data have names of one letter. A chart without our theme shows what an encoding is
called in its legend, and a screen reader says it of every mark.
"""

from __future__ import annotations

import re
from functools import cache

import pytest
from show.cases import CASES
from show.reading import walk
from vl_convert import vegalite_to_vega

SEEN = ("x", "y", "facet", "row", "column")
LEGENDS = (
    *("color", "fill", "stroke", "opacity", "fillOpacity", "strokeOpacity", "size", "shape"),
    *("strokeDash", "strokeWidth", "angle"),
)
EVERY = pytest.mark.parametrize("case", sorted(CASES))


@cache
def spec(case):
    return CASES[case]().to_dict()


def encodings(node):
    """Every encoding of a chart, by channel."""
    if isinstance(node, dict):
        if isinstance(node.get("encoding"), dict):
            yield from node["encoding"].items()
        if isinstance(node.get("facet"), dict):
            yield "facet", node["facet"]
        for key, value in node.items():
            if key not in ("datasets", "encoding"):
                yield from encodings(value)
    elif isinstance(node, list):
        for value in node:
            yield from encodings(value)


def fields(definition):
    """Parts of an encoding that have a field: itself, its conditions, the entries of a list."""
    for part in definition if isinstance(definition, list) else [definition]:
        if isinstance(part, dict):
            if "field" in part:
                yield part
            condition = part.get("condition")
            for one in condition if isinstance(condition, list) else [condition]:
                if isinstance(one, dict) and "field" in one:
                    yield one


def bare(title):
    """What is no title: nothing, or the name of a field."""
    return not title or re.fullmatch(r"[a-z]", str(title)) is not None


def untitled(chart):
    """(channel, definition) of everything seen that has no title."""
    for channel, definition in encodings(chart):
        for part in fields(definition):
            title, guide = part.get("title"), None
            if channel in SEEN:
                guide = "header" if channel in ("facet", "row", "column") else "axis"
            elif channel in LEGENDS:
                guide = "legend"
            elif channel != "tooltip":
                continue
            if guide is not None and guide in part:
                if part[guide] is None:  # there is none
                    continue
                if bare(title):
                    title = part[guide].get("title", title)
                    if guide == "header" and "title" in part[guide]:
                        continue
            if bare(title):
                yield channel, part


@EVERY
def test_every_axis_legend_and_tooltip_has_a_title(case):
    assert not list(untitled(spec(case)))


def heard(node):
    """Names in the descriptions of marks, which screen readers say."""
    if isinstance(node, dict):
        description = node.get("description")
        if isinstance(description, dict) and "signal" in description:
            yield from re.findall(r'"(?:; )?([^":;]+): "', description["signal"])
        for value in node.values():
            yield from heard(value)
    elif isinstance(node, list):
        for value in node:
            yield from heard(value)


def guides(node):
    """Titles of axes and legends as Vega draws them."""
    if isinstance(node, dict):
        for kind in ("axes", "legends"):
            for guide in node.get(kind, []) if isinstance(node.get(kind), list) else []:
                yield guide.get("title")
        for key, value in node.items():
            if key != "data":
                yield from guides(value)
    elif isinstance(node, list):
        for value in node:
            yield from guides(value)


@EVERY
def test_no_internal_name_is_drawn_or_heard(case):
    vega = vegalite_to_vega(spec(case))
    given = {value for key, value in walk(spec(case)) if key == "title" if isinstance(value, str)}
    for title in guides(vega):
        # Titles of several encodings of one axis, where they differ, would be joined by commas.
        assert title is None or title in given, title
    names = {name.strip() for name in heard(vega)}
    assert not [name for name in names if re.fullmatch(r"[a-z]", name)], names


def test_the_check_sees_what_it_should():
    import altair as alt

    data = alt.InlineData(values=[{"k": "a", "x": 1}])
    chart = alt.Chart(data).mark_point().encode(x="x:Q", color="k:N", tooltip=["k:N"])
    assert {channel for channel, _ in untitled(chart.to_dict())} == {"x", "color", "tooltip"}
    named = (
        alt.Chart(data)
        .mark_point()
        .encode(
            x=alt.X("x:Q", title="value"),
            color=alt.Color("k:N", legend=None),
            y=alt.Y("x:Q", axis=None),
            tooltip=[alt.Tooltip("k:N", title="kind")],
        )
    )
    assert not list(untitled(named.to_dict()))
    letter = alt.Chart(data).mark_point().encode(x=alt.X("x:Q", title="k"))
    assert list(untitled(letter.to_dict()))
