"""Kernel expansions over all rows or landmarks: their fitted attributes."""

from __future__ import annotations

from fenchel.app.modelfile.check import Check, any_array, finite, rows, text
from fenchel.app.modelfile.schema import AMOUNT, CLASSES, KERNEL, PROOF, ROWS, Kind
from fenchel.app.modelfile.schemas.linear import LOSSES, ONE_A_CLASS, STEPS

_expansion: dict[str, Check] = {
    "kernel_": KERNEL,
    "X_fit_": rows("n", "d"),
    "storage_": text,
}
_NEEDED = ("n_features_in_", "kernel_", "X_fit_", "dual_coef_")

# Of classes: a function for two, one a class for more.
SCORES: dict[str, Check] = {
    "dual_coef_": finite("n") | finite("n", "planes"),
    "intercept_": finite("planes"),
}

ESTIMATORS: dict[str, Kind] = {
    "KernelRidge": Kind(
        "fenchel.models.kernel.ridge",
        {**ROWS, **_expansion, **PROOF, "dual_coef_": finite("n") | finite("n", None)},
        _NEEDED,
    ),
    "KernelRidgeCV": Kind(
        "fenchel.models.kernel.ridge_cv",
        {
            **ROWS,
            **_expansion,
            **PROOF,
            "dual_coef_": finite("n") | finite("n", None),
            "alpha_": AMOUNT,
            "best_score_": AMOUNT,
            "cv_results_": any_array("f"),
        },
        _NEEDED,
    ),
    "KernelLogisticRegression": Kind(
        "fenchel.models.kernel.logistic",
        {**CLASSES, **_expansion, **SCORES, **PROOF, **LOSSES, **ONE_A_CLASS, **STEPS},
        (*_NEEDED, "classes_", "intercept_"),
    ),
}
