"""Clusters: how many, how good, how far from the best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from fenchel.data.display.rounding import DOWN
from fenchel.data.display.rounding import rounded as bounded
from fenchel.show.arguments import groups_of
from fenchel.show.density import MOST, colours
from fenchel.show.encoding import records, rounded, table
from fenchel.show.formatting import number, percent
from fenchel.show.layout import Width, framed
from fenchel.show.theme import BLUE, GREY, ORANGE

BARS = 400  # of a silhouette, over all clusters


def elbow(
    counts: Any,
    scatter: Any,
    *,
    bound: Any = None,
    reference: Any = None,
    chosen: int | None = None,
    title: str | None = None,
    width: Width = 420,
    height: int = 280,
) -> alt.LayerChart:
    """The share of the scatter that is left within 1, 2, … clusters.

    Parameters
    ----------
    counts : array of shape (m,)
        Numbers of clusters, the first of which is 1.
    scatter : array of shape (m,)
        Within so many clusters, such as `inertia_`.
    bound : array of shape (m,), optional
        What no clustering can go below.
    reference : array of shape (m,), optional
        The same scatter of rows without clusters.
    chosen : int, optional
        The number that was chosen.

    Examples
    --------
    >>> from fenchel.show import elbow
    >>> elbow([1, 2, 3], [10.0, 2.0, 1.5], chosen=2).to_dict()["title"]["text"]
    '2 clusters leave 20 % of the scatter'
    """
    k, left = np.asarray(counts), np.asarray(scatter, dtype=np.float64)
    if k.ndim != 1 or left.shape != k.shape or not len(k):
        raise ValueError("scatter must be one number for each of counts")
    x: dict[str, Any] = {
        "title": "clusters",
        "scale": alt.Scale(domain=[float(k[0]) - 0.2, float(k[-1]) + 0.2], nice=False),
        "axis": alt.Axis(values=k.tolist(), format="d", grid=False, title="clusters"),
    }
    y: dict[str, Any] = {
        "title": "share of the scatter",
        "scale": alt.Scale(domain=[0.0, 1.05], nice=False),
        "axis": alt.Axis(format=".0%", tickCount=5, title="left within the clusters"),
    }
    layers: list[Any] = []
    named = [("rows", left, BLUE, [1, 0])]
    if reference is not None:
        named.append(("rows without clusters", np.asarray(reference, np.float64), GREY, [5, 3]))
    if bound is not None:
        named.append(("bound: no clustering is below", np.asarray(bound, np.float64), ORANGE, [2]))
    whole = max(float(left[0]), 1e-300)
    tooltip = [
        alt.Tooltip("k:Q", title="clusters"),
        alt.Tooltip("y:Q", title="share of the scatter", format=".1%"),
    ]
    for _, values, ink, dash in named:
        first = whole if ink != GREY else max(float(values[0]), 1e-300)
        base = alt.Chart(table(k=k, y=rounded(values / first, 1.0))).encode(
            x=alt.X("k:Q", **x), y=alt.Y("y:Q", **y), tooltip=tooltip
        )
        layers.append(base.mark_line(color=ink, strokeWidth=1.8, strokeDash=dash))
        layers.append(base.mark_point(color=ink, filled=True, size=38, opacity=1.0))
    said = "What is left of the scatter within the clusters"
    if chosen is not None:
        at = int(np.flatnonzero(k == chosen)[0])
        spot = alt.Chart(records(k=[int(chosen)], y=rounded([left[at] / whole], 1.0)))
        layers.append(
            spot.mark_point(color=BLUE, size=170, strokeWidth=2.2, opacity=1.0).encode(
                x=alt.X("k:Q", **x), y=alt.Y("y:Q", **y), tooltip=tooltip
            )
        )
        said = f"{chosen} clusters leave {percent(left[at] / whole)} of the scatter"
        if chosen == 1:
            said = "One cluster: no other number stands out"
    words = {GREY: "Grey, dashed: rows drawn evenly.", ORANGE: "Orange: no clustering is below."}
    return framed(
        layers,
        title=title or said,
        notes=[words[ink] for _, _, ink, _ in named if ink in words],
        width=width,
        height=height,
    )


def restarts(
    values: Any,
    *,
    bound: float | None = None,
    title: str | None = None,
    width: Width = 420,
    height: int = 280,
) -> alt.LayerChart:
    """The objective that each start came to, from the best up.

    Parameters
    ----------
    values : array of shape (m,)
    bound : float, optional
        What no start can go below.

    Examples
    --------
    >>> from fenchel.show import restarts
    >>> restarts([2.0, 1.0, 1.0]).to_dict()["title"]["text"]
    '2 of 3 starts came to the best objective'
    """
    found = np.sort(np.asarray(values, dtype=np.float64).ravel())
    if not found.size or not np.isfinite(found).all():
        raise ValueError("every start needs a finite objective")
    best = float(found[0])
    low = best if bound is None else min(best, float(bound))
    span = (float(found[-1]) - low) or max(abs(best), 1e-300)
    x: dict[str, Any] = {
        "title": "start",
        "scale": alt.Scale(domain=[0.5, len(found) + 0.5], nice=False),
        "axis": alt.Axis(tickMinStep=1, format="d", grid=False, title="starts, the best first"),
    }
    y: dict[str, Any] = {
        "title": "objective",
        "scale": alt.Scale(
            domain=rounded([low - 0.06 * span, float(found[-1]) + 0.06 * span], span).tolist(),
            nice=False,
            zero=False,
        ),
        "axis": alt.Axis(tickCount=5, format=".5~g"),
    }
    same = int((found <= best + 1e-6 * abs(best)).sum())
    points = alt.Chart(table(i=np.arange(1, len(found) + 1), y=rounded(found, span)))
    layers: list[Any] = [
        points.mark_point(color=BLUE, filled=True, size=70, opacity=1.0).encode(
            x=alt.X("i:Q", **x),
            y=alt.Y("y:Q", **y),
            tooltip=[
                alt.Tooltip("i:Q", title="start"),
                alt.Tooltip("y:Q", title="objective", format=".6~g"),
            ],
        )
    ]
    notes = []
    if bound is not None:
        rule = alt.Chart(records(y=rounded([float(bound)], span)))
        line = rule.mark_rule(color=ORANGE, strokeWidth=1.6, strokeDash=[2])
        layers.append(line.encode(y=alt.Y("y:Q", **y)))
        notes = [f"Orange: no clustering is below {bounded(float(bound), DOWN)}."]
    said = f"{same} of {len(found)} starts came to the best objective"
    return framed(layers, title=title or said, notes=notes, width=width, height=height)


def silhouettes(
    values: Any,
    codes: Any,
    *,
    labels: Sequence[Any] | None = None,
    title: str | None = None,
    width: Width = 420,
    height: int = 280,
) -> alt.LayerChart:
    """How much nearer each row is to its own cluster than to the next, sorted by cluster.

    Parameters
    ----------
    values : array of shape (n,)
        Silhouettes, from -1 (in the wrong cluster) to 1.
    codes : array of shape (n,)
        Clusters of the rows: numbers 0 … k-1, or any labels.
    labels : sequence of k names, optional

    Examples
    --------
    >>> from fenchel.show import silhouettes
    >>> silhouettes([0.9, 0.7, -0.1, 0.5], [0, 0, 1, 1]).to_dict()["title"]["text"]
    'Mean silhouette 0.5'
    """
    s = np.asarray(values, dtype=np.float64)
    code, called = groups_of(codes, labels, "codes")
    if s.shape != code.shape or s.ndim != 1 or not len(s):
        raise ValueError("values and codes must be one number each for every row")
    k = int(code.max()) + 1 if len(code) else 0
    parts = [np.sort(s[code == c])[::-1] for c in range(k)]
    # Neighbours in the order are one bar, with their mean.
    bars = [max(round(BARS * len(part) / len(s)), 1) if len(part) else 0 for part in parts]
    x: dict[str, Any] = {
        "title": "silhouette",
        "scale": alt.Scale(domain=[min(-0.1, float(s.min())), 1.0], nice=False),
        "axis": alt.Axis(tickCount=6),
    }
    y: dict[str, Any] = {
        "title": "rows",
        "scale": alt.Scale(domain=[0, sum(bars) + 4 * (k - 1)], nice=False, reverse=True),
        "axis": alt.Axis(labels=False, grid=False, title="rows, cluster by cluster"),
    }
    inks = colours(k)
    layers: list[Any] = []
    start = 0
    for c, (part, count) in enumerate(zip(parts, bars, strict=True)):
        if count:
            means = [float(one.mean()) for one in np.array_split(part, min(count, len(part)))]
            edges = start + np.linspace(0.0, count, len(means) + 1)
            chart = alt.Chart(
                table(a=edges[:-1].round(2), b=edges[1:].round(2), s=rounded(means, 2.0))
            )
            layers.append(
                chart.mark_rect(color=inks[min(c, MOST)], opacity=0.85, strokeWidth=0).encode(
                    y=alt.Y("a:Q", **y),
                    y2=alt.Y2("b:Q", title=y["title"]),
                    x=alt.X("s:Q", **x),
                    x2=alt.datum(0.0),
                    tooltip=[alt.Tooltip("s:Q", title="silhouette", format=".2f")],
                )
            )
        start += count + 4
    mean = float(s.mean())
    rule = alt.Chart(records(s=rounded([mean], 2.0))).mark_rule(color=GREY, strokeDash=[4, 3])
    layers.append(rule.encode(x=alt.X("s:Q", **x)))
    told = ", ".join(
        f"{name} {number(part.mean(), 2)}"
        for name, part in zip(called[:MOST], parts[:MOST], strict=True)
        if len(part)
    )
    return framed(
        layers,
        title=title or f"Mean silhouette {number(mean, 2)}",
        notes=[
            f"Below zero a row is nearer to another cluster. Means: {told}"
            + (", …." if k > MOST else ".")
        ],
        width=width,
        height=height,
    )
