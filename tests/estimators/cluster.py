"""Settings for the common checks; each estimator in its defaults too."""

from __future__ import annotations

from sklearn.base import BaseEstimator

from fenchel import BisectingKMeans, KMeans, SpectralClustering

ESTIMATORS: list[BaseEstimator] = [
    KMeans(),
    KMeans(n_clusters=3, init="k-means||", tol=0.0, prove=False),
    KMeans(n_clusters=4, init="random", n_init=2, empty="drop", max_iter=20),
    KMeans(n_clusters=3, init="plain-k-means++", n_init=2, prove="auto"),
    KMeans(n_clusters="auto", prove="sdp"),
    BisectingKMeans(),
    BisectingKMeans(n_clusters=4, init="random", n_init=2, bisecting_strategy="biggest_gain"),
    BisectingKMeans(n_clusters=6, min_gain=0.02, bisecting_strategy="largest_cluster", prove=False),
    SpectralClustering(),
    SpectralClustering(n_clusters=3, affinity="nearest_neighbors", n_neighbors=5),
    SpectralClustering(n_clusters=2, gamma="median", assign_labels="discretize", prove=False),
    SpectralClustering(n_clusters=3, affinity="laplacian", assign_labels="cluster_qr"),
]
