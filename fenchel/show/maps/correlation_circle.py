"""Correlation circle: the columns of a table by their correlations with two components.

On standardised columns X = USV', and the correlations of the columns with the components are the
rows of VS (SOURCES: X'U = VS) over √(n - 1); their squares add up to at most 1.

Reference: Lebart, Morineau and Piron, Statistique exploratoire multidimensionnelle, 1995.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt
import numpy as np

from fenchel.show.encoding import table
from fenchel.show.formatting import percent, plain
from fenchel.show.layout import Side, Width, across, framed, pixels
from fenchel.show.maps.arrows import arrows, checked_columns, longest
from fenchel.show.maps.placing import Plane
from fenchel.show.theme import GREY

REACH = 1.25  # of both axes, so that the circle and names beside it are inside
CORNERS = 72
HALF = 0.5**0.5  # the radius within which less than half of a column's variance is held


def correlation_circle(
    correlations: Any,
    names: Sequence[Any] | None = None,
    *,
    shares: Any = None,
    axes: Sequence[Any] = ("first axis", "second axis"),
    title: str | None = None,
    width: Width = 400,
    height: int = 400,
) -> alt.LayerChart:
    """Columns as arrows to their correlations with two components, within the unit circle.

    The square of an arrow's length is the share of its column's variance that the plane holds: near
    the circle all of it, and there the cosine between two arrows is the correlation of the columns.

    Parameters
    ----------
    correlations : array of shape (d, 2)
        Of each column with each axis. After `PCA` of columns divided by `X.std(0, ddof=1)` they are
        `variables_[:, :2] / sqrt(n - 1)`. Of more than 15 columns the longest arrows are drawn.
    names : sequence of d names, optional
        Of the columns.
    shares : (across, up), optional
        Shares of the variance along the axes.
    axes : (across, up)
        What they are called.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from fenchel import PCA
    >>> from fenchel.show import correlation_circle
    >>> data = load_iris()
    >>> model = PCA(2).fit(data.data / data.data.std(axis=0, ddof=1))
    >>> r = model.variables_ / np.sqrt(len(data.data) - 1)
    >>> correlation_circle(r, data.feature_names).to_dict()["title"]["text"]
    'Held least: sepal length (cm), 92.3 % of its variance'
    """
    R, called = checked_columns(correlations, names, "correlations")
    held = (R**2).sum(axis=1)
    # A correlation is off by rounding alone.
    if held.max() > 1.0 + 1e-6:
        worst = int(held.argmax())
        raise ValueError(
            f"correlations of column {called[worst]!r} have squares that add up to "
            f"{held[worst]:.3g}, more than 1: standardise the columns, and divide variables_ by "
            "sqrt(n - 1)"
        )
    drawn = longest(R)
    titles = [plain(axis) for axis in axes]
    if shares is not None:
        along = np.asarray(shares, dtype=np.float64).ravel()[:2]
        titles = [
            f"{one} ({percent(float(part))})" for one, part in zip(titles, along, strict=True)
        ]
    # A unit is as long on both axes, whatever the shape of the figure.
    wide = f"{REACH} * max(1, {pixels(width)} / {height})"
    tall = f"{REACH} * max(1, {height} / {pixels(width)})"
    ratio = across(width) / height
    reaches = REACH * max(1.0, ratio), REACH * max(1.0, 1.0 / ratio)
    plane = Plane(
        ends=((-reaches[0], reaches[0]), (-reaches[1], reaches[1])),
        sides=(_side("across", titles[0], wide), _side("up", titles[1], tall)),
        width=width,
        height=height,
        low=f"-{wide}",
        spans=(f"2 * {wide}", f"2 * {tall}"),
    )
    least = int(held.argmin())
    said = f"Held least: {called[least]}, {percent(float(held[least]))} of its variance"
    notes = [
        "Arrows: correlations of the columns with the axes.",
        "Dashed: half of a column's variance is held.",
    ]
    if len(drawn) < len(R):
        notes.append(f"The {len(drawn)} longest of {len(R):,} columns.")
    return framed(
        [
            *_circles(plane.sides),
            *arrows(R[drawn], [called[k] for k in drawn], plane),
        ],
        title=title or said,
        notes=notes,
        width=width,
        height=height,
    )


def _side(title: str, name: str, reach: str) -> Side:
    scale = alt.Scale(domain=[alt.ExprRef(f"-{reach}"), alt.ExprRef(reach)], nice=False, zero=False)
    return {
        "title": title,
        "scale": scale,
        "axis": alt.Axis(title=name, values=[-1, -0.5, 0, 0.5, 1], format=".1f"),
    }


def _circles(sides: tuple[Side, Side]) -> Iterator[Any]:
    """The unit circle, and that of half the variance, dashed."""
    corner = np.arange(CORNERS + 1)
    for radius, dash in ((1.0, [1, 0]), (HALF, [4, 4])):
        yield (
            alt.Chart(table(i=corner))
            .transform_calculate(
                x=f"{radius:.6g} * cos(datum.i * {2.0 * np.pi / CORNERS:.8g})",
                y=f"{radius:.6g} * sin(datum.i * {2.0 * np.pi / CORNERS:.8g})",
            )
            .mark_line(color=GREY, strokeWidth=1.2, strokeDash=dash)
            .encode(x=alt.X("x:Q", **sides[0]), y=alt.Y("y:Q", **sides[1]), order="i:Q")
        )
