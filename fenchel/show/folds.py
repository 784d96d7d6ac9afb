"""Scores of folds, and of models beside each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import numpy as np

from fenchel.score.estimate import Estimate
from fenchel.show.frame import Width, framed
from fenchel.show.inline import records, rounded
from fenchel.show.theme import BLUE, GREY, ORANGE
from fenchel.show.words import distinct, estimated, level_of, number, plain

ROW = 30  # pixels
DOTS = 1500


def fold_scores(
    scores: Mapping[Any, Any],
    *,
    means: Mapping[Any, float] | None = None,
    score: str = "score",
    title: str | None = None,
    width: Width = 420,
    height: int | None = None,
) -> alt.LayerChart:
    """The scores of all folds, one row a model (or a metric), with the mean and its interval.

    Parameters
    ----------
    scores : dict of name -> scores of its folds
    means : dict of name -> Estimate, optional
        Such as `Validation.mean()`: drawn with its interval. By default the plain mean.
    score : str
        What the scores are called.

    Examples
    --------
    >>> from fenchel.show import fold_scores
    >>> fold_scores({"logistic": [0.9, 0.95, 0.91]}).to_dict()["title"]["text"]
    'logistic: score 0.92'
    """
    folds = {name: np.asarray(values, np.float64).ravel() for name, values in scores.items()}
    if not folds or any(not len(values) for values in folds.values()):
        raise ValueError("there is no score to draw")
    called = dict(zip(folds, distinct(folds), strict=True))
    found = {
        name: (means or {}).get(name, float(np.nanmean(values))) for name, values in folds.items()
    }
    most = max(DOTS // len(folds), 1)
    dots = [(called[n], k, v) for n, values in folds.items() for k, v in enumerate(values[:most])]
    seen = [v for _, _, v in dots]
    x, span = _score_axis([*seen, *_ends(found.values())], score)
    y = _names_axis(list(called.values()))
    data = records(
        s=[name for name, _, _ in dots], k=[k for _, k, _ in dots], x=rounded(seen, span)
    )
    tooltip = [
        alt.Tooltip("s:N", title="model"),
        alt.Tooltip("k:Q", title="fold"),
        alt.Tooltip("x:Q", title="score", format=".4~g"),
    ]
    strip = alt.Chart(data).mark_point(filled=True, color=BLUE, size=40, opacity=0.5)
    bar, mean = _interval_layers({called[n]: v for n, v in found.items()}, x, y, span, tick=True)
    layers = [bar, strip.encode(x=alt.X("x:Q", **x), y=y, tooltip=tooltip), mean]
    best = max(found, key=lambda name: float(found[name]))
    return framed(
        layers,
        title=title or f"{called[best]}: {score} {estimated(found[best])}",
        notes=[level_of(found[best]), "Dots: single folds. Bar: the mean and its interval."],
        width=width,
        height=height or max(ROW * len(folds), 60),
    )


def comparison(
    scores: Mapping[Any, float],
    *,
    baseline: Any = None,
    score: str = "score",
    title: str | None = None,
    width: Width = 420,
    height: int | None = None,
) -> alt.LayerChart:
    """Models by score with their intervals, best first, and a line at the baseline.

    Parameters
    ----------
    scores : dict of name -> Estimate
        Larger is better.
    baseline : name, optional
        Of the one that all others are measured against: a line through it.
    score : str
        What the scores are called.

    Examples
    --------
    >>> from fenchel.show import comparison
    >>> chart = comparison({"constant": 0.62, "logistic": 0.97}, baseline="constant")
    >>> chart.to_dict()["title"]["text"]
    'logistic: score 0.97'
    """
    if not scores:
        raise ValueError("there is no model to compare")
    if baseline is not None and baseline not in scores:
        raise ValueError(f"baseline={baseline!r} is not among the models: {list(scores)}")
    ordered = sorted(scores, key=lambda name: -float(scores[name]))
    called = dict(zip(ordered, distinct(ordered), strict=True))
    x, span = _score_axis([*map(float, scores.values()), *_ends(scores.values())], score)
    y = _names_axis(list(called.values()))
    layers = _interval_layers({called[n]: scores[n] for n in ordered}, x, y, span, tick=False)
    best = ordered[0]
    said = f"{called[best]}: {score} {estimated(scores[best])}"
    notes = [level_of(scores[best])]
    if baseline is not None:
        rule = alt.Chart(records(x=rounded([float(scores[baseline])], span)))
        line = rule.mark_rule(color=ORANGE, strokeWidth=1.4, strokeDash=[4, 3])
        layers.insert(0, line.encode(x=alt.X("x:Q", **x)))
        ahead = number(float(scores[best]) - float(scores[baseline]))
        over = "" if best == baseline else f", {ahead} below the best"
        notes.append(f"Orange: the baseline, {called[baseline]}{over}.")
    return framed(
        layers,
        title=title or said,
        notes=notes,
        width=width,
        height=height or max(ROW * len(scores), 60),
    )


def _ends(found: Any) -> list[float]:
    return [v for e in found if isinstance(e, Estimate) for v in (e.low, e.high)]


def _score_axis(values: list[float], score: str) -> tuple[dict[str, Any], float]:
    seen = np.asarray(values, np.float64)
    seen = seen[np.isfinite(seen)]
    low, high = (float(seen.min()), float(seen.max())) if seen.size else (0.0, 1.0)
    span = (high - low) or max(abs(high), 1.0)
    domain = rounded([low - 0.05 * span, high + 0.05 * span], span).tolist()
    return {
        "title": "score",
        "scale": alt.Scale(domain=domain, nice=False, zero=False),
        "axis": alt.Axis(title=plain(score), tickCount=6),
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
    return [bar.encode(x=alt.X("a:Q", **x), x2="b:Q"), mark.encode(x=alt.X("x:Q", **x))]
