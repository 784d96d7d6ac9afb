"""Settings for the common checks; each estimator in its defaults too."""

from __future__ import annotations

from sklearn.base import BaseEstimator

from fenchel import (
    FisherDiscriminant,
    KernelFisherDiscriminant,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
    RegularizedDiscriminantAnalysis,
    RegularizedDiscriminantAnalysisCV,
)

ESTIMATORS: list[BaseEstimator] = [
    LinearDiscriminantAnalysis(),
    LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto", store_covariance=True),
    QuadraticDiscriminantAnalysis(),
    QuadraticDiscriminantAnalysis(reg_param=0.1, store_covariance=True),
    QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
    RegularizedDiscriminantAnalysis(),
    RegularizedDiscriminantAnalysis(0.1, 0.2, store_covariance=True),
    RegularizedDiscriminantAnalysisCV(),
    FisherDiscriminant(),
    FisherDiscriminant(ridge=0.1),
    KernelFisherDiscriminant(),
    KernelFisherDiscriminant(kernel="poly", degree=2, gamma="auto"),
]
