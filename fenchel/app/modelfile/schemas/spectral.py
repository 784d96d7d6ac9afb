"""Principal components and the spectral family: their fitted attributes."""

from __future__ import annotations

from typing import Any

from fenchel.app.modelfile.schema import ROWS, Kind
from fenchel.app.modelfile.validators import (
    Check,
    NamedLengths,
    array_of,
    count,
    finite,
    finite_number,
    flag,
    is_count,
    is_number,
    of_class,
    tuple_of,
)


def _merged_parts(value: Any, sizes: NamedLengths) -> bool:
    """Weight, mean, scatter and number of the rows that partial_fit has seen."""
    if type(value) is not tuple or len(value) != 4 or not is_number(value[0]):
        return False
    right = finite("d").test(value[1], sizes) and finite("d", "d").test(value[2], sizes)
    return right and is_count(value[3])


_proved: dict[str, Check] = {"certificate_": of_class("Certificate"), "converged_": flag}
_linear: dict[str, Check] = {
    **ROWS,
    "components_": finite("k", "d"),
    "explained_variance_": finite("k"),
    "explained_variance_ratio_": finite("k"),
    "singular_values_": finite("k"),
    "mean_": finite("d"),
    "noise_variance_": finite_number,
    "n_components_": count,
    "n_samples_": count,
    **_proved,
    "_sums": Check("weight, mean, scatter and number of rows", _merged_parts),
}

_map: dict[str, Check] = {
    **ROWS,
    "embedding_": finite("n", "k"),
    "eigenvalues_": finite("values"),
    "residuals_": finite("values"),
    "multiplicities_": tuple_of(count),
    "coefficients_": finite("m", "k"),
    **_proved,
}
_placed = ("n_features_in_", "embedding_", "coefficients_", "memory_")

ESTIMATORS: dict[str, Kind] = {
    "ClassicalMDS": Kind(
        "fenchel.models",
        {
            **_map,
            "memory_": of_class("ShiftedRows", "CentredDistances"),
            "smallest_eigenvalue_": finite_number,
            "landmarks_": array_of("i", None),
        },
        _placed,
    ),
    "KernelPCA": Kind(
        "fenchel.models",
        {
            **_map,
            "memory_": of_class("CentredKernel", "LinearFeatures", "LandmarkFeatures"),
            "eigenvectors_": finite("n", "values"),
            "smallest_eigenvalue_": finite_number,
            "gamma_": finite_number,
            "landmarks_": array_of("i", None),
            "nystroem_error_": finite_number,
            "X_transformed_fit_": finite("learned", "k"),
            "dual_coef_": finite("learned", "d"),
        },
        _placed,
    ),
    "PCA": Kind("fenchel.models", _linear, ("n_features_in_", "components_", "mean_")),
}
