"""Whether probabilities are what they say, and what acting on them is worth."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from fenchel.score.curves.score_counts import Floats
from fenchel.score.metrics.calibration_bins import binned, bins_of
from fenchel.score.metrics.probability import brier
from fenchel.show.arguments import curve_of, probabilities_of
from fenchel.show.binary.threshold_data import NAME, operating_points, signal
from fenchel.show.encoding import records, rounded, table
from fenchel.show.formatting import estimated, level_of, number, percent
from fenchel.show.layout import Width, across, framed, shares
from fenchel.show.theme import BLUE, GREY, ORANGE
from fenchel.show.thinning import thin

__all__ = ["binned", "calibration", "net_benefit"]
STRIP = 0.12  # of the height, for the bars that count rows
BARS = 40
GRID = 512


def calibration(
    y: Any,
    probability: Any,
    *,
    bins: int = 10,
    level: float = 0.95,
    simultaneous: bool = True,
    pos_label: Any = None,
    title: str | None = None,
    width: Width = 380,
    height: int = 380,
) -> alt.LayerChart:
    """How often the positive class came up where it was given some probability.

    Rows are put in order of probability and cut into bins of equally many; each has the exact
    binomial interval of its share of positives (`fenchel.calibration_bins`). Orange intervals miss
    the diagonal: those bins are off. Bars at the bottom count how often each probability was given.

    Parameters
    ----------
    y : array of shape (n,)
        Labels of two classes.
    probability : array of shape (n,)
        Predicted probability of the positive class.
    bins : int
    level : float
    simultaneous : bool
        Whether the intervals of all bins hold together at the level (Bonferroni), so that a
        calibrated model has no bin off with that probability; or each by itself.
    pos_label : label, optional
        The positive class; by default the greater label.

    Examples
    --------
    >>> from fenchel.show import calibration
    >>> chart = calibration([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.8, 0.9], bins=2)
    >>> chart.to_dict()["title"]["text"].split(" [")[0]
    'Brier score 0.16'
    """
    rows = probabilities_of("calibration", y, probability, pos_label)
    p = rows.score
    found = brier(rows.positive.astype(int), p, pos_label=1, level=level)
    held = bins_of(p, rows.positive, bins=bins, level=level, simultaneous=simultaneous)
    data = table(
        x=rounded(held.predicted, 1.0),
        y=rounded(held.observed, 1.0),
        a=rounded(held.low, 1.0),
        b=rounded(held.high, 1.0),
        n=held.rows,
        h=held.positives,
        o=held.is_off.astype(int),
    )
    x = alt.X("x:Q", **shares("predicted probability", grid=False))
    y_axis = alt.Y("y:Q", **shares("observed share of positives"))
    tooltip = [
        alt.Tooltip("x:Q", title="predicted, mean", format=".1%"),
        alt.Tooltip("y:Q", title="observed", format=".1%"),
        alt.Tooltip("a:Q", title="interval from", format=".1%"),
        alt.Tooltip("b:Q", title="to", format=".1%"),
        alt.Tooltip("n:Q", title="rows", format=","),
        alt.Tooltip("h:Q", title="positives", format=","),
    ]
    base = alt.Chart(data)
    color = alt.condition("datum.o == 1", alt.value(ORANGE), alt.value(BLUE))
    ideal = alt.Chart(table(x=[0.0, 1.0], y=[0.0, 1.0]))
    layers = [
        _strip(p),
        ideal.mark_line(color=GREY, strokeWidth=1.0).encode(x=x, y=y_axis),
        base.mark_line(color=BLUE, strokeWidth=1.4, opacity=0.5).encode(x=x, y=y_axis),
        base.mark_rule(strokeWidth=1.8, opacity=0.8).encode(
            x=x,
            y=alt.Y("a:Q", **shares("observed share of positives")),
            y2=alt.Y2("b:Q", title="observed share of positives"),
            color=color,
            tooltip=tooltip,
        ),
        base.mark_point(filled=True, size=60, opacity=1.0).encode(
            x=x, y=y_axis, color=color, tooltip=tooltip
        ),
    ]
    many = len(held.rows)
    equally = f"{many} bins of equally many rows" if many > 1 else "one bin of all rows"
    hold = f"that hold together with {100.0 * level:g} % (Bonferroni)"
    off = "No bin misses the diagonal."
    if held.n_off:
        miss = "bin misses" if held.n_off == 1 else "bins miss"
        off = f"Orange: {held.n_off} {miss} the diagonal."
    return framed(
        layers,
        title=title or f"Brier score {estimated(found)}",
        notes=[
            level_of(found),
            f"Points: {equally}, with exact intervals {hold}."
            if simultaneous
            else f"Points: {equally}, with exact {100.0 * level:g} % intervals, each by itself.",
            off,
            "Grey bars: how often each probability was given.",
        ],
        width=width,
        height=height,
    )


def _strip(p: Floats) -> Any:
    count, edges = np.histogram(p, BARS, range=(0.0, 1.0))
    kept = count > 0
    data = table(
        a=rounded(edges[:-1][kept], 1.0),
        b=rounded(edges[1:][kept], 1.0),
        y=rounded(STRIP * count[kept] / count.max(), 1.0),
        n=count[kept],
    )
    return (
        alt.Chart(data)
        .mark_bar(color=GREY, opacity=0.35, binSpacing=1)
        .encode(
            x=alt.X("a:Q", **shares("predicted probability", grid=False)),
            x2=alt.X2("b:Q", title="predicted probability"),
            y=alt.Y("y:Q", **shares("observed share of positives")),
            y2=alt.datum(0.0),
            tooltip=[
                alt.Tooltip("a:Q", title="probability from", format=".1%"),
                alt.Tooltip("b:Q", title="to", format=".1%"),
                alt.Tooltip("n:Q", title="rows", format=","),
            ],
        )
    )


def net_benefit(
    y: Any,
    probability: Any,
    *,
    threshold: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    title: str | None = None,
    width: Width = 380,
    height: int = 260,
) -> alt.LayerChart:
    """What flagging probability ≥ t is worth to one who flags from t on: the decision curve.

    tp/n − fp/n · t/(1 − t): at the threshold t a false alarm costs t/(1 − t) of what a positive
    found is worth. Beside it, flagging every row and flagging none.

    Parameters
    ----------
    y : array of shape (n,)
        Labels of two classes.
    probability : array of shape (n,)
        Predicted probability of the positive class.
    threshold : float, Threshold or altair.Parameter, or a sequence of them, optional
        A line, moved by the signal `threshold`.
    sample_weight : array of shape (n,), optional
        Weights of the rows.
    pos_label : label, optional
        The positive class; by default the greater label.

    References
    ----------
    Vickers and Elkin, Decision curve analysis, Medical Decision Making 26 (2006).

    Examples
    --------
    >>> from fenchel.show import net_benefit
    >>> chart = net_benefit([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.8, 0.9])
    >>> chart.to_dict()["title"]["text"]
    'Better than flagging all or none from 33 % to 90 %'
    """
    probabilities_of("net_benefit", y, probability, pos_label)
    curve, _ = curve_of("net_benefit", y, probability, sample_weight, pos_label)
    t = np.linspace(0.0, 1.0, GRID + 1)[1:-1]
    at = np.searchsorted(-curve.low, -t, side="right")
    worth = t / (1.0 - t)
    P, N = curve.both()
    tp, fp = np.append(0.0, curve.tp)[at], np.append(0.0, curve.fp)[at]
    model, everything = (tp - fp * worth) / (P + N), (P - N * worth) / (P + N)
    best = curve.prior
    domain = [round(-0.25 * best, 4), round(1.08 * best, 4)]
    x = alt.X("x:Q", **shares("threshold on the probability", grid=False))
    y_axis = alt.Y(
        "y:Q",
        title="net benefit per row",
        scale=alt.Scale(domain=domain, nice=False),
        axis=alt.Axis(tickCount=5),
    )

    def line(values: Floats, **looks: Any) -> Any:
        shown = values >= domain[0] - 0.5 * best  # what lies deeper is cut off by the frame
        a, b = t[shown], values[shown]
        keep = thin(a, b, pixel=(1.0 / across(width), (domain[1] - domain[0]) / height))
        data = table(x=rounded(a[keep], 1.0), y=rounded(b[keep], best))
        tooltip = [
            alt.Tooltip("x:Q", title="threshold", format=".3"),
            alt.Tooltip("y:Q", title="net benefit", format=".3"),
        ]
        return alt.Chart(data).mark_line(clip=True, **looks).encode(x=x, y=y_axis, tooltip=tooltip)

    worst = domain[0]
    leaves = (best - worst) / (1.0 - worst)  # where flagging every row is worth no more than that
    names = records(
        x=[0.995, float(rounded(leaves, 1.0))],
        y=[0.0, worst],
        s=["flag none", "flag all"],
        k=[0, 1],
    )
    text = alt.Chart(names).encode(x=x, y=y_axis, text="s:N")
    layers: list[Any] = [
        line(np.zeros_like(t), color=GREY, strokeWidth=1.0),
        line(everything, color=GREY, strokeWidth=1.0, strokeDash=[4, 3]),
        text.transform_filter("datum.k == 0").mark_text(
            style="quiet", align="right", baseline="top", dy=5
        ),
        text.transform_filter("datum.k == 1").mark_text(
            style="quiet", align="left", baseline="bottom", dx=5, dy=-2
        ),
        line(model, color=BLUE, strokeWidth=2.2),
    ]
    parameter = None
    if threshold is not None:
        parameter = signal(threshold, operating_points(curve, threshold))
        row = alt.Chart(alt.InlineData(values=[{"o": 0}])).transform_calculate(
            v=f"clamp({NAME}, 0, 1)"
        )
        here = alt.X("v:Q", **shares("threshold on the probability", grid=False))
        layers.append(row.mark_rule(color=ORANGE, strokeWidth=1.6).encode(x=here))
    return framed(
        layers,
        title=title or _range_of_worth(t, model, np.maximum(everything, 0.0)),
        notes=[
            "Net benefit: positives found less false alarms, weighed by the odds of the threshold; "
            f"at most {number(best)}, the share of positives."
        ],
        width=width,
        height=height,
        parameter=parameter,
    )


def _range_of_worth(t: Floats, model: Floats, simple: Floats) -> str:
    better = np.flatnonzero(model > simple + 1e-12)
    if not better.size:
        return "No better than flagging all or none"
    runs = np.split(better, np.flatnonzero(np.diff(better) > 1) + 1)
    widest = max(runs, key=len)
    low, high = percent(t[widest[0]]), percent(t[widest[-1]])
    return f"Better than flagging all or none from {low} to {high}"
