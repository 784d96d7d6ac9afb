"""The figures of a study as Vega-Lite specs, without the words around them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone

from fenchel import show
from fenchel.app.predictions import gives_probabilities
from fenchel.app.report.analysis.decision_plane import (
    boundary,
    component_boundary,
    component_map,
    strongest,
)
from fenchel.app.report.analysis.regression import leverages
from fenchel.app.report.analysis.selected_model import LARGEST, planes
from fenchel.app.report.estimates import estimate_of
from fenchel.app.report.structure.clusters import Clustering, cluster_figures
from fenchel.app.report.structure.embeddings import embedding_figures, mapped_rows
from fenchel.app.report.study import Study
from fenchel.convex.certificate import Certificate
from fenchel.score.area.roc_band import roc_band
from fenchel.show.binary.threshold_data import OperatingPoints
from fenchel.show.formatting import capital

Figure = dict[str, Any]  # kind, title, notes, spec
Known = dict[str, Any]  # estimates by the keys of the metrics
Named = tuple[str, Callable[[], Any]]
WIDEST_PATH = 2000  # columns
FOLD_RANGE = (
    "Numbers: for a change of one standard deviation; categories, flags and words: present against "
    "absent. Lines: the range over the fits of the folds, which is no confidence interval."
)
KINDS = {
    "comparison": "Comparison",
    "fold_scores": "Folds",
    "validation_curve": "Validation curve",
    "learning_curve": "Learning curve",
    "leave_one_out": "Leave-one-out error",
    "convergence": "Convergence",
    "convergence_time": "Convergence in time",
    "coefficients": "Coefficients",
    "path": "Regularisation path",
    "roc": "ROC curve",
    "precision_recall": "Precision and recall",
    "score_histogram": "Scores by class",
    "confusion": "Confusion",
    "gains": "Gains",
    "lift": "Lift",
    "calibration": "Calibration",
    "net_benefit": "Decision curve",
    "predicted_observed": "Predicted and observed",
    "residuals": "Residuals",
    "quantile_plot": "Quantiles of the residuals",
    "leverage": "Leverage",
    "boundary": "Decision boundary",
    "importance": "Permutation importance",
    "correlation": "Correlations",
    "elbow": "How many clusters",
    "choice": "How many clusters, by several criteria",
    "dendrogram": "Bisecting k-means",
    "restarts": "Starts",
    "silhouettes": "Silhouettes",
    "cluster_classes": "Classes within the clusters",
    "scree": "Principal axes",
    "embedding": "The rows in a plane",
    "biplot": "Rows and columns in a plane",
}
BROAD: dict[str, Any] = {"width": "container"}
TALL = 380  # as the square figures beside them


def drawn(chart: Any) -> Figure:
    """The chart's spec, and its title and small print, which the page sets in its own type."""
    spec = chart.to_dict(validate=False)  # the figures are validated by their own tests
    heading = spec.pop("title")
    spec.pop("config", None)
    spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    title, notes = (_one_line(heading.get(part)) for part in ("text", "subtitle"))
    return {"title": title, "notes": notes, "spec": spec}


def _one_line(text: Any) -> str:
    return " ".join(text) if isinstance(text, list) else str(text or "")


def figures(
    found: Study, points: OperatingPoints | None, numbers: dict[str, Any]
) -> dict[str, Figure]:
    """Every figure that the task has, by name; the numbers save making some of them twice."""
    known = {one["key"]: estimate_of(one["model"]) for one in numbers["metrics"]}
    kind = found.parts.task.kind
    judged = {"two classes": _two, "several classes": _several, "number": _number}[kind]
    drawers = [*_shared(found), *judged(found, points, known), *correlation_figure(numbers)]
    left = numbers["model"]["leave_one_out"]
    if left is not None:
        drawers.append(("leave_one_out", lambda: _leave_one_out(left)))
    whole = {name: {**drawn(draw()), "kind": KINDS[name]} for name, draw in drawers}
    whole |= placed_figures([_clusters(found, one) for one in found.clusterings])
    whole |= placed_figures([embedding_figures(one, **BROAD) for one in found.maps])
    if "coefficients" in whole:
        whole["coefficients"]["notes"] = FOLD_RANGE
    if "importance" in whole:
        held = found.importance
        whole["importance"]["notes"] = (
            f"Increase of the {held['loss']} when the cells of a column are shuffled among "
            f"{held['rows']:,} test rows ({held['shuffles']} times). "
            + whole["importance"]["notes"]
        )
    if "boundary" in whole:
        whole["boundary"]["notes"] += _boundary_notes(found)
    return whole


def _clusters(found: Study, one: Clustering) -> dict[str, Any]:
    """The charts of a clustering, and the classes within its clusters."""
    charts = cluster_figures(one, **BROAD)
    classes = found.parts.task.classes
    if classes and one.count > 1:
        y = found.y[mapped_rows(len(found.y), found.options.seed)]
        charts["cluster_classes"] = show.cluster_classes(
            one.labels,
            y,
            labels=[f"cluster {k + 1}" for k in range(one.count)],
            class_labels=classes,
            **BROAD,
        )
    return charts


def _boundary_notes(found: Study) -> str:
    if component_map(found) is not None:
        return (
            " Regions: what the model predicts in the plane through the mean of the columns; the "
            "rows are projected onto it, and those in the outer 0.5 % of either axis are not drawn."
        )
    notes = " Rows in the outer 0.5 % of either column are not drawn."
    return notes + " All other columns are at their mean." * (len(found.encoder.names) > 2)


def placed_figures(lists: Sequence[dict[str, Any]]) -> dict[str, Figure]:
    """The charts of every clustering or map, by name and place in the list."""
    return {
        f"{name}_{place}": {**drawn(chart), "kind": KINDS[name]}
        for place, charts in enumerate(lists)
        for name, chart in charts.items()
    }


def figure_of_time(found: Study) -> dict[str, Figure]:
    """The figure that differs from run to run: the gap against seconds."""
    history = _history(found.model)
    if history is None or not all(a.seconds < b.seconds for a, b in pairwise(history)):
        return {}  # not every solver tells the time of its steps
    chart = show.convergence(history, against="seconds", tol=_tol(found.model), **BROAD)
    return {"convergence_time": {**drawn(chart), "kind": KINDS["convergence_time"]}}


def _history(model: Any) -> tuple[Certificate, ...] | None:
    history = vars(model).get("history_")
    return history if history and len(history) > 1 else None


def _tol(model: Any) -> float | None:
    return model.get_params().get("tol")


def _shared(found: Study) -> Iterator[Named]:
    contest, best = found.contest, found.winner
    metric, level = contest.metric, found.options.level
    judged = {
        entry.name: nested.outer
        for entry, nested in zip(contest.entries, contest.nested, strict=True)
    }
    means = {name: outer.mean(level=level) for name, outer in judged.items()}
    constant = {"constant": contest.baseline.mean(level=level)}
    yield (
        "comparison",
        lambda: show.comparison(
            {**means, **constant},
            baseline="constant",
            score=metric,
            title=f"Mean {metric} over the folds, and that of a constant",
            **BROAD,
        ),
    )
    folds = {name: outer.test["score"] for name, outer in judged.items()}
    yield (
        "fold_scores",
        lambda: show.fold_scores(
            folds, means=means, score=metric, title=f"{capital(metric)} of every fold", **BROAD
        ),
    )
    curve = best.validation
    if curve is not None and len(curve.param_range) > 1:
        yield "validation_curve", lambda: show.validation_curve(curve, **BROAD)
    yield (
        "learning_curve",
        lambda: show.learning_curve(best.learning, score=metric, height=TALL, **BROAD),
    )
    history = _history(found.model)
    if history is not None:
        yield (
            "convergence",
            lambda: show.convergence(history, tol=_tol(found.model), **BROAD),
        )
    yield from _boundary(found)
    if len(found.importance["columns"]) > 1:
        yield "importance", lambda: _importance(found)
    W = planes(found.model)
    if W is not None and len(W) == 1:
        yield "coefficients", lambda: _coefficients(found, W[0])
        if curve is not None and len(curve.param_range) > 2 and W.shape[1] <= WIDEST_PATH:
            yield "path", lambda: _path(found)


def _boundary(found: Study) -> Iterator[Named]:
    columns, plane = strongest(found), component_map(found)
    if len(columns) == 2:
        yield "boundary", lambda: boundary(found, columns)
    elif plane is not None:
        yield "boundary", lambda: component_boundary(found, plane)


def _leave_one_out(held: dict[str, Any]) -> Any:
    return show.leave_one_out_curve(
        held["values"],
        held["errors"],
        standard_errors=held["standard_errors"],
        chosen=held["chosen"],
        name=held["words"],
        error=held["error"],
        share=held["share"],
        height=TALL,
        **BROAD,
    )


def _coefficients(found: Study, w: Any) -> Any:
    fits = found.contest.judged.outer.estimators or ()
    folds = np.array([np.ravel(fit.coef_) for fit in fits] or [w])
    ends = np.minimum(folds.min(axis=0), w), np.maximum(folds.max(axis=0), w)
    return show.coefficients(found.encoder.names, w, intervals=ends, **BROAD)


def _path(found: Study) -> Any:
    """The coefficients along the values of the parameter that was varied, on the rows of the
    contest."""
    curve = found.winner.validation
    assert curve is not None
    values, name = list(curve.param_range), curve.param_name
    X, y = found.X[found.sample], found.y[found.sample]
    rows = [
        np.ravel(clone(found.model).set_params(**{name: value}).fit(X, y).coef_) for value in values
    ]
    return show.regularisation_path(
        values,
        np.array(rows),
        names=found.encoder.names,
        chosen=found.winner.params[name],
        strength=name,
        **BROAD,
    )


def _importance(found: Study) -> Any:
    held = found.importance
    columns = held["columns"]
    ends = tuple(
        np.array([one["rise"].get(end, np.nan) for one in columns]) for end in ("low", "high")
    )
    return show.importance(
        [one["column"] for one in columns],
        np.array([one["rise"]["value"] for one in columns]),
        ends,
        what=f"increase of the {held['loss'].partition(',')[0]}",
        title=f"Most important of {held['of']:,} columns: {columns[0]['column'][:40]}",
        level=found.options.level,
        **BROAD,
    )


def correlation_figure(numbers: dict[str, Any]) -> Iterator[Named]:
    """The correlations of the columns of numbers, where there are three or more."""
    held = numbers["correlation_matrix"]
    if held is not None:
        matrix = np.array(held["matrix"], dtype=np.float64)
        yield "correlation", lambda: show.correlation_heatmap(matrix, held["names"], **BROAD)


def _two(found: Study, points: OperatingPoints | None, known: Known) -> Iterator[Named]:
    curve, score, options = found.curve, found.score, found.options
    assert curve is not None and score is not None and points is not None
    y, level, at = found.y_test, options.level, found.chosen
    names = found.parts.task.classes
    costs = (options.cost_fp, options.cost_fn)
    yield (
        "roc",
        lambda: show.roc(
            curve,
            band=roc_band(y, score, level=level, pos_label=1),
            threshold=at,
            costs=costs,
            area=known["auc"],
            **BROAD,
        ),
    )
    yield (
        "precision_recall",
        lambda: show.precision_recall(
            curve, threshold=at, precision=known["average_precision"], **BROAD
        ),
    )
    yield (
        "score_histogram",
        lambda: show.score_histogram(curve, labels=names, threshold=at, **BROAD),
    )
    yield "confusion", lambda: show.confusion(curve, names, threshold=at, **BROAD)
    yield "gains", lambda: show.gains(curve, threshold=at, **BROAD)
    yield "lift", lambda: show.lift(curve, threshold=at, **BROAD)
    if gives_probabilities(found.model):
        yield "calibration", lambda: show.calibration(y, score, level=level, pos_label=1, **BROAD)
        yield (
            "net_benefit",
            lambda: show.net_benefit(y, score, threshold=at, pos_label=1, height=TALL, **BROAD),
        )


def _several(found: Study, points: OperatingPoints | None, known: Known) -> Iterator[Named]:
    names = found.parts.task.classes
    counts = np.zeros((len(names), len(names)))
    np.add.at(counts, (found.y_test, found.said), 1)
    yield "confusion", lambda: show.confusion(counts, names, **BROAD)


def _number(found: Study, points: OperatingPoints | None, known: Known) -> Iterator[Named]:
    y, said = found.y_test, found.said
    yield "predicted_observed", lambda: show.predicted_observed(y, said, **BROAD)
    yield "residuals", lambda: show.residuals(y, said, **BROAD)
    yield "quantile_plot", lambda: show.quantile_plot(y, said, **BROAD)
    # Leverages are those of least squares: of a model that is not linear they tell nothing.
    linear = planes(found.model) is not None
    if (
        linear
        and not found.encoder.is_sparse
        and found.X.shape[0] * found.X.shape[1] ** 2.0 <= LARGEST
    ):
        yield "leverage", lambda: _leverage(found)


def _leverage(found: Study) -> Any:
    """Of the training rows, as in least squares on the encoded columns."""
    h = leverages(found.X)
    left = found.y - np.asarray(found.model.predict(found.X))
    free = np.sqrt(np.maximum(1.0 - h, 1e-12)) * max(float(left.std()), 1e-300)
    return show.leverage(h, left / free, columns=found.X.shape[1] + 1, **BROAD)
