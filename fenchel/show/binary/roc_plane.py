"""The plane of both rates: ROC curve, its band, its hull, and lines of equal cost."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from fenchel.score.area.auc import curve_auc
from fenchel.score.area.roc_band import ROCBand, curve_roc_band
from fenchel.score.curves.by_labels import iso_error_line
from fenchel.score.curves.curve import Curve
from fenchel.score.curves.score_counts import Floats
from fenchel.show.arguments import curve_of
from fenchel.show.binary.threshold_data import NAME, OperatingPoints, operating_points, signal
from fenchel.show.encoding import records, rounded, table
from fenchel.show.formatting import estimated, level_of, number, percent
from fenchel.show.layout import Width, across, framed, shares
from fenchel.show.theme import BLUE, GREY, ORANGE
from fenchel.show.thinning import thin

LINES = 3  # of equal cost, beside the one that touches the curve


def roc(
    y: Any,
    score: Any = None,
    *,
    sample_weight: Any = None,
    pos_label: Any = None,
    band: ROCBand | bool | None = None,
    threshold: Any = None,
    prior: float | None = None,
    costs: tuple[float, float] = (1.0, 1.0),
    hull: bool = True,
    iso: bool = True,
    area: float | None = None,
    level: float = 0.95,
    title: str | None = None,
    width: Width = 380,
    height: int = 380,
) -> alt.LayerChart:
    """The ROC curve, with what a threshold gives and what it costs.

    Parameters
    ----------
    y : array of shape (n,), or Curve
        Labels of two classes: numbers, words or truth values in an array, list or Series. Or a
        curve, such as `curve_of` makes of a file, and then no score.
    score : array of shape (n,)
        Scores of the rows, higher for the positive class.
    sample_weight : array of shape (n,), optional
        Weights of the rows.
    pos_label : label, optional
        The positive class; by default the greater label.
    band : ROCBand or bool, optional
        Of `roc_band`: shaded. True makes it of these rows.
    threshold : float, Threshold or altair.Parameter, or a sequence of them, optional
        Marked, and moved by the signal `threshold`.
    prior : float, optional
        Share of positives that lines of equal cost are for; by default that of the rows.
    costs : (float, float)
        Of a false alarm and of a miss; with (1, 1) the cost is the error rate.
    hull, iso : bool
        Draw the convex hull; draw lines of equal cost.
    area : Estimate, optional
        The area with its interval, if it is known already.
    level : float
        Of that interval.

    Examples
    --------
    >>> from fenchel import GaussianClasses
    >>> from fenchel.show import roc
    >>> classes = GaussianClasses([0.0, 2.0])
    >>> X, y = classes.sample(500, random_state=0)
    >>> chart = roc(y, classes.score(X), threshold=0.0)
    >>> chart.to_dict()["title"]["text"]
    'AUC 0.929 [0.904, 0.948]'
    """
    curve, _ = curve_of("roc", y, score, sample_weight, pos_label)
    found = curve_auc(curve, level) if area is None else area
    share = curve.prior if prior is None else float(prior)
    layers: list[Any] = []
    notes = [level_of(found)]
    if isinstance(band, bool):
        band = curve_roc_band(curve, level=level) if band else None
    if band is not None:
        layers.append(_band_layer(band, width, height))
        notes.append(f"Shaded: holds the whole curve with {100.0 * band.level:g} %.")
    layers.append(_chance_layer())
    if iso:
        layers += _cost_layers(curve, share, costs)
        what = "error rate" if costs == (1.0, 1.0) else f"cost ({costs[0]:g} : {costs[1]:g})"
        notes.append(f"Grey: lines of equal {what} at {percent(share)} positives.")
    if hull:
        layers.append(_hull_layer(curve))
        notes.append("Dashes: convex hull.")
    keep = thin(curve.fpr, curve.tpr, pixel=(1.0 / across(width), 1.0 / height))
    line = table(x=rounded(curve.fpr[keep], 1.0), y=rounded(curve.tpr[keep], 1.0))
    layers.append(
        alt.Chart(line)
        .mark_line(color=BLUE, strokeWidth=2.2, clip=False)
        .encode(x=_across(), y=_up(), order=alt.Order("x:Q"))
    )
    points = operating_points(curve, threshold)
    layers.append(hover_layer(points, _across("a"), _up("b")))
    parameter = None
    if threshold is not None:
        parameter = signal(threshold, points)
        layers += marker_layers(points, _across("a"), _up("b"), corner=(0.98, 0.03), align="right")
    heading = f"AUC {estimated(found)}" if title is None else title
    return framed(
        layers, title=heading, notes=notes, width=width, height=height, parameter=parameter
    )


def _across(field: str = "x") -> alt.X:
    return alt.X(f"{field}:Q", **shares("negatives flagged (false alarms)", grid=False))


def _up(field: str = "y") -> alt.Y:
    return alt.Y(f"{field}:Q", **shares("positives found"))


def hover_layer(points: OperatingPoints, x: Any, y: Any) -> Any:
    """Invisible points that say what their threshold does."""
    layer = alt.Chart(points.data()).mark_point(opacity=0.0, size=120, filled=True, aria=False)
    return points.rates(layer).encode(x=x, y=y, tooltip=operating_tooltip())


def operating_tooltip() -> list[alt.Tooltip]:
    """What is said of the row of a threshold."""
    return [
        alt.Tooltip("t:Q", title="threshold", format=".4~g"),
        alt.Tooltip("b:Q", title="positives found", format=".1%"),
        alt.Tooltip("a:Q", title="negatives flagged", format=".1%"),
        alt.Tooltip("q:N", title="precision"),
        alt.Tooltip("p:Q", title="true positives", format=",.6~g"),
        alt.Tooltip("f:Q", title="false positives", format=",.6~g"),
    ]


def marker_layers(
    points: OperatingPoints, x: Any, y: Any, *, corner: tuple[float, float], align: str
) -> list[Any]:
    """The point of the current threshold, and its numbers in a corner of the plane."""
    said = (
        f"'score ≥ ' + format({NAME}, '.3~g') + '\\n' + 'finds ' + format(datum.b, '.1%')"
        " + ' of positives\\n' + 'flags ' + format(datum.a, '.1%') + ' of negatives\\n'"
        " + 'precision ' + datum.q"
    )
    here = points.rates(points.current(alt.Chart(points.data())))
    mark = here.mark_point(
        filled=True, fill=ORANGE, stroke="white", strokeWidth=1.5, size=130, opacity=1.0
    ).encode(x=x, y=y, tooltip=operating_tooltip())
    text = (
        here.transform_calculate(s=said)
        .mark_text(align=align, baseline="bottom", lineBreak="\n", lineHeight=15, dy=-45)
        .encode(x=alt.datum(corner[0]), y=alt.datum(corner[1]), text="s:N")
    )
    return [text, mark]


def _chance_layer() -> Any:
    ends = table(x=[0.0, 1.0], y=[0.0, 1.0])
    line = alt.Chart(ends).mark_line(color=GREY, strokeWidth=1.0, opacity=0.9)
    return line.encode(x=_across(), y=_up())


def _hull_layer(curve: Curve) -> Any:
    at = curve.hull()
    at = at[thin(curve.fpr[at], curve.tpr[at], 100)]
    corners = table(x=rounded(curve.fpr[at], 1.0), y=rounded(curve.tpr[at], 1.0))
    line = alt.Chart(corners).mark_line(color=BLUE, strokeWidth=1.0, strokeDash=[3, 3], opacity=0.9)
    return line.encode(x=_across(), y=_up(), order=alt.Order("x:Q"))


def _band_layer(band: ROCBand, width: Width, height: int) -> Any:
    """The band as one outline: its upper steps to the right, then its lower ones to the left."""
    pixel = (1.0 / across(width), 1.0 / height)
    sides = []
    for values in (band.upper, band.lower):
        x, y = staircase(band.fpr, values)
        keep = thin(x, y, 200, pixel=pixel)
        sides.append((x[keep], y[keep]))
    x, y = (np.concatenate([a, b[::-1]]) for a, b in zip(*sides, strict=True))
    outline = table(i=np.arange(len(x)), x=rounded(x, 1.0), y=rounded(y, 1.0))
    shape = alt.Chart(outline).mark_line(filled=True, fill=BLUE, opacity=0.16, strokeWidth=0.0)
    return shape.encode(x=_across(), y=_up(), order=alt.Order("i:Q"))


def staircase(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Vertices of the line that keeps each value until the next x."""
    return np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]


def _cost_layers(curve: Curve, prior: float, costs: tuple[float, float]) -> list[Any]:
    """Lines of equal cost: the one that touches the curve, and some up to that of no model."""
    least = float(curve.cost(prior, *costs).min())
    most = min(prior * costs[1], (1.0 - prior) * costs[0])
    levels = np.unique(np.linspace(least, max(most, least), LINES + 1))
    rows: list[tuple[int, float, float, float]] = []
    for k, cost in enumerate(levels.tolist()):
        x, y = iso_error_line(cost, prior, cost_fp=costs[0], cost_fn=costs[1])
        rows += [(k, a, b, cost) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    line, x, y, cost = (np.array(column) for column in zip(*rows, strict=True))
    data = table(k=line, x=rounded(x, 1.0), y=rounded(y, 1.0))
    encoded = {"x": _across(), "y": _up(), "detail": "k:N"}
    base = alt.Chart(data)
    others = base.transform_filter("datum.k > 0").mark_line(
        color=GREY, strokeWidth=0.8, opacity=0.55
    )
    best = base.transform_filter("datum.k == 0").mark_line(color=GREY, strokeWidth=1.4)
    last = np.append(np.diff(line) != 0, True)
    return [
        others.encode(**encoded),
        best.encode(**encoded),
        _cost_labels(x[last], y[last], cost[last], costs == (1.0, 1.0)),
    ]


def _cost_labels(x: Floats, y: Floats, cost: Floats, is_error: bool) -> Any:
    """What lines cost, at their upper ends above the plane, where there is room for it."""
    named, said = [0], [f"error {percent(cost[0])}" if is_error else f"cost {number(cost[0])}"]
    for k in range(1, len(x)):
        if x[k] - x[named[-1]] >= (0.12 if len(named) > 1 else 0.25):
            named.append(k)
            said.append(percent(cost[k]) if is_error else number(cost[k]))
    ends = records(x=rounded(x[named], 1.0), y=rounded(y[named], 1.0), s=said)
    text = alt.Chart(ends).mark_text(style="quiet", align="left", baseline="bottom", dy=-3, dx=1)
    return text.encode(x=_across(), y=_up(), text="s:N")
