"""Where a model changes its mind, in the plane of two columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt
import numpy as np

from fenchel.score.groups import Floats
from fenchel.show.cells import colours, counted, filled, rectangles, side
from fenchel.show.frame import Width, framed
from fenchel.show.words import distinct, plain

SHADES = 8


def decision_boundary(
    across: Any,
    up: Any,
    predicted: Any,
    points: Any,
    codes: Any,
    *,
    sure: Any = None,
    labels: Sequence[Any] | None = None,
    names: Sequence[Any] = ("first column", "second column"),
    title: str | None = None,
    width: Width = 420,
    height: int = 380,
) -> alt.LayerChart:
    """The class that a model predicts at each place of a grid, and the rows that lie there.

    Rows are counted in cells, class by class: no row is drawn by itself.

    Parameters
    ----------
    across, up : array of shape (g,) and (h,)
        The places of the grid, evenly apart.
    predicted : array of shape (h, g)
        Codes 0 … K-1 of the predicted classes.
    points : array of shape (n, 2)
        The rows in the two columns; those outside the grid are left out.
    codes : array of shape (n,)
        Codes of their true classes.
    sure : array of shape (h, g), optional
        How sure the model is, from 0 to 1: the stronger its colour.
    labels : sequence of K names, optional
    names : (across, up)
        What the columns are called.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.show import decision_boundary
    >>> side = np.linspace(-1.0, 1.0, 5)
    >>> said = (side[:, None] + side > 0.0).astype(int)
    >>> chart = decision_boundary(side, side, said, [[0.5, 0.5], [-0.5, -0.4]], [1, 0])
    >>> chart.to_dict()["title"]["text"]
    'Decision boundary in first column and second column'
    """
    x, y = (np.asarray(ends, dtype=np.float64) for ends in (across, up))
    said, rows = np.asarray(predicted), np.asarray(points, dtype=np.float64)
    true = np.asarray(codes)
    if said.shape != (len(y), len(x)) or rows.shape != (len(true), 2):
        raise ValueError("predicted must have shape (up, across), and points one pair a code")
    count = int(max(said.max(initial=0), true.max(initial=0))) + 1
    called = distinct(range(count) if labels is None else labels)
    ends = _ends(x), _ends(y)
    sides = side("across", plain(names[0]), ends[0]), side("up", plain(names[1]), ends[1])
    shade = np.ones(said.shape) if sure is None else np.asarray(sure, dtype=np.float64)
    layers = [
        *_ground(said, shade, ends, colours(len(called)), sides),
        *counted(rows, true, ends, called, sides),
    ]
    return framed(
        layers,
        title=title or f"Decision boundary in {plain(names[0])} and {plain(names[1])}",
        notes=[
            "Ground: the predicted class"
            + (", stronger where it is surer." if sure is not None else "."),
            "Circles: rows of each class, counted in cells.",
        ],
        width=width,
        height=height,
    )


def _ends(side: Floats) -> tuple[float, float]:
    """The outer edges of the cells around evenly spaced places."""
    half = 0.5 * float(side[1] - side[0]) if len(side) > 1 else 0.5
    return float(side[0]) - half, float(side[-1]) + half


def _ground(
    said: Any, shade: Floats, ends: Any, shown: list[str], sides: tuple[Any, Any]
) -> Iterator[Any]:
    """Rectangles of one class and one shade each."""
    level = np.round(np.clip(shade, 0.0, 1.0) * SHADES).astype(int)
    found = rectangles(said * (SHADES + 1) + level)
    kind, dark = np.divmod(found[:, 4], SHADES + 1)
    inks = np.array(shown)[kind]
    for colour in dict.fromkeys(inks.tolist()):
        mine = inks == colour
        yield filled(found[mine], dark[mine], colour, ends, said.shape, sides, SHADES, (0.05, 0.36))
