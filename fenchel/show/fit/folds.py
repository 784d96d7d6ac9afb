"""Scores of folds, and of models beside each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np

from fenchel.score.estimate import Estimate
from fenchel.score.selection.comparison_values import ModelComparison, ModelComparisons
from fenchel.score.validation.cross_validation import Validation
from fenchel.score.validation.metric import UNNAMED, ScoredMetric
from fenchel.show.encoding import records, rounded
from fenchel.show.formatting import distinct, estimated, level_of, number, plain
from fenchel.show.layout import Width, framed
from fenchel.show.theme import BLUE, GREY, ORANGE

ROW = 30  # pixels
DOTS = 1500


def fold_scores(
    scores: Mapping[Any, Any],
    *,
    means: Mapping[Any, float] | None = None,
    score: str | None = None,
    title: str | None = None,
    width: Width = 420,
    height: int | None = None,
) -> alt.LayerChart:
    """The scores of all folds, one row a model (or a metric), with the mean and its interval.

    Parameters
    ----------
    scores : dict of name -> scores of its folds, or Validation
        Of validations by several metrics the first one is drawn.
    means : dict of name -> Estimate, optional
        Such as `Validation.mean()`, which is the default for validations: drawn with its interval.
        For plain scores the default is their mean.
    score : str, optional
        What the scores are called. Of a score that is minus a loss, such as "neg_log_loss" or a
        validation by it, the loss itself is drawn: lower is better.

    Examples
    --------
    >>> from fenchel.show import fold_scores
    >>> fold_scores({"logistic": [0.9, 0.95, 0.91]}).to_dict()["title"]["text"]
    'logistic: score 0.92'
    """
    metric, folds, found = _fold_scores(scores, dict(means or {}), score)
    called = dict(zip(folds, distinct(folds), strict=True))
    most = max(DOTS // len(folds), 1)
    dots = [
        (called[n], k, v) for n, values in folds.items() for k, v in enumerate(values[:most], 1)
    ]
    seen = [v for _, _, v in dots]
    x, span = _score_axis([*seen, *_ends(found.values())], metric)
    y = _names_axis(list(called.values()))
    data = records(
        s=[name for name, _, _ in dots], k=[k for _, k, _ in dots], x=rounded(seen, span)
    )
    tooltip = [
        alt.Tooltip("s:N", title="model"),
        alt.Tooltip("k:Q", title="fold"),
        alt.Tooltip("x:Q", title=metric.kind, format=".4~g"),
    ]
    strip = alt.Chart(data).mark_point(filled=True, color=BLUE, size=40, opacity=0.5)
    bar, mean = _interval_layers({called[n]: v for n, v in found.items()}, x, y, span, tick=True)
    layers = [bar, strip.encode(x=alt.X("x:Q", **x), y=y, tooltip=tooltip), mean]
    best = max(found, key=lambda name: metric.sign * float(found[name]))
    return framed(
        layers,
        title=title or f"{called[best]}: {metric.words} {estimated(found[best])}",
        notes=[level_of(found[best]), "Dots: single folds. Bar: the mean and its interval."],
        width=width,
        height=height or max(ROW * len(folds), 60),
    )


def comparison(
    scores: Mapping[Any, Any] | ModelComparison | ModelComparisons,
    *,
    baseline: Any = None,
    score: str | None = None,
    title: str | None = None,
    width: Width = 420,
    height: int | None = None,
) -> alt.LayerChart:
    """Models by score with their intervals, best first, and a line at the baseline.

    Parameters
    ----------
    scores : dict of name -> Estimate or Validation, or the result of `compare_models`
        Scores that are better the larger they are.
    baseline : name, optional
        Of the one that all others are measured against: a line through it.
    score : str, optional
        What the scores are called. Of a score that is minus a loss, such as "neg_log_loss" or a
        result that was scored by it, the loss itself is drawn: lower is better.

    Examples
    --------
    >>> from fenchel.show import comparison
    >>> chart = comparison({"constant": 0.62, "logistic": 0.97}, baseline="constant")
    >>> chart.to_dict()["title"]["text"]
    'logistic: score 0.97'
    """
    metric, found = _mean_scores(scores, score)
    if not found:
        raise ValueError("there is no model to compare")
    if baseline is not None and baseline not in found:
        raise ValueError(f"baseline={baseline!r} is not among the models: {list(found)}")
    ordered = sorted(found, key=lambda name: -metric.sign * float(found[name]))
    called = dict(zip(ordered, distinct(ordered), strict=True))
    x, span = _score_axis([*map(float, found.values()), *_ends(found.values())], metric)
    y = _names_axis(list(called.values()))
    layers = _interval_layers({called[n]: found[n] for n in ordered}, x, y, span, tick=False)
    best = ordered[0]
    said = f"{called[best]}: {metric.words} {estimated(found[best])}"
    notes = [level_of(found[best])]
    if baseline is not None:
        rule = alt.Chart(records(x=rounded([float(found[baseline])], span)))
        line = rule.mark_rule(color=ORANGE, strokeWidth=1.4, strokeDash=[4, 3])
        layers.insert(0, line.encode(x=alt.X("x:Q", **x)))
        ahead = number(abs(float(found[best]) - float(found[baseline])))
        side = "below" if metric.sign > 0 else "above"
        over = "" if best == baseline else f", {ahead} {side} the best"
        notes.append(f"Orange: the baseline, {called[baseline]}{over}.")
    return framed(
        layers,
        title=title or said,
        notes=notes,
        width=width,
        height=height or max(ROW * len(found), 60),
    )


def _fold_scores(
    scores: Mapping[Any, Any], means: dict[Any, float], score: str | None
) -> tuple[ScoredMetric, dict[Any, Any], dict[Any, float]]:
    """(metric, values of the folds, means) by model, of a loss the loss itself."""
    metric = UNNAMED
    folds: dict[Any, Any] = {}
    for name, given in scores.items():
        values = given
        if isinstance(given, Validation):
            key = next(iter(given.test))
            metric, values = given.measured(key), given.test[key]
            means.setdefault(name, given.mean(key))
        folds[name] = np.asarray(values, np.float64).ravel()
    if not folds or any(not len(values) for values in folds.values()):
        raise ValueError("there is no score to draw")
    metric = metric.called(score)
    found = {name: means.get(name, float(np.nanmean(values))) for name, values in folds.items()}
    return (
        metric,
        {name: metric.of(values) for name, values in folds.items()},
        {name: metric.of(mean) for name, mean in found.items()},
    )


def _mean_scores(scores: Any, score: str | None) -> tuple[ScoredMetric, dict[Any, float]]:
    """(metric, means) by model, of a loss the loss itself."""
    metric = UNNAMED
    if isinstance(scores, ModelComparison | ModelComparisons):
        metric, scores = scores.measured, scores.means
    found = {}
    for name, given in scores.items():
        mean = given
        if isinstance(given, Validation):
            key = next(iter(given.test))
            metric, mean = given.measured(key), given.mean(key)
        found[name] = mean
    metric = metric.called(score)
    return metric, {name: metric.of(mean) for name, mean in found.items()}


def _ends(found: Any) -> list[float]:
    return [v for e in found if isinstance(e, Estimate) for v in (e.low, e.high)]


def _score_axis(values: list[float], metric: ScoredMetric) -> tuple[dict[str, Any], float]:
    seen = np.asarray(values, np.float64)
    seen = seen[np.isfinite(seen)]
    low, high = (float(seen.min()), float(seen.max())) if seen.size else (0.0, 1.0)
    span = (high - low) or max(abs(high), 1.0)
    domain = rounded([low - 0.05 * span, high + 0.05 * span], span).tolist()
    return {
        "title": metric.kind,
        "scale": alt.Scale(domain=domain, nice=False, zero=False),
        "axis": alt.Axis(title=plain(metric.label), tickCount=6),
    }, span


def _names_axis(called: list[str]) -> alt.Y:
    look = alt.Axis(title=None, labelLimit=170, grid=True, gridDash=[1, 3])
    return alt.Y("s:N", title="model", scale=alt.Scale(domain=called), axis=look)


def _interval_layers(
    found: Mapping[str, float], x: dict[str, Any], y: Any, span: float, *, tick: bool
) -> list[Any]:
    """A bar from end to end of each interval, and the number itself."""
    bounds = [
        (e.low, e.high) if isinstance(e, Estimate) else (np.nan, np.nan) for e in found.values()
    ]
    data = records(
        s=list(found),
        x=rounded([float(v) for v in found.values()], span),
        a=rounded([low for low, _ in bounds], span),
        b=rounded([high for _, high in bounds], span),
    )
    tooltip = [
        alt.Tooltip("s:N", title="model"),
        alt.Tooltip("x:Q", title="mean", format=".4~g"),
        alt.Tooltip("a:Q", title="interval from", format=".4~g"),
        alt.Tooltip("b:Q", title="to", format=".4~g"),
    ]
    base = alt.Chart(data).encode(y=y, tooltip=tooltip)
    bar = base.transform_filter("isValid(datum.a) && isValid(datum.b)").mark_rule(
        color=GREY if tick else BLUE, strokeWidth=8.0 if tick else 2.4, opacity=0.4 if tick else 0.8
    )
    mark = (
        base.mark_tick(color=BLUE, thickness=3.0, size=20)
        if tick
        else base.mark_point(filled=True, color=BLUE, size=90, opacity=1.0)
    )
    bar = bar.encode(x=alt.X("a:Q", **x), x2=alt.X2("b:Q", title=x["title"]))
    return [bar, mark.encode(x=alt.X("x:Q", **x))]
