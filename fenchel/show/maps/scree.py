"""Scree plot: the share of the variance along each principal axis (Cattell 1966).

Distances that no rows of numbers have give negative eigenvalues too. Shares are of the sum of the
positive ones, and bars of negative ones hang below zero.
"""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from fenchel.show.encoding import rounded, table
from fenchel.show.formatting import percent
from fenchel.show.layout import Width, framed, shares
from fenchel.show.theme import BLUE, ORANGE, WINE

BARS = 30
# Of an axis's label, past the bars of the largest: the number of the axis itself.
LABEL = "datum.value > {first} ? datum.value + {left} : datum.label"


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
        All of them, the largest first, in any unit. Negative ones, of distances that are not
        Euclidean or of a kernel that is not positive semi-definite, hang below zero.

    Examples
    --------
    >>> from fenchel.show import scree
    >>> scree([3.0, 2.0, 1.0]).to_dict()["title"]["text"]
    'The first two axes hold 83 % of the variance'
    """
    given = np.asarray(variances, dtype=np.float64).ravel()
    if not given.size or not np.isfinite(given).all() or np.any(np.diff(given) > 0.0):
        raise ValueError("variances must be finite numbers, and the largest comes first")
    positive = np.maximum(given, 0.0)
    # Rounding leaves eigenvalues of that size on either side of zero.
    below = given < -1e-12 * max(float(given[0]), -float(given[-1]))
    if below.all():
        raise ValueError("all of these are negative: no axis holds any variance")
    total_variance = max(float(positive.sum()), 1e-300)
    share = np.where(below, given, positive) / total_variance
    sums = np.cumsum(positive) / total_variance
    # The largest, and where some are negative the smallest too.
    last = min(int(below.sum()), BARS // 3) if len(share) > BARS else 0
    first = min(len(share), BARS) - last
    number = np.r_[np.arange(first), np.arange(len(share) - last, len(share))]
    shown = first + last
    axis = np.arange(1, shown + 1)
    x: dict[str, Any] = {
        "title": "axis",
        "scale": alt.Scale(domain=[0.4, shown + 0.6], nice=False),
        "axis": alt.Axis(tickMinStep=1, format="d", grid=False, title="principal axes"),
    }
    if last:
        x["axis"].labelExpr = LABEL.format(first=first, left=len(share) - shown)
    y = shares("share of the variance")
    if below.any():
        y["scale"] = alt.Scale(domain=[min(float(share[-1]), -0.02), 1.0], nice=False)
    data = table(
        i=axis,
        n=number + 1,
        a=axis - 0.4,
        b=axis + 0.4,
        s=rounded(share[number], 1.0),
        c=rounded(sums[number]),
    )
    tooltip = [
        alt.Tooltip("n:Q", title="axis"),
        alt.Tooltip("s:Q", title="share", format=".1%"),
        alt.Tooltip("c:Q", title="up to it", format=".1%"),
    ]
    bars = alt.Chart(data).mark_rect(color=BLUE, opacity=0.85)
    if below.any():
        bars = bars.encode(color=alt.condition("datum.s < 0", alt.value(WINE), alt.value(BLUE)))
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
        ends = f"The first {first}" + (f" and the last {last}" if last else "")
        notes.append(f"{ends} of {len(share)}.")
    if below.any():
        count, size = int(below.sum()), percent(float(-share[below].sum()))
        which = "1 eigenvalue is negative" if count == 1 else f"{count} eigenvalues are negative"
        notes.append(
            f"{which} (bars below zero), {size} of the sum of the positive ones: "
            "no coordinates have these distances."
        )
    return framed(
        layers,
        title=title or f"{two} {percent(float(sums[min(1, len(sums) - 1)]))} of the variance",
        notes=notes,
        width=width,
        height=height,
    )
