"""Rows of two numbers: points, or where they are many, cells as dark as they are full."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from fenchel.score.curves.score_counts import Floats
from fenchel.show.density import cell_of
from fenchel.show.encoding import rounded, table
from fenchel.show.layout import Side
from fenchel.show.theme import BLUE

MOST = 2000  # rows drawn as points; more are counted in cells
CELLS = (48, 36)
FINE = 4000  # steps across: ten to a pixel


def number_side(title: str, ends: Floats, *, name: str | None = None, **look: Any) -> Side:
    """Title, scale and axis of numbers; somebody's name of them is drawn, and is no title."""
    if name is not None:
        look["title"] = name
    scale = alt.Scale(domain=rounded(ends).tolist(), nice=False, zero=False)
    return {"title": title, "scale": scale, "axis": alt.Axis(tickCount=5, **look)}


def padded(ends: Floats) -> Floats:
    reach = float(np.ptp(ends)) or max(abs(float(ends[0])), 1.0)
    return np.array([ends[0] - 0.04 * reach, ends[1] + 0.04 * reach])


def counted_note(n: int) -> str:
    return f"{n:,} rows, counted in cells." if n > MOST else ""


def scatter(
    x: Floats,
    y: Floats,
    across: Floats,
    up: Floats,
    sides: tuple[Side, Side],
    *,
    ink: str = BLUE,
) -> Any:
    """Points, or where they are many, cells as dark as they are full."""
    if len(x) <= MOST:
        return _points(x, y, across, up, sides, ink)
    count, *_ = np.histogram2d(x, y, CELLS, range=[across, up])
    i, j = np.nonzero(count)
    cells = alt.Chart(table(i=i, j=j, n=count[i, j])).transform_calculate(
        a=cell_of("datum.i", _ends(across), CELLS[0]),
        b=cell_of("(datum.i + 1)", _ends(across), CELLS[0]),
        c=cell_of("datum.j", _ends(up), CELLS[1]),
        d=cell_of("(datum.j + 1)", _ends(up), CELLS[1]),
    )
    tooltip = [
        alt.Tooltip("n:Q", title="rows", format=","),
        alt.Tooltip("a:Q", title="across from", format=".4~g"),
        alt.Tooltip("b:Q", title="across to", format=".4~g"),
        alt.Tooltip("c:Q", title="up from", format=".4~g"),
        alt.Tooltip("d:Q", title="up to", format=".4~g"),
    ]
    scale = alt.Scale(type="log", domain=[1, max(float(count.max()), 2.0)], range=[0.12, 1.0])
    return cells.mark_rect(color=ink).encode(
        x=alt.X("a:Q", **sides[0]),
        x2=alt.X2("b:Q", title=sides[0]["title"]),
        y=alt.Y("c:Q", **sides[1]),
        y2=alt.Y2("d:Q", title=sides[1]["title"]),
        opacity=alt.Opacity("n:Q", title="rows", scale=scale, legend=None),
        tooltip=tooltip,
    )


def _points(
    x: Floats, y: Floats, across: Floats, up: Floats, sides: tuple[Side, Side], ink: str
) -> Any:
    """One point a row, its place as whole steps of a fine grid, which are short to write."""
    i, j = (
        np.round((values - ends[0]) * (FINE / np.ptp(ends)))
        for values, ends in ((x, across), (y, up))
    )
    few = len(x) <= 300
    points = alt.Chart(table(i=i, j=j)).transform_calculate(
        x=cell_of("datum.i", _ends(across), FINE), y=cell_of("datum.j", _ends(up), FINE)
    )
    tooltip = [
        alt.Tooltip("x:Q", title=sides[0]["title"], format=".4~g"),
        alt.Tooltip("y:Q", title=sides[1]["title"], format=".4~g"),
    ]
    mark = points.mark_point(
        filled=True, color=ink, size=26 if few else 14, opacity=0.7 if few else 0.45
    )
    return mark.encode(x=alt.X("x:Q", **sides[0]), y=alt.Y("y:Q", **sides[1]), tooltip=tooltip)


def _ends(values: Floats) -> tuple[float, float]:
    return float(values[0]), float(values[1])
