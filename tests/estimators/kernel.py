"""Settings for the common checks; each estimator in its defaults too."""

from __future__ import annotations

from sklearn.base import BaseEstimator

ESTIMATORS: list[BaseEstimator] = []
