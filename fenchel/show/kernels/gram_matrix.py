"""A kernel matrix as colours, its rows by class or along its leading eigenvector."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, eigsh

from fenchel.score.curves.score_counts import Floats
from fenchel.show.arguments import groups_of
from fenchel.show.columns.heatmap import ABOVE, BELOW, NEUTRAL
from fenchel.show.density import MOST as MOST_COLOURS
from fenchel.show.density import colours, legend
from fenchel.show.encoding import rounded, significant, table
from fenchel.show.formatting import number, percent
from fenchel.show.layout import Side, Width, framed

MOST = 56  # blocks along each side; of more rows a block is the mean of some
STRIP = 0.045  # of the figure, for the colours of the classes beside it
# Below so many rows LAPACK is as fast as Lanczos steps.
SMALL = 400


def gram_matrix(
    K: Any,
    codes: Any = None,
    *,
    labels: Sequence[Any] | None = None,
    title: str | None = None,
    width: Width = 380,
    height: int = 380,
) -> alt.LayerChart:
    """Values of a kernel between all pairs of rows, similar rows beside each other.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric, such as `kernels.Gaussian(0.5).tile(X, X)`. Of more than 56 rows blocks of
        rows are drawn by their mean.
    codes : array of shape (n,), optional
        Classes of the rows: numbers 0 … k-1, or any labels; rows are ordered by them. Without, and
        within a class, they stand along the leading eigenvector of the centred matrix JKJ, the
        first axis of kernel PCA.
    labels : sequence of k names, optional

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fenchel import kernels
    >>> from fenchel.show import gram_matrix
    >>> X, y = load_iris(return_X_y=True)
    >>> gram_matrix(kernels.Gaussian(0.5).tile(X, X), y).to_dict()["title"]["text"]
    'Mean value 0.649 within classes, 0.103 between'
    """
    K = _checked(K)
    n = len(K)
    axis, share = _leading(K)
    group, called = np.zeros(n, dtype=np.intp), [""]
    if codes is not None:
        group, called = groups_of(codes, labels, "codes")
        if group.shape != (n,):
            raise ValueError(f"codes must be one class for each of {n} rows, got {len(group)}")
    order = np.lexsort((axis, group))
    begins = np.linspace(0, n, min(n, MOST) + 1).round().astype(np.intp)
    blocks = _means(K, order, begins)
    most = max(float(np.abs(blocks).max()), 1e-300)
    low = float(blocks.min())
    x, y = _side("column", False), _side("row", True)
    layers = [_cells(blocks, most, low, x, y)]
    if len(called) > 1:
        layers += _classes(group[order], called, x, y)
    size = len(blocks)
    by = "by class, in each " if len(called) > 1 else ""
    notes = [f"Rows stand {by}along the leading eigenvector of the centred matrix."]
    if size < n:
        notes.append(f"Cells: means of blocks of {n / size:.0f} rows.")
    return framed(
        layers,
        title=title or _said(K, group, share),
        notes=notes,
        width=width,
        height=height,
    )


def _checked(K: Any) -> Floats:
    found = np.asarray(K, dtype=np.float64)
    if found.ndim != 2 or found.shape[0] != found.shape[1] or not found.size:
        raise ValueError(
            f"K must be square, one row and one column for each row, got {found.shape}"
        )
    if not np.isfinite(found).all():
        raise ValueError("K must be finite")
    size = max(float(np.abs(found).max()), 1e-300)
    # Kernel values in float32 are symmetric to some 1e-6 of the largest.
    off = np.abs(found - found.T)
    if off.max() > 1e-5 * size:
        i, j = np.unravel_index(int(off.argmax()), off.shape)
        raise ValueError(
            f"K must be symmetric: K[{i}, {j}] is {found[i, j]:.6g} and K[{j}, {i}] is "
            f"{found[j, i]:.6g}"
        )
    return found


def _leading(K: Floats) -> tuple[Floats, float]:
    """The leading eigenvector of the centred matrix, and its eigenvalue's share of the trace."""
    n = len(K)
    mean = K.mean(axis=0)
    total = float(mean.mean())
    trace = float(np.trace(K)) - n * total
    unit = max(float(np.abs(K).max()), 1e-300)
    if n <= SMALL:
        values, vectors = np.linalg.eigh((K - mean - mean[:, None] + total) / unit)
        value, vector = float(values[-1]) * unit, vectors[:, -1]
    else:

        def product(v: Floats) -> Floats:
            w = (K @ (v - v.mean())) / unit
            return np.asarray(w - w.mean())

        centred = LinearOperator((n, n), matvec=product, dtype=np.float64)
        start = np.cos(np.arange(n, dtype=np.float64))
        # Of equal rows nothing but rounding is left, in units of the largest value.
        if np.abs(product(start)).max() < 1e-10:
            return np.zeros(n), 0.0
        # An order of rows needs no more digits than this.
        values, vectors = eigsh(centred, k=1, which="LA", v0=start, tol=1e-4)
        value, vector = float(values[0]) * unit, vectors[:, 0]
    vector = vector * (1.0 if vector[np.abs(vector).argmax()] > 0.0 else -1.0)
    return np.round(vector, 6), value / trace if trace > 0.0 else 0.0


def _means(K: Floats, order: NDArray[np.intp], begins: NDArray[np.intp]) -> Floats:
    """Means over blocks of the rows and columns in order."""
    counts = np.diff(begins)
    sums = np.stack([K[order[lo:hi]].sum(axis=0) for lo, hi in pairwise(begins)])
    sums = np.add.reduceat(sums[:, order], begins[:-1], axis=1)
    return np.asarray(sums / (counts[:, None] * counts))


def _cells(blocks: Floats, most: float, low: float, x: Side, y: Side) -> Any:
    """One rectangle for each two blocks; a pair is written once and drawn on both sides."""
    size = len(blocks)
    i, j = np.tril_indices(size)
    signed = low < -1e-9 * most
    domain, inks = (
        ([-most, 0.0, most], [BELOW, NEUTRAL, ABOVE]) if signed else ([0.0, most], [NEUTRAL, ABOVE])
    )
    domain = [float(end) for end in significant(domain, 3)]
    values = rounded(blocks[i, j] / most, 20.0) * most  # of 800 shades
    # The names of the classes have the channel of colours.
    fill = alt.Fill(
        "v:Q",
        title="kernel value",
        # In another space of colours orange would turn to violet on its way.
        scale=alt.Scale(
            domain=domain, range=[ink.format(1.0) for ink in inks], interpolate="rgb", clamp=True
        ),
        legend=alt.Legend(title="kernel value", gradientLength=150, tickCount=4, format=".3~g"),
    )
    return (
        alt.Chart(table(i=i, j=j, v=significant(values, 3)))
        .transform_calculate(p="datum.i == datum.j ? [0] : [0, 1]")
        .transform_flatten(["p"])
        .transform_calculate(
            a=f"(datum.p ? datum.i : datum.j) / {size}",
            b=f"(datum.p ? datum.j : datum.i) / {size}",
        )
        .transform_calculate(c=f"datum.a + {1.0 / size:.8g}", d=f"datum.b + {1.0 / size:.8g}")
        .mark_rect(strokeWidth=0)
        .encode(
            x=alt.X("a:Q", **x),
            x2=alt.X2("c:Q", title=x["title"]),
            y=alt.Y("b:Q", **y),
            y2=alt.Y2("d:Q", title=y["title"]),
            fill=fill,
            tooltip=[alt.Tooltip("v:Q", title="kernel value", format=".3~g")],
        )
    )


def _side(title: str, is_down: bool) -> Side:
    scale = alt.Scale(domain=[-STRIP, 1.0], nice=False, reverse=is_down)
    return {"title": title, "scale": scale, "axis": None}


def _classes(group: NDArray[np.intp], called: list[str], x: Side, y: Side) -> Iterator[Any]:
    """A strip in the colours of the classes along rows and columns, and their names."""
    n = len(group)
    begins = np.concatenate([[0], np.flatnonzero(np.diff(group)) + 1])
    ends = np.append(begins[1:], n)
    inks = colours(len(called))[: MOST_COLOURS + 1]
    data = table(
        a=rounded(begins / n, 1.0),
        b=rounded(ends / n, 1.0),
        c=np.minimum(group[begins], MOST_COLOURS),
        n=ends - begins,
    )
    ink = alt.Stroke(
        "c:N",
        title="class",
        scale=alt.Scale(domain=list(range(len(inks))), range=inks),
        legend=None,
    )
    strip = alt.Chart(data).transform_calculate(p=f"{-0.6 * STRIP}")
    strip = strip.mark_rule(strokeWidth=7, opacity=1.0)
    tooltip = [alt.Tooltip("n:Q", title="rows of the class", format=",")]
    yield strip.encode(
        x=alt.X("p:Q", **x),
        y=alt.Y("a:Q", **y),
        y2=alt.Y2("b:Q", title=y["title"]),
        stroke=ink,
        tooltip=tooltip,
    )
    yield strip.encode(
        y=alt.Y("p:Q", **y),
        x=alt.X("a:Q", **x),
        x2=alt.X2("b:Q", title=x["title"]),
        stroke=ink,
        tooltip=tooltip,
    )
    names = [*called[:MOST_COLOURS], *["others"] * (len(called) > MOST_COLOURS)]
    yield legend(names, inks, "class")


def _said(K: Floats, group: NDArray[np.intp], share: float) -> str:
    counts = np.bincount(group).astype(np.float64)
    if (counts > 0.0).sum() < 2:
        return f"The leading axis holds {percent(min(max(share, 0.0), 1.0))} of the centred matrix"
    sums = np.array([np.bincount(group, row, len(counts)) for row in K])
    within = float(sums[np.arange(len(K)), group].sum())
    between = float(sums.sum()) - within
    pairs = float((counts**2).sum())
    return (
        f"Mean value {number(within / pairs)} within classes, "
        f"{number(between / (len(K) ** 2 - pairs))} between"
    )
