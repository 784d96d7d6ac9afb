"""How often each class was taken for each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import altair as alt
import numpy as np

from fenchel.score.curves.curve import Curve
from fenchel.score.curves.score_counts import Floats
from fenchel.score.metrics.confusion import Confusion
from fenchel.show import encoding as inline
from fenchel.show.arguments import PLAIN, curve_of
from fenchel.show.binary.threshold_data import operating_points, signal
from fenchel.show.encoding import records
from fenchel.show.formatting import distinct, number, percent
from fenchel.show.labels import across
from fenchel.show.layout import Width, framed
from fenchel.show.theme import BLUE, ORANGE

MOST_CLASSES = 30  # rarer ones are drawn as one
SPOKEN = 12  # with more classes a cell has no room for words


def confusion(
    y: Any,
    predicted: Any = None,
    *,
    labels: Sequence[Any] | None = None,
    threshold: Any = None,
    sample_weight: Any = None,
    pos_label: Any = None,
    title: str | None = None,
    width: Width = 300,
    height: int = 300,
) -> alt.LayerChart:
    """Rows by true and predicted class: counts, and shares of the true class.

    Parameters
    ----------
    y : array of shape (n,), array of shape (k, k), Confusion or Curve
        True labels; or counts with true classes in rows; or the curve of two classes, cut at a
        threshold.
    predicted : array of shape (n,)
        Predicted labels; with a threshold, scores of two classes. Beside counts or a curve, the
        names of the classes.
    labels : sequence of k names, optional
        Names of the classes in sorted order, the positive class last for a curve or scores.
    threshold : float, Threshold or altair.Parameter, or a sequence of them, optional
        Where to cut scores or a curve; the counts follow the signal `threshold`.
    sample_weight : array of shape (n,), optional
        Weights of the rows.
    pos_label : label, optional
        The positive class of scores; by default the greater label.

    Examples
    --------
    >>> from fenchel.show import confusion
    >>> chart = confusion(["b", "b", "m", "m"], ["b", "m", "m", "m"])
    >>> chart.to_dict()["title"]["text"]
    '3 of 4 rows right (75 %)'
    >>> chart = confusion([[50, 3], [2, 45]], labels=["benign", "malignant"])
    >>> chart.to_dict()["title"]["text"]
    '95 of 100 rows right (95.0 %)'
    """
    given = _counted(y, predicted, labels, threshold, sample_weight, pos_label)
    if isinstance(given.counts, Curve):
        return _moving(given.counts, given.names, threshold, title, width, height)
    counts, names = given.counts, given.names
    k = len(counts)
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


class _Given(NamedTuple):
    """A square table of counts, or a curve, and the names of its classes."""

    counts: Any
    names: list[str]


def _counted(
    y: Any, predicted: Any, labels: Any, threshold: Any, sample_weight: Any, pos_label: Any
) -> _Given:
    """What the figure counts: the arguments distinguished by their shapes, and checked."""
    ready = isinstance(y, Curve | Confusion)
    shape = () if ready else np.shape(np.asarray(y))
    if not ready and (len(shape) == 1 or (len(shape) == 2 and shape[1] == 1 < shape[0])):
        return _of_rows(y, predicted, labels, threshold, sample_weight, pos_label)
    if sample_weight is not None or pos_label is not None:
        raise ValueError("counts have no rows: sample_weight and pos_label go with labels y")
    if predicted is not None:  # beside counts it is their names
        if labels is not None:
            raise ValueError("beside counts the second argument is their labels: give labels once")
        labels = predicted
    if isinstance(y, Curve):
        names = distinct(PLAIN if labels is None else labels)
        return _Given(y, names)
    if threshold is not None:
        raise ValueError(
            "a table of counts has no threshold: give confusion(y, score, threshold=...), or a "
            "Curve"
        )
    if isinstance(y, Confusion):
        labels = y.labels if labels is None else labels
        y = y.total
    counts = np.asarray(y, dtype=np.float64)
    k = len(counts) if counts.ndim else 0
    if counts.shape != (k, k) or not k:
        raise ValueError(
            f"counts must be a square table, got shape {counts.shape}; labels are given as "
            "confusion(y, predicted)"
        )
    if not (counts >= 0.0).all():
        raise ValueError("counts must be numbers that are not negative")
    names = distinct(range(k) if labels is None else labels)
    if len(names) != k:
        raise ValueError(f"{k} classes need {k} labels, got {len(names)}")
    return _Given(counts, names)


def _of_rows(
    y: Any, predicted: Any, labels: Any, threshold: Any, sample_weight: Any, pos_label: Any
) -> _Given:
    """Labels of rows, with predicted labels, or with scores that a threshold cuts."""
    if predicted is None:
        raise ValueError("predicted is missing: give confusion(y, predicted) with both labels")
    if threshold is not None:
        curve, own = curve_of("confusion", y, predicted, sample_weight, pos_label)
        return _Given(curve, distinct(own if labels is None else labels))
    said = np.asarray(predicted)
    if said.dtype.kind == "f" and (np.floor(said) != said).any():
        raise ValueError(
            "predicted holds scores, not labels: give a threshold, as in "
            "confusion(y, score, threshold=0.5)"
        )
    if pos_label is not None:
        raise ValueError("pos_label goes with scores and a threshold: labels need none")
    try:
        found = Confusion.of(y, predicted, sample_weight)
    except ValueError as error:
        text = str(error).replace("y_true", "y").replace("y_pred", "predicted")
        raise ValueError(text) from None
    names = distinct(found.labels if labels is None else labels)
    if len(names) != len(found.labels):
        k = len(found.labels)
        raise ValueError(f"{k} classes need {k} labels, got {len(names)}")
    return _Given(found.total, names)


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
        raise ValueError("a curve has counts at a threshold: give threshold")
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
        axis=alt.Axis(**across(names), labelOverlap=True),
    )
    y = alt.Y(
        "r:N",
        title="true class",
        scale=alt.Scale(domain=names, paddingInner=0.03),
        axis=alt.Axis(labelLimit=110, labelOverlap=True),
    )
    color = alt.Color(
        "d:N", title="right", scale=alt.Scale(domain=[0, 1], range=[ORANGE, BLUE]), legend=None
    )
    tooltip = [
        alt.Tooltip("r:N", title="true class"),
        alt.Tooltip("c:N", title="predicted class"),
        alt.Tooltip("n:Q", title="rows", format=",.7~g"),
        alt.Tooltip("s:Q", title="share of the true class", format=".1%"),
    ]
    # Under words no darker than they can be read on.
    dark = [0.06, 0.6] if spoken else [0.1, 1.0]
    opacity = alt.Opacity(
        "s:Q",
        title="share of the true class",
        scale=alt.Scale(domain=[0.0, 1.0], range=dark),
        legend=None,
    )
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
            count.encode(
                x=x, y=y, text=alt.Text("n:Q", title="rows", format=",.7~g"), tooltip=tooltip
            ),
            share.encode(
                x=x,
                y=y,
                text=alt.Text("s:Q", title="share of the true class", format=".1%"),
                tooltip=tooltip,
            ),
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
