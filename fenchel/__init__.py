"""Classical statistical learning that proves its answers.

The public page: names only. Each is loaded from its room when first used, so that
`import fenchel` costs next to nothing.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_ROOMS = {
    "fenchel.data.blocks": ("Block", "Blocks", "Totals", "threads"),
    "fenchel.data.table": ("as_blocks",),
    "fenchel.data.files": ("scan", "TableFileError"),
    "fenchel.data.moments": ("ClassMoments", "Moments"),
    "fenchel.data.design": ("Design", "MatrixDesign"),
    "fenchel.data.kernel_design": ("GramDesign", "KernelDesign"),
    "fenchel.convex.distance": (
        "Absolute",
        "EpsilonInsensitive",
        "Huber",
        "Pinball",
        "Square",
        "SquaredEpsilonInsensitive",
    ),
    "fenchel.convex.margin": ("Exponential", "Logistic"),
    "fenchel.convex.hinge": ("Hinge", "ModifiedHuber", "SquareMargin", "SquaredHinge"),
    "fenchel.convex.multiclass": ("MulticlassHinge", "Multinomial"),
    "fenchel.convex.penalty": ("L1", "L2", "NonNegative"),
    "fenchel.convex.calibration": ("excess_risk_bound", "is_calibrated", "psi"),
    "fenchel.convex.certificate": ("Certificate",),
    "fenchel.convex.convergence": ("NotCertified",),
    "fenchel.convex.problem": ("Problem",),
    "fenchel.solve.minimise": ("Solution", "minimise"),
    "fenchel.solve.newton": ("Newton",),
    "fenchel.solve.augmented": ("AugmentedLagrangian",),
    "fenchel.solve.conjugate": ("NewtonCG",),
    "fenchel.solve.coordinate": ("CoordinateDescent",),
    "fenchel.solve.descent": ("GradientDescent", "convergence_profile"),
    "fenchel.models.least": ("LinearRegression",),
    "fenchel.models.rank": ("RankDeficient",),
    "fenchel.models.ridge": ("Ridge", "RidgeCV"),
    "fenchel.models.huber": ("HuberRegressor", "VanishingScale"),
    "fenchel.models.sparse": ("ElasticNet", "Lasso"),
    "fenchel.models.sparse_path": ("enet_path", "lasso_path"),
    "fenchel.models.sparse_cv": ("ElasticNetCV", "LassoCV"),
    "fenchel.models.ranking": ("PairwiseRanker", "concordance"),
    "fenchel.models.logistic": ("LogisticRegression",),
    "fenchel.models.path": ("LogisticRegressionCV",),
    "fenchel.solve.hard_margin": ("HardMargin", "hard_margin"),
    "fenchel.models.online": ("NotSeparable", "Perceptron"),
    "fenchel.models.adaline": ("Adaline", "Diverged"),
    "fenchel.models.erm": ("ERMClassifier", "ERMRegressor"),
    "fenchel.models.svm": ("LinearSVC", "LinearSVR"),
    "fenchel.models.quantile": ("LeastAbsoluteDeviations", "QuantileRegressor"),
    # clusters
    "fenchel.models.cluster.kmeans": ("KMeans",),
    "fenchel.models.cluster.bisecting": ("BisectingKMeans",),
    "fenchel.models.cluster.quantization.quantize": ("DensityQuantization", "quantize_density"),
    "fenchel.geometry.voronoi.cells": ("voronoi_cells",),
    "fenchel.models.cluster.bounds.lower_bound": ("KMeansBound", "kmeans_lower_bound"),
    "fenchel.models.cluster.spectral.clustering": ("SpectralClustering",),
    # mixtures and densities
    "fenchel.models.mixture.gaussian": ("GaussianMixture",),
    "fenchel.models.mixture.kernel_density": ("KernelDensity",),
    # discriminants
    "fenchel.models.discriminant.linear": ("LinearDiscriminantAnalysis",),
    "fenchel.models.discriminant.fisher": ("FisherDiscriminant",),
    "fenchel.models.discriminant.kernel_fisher": ("KernelFisherDiscriminant",),
    "fenchel.models.discriminant.quadratic": ("QuadraticDiscriminantAnalysis",),
    "fenchel.models.discriminant.regularized": (
        "RegularizedDiscriminantAnalysis",
        "RegularizedDiscriminantAnalysisCV",
    ),
    # neighbours and local averages
    "fenchel.models.neighbours.nearest": (
        "NearestNeighbors",
        "kneighbors_graph",
        "radius_neighbors_graph",
    ),
    "fenchel.models.neighbours.classifier": ("KNeighborsClassifier",),
    "fenchel.models.neighbours.regressor": ("KNeighborsRegressor",),
    "fenchel.models.neighbours.nadaraya_watson": ("NadarayaWatson", "NadarayaWatsonClassifier"),
    # principal components and the spectral family
    "fenchel.models.spectral.pca": ("PCA",),
    "fenchel.models.manifold.locally_linear": ("LocallyLinearEmbedding",),
    "fenchel.models.manifold.spectral_embedding": ("SpectralEmbedding",),
    "fenchel.models.manifold.isomap": ("Isomap",),
    "fenchel.models.spectral.classical_mds": ("ClassicalMDS",),
    "fenchel.models.spectral.kernel_pca": ("KernelPCA",),
    # kernel machines
    "fenchel.models.kernel.ridge": ("KernelRidge",),
    "fenchel.models.kernel.nystroem": ("Nystroem",),
    "fenchel.models.kernel.ridge_cv": ("KernelRidgeCV",),
    "fenchel.models.kernel.logistic": ("KernelLogisticRegression",),
    # string kernels
    # support vector machines
    "fenchel.models.kernel.svm.svc": ("SVC",),
    "fenchel.models.kernel.svm.svr": ("SVR",),
    "fenchel.models.kernel.svm.one_class_svm": ("OneClassSVM",),
    # certificates
    "fenchel.models.certify": ("certify",),
    "fenchel.score.gaussian": ("GaussianClasses",),
    "fenchel.score.bayes": ("auc_star", "bayes_risk"),
    "fenchel.score.decision": (
        "CostThreshold",
        "Threshold",
        "bayes_threshold",
        "cost_threshold",
        "negatives_needed",
        "neyman_pearson_threshold",
    ),
    "fenchel.score.thresholds": ("ThresholdTable", "threshold_table"),
    "fenchel.score.neyman_pearson": ("NeymanPearsonClassifier",),
    "fenchel.score.np_roc": ("NPROCBand", "np_roc_band"),
    "fenchel.score.risk": ("RiskCertificate", "risk_certificate"),
    "fenchel.score.estimate": ("Estimate",),
    "fenchel.score.binomial": ("binomial_interval",),
    "fenchel.score.bootstrap": ("bootstrap_interval",),
    "fenchel.score.rates": ("accuracy", "balanced_accuracy", "matthews_correlation"),
    "fenchel.score.detection": ("f1", "precision", "recall", "specificity"),
    "fenchel.score.calibration_bins": ("CalibrationBins", "calibration_bins"),
    "fenchel.score.probability": ("brier", "log_loss"),
    "fenchel.score.scorers": ("scorer",),
    "fenchel.score.spectral_certificates": ("certify_clusters", "certify_projection"),
    "fenchel.score.gap": ("GapStatistic", "gap_statistic"),
    "fenchel.score.silhouette": ("silhouette", "silhouette_samples"),
    "fenchel.score.embedding.neighbour_ranks": ("continuity", "trustworthiness"),
    "fenchel.score.embedding.stress": ("residual_variance", "stress"),
    "fenchel.score.choice": ("ChoiceOfK",),
    "fenchel.score.curve": ("Curve",),
    "fenchel.score.curves": (
        "det_curve",
        "gains_curve",
        "iso_error_line",
        "lift_curve",
        "precision_recall_curve",
        "roc_curve",
    ),
    "fenchel.score.over": ("curve_of",),
    "fenchel.score.auc": ("AUCComparison", "auc", "compare_auc", "curve_auc"),
    "fenchel.score.partial": ("curve_partial_auc", "partial_auc"),
    "fenchel.score.placement": ("compare_partial_auc",),
    "fenchel.score.local": ("curve_local_auc", "local_auc"),
    "fenchel.score.average": ("average_precision", "curve_average_precision"),
    "fenchel.score.ranking": ("average_precision_score", "roc_auc_score"),
    "fenchel.score.discrimination": ("curve_gini", "curve_ks", "gini", "ks_statistic"),
    "fenchel.score.recalibration": ("calibration_intercept", "calibration_slope"),
    "fenchel.score.stability": ("Stability", "population_stability"),
    "fenchel.score.wald": ("CoefficientTable", "coefficient_intervals"),
    "fenchel.score.band": ("ROCBand", "curve_roc_band", "roc_band"),
    "fenchel.score.folds.validate": ("Validation", "cross_validate"),
    "fenchel.score.folds.trial": ("FoldFailed",),
    "fenchel.score.folds.complexity": (
        "LearningCurve",
        "ValidationCurve",
        "learning_curve",
        "validation_curve",
    ),
    "fenchel.score.folds.selection": (
        "NestedValidation",
        "Selection",
        "nested_cross_validate",
        "select",
    ),
    "fenchel.score.folds.compare": ("ModelComparison", "ModelComparisons", "compare_models"),
    "fenchel.app.fault": ("ModelFileError",),
    "fenchel.app.modelfile.write": ("save",),
    "fenchel.app.modelfile.read": ("load", "open_model"),
    "fenchel.app.report.python": ("report",),
    "fenchel.app.choose_k": ("choose_k",),
}
_PARTS = {
    "kernels": "fenchel.geometry.kernels",
    "show": "fenchel.show",
    "testing": "fenchel.testing",
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = ["__version__", *sorted(_HOME)]


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return import_module(_PARTS[name])
    if name not in _HOME:
        raise AttributeError(f"module 'fenchel' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
