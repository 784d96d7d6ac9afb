"""What Gaussian classifiers are asked: priors, shrinkage and covariance estimators, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from fenchel.convex.certificate import warn_outside
from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.blocks import Blocks
from fenchel.models.discriminant.estimates.class_sums import ClassSums, scaled
from fenchel.models.estimator import as_numpy

Floats = NDArray[np.float64]


def priors_of(estimator: Any, weight: Floats, *, warn: bool = True) -> Floats:
    """The prior of each class: as given, made to sum to one, or its share of the weight; warn:
    whether to say so of those that do not."""
    if estimator.priors is None:
        return weight / weight.sum()
    priors = np.asarray(estimator.priors, dtype=np.float64)
    if priors.shape != weight.shape:
        raise ValueError(
            f"priors has shape {priors.shape}, but there are {len(weight)} classes "
            f"{estimator.classes_.tolist()}: give one number for each"
        )
    bad = np.flatnonzero(~(priors >= 0.0) | np.isinf(priors))
    if len(bad):
        k = int(bad[0])
        raise ValueError(
            f"priors must be non-negative and finite, but that of class "
            f"{estimator.classes_.tolist()[k]!r} is {priors[k]}"
        )
    total = float(priors.sum())
    if total <= 0.0:
        raise ValueError("priors are all zero: give at least one class a positive one")
    if warn and abs(total - 1.0) > 1e-5:
        warn_outside("The priors do not sum to 1. Renormalizing", UserWarning)
    return priors / total


def takes_parts(estimator: Any) -> bool:
    """Whether the moments of the classes tell everything; Ledoit and Wolf's choice and the user's
    own estimators look at all rows again."""
    return estimator.shrinkage != "auto" and estimator.covariance_estimator is None


def check_shrinkage(estimator: Any) -> None:
    """Refuses two estimates of one covariance."""
    if estimator.covariance_estimator is not None and estimator.shrinkage not in (None, 0):
        raise ValueError(
            "covariance_estimator and shrinkage parameters are not None. Only one of the two can "
            "be set."
        )


def own_estimates(estimator: Any, sums: ClassSums, blocks: Blocks) -> Floats:
    """The covariance (K, d, d) of each class by the user's own estimator, from the class's rows,
    gathered in memory, in the units of the sums."""
    whole = scaled(blocks, sums.exponent).gather()
    X = as_numpy(whole.X.toarray() if is_sparse(whole.X) else whole.X)
    codes = to_numpy(whole.y)
    if whole.weight is not None:
        codes = np.where(to_numpy(whole.weight) > 0.0, codes, -1)
    labels = enumerate(estimator.classes_.tolist())
    return np.array([_estimated(estimator, X[codes == k], label) for k, label in labels])


def _estimated(estimator: Any, X: Any, label: Any) -> Floats:
    """The covariance that the user's own estimator finds for some rows."""
    found = clone(estimator.covariance_estimator).fit(X)
    if "covariance_" not in vars(found):
        name = type(found).__name__
        raise ValueError(f"{name} does not have a covariance_ attribute")
    S = np.asarray(found.covariance_, dtype=np.float64)
    if not np.isfinite(S).all():
        raise ValueError(f"the covariance of class {label!r} is not finite")
    return S
