"""Rows in the plane of two columns, counted in cells: no row is drawn by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from fenchel.score.curves.score_counts import Floats
from fenchel.show.encoding import records, rounded, table
from fenchel.show.theme import BLUE, CATEGORIES, GREY, ORANGE

CELLS = 16  # along each side
MOST = len(CATEGORIES)  # groups with a colour of their own; the others share a grey
Ends = tuple[float, float]


def colours(k: int) -> list[str]:
    """Of so many groups; of two the second, the positive one, is blue as everywhere."""
    if k == 2:
        return [ORANGE, BLUE]
    return [CATEGORIES[place] if place < MOST else GREY for place in range(k)]


def side(title: str, name: str, ends: Ends) -> dict[str, Any]:
    """Title, scale and axis of a column; its name is drawn, and no part of what marks tell."""
    scale = alt.Scale(domain=rounded(ends, ends[1] - ends[0]).tolist(), nice=False, zero=False)
    # Plain digits, but where they would be nothing but zeros.
    plain = 1e-4 < ends[1] - ends[0] < 1e8
    digits = alt.Undefined if plain else ".3~g"
    axis = alt.Axis(title=name, grid=False, tickCount=5, format=digits)
    return {"title": title, "scale": scale, "axis": axis}


def reach(values: Any) -> Ends:
    """The range of a column, and a little around it."""
    low, high = float(values.min()), float(values.max())
    pad = 0.03 * (high - low) or max(abs(low), 1.0) * 0.5
    return low - pad, high + pad


def cell_of(index: str, ends: Ends, cells: int) -> str:
    """The expression of a place, out of the number of its cell."""
    return f"{ends[0]!r} + {index} * {(ends[1] - ends[0]) / cells:.10g}"


def cell_numbers(rows: Floats, ends: tuple[Ends, Ends], cells: int) -> NDArray[np.intp]:
    """The cell i · cells + j of each row in a grid over the plane."""
    low, high = np.array(ends).T
    at = np.clip(((rows - low) / (high - low) * cells).astype(np.intp), 0, cells - 1)
    return np.asarray(at[:, 0] * cells + at[:, 1])


def counted(
    rows: Floats,
    codes: Any,
    ends: tuple[Ends, Ends],
    called: list[str],
    sides: tuple[Any, Any],
    *,
    what: str = "class",
    cells: int = CELLS,
) -> Iterator[Any]:
    """A circle for each group and cell that has rows of it; those of a cell stand side by side.

    Groups beyond those with a colour of their own are one. Their names come last, as a legend.
    """
    shown = min(len(called), MOST + 1)
    groups = np.minimum(codes, MOST)
    found = []
    for k in range(shown):
        x, y = rows[groups == k].T
        found.append(np.histogram2d(x, y, cells, range=[list(end) for end in ends])[0])
    most = max(float(counts.max()) for counts in found) or 1.0
    title = f"rows of the {what}"
    size = alt.Size(
        "n:Q", title=title, scale=alt.Scale(domain=[0, most], range=[8, 260]), legend=None
    )
    inks = colours(len(called))[:shown]
    for k, counts in enumerate(found):
        i, j = np.nonzero(counts)
        if not len(i):
            continue
        at = (i + (k + 1.0) / (shown + 1.0)).round(2)
        yield (
            alt.Chart(table(i=at, j=j, n=counts[i, j]))
            .transform_calculate(
                x=cell_of("datum.i", ends[0], cells), y=cell_of("(datum.j + 0.5)", ends[1], cells)
            )
            .mark_point(filled=True, opacity=0.85, color=inks[k])
            .encode(
                x=alt.X("x:Q", **sides[0]),
                y=alt.Y("y:Q", **sides[1]),
                size=size,
                tooltip=[alt.Tooltip("n:Q", title=title, format=",")],
            )
        )
    if shown > 1:
        names = [*called[:MOST], *["others"] * (shown > MOST)]
        yield legend(names, inks, what)


def rectangles(values: Any, cuts: Any = None) -> NDArray[Any]:
    """A grid (tall, wide) of whole numbers as few rectangles of one number each: runs along a row,
    and equal runs of rows that follow each other.

    Runs end between cells, or where `cuts` (tall, wide - 1) says. Columns: first and end along the
    row, first and end of the rows, the number.
    """
    found: list[list[Any]] = []
    before: dict[tuple[Any, Any, int], list[Any]] = {}
    wide = values.shape[1]
    for j, row in enumerate(values):
        edges = np.flatnonzero(np.diff(row))
        ends = (edges + 1 if cuts is None else cuts[j, edges].round(2)).tolist()
        cells = row[[0, *(edges + 1).tolist()]].tolist()
        here = {}
        for begin, end, value in zip([0, *ends], [*ends, wide], cells, strict=True):
            run = begin, end, int(value)
            if run not in before:
                found.append([begin, end, j, j + 1, run[2]])
            here[run] = before.get(run, found[-1])
            here[run][3] = j + 1
        before = here
    return np.array(found, dtype=np.intp if cuts is None else np.float64).reshape(-1, 5)


def filled(
    shapes: Any, shade: Any, colour: str, ends: tuple[Ends, Ends], grid: Any, sides: Any, most: int,
    range_: tuple[float, float],
) -> Any:  # fmt: skip
    """Rectangles of a grid (tall, wide) in shades 0 … most of a colour, or all in its last."""
    i, e, j, t = shapes.T[:4]
    tall, wide = grid
    columns = {"i": i, "e": e, "j": j.astype(int), "t": t.astype(int)}
    opacity: Any = alt.value(range_[1])
    if shade is not None:
        columns["s"] = shade
        scale = alt.Scale(domain=[0, most], range=list(range_))
        opacity = alt.Opacity("s:Q", scale=scale, legend=None)
    return (
        alt.Chart(table(**columns))
        .transform_calculate(
            a=cell_of("datum.i", ends[0], wide),
            b=cell_of("datum.e", ends[0], wide),
            d=cell_of("datum.j", ends[1], tall),
            f=cell_of("datum.t", ends[1], tall),
        )
        .mark_rect(color=colour, strokeWidth=0)
        .encode(
            x=alt.X("a:Q", **sides[0]),
            x2="b:Q",
            y=alt.Y("d:Q", **sides[1]),
            y2="f:Q",
            opacity=opacity,
        )
    )


def legend(names: list[str], inks: list[str], what: str) -> Any:
    """Names and colours of the groups, by marks that are not seen."""
    color = alt.Color(
        "c:N",
        title=what,
        scale=alt.Scale(domain=names, range=inks),
        legend=alt.Legend(title=None, symbolType="circle", symbolOpacity=1.0, columns=3),
    )
    return alt.Chart(records(c=names)).mark_point(filled=True, opacity=0.0).encode(color=color)
