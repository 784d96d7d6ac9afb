"""Smoothing: the error of rows left out against how much is smoothed, and local averages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
from scipy.special import ndtri

from fenchel.score.curves.score_counts import Floats
from fenchel.score.labels import column
from fenchel.show.encoding import records, rounded, table
from fenchel.show.formatting import number, percent, plain
from fenchel.show.layout import Side, Width, framed
from fenchel.show.parameter_axis import EXTENT, is_number, parameter_axis, said, shown
from fenchel.show.scatter import counted_note, number_side, padded, scatter
from fenchel.show.theme import BLUE, GREY, ORANGE
from fenchel.show.thinning import thin

MOST = 300  # vertices of each line


def leave_one_out_curve(
    values: Any,
    errors: Any,
    *,
    standard_errors: Any = None,
    chosen: Any = None,
    name: str = "neighbours",
    error: str = "leave-one-out error",
    share: bool = False,
    title: str | None = None,
    width: Width = 460,
    height: int = 280,
) -> alt.LayerChart:
    """The error of rows that are left out, along a parameter such as the number of neighbours.

    Parameters
    ----------
    values : array of shape (m,)
        Of the parameter, rising: 1, 2, … neighbours, or bandwidths.
    errors : array of shape (m,)
        Of each, such as `loo_errors_`; those that are not finite are not drawn.
    standard_errors : array of shape (m,), optional
        Half the height of the band around them.
    chosen : value, optional
        The one taken; by default the first with the least error.
    name, error : str
        What the parameter and the error are called.
    share : bool
        Whether errors are shares of the rows, drawn in per cent.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from fenchel import KNeighborsClassifier
    >>> from fenchel.show import leave_one_out_curve
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KNeighborsClassifier("auto").fit(X, y)
    >>> errors, spread = model.leave_one_out(100, return_std=True)
    >>> chart = leave_one_out_curve(
    ...     np.arange(1, 101), errors, standard_errors=spread, chosen=model.n_neighbors_, share=True
    ... )
    >>> chart.to_dict()["title"]["text"]
    'neighbours = 19: leave-one-out error 2.0 % ± 1.1 %'
    """
    at, left = (np.asarray(given, dtype=np.float64) for given in (values, errors))
    half = np.zeros(left.shape) if standard_errors is None else np.asarray(standard_errors, float)
    if at.ndim != 1 or not (at.shape == left.shape == half.shape) or (np.diff(at) <= 0.0).any():
        raise ValueError("errors must be one number for each value, and the values must rise")
    drawn = np.isfinite(left) & np.isfinite(half)
    if not drawn.any():
        raise ValueError("no error is finite: there is nothing to draw")
    listed = [value for value, keep in zip(np.asarray(values).tolist(), drawn, strict=True) if keep]
    at, left, half = at[drawn], left[drawn], half[drawn]
    taken = int(left.argmin()) if chosen is None else _index(listed, chosen)
    axis = parameter_axis(name, listed)
    kept = _vertices(at, left, half, axis.is_log)
    low, high = float((left - half).min()), float((left + half).max())
    span = (high - low) or max(abs(high), 1e-300)
    domain = [low - 0.06 * span, high + 0.1 * span]
    if share:  # an axis of at least one per cent, where no row is misclassified
        domain = [max(domain[0], 0.0), min(max(domain[1], max(domain[0], 0.0) + 0.01), 1.0)]
    y: Side = {
        "title": "error",
        "scale": alt.Scale(domain=rounded(domain, span).tolist(), nice=False, zero=False),
        "axis": alt.Axis(
            title=plain(error),
            tickCount=5,
            minExtent=EXTENT,
            format=".1~%" if share else alt.Undefined,
        ),
    }
    places = [shown(value) for value in (listed if axis.names is None else axis.names)]
    data = records(
        x=[places[i] for i in kept.tolist()],
        y=rounded(left[kept], span),
        a=rounded((left - half)[kept], span),
        b=rounded((left + half)[kept], span),
    )
    base = alt.Chart(data).encode(x=axis.x)
    layers: list[Any] = []
    if standard_errors is not None:
        band = base.mark_area(color=BLUE, opacity=0.18, clip=True)
        layers.append(band.encode(y=alt.Y("a:Q", **y), y2="b:Q"))
    tooltip = [
        alt.Tooltip("x:Q" if axis.names is None else "x:N", title="setting"),
        alt.Tooltip("y:Q", title="error", format=".2%" if share else ".4~g"),
    ]
    line = base.encode(y=alt.Y("y:Q", **y), tooltip=tooltip)
    layers.append(line.mark_line(color=BLUE, strokeWidth=1.8))
    if len(kept) <= 40:
        layers.append(line.mark_point(color=BLUE, filled=True, size=30, opacity=1.0))
    spot = alt.Chart(records(x=[places[taken]], y=rounded(left[[taken]], span), s=["chosen"]))
    spot = spot.encode(x=axis.x, y=alt.Y("y:Q", **y))
    layers.append(spot.mark_point(filled=True, color=ORANGE, size=120, opacity=1.0))
    # Below the curve, unless the axis is near: a least error has others above it.
    room = height * (float(left[taken]) - domain[0]) / (domain[1] - domain[0])
    tag = spot.mark_text(style="ink", dy=16 if room > 30.0 else -15, fontWeight=600)
    layers.append(tag.encode(text="s:N"))
    return framed(
        layers,
        title=title or _found(listed, left, half, taken, name, error, share),
        notes=_band_notes(listed, left, half, name) if standard_errors is not None else [],
        width=width,
        height=height,
    )


def _found(
    listed: list[Any], left: Floats, half: Floats, taken: int, name: str, error: str, share: bool
) -> str:
    say = percent if share else number
    spread = f" ± {say(half[taken])}" if half[taken] > 0.0 else ""
    value = said(listed[taken])
    return f"{plain(name)} = {value}: {plain(error)} {say(left[taken])}{spread}"


def _band_notes(listed: list[Any], left: Floats, half: Floats, name: str) -> list[str]:
    """What one standard error says of the choice."""
    best = int(left.argmin())
    near = np.flatnonzero(left <= left[best] + half[best])
    shaded = "Shaded: one standard error."
    if len(near) == 1:
        return [f"{shaded} No other value is within one of the least."]
    first, last = int(near[0]), int(near[-1])
    reach = f"{plain(name)} {said(listed[first])} to {said(listed[last])}"
    gaps = ", but for some between" if len(near) < last - first + 1 else ""
    return [f"{shaded} Within one of the least: {reach}{gaps}."]


def _vertices(at: Floats, left: Floats, half: Floats, is_log: bool) -> Any:
    """Places whose lines pass the error and both edges of its band."""
    x = np.log10(at) if is_log else at
    parts = [thin(x, line, MOST) for line in (left, left - half, left + half)]
    return np.unique(np.concatenate(parts))


def _index(listed: list[Any], chosen: Any) -> int:
    for i, value in enumerate(listed):
        if is_number(value) and value == chosen:
            return i
    raise ValueError(f"{chosen!r} is not one of the values whose errors are finite")


def local_average(
    x: Any,
    y: Any,
    places: Any,
    average: Any,
    standard_errors: Any = None,
    *,
    reach: float = math.inf,
    level: float = 0.95,
    names: Sequence[Any] = ("x", "y"),
    title: str | None = None,
    width: Width = 460,
    height: int = 300,
) -> alt.LayerChart:
    """A local average of y along x with its pointwise band, and gaps where no row is near.

    Parameters
    ----------
    x, y : array of shape (n,)
        The rows; more than 2,000 are counted in cells.
    places, average : array of shape (m,)
        The average at some places, rising.
    standard_errors : array of shape (m,), optional
        Of the average. Where one is not finite no row is near: line and band have a gap there.
    reach : float
        Places farther than this from every row have a gap too. Kernels that never vanish have an
        average everywhere, which far away is the value of a single row: three bandwidths are usual.
    level : float
        Of the band, average ± Φ⁻¹((1 + level)/2) standard errors.
    names : (across, up)

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import NadarayaWatson, kernels
    >>> from fenchel.show import local_average
    >>> rng = np.random.default_rng(0)
    >>> x = np.sort(np.append(rng.uniform(0.0, 2.0, 60), rng.uniform(4.0, 6.0, 60)))
    >>> y = np.sin(2.0 * x) + 0.3 * rng.normal(size=120)
    >>> model = NadarayaWatson(bandwidth=0.15).fit(x[:, None], y)
    >>> places = np.linspace(0.0, 6.0, 200)
    >>> found = model.predict(places[:, None], return_std=True)
    >>> chart = local_average(x, y, places, *found, reach=3.0 * model.bandwidth_)
    >>> chart.to_dict()["title"]["text"]
    'Local average ± 0.16 where rows are near, at 82 % of the places'
    """
    rows, target = (column(given, what).astype(np.float64) for given, what in ((x, "x"), (y, "y")))
    at, middle = (np.asarray(given, dtype=np.float64) for given in (places, average))
    half = np.zeros(at.shape)
    if standard_errors is not None:
        half = float(ndtri(0.5 + 0.5 * level)) * np.asarray(standard_errors, dtype=np.float64)
    if rows.shape != target.shape or not len(rows):
        raise ValueError("x and y must be one number each for every row")
    if at.ndim != 1 or not (at.shape == middle.shape == half.shape) or (np.diff(at) <= 0.0).any():
        raise ValueError("average must be one number for each place, and the places must rise")
    near = np.isfinite(middle) & np.isfinite(half) & (_to_nearest(at, rows) <= reach)
    low, high = middle - half, middle + half
    everything = [target, low[near], high[near]]
    up = padded(np.array([min(map(_least, everything)), max(map(_most, everything))]))
    across = padded(np.array([min(_least(rows), at[0]), max(_most(rows), at[-1])]))
    sides = (
        number_side("across", across, name=plain(names[0]), grid=False),
        number_side("up", up, name=plain(names[1])),
    )
    data = _runs(at, middle, low, high, near, (float(np.ptp(across)), float(np.ptp(up))))
    base = alt.Chart(data).encode(
        x=alt.X("x:Q", **sides[0]), detail=alt.Detail("g:N", title="stretch")
    )
    layers: list[Any] = [scatter(rows, target, across, up, sides, ink=GREY)]
    if standard_errors is not None:
        band = base.mark_area(color=BLUE, opacity=0.28)
        layers.append(band.encode(y=alt.Y("a:Q", **sides[1]), y2="b:Q"))
    line = base.mark_line(color=BLUE, strokeWidth=2.2)
    tooltip = [
        alt.Tooltip("x:Q", title="across", format=".4~g"),
        alt.Tooltip("y:Q", title="average", format=".4~g"),
        alt.Tooltip("a:Q", title="band from", format=".4~g"),
        alt.Tooltip("b:Q", title="to", format=".4~g"),
    ]
    layers.append(line.encode(y=alt.Y("y:Q", **sides[1]), tooltip=tooltip))
    return framed(
        layers,
        title=title or _average_found(half, near, standard_errors is not None),
        notes=[
            f"Shaded: {100.0 * level:g} % of each place by itself, without the average's bias."
            if standard_errors is not None
            else "",
            "" if near.all() else "Gaps: no row is near.",
            counted_note(len(rows)),
        ],
        width=width,
        height=height,
    )


def _average_found(half: Floats, near: Any, has_band: bool) -> str:
    if not near.any():
        return "No row is near any of the places"
    size = f" ± {number(float(np.median(half[near])), 2)}" if has_band else ""
    if near.all():
        return f"Local average{size}, the median over the places" if size else "Local average"
    return (
        f"Local average{size} where rows are near, at {percent(float(near.mean()))} of the places"
    )


def _to_nearest(at: Floats, rows: Floats) -> Floats:
    """From each place to the nearest row."""
    order = np.sort(rows)
    above = np.searchsorted(order, at).clip(0, len(order) - 1)
    below = np.maximum(above - 1, 0)
    return np.minimum(np.abs(order[above] - at), np.abs(order[below] - at))


def _least(values: Floats) -> float:
    return float(values.min()) if values.size else math.inf


def _most(values: Floats) -> float:
    return float(values.max()) if values.size else -math.inf


def _runs(
    at: Floats, middle: Floats, low: Floats, high: Floats, near: Any, spans: tuple[float, float]
) -> Any:
    """The average and its band, each stretch without a gap under a number of its own."""
    edges = np.flatnonzero(np.diff(near.astype(int))) + 1
    parts = [part for part in np.split(np.arange(len(at)), edges) if len(part) and near[part[0]]]
    pixel = spans[0] / 400.0, spans[1] / 400.0
    kept, number_of = [], []
    for g, part in enumerate(parts):
        lines = [thin(at[part], line[part], MOST, pixel=pixel) for line in (middle, low, high)]
        found = part[np.unique(np.concatenate(lines))]
        kept.append(found)
        number_of.append(np.full(len(found), g))
    rows = np.concatenate(kept) if kept else np.empty(0, dtype=int)
    return table(
        g=np.concatenate(number_of) if kept else rows,
        x=rounded(at[rows], spans[0]),
        y=rounded(middle[rows], spans[1]),
        a=rounded(low[rows], spans[1]),
        b=rounded(high[rows], spans[1]),
    )
