"""Columns of a table as arrows in the plane of a map, each with its name at the tip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from fenchel.score.curves.score_counts import Floats
from fenchel.show.encoding import records, rounded
from fenchel.show.formatting import distinct, plain
from fenchel.show.labels import middle_cut
from fenchel.show.layout import pixels
from fenchel.show.maps.placing import Plane, placed, written

MOST = 15  # arrows of a figure: more names than that find no room
LINES = (0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0)  # that a name may stand above or below its tip


def checked_columns(
    variables: Any, names: Sequence[Any] | None, what: str
) -> tuple[Floats, list[str]]:
    """Columns (d, 2) in the plane and their names."""
    V = np.asarray(variables, dtype=np.float64)
    if V.ndim != 2 or V.shape[1] != 2 or not len(V) or not np.isfinite(V).all():
        raise ValueError(f"{what} must be finite and have shape (d, 2), got {V.shape}")
    called = [str(k + 1) for k in range(len(V))] if names is None else distinct(names)
    if len(called) != len(V):
        raise ValueError(f"{len(V)} columns need {len(V)} names, got {len(called)}")
    return V, called


def longest(V: Floats) -> NDArray[np.intp]:
    """The columns that are drawn, the longest arrow first."""
    return np.argsort(-np.hypot(*V.T), kind="stable")[:MOST]


def arrows(
    tips: Floats, called: Sequence[str], plane: Plane, crowd: Floats | None = None
) -> Iterator[Any]:
    """Arrows from (0, 0), and the names of as many as find room beside their tips, off the rows in
    the crowd where that can be."""
    (x0, x1), (y0, y1) = plane.ends
    data = records(
        x=rounded(tips[:, 0], x1 - x0), y=rounded(tips[:, 1], y1 - y0), s=[*map(plain, called)]
    )
    across, up = alt.X("x:Q", **plane.sides[0]), alt.Y("y:Q", **plane.sides[1])
    shaft = alt.Chart(data).mark_rule(style="ink", strokeWidth=1.3)
    yield shaft.encode(x=across, y=up, x2=alt.datum(0.0), y2=alt.datum(0.0))
    # The head turns with the shaft, whose direction in pixels depends on the size of the figure.
    wide, tall = (
        f"{pixels(plane.width)} / ({plane.spans[0]})",
        f"{plane.height} / ({plane.spans[1]})",
    )
    head = alt.Chart(data).transform_calculate(
        a=f"180 / PI * atan2(datum.x * {wide}, datum.y * {tall})"
    )
    yield head.mark_point(shape="triangle", filled=True, style="ink", size=45, opacity=1.0).encode(
        x=across,
        y=up,
        angle=alt.Angle("a:Q", title="direction", scale=None),
        tooltip=[
            alt.Tooltip("s:N", title="column"),
            alt.Tooltip("x:Q", title="across", format=".3~g"),
            alt.Tooltip("y:Q", title="up", format=".3~g"),
        ],
    )
    words = [middle_cut(name) for name in called]
    at, origin = plane.in_pixels(tips), plane.in_pixels(np.zeros(2))
    along = np.linspace(0.0, 1.0, 40)[:, None, None]
    found = placed(
        at,
        words,
        plane.size,
        obstacles=(origin + along * (at - origin)).reshape(-1, 2),
        crowd=None if crowd is None else plane.in_pixels(crowd),
        lines=LINES,
        outward=tips[:, 0],
    )
    yield written(found, words, tips, plane)
