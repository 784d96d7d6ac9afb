"""Clusterers: their fitted attributes."""

from __future__ import annotations

from fenchel.app.modelfile.schema import AFFINITIES, PROOF, ROWS, Kind
from fenchel.app.modelfile.validators import (
    Check,
    array_of,
    count,
    finite,
    flag,
    number,
    of_class,
    size_of,
    tuple_of,
)

_centres: dict[str, Check] = {
    **ROWS,
    "cluster_centers_": finite("k", "d"),
    "labels_": array_of("i", None),
    "inertia_": number,
    "n_iter_": count,
}

ESTIMATORS: dict[str, Kind] = {
    "KMeans": Kind(
        "fenchel.models",
        {
            **_centres,
            **PROOF,
            "n_clusters_": size_of("k"),
            "counts_": finite("k"),
            "running_means_": finite("k", "d"),
            "n_reseeds_": count,
            "start_values_": array_of("f", None),
        },
        ("n_features_in_", "cluster_centers_"),
    ),
    "BisectingKMeans": Kind(
        "fenchel.models",
        {
            **_centres,
            "n_clusters_": size_of("k"),
            "tree_": of_class("BisectionTree"),
            "certificate_": of_class("Certificate"),
            "history_": tuple_of(of_class("Certificate")),
        },
        ("n_features_in_", "cluster_centers_", "tree_"),
    ),
    "SpectralClustering": Kind(
        "fenchel.models",
        {
            **ROWS,
            "labels_": array_of("i", None),
            "embedding_": finite("n", "p"),
            "assignment_": of_class("NearestCentre", "NearestAxis"),
            "eigenvalues_": finite("p"),
            "residuals_": finite("p"),
            "component_sizes_": array_of("i", None),
            "relaxation_": number,
            "coefficients_": finite("vertices", "p"),
            "memory_": AFFINITIES,
            "certificate_": of_class("Certificate"),
            "eigen_certificate_": of_class("Certificate"),
            "kmeans_certificate_": of_class("Certificate"),
            "converged_": flag,
            "n_neighbors_": count,
        },
        ("n_features_in_", "coefficients_", "memory_", "assignment_"),
    ),
}
