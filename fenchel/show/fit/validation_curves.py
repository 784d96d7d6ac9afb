"""Scores along a parameter and along the number of training rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from fenchel.score.curves.score_counts import Floats
from fenchel.score.estimate import Estimate
from fenchel.score.selection.curve_values import End, LearningCurve, ValidationCurve
from fenchel.score.validation.metric import ScoredMetric
from fenchel.show.encoding import records, rounded
from fenchel.show.formatting import estimated, level_of, plain
from fenchel.show.layout import Side, Width, framed
from fenchel.show.parameter_axis import EXTENT, parameter_axis, said, shown
from fenchel.show.theme import BLUE, GREY, ORANGE

FOLDS = 1000  # dots of single folds at most


def validation_curve(
    result: ValidationCurve,
    *,
    simplest: End | None = None,
    chosen: Any = None,
    score: str | None = None,
    title: str | None = None,
    width: Width = 460,
    height: int = 280,
) -> alt.LayerChart:
    """Mean scores of test and training along a parameter, with the folds and the choice.

    Of a parameter that weighs a penalty, such as C or alpha, the weaker penalty is at the right, as
    in `regularisation_path`.

    Parameters
    ----------
    result : ValidationCurve
        Of `fenchel.validation_curve`.
    simplest : "first" or "last", optional
        Which end of the values is the simplest model: marks the one-standard-error choice too.
    chosen : value, optional
        The value taken, if it is not the best one.
    score : str, optional
        What the score is called; by default what the result says. Of a score that is minus a loss
        the loss itself is drawn: lower is better.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fenchel import Ridge, validation_curve
    >>> from fenchel import show
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = validation_curve(Ridge(), X, y, param_name="alpha", param_range=[1.0, 0.1, 0.01])
    >>> show.validation_curve(found).to_dict()["title"]["text"]
    'alpha = 0.01: R² 0.48 [0.38, 0.59]'
    """
    values, metric = list(result.param_range), result.metric.called(score)
    places, axis, names, *_ = parameter_axis(result.param_name, values)
    test, train = _means(result, metric)
    best = result.best_index
    taken = best if chosen is None else _index(values, chosen)
    marks = [(taken, "chosen" if chosen is not None else "best")]
    if simplest is not None:
        simple = _index(values, result.one_standard_error(simplest))
        if simple != taken:
            marks.append((simple, "one standard error"))
    folds = metric.of(result.test_scores)
    layers, span, y = _score_layers(places, test, train, folds, axis, names, metric)
    dots = records(
        x=[shown(places[i]) for i, _ in marks],
        y=rounded([float(test[i]) for i, _ in marks], span),
        s=[why for _, why in marks],
    )
    base = alt.Chart(dots).encode(x=axis, y=alt.Y("y:Q", **y))
    layers += [
        base.mark_point(filled=True, color=ORANGE, size=120, opacity=1.0),
        _tag(base, "datum.s != 'one standard error'", -14),
        _tag(base, "datum.s == 'one standard error'", 17),
    ]
    setting = f"{plain(result.param_name)} = {said(values[taken])}"
    return framed(
        layers,
        title=title or f"{setting}: {plain(metric.words)} {estimated(test[taken])}",
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
    score: str | None = None,
    title: str | None = None,
    width: Width = 460,
    height: int = 280,
) -> alt.LayerChart:
    """Mean scores of test and training along the number of training rows, with the folds.

    Parameters
    ----------
    result : LearningCurve
        Of `fenchel.learning_curve`.
    score : str, optional
        What the score is called; by default what the result says. Of a score that is minus a loss
        the loss itself is drawn: lower is better.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fenchel import Ridge, learning_curve
    >>> from fenchel import show
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = learning_curve(Ridge(0.1), X, y, train_sizes=[50, 100, 300])
    >>> show.learning_curve(found).to_dict()["title"]["text"]
    '300 rows: R² 0.47 [0.34, 0.60]'
    """
    sizes = result.train_sizes.astype(np.float64)
    metric, along = result.metric.called(score), "training rows"
    test, train = _means(result, metric)
    axis = alt.X(
        "x:Q",
        title=along,
        scale=alt.Scale(zero=False, nice=False),
        axis=alt.Axis(grid=False, tickCount=6, format=",.0f"),
    )
    folds = metric.of(result.test_scores)
    layers, _, _ = _score_layers(list(sizes), test, train, folds, axis, None, metric, along)
    found = f"{int(sizes[-1]):,} rows: {plain(metric.words)} {estimated(test[-1])}"
    return framed(
        layers,
        title=title or found,
        notes=[level_of(test[-1]), FOLD_NOTE],
        width=width,
        height=height,
    )


FOLD_NOTE = "Dots: single folds. Shaded: intervals of the mean. Grey: on the training rows."


def _means(
    result: ValidationCurve | LearningCurve, metric: ScoredMetric
) -> tuple[list[Estimate], list[Estimate]]:
    """Means of test and of training, of a loss the loss itself."""
    test = [metric.of(mean) for mean in result.estimates()]
    return test, [metric.of(mean) for mean in result.estimates(train=True)]


def _score_layers(
    places: list[Any],
    test: Sequence[Estimate],
    train: Sequence[Estimate],
    folds: Floats,
    axis: alt.X,
    names: list[str] | None,
    metric: ScoredMetric,
    along: str = "setting",
) -> tuple[list[Any], float, Side]:
    """Interval, folds and means; the span of the scores drawn, and their axis."""
    at = [shown(place) for place in places]
    low, high = (np.array([getattr(e, end) for e in test]) for end in ("low", "high"))
    seen = np.concatenate([folds.ravel(), np.array(train), np.array(test)])
    seen = seen[np.isfinite(seen)]
    bottom, top = (float(seen.min()), float(seen.max())) if seen.size else (0.0, 1.0)
    span = (top - bottom) or 1.0
    domain = rounded([bottom - 0.08 * span, top + 0.14 * span], span).tolist()
    y: Side = {
        "title": metric.kind,
        "scale": alt.Scale(domain=domain, nice=False, zero=False),
        "axis": alt.Axis(title=plain(metric.label), tickCount=5, minExtent=EXTENT),
    }
    means = records(
        x=at,
        y=rounded(test, span),
        t=rounded(train, span),
        a=rounded(low, span),
        b=rounded(high, span),
    )
    tooltip = [
        alt.Tooltip("x:N" if names else "x:Q", title=along),
        alt.Tooltip("y:Q", title="mean on rows left out", format=".4~g"),
        alt.Tooltip("a:Q", title="interval from", format=".4~g"),
        alt.Tooltip("b:Q", title="to", format=".4~g"),
        alt.Tooltip("t:Q", title="mean on training rows", format=".4~g"),
    ]
    base = alt.Chart(means).encode(x=axis)
    J = max(min(folds.shape[1], FOLDS // len(places)), 1)
    dots = records(
        x=[place for place in at for _ in range(J)], y=rounded(folds[:, :J].ravel(), span)
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
    return layers, span, y


def _index(values: list[Any], wanted: Any) -> int:
    for i, value in enumerate(values):
        if value is wanted or value == wanted:
            return i
    raise ValueError(f"{wanted!r} is not one of the values of the curve: {values}")
