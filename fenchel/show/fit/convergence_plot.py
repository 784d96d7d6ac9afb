"""How a fit closed the gap between its objective and what is proved of the optimum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import altair as alt
import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.score.curves.score_counts import Floats
from fenchel.show.encoding import decades, records, rounded, significant
from fenchel.show.formatting import number
from fenchel.show.layout import Width, across, framed
from fenchel.show.theme import BLUE, GREY, ORANGE
from fenchel.show.thinning import thin

Against = Literal["steps", "seconds"]
AXIS = {"steps": "steps of the solver", "seconds": "seconds"}
COLOURS = {"objective": BLUE, "bound": ORANGE, "gap": GREY}
FEW = 120  # steps that are all drawn
LEAST = 1e-17  # relative to the objective: what is below cannot be told from zero


def convergence(
    history: Sequence[Certificate],
    *,
    against: Against = "steps",
    tol: float | None = None,
    title: str | None = None,
    width: Width = 460,
    height: int = 260,
) -> alt.LayerChart:
    """Objective, dual bound and gap, each as a distance, relative to the objective, on a log axis.

    The objective is measured from the best bound, the bound from the best objective; the gap is
    what lies between both at that moment.

    Parameters
    ----------
    history : sequence of Certificate
        `history_` of a fitted estimator.
    against : "steps" or "seconds"
    tol : float, optional
        Relative gap at which the fit was to stop: a line.

    Examples
    --------
    >>> from fenchel import Certificate
    >>> from fenchel.show import convergence
    >>> history = [Certificate(2.0, 1.0, steps=1), Certificate(1.6, 1.5999, steps=2)]
    >>> convergence(history).to_dict()["title"]["text"]
    'Gap 6.2e-05 of the objective after 2 steps'
    """
    at, value, bound, proved = _read(history, against)
    best, most = float(value.min()), _best_bound(bound, proved)
    scale = max(abs(best), max(c.floor for c in history), 1e-300)
    series = {"objective": value - best}
    if math.isfinite(most):
        series = {"gap": value - bound, "bound": best - bound, "objective": value - most}
    series = {name: distance / scale for name, distance in series.items()}
    every = np.concatenate(list(series.values()))
    every = every[np.isfinite(every) & (every > LEAST)]
    foot = float(every.min()) if every.size else LEAST
    rows: list[tuple[str, int]] = []
    for name, distance in series.items():
        # What rounding has made zero or less lies at the foot of the axis.
        series[name] = np.maximum(distance, foot)
        seen = np.flatnonzero(np.isfinite(distance))
        if seen.size:
            keep = seen
            if seen.size > FEW:
                keep = seen[thin(at[seen], np.log10(series[name][seen]), FEW)]
            rows += [(name, place) for place in keep.tolist()]
    data = records(
        k=[name for name, _ in rows],
        x=significant([at[place] for _, place in rows], 5),
        y=significant([series[name][place] for name, place in rows], 4),
        e=["proved" if proved[place] else "estimated" for _, place in rows],
    )
    heights = [series[name][place] for name, place in rows] + ([] if tol is None else [tol])
    y = alt.Y(
        "y:Q",
        title="distance, relative to the objective",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(format=".0e", values=decades(heights)),
    )
    layers: list[Any] = _series(data, _along(against, at), y, against, cut=False, relative=True)
    if tol is not None:
        layers = [*_tolerance(float(tol), y), *layers]
    last = history[-1]
    steps = last.steps or len(history)
    took = f"{steps:,} steps" if steps > 1 else "1 step"
    if against == "seconds":
        took = f"{number(last.seconds)} seconds"
    said = f"Gap {number(last.relative_gap, 2)} of the objective after {took}"
    if not math.isfinite(last.relative_gap):
        said = f"Nothing proved about the optimum after {took}"
    return framed(
        layers,
        title=title or said,
        notes=[
            "The objective above the best bound, the bound below the best objective, and the gap "
            "between both."
            if math.isfinite(most)
            else "The objective above its least value.",
            _hollow(proved),
        ],
        width=width,
        height=height,
    )


def objective(
    history: Sequence[Certificate],
    *,
    against: Against = "steps",
    title: str | None = None,
    width: Width = 460,
    height: int = 260,
) -> alt.LayerChart:
    """Objective and dual bound as they are; the optimum lies in the shade between them.

    Parameters
    ----------
    history : sequence of Certificate
        `history_` of a fitted estimator.
    against : "steps" or "seconds"

    Examples
    --------
    >>> from fenchel import Certificate
    >>> from fenchel.show import objective
    >>> history = [Certificate(2.0, 1.0, steps=1), Certificate(1.6, 1.5999, steps=2)]
    >>> objective(history).to_dict()["title"]["text"]
    'Objective 1.6, optimum at least 1.5999'
    """
    at, value, bound, proved = _read(history, against)
    best = float(value.min())
    reach = float(value[0] - best) or abs(best) or 1.0
    # The first bounds may be far below any interest: the frame cuts them off.
    known = bound[np.isfinite(bound)]
    span = float(value.max()) - max(float(known.min(initial=best)), best - 1.5 * reach) or 1.0
    low, high = value.max() - 1.05 * span, value.max() + 0.08 * span
    pixel = ((float(np.ptp(at)) or 1.0) / across(width), span / height)
    rows: list[tuple[str, int, float]] = []
    for name, values in (("bound", bound), ("objective", value)):
        seen = np.flatnonzero(np.isfinite(values))
        shown = np.maximum(values, low - 4.0 * span)
        if seen.size:
            keep = seen
            if seen.size > FEW:
                keep = seen[thin(at[seen], shown[seen], FEW, pixel=pixel)]
            rows += [(name, place, float(shown[place])) for place in keep.tolist()]
    data = records(
        k=[name for name, _, _ in rows],
        x=significant([at[place] for _, place, _ in rows], 5),
        y=rounded([v for _, _, v in rows], span),
        e=["proved" if proved[place] else "estimated" for _, place, _ in rows],
    )
    domain = rounded([low, high], span).tolist()
    y = alt.Y(
        "y:Q",
        title="objective",
        scale=alt.Scale(domain=domain, zero=False, nice=False),
        axis=alt.Axis(tickCount=5),
    )
    last = history[-1]
    said = f"Objective {number(last.value, 5)}"
    if math.isfinite(last.bound) and last.kind != "estimate":
        said += f", optimum at least {number(last.bound, 5)}"
    return framed(
        _series(data, _along(against, at), y, against, cut=True, relative=False),
        title=title or said,
        notes=[_hollow(proved)],
        width=width,
        height=height,
    )


def _series(data: Any, x: Any, y: Any, against: Against, *, cut: bool, relative: bool) -> list[Any]:
    """Lines by name and their points; hollow ones are estimates."""
    names = [name for name in COLOURS if any(row["k"] == name for row in data.values)]
    color = alt.Color(
        "k:N",
        title="distance of the" if relative else "value of the",
        scale=alt.Scale(domain=names, range=[COLOURS[name] for name in names]),
        legend=alt.Legend(title=None, symbolType="stroke") if len(names) > 1 else None,
    )
    tooltip = [
        alt.Tooltip("k:N", title="distance of the" if relative else "value of the"),
        alt.Tooltip("e:N", title="proof"),
        alt.Tooltip("x:Q", title=AXIS[against], format=".4~g"),
        alt.Tooltip("y:Q", title="distance" if relative else "value", format=".4~g"),
    ]
    base = alt.Chart(data).encode(x=x, y=y, color=color)
    width = alt.condition("datum.k == 'gap'", alt.value(6.0), alt.value(2.0))
    faint = alt.condition("datum.k == 'gap'", alt.value(0.35), alt.value(1.0))
    full = alt.condition("datum.e == 'proved'", alt.value(1.0), alt.value(0.0))
    return [
        base.mark_line(clip=cut).encode(strokeWidth=width, opacity=faint),
        base.transform_filter("datum.k != 'gap'")
        .mark_point(size=34, opacity=1.0, clip=cut)
        .encode(fill=color, fillOpacity=full, tooltip=tooltip),
    ]


def _best_bound(bound: Floats, proved: NDArray[np.bool_]) -> float:
    """The largest bound that is proved, or else estimated."""
    known = np.isfinite(bound)
    kept = known & proved if (known & proved).any() else known
    return float(bound[kept].max(initial=-math.inf))


def _hollow(proved: NDArray[np.bool_]) -> str:
    if proved.all():
        return ""
    return "Hollow: the bound is an estimate." if proved.any() else "All bounds are estimates."


def _read(
    history: Sequence[Certificate], against: Against
) -> tuple[Floats, Floats, Floats, NDArray[np.bool_]]:
    """(when, objective, bound, whether that is proved) of each certificate."""
    if not history:
        raise ValueError("the history is empty: this fit recorded no steps")
    if against not in AXIS:
        raise ValueError(f"against must be 'steps' or 'seconds', got {against!r}")
    value, bound = (np.array([getattr(c, name) for c in history]) for name in ("value", "bound"))
    at = np.array([float(getattr(c, against)) for c in history])
    if not (np.diff(at) > 0.0).all():
        if against == "seconds":
            raise ValueError("this history has no times: draw it against 'steps'")
        at = np.arange(1.0, len(history) + 1.0)
    seen = np.isfinite(value)
    if not seen.any():
        raise ValueError("the objective is never finite: there is nothing to draw")
    proved = np.array([c.kind != "estimate" for c in history])
    return at[seen], value[seen], bound[seen], proved[seen]


def _along(against: Against, at: Floats) -> alt.X:
    axis = alt.Axis(grid=False)
    if against == "steps":  # whole numbers
        marks = np.unique(np.linspace(at[0], at[-1], min(at.size, 10)).round())
        axis = alt.Axis(grid=False, values=marks.tolist(), format=",.0f")
    return alt.X(
        "x:Q", title=AXIS[against], scale=alt.Scale(zero=False, nice=False, padding=6), axis=axis
    )


def _tolerance(tol: float, y: Any) -> list[Any]:
    row = alt.Chart(records(y=[tol], s=[f"asked for {number(tol)}"])).encode(y=y)
    rule = row.mark_rule(color=GREY, strokeDash=[4, 3])
    text = row.mark_text(style="quiet", align="left", baseline="top", dx=4, dy=4)
    return [rule, text.encode(x=alt.value(0), text="s:N")]
