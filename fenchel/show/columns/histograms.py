"""Rows counted in bins: scores by class, and the columns of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from numbers import Real
from typing import Any

import altair as alt
import numpy as np

from fenchel.score.curves.score_counts import Floats
from fenchel.show.arguments import curve_of
from fenchel.show.binary.threshold_data import NAME, operating_points, signal
from fenchel.show.encoding import records, rounded, significant
from fenchel.show.formatting import LONGEST, distinct, number, plain
from fenchel.show.layout import Width, framed
from fenchel.show.theme import BLUE, ORANGE

MOST_COLUMNS = 32
MOST_BARS = 12
BAR, HEAD, LOW, HIGH = range(4)


def score_histogram(
    y: Any,
    score: Any = None,
    *,
    sample_weight: Any = None,
    pos_label: Any = None,
    labels: Sequence[Any] | None = None,
    threshold: Any = None,
    bins: int = 40,
    title: str | None = None,
    width: Width = 380,
    height: int = 300,
) -> alt.LayerChart:
    """Scores of both classes, back to back: the positive one up, the other down.

    Each bar is the share of its class; what lies right of the threshold is flagged.

    Parameters
    ----------
    y : array of shape (n,), or Curve
        Labels of two classes: numbers, words or truth values in an array, list or Series. Or a
        curve, such as `curve_of` makes of a file, and then no score.
    score : array of shape (n,)
        Scores of the rows, higher for the positive class; an infinite one is counted in the
        outermost bin.
    sample_weight : array of shape (n,), optional
        Weights of the rows.
    pos_label : label, optional
        The positive class; by default the greater label.
    labels : (negative, positive), optional
        Names of the classes; by default those of y.
    threshold : float, Threshold or altair.Parameter, or a sequence of them, optional
        A line, moved by the signal `threshold`.
    bins : int

    Examples
    --------
    >>> from fenchel.show import score_histogram
    >>> chart = score_histogram(["no", "no", "yes", "yes"], [0.1, 0.4, 0.35, 0.8], threshold=0.5)
    >>> chart.to_dict()["title"]["text"]
    'Scores of 2 rows of class yes and 2 of class no'
    """
    curve, names = curve_of("score_histogram", y, score, sample_weight, pos_label)
    negative, positive = _two_names(names if labels is None else labels)
    P, N = curve.both()
    edges = _edges(curve.high, bins)
    at = np.clip(curve.low, edges[0], edges[-1])
    up = np.histogram(at, edges, weights=curve.positive)[0]
    down = np.histogram(at, edges, weights=curve.negative)[0]
    sides = [_bars(edges, up, P, 1.0), _bars(edges, down, N, -1.0)]
    low, high, share, count = (np.concatenate(pair) for pair in zip(*sides, strict=True))
    is_up = share > 0.0
    span = float(edges[-1] - edges[0])
    top = float(np.abs(share).max())
    data = records(
        a=rounded(low, span),
        b=rounded(high, span),
        y=rounded(share, 2.0 * top),
        n=count if curve.is_counted else significant(count, 6),
        s=rounded(np.abs(share), 0.1),
        k=is_up.astype(int),
        c=[positive if u else negative for u in is_up.tolist()],
    )
    x = alt.X(
        "a:Q",
        title="score",
        scale=alt.Scale(domain=rounded([edges[0], edges[-1]], span).tolist(), nice=False),
        axis=alt.Axis(grid=False, tickCount=6),
    )
    reach = round(1.12 * top, 4)
    y_axis = alt.Y(
        "y:Q",
        title="share of the class",
        scale=alt.Scale(domain=[-reach, reach], nice=False),
        axis=alt.Axis(labelExpr="format(abs(datum.value), '.0%')", tickCount=6),
    )
    bars = (
        alt.Chart(data)
        .mark_bar(binSpacing=1, opacity=0.85)
        .encode(
            x=x,
            x2=alt.X2("b:Q", title="score"),
            y=y_axis,
            y2=alt.datum(0),
            color=alt.Color(
                "k:N",
                title="positive",
                scale=alt.Scale(domain=[0, 1], range=[ORANGE, BLUE]),
                legend=None,
            ),
            tooltip=[
                alt.Tooltip("c:N", title="class"),
                alt.Tooltip("a:Q", title="score from", format=".4~g"),
                alt.Tooltip("b:Q", title="to", format=".4~g"),
                alt.Tooltip("n:Q", title="rows", format=",.6~g"),
                alt.Tooltip("s:Q", title="share of the class", format=".1%"),
            ],
        )
    )
    ends = records(y=[reach, -reach], k=[1, 0], c=[positive, negative])
    text = alt.Chart(ends).encode(
        x=alt.value(6),
        y=y_axis,
        text="c:N",
        color=alt.Color("k:N", scale=alt.Scale(domain=[0, 1], range=[ORANGE, BLUE]), legend=None),
    )
    looks: Any = {"align": "left", "fontWeight": 600, "fontSize": 12, "limit": 240}
    layers: list[Any] = [
        bars,
        text.transform_filter("datum.k == 1").mark_text(baseline="top", **looks),
        text.transform_filter("datum.k == 0").mark_text(baseline="bottom", **looks),
    ]
    parameter = None
    if threshold is not None:
        points = operating_points(curve, threshold)
        parameter = signal(threshold, points)
        layers += _threshold_layers(edges)
    rows = "row" if P == 1.0 else "rows"
    said = f"Scores of {number(P, 6)} {rows} of class {positive}"
    said += f" and {number(N, 6)} of class {negative}"
    heading = title or said
    notes = ["Right of the line is flagged."] if threshold is not None else []
    return framed(
        layers, title=heading, notes=notes, width=width, height=height, parameter=parameter
    )


def _two_names(labels: Sequence[Any]) -> list[str]:
    names = distinct(labels)
    if len(names) != 2:
        raise ValueError(f"labels must name the negative and the positive class, got {len(names)}")
    return names


def _threshold_layers(edges: Floats) -> list[Any]:
    """The line of the threshold and its value, kept inside the axis."""
    low, high = float(edges[0]), float(edges[-1])
    is_right = f"{NAME} > {0.5 * (low + high)!r}"
    row = alt.Chart(alt.InlineData(values=[{"o": 0}])).transform_calculate(
        v=f"clamp({NAME}, {low!r}, {high!r})", s=f"'score ≥ ' + format({NAME}, '.3~g')"
    )
    x = alt.X("v:Q", title="score")
    rule = row.mark_rule(style="ink", strokeWidth=1.6).encode(x=x)
    label = row.mark_text(
        style="ink",
        baseline="bottom",
        align=alt.ExprRef(f"{is_right} ? 'right' : 'left'"),
        dy=-3,
    )
    return [rule, label.encode(x=x, y=alt.value(0), text="s:N")]


def _edges(score: Floats, bins: int) -> Floats:
    """Even bins over the finite scores; probabilities get the whole range from 0 to 1."""
    finite = score[np.isfinite(score)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    if low >= 0.0 and high <= 1.0 and high - low > 0.2:
        low, high = 0.0, 1.0
    if low == high:
        reach = 0.5 * max(abs(low), 1.0)
        low, high = low - reach, high + reach
    return np.linspace(low, high, bins + 1)


def _bars(
    edges: Floats, weight: Floats, whole: float, sign: float
) -> tuple[Floats, Floats, Floats, Floats]:
    filled = weight > 0.0
    return edges[:-1][filled], edges[1:][filled], sign * weight[filled] / whole, weight[filled]


def column_histograms(
    histograms: Mapping[Any, tuple[Any, Any]],
    *,
    title: str | None = None,
    across: int = 4,
    width: int = 140,
    height: int = 56,
) -> alt.FacetChart:
    """A small histogram of each column, side by side.

    Parameters
    ----------
    histograms : dict of name -> (counts, edges) or (counts, names of levels)
        One edge more than counts for numbers; as many names as counts for categories. At most 32
        columns are drawn, and 12 bars of each: neighbouring ones are added up, and so are the last
        levels.
    across : int
        Columns in a row of the picture.
    width, height : int
        Of one of them.

    Examples
    --------
    >>> from fenchel.show import column_histograms
    >>> chart = column_histograms({"age": ([3, 5], [0, 40, 80]), "sex": ([5, 3], ["m", "f"])})
    >>> chart.to_dict()["title"]["text"]
    '2 columns'
    """
    drawn = list(histograms.items())[:MOST_COLUMNS]
    if not drawn:
        raise ValueError("there is no column to draw")
    # Bars, then the column's name and both ends of its range, as texts.
    rows: list[tuple[int, int, float, float, float, int, str]] = []
    for i, (name, (counts, places)) in enumerate(drawn):
        count, said, ends = _bars_of(np.asarray(counts, np.float64), list(places))
        share = rounded(count / max(float(count.max()), 1.0), 10.0).tolist()
        at = rounded(np.linspace(0.0, 1.0, len(count) + 1), 10.0).tolist()
        bars = zip(at, at[1:], share, count.tolist(), said, strict=False)
        rows += [(i, BAR, a, b, y, int(n), text) for a, b, y, n, text in bars if n > 0.0]
        rows.append((i, HEAD, 0.0, 1.0, 1.0, 0, plain(name)))
        rows += [(i, LOW, 0.0, 1.0, 0.0, 0, ends[0]), (i, HIGH, 1.0, 1.0, 0.0, 0, ends[1])]
    data = records(**dict(zip("ikabyns", zip(*rows, strict=True), strict=True)))
    scale = alt.Scale(domain=[0.0, 1.0], nice=False)
    x = alt.X("a:Q", title="place", scale=scale, axis=None)
    base = alt.Chart().encode(x=x, y=alt.Y("y:Q", title="height", scale=scale, axis=None))
    tooltip = [alt.Tooltip("s:N", title="value"), alt.Tooltip("n:Q", title="rows", format=",")]
    named: Any = {"aria": False, "fontWeight": 600, "align": "left", "baseline": "bottom", "dy": -6}
    ending: Any = {"aria": False, "style": "quiet", "baseline": "top", "dy": 4, "fontSize": 10}
    layers = alt.layer(
        base.transform_filter(f"datum.k == {BAR}")
        .mark_bar(color=BLUE, binSpacing=1, opacity=0.85)
        .encode(x2=alt.X2("b:Q", title="place"), y2=alt.datum(0.0), tooltip=tooltip),
        base.transform_filter(f"datum.k == {HEAD}")
        .mark_text(limit=width, **named)
        .encode(text="s:N"),
        base.transform_filter(f"datum.k == {LOW}")
        .mark_text(align="left", limit=width // 2, **ending)
        .encode(text="s:N"),
        base.transform_filter(f"datum.k == {HIGH}")
        .mark_text(align="right", limit=width // 2, **ending)
        .encode(text="s:N"),
    ).properties(width=width, height=height)
    heading = f"{len(drawn)} columns" if len(drawn) > 1 else "1 column"
    if len(histograms) > len(drawn):
        heading = f"The first {len(drawn)} of {len(histograms)} columns"
    heading = plain(title or heading, LONGEST)
    facet = alt.Facet(
        "i:O", header=alt.Header(labelExpr="''", labelFontSize=1, labelPadding=0, title=None)
    )
    small = layers.facet(facet=facet, columns=across, data=data, spacing=30)
    return small.properties(title=alt.TitleParams(text=heading), description=heading)


def _bars_of(count: Floats, places: list[Any]) -> tuple[Floats, list[str], tuple[str, str]]:
    """At most so many bars, what each stands for, and the names of both ends."""
    n = len(count)
    if not n or len(places) not in (n, n + 1):
        raise ValueError(
            f"{n} counts need {n + 1} edges or {n} names of levels, at least one; got {len(places)}"
        )
    if len(places) == n:
        said = [plain(place) for place in places]
        if n > MOST_BARS:
            rest = n - MOST_BARS + 1
            count = np.append(count[: MOST_BARS - 1], count[MOST_BARS - 1 :].sum())
            said = [*said[: MOST_BARS - 1], f"{rest} others"]
        return count, said, (said[0], said[-1] if len(said) > 1 else "")
    begins = (np.arange(min(n, MOST_BARS)) * n) // min(n, MOST_BARS)
    edges = [_edge(places[i]) for i in [*begins.tolist(), n]]
    said = [f"{a} to {b}" for a, b in pairwise(edges)]
    return np.add.reduceat(count, begins), said, (edges[0], edges[-1])


def _edge(value: Any) -> str:
    return number(value) if isinstance(value, Real) else plain(value)
