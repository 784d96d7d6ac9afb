"""Settings for the common checks; each estimator in its defaults too."""

from __future__ import annotations

from sklearn.base import BaseEstimator

from fenchel import Isomap, LocallyLinearEmbedding, SpectralEmbedding

ESTIMATORS: list[BaseEstimator] = [
    Isomap(),
    Isomap(n_neighbors=3, n_components=1, n_landmarks=3, disconnected="join"),
    Isomap(n_neighbors=None, radius=8.0, n_components=1),
    LocallyLinearEmbedding(),
    LocallyLinearEmbedding(n_neighbors=3, n_components=1, reg=0.1),
    SpectralEmbedding(),
    SpectralEmbedding(n_components=1, affinity="rbf", gamma=0.5),
    SpectralEmbedding(n_components=1, n_neighbors=4, disconnected="join"),
]
