"""Embeddings: what each dimension holds, and where the rows lie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from fenchel.show.arguments import groups_of
from fenchel.show.cells import counted, reach, side
from fenchel.show.frame import Width, framed, shares
from fenchel.show.inline import rounded, table
from fenchel.show.theme import BLUE, ORANGE
from fenchel.show.words import percent, plain

BARS = 30
CELLS = 30


def scree(
    variances: Any,
    *,
    title: str | None = None,
    width: Width = 420,
    height: int = 280,
) -> alt.LayerChart:
    """The share of the variance along each principal axis, and of all up to it.

    Parameters
    ----------
    variances : array of shape (d,)
        All of them, the largest first, in any unit.

    Examples
    --------
    >>> from fenchel.show import scree
    >>> scree([3.0, 2.0, 1.0]).to_dict()["title"]["text"]
    'The first two axes hold 83 % of the variance'
    """
    given = np.asarray(variances, dtype=np.float64).ravel()
    if not given.size or not (given >= 0.0).all() or np.any(np.diff(given) > 0.0):
        raise ValueError("variances must not be negative, and the largest comes first")
    share = given / max(float(given.sum()), 1e-300)
    sums = np.cumsum(share)
    shown = min(len(share), BARS)
    axis = np.arange(1, shown + 1)
    x: dict[str, Any] = {
        "title": "axis",
        "scale": alt.Scale(domain=[0.4, shown + 0.6], nice=False),
        "axis": alt.Axis(tickMinStep=1, format="d", grid=False, title="principal axes"),
    }
    y = shares("share of the variance")
    data = table(
        i=axis, a=axis - 0.4, b=axis + 0.4, s=rounded(share[:shown], 1.0), c=rounded(sums[:shown])
    )
    tooltip = [
        alt.Tooltip("i:Q", title="axis"),
        alt.Tooltip("s:Q", title="share", format=".1%"),
        alt.Tooltip("c:Q", title="up to it", format=".1%"),
    ]
    bars = alt.Chart(data).mark_rect(color=BLUE, opacity=0.85)
    total = alt.Chart(data).encode(x=alt.X("i:Q", **x), y=alt.Y("c:Q", **y), tooltip=tooltip)
    layers = [
        bars.encode(
            x=alt.X("a:Q", **x),
            x2=alt.X2("b:Q", title=x["title"]),
            y=alt.Y("s:Q", **y),
            y2=alt.datum(0.0),
            tooltip=tooltip,
        ),
        total.mark_line(color=ORANGE, strokeWidth=1.8),
        total.mark_point(color=ORANGE, filled=True, size=34, opacity=1.0),
    ]
    two = "The first two axes hold" if len(share) > 1 else "The only axis holds"
    notes = ["Bars: each axis. Line: all up to it."]
    if shown < len(share):
        notes.append(f"The first {shown} of {len(share)}.")
    return framed(
        layers,
        title=title or f"{two} {percent(float(sums[min(1, len(sums) - 1)]))} of the variance",
        notes=notes,
        width=width,
        height=height,
    )


def embedding(
    points: Any,
    codes: Any = None,
    *,
    labels: Sequence[Any] | None = None,
    names: Sequence[Any] = ("first axis", "second axis"),
    title: str | None = None,
    width: Width = 420,
    height: int = 380,
) -> alt.LayerChart:
    """Rows in two dimensions, counted in cells, by group.

    Parameters
    ----------
    points : array of shape (n, 2)
    codes : array of shape (n,), optional
        Groups of the rows, such as clusters: numbers 0 … k-1, or any labels.
    labels : sequence of k names, optional
    names : (across, up)
        What the dimensions are called.

    Examples
    --------
    >>> from fenchel.show import embedding
    >>> chart = embedding([[0.0, 1.0], [2.0, 3.0], [2.1, 3.1]], [0, 1, 1])
    >>> chart.to_dict()["title"]["text"]
    '3 rows in first axis and second axis'
    """
    Z = np.asarray(points, dtype=np.float64)
    group, called = np.zeros(len(Z), dtype=int), ["rows"]
    if codes is not None:
        group, called = groups_of(codes, labels, "codes")
    if Z.ndim != 2 or Z.shape[1] != 2 or group.shape != (len(Z),) or not len(Z):
        raise ValueError("points must have shape (n, 2), and codes one group a row")
    if not np.isfinite(Z).all():
        raise ValueError("points must be finite")
    ends = reach(Z[:, 0]), reach(Z[:, 1])
    across, up = plain(names[0]), plain(names[1])
    sides = side("across", across, ends[0]), side("up", up, ends[1])
    return framed(
        list(counted(Z, group, ends, called, sides, what="group", cells=CELLS)),
        title=title or f"{len(Z):,} rows in {across} and {up}",
        notes=["Circles: rows, counted in cells."],
        width=width,
        height=height,
    )
