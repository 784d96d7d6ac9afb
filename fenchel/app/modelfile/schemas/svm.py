"""Kernel machines: their fitted attributes."""

from __future__ import annotations

from fenchel.app.modelfile.schema import CLASSES, KERNEL, PROOF, ROWS, Kind
from fenchel.app.modelfile.validators import (
    Check,
    array_of,
    count,
    finite,
    of_class,
    pair,
    rows,
    tuple_of,
)

_support: dict[str, Check] = {
    "kernel_": KERNEL,
    "support_": array_of("i", "vectors"),
    "support_vectors_": rows("vectors", "d") | finite(0, "d"),
    "n_support_": array_of("i", None),
    "shape_fit_": pair(count, count),
    "fit_status_": count,
}

_single: dict[str, Check] = {
    **ROWS,
    **_support,
    **PROOF,
    "full_certificate_": of_class("Certificate"),
    "dual_coef_": finite(1, "vectors"),
    "intercept_": finite(1),
    "n_iter_": count,
}
_NEEDED = ("n_features_in_", "kernel_", "support_vectors_", "dual_coef_", "intercept_")

ESTIMATORS: dict[str, Kind] = {
    "SVC": Kind(
        "fenchel.models",
        {
            **CLASSES,
            **_support,
            **PROOF,
            "class_weight_": finite("K"),
            "dual_coef_": finite(None, "vectors"),
            "intercept_": finite("machines"),
            "n_iter_": array_of("i", "machines"),
            "full_certificate_": of_class("Certificate"),
            "certificates_": tuple_of(of_class("Certificate"), "machines"),
            "_codes": array_of("i", "vectors"),
            "margins_": finite("machines"),
            "proofs_": tuple_of(of_class("Combination"), "machines"),
            "probA_": finite("machines"),
            "probB_": finite("machines"),
        },
        ("n_features_in_", "classes_", "kernel_", "support_vectors_", "dual_coef_", "intercept_"),
    ),
    "SVR": Kind("fenchel.models", _single, _NEEDED),
    "OneClassSVM": Kind("fenchel.models", {**_single, "offset_": finite(1)}, _NEEDED),
}
