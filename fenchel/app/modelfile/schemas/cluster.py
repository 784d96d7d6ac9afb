"""Clusterers: their fitted attributes."""

from __future__ import annotations

from fenchel.app.modelfile.check import Check, array_of, count, finite, number
from fenchel.app.modelfile.schema import PROOF, ROWS, Kind

_centres: dict[str, Check] = {
    **ROWS,
    "cluster_centers_": finite("k", "d"),
    "labels_": array_of("i", None),
    "inertia_": number,
    "n_iter_": count,
}

ESTIMATORS: dict[str, Kind] = {
    "KMeans": Kind(
        "fenchel.models.cluster.kmeans",
        {**_centres, **PROOF, "n_reseeds_": count},
        ("n_features_in_", "cluster_centers_"),
    ),
}
