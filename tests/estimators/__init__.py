"""Every estimator in the settings that the common checks run, a list for each family."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline


def answer(model: Any, X: Any) -> np.ndarray:
    """What a fitted estimator says of rows: predictions, a map's coordinates, log-densities, or
    distances to neighbours."""
    for name in ("predict", "transform", "score_samples"):
        if hasattr(model, name):
            return np.asarray(getattr(model, name)(X))
    if isinstance(model, Pipeline):  # which has no method for neighbours
        return answer(model[-1], model[:-1].transform(X))
    return np.asarray(model.kneighbors(X)[0])
