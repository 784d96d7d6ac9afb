"""Settings for the common checks; each estimator in its defaults too."""

from __future__ import annotations

from sklearn.base import BaseEstimator

from fenchel import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NadarayaWatson,
    NadarayaWatsonClassifier,
    NearestNeighbors,
)

ESTIMATORS: list[BaseEstimator] = [
    NearestNeighbors(),
    NearestNeighbors(metric="manhattan", n_neighbors=2),
    KNeighborsClassifier(),
    KNeighborsClassifier("auto", weights="distance", max_neighbors=10),
    KNeighborsClassifier(3, kernel="rbf"),
    KNeighborsRegressor(),
    KNeighborsRegressor("auto", metric="chebyshev"),
    NadarayaWatson(),
    NadarayaWatson(local_linear=True, bandwidths=5),
    NadarayaWatson(bandwidth=0.5),
    NadarayaWatsonClassifier(),
]
