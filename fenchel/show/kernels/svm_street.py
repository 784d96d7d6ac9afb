"""The street of a support vector machine: its boundary f = 0, its sides f = ±1, the rows that hold
them with their weights α, and the slacks ξ = max(0, 1 - y f(x)) of those within."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from fenchel.score.curves.score_counts import Floats
from fenchel.show.density import Ends, colours, counted, filled, rectangles, side
from fenchel.show.encoding import rounded, significant, table
from fenchel.show.fit.boundary import (
    PLACES,
    changes_along,
    checked_rows,
    grid_places,
    line_encoding,
    lines_between,
    named_classes,
    outer_edges,
)
from fenchel.show.formatting import number, plain
from fenchel.show.layout import Side, Width, framed
from fenchel.show.marching_squares import grid
from fenchel.show.theme import GREY

MOST = 250  # support vectors that are drawn, those of the largest weights
BARS = 60  # slacks that are drawn, the largest
VERTICES = 220  # of each of the three lines
CELLS = 40
RING = (20.0, 240.0)  # square pixels of the smallest and of the largest weight
# A machine is solved to conditions of optimality of 1e-3; a slack below is none.
SLACK = 2e-3
STEPS, HALVINGS = 48, 14  # along a bar, in search of the side of the street
Decision = Callable[[Floats], Any]


def svm_street(
    decision: Decision,
    points: Any,
    codes: Any,
    support: Any,
    dual_coef: Any,
    *,
    labels: Sequence[Any] | None = None,
    names: Sequence[Any] = ("first column", "second column"),
    title: str | None = None,
    width: Width = 420,
    height: int = 380,
) -> alt.LayerChart:
    """The street of a machine of two classes in the plane, its support vectors and slacks.

    Parameters
    ----------
    decision : function
        Of places (m, 2), a number for each: `SVC.decision_function`.
    points : array of shape (n, 2)
        The rows of the fit.
    codes : array of shape (n,)
        Their classes; the second in sorted order is where the decision is positive.
    support : array of shape (s,)
        Numbers of the support vectors: `SVC.support_`.
    dual_coef : array of shape (s,) or (1, s)
        Their weights y α, as `SVC.dual_coef_`: the larger, the wider a ring.
    labels : sequence of 2 names, optional
    names : (across, up)
        What the columns are called.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fenchel import SVC
    >>> from fenchel.show import svm_street
    >>> X, y = load_iris(return_X_y=True)
    >>> X, y = X[50:, [2, 3]], y[50:]
    >>> model = SVC(kernel="linear").fit(X, y)
    >>> chart = svm_street(model.decision_function, X, y, model.support_, model.dual_coef_)
    >>> chart.to_dict()["title"]["text"]
    '24 support vectors of 100 rows: 21 have slack, 13.6 in all'
    """
    rows, true = checked_rows(points, codes)
    group, called = named_classes(true, labels)
    present = np.unique(group)
    if len(present) != 2:
        raise ValueError(f"a street lies between two classes, got {len(present)}")
    is_positive = group == present[1]
    at, alpha = _weights(support, dual_coef, len(rows))
    slack = np.maximum(1.0 - np.where(is_positive, 1.0, -1.0) * _asked(decision, rows), 0.0)
    x, y = grid_places(rows, None, None)
    ends = outer_edges(x), outer_edges(y)
    sides = side("across", plain(names[0]), ends[0]), side("up", plain(names[1]), ends[1])
    order = np.argsort(-alpha, kind="stable")[:MOST]
    late = at[slack[at] > SLACK]
    late = late[np.argsort(-slack[late], kind="stable")[:BARS]]
    others = np.setdiff1d(np.arange(len(rows)), at)
    two = [called[k] for k in present]
    layers = [
        _ground(decision, x, y, ends, sides),
        *_lines(decision, ends, sides),
        *counted(rows[others], is_positive[others].astype(int), ends, two, sides, cells=CELLS),
        _bars(decision, rows[late], is_positive[late], slack[late], ends, sides),
        _rings(rows, is_positive, at[order], alpha[order], slack, ends, sides),
    ]
    notes = [
        "Line: f = 0; dashed: f = ±1. Rings: support vectors, wider with α.",
        "Bars: slacks, along the gradient of f." if len(late) else "",
        f"The {MOST} of the largest α." if len(at) > MOST else "",
    ]
    have = int((slack > SLACK).sum())
    said = f"{have:,} have slack, {number(slack.sum())} in all" if have else "none has slack"
    return framed(
        layers,
        title=title or f"{len(at):,} support vectors of {len(rows):,} rows: {said}",
        notes=notes,
        width=width,
        height=height,
    )


def _weights(support: Any, dual_coef: Any, n: int) -> tuple[NDArray[np.intp], Floats]:
    at = np.asarray(support)
    alpha = np.abs(np.asarray(dual_coef, dtype=np.float64))
    alpha = alpha[0] if alpha.ndim == 2 and len(alpha) == 1 else alpha
    if at.ndim != 1 or alpha.shape != at.shape:
        raise ValueError(
            "dual_coef must be one weight for each of support, of a machine of two classes; got "
            f"shapes {alpha.shape} and {at.shape}"
        )
    if at.size and (at.dtype.kind not in "iu" or at.min() < 0 or at.max() >= n):
        raise ValueError(f"support must be numbers of the {n} rows")
    if not np.isfinite(alpha).all():
        raise ValueError("dual_coef must be finite")
    return at.astype(np.intp), alpha


def _asked(decision: Decision, places: Floats) -> Floats:
    found = np.asarray(decision(places), dtype=np.float64)
    if found.shape != (len(places),):
        raise ValueError(
            f"decision must give one number for each of {len(places)} places, and gave shape "
            f"{found.shape}"
        )
    return found


def _ground(
    decision: Decision, x: Floats, y: Floats, ends: tuple[Ends, Ends], sides: tuple[Side, Side]
) -> Any:
    """The street itself, in grey."""

    def within(places: Floats) -> NDArray[np.intp]:
        return (np.abs(_asked(decision, places)) < 1.0).astype(np.intp)

    inside = within(grid(x, y)).reshape(len(y), len(x))
    found = rectangles(inside, changes_along(within, inside, x, y))
    found = found[found[:, 4] > 0.0]
    return filled(found, None, GREY, ends, inside.shape, sides, 1, (0.0, 0.18))


def _lines(decision: Decision, ends: tuple[Ends, Ends], sides: tuple[Side, Side]) -> Iterator[Any]:
    for level in (-1.0, 0.0, 1.0):

        def above(places: Floats, level: float = level) -> Any:
            return _asked(decision, places) > level

        found = lines_between(above, ends, PLACES, PLACES, VERTICES)
        dash = [5, 4] if level else [1, 0]
        look = found.mark_line(
            style="ink", strokeWidth=1.1 if level else 1.8, strokeDash=dash, clip=True
        )
        yield look.encode(**line_encoding(sides))


def _bars(
    decision: Decision, rows: Floats, is_positive: Any, slack: Floats, ends: Any, sides: Any
) -> Any:
    """From each row with slack to its side of the street, where its gradient line meets that."""
    spans = [end[1] - end[0] for end in ends]
    to = _to_side(decision, rows, np.where(is_positive, 1.0, -1.0), np.array(spans))
    met = np.isfinite(to).all(axis=1)
    (x, y), (u, v) = rows[met].T, to[met].T
    columns = {
        name: rounded(values, span)
        for name, values, span in zip("xyuv", (x, y, u, v), spans * 2, strict=True)
    }
    return (
        alt.Chart(table(**columns, s=significant(slack[met], 3)))
        .mark_rule(color=GREY, strokeWidth=1.6, clip=True)
        .encode(
            x=alt.X("x:Q", **sides[0]),
            y=alt.Y("y:Q", **sides[1]),
            x2=alt.X2("u:Q", title=sides[0]["title"]),
            y2=alt.Y2("v:Q", title=sides[1]["title"]),
            tooltip=[alt.Tooltip("s:Q", title="slack", format=".3~g")],
        )
    )


def _to_side(decision: Decision, rows: Floats, sign: Floats, spans: Floats) -> Floats:
    """The first places along y∇f from each row where y f = 1; NaN where the plane ends before."""
    if not len(rows):
        return rows
    step = 1e-4 * spans  # below the size of a pixel, above the rounding of kernels in float32
    slope = np.stack(
        [
            (_asked(decision, rows + d) - _asked(decision, rows - d)) / (2.0 * step[k])
            for k, d in enumerate(np.diag(step))
        ],
        axis=1,
    )
    # In units of the spans the longest way through the plane is √2.
    along = sign[:, None] * slope
    size = np.linalg.norm(along / spans, axis=1, keepdims=True)
    along = np.where(size > 0.0, along / np.where(size > 0.0, size, 1.0), 0.0)
    parts = 1.5 * np.arange(1, STEPS + 1) / STEPS
    places = rows[:, None, :] + parts[:, None] * along[:, None, :]
    found = _asked(decision, places.reshape(-1, 2)).reshape(len(rows), -1)
    over = np.asarray(sign[:, None] * found) >= 1.0
    first = over.argmax(axis=1)
    high = parts[first]
    low = high - parts[0]
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        beyond = sign * _asked(decision, rows + middle[:, None] * along) >= 1.0
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    return np.where(over.any(axis=1, keepdims=True), rows + high[:, None] * along, np.nan)


def _rings(
    rows: Floats, is_positive: Any, at: Any, alpha: Floats, slack: Floats, ends: Any, sides: Any
) -> Any:
    """The support vectors as rings, those of small weights last."""
    spans = [end[1] - end[0] for end in ends]
    inks = colours(2)
    most = float(alpha.max()) if alpha.size else 0.0
    data = table(
        x=rounded(rows[at, 0], spans[0]),
        y=rounded(rows[at, 1], spans[1]),
        a=significant(alpha, 3),
        s=significant(np.where(slack[at] > SLACK, slack[at], 0.0), 3),
        c=is_positive[at].astype(int),
        # Square pixels: circles of rows in the same figure have the scale of sizes.
        w=np.round(RING[0] + (RING[1] - RING[0]) * alpha / (most or 1.0)),
    )
    return (
        alt.Chart(data)
        .mark_point(strokeWidth=2.0, fillOpacity=0.25, clip=True)
        .encode(
            x=alt.X("x:Q", **sides[0]),
            y=alt.Y("y:Q", **sides[1]),
            size=alt.Size("w:Q", title="α", scale=None, legend=None),
            stroke=alt.Stroke(
                "c:N", title="class", scale=alt.Scale(domain=[0, 1], range=inks), legend=None
            ),
            fill=alt.Fill(
                "c:N", title="class", scale=alt.Scale(domain=[0, 1], range=inks), legend=None
            ),
            tooltip=[
                alt.Tooltip("a:Q", title="α", format=".3~g"),
                alt.Tooltip("s:Q", title="slack", format=".3~g"),
                alt.Tooltip("x:Q", title="across", format=".4~g"),
                alt.Tooltip("y:Q", title="up", format=".4~g"),
            ],
        )
    )
