"""Several classes, judged once on the locked test part."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.app.predictions import gives_probabilities
from fenchel.app.report.estimates import plain, with_interval, without_interval
from fenchel.score.area.auc import curve_auc
from fenchel.score.curves.curve import Curve
from fenchel.score.intervals.binomial import binomial_rate

Floats = NDArray[np.float64]


def class_scores(model: Any, X: Floats) -> Floats:
    """A column of scores for each class: probabilities where there are some."""
    if gives_probabilities(model):
        return np.asarray(model.predict_proba(X), dtype=np.float64)
    return np.asarray(model.decision_function(X), dtype=np.float64)


def class_numbers(
    model: Any, X: Floats, y: NDArray[Any], classes: tuple[str, ...], level: float
) -> list[dict[str, Any]]:
    """Of each class: rows, share found, share right among those called so, AUC against the rest."""
    said, scores = model.predict(X), class_scores(model, X)
    found = []
    for k, name in enumerate(classes):
        mine, called = y == k, said == k
        hits = int((mine & called).sum())
        curve = Curve.of(mine.astype(np.int64), scores[:, k], pos_label=1)
        precision = without_interval("no row is put into this class")
        if called.any():
            precision = with_interval(binomial_rate(hits, int(called.sum()), level))
        found.append(
            {
                "class": name,
                "rows": int(mine.sum()),
                "called": int(called.sum()),
                "recall": with_interval(binomial_rate(hits, int(mine.sum()), level)),
                "precision": precision,
                "auc": with_interval(curve_auc(curve, level)),
            }
        )
    return plain(found)
