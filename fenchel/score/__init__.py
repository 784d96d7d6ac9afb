"""Judgement: curves, numbers with intervals, decisions at a promised error, cross-validation.

A metric is a float, `metric(y_true, y_score)`; with `level` it is an `Estimate`: still a float,
with an interval. Metrics of scores take `sample_weight` and `pos_label`.

Curves        roc_curve, precision_recall_curve, det_curve, gains_curve, lift_curve, curve_of,
              iso_error_line
Areas         auc, partial_auc, local_auc, average_precision, gini, ks_statistic, compare_auc,
              compare_partial_auc, roc_band, np_roc_band; of several classes roc_auc_score and
              average_precision_score
Predictions   accuracy, balanced_accuracy, matthews_correlation, precision, recall, specificity, f1
Probability   brier, log_loss, calibration_bins, calibration_slope, calibration_intercept,
              population_stability
Decisions     bayes_threshold, cost_threshold, neyman_pearson_threshold, threshold_table,
              negatives_needed, NeymanPearsonClassifier, risk_certificate
Intervals     Estimate, binomial_interval, bootstrap_interval, coefficient_intervals
Validation    cross_validate, nested_cross_validate, select, compare_models, learning_curve,
              validation_curve, scorer
Clusters      silhouette, gap_statistic, certify_clusters, certify_projection
Maps          trustworthiness, continuity, stress, residual_variance
Theory        GaussianClasses, bayes_risk, auc_star

Names are loaded from their modules when first used.
"""

from fenchel.data.display.public_page import public_page

__all__, __getattr__, __dir__ = public_page(
    __name__,
    {
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
    },
)
