"""Kernel expansions over all rows or landmarks: their fitted attributes."""

from __future__ import annotations

from fenchel.app.modelfile.check import Check, finite, rows, text
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
        {**ROWS, **_expansion, **PROOF, "dual_coef_": finite("n") | finite("n", None)},
        _NEEDED,
    ),
}
