"""The plane of both errors on normal deviates: the DET curve."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
from scipy.special import ndtri

from fenchel.score.curves.score_counts import Floats
from fenchel.show.arguments import curve_of
from fenchel.show.binary.roc_plane import operating_tooltip
from fenchel.show.binary.threshold_data import operating_points, signal
from fenchel.show.encoding import rounded, significant, table
from fenchel.show.formatting import percent
from fenchel.show.layout import Side, Width, across, framed
from fenchel.show.theme import BLUE, GREY, ORANGE
from fenchel.show.thinning import thin

# Error rates that are marked, where the axis reaches them.
MARKS = (0.001, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99, 0.999)


def det(
    y: Any,
    score: Any = None,
    *,
    sample_weight: Any = None,
    pos_label: Any = None,
    threshold: Any = None,
    title: str | None = None,
    width: Width = 380,
    height: int = 380,
) -> alt.LayerChart:
    """Misses against false alarms, both on the scale of the normal law: detection error tradeoff.

    (Φ⁻¹(fpr), Φ⁻¹(fnr)) at every threshold. Normal scores of both classes with equal variances make
    a straight line of slope −1. A vertex with an error of 0 or 1 has no place on this scale and is
    left out.

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
    threshold : float, Threshold or altair.Parameter, optional
        Marked, and moved by the signal `threshold`.

    References
    ----------
    Martin, Doddington, Kamm, Ordowski and Przybocki, The DET curve in assessment of detection task
    performance, Eurospeech (1997).

    Examples
    --------
    >>> from fenchel.show import det
    >>> chart = det([0, 0, 1, 0, 1, 1, 0, 1], [0.1, 0.3, 0.2, 0.4, 0.5, 0.7, 0.6, 0.9])
    >>> chart.to_dict()["title"]["text"]
    'Equal error rate 25 %'
    """
    curve, _ = curve_of("det", y, score, sample_weight, pos_label)
    miss = 1.0 - curve.tpr
    inside = (curve.fpr > 0.0) & (curve.fpr < 1.0) & (miss > 0.0) & (miss < 1.0)
    if not inside.any():
        raise ValueError(
            "every threshold has an error of 0 or 1, which this scale has no place for: draw roc"
        )
    a, b = ndtri(curve.fpr[inside]), ndtri(miss[inside])
    sides = _side("negatives flagged (false alarms)", a), _side("positives missed", b)
    size = (across(width), float(height))
    spans = tuple(float(np.ptp(side["scale"].domain)) for side in sides)
    keep = thin(a, b, pixel=(spans[0] / size[0], spans[1] / size[1]))
    line = table(i=np.arange(len(keep)), x=rounded(a[keep], spans[0]), y=rounded(b[keep], spans[1]))
    x, y_axis = alt.X("x:Q", **sides[0]), alt.Y("y:Q", **sides[1])
    ends = [max(side["scale"].domain[0] for side in sides)]
    ends.append(min(side["scale"].domain[1] for side in sides))
    equal = alt.Chart(table(x=rounded(ends), y=rounded(ends)))
    layers: list[Any] = [
        equal.mark_line(color=GREY, strokeWidth=1.0, strokeDash=[3, 3]).encode(x=x, y=y_axis),
        alt.Chart(line)
        .mark_line(color=BLUE, strokeWidth=2.2)
        .encode(x=x, y=y_axis, order=alt.Order("i:Q")),
    ]
    parameter = None
    if threshold is not None:
        points = operating_points(curve, threshold)
        parameter = signal(threshold, points)
        deviates = points.rates(points.current(alt.Chart(points.data()))).transform_calculate(
            u="quantileNormal(datum.a)", v="quantileNormal(1 - datum.b)"
        )
        shown = deviates.transform_filter("isFinite(datum.u) && isFinite(datum.v)")
        layers.append(
            shown.mark_point(
                filled=True, fill=ORANGE, stroke="white", strokeWidth=1.5, size=130, opacity=1.0
            ).encode(
                x=alt.X("u:Q", **sides[0]),
                y=alt.Y("v:Q", **sides[1]),
                tooltip=operating_tooltip(),
            )
        )
    return framed(
        layers,
        title=title or f"Equal error rate {percent(_equal_error(curve.fpr, miss))}",
        notes=["Both axes: normal deviates of the errors. Dashes: both errors equal."],
        width=width,
        height=height,
        parameter=parameter,
    )


def _side(title: str, deviates: Floats) -> Side:
    """An axis of normal deviates with error rates for marks."""
    low, high = float(deviates.min()), float(deviates.max())
    pad = 0.05 * (high - low) or 0.5
    domain = rounded([low - pad, high + pad]).tolist()
    marks = significant([z for z in ndtri(MARKS) if domain[0] <= z <= domain[1]], 6).tolist()
    return {
        "title": title,
        "scale": alt.Scale(domain=domain, nice=False, zero=False),
        "axis": alt.Axis(
            values=marks or rounded([low, high]).tolist(),
            labelExpr="format(cumulativeNormal(datum.value), '.2~%')",
        ),
    }


def _equal_error(fpr: Floats, miss: Floats) -> float:
    """Where false alarms are as frequent as misses, along the edges of the curve."""
    apart = fpr - miss  # rises from −1 to 1
    at = int(np.searchsorted(apart, 0.0))
    if apart[at] == 0.0 or at == 0:
        return float(fpr[at])
    part = -apart[at - 1] / (apart[at] - apart[at - 1])
    return float(fpr[at - 1] + part * (fpr[at] - fpr[at - 1]))
