"""Kernel expansions over all rows or landmarks: their fitted attributes."""

from __future__ import annotations

from fenchel.app.modelfile.schema import AMOUNT, CLASSES, EXPANSION, KERNEL, PROOF, ROWS, Kind
from fenchel.app.modelfile.schemas.linear import CLASS_SCORES, LOSSES, ONE_A_CLASS, STEPS
from fenchel.app.modelfile.validators import any_array, array_of, count, finite, rows

_NEEDED = ("n_features_in_", "kernel_", "X_fit_", "dual_coef_")

ESTIMATORS: dict[str, Kind] = {
    "KernelRidge": Kind(
        "fenchel.models",
        {
            **ROWS,
            **EXPANSION,
            **PROOF,
            "dual_coef_": finite("n") | finite("n", None),
        },
        _NEEDED,
    ),
    "Nystroem": Kind(
        "fenchel.models",
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
    "KernelRidgeCV": Kind(
        "fenchel.models",
        {
            **ROWS,
            **EXPANSION,
            **PROOF,
            "dual_coef_": finite("n") | finite("n", None),
            "alpha_": AMOUNT,
            "best_score_": AMOUNT,
            "cv_results_": any_array("f"),
        },
        _NEEDED,
    ),
    "KernelLogisticRegression": Kind(
        "fenchel.models",
        {
            **CLASSES,
            **EXPANSION,
            **CLASS_SCORES,
            **PROOF,
            **LOSSES,
            **ONE_A_CLASS,
            **STEPS,
        },
        (*_NEEDED, "classes_", "intercept_"),
    ),
}
