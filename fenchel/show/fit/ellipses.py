"""Gaussian classes in a plane: ellipses that hold stated shares of each, and the rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt
import numpy as np

from fenchel.score.curves.score_counts import Floats
from fenchel.show.arguments import groups_of
from fenchel.show.density import colours, counted, reach, side
from fenchel.show.encoding import rounded, table
from fenchel.show.formatting import percent, plain
from fenchel.show.layout import Width, framed

CELLS = 30
CORNERS = 60  # of an ellipse: its polygon is off by less than 0.2 % of the half axes
STEP = 2.0 * math.pi / CORNERS
# A variance below this part of the largest is rounding: the ellipse is a line there.
FLAT = 1e-14


def class_ellipses(
    points: Any,
    codes: Any,
    means: Any,
    covariances: Any,
    *,
    levels: Sequence[float] = (0.5, 0.95),
    labels: Sequence[Any] | None = None,
    names: Sequence[Any] = ("first column", "second column"),
    title: str | None = None,
    width: Width = 420,
    height: int = 380,
) -> alt.LayerChart:
    """The ellipses that hold stated shares of Gaussian classes, and the rows that lie there.

    N(μ, Σ) has the probability a inside (x - μ)'Σ⁻¹(x - μ) ≤ -2 log(1 - a), in two dimensions. Of
    classes in more of them the picture shows the marginal distribution: on axes A, A'μ and A'ΣA.

    Parameters
    ----------
    points : array of shape (n, 2)
    codes : array of shape (n,)
        Their classes: codes 0 … K-1 in the order of the means, or labels in sorted order.
    means : array of shape (K, 2)
    covariances : array of shape (2, 2), or (K, 2, 2)
        One for all classes, or one for each.
    levels : sequence of shares between 0 and 1
    labels : sequence of K names, optional
    names : (across, up)
        What the columns are called.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fenchel import QuadraticDiscriminantAnalysis
    >>> from fenchel.show import class_ellipses
    >>> X, y = load_iris(return_X_y=True)
    >>> model = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X[:, 2:], y)
    >>> chart = class_ellipses(X[:, 2:], y, model.means_, model.covariance_)
    >>> chart.to_dict()["title"]["text"]
    "94.0 % of the rows lie in their class's 95 % ellipse"
    """
    rows = np.asarray(points, dtype=np.float64)
    group, called = groups_of(codes, labels, "codes")
    mu = np.asarray(means, dtype=np.float64)
    if rows.shape != (len(group), 2) or not len(group):
        raise ValueError("points must have shape (n, 2), and codes one class a row")
    K = len(mu)
    if mu.ndim != 2 or mu.shape[1] != 2 or int(group.max()) >= K:
        raise ValueError(
            f"means must be two numbers for each of {int(group.max()) + 1} classes, got shape "
            f"{mu.shape}"
        )
    if labels is None and len(called) < K:  # of the last classes there are no rows
        called = [*called, *map(str, range(len(called) + 1, K + 1))]
    sigma = np.asarray(covariances, dtype=np.float64)
    if sigma.shape not in ((2, 2), (K, 2, 2)):
        raise ValueError(
            f"covariances must be (2, 2) or ({K}, 2, 2): on axes A take A'ΣA; got {sigma.shape}"
        )
    shares = sorted(float(level) for level in levels)
    if not shares or not 0.0 < shares[0] <= shares[-1] < 1.0:
        raise ValueError(f"levels must lie between 0 and 1, got {list(levels)}")
    axes = [_axes(one, k) for k, one in enumerate(np.broadcast_to(sigma, (K, 2, 2)))]
    sizes = [float(np.sqrt(-2.0 * np.log1p(-share))) for share in shares]
    reaches = [sizes[-1] * np.hypot(*(half * turn).T) for turn, half in axes]
    corners = np.concatenate([mu + reaches, mu - reaches, rows])
    ends = reach(corners[:, 0]), reach(corners[:, 1])
    sides = side("across", plain(names[0]), ends[0]), side("up", plain(names[1]), ends[1])
    layers = [
        *counted(rows, group, ends, called, sides, cells=CELLS),
        *_rings(mu, axes, sizes, colours(K), sides),
    ]
    inside = 0
    for k, (turn, half) in enumerate(axes):
        along = (rows[group == k] - mu[k]) @ turn / half
        inside += int(((along * along).sum(axis=1) <= sizes[-1] ** 2).sum())
    said = " and ".join(f"{100.0 * share:g} %" for share in shares)
    return framed(
        layers,
        title=title
        or f"{percent(inside / len(rows))} of the rows lie in their class's "
        f"{100.0 * shares[-1]:g} % ellipse",
        notes=[
            f"Ellipses hold {said} of each Gaussian class; crosses: their means.",
            "Circles: rows of each class, counted in cells.",
        ],
        width=width,
        height=height,
    )


def _axes(sigma: Floats, k: int) -> tuple[Floats, Floats]:
    """Directions, as columns, and half axes of the ellipse (x - μ)'Σ⁻¹(x - μ) ≤ 1."""
    values, vectors = np.linalg.eigh(0.5 * (sigma + sigma.T))
    if not np.isfinite(values).all() or values[-1] <= 0.0 or values[0] < -1e-8 * values[-1]:
        raise ValueError(f"the covariance of class {k} is not positive: {sigma.tolist()}")
    return vectors, np.sqrt(np.maximum(values, FLAT * values[-1]))


def _rings(
    mu: Floats,
    axes: list[tuple[Floats, Floats]],
    sizes: list[float],
    inks: list[str],
    sides: tuple[Any, Any],
) -> Iterator[Any]:
    """The ellipses of all classes, level by level, the widest dashed; then the means. Of an ellipse
    the chart holds the half axes: their corners are computed where it is drawn."""
    span = [1.0 * (one["scale"].domain[1] - one["scale"].domain[0]) for one in sides]
    roots = np.array([turn * half for turn, half in axes])
    data = table(
        k=np.arange(len(mu)),
        u=rounded(mu[:, 0], span[0]),
        v=rounded(mu[:, 1], span[1]),
        a=rounded(roots[:, 0, 0], span[0]),
        b=rounded(roots[:, 0, 1], span[0]),
        c=rounded(roots[:, 1, 0], span[1]),
        d=rounded(roots[:, 1, 1], span[1]),
    )
    ink = alt.Stroke(
        "k:N", scale=alt.Scale(domain=list(range(len(mu))), range=inks), legend=None, title="class"
    )
    x, y = alt.X("x:Q", **sides[0]), alt.Y("y:Q", **sides[1])
    for place, size in enumerate(sizes):
        widest = place and place == len(sizes) - 1
        yield (
            alt.Chart(data)
            .transform_calculate(i=f"sequence(0, {CORNERS + 1})")
            .transform_flatten(["i"])
            .transform_calculate(
                p=f"{size:.6g} * cos(datum.i * {STEP:.8g})",
                q=f"{size:.6g} * sin(datum.i * {STEP:.8g})",
            )
            .transform_calculate(
                x="datum.u + datum.a * datum.p + datum.b * datum.q",
                y="datum.v + datum.c * datum.p + datum.d * datum.q",
            )
            .mark_line(strokeWidth=2.0, strokeDash=[6, 4] if widest else [1, 0])
            .encode(x=x, y=y, stroke=ink, order="i:Q")
        )
    tooltip = [
        alt.Tooltip("u:Q", title="mean across", format=".4~g"),
        alt.Tooltip("v:Q", title="up", format=".4~g"),
    ]
    yield (
        alt.Chart(data)
        .mark_point(shape="cross", filled=True, size=110, style="ink", opacity=1.0)
        .encode(x=alt.X("u:Q", **sides[0]), y=alt.Y("v:Q", **sides[1]), tooltip=tooltip)
    )
