"""Permutation importance of the table's columns on the locked rows.

The cells of one column are shuffled among the test rows, and the loss of every row is taken again:
the mean increase is what the model owes to that column. The interval is that of the mean over the
rows (each the mean of several shuffles), so that it tells what new rows would show.

Reference: Breiman, Random forests, 2001; Fisher, Rudin, Dominici, All models are wrong, but many
are useful, JMLR 20 (2019).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fenchel.app.predictions import gives_probabilities
from fenchel.app.report.estimates import with_interval
from fenchel.app.table.encoding.encoder import Encoder
from fenchel.app.table.task import Task
from fenchel.score.intervals.skewness_corrected_mean import mean_estimate

SHUFFLES = 5
MOST_ROWS = 10_000  # of the test rows, drawn at random
MOST_COLUMNS = 60  # those with the largest coefficients
_LEAST = 1e-15  # probability: a log loss is finite
Floats = NDArray[np.float64]


def importance(
    task: Task, model: Any, encoder: Encoder, X: Any, y: NDArray[Any], seed: int, level: float
) -> dict[str, Any]:
    """The increase of the loss for each column of the table, the largest first."""
    rng = np.random.default_rng(seed)
    if len(y) > MOST_ROWS:
        rows = np.sort(rng.choice(len(y), MOST_ROWS, replace=False))
        X, y = X[rows], y[rows]
    words, loss = _loss(task, model, y)
    base = loss(X)
    found: list[dict[str, Any]] = []
    for name, columns in _groups(encoder, model):
        mask = np.zeros(X.shape[1])
        mask[columns] = 1.0
        mine = X.multiply(mask).tocsr() if sparse.issparse(X) else X * mask
        others = X - mine
        rise = np.zeros(len(y))
        for _ in range(SHUFFLES):
            rise += (loss(others + mine[rng.permutation(len(y))]) - base) / SHUFFLES
        found.append({"column": name, "rise": with_interval(mean_estimate(rise, level))})
    found.sort(key=lambda one: -one["rise"]["value"])
    used = len({plan.name for plan in encoder.origins})
    return {"loss": words, "rows": len(y), "shuffles": SHUFFLES, "of": used, "columns": found}


def _groups(encoder: Encoder, model: Any) -> list[tuple[str, list[int]]]:
    """(column of the table, its encoded columns), those with the largest coefficients."""
    places: dict[str, list[int]] = {}
    for j, plan in enumerate(encoder.origins):
        places.setdefault(plan.name, []).append(j)
    coef = getattr(model, "coef_", None)
    if coef is None or len(places) <= MOST_COLUMNS:
        return list(places.items())
    size = np.abs(np.asarray(coef).reshape(-1, len(encoder.names))).max(axis=0)
    ranked = sorted(places, key=lambda name: -float(size[places[name]].max()))
    return [(name, places[name]) for name in ranked[:MOST_COLUMNS]]


def _loss(task: Task, model: Any, y: NDArray[Any]) -> tuple[str, Any]:
    """What the loss is called, and the loss of every row of a matrix."""
    if task.kind == "number":
        spread = float(np.var(y)) or 1.0
        return (
            "squared error, as a share of the variance of the target",
            lambda X: np.square(np.asarray(model.predict(X)) - y) / spread,
        )
    if gives_probabilities(model):
        codes = y.astype(np.int64)

        def log_loss(X: Any) -> Floats:
            p = np.asarray(model.predict_proba(X), np.float64)[np.arange(len(codes)), codes]
            return np.asarray(-np.log(np.maximum(p, _LEAST)))

        return "log loss", log_loss
    return "error rate", lambda X: (np.asarray(model.predict(X)) != y).astype(np.float64)
