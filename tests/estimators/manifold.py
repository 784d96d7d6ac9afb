"""Settings for the common checks; each estimator in its defaults too."""

from __future__ import annotations

from sklearn.base import BaseEstimator

from fenchel import LocallyLinearEmbedding

ESTIMATORS: list[BaseEstimator] = [
    LocallyLinearEmbedding(),
    LocallyLinearEmbedding(n_neighbors=3, n_components=1, reg=0.1),
]
