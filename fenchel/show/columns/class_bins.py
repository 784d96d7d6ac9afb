"""One column by class: the share of each class in the bins of a number or in the levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from fenchel.score.curves.score_counts import Floats
from fenchel.show.density import MOST, colours
from fenchel.show.encoding import records, rounded, table
from fenchel.show.formatting import distinct, number, plain
from fenchel.show.layout import Side, Width, framed

LEVELS = 12  # levels of a category that are drawn; the others are one
BINS = 60  # of a number; neighbours of more are added up


def class_histograms(
    counts: Mapping[Any, Any],
    bins: Sequence[Any],
    *,
    column: Any = "value",
    title: str | None = None,
    width: Width = 420,
    height: int = 240,
) -> alt.LayerChart:
    """How one column is distributed in each class: shares of the class, one outline a class.

    The counts are given in bins, so that no row is needed. Bins of different widths are drawn as
    densities, so that areas are shares.

    Parameters
    ----------
    counts : dict of class -> counts
        Rows of the class in each bin. More than six classes: the others are one.
    bins : sequence
        One edge more than counts, rising, for a number; as many names as counts for a category.
    column : str
        What the column is called.

    Examples
    --------
    >>> from fenchel.show import class_histograms
    >>> chart = class_histograms({"no": [8, 2], "yes": [1, 4]}, [0, 40, 80], column="age")
    >>> chart.to_dict()["title"]["text"]
    'age by class'
    """
    names, found = _classes(counts)
    called = plain(column)
    places, k = list(bins), found.shape[1]
    if len(places) not in (k, k + 1):
        raise ValueError(
            f"{k} counts need {k + 1} edges or {k} names of levels, got {len(places)} bins"
        )
    whole = found.sum(axis=1)
    rows = [f"{name} ({number(n, 7)} rows)" for name, n in zip(names, whole, strict=True)]
    drawn = _levels if len(places) == k else _outlines
    layers, notes = drawn(names, found, places, called)
    return framed(
        layers,
        title=title or f"{called} by class",
        notes=[*notes, f"Of each class its own share: {', '.join(rows)}."],
        width=width,
        height=height,
    )


def _classes(counts: Mapping[Any, Any]) -> tuple[list[str], Floats]:
    """Names and counts of at most so many classes as have a colour; the others are one."""
    if not counts:
        raise ValueError("counts is empty: give the counts of at least one class")
    listed = [np.asarray(one, dtype=np.float64) for one in counts.values()]
    for name, one in zip(counts, listed, strict=True):
        if one.ndim != 1 or not one.size or one.shape != listed[0].shape:
            raise ValueError(
                f"counts of {plain(name)!r} must be one number a bin, as of the others"
            )
        if not (np.isfinite(one).all() and (one >= 0.0).all()):
            raise ValueError(f"counts of {plain(name)!r} must be finite and not negative")
    names, table_ = distinct(counts), np.array(listed)
    if len(names) > MOST:
        order = np.sort(np.argsort(-table_.sum(axis=1), kind="stable")[: MOST - 1])
        rest = np.delete(np.arange(len(names)), order)
        table_ = np.vstack([table_[order], table_[rest].sum(axis=0)])
        names = distinct([*(names[i] for i in order), f"{len(rest)} other classes"])
    return names, table_


def _named(data: Any, names: list[str]) -> Any:
    """A chart of data with codes k of classes, their names looked up as c."""
    classes = records(k=list(range(len(names))), s=names)
    lookup = alt.LookupData(data=classes, key="k", fields=["s"])
    return alt.Chart(data).transform_lookup("k", lookup, as_=["c"])


def _color(names: list[str]) -> alt.Color:
    return alt.Color(
        "c:N",
        title="class",
        scale=alt.Scale(domain=names, range=colours(len(names))),
        legend=alt.Legend(title=None, symbolType="square", symbolOpacity=1.0, columns=3),
    )


def _share_axis(title: str, top: float) -> Side:
    digits = "~g" if title == DENSITY else ".0%"
    return {
        "title": title,
        "scale": alt.Scale(domain=[0.0, float(rounded(1.06 * top, top)) or 1.0], nice=False),
        "axis": alt.Axis(format=digits, tickCount=4),
    }


SHARE = "share of the class"
DENSITY = "share of the class per unit"


def _outlines(
    names: list[str], found: Floats, places: list[Any], called: str
) -> tuple[list[Any], list[str]]:
    """A number: outlines of the classes over each other, and bars that say what they count."""
    edges = np.asarray(places, dtype=np.float64)
    if not (np.isfinite(edges).all() and (np.diff(edges) > 0.0).all()):
        raise ValueError("bins must be edges that rise, for a number")
    if found.shape[1] > BINS:
        begins = (np.arange(BINS) * found.shape[1]) // BINS
        found, edges = np.add.reduceat(found, begins, axis=1), np.append(edges[begins], edges[-1])
    wide = np.diff(edges)
    even = bool(np.ptp(wide) <= 1e-6 * wide.max())
    share = found / np.maximum(found.sum(axis=1, keepdims=True), 1e-300)
    up = share if even else share / wide
    span, top = float(edges[-1] - edges[0]), float(up.max()) or 1.0
    y = _share_axis(SHARE if even else DENSITY, top)
    x: Side = {
        "title": "value",
        "scale": alt.Scale(domain=rounded([edges[0], edges[-1]], span).tolist(), nice=False),
        "axis": alt.Axis(title=called, grid=False, tickCount=6),
    }
    tooltip = [
        alt.Tooltip("c:N", title="class"),
        alt.Tooltip("a:Q", title="from", format=".4~g"),
        alt.Tooltip("b:Q", title="to", format=".4~g"),
        alt.Tooltip("n:Q", title="rows", format=",.7~g"),
        alt.Tooltip("s:Q", title=SHARE, format=".1%"),
    ]
    K, k = found.shape
    code, at = np.divmod(np.arange(K * k), k)
    full = found.ravel() > 0.0
    bars = table(
        k=code[full],
        a=rounded(edges[at][full], span),
        b=rounded(edges[at + 1][full], span),
        y=rounded(up.ravel()[full], top),
        n=found.ravel()[full],
        s=rounded(share.ravel()[full], 0.1),
    )
    filled = _named(bars, names).mark_rect(opacity=0.22 if K > 1 else 0.6, strokeWidth=0)
    lines = []
    for row, ink in zip(up, colours(K), strict=True):
        # Up at the first edge, along the bins, down at the last.
        height = np.concatenate([[0.0], np.repeat(row, 2), [0.0]])
        outline = table(
            i=np.arange(len(height)),
            x=rounded(np.repeat(edges, 2), span),
            y=rounded(height, top),
        )
        line = alt.Chart(outline).mark_line(color=ink, strokeWidth=1.8)
        lines.append(line.encode(x=alt.X("x:Q", **x), y=alt.Y("y:Q", **y), order=alt.Order("i:Q")))
    layers = [
        filled.encode(
            x=alt.X("a:Q", **x),
            x2=alt.X2("b:Q", title="value"),
            y=alt.Y("y:Q", **y),
            y2=alt.datum(0.0),
            color=_color(names),
            tooltip=tooltip,
        ),
        *lines,
    ]
    return layers, [] if even else ["Bins are of different widths: areas are shares."]


def _levels(
    names: list[str], found: Floats, places: list[Any], called: str
) -> tuple[list[Any], list[str]]:
    """A category: bars of the classes side by side in each level."""
    said = [plain(place) for place in places]
    if len(said) > LEVELS:
        order = np.argsort(-found.sum(axis=0), kind="stable")
        rest = order[LEVELS - 1 :]
        kept = np.sort(order[: LEVELS - 1])
        said = [*(said[i] for i in kept.tolist()), f"{len(rest)} others"]
        found = np.column_stack([found[:, kept], found[:, rest].sum(axis=1)])
    share = found / np.maximum(found.sum(axis=1, keepdims=True), 1e-300)
    return level_bars(names, found, share, distinct(said), called, SHARE), []


def level_bars(
    names: list[str], found: Floats, share: Floats, said: list[str], called: str, what: str
) -> list[Any]:
    """Bars of classes side by side in each level, and a legend.

    found, share (classes, levels): counts, and what the bars' heights are; said: names of the
    levels, all different; called, what: titles of the axes.
    """
    K, k = found.shape
    code, at = np.divmod(np.arange(K * k), k)
    top = float(share.max()) or 1.0
    data = records(
        k=code,
        l=[said[i] for i in at],
        y=rounded(share.ravel(), top),
        n=found.ravel(),
    )
    x = alt.X(
        "l:N",
        title="level",
        scale=alt.Scale(domain=said, paddingInner=0.2, paddingOuter=0.1),
        axis=alt.Axis(
            title=called, labelAngle=0 if k <= 4 else -40, labelLimit=90, labelOverlap=True
        ),
    )
    bars = _named(data, names).mark_bar(opacity=0.85)
    layer = bars.encode(
        x=x,
        xOffset=alt.XOffset("k:N", title="class number", scale=alt.Scale(domain=list(range(K)))),
        y=alt.Y("y:Q", **_share_axis(what, top)),
        # By number: Vega-Lite would write names into an expression that sorts the bars.
        fill=alt.Fill(
            "k:N",
            title="class number",
            scale=alt.Scale(domain=list(range(K)), range=colours(K)),
            legend=None,
        ),
        tooltip=[
            alt.Tooltip("c:N", title="class"),
            alt.Tooltip("l:N", title="level"),
            alt.Tooltip("n:Q", title="rows", format=",.7~g"),
            alt.Tooltip("y:Q", title=what, format=".1%"),
        ],
    )
    seen = alt.Chart(records(c=names)).mark_square(opacity=0.0).encode(color=_color(names))
    return [layer, seen]
