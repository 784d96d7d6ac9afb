"""Maps by graphs of neighbours and by affinities: their fitted attributes."""

from __future__ import annotations

from fenchel.app.modelfile.schema import AFFINITIES, ROWS, Kind
from fenchel.app.modelfile.validators import (
    Check,
    array_of,
    count,
    finite,
    finite_number,
    flag,
    of_class,
    tuple_of,
)

_map: dict[str, Check] = {
    **ROWS,
    "embedding_": finite("n", "k"),
    "eigenvalues_": finite("k"),
    "residuals_": finite("k"),
    "multiplicities_": tuple_of(count),
    "coefficients_": finite("vertices", "k"),
    "certificate_": of_class("Certificate"),
    "converged_": flag,
}
_needed = ("n_features_in_", "coefficients_", "memory_")

ESTIMATORS: dict[str, Kind] = {
    "SpectralEmbedding": Kind(
        "fenchel.models",
        {
            **_map,
            "memory_": AFFINITIES,
            "component_sizes_": array_of("i", None),
            "n_neighbors_": count,
        },
        _needed,
    ),
    "Isomap": Kind(
        "fenchel.models",
        {
            **_map,
            "coefficients_": finite("m", "k"),
            "memory_": of_class("CentredDistances"),
            "landmarks_": array_of("i", "m"),
        },
        _needed,
    ),
    "LocallyLinearEmbedding": Kind(
        "fenchel.models",
        {
            **_map,
            "memory_": of_class("BarycentricMemory"),
            "reconstruction_error_": finite_number,
        },
        _needed,
    ),
}
