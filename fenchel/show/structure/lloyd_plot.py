"""Steps of Lloyd's algorithm in the plane: rows, centres and their Voronoi cells, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from fenchel.score.curves.score_counts import Floats
from fenchel.show.arguments import groups_of
from fenchel.show.density import MOST, colours
from fenchel.show.encoding import records, rounded, table
from fenchel.show.formatting import LONGEST, lines, percent, plain
from fenchel.show.layout import SMALL
from fenchel.show.structure.polygons import checked_polygons, frame_of, outlines
from fenchel.show.theme import GREY

GRIDS = (
    20,
    16,
    12,
    9,
    7,
    5,
)  # along each side, in which rows are counted: the first of few circles
CIRCLES = 600  # of all panels
PANELS = 6
CORNERS = 600  # of all panels; polygons of more would be too small to tell apart
CENTRES = 30  # of a panel
CHUNK = 2**16  # rows whose distances are held at once
# What a line of the table is.
CORNER, ROWS, CENTRE = range(3)


def lloyd_iterations(
    points: Any,
    centers: Sequence[Any],
    cells: Sequence[Sequence[Any]] | None = None,
    *,
    steps: Sequence[int] | None = None,
    codes: Any = None,
    labels: Sequence[Any] | None = None,
    names: Sequence[Any] = ("first column", "second column"),
    title: str | None = None,
    across: int = 2,
    width: int = 210,
    height: int = 210,
) -> alt.FacetChart:
    """Rows of two columns and the cells of the centres, a panel a step.

    Rows are counted in small squares, by the nearest centre of the step, or by their class.

    Parameters
    ----------
    points : array of shape (n, 2)
    centers : sequence of arrays (k, 2)
        Of each step that is drawn, at most six; of more the first five and the last.
    cells : sequence of lists of k polygons (m, 2), optional
        The Voronoi cells of each step, as `fenchel.voronoi_cells(centers, domain)` makes them.
    steps : sequence of int, optional
        Numbers of the steps; by default 0, 1, 2, …
    codes : array of shape (n,), optional
        Classes of the rows: numbers 0 … K-1, or any labels; by default the nearest centres.
    labels : sequence of K names, optional
    names : (across, up)
        What the columns are called.
    across : int
        Panels in a row of the picture.
    width, height : int
        Of one of them.

    Examples
    --------
    >>> from fenchel import voronoi_cells
    >>> from fenchel.show import lloyd_iterations
    >>> rows = [[0.0, 0.0], [0.0, 1.0], [4.0, 0.0], [4.0, 1.0]]
    >>> path = [[[0.0, 0.0], [0.0, 1.0]], [[2.0, 0.0], [2.0, 1.0]]]
    >>> cells = [voronoi_cells(centers, (-1, 5, -1, 2)) for centers in path]
    >>> lloyd_iterations(rows, path, cells).to_dict()["title"]["text"]
    "1 step of Lloyd's algorithm takes 50 % off the scatter"
    """
    Z = np.asarray(points, np.float64)
    path = [np.asarray(C, np.float64) for C in centers]
    numbers = list(range(len(path))) if steps is None else [int(step) for step in steps]
    _check(Z, path, cells, numbers)
    first, last = path[0], path[-1]
    unit = max(float(np.abs(Z).max()), 1e-300)  # squares neither overflow nor vanish
    scatter = [_nearest(Z / unit, C / unit)[1] for C in (first, last)]
    drawn = list(range(len(path)))
    if len(drawn) > PANELS:
        drawn = [*drawn[: PANELS - 1], len(path) - 1]
    given, called = None, [""]
    if codes is not None:
        given, called = groups_of(codes, labels, "codes")
        if given.shape != (len(Z),):
            raise ValueError("codes must be one class for each of points")
    polygons = [[] if cells is None else checked_polygons(cells[i], len(path[i])) for i in drawn]
    corners = sum(len(cell) for shown in polygons for cell in shown)
    if corners > CORNERS:
        polygons = [[] for _ in drawn]
    ends = _ends(Z, polygons)
    groups = max(map(len, path)) if given is None else len(called)
    nearest = [_nearest(Z / unit, path[i] / unit)[0] if given is None else given for i in drawn]
    parts = []
    for grid in GRIDS:
        parts = [
            _panel(numbers[i], Z, path[i], shown, code, ends, grid)
            for i, shown, code in zip(drawn, polygons, nearest, strict=True)
        ]
        if sum(int((part["k"] == ROWS).sum()) for part in parts) <= CIRCLES:
            break
    columns = {name: np.concatenate([part[name] for part in parts]) for name in "pkcdoxyn"}
    for name, (low, high) in zip("xy", ends, strict=True):  # there are no axes that need numbers
        columns[name] = rounded((columns[name] - low) / (high - low), 1.0)
    said = _said(numbers[-1] - numbers[0], *scatter)
    chart = _layers(groups, None if given is None else called, (width, height)).facet(
        facet=alt.Facet(
            "p:O",
            header=alt.Header(
                title=None,
                labelExpr="datum.value == 0 ? 'start' : 'step ' + datum.value",
                labelAnchor="start",
            ),
        ),
        columns=across,
        data=table(**columns),
        spacing=14,
    )
    if given is not None:
        shown_names = _classes(called)
        classes = records(k=list(range(len(shown_names))), s=shown_names)
        chart = chart.transform_lookup("c", alt.LookupData(classes, "k", ["s"]), as_=["s"])
    room = min(across, len(drawn)) * (width + 14)
    notes = lines(_notes(given is None, 0 < corners <= CORNERS, names), room / SMALL)
    return chart.properties(
        title=alt.TitleParams(text=plain(title or said, LONGEST), subtitle=notes),
        description=". ".join([plain(title or said, LONGEST), *notes]),
    )


def _check(Z: Floats, path: list[Floats], cells: Any, numbers: list[int]) -> None:
    if Z.ndim != 2 or Z.shape[1] != 2 or not len(Z) or not np.isfinite(Z).all():
        raise ValueError("points must be finite and have shape (n, 2)")
    if not path or any(C.ndim != 2 or C.shape[1] != 2 or not len(C) for C in path):
        raise ValueError("centers must be arrays of shape (k, 2), one for each step")
    if not all(np.isfinite(C).all() for C in path):
        raise ValueError("centers must be finite")
    if cells is not None and len(cells) != len(path):
        raise ValueError("cells must be one list of polygons for each step")
    if len(numbers) != len(path) or np.any(np.diff(numbers) <= 0):
        raise ValueError("steps must be one number for each of centers, and rise")


def _nearest(Z: Floats, C: Floats) -> tuple[Any, float]:
    """The nearest centre of each row, and the sum of the squared distances."""
    found, total = np.empty(len(Z), np.intp), 0.0
    for lo in range(0, len(Z), CHUNK):
        part = Z[lo : lo + CHUNK]
        squares = ((part[:, None, :] - C) ** 2).sum(axis=2)
        found[lo : lo + CHUNK] = squares.argmin(axis=1)
        total += float(squares.min(axis=1).sum())
    return found, total


def _ends(Z: Floats, polygons: list[list[Floats]]) -> list[tuple[float, float]]:
    """Of both axes: around the cells, or around the rows."""
    if any(len(cell) for shown in polygons for cell in shown):
        return list(frame_of([cell for shown in polygons for cell in shown]))
    low, high = Z.min(axis=0), Z.max(axis=0)
    pad = np.where(high > low, 0.05 * (high - low), np.maximum(np.abs(low), 1.0) * 0.5)
    return [(float(a), float(b)) for a, b in zip(low - pad, high + pad, strict=True)]


def _panel(
    step: int, Z: Floats, C: Floats, shown: list[Floats], code: Any, ends: Any, grid: int
) -> dict[str, Any]:
    """Columns of a panel: its step p, the kind k, a colour c, the polygon d, the place o along it,
    coordinates, rows n."""
    corners, owner, place = outlines(shown)
    kinds = [np.full(len(corners), CORNER)]
    polygon, order, places = [owner], [place], [corners]
    rows = [np.zeros(len(corners))]
    for group in range(int(min(code.max(), MOST)) + 1):
        x, y = Z[np.minimum(code, MOST) == group].T
        counts, *edges = np.histogram2d(x, y, grid, range=ends)
        i, j = np.nonzero(counts)
        middle = [0.5 * (edge[1:] + edge[:-1]) for edge in edges]
        kinds.append(np.full(len(i), ROWS))
        polygon.append(np.full(len(i), group))
        order.append(np.zeros(len(i)))
        places.append(np.column_stack([middle[0][i], middle[1][j]]))
        rows.append(counts[i, j])
    some = C[:CENTRES]
    kinds.append(np.full(len(some), CENTRE))
    polygon.append(np.arange(len(some)))
    order.append(np.zeros(len(some)))
    places.append(some)
    rows.append(np.zeros(len(some)))
    whole = np.concatenate(places)
    return {
        "p": np.full(len(whole), step),
        "k": np.concatenate(kinds),
        "c": np.minimum(np.concatenate(polygon), MOST),
        "d": np.concatenate(polygon),
        "o": np.concatenate(order),
        "x": whole[:, 0],
        "y": whole[:, 1],
        "n": np.concatenate(rows),
    }


def _layers(groups: int, called: list[str] | None, size: tuple[int, int]) -> alt.LayerChart:
    """called: names of classes, or None where colours are those of the cells."""
    inks = colours(groups)[: MOST + 1]
    scale = alt.Scale(domain=[0.0, 1.0], nice=False)
    x = alt.X("x:Q", title="across", axis=None, scale=scale)
    y = alt.Y("y:Q", title="up", axis=None, scale=scale)
    colour = alt.Color(
        "c:N",
        title="group",
        scale=alt.Scale(domain=list(range(len(inks))), range=inks),
        legend=None,
    )
    base = alt.Chart().encode(x=x, y=y)
    cells = base.transform_filter(f"datum.k == {CORNER}")
    filled = cells.mark_line(
        interpolate="linear-closed", strokeWidth=1.0, stroke=GREY, fillOpacity=0.1, aria=False
    ).encode(detail="d:N", order=alt.Order("o:Q"))
    counted = base.transform_filter(f"datum.k == {ROWS}")
    if called is None:
        filled = filled.encode(fill=colour)
    else:
        colour = alt.Color(
            "s:N",
            title="class",
            scale=alt.Scale(domain=_classes(called), range=inks),
            legend=alt.Legend(title=None, symbolType="circle", symbolOpacity=1.0, columns=3),
        )
    rows = counted.mark_point(filled=True, opacity=0.85, strokeWidth=0).encode(
        color=colour,
        size=alt.Size("n:Q", title="rows", scale=alt.Scale(range=[6, 90]), legend=None),
        tooltip=[alt.Tooltip("n:Q", title="rows", format=",")],
    )
    centres = base.transform_filter(f"datum.k == {CENTRE}").mark_point(
        shape="cross", filled=True, style="ink", size=70, opacity=1.0, aria=False
    )
    whole: Any = alt.layer(filled, rows, centres)
    found: alt.LayerChart = whole.properties(width=size[0], height=size[1])
    return found


def _classes(called: list[str]) -> list[str]:
    """Names of the classes with a colour of their own, and of the others together."""
    return [*called[:MOST], *["others"] * (len(called) > MOST)]


def _said(steps: int, first: float, last: float) -> str:
    off = percent(1.0 - last / first) if first > 0.0 else "0 %"
    word = "step" if steps == 1 else "steps"
    takes = "takes" if steps == 1 else "take"
    if not steps:
        return "The centres and their cells"
    return f"{steps} {word} of Lloyd's algorithm {takes} {off} off the scatter"


def _notes(by_cell: bool, has_cells: bool, names: Sequence[Any]) -> list[str]:
    what = "by the nearest centre" if by_cell else "by their class"
    found = [
        f"Crosses: centres. Circles: rows in {plain(names[0], 30)} and {plain(names[1], 30)}, "
        f"coloured {what}."
    ]
    if has_cells:
        found.append("Lines: the cells of the places that are nearest to each centre.")
    return found
