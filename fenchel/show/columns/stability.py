"""How far columns have moved from a reference: the population stability index of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from fenchel.score.metrics.population_stability import LARGE, MODERATE, Stability
from fenchel.show.encoding import records, rounded
from fenchel.show.formatting import distinct
from fenchel.show.layout import Side, Width, framed
from fenchel.show.theme import BLUE, OLIVE, ORANGE

ROW = 19  # pixels
GRADES = ("stable", "moderate", "large")
COLOURS = (BLUE, OLIVE, ORANGE)


def drift(
    names: Sequence[Any],
    values: Any,
    *,
    top: int = 20,
    title: str | None = None,
    width: Width = 420,
    height: int | None = None,
) -> alt.LayerChart:
    """The population stability index of each column, the largest first, with the usual limits.

    Below 0.1 a column is called stable, from 0.25 on shifted. A `Stability` is graded with the
    chance that two samples of one law differ as much, a bare number by the limits alone.

    Parameters
    ----------
    names : sequence of d names
    values : sequence of d numbers or Stability
        Of `fenchel.population_stability`.
    top : int
        Columns that are drawn.

    References
    ----------
    Yurdakul and Naranjo, Statistical properties of the population stability index, Journal of Risk
    Model Validation 14 (2020).

    Examples
    --------
    >>> from fenchel.show import drift
    >>> drift(["age", "town", "income"], [0.03, 0.4, 0.12]).to_dict()["title"]["text"]
    '1 of 3 columns has shifted, 1 moderately'
    """
    listed = list(values)
    if len(names) != len(listed) or not listed:
        raise ValueError(f"{len(names)} names need as many values, got {len(listed)}")
    index = np.array([one.value if isinstance(one, Stability) else float(one) for one in listed])
    if not (np.isfinite(index).all() and (index >= 0.0).all()):
        raise ValueError("values must be indices that are finite and not negative")
    grade = np.array([GRADES.index(_grade(one)) for one in listed])
    order = np.argsort(-index, kind="stable")[:top]
    called = distinct(np.asarray(names, dtype=object)[order])
    reach = 1.06 * max(float(index.max()), 1.2 * LARGE)
    data = records(
        s=called,
        x=rounded(index[order], reach),
        g=[GRADES[i] for i in grade[order]],
    )
    x: Side = {
        "title": "population stability index",
        "scale": alt.Scale(domain=[0.0, float(rounded(reach, reach))], nice=False),
        "axis": alt.Axis(tickCount=5),
    }
    y = alt.Y(
        "s:N",
        title="column",
        scale=alt.Scale(domain=called),
        axis=alt.Axis(title=None, labelLimit=170, grid=False),
    )
    tooltip = [
        alt.Tooltip("s:N", title="column"),
        alt.Tooltip("x:Q", title="population stability index", format=".3f"),
        alt.Tooltip("g:N", title="shift"),
    ]
    color = alt.Color(
        "g:N",
        title="shift",
        scale=alt.Scale(domain=list(GRADES), range=list(COLOURS)),
        legend=alt.Legend(title="shift", symbolType="square", orient="bottom"),
    )
    limits = records(x=[MODERATE, LARGE], s=[f"{MODERATE:g}", f"{LARGE:g}"])
    line = alt.Chart(limits).encode(x=alt.X("x:Q", **x))
    bars = alt.Chart(data).mark_bar(opacity=0.9, height={"band": 0.72})
    layers = [
        bars.encode(x=alt.X("x:Q", **x), y=y, color=color, tooltip=tooltip),
        line.mark_rule(style="ink", strokeWidth=1.2, strokeDash=[4, 3]),
        line.mark_text(style="ink", baseline="bottom", dy=-3).encode(y=alt.value(0), text="s:N"),
    ]
    notes = [f"Dashes: {MODERATE:g} and {LARGE:g}, the limits by custom."]
    if len(order) < len(index):
        notes.append(f"The {len(order)} largest of {len(index)}.")
    return framed(
        layers,
        title=title or _counted(grade),
        notes=notes,
        width=width,
        height=height or max(ROW * len(order), 60),
    )


def _grade(one: Any) -> str:
    if isinstance(one, Stability):
        return one.grade()
    value = float(one)
    return "large" if value >= LARGE else "moderate" if value >= MODERATE else "stable"


def _counted(grade: Any) -> str:
    n, large, some = len(grade), int((grade == 2).sum()), int((grade == 1).sum())
    if not large and not some:
        return "The column is stable" if n == 1 else f"All {n} columns are stable"
    has = "column has" if n == 1 else "columns has" if large == 1 else "columns have"
    if not large:
        has = "column has" if n == 1 else "columns has" if some == 1 else "columns have"
        return f"{some} of {n} {has} shifted moderately"
    return f"{large} of {n} {has} shifted" + (f", {some} moderately" if some else "")
