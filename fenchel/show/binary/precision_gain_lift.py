"""What flagging more rows brings: precision and recall, gains, lift."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from fenchel.score.area.average_precision import curve_average_precision
from fenchel.score.curves.curve import Curve
from fenchel.score.curves.score_counts import Floats
from fenchel.show.arguments import curve_of
from fenchel.show.binary.roc_plane import hover_layer, marker_layers
from fenchel.show.binary.threshold_data import operating_points, signal
from fenchel.show.encoding import records, rounded, table
from fenchel.show.formatting import estimated, level_of, number, percent
from fenchel.show.layout import Side, Width, across, framed, shares
from fenchel.show.theme import BLUE, GREY
from fenchel.show.thinning import thin


def precision_recall(
    y: Any,
    score: Any = None,
    *,
    sample_weight: Any = None,
    pos_label: Any = None,
    threshold: Any = None,
    precision: float | None = None,
    level: float = 0.95,
    title: str | None = None,
    width: Width = 380,
    height: int = 380,
) -> alt.LayerChart:
    """Precision against recall, as steps: the area under them is the average precision.

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
    threshold : float, Threshold or altair.Parameter, or a sequence of them, optional
        Marked, and moved by the signal `threshold`.
    precision : Estimate, optional
        The average precision with its interval, if it is known already.
    level : float
        Of that interval.

    Examples
    --------
    >>> from fenchel.show import precision_recall
    >>> chart = precision_recall([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], precision=0.8333)
    >>> chart.to_dict()["title"]["text"]
    'Average precision 0.8333'
    """
    curve, _ = curve_of("precision_recall", y, score, sample_weight, pos_label)
    found = curve_average_precision(curve, level=level) if precision is None else precision
    sides = (
        shares("positives found (recall)", grid=False),
        shares("positives among the flagged (precision)"),
    )
    # From one score to the next lower one the recall grows at the precision of the lower.
    recall, right = np.repeat(curve.tpr, 2)[:-1], np.repeat(curve.precision, 2)[1:]
    prior = curve.prior
    return _moving(
        curve,
        threshold,
        [
            *_level(prior, f"share of positives {percent(prior)}", sides),
            _line(recall, right, (width, height), sides, (1.0, 1.0)),
        ],
        ("b", "c"),
        sides,
        corner=(0.02, 0.03 if prior > 0.25 else prior + 0.09, "left"),
        title=title or f"Average precision {estimated(found)}",
        notes=[level_of(found), "Grey: a score without information."],
        width=width,
        height=height,
    )


def gains(
    y: Any,
    score: Any = None,
    *,
    sample_weight: Any = None,
    pos_label: Any = None,
    threshold: Any = None,
    title: str | None = None,
    width: Width = 380,
    height: int = 300,
) -> alt.LayerChart:
    """The share of the positives found against the share of rows flagged, highest scores first.

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
    threshold : float, Threshold or altair.Parameter, or a sequence of them, optional
        Marked, and moved by the signal `threshold`.

    Examples
    --------
    >>> from fenchel.show import gains
    >>> chart = gains([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> chart.to_dict()["title"]["text"]
    'The top 10 % of rows hold 20 % of the positives'
    """
    curve, _ = curve_of("gains", y, score, sample_weight, pos_label)
    sides = shares("rows flagged", grid=False), shares("positives found")
    prior, tenth = curve.prior, float(np.interp(0.1, curve.flagged, curve.tpr))
    return _moving(
        curve,
        threshold,
        [
            _reference([0.0, 1.0], [0.0, 1.0], sides),
            _reference([0.0, prior, 1.0], [0.0, 1.0, 1.0], sides, dash=[3, 3]),
            _line(curve.flagged, curve.tpr, (width, height), sides, (1.0, 1.0)),
        ],
        ("g", "b"),
        sides,
        corner=(0.98, 0.03, "right"),
        title=title or f"The top 10 % of rows hold {percent(tenth)} of the positives",
        notes=["Grey: rows in random order. Dashes: the best order there can be."],
        width=width,
        height=height,
    )


def lift(
    y: Any,
    score: Any = None,
    *,
    sample_weight: Any = None,
    pos_label: Any = None,
    threshold: Any = None,
    title: str | None = None,
    width: Width = 380,
    height: int = 300,
) -> alt.LayerChart:
    """How many times denser positives are among the flagged than among all rows.

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
    threshold : float, Threshold or altair.Parameter, or a sequence of them, optional
        Marked, and moved by the signal `threshold`.

    Examples
    --------
    >>> from fenchel.show import lift
    >>> chart = lift([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> chart.to_dict()["title"]["text"]
    'In the top 10 % positives are 2 times as frequent'
    """
    curve, _ = curve_of("lift", y, score, sample_weight, pos_label)
    flagged, dense, _ = curve.lift()
    top = max(float(dense.max()), 1.0)
    # The numbers of the threshold stand above the curve: it may pass anywhere below.
    room = 1.08 if threshold is None else 1.32
    up = {
        "title": "times as frequent as among all rows",
        "scale": alt.Scale(domain=[0.0, round(room * top, 3)], nice=False),
        "axis": alt.Axis(tickCount=5),
    }
    sides = shares("rows flagged", grid=False), up
    # Before the first score is complete its positives come as densely as they end.
    tenth = float(np.interp(0.1, curve.flagged, curve.tpr)) / 0.1
    return _moving(
        curve,
        threshold,
        [
            *_level(1.0, "rows in random order", sides),
            _line(flagged, dense, (width, height), sides, (1.0, room * top)),
        ],
        ("g", "l"),
        sides,
        corner=(0.98, 1.04 * top, "right"),
        title=title or f"In the top 10 % positives are {number(tenth)} times as frequent",
        notes=[
            f"Largest possible value: {number(1.0 / curve.prior)}, if only positives are flagged."
        ],
        width=width,
        height=height,
    )


def _moving(
    curve: Curve,
    threshold: Any,
    layers: list[Any],
    fields: tuple[str, str],
    sides: tuple[Side, Side],
    *,
    corner: tuple[float, float, str],
    **frame: Any,
) -> alt.LayerChart:
    """The layers, points that speak under the pointer, and the point of the threshold."""
    x, y = alt.X(f"{fields[0]}:Q", **sides[0]), alt.Y(f"{fields[1]}:Q", **sides[1])
    points = operating_points(curve, threshold)
    layers.append(hover_layer(points, x, y))
    parameter = None
    if threshold is not None:
        parameter = signal(threshold, points)
        layers += marker_layers(points, x, y, corner=corner[:2], align=corner[2])
    return framed(layers, parameter=parameter, **frame)


def _line(
    x: Floats,
    y: Floats,
    size: tuple[Width, int],
    sides: tuple[Side, Side],
    spans: tuple[float, float],
) -> Any:
    keep = thin(x, y, pixel=(spans[0] / across(size[0]), spans[1] / size[1]))
    data = table(i=np.arange(len(keep)), x=rounded(x[keep], spans[0]), y=rounded(y[keep], spans[1]))
    line = alt.Chart(data).mark_line(color=BLUE, strokeWidth=2.2)
    return line.encode(x=alt.X("x:Q", **sides[0]), y=alt.Y("y:Q", **sides[1]), order="i:Q")


def _reference(
    x: list[float], y: list[float], sides: tuple[Side, Side], dash: list[int] | None = None
) -> Any:
    data = table(x=rounded(x, 1.0), y=rounded(y, 1.0))
    line = alt.Chart(data).mark_line(color=GREY, strokeWidth=1.0, strokeDash=dash or [1, 0])
    return line.encode(x=alt.X("x:Q", **sides[0]), y=alt.Y("y:Q", **sides[1]))


def _level(value: float, said: str, sides: tuple[Side, Side]) -> list[Any]:
    """A level line and its name at the left."""
    ends = _reference([0.0, 1.0], [value, value], sides)
    name = alt.Chart(records(x=[0.0], y=rounded([value], 1.0), s=[said]))
    text = name.mark_text(style="quiet", align="left", baseline="bottom", dx=4, dy=-3)
    return [
        ends,
        text.encode(x=alt.X("x:Q", **sides[0]), y=alt.Y("y:Q", **sides[1]), text="s:N"),
    ]
