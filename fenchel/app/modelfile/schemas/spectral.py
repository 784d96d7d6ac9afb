"""Principal components and the spectral family: their fitted attributes."""

from __future__ import annotations

from typing import Any

from fenchel.app.modelfile.check import (
    Check,
    Sizes,
    count,
    finite,
    finite_number,
    flag,
    is_count,
    is_number,
    of_class,
)
from fenchel.app.modelfile.schema import ROWS, Kind


def _merged_parts(value: Any, sizes: Sizes) -> bool:
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

ESTIMATORS: dict[str, Kind] = {
    "PCA": Kind("fenchel.models.spectral.pca", _linear, ("n_features_in_", "components_", "mean_")),
}
