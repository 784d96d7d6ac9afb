"""Scores along a parameter, along the number of rows, and coefficients along a penalty."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import altair as alt
import numpy as np

from fenchel.score.estimate import Estimate
from fenchel.score.folds.complexity import End, LearningCurve, ValidationCurve
from fenchel.score.groups import Floats
from fenchel.show.frame import Side, Width, across, framed
from fenchel.show.inline import decades, records, rounded, significant, table
from fenchel.show.theme import BLUE, GREY, ORANGE
from fenchel.show.thinning import thin
from fenchel.show.words import distinct, estimated, level_of, number, plain

FOLDS = 1000  # dots of single folds at most
LINES = 40  # of a path
NAMED = 6
VERTICES = 1600  # of all lines of a path together


def validation_curve(
    result: ValidationCurve,
    *,
    simplest: End | None = None,
    chosen: Any = None,
    score: str = "score",
    title: str | None = None,
    width: Width = 460,
    height: int = 280,
) -> alt.LayerChart:
    """Mean scores of test and training along a parameter, with the folds and the choice.

    Parameters
    ----------
    result : ValidationCurve
        Of `fenchel.validation_curve`.
    simplest : "first" or "last", optional
        Which end of the values is the simplest model: marks the one-standard-error choice too.
    chosen : value, optional
        The value taken, if it is not the best one.
    score : str
        What the score is called.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fenchel import Ridge, validation_curve
    >>> from fenchel import show
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = validation_curve(Ridge(), X, y, param_name="alpha", param_range=[1.0, 0.1, 0.01])
    >>> show.validation_curve(found).to_dict()["title"]["text"]
    'alpha = 0.01: score 0.48 [0.38, 0.58]'
    """
    values = list(result.param_range)
    places, axis, names = _placed(values, plain(result.param_name))
    test, train = result.estimates(), result.estimates(train=True)
    best = result.best_index
    taken = best if chosen is None else _index(values, chosen)
    marks = [(taken, "chosen" if chosen is not None else "best")]
    if simplest is not None:
        simple = _index(values, result.one_standard_error(simplest))
        if simple != taken:
            marks.append((simple, "one standard error"))
    layers, span = _score_layers(places, test, train, result.test_scores, axis, names, score)
    dots = records(
        x=[_shown(places[i]) for i, _ in marks],
        y=rounded([float(test[i]) for i, _ in marks], span),
        s=[said for _, said in marks],
    )
    base = alt.Chart(dots).encode(x=axis, y="y:Q")
    layers += [
        base.mark_point(filled=True, color=ORANGE, size=120, opacity=1.0),
        _tag(base, "datum.s != 'one standard error'", -14),
        _tag(base, "datum.s == 'one standard error'", 17),
    ]
    said = f"{plain(result.param_name)} = {_said(values[taken])}"
    return framed(
        layers,
        title=title or f"{said}: {score} {estimated(test[taken])}",
        notes=[level_of(test[taken]), FOLD_NOTE],
        width=width,
        height=height,
    )


def _tag(base: Any, where: str, dy: int) -> Any:
    return (
        base.transform_filter(where)
        .mark_text(style="ink", dy=dy, fontWeight=600)
        .encode(text="s:N")
    )


def learning_curve(
    result: LearningCurve,
    *,
    score: str = "score",
    title: str | None = None,
    width: Width = 460,
    height: int = 280,
) -> alt.LayerChart:
    """Mean scores of test and training along the number of training rows, with the folds.

    Parameters
    ----------
    result : LearningCurve
        Of `fenchel.learning_curve`.
    score : str
        What the score is called.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fenchel import Ridge, learning_curve
    >>> from fenchel import show
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = learning_curve(Ridge(0.1), X, y, train_sizes=[50, 100, 300])
    >>> show.learning_curve(found).to_dict()["title"]["text"]
    '300 rows: score 0.47 [0.35, 0.60]'
    """
    sizes = result.train_sizes.astype(np.float64)
    test, train = result.estimates(), result.estimates(train=True)
    axis = alt.X(
        "x:Q",
        title="training rows",
        scale=alt.Scale(zero=False, nice=False),
        axis=alt.Axis(grid=False, tickCount=6, format=",.0f"),
    )
    layers, _ = _score_layers(list(sizes), test, train, result.test_scores, axis, None, score)
    said = f"{int(sizes[-1]):,} rows: {score} {estimated(test[-1])}"
    return framed(
        layers,
        title=title or said,
        notes=[level_of(test[-1]), FOLD_NOTE],
        width=width,
        height=height,
    )


FOLD_NOTE = "Dots: single folds. Shaded: intervals of the mean. Grey: on the training rows."


def regularisation_path(
    strengths: Any,
    values: Any,
    *,
    names: Sequence[Any] | None = None,
    chosen: float | None = None,
    strength: str = "penalty",
    title: str | None = None,
    width: Width = 460,
    height: int = 300,
) -> alt.LayerChart:
    """Coefficients along the strength of a penalty, the strongest at the left.

    Parameters
    ----------
    strengths : array of shape (m,)
        Positive.
    values : array of shape (m, d)
        The transpose of what `lasso_path` calls coefs.
    names : sequence of d names, optional
    chosen : float, optional
        The strength taken: a line.
    strength : str
        What the strength is called.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fenchel import lasso_path
    >>> from fenchel.show import regularisation_path
    >>> X, y = load_diabetes(return_X_y=True)
    >>> alphas, coefs, _ = lasso_path(X, y - y.mean(), alphas=20)
    >>> regularisation_path(alphas, coefs.T, chosen=alphas[9]).to_dict()["title"]["text"]
    '7 of 10 coefficients are not zero at 0.0815'
    """
    at, w = np.asarray(strengths, np.float64), np.asarray(values, np.float64)
    if w.ndim != 2 or at.shape != (len(w),):
        raise ValueError(f"values must have shape ({at.size}, d), got {w.shape}")
    if not (at > 0.0).all():
        raise ValueError("strengths must be positive, for their axis is logarithmic")
    order = np.argsort(-at, kind="stable")
    at, w = at[order], w[order]
    d = w.shape[1]
    called = distinct(range(d) if names is None else names)
    if len(called) != d:
        raise ValueError(f"{d} coefficients need {d} names, got {len(called)}")
    largest = np.argsort(-np.abs(w).max(axis=0), kind="stable")[:LINES]
    x, span = np.log10(at), float(np.ptp(w)) or 1.0
    pixel = ((float(np.ptp(x)) or 1.0) / across(width), span / height)
    kept = [thin(x, w[:, j], VERTICES // len(largest), pixel=pixel) for j in largest]
    line = np.repeat(np.arange(len(kept)), [len(keep) for keep in kept])
    vertices = np.concatenate(kept)
    data = table(
        k=line, x=significant(at[vertices], 5), y=rounded(w[vertices, largest[line]], span)
    )
    along = alt.X(
        "x:Q",
        title="strength",
        scale=alt.Scale(type="log", reverse=True, nice=False),
        axis=alt.Axis(
            title=f"{plain(strength)} (weaker to the right)",
            grid=False,
            format="~g",
            values=decades(at),
        ),
    )
    y = alt.Y("y:Q", title="coefficient", scale=alt.Scale(nice=False), axis=alt.Axis(tickCount=5))
    ends = records(
        k=np.arange(len(largest)),
        x=significant(np.full(len(largest), at[-1]), 5),
        y=rounded(w[-1, largest], span),
        s=[called[j] for j in largest.tolist()],
    )
    color = alt.condition(f"datum.k < {NAMED}", alt.Color("k:N", legend=None), alt.value(GREY))
    base = alt.Chart(data).encode(x=along, y=y, detail="k:N", color=color)
    tip = [alt.Tooltip("s:N", title="coefficient"), alt.Tooltip("y:Q", title="at the right end")]
    layers: list[Any] = [
        alt.Chart(table(y=[0.0])).mark_rule(color=GREY, strokeWidth=1.0).encode(y="y:Q"),
        base.mark_line(strokeWidth=1.6),
        alt.Chart(ends)
        .mark_point(filled=True, size=26, opacity=1.0)
        .encode(x=along, y=y, color=color, tooltip=tip),
        _end_labels(ends, w[-1, largest], span, along, y),
    ]
    count = int((w[-1] != 0.0).sum())
    said = f"{count} of {d} coefficients are not zero at the weakest {plain(strength)}"
    if chosen is not None:
        near = int(np.argmin(np.abs(np.log(at) - np.log(float(chosen)))))
        said = f"{int((w[near] != 0.0).sum())} of {d} coefficients are not zero at {number(chosen)}"
        rule = alt.Chart(table(x=significant([float(chosen)], 5)))
        layers.append(rule.mark_rule(color=ORANGE, strokeWidth=1.6).encode(x=along))
    notes = [] if d <= LINES else [f"The {LINES} largest of {d}."]
    return framed(layers, title=title or said, notes=notes, width=width, height=height)


def _end_labels(ends: Any, last: Floats, span: float, x: Any, y: Any) -> Any:
    """Names at the right end of the largest lines, none of them on another."""
    free: list[float] = []
    named = []
    for k, value in enumerate(last[:NAMED].tolist()):
        if all(abs(value - other) > 0.045 * span for other in free):
            free.append(value)
            named.append(k)
    rows = [row for row in ends.values if row["k"] in named]
    text = alt.Chart(alt.InlineData(values=rows)).mark_text(align="left", dx=7, limit=110)
    return text.encode(x=x, y=y, text="s:N", color=alt.Color("k:N", legend=None))


def _score_layers(
    places: list[Any],
    test: Sequence[Estimate],
    train: Sequence[Estimate],
    folds: Floats,
    axis: alt.X,
    names: list[str] | None,
    score: str,
) -> tuple[list[Any], float]:
    """Interval, folds and means; and the span of the scores drawn."""
    shown = [_shown(place) for place in places]
    low, high = (np.array([getattr(e, end) for e in test]) for end in ("low", "high"))
    seen = np.concatenate([folds.ravel(), np.array(train), np.array(test)])
    seen = seen[np.isfinite(seen)]
    bottom, top = (float(seen.min()), float(seen.max())) if seen.size else (0.0, 1.0)
    span = (top - bottom) or 1.0
    domain = rounded([bottom - 0.08 * span, top + 0.14 * span], span).tolist()
    y: Side = {
        "title": "score",
        "scale": alt.Scale(domain=domain, nice=False, zero=False),
        "axis": alt.Axis(title=plain(score), tickCount=5),
    }
    means = records(
        x=shown,
        y=rounded(test, span),
        t=rounded(train, span),
        a=rounded(low, span),
        b=rounded(high, span),
    )
    tooltip = [
        alt.Tooltip("x:N" if names else "x:Q", title="at"),
        alt.Tooltip("y:Q", title="mean on rows left out", format=".4~g"),
        alt.Tooltip("a:Q", title="interval from", format=".4~g"),
        alt.Tooltip("b:Q", title="to", format=".4~g"),
        alt.Tooltip("t:Q", title="mean on training rows", format=".4~g"),
    ]
    base = alt.Chart(means).encode(x=axis)
    J = max(min(folds.shape[1], FOLDS // len(places)), 1)
    dots = records(
        x=[place for place in shown for _ in range(J)], y=rounded(folds[:, :J].ravel(), span)
    )
    spread = base.mark_area(color=BLUE, opacity=0.15, clip=True)
    trained = base.mark_line(color=GREY, strokeWidth=1.6)
    if names is not None:  # nothing lies between two names
        spread = base.mark_rule(color=BLUE, opacity=0.35, strokeWidth=5.0, clip=True)
        trained = base.mark_tick(color=GREY, thickness=2.0)
    layers = [
        spread.encode(y=alt.Y("a:Q", **y), y2="b:Q"),
        trained.encode(y=alt.Y("t:Q", **y)),
        alt.Chart(dots)
        .mark_point(filled=True, color=BLUE, size=16, opacity=0.45)
        .encode(x=axis, y=alt.Y("y:Q", **y)),
        *([base.mark_line(color=BLUE, strokeWidth=2.2).encode(y=alt.Y("y:Q", **y))] * (not names)),
        base.mark_point(color=BLUE, filled=True, size=34, opacity=1.0).encode(
            y=alt.Y("y:Q", **y), tooltip=tooltip
        ),
    ]
    return layers, span


def _placed(values: list[Any], name: str) -> tuple[list[Any], alt.X, list[str] | None]:
    """Where values stand: numbers on an axis, on a logarithmic one if they span decades; else as
    names side by side."""
    numbers = all(map(_is_number, values))
    if not numbers or len(set(values)) < 2:
        called = distinct(_said(v) for v in values)
        scale = alt.Scale(domain=called, type="point", padding=0.5)
        look = alt.Axis(title=name, grid=False, labelAngle=0, labelLimit=90)
        return called, alt.X("x:N", title="setting", scale=scale, axis=look), called
    at = np.array([float(v) for v in values])
    is_log = bool((at > 0.0).all() and at.max() > 20.0 * at.min())
    scale = alt.Scale(
        type="log" if is_log else "linear",
        domain=[_shown(end) for end in (float(at.min()), float(at.max()))],
        nice=False,
    )
    ticks: Any = {"values": decades(at)} if is_log else {"tickCount": 6}
    look = alt.Axis(title=name, grid=False, format="~g", **ticks)
    return at.tolist(), alt.X("x:Q", title="setting", scale=scale, axis=look), None


def _shown(place: Any) -> Any:
    return float(f"{place:.6g}") if isinstance(place, float) else place


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def _said(value: Any) -> str:
    return number(value, 4) if _is_number(value) else plain(value)


def _index(values: list[Any], wanted: Any) -> int:
    for i, value in enumerate(values):
        if value is wanted or value == wanted:
            return i
    raise ValueError(f"{wanted!r} is not one of the values of the curve: {values}")
