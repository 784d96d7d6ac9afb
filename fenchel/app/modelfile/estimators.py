"""The closed list of estimators that a model file may hold.

A new estimator joins the page of its family in `schemas` by one line: where it lives, and a check
for each attribute that its fit sets.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from fenchel.app.modelfile.schema import CLASSES, Kind
from fenchel.app.modelfile.schemas import (
    cluster,
    discriminant,
    kernel,
    linear,
    manifold,
    mixture,
    neighbours,
    spectral,
    svm,
)
from fenchel.app.modelfile.validators import Check, NamedLengths, count, number, of_class

# Parameters that direct a fit and nothing after it: what a file cannot hold of them is left out.
ONLY_FOR_FITTING = (
    *("cv", "random_state", "scoring", "_metadata_request", "_skl_callbacks"),
    "_given_affinities",
)


def _fitted_base(value: Any, sizes: NamedLengths) -> bool:
    """A classifier of the list with two classes, or such a one frozen."""
    inner = vars(value).get("estimator") if type(value).__name__ == "FrozenEstimator" else value
    if type(inner).__name__ not in ESTIMATORS:
        return False
    known = vars(inner)
    told = "n_features_in_" not in known or sizes.agree("d", known["n_features_in_"])
    return told and "classes_" in known and len(known["classes_"]) == 2


ESTIMATORS: dict[str, Kind] = {
    **linear.ESTIMATORS,
    **cluster.ESTIMATORS,
    **mixture.ESTIMATORS,
    **discriminant.ESTIMATORS,
    **neighbours.ESTIMATORS,
    **spectral.ESTIMATORS,
    **manifold.ESTIMATORS,
    **kernel.ESTIMATORS,
    **svm.ESTIMATORS,
    "NeymanPearsonClassifier": Kind(
        "fenchel.score",
        {
            **CLASSES,
            "base_": Check("a fitted classifier of two classes", _fitted_base),
            "n_calibration_": count,
            "threshold_": of_class("Threshold"),
            "violation_": number,
        },
        ("classes_", "base_", "threshold_"),
    ),
}


def estimator_class(name: str) -> Any:
    """The class that a name of the list stands for."""
    return getattr(import_module(ESTIMATORS[name].home), name)
