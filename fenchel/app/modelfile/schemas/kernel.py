"""Kernel expansions over all rows or landmarks: their fitted attributes."""

from __future__ import annotations

from fenchel.app.modelfile.check import (
    Check,
    array_of,
    count,
    finite,
    of_class,
    rows,
    text,
)
from fenchel.app.modelfile.schema import KERNEL, PROOF, ROWS, Kind

_expansion: dict[str, Check] = {
    "kernel_": KERNEL,
    "X_fit_": rows("n", "d"),
    "storage_": text,
}
_NEEDED = ("n_features_in_", "kernel_", "X_fit_", "dual_coef_")

ESTIMATORS: dict[str, Kind] = {
    "KernelRidge": Kind(
        "fenchel.models.kernel.ridge",
        {
            **ROWS,
            **_expansion,
            **PROOF,
            "dual_coef_": finite("n") | finite("n", None),
            "landmarks_": array_of("i", "n"),
            "full_certificate_": of_class("Certificate"),
        },
        _NEEDED,
    ),
    "Nystroem": Kind(
        "fenchel.models.kernel.nystroem",
        {
            **ROWS,
            "kernel_": KERNEL,
            "components_": rows("m", "d"),
            "component_indices_": array_of("i", "m"),
            "normalization_": finite("m", "m"),
            "rank_": count,
        },
        ("n_features_in_", "kernel_", "components_", "component_indices_", "normalization_"),
    ),
}
