"""Discriminants: their fitted attributes."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.app.modelfile.schema import CLASSES, KERNEL, Kind
from fenchel.app.modelfile.validators import (
    Check,
    NamedLengths,
    array_of,
    count,
    finite,
    finite_number,
    floats,
    of_class,
    rows,
    tuple_of,
)


def _moments(value: Any, sizes: NamedLengths) -> bool:
    """Weight (K,), mean (K, d), scatter (1 or K, d, d) and exponent (d,) of the classes."""
    if type(value) is not tuple or len(value) != 4:
        return False
    if not all(isinstance(part, np.ndarray) for part in value):
        return False
    weight, mean, scatter, exponent = value
    right = finite("K").test(weight, sizes) and finite("K", "d").test(mean, sizes)
    return (
        right
        and array_of("i", "d").test(exponent, sizes)
        and finite(None, "d", "d").test(scatter, sizes)
        and len(scatter) in (1, sizes.get("K"))
    )


_moments_of_classes = Check("the moments of the classes", _moments)
_gaussian: dict[str, Check] = {
    **CLASSES,
    "priors_": finite("K"),
    "means_": finite("K", "d"),
    "moments_": _moments_of_classes,
    "certificate_": of_class("Certificate"),
}
_own: dict[str, Check] = {
    **_gaussian,
    "covariance_": tuple_of(floats("d", "d"), "K", list),
    "rotations_": tuple_of(floats("d", None), "K", list),
    "scalings_": tuple_of(floats(None), "K", list),
    "ranks_": array_of("i", "K"),
    "repairs_": finite("K"),
    "_roots": finite("K", "d", "d"),
    "_log_dets": finite("K"),
}
_fisher: dict[str, Check] = {
    "eigenvalues_": finite("axes"),
    "explained_variance_ratio_": finite("axes"),
    "rank_": count,
    "certificate_": of_class("Certificate"),
}
_plain_fisher = ("n_features_in_", "classes_")
_densities = ("n_features_in_", "classes_", "priors_", "means_", "_roots", "_log_dets")
_plain = ("n_features_in_", "classes_", "priors_", "means_")

ESTIMATORS: dict[str, Kind] = {
    "LinearDiscriminantAnalysis": Kind(
        "fenchel.models",
        {
            **_gaussian,
            "coef_": finite("planes", "d"),
            "intercept_": floats("planes"),
            "covariance_": floats("d", "d"),
            "explained_variance_ratio_": finite(None),
            "scalings_": finite("d", None),
            "xbar_": finite("d"),
            "rank_": count,
            "_root": finite(None, "d"),
            "_log_det": finite_number,
        },
        (*_plain, "coef_", "intercept_", "scalings_", "xbar_", "_root", "_log_det"),
    ),
    "FisherDiscriminant": Kind(
        "fenchel.models",
        {
            **CLASSES,
            **_fisher,
            "means_": finite("K", "d"),
            "moments_": _moments_of_classes,
            "coef_": finite("planes", "d"),
            "intercept_": finite("planes"),
            "scalings_": finite("d", "axes"),
            "xbar_": finite("d"),
        },
        (*_plain_fisher, "coef_", "intercept_", "scalings_", "xbar_"),
    ),
    "KernelFisherDiscriminant": Kind(
        "fenchel.models",
        {
            **CLASSES,
            **{name: check for name, check in _fisher.items() if name != "rank_"},
            "kernel_": KERNEL,
            "support_": array_of("i", "vectors"),
            "support_vectors_": rows("vectors", "d") | finite(0, "d"),
            "dual_coef_": finite("vectors", "axes"),
            "intercept_": finite("axes"),
            "centres_": finite("K", "axes"),
        },
        (*_plain_fisher, "kernel_", "support_vectors_", "dual_coef_", "intercept_", "centres_"),
    ),
    "QuadraticDiscriminantAnalysis": Kind("fenchel.models", _own, _densities),
    "RegularizedDiscriminantAnalysis": Kind("fenchel.models", _own, _densities),
    "RegularizedDiscriminantAnalysisCV": Kind(
        "fenchel.models",
        {
            **_own,
            "lam_": finite_number,
            "gamma_": finite_number,
            "errors_": floats("lams", "gammas"),
            "losses_": floats("lams", "gammas"),
        },
        _densities,
    ),
}
