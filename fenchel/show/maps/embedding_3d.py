"""A map in three dimensions that turns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from fenchel.score.curves.score_counts import Floats
from fenchel.show.encoding import rounded, table
from fenchel.show.formatting import plain
from fenchel.show.layout import Width, framed
from fenchel.show.maps.colouring import Colouring, checked_points, colouring
from fenchel.show.maps.rotation import RotationBox, original, outline, projected, screen, sliders

MOST = 700  # circles; more rows are counted in cells
GRIDS = (30, 24, 20, 16, 13, 11, 9, 8, 7, 6, 5, 4, 3)  # cells along each side


def embedding_3d(
    points: Any,
    codes: Any = None,
    *,
    values: Any = None,
    labels: Sequence[Any] | None = None,
    names: Sequence[Any] = ("first axis", "second axis", "third axis"),
    value_name: Any = "value",
    turn: float = 30.0,
    tilt: float = 20.0,
    is_cube: bool = False,
    title: str | None = None,
    width: Width = 420,
    height: int = 380,
) -> alt.LayerChart:
    """Rows in three dimensions, by group or by a number, in a box that two sliders turn.

    More than 700 rows are counted in cells, each drawn at the mean of its rows.

    Parameters
    ----------
    points : array of shape (n, 3)
    codes : array of shape (n,), optional
        Groups of the rows: numbers 0 … k-1, or any labels.
    values : array of shape (n,), optional
        In place of groups, a number of each row.
    labels : sequence of k names, optional
    names : (first, second, upright)
        What the axes are called.
    value_name : str
        What the numbers are called.
    turn, tilt : float
        Where the sliders stand first, in degrees: around the upright axis, and from above.
    is_cube : bool
        Whether each axis has a unit of its own, so that the box is a cube.

    Examples
    --------
    Iris on its first three principal components (figure 16.3 of the chapter):

    >>> from sklearn.datasets import load_iris
    >>> from fenchel import PCA
    >>> from fenchel.show import embedding_3d
    >>> X, y = load_iris(return_X_y=True)
    >>> chart = embedding_3d(PCA(3).fit_transform(X), y)
    >>> chart.to_dict()["title"]["text"]
    '150 rows in first axis, second axis and third axis'
    """
    Z = checked_points(points, (3,))
    by = colouring(len(Z), codes, values, labels, value_name)
    box = RotationBox.around(Z, is_cube)
    x, y = screen(box, width, height)
    places, counts, field = _cells(Z, by, box)
    called = [plain(name) for name in names]
    edges, axes = outline(box, names, x, y)
    whole = framed(
        [
            edges,
            circles(circle_table(box.steps(places), counts, field, by), counts, by, box, x, y),
            axes,
            *by.legend(),
        ],
        title=title or f"{len(Z):,} rows in {called[0]}, {called[1]} and {called[2]}",
        notes=[
            "Circles: rows." if len(places) == len(Z) else "Circles: rows, counted in cells.",
            "Sliders turn and tilt the box.",
        ],
        width=width,
        height=height,
    )
    return whole.add_params(*sliders(turn, tilt))


def _cells(Z: Floats, by: Colouring, box: RotationBox) -> tuple[Floats, Any, Floats]:
    """Places, numbers of rows and colours of the circles: rows, or the cells of each group."""
    if len(Z) <= MOST:
        return Z, np.ones(len(Z), dtype=int), by.field()
    share = (Z - box.low) / (box.high - box.low)
    for grid in GRIDS:
        at = np.minimum((share * grid).astype(int), grid - 1)
        key = ((by.shown() * grid + at[:, 0]) * grid + at[:, 1]) * grid + at[:, 2]
        used, owner, counts = np.unique(key, return_inverse=True, return_counts=True)
        if len(used) <= MOST:
            break
    places = np.column_stack([np.bincount(owner, one) / counts for one in Z.T])
    return places, counts, by.means(owner, len(used))


def circle_table(steps: Any, counts: Any, field: Floats, by: Colouring) -> alt.InlineData:
    """A line for each circle: steps along the axes, rows, colour."""
    least, most = by.ends()
    along = dict(zip("ijk", steps.T, strict=False))
    return table(**along, n=counts, c=rounded(field, most - least))


def circle_size(counts: Any) -> Any:
    """By the rows of each circle, where there are several."""
    largest = int(counts.max())
    if largest == 1:
        return alt.value(34)
    scale = alt.Scale(domain=[0, largest], range=[10, 170])
    return alt.Size("n:Q", title="rows", scale=scale, legend=None)


def circles(
    data: alt.InlineData, counts: Any, by: Colouring, box: RotationBox, x: alt.X, y: alt.Y
) -> Any:
    """A circle for each place, those that are far away first."""
    p, q, r = original(box)
    return (
        alt.Chart(data)
        .transform_calculate(**projected(box))
        .transform_calculate(p=p, q=q, r=r)
        .mark_point(filled=True)
        .encode(
            x=x,
            y=y,
            size=circle_size(counts),
            fill=by.fill(),
            opacity=alt.Opacity(
                "z:Q",
                title="depth",
                scale=alt.Scale(domain=[-box.radius, box.radius], range=[1.0, 0.55]),
                legend=None,
            ),
            order=alt.Order("z:Q", title="depth", sort="descending"),
            tooltip=[
                alt.Tooltip("p:Q", title="first axis", format=".4~g"),
                alt.Tooltip("q:Q", title="second", format=".4~g"),
                alt.Tooltip("r:Q", title="third", format=".4~g"),
                alt.Tooltip("n:Q", title="rows", format=","),
            ],
        )
    )
