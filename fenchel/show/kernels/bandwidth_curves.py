"""Kernel regression with several bandwidths, side by side (figure 16.17 of the chapter)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np

from fenchel.score.curves.score_counts import Floats
from fenchel.score.labels import column
from fenchel.show.encoding import records, rounded, table
from fenchel.show.formatting import LONGEST, capital, distinct, lines, number, plain
from fenchel.show.layout import LETTER, SMALL, Side, described, one_or_more
from fenchel.show.parameter_axis import said
from fenchel.show.scatter import counted_note, number_side, padded, scatter
from fenchel.show.theme import BLUE, GREY, ORANGE
from fenchel.show.thinning import thin

PANELS = 6
PLACES = 400
VERTICES = 160  # of the truth
ALL = 900  # of all curves
STRETCHES = 20  # of a curve with gaps


def bandwidth_curves(
    x: Any,
    y: Any,
    curves: Mapping[Any, Any],
    *,
    errors: Any = None,
    truth: Any = None,
    places: Any = None,
    parameter: Any = "bandwidth",
    error: Any = "leave-one-out error",
    names: tuple[Any, Any] = ("x", "y"),
    title: str | None = None,
    across: int = 2,
    width: int = 210,
    height: int = 160,
) -> alt.FacetChart:
    """The rows and a curve through them for each of some bandwidths, a panel each.

    Parameters
    ----------
    x, y : array of shape (n,)
        The rows.
    curves : bandwidth -> function, or array of shape (m,)
        At most six: functions of places (m, 1), such as `predict` of the fits, or their values.
        Values that are not finite, far from all rows, are gaps.
    errors : array, one for each curve, optional
        Such as the leave-one-out error: written above the panels.
    truth : function of places (m,), or array of shape (m,), optional
        The curve that the rows lie around, where it is known: dashed.
    places : array of shape (m,), optional
        Where the curves are; by default 400 over the range of the rows.
    parameter, error : str
        What the bandwidth and the errors are called.
    names : (across, up)
    across : int
        Panels in a row of the picture.
    width, height : int
        Of one of them.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import KernelRidge
    >>> from fenchel.show import bandwidth_curves
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0.0, 6.0, 60)
    >>> y = np.sin(x) + 0.2 * rng.normal(size=60)
    >>> fits = {
    ...     s: KernelRidge(alpha=0.1, kernel="rbf", gamma=0.5 / s**2).fit(x[:, None], y).predict
    ...     for s in (0.1, 0.5, 1.0, 5.0)
    ... }
    >>> chart = bandwidth_curves(x, y, fits, truth=np.sin)
    >>> chart.to_dict()["title"]["text"]
    'Bandwidth 1 is nearest to the truth, off by 0.0945'
    """
    rows, target = (column(given, what).astype(np.float64) for given, what in ((x, "x"), (y, "y")))
    if rows.shape != target.shape or not np.isfinite([rows, target]).all():
        raise ValueError("x and y must be one finite number each for every row")
    if not 1 <= len(curves) <= PANELS:
        raise ValueError(f"curves must be one to {PANELS} by bandwidth, got {len(curves)}")
    at = np.linspace(rows.min(), rows.max(), PLACES)
    if places is not None:
        at = np.asarray(places, dtype=np.float64)
        if at.ndim != 1 or not len(at) or (np.diff(at) <= 0.0).any():
            raise ValueError("places must be numbers that rise")
    found = [_values(curve, at[:, None], name) for name, curve in curves.items()]
    known = None if truth is None else _values(truth, at, "truth")
    called = distinct(said(name) for name in curves)
    heads, best = _compared(called, found, known, errors, plain(parameter), plain(error))
    whole = _panels(at, found, known, (rows, target), names, width).properties(
        width=width, height=height
    )
    chart = whole.facet(
        facet=alt.Facet("p:O", header=alt.Header(title=None, labelExpr="''", labelPadding=0)),
        columns=across,
        data=_table(at, found),
        spacing=26,
    )
    heads_data = records(k=list(range(len(heads))), s=heads)
    chart = chart.transform_lookup("p", alt.LookupData(heads_data, "k", ["s"]), as_=["s"])
    room = min(across, len(found)) * (width + 26)
    notes = lines(
        [
            f"{plain(names[1])} against {plain(names[0])}.",
            "Dashed: the truth." if known is not None else "",
            counted_note(len(rows)),
        ],
        room / SMALL,
    )
    heading = plain(title or best, LONGEST)
    return chart.properties(
        title=alt.TitleParams(text=one_or_more(lines([heading], room / LETTER)), subtitle=notes),
        description=". ".join([heading, *notes]),
    )


def _values(curve: Any, at: Any, name: Any) -> Floats:
    """What a function gives at some places, or the values as given."""
    found = np.asarray(curve(at) if callable(curve) else curve, dtype=np.float64)
    if found.shape != (len(at),):
        raise ValueError(
            f"curve {plain(name)!r} must have one number for each of {len(at)} places, got shape "
            f"{found.shape}"
        )
    return found


def _compared(
    called: list[str], found: list[Floats], known: Floats | None, errors: Any, parameter: str,
    error: str,
) -> tuple[list[str], str]:  # fmt: skip
    """What is written above each panel, and which is best."""
    heads = [f"{parameter} {name}" for name in called]
    if errors is not None:
        off = np.asarray(errors, dtype=np.float64)
        if off.shape != (len(found),):
            raise ValueError(f"{len(found)} curves need as many errors, got shape {off.shape}")
        how = f"has the least {error}"
        heads = [f"{head} ({number(one)})" for head, one in zip(heads, off, strict=True)]
    elif known is not None:
        off = np.array([_distance(one, known) for one in found])
        how = "is nearest to the truth, off by"
    else:
        return distinct(heads), f"{capital(parameter)} {called[0]} to {called[-1]}"
    if not np.isfinite(off).any():
        return distinct(heads), f"{capital(parameter)} {called[0]} to {called[-1]}"
    best = int(np.nanargmin(np.where(np.isfinite(off), off, np.nan)))
    said_ = f"{capital(parameter)} {called[best]} {how}"
    return distinct(heads), f"{said_}{',' * (errors is not None)} {number(off[best])}"


def _distance(curve: Floats, truth: Floats) -> float:
    """The root of the mean square between two curves where both are known."""
    both = np.isfinite(curve) & np.isfinite(truth)
    return float(np.sqrt(((curve - truth)[both] ** 2).mean())) if both.any() else np.nan


def _panels(
    at: Floats,
    found: list[Floats],
    known: Floats | None,
    rows: tuple[Floats, Floats],
    names: tuple[Any, Any],
    width: int,
) -> Any:
    """The layers of a panel: rows and truth, which are in all of them, and its own curve."""
    x, y = rows
    sides = _sides(at, found, known, rows, names)
    layers: list[Any] = [scatter(x, y, _ends(sides[0]), _ends(sides[1]), sides, ink=GREY)]
    if known is not None:
        kept = _thinned(at, known)
        truth = alt.Chart(table(x=at[kept], y=known[kept]))
        layers.append(
            truth.mark_line(color=ORANGE, strokeWidth=1.6, strokeDash=[5, 4], clip=True).encode(
                x=alt.X("x:Q", **sides[0]), y=alt.Y("y:Q", **sides[1])
            )
        )
    base = alt.Chart()
    curve = base.transform_filter("isValid(datum.g)").mark_line(
        color=BLUE, strokeWidth=2.2, clip=True
    )
    layers.append(
        curve.encode(
            x=alt.X("x:Q", **sides[0]),
            y=alt.Y("y:Q", **sides[1]),
            detail=alt.Detail("g:N", title="stretch"),
            tooltip=[
                alt.Tooltip("x:Q", title="across", format=".4~g"),
                alt.Tooltip("y:Q", title="curve", format=".4~g"),
            ],
        )
    )
    head = base.transform_filter("!isValid(datum.g)").mark_text(
        align="left", baseline="bottom", style="ink", fontSize=11, limit=width
    )
    layers.append(
        head.encode(x=alt.value(0), y=alt.value(-5), text=alt.Text("s:N", title="bandwidth"))
    )
    whole: Any = alt.layer(*map(described, layers))
    return whole


def _sides(
    at: Floats, found: list[Floats], known: Floats | None, rows: tuple[Floats, Floats], names: Any
) -> tuple[Side, Side]:
    """Axes around the rows, the truth and what of the curves is not far from them."""
    x, y = rows
    middle = np.concatenate([y, np.empty(0) if known is None else known[np.isfinite(known)]])
    low, high = float(middle.min()), float(middle.max())
    # A curve that overshoots is cut, so that it does not flatten the other panels.
    free = 0.25 * (high - low)
    all_ = np.concatenate([one[np.isfinite(one)] for one in found] + [middle])
    inside = all_[(all_ >= low - free) & (all_ <= high + free)]
    up = padded(np.array([inside.min(), inside.max()]))
    across = padded(np.array([min(x.min(), at[0]), max(x.max(), at[-1])]))
    return (
        number_side("across", across, name=plain(names[0], 30), grid=False),
        number_side("up", up, name=plain(names[1], 30)),
    )


def _ends(one: Side) -> Floats:
    return np.asarray(one["scale"].domain, dtype=np.float64)


def _thinned(at: Floats, curve: Floats) -> Any:
    finite = np.flatnonzero(np.isfinite(curve))
    return finite[thin(at[finite], curve[finite], VERTICES)] if len(finite) else finite


def _table(at: Floats, found: list[Floats]) -> Any:
    """Curves: the panel p, the stretch without a gap g, x and y; and a line for each title."""
    parts = []
    most = ALL // len(found)
    for p, curve in enumerate(found):
        finite = np.isfinite(curve)
        stretch = np.cumsum(np.diff(finite.astype(int), prepend=0) == 1)
        count = min(int(stretch.max(initial=0)), STRETCHES)
        kept = [
            run[thin(at[run], curve[run], max(most // count, 2))]
            for g in range(1, count + 1)
            for run in [np.flatnonzero(finite & (stretch == g))]
        ]
        some = np.concatenate([np.empty(0, dtype=np.intp), *kept])
        place = np.full(len(some), p)
        parts.append(np.column_stack([place, stretch[some], at[some], curve[some]]))
        parts.append(np.array([[p, np.nan, np.nan, np.nan]]))
    whole = np.concatenate(parts)
    return table(
        p=whole[:, 0].astype(int), g=whole[:, 1], x=rounded(whole[:, 2]), y=rounded(whole[:, 3])
    )
