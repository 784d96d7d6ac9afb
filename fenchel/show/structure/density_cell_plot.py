"""Voronoi cells over a density in the plane: what `fenchel.quantize_density` finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import altair as alt
import numpy as np

from fenchel.convex.certificate import Certificate
from fenchel.score.curves.score_counts import Floats
from fenchel.show.density import filled, rectangles, side
from fenchel.show.encoding import rounded, table
from fenchel.show.formatting import number, percent, plain
from fenchel.show.layout import Width, framed
from fenchel.show.structure.polygons import checked_polygons, frame_of, sides_once
from fenchel.show.theme import BLUE, GREY, ORANGE

GROUND = 32  # squares along each side
SHADES = 12
SIDES = 720  # of cells: about 240 of them
CENTRES = 1000


def density_cells(
    centers: Any,
    cells: Sequence[Any],
    density: Any = None,
    *,
    history: Sequence[Certificate] | None = None,
    names: Sequence[Any] = ("x", "y"),
    title: str | None = None,
    width: Width = 380,
    height: int = 380,
) -> alt.LayerChart:
    """Centres and their cells over the density.

    Parameters
    ----------
    centers : array of shape (k, 2)
    cells : sequence of k polygons (m, 2)
        Of more than about 240 cells the centres alone are drawn.
    density : function of (x, y), or array of shape (h, w), optional
        Over the rectangle around the cells; row 0 of an image is at the bottom.
    history : sequence of Certificate, optional
        The energy at the start and after each step, which the title tells;
        `fenchel.show.objective(history)` draws it.
    names : (across, up)
        What the axes are called.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import quantize_density
    >>> from fenchel.show import density_cells
    >>> image = np.array([[1.0, 2.0], [0.0, 1.0]])
    >>> found = quantize_density(image, 4)
    >>> chart = density_cells(found.centers, found.cells, image, history=found.history)
    >>> chart.to_dict()["title"]["text"][-14:]
    'off the energy'
    """
    C = np.asarray(centers, np.float64)
    if C.ndim != 2 or C.shape[1] != 2 or not len(C) or not np.isfinite(C).all():
        raise ValueError("centers must be finite and have shape (k, 2)")
    polygons = checked_polygons(cells, len(C))
    ends = frame_of(polygons)
    sides = tuple(
        side(title_, plain(name), end)
        for title_, name, end in zip(("across", "up"), names, ends, strict=True)
    )
    layers: list[Any] = []
    notes = []
    if density is not None:
        layers.append(_ground(_heights(density, ends), ends, sides))
        notes.append("Grey: the density.")
    lines = sides_once(polygons)
    if len(lines) <= SIDES:
        layers.append(_lines(lines, ends, sides))
        notes.append("Lines: the cells of the nearest centre.")
    shown = C[:CENTRES]
    layers.append(_points(shown, ends, sides, len(C)))
    if len(shown) < len(C):
        notes.append(f"Points: {len(shown):,} of {len(C):,} centres.")
    else:
        notes.append("Points: centres.")
    return framed(
        layers,
        title=title or _said(len(C), history),
        notes=notes,
        width=width,
        height=height,
    )


def _said(k: int, history: Sequence[Certificate] | None) -> str:
    cells = "1 cell" if k == 1 else f"{k:,} cells"
    if not history:
        return f"{cells} of a density"
    first, last = history[0], history[-1]
    if last.steps == 0 or not 0.0 < first.value < np.inf:
        return f"{cells}: energy {number(last.value)}"
    steps = "1 step takes" if last.steps == 1 else f"{last.steps:,} steps take"
    return f"{cells}: {steps} {percent(1.0 - last.value / first.value)} off the energy"


def _heights(density: Any, ends: Any) -> Floats:
    """At most so many squares along each side, from 0 to 1: means of an image, or the middles."""
    (x0, x1), (y0, y1) = ends
    if callable(density):
        ask: Callable[..., Any] = density
        part = (np.arange(GROUND) + 0.5) / GROUND
        x, y = np.meshgrid(x0 + part * (x1 - x0), y0 + part * (y1 - y0))
        given = np.asarray(ask(x.ravel(), y.ravel()), np.float64)
        found = np.broadcast_to(given, (GROUND * GROUND,)).reshape(GROUND, GROUND)
    else:
        found = np.asarray(density, np.float64)
        if found.ndim != 2 or not found.size:
            raise ValueError("density must be a function, or an image of shape (h, w)")
        for axis in (0, 1):
            if found.shape[axis] > GROUND:
                found = _means(found, axis)
    if not (np.isfinite(found).all() and (found >= 0.0).all()):
        raise ValueError("density must be finite and not negative")
    return np.asarray(found / max(float(found.max()), 1e-300))


def _means(image: Floats, axis: int) -> Floats:
    """Means over so many stripes; a pixel on the line between two counts in one of them."""
    n = image.shape[axis]
    begins = (np.arange(GROUND) * n) // GROUND
    counts = np.diff(np.append(begins, n))
    sums = np.add.reduceat(image, begins, axis=axis)
    return np.asarray(sums / (counts[:, None] if axis == 0 else counts))


def _ground(heights: Floats, ends: Any, sides: Any) -> Any:
    """Rectangles of one shade each; zero is left empty."""
    level = np.ceil(heights * SHADES - 1e-9).astype(int)
    found = rectangles(level)
    found = found[found[:, 4] > 0]
    return filled(found, found[:, 4], GREY, ends, level.shape, sides, SHADES, (0.0, 0.62))


def _lines(lines: Floats, ends: Any, sides: Any) -> Any:
    spans = [end[1] - end[0] for end in ends]
    columns = {
        name: rounded(lines[:, i], spans[i % 2]) for i, name in enumerate(("x", "y", "u", "v"))
    }
    base = alt.Chart(table(**columns))
    return base.mark_rule(color=BLUE, strokeWidth=1.1, opacity=0.9).encode(
        x=alt.X("x:Q", **sides[0]),
        y=alt.Y("y:Q", **sides[1]),
        x2=alt.X2("u:Q", title=sides[0]["title"]),
        y2=alt.Y2("v:Q", title=sides[1]["title"]),
    )


def _points(C: Floats, ends: Any, sides: Any, k: int) -> Any:
    spans = [end[1] - end[0] for end in ends]
    data = table(x=rounded(C[:, 0], spans[0]), y=rounded(C[:, 1], spans[1]))
    return (
        alt.Chart(data)
        .mark_point(filled=True, color=ORANGE, size=34 if k <= 60 else 14, opacity=1.0)
        .encode(
            x=alt.X("x:Q", **sides[0]),
            y=alt.Y("y:Q", **sides[1]),
            tooltip=[
                alt.Tooltip("x:Q", title="centre, across", format=".4~g"),
                alt.Tooltip("y:Q", title="up", format=".4~g"),
            ],
        )
    )
