"""The error of a sign, and the convex losses that stand above it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np

from fenchel.convex.loss.hinge import Hinge, ModifiedHuber, SquaredHinge, SquareMargin
from fenchel.convex.loss.margin import Exponential, Logistic, Margin
from fenchel.show.encoding import records, rounded
from fenchel.show.formatting import distinct
from fenchel.show.layout import Width, framed
from fenchel.show.theme import CATEGORIES
from fenchel.show.thinning import thin

REACH, TOP = 2.5, 4.0
GRID = 401
LOSSES: dict[str, Margin] = {
    "hinge": Hinge(),
    "logistic": Logistic(),
    "exponential": Exponential(),
    "squared hinge": SquaredHinge(),
    "squared": SquareMargin(),
    "modified Huber": ModifiedHuber(),
}
WORDS = ("no", "one", "two", "three", "four", "five", "six")
DASHES = ([1, 0], [9, 5], [2, 4])


def surrogates(
    losses: Mapping[Any, Margin] | None = None,
    *,
    title: str | None = None,
    width: Width = 460,
    height: int = 320,
) -> alt.LayerChart:
    """Losses of the margin y f(x) above the 0-1 error, each divided by its value at 0.

    φ(m)/φ(0) ≥ 1{m ≤ 0} where φ is convex and falls at 0, so that a small mean loss bounds the
    share of errors.

    Parameters
    ----------
    losses : dict of name -> Margin, optional
        By default those of this library; at most six.

    Examples
    --------
    >>> from fenchel import Hinge
    >>> from fenchel.show import surrogates
    >>> surrogates({"hinge": Hinge()}).to_dict()["title"]["text"]
    'The 0-1 error and a convex loss above it'
    """
    given = dict(LOSSES if losses is None else losses)
    if not 1 <= len(given) <= len(CATEGORIES):
        raise ValueError(f"one to {len(CATEGORIES)} losses can be told apart, got {len(given)}")
    called = distinct(given)
    m = np.linspace(-REACH, REACH, GRID)
    pixel = (2.0 * REACH / 460.0, TOP / height)
    rows: list[tuple[str, float, float]] = []
    for name, loss in zip(called, given.values(), strict=True):
        value = np.asarray(loss.phi(m)) / float(loss.phi(np.zeros(1))[0])
        seen = value <= 1.3 * TOP  # what lies higher is cut off by the frame
        x, y = m[seen], value[seen]
        keep = thin(x, y, 200, pixel=pixel)
        rows += [(name, a, b) for a, b in zip(x[keep].tolist(), y[keep].tolist(), strict=True)]
    data = records(
        k=[name for name, _, _ in rows],
        x=rounded([a for _, a, _ in rows], 2.0 * REACH),
        y=rounded([b for _, _, b in rows], TOP),
    )
    x_axis = alt.X(
        "x:Q",
        title="margin y · f(x): right of 0 the sign is right",
        scale=alt.Scale(domain=[-REACH, REACH], nice=False),
        axis=alt.Axis(grid=False, tickCount=6),
    )
    y_axis = alt.Y(
        "y:Q",
        title="loss",
        scale=alt.Scale(domain=[0.0, TOP], nice=False),
        axis=alt.Axis(tickCount=4),
    )
    # Its names say what they are; the words of the encoding are for those who hear it.
    legend = alt.Legend(title=None, symbolType="stroke", columns=3)
    color = alt.Color(
        "k:N",
        title="loss function",
        scale=alt.Scale(domain=called, range=list(CATEGORIES[: len(called)])),
        legend=legend,
    )
    # Some losses share a stretch: dashes let the one below be seen.
    dash = alt.StrokeDash(
        "k:N",
        title="loss function",
        scale=alt.Scale(domain=called, range=[DASHES[i % 3] for i in range(len(called))]),
        legend=legend,
    )
    step = records(x=[-REACH, 0.0, 0.0, REACH], y=[1.0, 1.0, 0.0, 0.0], i=[0, 1, 2, 3])
    label = records(x=[-REACH], y=[1.0], s=["0-1 error"])
    layers = [
        alt.Chart(data)
        .mark_line(strokeWidth=2.2, clip=True)
        .encode(x=x_axis, y=y_axis, color=color, strokeDash=dash),
        alt.Chart(step)
        .mark_line(style="ink", strokeWidth=2.6)
        .encode(x=x_axis, y=y_axis, order="i:Q"),
        alt.Chart(label)
        .mark_text(style="ink", align="left", baseline="top", dx=5, dy=5, fontWeight=600)
        .encode(x=x_axis, y=y_axis, text="s:N"),
    ]
    several = f"{WORDS[len(called)]} convex losses" if len(called) > 1 else "a convex loss"
    return framed(
        layers,
        title=title or f"The 0-1 error and {several} above it",
        notes=["Each loss is divided by its value at 0."],
        width=width,
        height=height,
    )
