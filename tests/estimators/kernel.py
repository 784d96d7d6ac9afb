"""Kernel expansions, as the common checks and the model file take them."""

from __future__ import annotations

from sklearn.base import BaseEstimator

from fenchel import KernelLogisticRegression, KernelRidge, KernelRidgeCV, Nystroem, kernels

ESTIMATORS: list[BaseEstimator] = [
    KernelRidge(),
    KernelRidge(0.1, kernel=kernels.Gaussian(0.2) + 0.5 * kernels.Laplacian(0.1)),
    Nystroem(),
    Nystroem(kernels.Matern(1.5), n_components=20, random_state=0),
    KernelRidgeCV(),
    KernelRidgeCV([0.01, 1.0], kernel="rbf", cv=3),
    KernelLogisticRegression(),
    KernelLogisticRegression(C=10.0, kernel=kernels.Laplacian(0.3), fit_intercept=False),
]
