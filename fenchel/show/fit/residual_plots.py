"""Predicted against observed numbers, and residuals."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import numpy as np
from scipy.special import betaincinv, ndtri

from fenchel.score.curves.score_counts import Floats
from fenchel.score.labels import column
from fenchel.show.encoding import rounded, table
from fenchel.show.formatting import number, percent
from fenchel.show.layout import Width, framed
from fenchel.show.scatter import counted_note, number_side, padded, scatter
from fenchel.show.theme import BLUE, GREY, ORANGE

TAIL = 60  # extreme rows of a quantile plot that are all drawn, at each end
INNER = 180  # of those between


def predicted_observed(
    y: Any,
    prediction: Any,
    *,
    title: str | None = None,
    width: Width = 380,
    height: int = 380,
) -> alt.LayerChart:
    """Observed against predicted numbers; on the line they are equal.

    Parameters
    ----------
    y, prediction : array of shape (n,)
        More than 2,000 rows are counted in cells.

    Examples
    --------
    >>> from fenchel.show import predicted_observed
    >>> chart = predicted_observed([1.0, 2.0, 3.0], [1.1, 1.9, 3.2])
    >>> chart.to_dict()["title"]["text"]
    'R² 0.970, mean absolute error 0.133'
    """
    observed, predicted = _pair(y, prediction)
    across, up = (padded(np.array([v.min(), v.max()])) for v in (predicted, observed))
    sides = number_side("predicted", across, grid=False), number_side("observed", up)
    equal = alt.Chart(table(x=rounded(across), y=rounded(across)))
    layers = [
        scatter(predicted, observed, across, up, sides),
        equal.mark_line(color=GREY, strokeWidth=1.2, clip=True).encode(
            x=alt.X("x:Q", **sides[0]), y=alt.Y("y:Q", **sides[1])
        ),
    ]
    left = observed - predicted
    away = float(((observed - observed.mean()) ** 2).sum())
    fit = "" if away == 0.0 else f"R² {1.0 - float((left**2).sum()) / away:.3f}, "
    error = number(float(np.abs(left).mean()))
    return framed(
        layers,
        title=title or f"{fit}mean absolute error {error}",
        notes=[counted_note(len(observed))],
        width=width,
        height=height,
    )


def residuals(
    y: Any,
    prediction: Any,
    *,
    title: str | None = None,
    width: Width = 380,
    height: int = 300,
) -> alt.LayerChart:
    """What is left, observed − predicted, against the prediction, with its running mean.

    Parameters
    ----------
    y, prediction : array of shape (n,)
        More than 2,000 rows are counted in cells.

    Examples
    --------
    >>> from fenchel.show import residuals
    >>> chart = residuals([1.0, 2.0, 3.0], [1.1, 1.9, 3.2])
    >>> chart.to_dict()["title"]["text"]
    'Residuals: mean -0.0667, standard deviation 0.125'
    """
    observed, predicted = _pair(y, prediction)
    left = observed - predicted
    reach = float(np.abs(left).max()) or 1.0
    across = padded(np.array([predicted.min(), predicted.max()]))
    up = padded(np.array([-reach, reach]))
    sides = number_side("predicted", across, grid=False), number_side("observed − predicted", up)
    x, y_axis = alt.X("x:Q", **sides[0]), alt.Y("y:Q", **sides[1])
    at, middle = _running_mean(predicted, left)
    trend = alt.Chart(table(x=rounded(at, float(np.ptp(across))), y=rounded(middle, 2.0 * reach)))
    layers = [
        scatter(predicted, left, across, up, sides),
        alt.Chart(table(y=[0.0])).mark_rule(color=GREY, strokeWidth=1.2).encode(y=y_axis),
        trend.mark_line(color=ORANGE, strokeWidth=2.2).encode(x=x, y=y_axis),
    ]
    mean, spread = float(left.mean()), float(left.std())
    said = f"Residuals: mean {number(mean if abs(mean) > 1e-9 * spread else 0.0)}"
    return framed(
        layers,
        title=title or f"{said}, standard deviation {number(spread)}",
        notes=["Orange: mean of neighbouring rows.", counted_note(len(left))],
        width=width,
        height=height,
    )


def quantile_plot(
    y: Any,
    prediction: Any,
    *,
    level: float = 0.95,
    title: str | None = None,
    width: Width = 380,
    height: int = 300,
) -> alt.LayerChart:
    """Standardised residuals in order against those of a normal law, with their intervals.

    The i-th smallest of n uniform numbers is Beta(i, n + 1 − i); the band is its quantiles, each
    point by itself.

    Parameters
    ----------
    y, prediction : array of shape (n,)
    level : float

    Examples
    --------
    >>> from fenchel.show import quantile_plot
    >>> chart = quantile_plot([1.0, 2.0, 3.5, 4.0], [1.1, 1.9, 3.2, 4.2])
    >>> chart.to_dict()["title"]["text"]
    '100 % of residuals lie where a normal law has them'
    """
    observed, predicted = _pair(y, prediction)
    left = np.sort(observed - predicted)
    n = len(left)
    spread = float(left.std()) or 1.0
    left = (left - left.mean()) / spread
    rank = np.arange(1.0, n + 1.0)
    tail = 0.5 * (1.0 - level)
    low, high = (ndtri(betaincinv(rank, n + 1.0 - rank, q)) for q in (tail, 1.0 - tail))
    inside = float(((left >= low) & (left <= high)).mean())
    normal = ndtri((rank - 0.5) / n)
    keep = _quantiles_kept(n)
    ends = padded(np.array([min(left[0], normal[0]), max(left[-1], normal[-1])]))
    span = float(np.ptp(ends))
    data = table(
        x=rounded(normal[keep], span),
        y=rounded(left[keep], span),
        a=rounded(low[keep], span),
        b=rounded(high[keep], span),
    )
    side = padded(np.array([normal[0], normal[-1]]))
    vertical = number_side("residual, standardised", ends)
    x = alt.X("x:Q", **number_side("expected of a normal law", side, grid=False))
    y_axis = alt.Y("y:Q", **vertical)
    tooltip = [
        alt.Tooltip("x:Q", title="expected", format=".3"),
        alt.Tooltip("y:Q", title="residual", format=".3"),
    ]
    line = alt.Chart(table(x=rounded(side), y=rounded(side)))
    layers = [
        alt.Chart(data)
        .mark_area(color=GREY, opacity=0.2, clip=True)
        .encode(x=x, y=alt.Y("a:Q", **vertical), y2="b:Q"),
        line.mark_line(color=GREY, strokeWidth=1.2, clip=True).encode(x=x, y=y_axis),
        alt.Chart(data)
        .mark_point(filled=True, color=BLUE, size=22, opacity=0.85)
        .encode(x=x, y=y_axis, tooltip=tooltip),
    ]
    return framed(
        layers,
        title=title or f"{percent(inside)} of residuals lie where a normal law has them",
        notes=[f"Shaded: where each lies with {100.0 * level:g} % if the law is normal."],
        width=width,
        height=height,
    )


def leverage(
    leverages: Any,
    standardised: Any,
    *,
    columns: int | None = None,
    title: str | None = None,
    width: Width = 380,
    height: int = 300,
) -> alt.LayerChart:
    """Standardised residuals against leverage: how much each row pulls its own prediction.

    Parameters
    ----------
    leverages, standardised : array of shape (n,)
        More than 2,000 rows are counted in cells.
    columns : int, optional
        Number p of coefficients: a line at 2p/n, beyond which a row is worth a look.

    Examples
    --------
    >>> from fenchel.show import leverage
    >>> chart = leverage([0.1, 0.2, 0.9], [1.0, -0.5, 2.1], columns=1)
    >>> chart.to_dict()["title"]["text"]
    '1 of 3 rows has a leverage above 0.667'
    """
    h, r = _pair(leverages, standardised, ("leverages", "standardised"))
    across = np.array([0.0, 1.05 * max(float(h.max()), 1e-9)])
    reach = max(float(np.abs(r).max()), 1.0)
    up = padded(np.array([-reach, reach]))
    sides = number_side("leverage", across, grid=False), number_side("residual, standardised", up)
    x, y_axis = alt.X("x:Q", **sides[0]), alt.Y("y:Q", **sides[1])
    layers = [
        scatter(h, r, across, up, sides),
        alt.Chart(table(y=[0.0])).mark_rule(color=GREY, strokeWidth=1.2).encode(y=y_axis),
    ]
    said = f"Leverage: largest {number(float(h.max()))}, mean {number(float(h.mean()))}"
    if columns is not None:
        most = 2.0 * columns / len(h)
        above = int((h > most).sum())
        has = "row has" if above == 1 and len(h) == 1 else "rows has" if above == 1 else "rows have"
        said = f"{above} of {len(h)} {has} a leverage above {number(most)}"
        limit = alt.Chart(table(x=rounded([most], float(np.ptp(across)))))
        layers.append(limit.mark_rule(color=ORANGE, strokeDash=[4, 3], clip=True).encode(x=x))
    return framed(
        layers, title=title or said, notes=[counted_note(len(h))], width=width, height=height
    )


def _pair(
    first: Any, second: Any, names: tuple[str, str] = ("y", "prediction")
) -> tuple[Floats, Floats]:
    """Two columns of finite numbers, one each for every row; errors name the argument."""
    a, b = (_numbers(values, name) for values, name in zip((first, second), names, strict=True))
    if a.shape != b.shape:
        raise ValueError(
            f"{names[0]} has {a.size} rows and {names[1]} has {b.size}: both must be of one length"
        )
    if not a.size:
        raise ValueError(f"{names[0]} is empty: there is no row to draw")
    for values, name in ((a, names[0]), (b, names[1])):
        if not np.isfinite(values).all():
            row = int((~np.isfinite(values)).argmax())
            raise ValueError(
                f"{name} is {values[row]:g} in row {row}, missing or infinite: leave that row out"
            )
    return a, b


def _numbers(values: Any, name: str) -> Floats:
    given = column(values, name)
    try:
        return given.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must be numbers, and its values are {given.dtype}: labels are drawn by "
            "confusion(y, predicted)"
        ) from None


def _running_mean(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Means over runs of equally many neighbours, at most 30 of them."""
    order = np.argsort(x, kind="stable")
    runs = max(min(30, math.isqrt(len(x))), 1)
    begins = (np.arange(runs) * len(x)) // runs
    count = np.diff(np.append(begins, len(x)))
    return np.add.reduceat(x[order], begins) / count, np.add.reduceat(y[order], begins) / count


def _quantiles_kept(n: int) -> Any:
    """All extreme rows, and some of those between."""
    if n <= 2 * TAIL + INNER:
        return np.arange(n)
    inner = np.linspace(TAIL, n - TAIL - 1, INNER).astype(int)
    return np.unique(np.concatenate([np.arange(TAIL), inner, np.arange(n - TAIL, n)]))
