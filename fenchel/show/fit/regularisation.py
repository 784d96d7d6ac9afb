"""Coefficients along the strength of a penalty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from fenchel.score.curves.score_counts import Floats
from fenchel.show.encoding import records, rounded, significant, table
from fenchel.show.formatting import distinct, number, plain
from fenchel.show.labels import middle_cut
from fenchel.show.layout import Width, across, framed
from fenchel.show.parameter_axis import EXTENT, parameter_axis
from fenchel.show.theme import GREY, ORANGE
from fenchel.show.thinning import thin

LINES = 40  # of a path
NAMED = 6
VERTICES = 1600  # of all lines of a path together


def regularisation_path(
    strengths: Any,
    values: Any,
    *,
    names: Sequence[Any] | None = None,
    chosen: float | None = None,
    strength: str = "penalty",
    title: str | None = None,
    width: Width = 460,
    height: int = 300,
) -> alt.LayerChart:
    """Coefficients along the strength of a penalty, the strongest at the left.

    The axis is that of `validation_curve` for the same parameter and the same values, so that the
    two can be read one above the other: give the values of C, or of alpha, as they are, and the
    name of the parameter as `strength`.

    Parameters
    ----------
    strengths : array of shape (m,)
        Values of the parameter, positive.
    values : array of shape (m, d)
        The transpose of what `lasso_path` calls coefs.
    names : sequence of d names, optional
    chosen : float, optional
        The value taken: a line.
    strength : str
        What the parameter is called. The penalty falls as C grows; of any other name it grows.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fenchel import lasso_path
    >>> from fenchel.show import regularisation_path
    >>> X, y = load_diabetes(return_X_y=True)
    >>> alphas, coefs, _ = lasso_path(X, y - y.mean(), alphas=20)
    >>> regularisation_path(alphas, coefs.T, chosen=alphas[9]).to_dict()["title"]["text"]
    '7 of 10 coefficients are not zero at penalty = 0.0815'
    """
    at, w = np.asarray(strengths, np.float64), np.asarray(values, np.float64)
    if w.ndim != 2 or at.shape != (len(w),):
        raise ValueError(f"values must have shape ({at.size}, d), got {w.shape}")
    if not (at > 0.0).all():
        raise ValueError("strengths must be positive, for their axis is logarithmic")
    axis = parameter_axis(strength, at.tolist(), is_penalty=True)
    along = axis.x
    # From the strongest penalty to the weakest, where the lines have their names.
    order = np.argsort(at if axis.weakest == int(at.argmax()) else -at, kind="stable")
    at, w = at[order], w[order]
    d = w.shape[1]
    called = distinct(range(d) if names is None else names)
    if len(called) != d:
        raise ValueError(f"{d} coefficients need {d} names, got {len(called)}")
    largest = np.argsort(-np.abs(w).max(axis=0), kind="stable")[:LINES]
    x, span = np.log10(at) if axis.is_log else at, float(np.ptp(w)) or 1.0
    pixel = ((float(np.ptp(x)) or 1.0) / across(width), span / height)
    kept = [thin(x, w[:, j], VERTICES // len(largest), pixel=pixel) for j in largest]
    line = np.repeat(np.arange(len(kept)), [len(keep) for keep in kept])
    vertices = np.concatenate(kept)
    data = table(
        k=line, x=significant(at[vertices], 6), y=rounded(w[vertices, largest[line]], span)
    )
    y = alt.Y(
        "y:Q",
        title="coefficient",
        scale=alt.Scale(nice=False),
        axis=alt.Axis(tickCount=5, minExtent=EXTENT),
    )
    ends = records(
        k=np.arange(len(largest)),
        x=significant(np.full(len(largest), at[-1]), 6),
        y=rounded(w[-1, largest], span),
        s=[called[j] for j in largest.tolist()],
    )
    color = alt.condition(
        f"datum.k < {NAMED}", alt.Color("k:N", title="rank by size", legend=None), alt.value(GREY)
    )
    base = alt.Chart(data).encode(x=along, y=y, detail="k:N", color=color)
    tip = [alt.Tooltip("s:N", title="coefficient"), alt.Tooltip("y:Q", title="at the right end")]
    layers: list[Any] = [
        alt.Chart(table(y=[0.0])).mark_rule(color=GREY, strokeWidth=1.0).encode(y=y),
        base.mark_line(strokeWidth=1.6),
        alt.Chart(ends)
        .mark_point(filled=True, size=26, opacity=1.0)
        .encode(x=along, y=y, color=color, tooltip=tip),
        _end_labels(ends, w[-1, largest], span, along, y),
    ]
    count = int((w[-1] != 0.0).sum())
    said = f"{count} of {d} coefficients are not zero at the weakest {plain(strength)}"
    if chosen is not None:
        if not float(chosen) > 0.0:
            raise ValueError(f"chosen must be positive, as the strengths are, got {chosen!r}")
        near = int(np.argmin(np.abs(np.log(at) - np.log(float(chosen)))))
        said = f"{int((w[near] != 0.0).sum())} of {d} coefficients are not zero at "
        said += f"{plain(strength)} = {number(chosen)}"
        rule = alt.Chart(table(x=significant([float(chosen)], 6)))
        layers.append(rule.mark_rule(color=ORANGE, strokeWidth=1.6).encode(x=along))
    notes = [] if d <= LINES else [f"The {LINES} largest of {d}."]
    return framed(layers, title=title or said, notes=notes, width=width, height=height)


def _end_labels(ends: Any, last: Floats, span: float, x: Any, y: Any) -> Any:
    """Names at the right end of the largest lines, none of them on another."""
    free: list[float] = []
    named = []
    for k, value in enumerate(last[:NAMED].tolist()):
        if all(abs(value - other) > 0.045 * span for other in free):
            free.append(value)
            named.append(k)
    rows = [{**row, "s": middle_cut(row["s"])} for row in ends.values if row["k"] in named]
    text = alt.Chart(alt.InlineData(values=rows)).mark_text(align="left", dx=7, limit=170)
    return text.encode(x=x, y=y, text="s:N", color=alt.Color("k:N", legend=None))
