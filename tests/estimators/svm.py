"""Kernel machines, as the common checks and the model file take them."""

from __future__ import annotations

from sklearn.base import BaseEstimator

from fenchel import SVC, SVR, OneClassSVM, kernels

ESTIMATORS: list[BaseEstimator] = [
    SVC(),
    SVC(kernel="linear", class_weight="balanced", break_ties=True),
    SVC(kernel=kernels.Gaussian(0.2) + 0.5 * kernels.Laplacian(0.1), multi_class="ovr"),
    SVC(probability=True, warm_start=True),
    SVR(),
    SVR(kernel="linear", epsilon=0.0),
    OneClassSVM(),
    OneClassSVM(kernel=kernels.Matern(1.5, 2.0), nu=0.2),
]
