"""scikit-learn estimators: parameters in, problem built, solution out, with its certificate.

Linear       LinearRegression, Ridge(CV), Lasso(CV), ElasticNet(CV), HuberRegressor,
             QuantileRegressor, LeastAbsoluteDeviations, LinearSVR, LinearSVC,
             LogisticRegression(CV), ERMRegressor, ERMClassifier, PairwiseRanker
Row by row   Perceptron, Adaline
Kernels      SVC, SVR, OneClassSVM, KernelRidge(CV), KernelLogisticRegression, Nystroem
Classes      LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis,
             RegularizedDiscriminantAnalysis(CV), FisherDiscriminant, KernelFisherDiscriminant
Neighbours   NearestNeighbors, KNeighborsClassifier, KNeighborsRegressor, NadarayaWatson(Classifier)
Clusters     KMeans, BisectingKMeans, SpectralClustering, DensityQuantization, GaussianMixture,
             KernelDensity
Maps         PCA, KernelPCA, ClassicalMDS, Isomap, LocallyLinearEmbedding, SpectralEmbedding
Functions    certify, lasso_path, enet_path, kmeans_lower_bound, quantize_density, concordance,
             kneighbors_graph, radius_neighbors_graph

A fit sets `certificate_` and `converged_`; `certify(model, X, y)` proves a fitted model of
scikit-learn. Names are loaded from their modules when first used.
"""

from fenchel.data.display.public_page import public_page

__all__, __getattr__, __dir__ = public_page(
    __name__,
    {
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
    },
)
