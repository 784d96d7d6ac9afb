"""Scree plot: the share of the variance along each principal axis (Cattell 1966)."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from fenchel.show.encoding import rounded, table
from fenchel.show.formatting import percent
from fenchel.show.layout import Width, framed, shares
from fenchel.show.theme import BLUE, ORANGE

BARS = 30


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
