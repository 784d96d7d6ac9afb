"""How much a model relies on each column: permutation importance, the largest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from fenchel.show.encoding import records, rounded
from fenchel.show.formatting import distinct, number, plain
from fenchel.show.labels import down
from fenchel.show.layout import Side, Width, framed
from fenchel.show.theme import BLUE, GREY

ROW = 19  # pixels
TALL_ROW, ENOUGH = 34, 150  # few rows are taller, up to a height as of other figures


def importance(
    names: Sequence[Any],
    values: Any,
    intervals: Any = None,
    *,
    top: int = 20,
    what: str = "fall of the score when the column is shuffled",
    level: float = 0.95,
    title: str | None = None,
    width: Width = 420,
    height: int | None = None,
) -> alt.LayerChart:
    """The columns whose shuffling costs most, with intervals where they have one.

    Columns whose interval holds 0, or lies below, may be of no use to the model: their bars are
    grey.

    Parameters
    ----------
    names : sequence of d names
    values : array of shape (d,)
        Such as `importances_mean` of scikit-learn's permutation_importance.
    intervals : (low, high), optional
        Two arrays of shape (d,), NaN where there is none.
    top : int
    what : str
        What the numbers are.
    level : float
        Of the intervals.

    References
    ----------
    Breiman, Random forests, Machine Learning 45 (2001), section 10.

    Examples
    --------
    >>> from fenchel.show import importance
    >>> ends = [0.02, -0.01, 0.2], [0.06, 0.01, 0.3]
    >>> chart = importance(["age", "sex", "bmi"], [0.04, 0.0, 0.25], ends)
    >>> chart.to_dict()["title"]["text"]
    'Most important of 3 columns: bmi, 0.25'
    """
    w = np.asarray(values, dtype=np.float64)
    if w.ndim != 1 or len(names) != len(w) or not w.size:
        raise ValueError(f"{len(names)} names need as many values, got shape {w.shape}")
    if not np.isfinite(w).all():
        raise ValueError("values must be finite: leave out columns without an importance")
    low = high = np.full(len(w), np.nan)
    if intervals is not None:
        low, high = (np.asarray(end, dtype=np.float64) for end in intervals)
        if low.shape != w.shape or high.shape != w.shape:
            raise ValueError(f"intervals must be two arrays of shape {w.shape}")
    order = np.argsort(-w, kind="stable")[:top]
    called = distinct(np.asarray(names, dtype=object)[order])
    ends = np.concatenate([w[order], low[order], high[order], [0.0]])
    ends = ends[np.isfinite(ends)]
    span = float(np.ptp(ends)) or 1.0
    pad = 0.03 * span
    least = ends.min() - pad if ends.min() < 0.0 else 0.0
    doubtful = np.where(np.isnan(low), w <= 0.0, low <= 0.0)
    data = records(
        s=called,
        x=rounded(w[order], span),
        a=rounded(low[order], span),
        b=rounded(high[order], span),
        d=doubtful[order].astype(int),
    )
    x: Side = {
        "title": "importance",
        "scale": alt.Scale(domain=rounded([least, ends.max() + pad], span).tolist(), nice=False),
        "axis": alt.Axis(title=plain(what), tickCount=5),
    }
    y = alt.Y(
        "s:N",
        title="column",
        scale=alt.Scale(domain=called),
        axis=alt.Axis(**down(grid=False)),
    )
    tooltip = [
        alt.Tooltip("s:N", title="column"),
        alt.Tooltip("x:Q", title="importance", format=".4~g"),
        *([alt.Tooltip("a:Q", title="interval from", format=".4~g")] * (intervals is not None)),
        *([alt.Tooltip("b:Q", title="to", format=".4~g")] * (intervals is not None)),
    ]
    base = alt.Chart(data).encode(y=y)
    color = alt.condition("datum.d == 1", alt.value(GREY), alt.value(BLUE))
    layers: list[Any] = [
        base.mark_bar(opacity=0.85, height={"band": 0.72 if len(order) > 4 else 0.5}).encode(
            x=alt.X("x:Q", **x), x2=alt.datum(0.0), color=color, tooltip=tooltip
        ),
        alt.Chart(records(x=[0.0]))
        .mark_rule(color=GREY, strokeWidth=1.2)
        .encode(x=alt.X("x:Q", **x)),
    ]
    notes = []
    if intervals is not None:
        known = base.transform_filter("isValid(datum.a) && isValid(datum.b)")
        ruled = known.mark_rule(style="ink", strokeWidth=1.6)
        layers.append(ruled.encode(x=alt.X("a:Q", **x), x2=alt.X2("b:Q", title=x["title"])))
        notes.append(f"Lines: {100.0 * level:g} % intervals.")
    if doubtful[order].any():
        why = "the interval holds 0" if intervals is not None else "not above 0"
        notes.append(f"Grey: {why}.")
    if len(order) < len(w):
        notes.append(f"The {len(order)} largest.")
    best = f"{called[0]}, {number(float(w[order[0]]))}"
    many = f"Most important of {len(w)} columns: {best}" if len(w) > 1 else f"One column: {best}"
    return framed(
        layers,
        title=title or many,
        notes=notes,
        width=width,
        height=height or max(ROW * len(order), min(TALL_ROW * len(order), ENOUGH)),
    )
