"""A map in two dimensions: where the rows lie, by group or by a number, some of them named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from fenchel.score.curves.score_counts import Floats
from fenchel.show.density import cell_numbers, cell_of, counted, reach, side
from fenchel.show.encoding import rounded, table
from fenchel.show.formatting import plain
from fenchel.show.layout import Width, framed
from fenchel.show.maps.colouring import Colouring, checked_points, colouring
from fenchel.show.maps.placing import Plane, placed, written

CELLS = 30
# Of few rows with names the cells are so small that a circle lies beside its name.
FINE, FEW = 70, 800


def embedding(
    points: Any,
    codes: Any = None,
    *,
    values: Any = None,
    labels: Sequence[Any] | None = None,
    names: Sequence[Any] = ("first axis", "second axis"),
    value_name: Any = "value",
    row_names: Sequence[Any] | None = None,
    title: str | None = None,
    width: Width = 420,
    height: int = 380,
) -> alt.LayerChart:
    """Rows in two dimensions, counted in cells, by group or by a number.

    Parameters
    ----------
    points : array of shape (n, 2)
    codes : array of shape (n,), optional
        Groups of the rows, such as clusters: numbers 0 … k-1, or any labels.
    values : array of shape (n,), optional
        In place of groups, a number of each row; a cell shows the mean of its rows.
    labels : sequence of k names, optional
    names : (across, up)
        What the dimensions are called.
    value_name : str
        What the numbers are called.
    row_names : sequence of n names, optional
        Of the rows; as many are written as find room, those far from the middle first. An empty
        name is none.

    Examples
    --------
    >>> from fenchel.show import embedding
    >>> chart = embedding([[0.0, 1.0], [2.0, 3.0], [2.1, 3.1]], [0, 1, 1])
    >>> chart.to_dict()["title"]["text"]
    '3 rows in first axis and second axis'

    Iris on its first two principal components (figure 16.2 of the chapter):

    >>> from sklearn.datasets import load_iris
    >>> from fenchel import PCA
    >>> X, y = load_iris(return_X_y=True)
    >>> chart = embedding(PCA(2).fit_transform(X), y, names=("first component", "second component"))
    >>> chart.to_dict()["title"]["text"]
    '150 rows in first component and second component'
    """
    Z = checked_points(points, (2,))
    by = colouring(len(Z), codes, values, labels, value_name)
    ends = reach(Z[:, 0]), reach(Z[:, 1])
    over, up = plain(names[0]), plain(names[1])
    sides = side("across", over, ends[0]), side("up", up, ends[1])
    notes = ["Circles: rows, counted in cells."]
    cells = FINE if row_names is not None and len(Z) <= FEW else CELLS
    if by.values is None:
        layers = list(counted(Z, by.codes, ends, by.called, sides, what="group", cells=cells))
    else:
        layers = [_by_value(Z, by, ends, sides, cells)]
        notes = ["Circles: rows, counted in cells, in the colour of their mean."]
    if row_names is not None:
        layer, said = _named(Z, list(row_names), Plane.of(ends, sides, width, height))
        layers.append(layer)
        notes.append(said)
    return framed(
        layers,
        title=title or f"{len(Z):,} rows in {over} and {up}",
        notes=notes,
        width=width,
        height=height,
    )


def _by_value(Z: Floats, by: Colouring, ends: Any, sides: Any, cells: int) -> Any:
    """A circle for each cell that has rows, in the colour of their mean."""
    used, owner, counts = np.unique(
        cell_numbers(Z, ends, cells), return_inverse=True, return_counts=True
    )
    least, most = by.ends()
    data = table(
        i=used // cells,
        j=used % cells,
        n=counts,
        c=rounded(by.means(owner, len(used)), most - least),
    )
    scale = alt.Scale(domain=[0, int(counts.max())], range=[8, 190])
    return (
        alt.Chart(data)
        .transform_calculate(
            x=cell_of("(datum.i + 0.5)", ends[0], cells),
            y=cell_of("(datum.j + 0.5)", ends[1], cells),
        )
        .mark_point(filled=True, opacity=0.85)
        .encode(
            x=alt.X("x:Q", **sides[0]),
            y=alt.Y("y:Q", **sides[1]),
            size=alt.Size("n:Q", title="rows", scale=scale, legend=None),
            fill=by.fill(),
            tooltip=[
                alt.Tooltip("n:Q", title="rows", format=","),
                alt.Tooltip("c:Q", title="mean number", format=".4~g"),
            ],
        )
    )


def _named(Z: Floats, row_names: list[Any], plane: Plane) -> tuple[Any, str]:
    """Names beside their rows, and how many of them are written."""
    if len(row_names) != len(Z):
        raise ValueError(f"{len(Z)} rows need {len(Z)} row_names, got {len(row_names)}")
    wanted = [plain(name, 24) for name in row_names]
    some = np.flatnonzero([bool(name) for name in wanted])
    at = plane.in_pixels(Z[some])
    # Far from the middle first: outliers are what a reader asks the name of.
    away = ((at - plane.in_pixels(np.median(Z, axis=0))) ** 2).sum(axis=1)
    order = np.argsort(-away, kind="stable")
    called = [wanted[i] for i in some[order]]
    found = placed(at[order], called, plane.size, obstacles=plane.in_pixels(Z))
    layer = written(found, called, Z[some[order]], plane)
    said = "" if len(found) == len(some) else f"Names of {len(found)} of {len(some):,} rows."
    return layer, said
