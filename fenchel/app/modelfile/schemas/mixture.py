"""Mixtures and densities: their fitted attributes."""

from __future__ import annotations

from typing import Any

from fenchel.app.modelfile.schema import ROWS, Kind
from fenchel.app.modelfile.validators import (
    Check,
    NamedLengths,
    count,
    finite,
    finite_number,
    flag,
    floats,
    nothing,
    number,
    of_class,
    size_of,
    tuple_of,
)

# One covariance a component, one for all, their diagonals, or one variance each.
_COVARIANCES = floats("k", "d", "d") | floats("d", "d") | floats("k", "d") | floats("k")


def _probabilities(value: Any, sizes: NamedLengths) -> bool:
    right = finite("k").test(value, sizes)
    return right and bool((value >= 0.0).all()) and abs(float(value.sum()) - 1.0) < 1e-4


ESTIMATORS: dict[str, Kind] = {
    "GaussianMixture": Kind(
        "fenchel.models",
        {
            **ROWS,
            "n_components_": size_of("k"),
            "weights_": Check("k probabilities", _probabilities),
            "means_": finite("k", "d"),
            "covariances_": _COVARIANCES,
            "precisions_": _COVARIANCES,
            "precisions_cholesky_": _COVARIANCES,
            "certificate_": of_class("Certificate") | nothing,
            "converged_": flag,
            "history_": tuple_of(of_class("Certificate")),
            "lower_bound_": number,
            "lower_bounds_": tuple_of(number, None, list),
            "n_iter_": count,
            "weight_seen_": finite_number,
        },
        ("n_features_in_", "weights_", "means_", "precisions_cholesky_"),
    ),
    "KernelDensity": Kind(
        "fenchel.models",
        {
            **ROWS,
            "rows_": finite("n", "d"),
            "weights_": finite("n"),
            "bandwidth_": finite_number,
            "bandwidths_": nothing | finite("h"),
            "loo_scores_": nothing | floats("h"),
        },
        ("n_features_in_", "rows_", "weights_", "bandwidth_"),
    ),
}
