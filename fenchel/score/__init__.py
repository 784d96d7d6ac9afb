"""Judgement: curves, numbers with intervals, decisions at a promised error, cross-validation.

Names are loaded from their modules when first used.
"""

from importlib import import_module
from typing import Any

_MODULES = {
    "theory.gaussian": ("GaussianClasses",),
    "theory.bayes": (
        "auc_star",
        "bayes_risk",
    ),
    "decision.threshold": (
        "CostThreshold",
        "Threshold",
        "bayes_threshold",
        "cost_threshold",
        "negatives_needed",
        "neyman_pearson_threshold",
    ),
    "decision.threshold_table": (
        "ThresholdTable",
        "threshold_table",
    ),
    "decision.neyman_pearson": ("NeymanPearsonClassifier",),
    "area.np_roc_band": (
        "NPROCBand",
        "np_roc_band",
    ),
    "decision.risk": (
        "RiskCertificate",
        "risk_certificate",
    ),
    "estimate": ("Estimate",),
    "intervals.binomial": ("binomial_interval",),
    "intervals.bootstrap": ("bootstrap_interval",),
    "metrics.overall": (
        "accuracy",
        "balanced_accuracy",
        "matthews_correlation",
    ),
    "metrics.per_class": (
        "f1",
        "precision",
        "recall",
        "specificity",
    ),
    "metrics.calibration_bins": (
        "CalibrationBins",
        "calibration_bins",
    ),
    "metrics.probability": (
        "brier",
        "log_loss",
    ),
    "scorers": ("scorer",),
    "structure.spectral_certificates": (
        "certify_clusters",
        "certify_projection",
    ),
    "structure.gap_statistic": (
        "GapStatistic",
        "gap_statistic",
    ),
    "structure.silhouettes": (
        "silhouette",
        "silhouette_samples",
    ),
    "embedding.neighbour_ranks": (
        "continuity",
        "trustworthiness",
    ),
    "embedding.stress": (
        "residual_variance",
        "stress",
    ),
    "structure.choice_of_k": ("ChoiceOfK",),
    "curves.curve": ("Curve",),
    "curves.by_labels": (
        "det_curve",
        "gains_curve",
        "iso_error_line",
        "lift_curve",
        "precision_recall_curve",
        "roc_curve",
    ),
    "curves.streaming": ("curve_of",),
    "area.auc": (
        "AUCComparison",
        "auc",
        "compare_auc",
        "curve_auc",
    ),
    "area.partial_auc": (
        "curve_partial_auc",
        "partial_auc",
    ),
    "area.compare_partial_auc": ("compare_partial_auc",),
    "area.local_auc": (
        "curve_local_auc",
        "local_auc",
    ),
    "area.average_precision": (
        "average_precision",
        "curve_average_precision",
    ),
    "area.several_classes": (
        "average_precision_score",
        "roc_auc_score",
    ),
    "area.discrimination": (
        "curve_gini",
        "curve_ks",
        "gini",
        "ks_statistic",
    ),
    "metrics.recalibration": (
        "calibration_intercept",
        "calibration_slope",
    ),
    "metrics.population_stability": (
        "Stability",
        "population_stability",
    ),
    "intervals.wald": (
        "CoefficientTable",
        "coefficient_intervals",
    ),
    "area.roc_band": (
        "ROCBand",
        "curve_roc_band",
        "roc_band",
    ),
    "validation.cross_validation": (
        "Validation",
        "cross_validate",
    ),
    "validation.run": ("FoldFailed",),
    "selection.parameter_curves": (
        "LearningCurve",
        "ValidationCurve",
        "learning_curve",
        "validation_curve",
    ),
    "selection.parameter_search": (
        "NestedValidation",
        "Selection",
        "nested_cross_validate",
        "select",
    ),
    "selection.model_comparison": (
        "ModelComparison",
        "ModelComparisons",
        "compare_models",
    ),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'fenchel.score' has no attribute {name!r}")
    value = getattr(import_module(f"fenchel.score.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
