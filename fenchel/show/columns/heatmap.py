"""Correlations of columns as a matrix of colours, similar columns beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from fenchel.score.curves.score_counts import Floats
from fenchel.show.encoding import records, table
from fenchel.show.formatting import distinct, number
from fenchel.show.labels import across, down
from fenchel.show.layout import Width, framed

MOST = 40  # columns that are drawn; of more, those with the strongest correlations
SPOKEN = 10  # with more columns a cell has no room for its number
# Blue above 0, orange below, and next to nothing at 0: on a light and on a dark ground.
ABOVE, NEUTRAL, BELOW = "rgba(47,127,193,{})", "rgba(128,136,145,0.07)", "rgba(212,96,15,{})"


def correlation_heatmap(
    matrix: Any,
    names: Sequence[Any] | None = None,
    *,
    title: str | None = None,
    width: Width = 380,
    height: int | None = None,
) -> alt.LayerChart:
    """A matrix of correlations with similar columns beside each other.

    Rows and columns stand in the order of an average linkage on 1 − |r|, its leaves ordered so that
    neighbours are as near as they can be. The colours diverge from 0.

    Parameters
    ----------
    matrix : array of shape (d, d)
        Symmetric, between −1 and 1; NaN where a correlation is not known. More than 40 columns: the
        40 with the strongest correlations.
    names : sequence of d names, optional

    References
    ----------
    Bar-Joseph, Gifford and Jaakkola, Fast optimal leaf ordering for hierarchical clustering,
    Bioinformatics 17 (2001).

    Examples
    --------
    >>> from fenchel.show import correlation_heatmap
    >>> chart = correlation_heatmap([[1.0, 0.2, -0.9], [0.2, 1.0, 0.1], [-0.9, 0.1, 1.0]], "abc")
    >>> chart.to_dict()["title"]["text"]
    'Strongest correlation: -0.9, a and c'
    """
    r = _checked(matrix)
    d = len(r)
    given = list(range(1, d + 1)) if names is None else list(names)
    if len(given) != d:
        raise ValueError(f"{d} columns need {d} names, got {len(given)}")
    apart = np.nan_to_num(np.where(np.eye(d, dtype=bool), 0.0, r))
    kept = np.sort(np.argsort(-np.abs(apart).max(axis=1), kind="stable")[:MOST])
    order = kept[clustered_order(r[np.ix_(kept, kept)])]
    called = distinct(np.asarray(given, dtype=object)[order])
    shown = r[np.ix_(order, order)]
    k = len(order)
    i, j = np.divmod(np.arange(k * k), k)
    cells = table(i=i, j=j, r=np.round(shown.ravel(), 3))
    lookup = records(k=list(range(k)), s=called)
    base = (
        alt.Chart(cells)
        .transform_lookup("i", alt.LookupData(data=lookup, key="k", fields=["s"]), as_=["u"])
        .transform_lookup("j", alt.LookupData(data=lookup, key="k", fields=["s"]), as_=["v"])
    )
    spoken = k <= SPOKEN
    strong = 0.75 if spoken else 1.0  # no darker than a number can be read on
    colours = [BELOW.format(strong), NEUTRAL, ABOVE.format(strong)]
    color = alt.Color(
        "r:Q",
        title="correlation",
        # In another space of colours orange would turn to violet on its way.
        scale=alt.Scale(domain=[-1.0, 0.0, 1.0], range=colours, interpolate="rgb"),
        legend=alt.Legend(
            title="correlation", values=[-1, -0.5, 0, 0.5, 1], format="~g", gradientLength=150
        ),
    )
    tooltip = [
        alt.Tooltip("u:N", title="column"),
        alt.Tooltip("v:N", title="and column"),
        alt.Tooltip("r:Q", title="correlation", format=".3f"),
    ]
    room: Any = {"labelOverlap": True, "ticks": False}
    x = alt.X(
        "v:N",
        title="column across",
        scale=alt.Scale(domain=called, paddingInner=0.04),
        axis=alt.Axis(title=None, **across(called, -40 if k <= 6 else -90), **room),
    )
    y = alt.Y(
        "u:N",
        title="column down",
        scale=alt.Scale(domain=called, paddingInner=0.04),
        axis=alt.Axis(**down(**room)),
    )
    known = base.transform_filter("isValid(datum.r)")
    layers: list[Any] = [
        known.mark_rect(cornerRadius=1).encode(x=x, y=y, color=color, tooltip=tooltip)
    ]
    if spoken:
        text = known.transform_filter("datum.i != datum.j").mark_text(fontSize=10)
        layers.append(text.encode(x=x, y=y, text=alt.Text("r:Q", format=".2f")))
    notes = ["Similar columns are beside each other: average linkage on 1 − |r|."]
    if k < d:
        notes.append(f"The {k} of {d} columns with the strongest correlations.")
    return framed(
        layers,
        title=title or _strongest(apart, given),
        notes=notes,
        width=width,
        height=height or max(min(26 * k, 420), 120),
    )


def clustered_order(r: Floats) -> NDArray[np.intp]:
    """Places of the columns in the order of an average linkage on 1 − |r|, optimally ordered."""
    d = len(r)
    if d < 3:
        return np.arange(d)
    far = 1.0 - np.abs(np.nan_to_num(r))
    np.fill_diagonal(far, 0.0)
    pairs = squareform(np.maximum(0.5 * (far + far.T), 0.0), checks=False)
    return leaves_list(linkage(pairs, method="average", optimal_ordering=True)).astype(np.intp)


def _checked(matrix: Any) -> Floats:
    r = np.array(matrix, dtype=np.float64)
    if r.ndim != 2 or r.shape[0] != r.shape[1] or not r.size:
        raise ValueError(f"matrix must be square, one row and one column each, got {r.shape}")
    known = ~np.isnan(r)
    if (known != known.T).any() or not np.allclose(r[known], r.T[known], atol=1e-8):
        raise ValueError("matrix must be symmetric: give the correlations of one set of columns")
    if not (np.abs(r[known]) <= 1.0 + 1e-8).all():
        worst = float(r[known][np.abs(r[known]).argmax()])
        raise ValueError(f"a correlation lies between -1 and 1, and matrix has {worst:g}")
    return np.clip(r, -1.0, 1.0)


def _strongest(apart: Floats, names: list[Any]) -> str:
    if len(names) < 2:
        return "One column has no correlation"
    i, j = np.unravel_index(int(np.abs(apart).argmax()), apart.shape)
    first, second = distinct([names[int(i)], names[int(j)]])
    return f"Strongest correlation: {number(float(apart[i, j]))}, {first} and {second}"
