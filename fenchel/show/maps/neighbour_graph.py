"""The graph of neighbours over the rows of a map, in two or three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, issparse
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from fenchel.score.curves.score_counts import Floats
from fenchel.show.density import cell_of, reach, side
from fenchel.show.encoding import table
from fenchel.show.formatting import plain
from fenchel.show.layout import Width, framed
from fenchel.show.maps.colouring import Colouring, checked_points, colouring
from fenchel.show.maps.embedding_3d import circle_size, circle_table, circles
from fenchel.show.maps.rotation import STEPS, RotationBox, outline, projected, screen, sliders
from fenchel.show.theme import GREY

Pairs = NDArray[np.intp]
MOST = 400  # rows that are drawn; of more, so many stand for those nearest to them
EDGES = 1600
AXES = ("first axis", "second axis", "third axis")


def neighbour_graph(
    points: Any,
    graph: Any,
    codes: Any = None,
    *,
    values: Any = None,
    labels: Sequence[Any] | None = None,
    names: Sequence[Any] = AXES,
    value_name: Any = "value",
    turn: float = 30.0,
    tilt: float = 20.0,
    title: str | None = None,
    width: Width = 420,
    height: int = 380,
) -> alt.LayerChart:
    """Rows and the edges between neighbours: short circuits, and parts that are not connected.

    In three dimensions two sliders turn the box. Of more than 400 rows as many stand for the rows
    nearest to each within its component, joined where rows of both are: the graph contracted, with
    as many components where they are no more.

    Parameters
    ----------
    points : array of shape (n, 2) or (n, 3)
        The rows, or a map of them: edges of a graph made before that are long in a map are torn.
    graph : sparse matrix of shape (n, n), or array of shape (m, 2)
        Edges where its entries are stored, in either direction, such as
        `fenchel.kneighbors_graph(X, 8)`; or pairs of row numbers.
    codes : array of shape (n,), optional
        Groups of the rows: numbers 0 … k-1, or any labels.
    values : array of shape (n,), optional
        In place of groups, a number of each row, such as the place along the roll.
    labels : sequence of k names, optional
    names : (across, up), or of three axes
    value_name : str
        What the numbers are called.
    turn, tilt : float
        Where the sliders stand first, in degrees.

    Examples
    --------
    The swiss roll (figure 16.15 of the chapter):

    >>> from sklearn.datasets import make_swiss_roll
    >>> from fenchel import kneighbors_graph
    >>> from fenchel.show import neighbour_graph
    >>> X, t = make_swiss_roll(400, random_state=0)
    >>> chart = neighbour_graph(X, kneighbors_graph(X, 6), values=t, value_name="along the roll")
    >>> chart.to_dict()["title"]["text"]
    '400 rows and 1,436 edges: connected'
    """
    Z = checked_points(points, (2, 3))
    n, d = Z.shape
    by = colouring(n, codes, values, labels, value_name)
    pairs = _pairs(graph, n)
    parts, part = _components(pairs, n)
    places, counts, field, drawn, stands_for = _contracted(Z, by, pairs, part)
    shown = drawn
    if len(drawn) > EDGES:
        long = np.linalg.norm(places[drawn[:, 0]] - places[drawn[:, 1]], axis=1)
        shown = drawn[np.sort(np.argsort(-long, kind="stable")[:EDGES])]
    notes = ["Lines: edges between neighbours."]
    if stands_for:
        notes.append(f"Circles: {len(places)} rows stand for those nearest to them.")
    if counts.sum() < n:
        notes.append(f"{n - counts.sum():,} rows of small components are not drawn.")
    if len(shown) < len(drawn):
        notes.append(f"The longest {len(shown):,} of {len(drawn):,} lines.")
    if d == 3:
        notes.append("Sliders turn and tilt the box.")
    edges = "edge" if len(pairs) == 1 else "edges"
    layers = (_flat if d == 2 else _solid)(places, counts, field, shown, by, names, (width, height))
    whole = framed(
        [*layers, *by.legend()],
        title=title or f"{n:,} rows and {len(pairs):,} {edges}: {_said(parts, part)}",
        notes=notes,
        width=width,
        height=height,
    )
    return whole if d == 2 else whole.add_params(*sliders(turn, tilt))


def _pairs(graph: Any, n: int) -> Pairs:
    """Edges (m, 2) without loops, each once, the lower number first."""
    if issparse(graph):
        if graph.shape != (n, n):
            raise ValueError(f"graph must have shape {(n, n)}, got {graph.shape}")
        found = coo_array(graph)
        both = np.stack([found.row, found.col], axis=1)
    else:
        both = np.asarray(graph)
        if both.ndim != 2 or both.shape[1] != 2 or both.dtype.kind not in "iu":
            raise ValueError(
                "graph must be a sparse matrix, or pairs of row numbers of shape (m, 2), got "
                f"{both.dtype} of shape {both.shape}"
            )
        if both.size and not (both.min() >= 0 and both.max() < n):
            raise ValueError(f"graph names row {both.max()}, and there are {n} rows")
    both = np.sort(both.astype(np.intp), axis=1)
    return np.unique(both[both[:, 0] != both[:, 1]], axis=0).reshape(-1, 2)


def _components(pairs: Pairs, n: int) -> tuple[int, NDArray[np.intp]]:
    ones = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    count, part = connected_components(ones, directed=False)
    return int(count), part.astype(np.intp)


def _said(count: int, part: NDArray[np.intp]) -> str:
    if count == 1:
        return "connected"
    sizes = np.sort(np.bincount(part))[::-1]
    first = ", ".join(f"{size:,}" for size in sizes[:3]) + (", …" if count > 3 else "")
    return f"{count:,} components of {first} rows"


def _contracted(
    Z: Floats, by: Colouring, pairs: Pairs, part: NDArray[np.intp]
) -> tuple[Floats, NDArray[np.intp], Floats, Pairs, bool]:
    """Places, rows of each, colours, edges; and whether each stands for several rows.

    Rows that stand for others are evenly spaced in each component, and a row belongs to the nearest
    of its own. Of more than so many components the largest are drawn.
    """
    n = len(Z)
    if n <= MOST:
        return Z, np.ones(n, dtype=np.intp), by.field(), pairs, False
    owner = np.full(n, -1, dtype=np.intp)
    sizes = np.bincount(part)
    rows_of = np.split(np.argsort(part, kind="stable"), np.cumsum(sizes)[:-1])
    some = np.argsort(-sizes, kind="stable")[:MOST]
    # One for each component, and the others by their sizes.
    shares = np.minimum(1 + (MOST - len(some)) * sizes[some] // sizes[some].sum(), sizes[some])
    chosen: list[int] = []
    for component, share in zip(some, shares.tolist(), strict=True):
        rows = rows_of[component]
        those = rows[np.linspace(0, len(rows) - 1, share).round().astype(np.intp)]
        _, nearest = cKDTree(Z[those]).query(Z[rows])
        owner[rows] = len(chosen) + nearest
        chosen += those.tolist()
    kept = owner >= 0
    field = by.means(owner[kept], len(chosen), kept)
    counts = np.bincount(owner[kept], minlength=len(chosen))
    joined = np.sort(owner[pairs[kept[pairs[:, 0]]]], axis=1)
    joined = np.unique(joined[joined[:, 0] != joined[:, 1]], axis=0).reshape(-1, 2)
    return Z[chosen], counts, field, joined, True


def _solid(
    places: Floats, counts: Any, field: Floats, edges: Pairs, by: Colouring, names: Any, size: Any
) -> list[Any]:
    """Edges and rows in a box that turns."""
    box = RotationBox.around(places, False)
    x, y = screen(box, *size)
    steps = box.steps(places)
    data = circle_table(steps, counts, field, by)
    lines = _edges(steps, edges, "ijk", "lmn").transform_calculate(**projected(box))
    lines = lines.transform_calculate(**projected(box, ("l", "m", "n"), ("u", "v", "w")))
    frame, axes = outline(box, [*names, *AXES[len(names) :]], x, y)
    return [frame, _drawn(lines, x, y), circles(data, counts, by, box, x, y), axes]


def _flat(
    places: Floats, counts: Any, field: Floats, edges: Pairs, by: Colouring, names: Any, size: Any
) -> list[Any]:
    """Edges and rows in a plane."""
    ends = reach(places[:, 0]), reach(places[:, 1])
    sides = side("across", plain(names[0]), ends[0]), side("up", plain(names[1]), ends[1])
    x, y = alt.X("x:Q", **sides[0]), alt.Y("y:Q", **sides[1])
    low, high = np.array(ends).T
    steps = np.round((places - low) / (high - low) * STEPS).astype(int)
    data = circle_table(steps, counts, field, by)
    here, there = (
        {
            name: cell_of(f"datum.{at}", end, STEPS)
            for name, at, end in zip(to, of, ends, strict=True)
        }
        for to, of in (("xy", "ij"), ("uv", "lm"))
    )
    lines = _edges(steps, edges, "ij", "lm").transform_calculate(**here)
    rows = alt.Chart(data).transform_calculate(**here).mark_point(filled=True, opacity=0.9)
    return [
        _drawn(lines.transform_calculate(**there), x, y),
        rows.encode(
            x=x,
            y=y,
            size=circle_size(counts),
            fill=by.fill(),
            tooltip=[
                alt.Tooltip("x:Q", title="across", format=".4~g"),
                alt.Tooltip("y:Q", title="up", format=".4~g"),
                alt.Tooltip("n:Q", title="rows", format=","),
            ],
        ),
    ]


def _edges(steps: Any, edges: Pairs, here: str, there: str) -> Any:
    """Edges by the numbers of their circles, with the steps of both ends."""
    # A table of its own: Vega-Lite loses one that is looked up and drawn.
    places = table(r=np.arange(len(steps)), **dict(zip(here, steps.T, strict=True)))
    ends = alt.LookupData(data=places, key="r", fields=list(here))
    return (
        alt.Chart(table(a=edges[:, 0], b=edges[:, 1]))
        .transform_lookup("a", ends, as_=list(here))
        .transform_lookup("b", ends, as_=list(there))
    )


def _drawn(lines: Any, x: alt.X, y: alt.Y) -> Any:
    found = lines.mark_rule(color=GREY, strokeWidth=0.8, opacity=0.6)
    return found.encode(x=x, y=y, x2="u:Q", y2="v:Q")
