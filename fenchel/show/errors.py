"""How often each class was taken for each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from fenchel.score.confusion import Confusion
from fenchel.score.curve import Curve
from fenchel.score.groups import Floats
from fenchel.show import inline
from fenchel.show.frame import Width, framed
from fenchel.show.inline import records
from fenchel.show.operating import operating_points, signal
from fenchel.show.theme import BLUE, ORANGE
from fenchel.show.words import distinct, number, percent

MOST_CLASSES = 30  # rarer ones are drawn as one
SPOKEN = 12  # with more classes a cell has no room for words


def confusion(
    table: Any,
    labels: Sequence[Any] | None = None,
    *,
    threshold: Any = None,
    title: str | None = None,
    width: Width = 300,
    height: int = 300,
) -> alt.LayerChart:
    """Rows by true and predicted class: counts, and shares of the true class.

    Parameters
    ----------
    table : array of shape (k, k), Confusion or Curve
        Counts with true classes in rows; or the curve of two classes, cut at a threshold.
    labels : sequence of k names, optional
        With the positive class last for a curve.
    threshold : float, Threshold or altair.Parameter
        Where to cut a curve; the counts follow the signal `threshold`.

    Examples
    --------
    >>> from fenchel.show import confusion
    >>> chart = confusion([[50, 3], [2, 45]], ["benign", "malignant"])
    >>> chart.to_dict()["title"]["text"]
    '95 of 100 rows right (95.0 %)'
    """
    if isinstance(table, Curve):
        names = distinct(labels if labels is not None else ("negative", "positive"))
        return _moving(table, names, threshold, title, width, height)
    if threshold is not None:
        raise ValueError("a table of counts has no threshold: pass the curve of the scores")
    if isinstance(table, Confusion):
        labels = table.labels if labels is None else labels
        table = table.total
    counts = np.asarray(table, dtype=np.float64)
    k = len(counts)
    if counts.shape != (k, k) or not k:
        raise ValueError(f"counts must be a square table, got shape {counts.shape}")
    names = distinct(range(k) if labels is None else labels)
    if len(names) != k:
        raise ValueError(f"{k} classes need {k} labels, got {len(names)}")
    right, whole = float(np.trace(counts)), float(counts.sum())
    counts, names = _pooled(counts, names)
    k = len(names)
    i, j = np.divmod(np.arange(k * k), k)
    shown = (counts.ravel() > 0.0) | (k <= SPOKEN)
    cells = inline.table(i=i[shown], j=j[shown], n=counts.ravel()[shown])
    # The names of the classes are looked up as data: they never become part of an expression.
    classes = records(k=list(range(k)), s=names, w=counts.sum(axis=1))
    base = (
        alt.Chart(cells)
        .transform_lookup(
            "i", alt.LookupData(data=classes, key="k", fields=["s", "w"]), as_=["r", "w"]
        )
        .transform_lookup("j", alt.LookupData(data=classes, key="k", fields=["s"]), as_=["c"])
        .transform_calculate(
            d="datum.i == datum.j ? 1 : 0", s="datum.w > 0 ? datum.n / datum.w : 0"
        )
    )
    said = f"{number(right, 7)} of {number(whole, 7)} rows right ({percent(right / whole)})"
    return framed(
        _cells(base, names, k <= SPOKEN),
        title=title or (said if whole > 0.0 else "no rows"),
        notes=["In each cell the rows, and their share of the true class."],
        width=width,
        height=height,
    )


def _moving(
    curve: Curve,
    names: list[str],
    threshold: Any,
    title: str | None,
    width: Width,
    height: int,
) -> alt.LayerChart:
    """The four cells of a curve at the current threshold, counted in the browser."""
    if threshold is None:
        raise ValueError("a curve has a table of errors at a threshold: give one")
    if len(names) != 2:
        raise ValueError(f"a curve has two classes, got {len(names)} labels")
    points = operating_points(curve, threshold)
    P, N = points.n_positive, points.n_negative
    cells = records(
        k=["tn", "fp", "fn", "tp"],
        r=[names[0], names[0], names[1], names[1]],
        c=[names[0], names[1], names[0], names[1]],
        d=[1, 0, 0, 1],
        w=[N, N, P, P],
    )
    base = (
        points.current(alt.Chart(points.data()))
        .transform_calculate(
            tp="datum.p", fp="datum.f", fn=f"{P!r} - datum.p", tn=f"{N!r} - datum.f"
        )
        .transform_fold(["tp", "fp", "fn", "tn"], as_=["k", "n"])
        .transform_lookup(
            lookup="k", from_=alt.LookupData(data=cells, key="k", fields=["r", "c", "d", "w"])
        )
        .transform_calculate(s="datum.n / datum.w")
    )
    return framed(
        _cells(base, names, True),
        title=title or "Rows by true and predicted class",
        notes=["In each cell the rows, and their share of the true class."],
        width=width,
        height=height,
        parameter=signal(threshold, points),
    )


def _cells(base: Any, names: list[str], spoken: bool) -> list[Any]:
    """Cells as dark as their share of the true class; right ones in another colour than errors."""
    x = alt.X(
        "c:N",
        title="predicted class",
        scale=alt.Scale(domain=names, paddingInner=0.03),
        axis=alt.Axis(labelAngle=0 if len(names) <= 3 else -40, labelLimit=90, labelOverlap=True),
    )
    y = alt.Y(
        "r:N",
        title="true class",
        scale=alt.Scale(domain=names, paddingInner=0.03),
        axis=alt.Axis(labelLimit=110, labelOverlap=True),
    )
    color = alt.Color("d:N", scale=alt.Scale(domain=[0, 1], range=[ORANGE, BLUE]), legend=None)
    tooltip = [
        alt.Tooltip("r:N", title="true class"),
        alt.Tooltip("c:N", title="predicted class"),
        alt.Tooltip("n:Q", title="rows", format=",.7~g"),
        alt.Tooltip("s:Q", title="share of the true class", format=".1%"),
    ]
    # Under words no darker than they can be read on.
    dark = [0.06, 0.6] if spoken else [0.1, 1.0]
    opacity = alt.Opacity("s:Q", scale=alt.Scale(domain=[0.0, 1.0], range=dark), legend=None)
    layers = [
        base.mark_rect(cornerRadius=3).encode(
            x=x, y=y, color=color, opacity=opacity, tooltip=tooltip
        )
    ]
    if spoken:
        small = len(names) > 5
        size = 11 if small else 17
        count = base.mark_text(fontSize=size, fontWeight=600, dy=-6 if small else -8)
        share = base.mark_text(fontSize=9 if small else 12, dy=7 if small else 12)
        layers += [
            count.encode(x=x, y=y, text=alt.Text("n:Q", format=",.7~g"), tooltip=tooltip),
            share.encode(x=x, y=y, text=alt.Text("s:Q", format=".1%"), tooltip=tooltip),
        ]
    return layers


def _pooled(counts: Floats, names: list[str]) -> tuple[Floats, list[str]]:
    """The most frequent classes apart, all others as one."""
    k = len(names)
    if k <= MOST_CLASSES:
        return counts, names
    frequent = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[: MOST_CLASSES - 1])
    group = np.full(k, MOST_CLASSES - 1)
    group[frequent] = np.arange(MOST_CLASSES - 1)
    pooled = np.zeros((MOST_CLASSES, MOST_CLASSES))
    np.add.at(pooled, (group[:, None], group[None, :]), counts)
    kept = [names[at] for at in frequent.tolist()]
    return pooled, distinct([*kept, f"{k - len(kept)} other classes"])
