"""Settings for the common checks; each estimator in its defaults too."""

from __future__ import annotations

from sklearn.base import BaseEstimator

from fenchel import PCA, ClassicalMDS, KernelPCA

ESTIMATORS: list[BaseEstimator] = [
    PCA(),
    PCA(n_components=1, svd_solver="covariance_eigh", whiten=True),
    PCA(n_components=1, svd_solver="arpack"),
    ClassicalMDS(),
    ClassicalMDS(n_components=1, n_landmarks=3),
    KernelPCA(),
    KernelPCA(n_components=1, kernel="rbf", scaling="sphered", fit_inverse_transform=True),
    KernelPCA(n_components=1, kernel="rbf", landmarks=3),
]
