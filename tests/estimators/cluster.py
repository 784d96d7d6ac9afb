"""Settings for the common checks; each estimator in its defaults too."""

from __future__ import annotations

from sklearn.base import BaseEstimator

from fenchel import KMeans

ESTIMATORS: list[BaseEstimator] = [
    KMeans(),
    KMeans(n_clusters=3, init="k-means||", tol=0.0, prove=False),
    KMeans(n_clusters=4, init="random", n_init=2, empty="drop", max_iter=20),
]
