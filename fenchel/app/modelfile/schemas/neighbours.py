"""Neighbours and local averages: their fitted attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.app.modelfile.schema import ROWS, Kind
from fenchel.app.modelfile.validators import (
    Check,
    NamedLengths,
    array_of,
    finite,
    finite_number,
    floats,
    nothing,
    of_class,
    rows,
    size_of,
    text,
)


def _any_labels(value: Any, sizes: NamedLengths) -> bool:
    """Distinct classes, perhaps one."""
    if not isinstance(value, np.ndarray) or value.ndim != 1 or not len(value):
        return False
    distinct = len(set(value.tolist())) == len(value) and value.dtype.kind in "biufUO"
    return distinct and sizes.agree("K", len(value))


def _codes(value: Any, sizes: NamedLengths) -> bool:
    """Codes of the classes, one a row."""
    right = array_of("i", "n").test(value, sizes)
    return right and value.min() >= 0 and bool(value.max() < sizes.get("K", 0))


_search: dict[str, Check] = {
    **ROWS,
    "X_fit_": rows("n", "d"),
    "n_samples_fit_": size_of("n"),
    "effective_metric_": text,
}
_votes: dict[str, Check] = {
    **_search,
    "weight_fit_": nothing | finite("n"),
    "n_neighbors_": size_of("k"),
    "loo_errors_": floats("counts"),
    "loo_standard_errors_": floats("counts"),
    "certificate_": of_class("Certificate"),
}
_labels: dict[str, Check] = {
    **_votes,
    "classes_": Check("an array of distinct labels", _any_labels),
    "y_fit_": Check("codes of the classes", _codes),
}
_smooth: dict[str, Check] = {
    **ROWS,
    "X_fit_": finite("n", "d"),
    "weight_fit_": nothing | finite("n"),
    "bandwidth_": finite_number,
    "bandwidths_": finite("grid"),
    "loo_errors_": floats("grid"),
    "loo_standard_errors_": floats("grid"),
    "certificate_": of_class("Certificate"),
}
_fitted = ("n_features_in_", "X_fit_")

ESTIMATORS: dict[str, Kind] = {
    "NearestNeighbors": Kind(
        "fenchel.models", _search, _fitted, definition="mean distance to the neighbours"
    ),
    "KNeighborsClassifier": Kind(
        "fenchel.models",
        _labels,
        (*_fitted, "classes_", "y_fit_"),
        definition="leave-one-out error",
    ),
    "KNeighborsRegressor": Kind(
        "fenchel.models",
        {**_votes, "y_fit_": finite("n") | finite("n", "targets")},
        (*_fitted, "y_fit_"),
        definition="mean squared leave-one-out error",
    ),
    "NadarayaWatson": Kind(
        "fenchel.models",
        {**_smooth, "y_fit_": finite("n") | finite("n", "targets")},
        (*_fitted, "y_fit_", "bandwidth_"),
        definition="mean squared leave-one-out error",
    ),
    "NadarayaWatsonClassifier": Kind(
        "fenchel.models",
        {
            **_smooth,
            "classes_": Check("an array of distinct labels", _any_labels),
            "y_fit_": Check("codes of the classes", _codes),
        },
        (*_fitted, "classes_", "y_fit_", "bandwidth_"),
        definition="mean squared leave-one-out error of the shares",
    ),
}
