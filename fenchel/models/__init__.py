"""scikit-learn estimators: parameters in, problem built, solution out.

Names are loaded from their modules when first used.
"""

from importlib import import_module
from typing import Any

_MODULES = {
    "linear.linear_regression": ("LinearRegression",),
    "rank_deficiency": ("RankDeficient",),
    "linear.ridge": (
        "Ridge",
        "RidgeCV",
    ),
    "linear.huber": (
        "HuberRegressor",
        "VanishingScale",
    ),
    "lasso.lasso": (
        "ElasticNet",
        "Lasso",
    ),
    "lasso.lasso_path": (
        "enet_path",
        "lasso_path",
    ),
    "lasso.lasso_cv": (
        "ElasticNetCV",
        "LassoCV",
    ),
    "linear.ranking": (
        "PairwiseRanker",
        "concordance",
    ),
    "linear.logistic": ("LogisticRegression",),
    "linear.logistic_cv": ("LogisticRegressionCV",),
    "online.perceptron": (
        "NotSeparable",
        "Perceptron",
    ),
    "online.adaline": (
        "Adaline",
        "Diverged",
    ),
    "linear.erm": (
        "ERMClassifier",
        "ERMRegressor",
    ),
    "linear.svm": (
        "LinearSVC",
        "LinearSVR",
    ),
    "linear.quantile": (
        "LeastAbsoluteDeviations",
        "QuantileRegressor",
    ),
    # clusters
    "cluster.kmeans": ("KMeans",),
    "cluster.bisecting": ("BisectingKMeans",),
    "cluster.quantization.quantize": (
        "DensityQuantization",
        "quantize_density",
    ),
    "cluster.bounds.lower_bound": (
        "KMeansBound",
        "kmeans_lower_bound",
    ),
    "cluster.spectral.clustering": ("SpectralClustering",),
    # mixtures and densities
    "mixture.gaussian": ("GaussianMixture",),
    "mixture.kernel_density": ("KernelDensity",),
    # discriminants
    "discriminant.linear": ("LinearDiscriminantAnalysis",),
    "discriminant.fisher.fisher": ("FisherDiscriminant",),
    "discriminant.fisher.kernel_fisher": ("KernelFisherDiscriminant",),
    "discriminant.quadratic": ("QuadraticDiscriminantAnalysis",),
    "discriminant.regularized": (
        "RegularizedDiscriminantAnalysis",
        "RegularizedDiscriminantAnalysisCV",
    ),
    # neighbours and local averages
    "neighbours.nearest": (
        "NearestNeighbors",
        "kneighbors_graph",
        "radius_neighbors_graph",
    ),
    "neighbours.classifier": ("KNeighborsClassifier",),
    "neighbours.regressor": ("KNeighborsRegressor",),
    "neighbours.nadaraya_watson": (
        "NadarayaWatson",
        "NadarayaWatsonClassifier",
    ),
    # principal components and the spectral family
    "spectral.pca": ("PCA",),
    "manifold.locally_linear": ("LocallyLinearEmbedding",),
    "manifold.spectral_embedding": ("SpectralEmbedding",),
    "manifold.isomap": ("Isomap",),
    "spectral.classical_mds": ("ClassicalMDS",),
    "spectral.kernel_pca": ("KernelPCA",),
    # kernel machines
    "kernel.ridge": ("KernelRidge",),
    "kernel.nystroem": ("Nystroem",),
    "kernel.ridge_cv": ("KernelRidgeCV",),
    "kernel.logistic": ("KernelLogisticRegression",),
    # support vector machines
    "kernel.svm.svc": ("SVC",),
    "kernel.svm.svr": ("SVR",),
    "kernel.svm.one_class_svm": ("OneClassSVM",),
    # certificates
    "certificates.certify": ("certify",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'fenchel.models' has no attribute {name!r}")
    value = getattr(import_module(f"fenchel.models.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
