"""Settings for the common checks; each estimator in its defaults too."""

from __future__ import annotations

from sklearn.base import BaseEstimator

from fenchel import GaussianMixture, KernelDensity

ESTIMATORS: list[BaseEstimator] = [
    GaussianMixture(),
    GaussianMixture(2, n_init=2),
    GaussianMixture(2, covariance_type="tied", init_params="k-means++", tol=1e-8),
    GaussianMixture(2, covariance_type="diag", init_params="random_from_data"),
    GaussianMixture(3, covariance_type="spherical", max_iter=500, tol=1e-10),
    KernelDensity(),
    KernelDensity(bandwidth="loo", kernel="epanechnikov"),
    KernelDensity(bandwidth="scott", kernel="exponential", metric="manhattan"),
]
