"""The chosen model in the plane of its two strongest columns, or of two principal components."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from fenchel import show
from fenchel.app.predictions import gives_probabilities
from fenchel.app.report.analysis.selected_model import planes
from fenchel.app.report.structure.embeddings import Embedding
from fenchel.app.report.study import Study

GRID = 36
TAIL = 0.005  # of the rows at each end of a column, which are not drawn


def strongest(found: Study) -> list[int]:
    """The two columns of numbers with the largest coefficients; fewer if there are not two."""
    W = planes(found.model)
    if W is None or not found.parts.task.classes:
        return []
    size = np.abs(W).max(axis=0)
    origins, names = found.encoder.origins, found.encoder.names
    fit = [
        j
        for j, plan in enumerate(origins)
        if plan.kind in ("number", "date") and names[j] == plan.name and size[j] > 0.0
    ]
    return sorted(fit, key=lambda j: -size[j])[:2]


def boundary(found: Study, columns: list[int]) -> Any:
    """The predicted class over the plane, all other columns at their mean."""
    i, j = columns
    shown = found.X[:, columns]
    shown = np.asarray(shown.toarray() if sparse.issparse(shown) else shown)
    sides = [_side(shown[:, k]) for k in range(2)]
    rows = np.repeat(np.asarray(found.X.mean(axis=0)).reshape(1, -1), GRID * GRID, axis=0)
    rows[:, i] = np.tile(sides[0], GRID)
    rows[:, j] = np.repeat(sides[1], GRID)
    predicted = np.asarray(found.model.predict(rows)).reshape(GRID, GRID)
    sure = None
    if gives_probabilities(found.model):
        best = found.model.predict_proba(rows).max(axis=1).reshape(GRID, GRID)
        least = 1.0 / len(found.parts.task.classes)
        sure = (best - least) / (1.0 - least)
    plans = [found.encoder.origins[k] for k in columns]
    centres = np.array([plan.center for plan in plans])
    scales = np.array([plan.scale for plan in plans])
    across, up = (side * s + c for side, s, c in zip(sides, scales, centres, strict=True))
    return show.decision_boundary(
        across,
        up,
        predicted,
        shown * scales + centres,
        found.y,
        sure=sure,
        labels=found.parts.task.classes,
        names=[
            f"{plan.name}, days since 1970" if plan.kind == "date" else plan.name for plan in plans
        ],
        title=f"{plans[0].name} and {plans[1].name}, the two strongest columns of numbers",
        width="container",
    )


def component_map(found: Study) -> Embedding | None:
    """The map of the rows by their first two principal components, where the classes are to be
    shown there: of models without coefficients, which have no strongest columns."""
    if not found.parts.task.classes or planes(found.model) is not None:
        return None
    for one in found.maps:
        if one.axes is not None and one.points.shape[1] == 2:
            return one
    return None


def component_boundary(found: Study, shown: Embedding) -> Any:
    """The predicted class over the plane through the mean, and the rows projected onto it."""
    classes, model = found.parts.task.classes, found.model
    least = 1.0 / len(classes)

    def rows(places: Any) -> Any:
        return shown.model.inverse_transform(places)

    def sure(places: Any) -> Any:
        return (model.predict_proba(rows(places)).max(axis=1) - least) / (1.0 - least)

    across, up = (_side(shown.points[:, k]) for k in range(2))
    return show.decision_boundary(
        across,
        up,
        lambda places: model.predict(rows(places)),
        shown.points,
        found.y[shown.numbers],
        sure=sure if gives_probabilities(model) else None,
        labels=classes,
        names=("first principal component", "second principal component"),
        width="container",
    )


def _side(column: Any) -> Any:
    low, high = np.quantile(column, [TAIL, 1.0 - TAIL])
    if low == high:
        low, high = column.min(), column.max()
    return np.linspace(low, high, GRID)
