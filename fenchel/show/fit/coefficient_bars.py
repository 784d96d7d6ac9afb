"""Coefficients of a model, or any importance of columns, the largest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from fenchel.show.encoding import records, rounded
from fenchel.show.formatting import distinct, plain
from fenchel.show.labels import down
from fenchel.show.layout import Width, framed
from fenchel.show.theme import BLUE, GREY, ORANGE

ROW = 19  # pixels
TALL_ROW, ENOUGH = 34, 150  # few rows are taller, up to a height as of other figures


def coefficients(
    names: Sequence[Any],
    values: Any,
    *,
    intervals: Any = None,
    top: int = 20,
    what: str = "coefficient",
    level: float = 0.95,
    title: str | None = None,
    width: Width = 420,
    height: int | None = None,
) -> alt.LayerChart:
    """The largest coefficients by size, one row each, with their intervals where they have one.

    Parameters
    ----------
    names : sequence of d names
    values : array of shape (d,)
    intervals : (low, high), optional
        Two arrays of shape (d,), NaN where there is none.
    top : int
    what : str
        What the numbers are called.
    level : float
        Of the intervals.

    Examples
    --------
    >>> from fenchel.show import coefficients
    >>> chart = coefficients(["age", "bmi", "sex"], [0.5, -1.25, 0.0], top=2)
    >>> chart.to_dict()["title"]["text"]
    'The 2 largest of 3 coefficients'
    """
    w = np.asarray(values, dtype=np.float64)
    if w.ndim != 1 or len(names) != len(w) or not w.size:
        raise ValueError(f"{len(names)} names need as many values, got shape {w.shape}")
    order = np.argsort(-np.nan_to_num(np.abs(w), nan=-1.0), kind="stable")[:top]
    called = distinct(np.asarray(names, dtype=object)[order])
    low = high = np.full(len(w), np.nan)
    if intervals is not None:
        low, high = (np.asarray(end, dtype=np.float64) for end in intervals)
        if low.shape != w.shape or high.shape != w.shape:
            raise ValueError(f"intervals must be two arrays of shape {w.shape}")
    ends = np.concatenate([w[order], low[order], high[order], [0.0]])
    ends = ends[np.isfinite(ends)]
    span = float(np.ptp(ends)) or 1.0
    data = records(
        s=called,
        x=rounded(w[order], span),
        a=rounded(low[order], span),
        b=rounded(high[order], span),
        k=(w[order] >= 0.0).astype(int),
    )
    pad = 0.04 * span
    x: dict[str, Any] = {
        "title": "value",
        "scale": alt.Scale(
            domain=rounded([ends.min() - pad, ends.max() + pad], span).tolist(), nice=False
        ),
        "axis": alt.Axis(title=plain(what), tickCount=6),
    }
    y = alt.Y(
        "s:N",
        title="column",
        scale=alt.Scale(domain=called),
        axis=alt.Axis(**down(grid=True, gridDash=[1, 3])),
    )
    color = alt.Color(
        "k:N",
        title="above zero",
        scale=alt.Scale(domain=[0, 1], range=[ORANGE, BLUE]),
        legend=None,
    )
    tooltip = [
        alt.Tooltip("s:N", title="column"),
        alt.Tooltip("x:Q", title="value", format=".4~g"),
        *([alt.Tooltip("a:Q", title="interval from", format=".4~g")] * (intervals is not None)),
        *([alt.Tooltip("b:Q", title="to", format=".4~g")] * (intervals is not None)),
    ]
    base = alt.Chart(data).encode(y=y, color=color, tooltip=tooltip)
    layers: list[Any] = [
        alt.Chart(alt.InlineData(values=[{"z": 0}]))
        .mark_rule(color=GREY, strokeWidth=1.2)
        .encode(x=alt.X("z:Q", **x))
    ]
    if intervals is None:
        layers.append(
            base.mark_rule(strokeWidth=1.6, opacity=0.6).encode(
                x=alt.X("x:Q", **x), x2=alt.datum(0.0)
            )
        )
    else:
        layers.append(
            base.transform_filter("isValid(datum.a) && isValid(datum.b)")
            .mark_rule(strokeWidth=2.0, opacity=0.55)
            .encode(x=alt.X("a:Q", **x), x2=alt.X2("b:Q", title=x["title"]))
        )
    layers.append(base.mark_point(filled=True, size=62, opacity=1.0).encode(x=alt.X("x:Q", **x)))
    called_what = plain(what)
    plural = called_what if called_what.endswith("s") else f"{called_what}s"
    said = f"The {len(order)} largest of {len(w)} {plural}"
    if len(order) == len(w):
        said = f"All {len(w)} {plural}" if len(w) > 1 else f"One {called_what}"
    notes = ["Blue: above zero. Orange: below."] if (w < 0.0).any() else []
    if intervals is not None:
        notes.append(f"Bars: {100.0 * level:g} % intervals.")
    return framed(
        layers,
        title=title or said,
        notes=notes,
        width=width,
        height=height or max(ROW * len(order), min(TALL_ROW * len(order), ENOUGH)),
    )
