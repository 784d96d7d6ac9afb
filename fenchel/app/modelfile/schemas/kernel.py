"""Kernel expansions over all rows or landmarks: their fitted attributes."""

from __future__ import annotations

from fenchel.app.modelfile.check import Check, finite, of_class, text
from fenchel.app.modelfile.classes import KERNELS
from fenchel.app.modelfile.schema import PROOF, ROWS, Kind

_expansion: dict[str, Check] = {
    "kernel_": of_class(*KERNELS, "Sum", "Product", "Scaled", "GivenColumns"),
    "X_fit_": finite("n", "d"),
    "storage_": text,
}
_NEEDED = ("n_features_in_", "kernel_", "X_fit_", "dual_coef_")

ESTIMATORS: dict[str, Kind] = {
    "KernelRidge": Kind(
        "fenchel.models.kernel.ridge",
        {**ROWS, **_expansion, **PROOF, "dual_coef_": finite("n") | finite("n", None)},
        _NEEDED,
    ),
}
