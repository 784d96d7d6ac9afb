"""Targets of a regression, and the base classes of linear regressors."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import _num_samples, column_or_1d

from fenchel.data.blocks import Blocks
from fenchel.models.estimator import Estimator, as_numpy, is_remote, linear_scores, validated_blocks
from fenchel.models.rounding import is_in_range

Floats = NDArray[np.float64]


class LinearRegressor(MultiOutputMixin, RegressorMixin, Estimator):
    """A fitted linear model of one or several real targets."""

    coef_: Any
    intercept_: Any

    def predict(self, X: Any) -> Any:
        """x·w + b for each row: shape (n,), or (n, K) for K targets; a tensor for a tensor."""
        return linear_scores(self, X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class SingleTarget(LinearRegressor):
    """A fitted linear model of one real target."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        tags.target_tags.single_output = True
        return tags


def single_rows(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Blocks:
    """The rows with their one target beside them."""
    if y is not None and not is_remote(X):
        y = column_or_1d(as_numpy(y), warn=True)
    return target_rows(estimator, X, y, sample_weight)


def target_rows(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Blocks:
    """The rows with their targets beside them; a number as weight stands for every row."""
    sample_weight = weight_of_rows(X, sample_weight)
    if is_remote(X):
        if y is None:
            _check_own_target(estimator, X)
        return validated_blocks(estimator, X, y, sample_weight)
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None"
        )
    target = as_numpy(y)
    if target.dtype.kind in "iub":
        target = target.astype(np.float64)
    if target.ndim == 2 and target.shape[1] == 0:
        raise ValueError(f"y has no column: shape {target.shape}")
    blocks = validated_blocks(estimator, X, target, sample_weight)
    top = np.finfo(blocks.dtype).max
    if blocks.dtype != np.float64 and (np.abs(target.astype(np.float64)) > top).any():
        raise ValueError(f"y holds numbers beyond {blocks.dtype}, the type of X: give X in float64")
    return blocks


def weight_of_rows(X: Any, sample_weight: Any) -> Any:
    """The weight of each row; a number stands for every row."""
    if not isinstance(sample_weight, Real):
        return sample_weight
    rows = X.n_rows if isinstance(X, Blocks) else _num_samples(X)
    return np.full(rows, float(sample_weight))


def _check_own_target(estimator: Any, X: Any) -> None:
    """Refuses remote rows whose target is missing, or texts held as codes."""
    name = type(estimator).__name__
    if not isinstance(X, Blocks) or next(iter(X)).y is None:
        raise ValueError(f"{name} needs a target: pass y, or target= to scan")
    if X.classes is not None and X.classes.dtype.kind in "OUS":
        raise ValueError(
            f"{name} needs a target of numbers, but that of the table holds labels such as "
            f"{X.classes.tolist()[0]!r}: choose another target, or a classifier"
        )


def set_coefficients(
    estimator: Any, w: Floats, b: Floats, flat: bool, dtype: np.dtype[Any], *, ravel: bool
) -> None:
    """coef_ and intercept_ from w (d, K), b (K,): scikit-learn's shapes, the precision of X.

    ravel: whether a single column of targets gives a vector of coefficients too.
    """
    if not (is_in_range(w, dtype) and is_in_range(b, dtype)):
        dtype = np.dtype(np.float64)
    single = flat or (ravel and w.shape[1] == 1)
    estimator.coef_ = np.ascontiguousarray(w[:, 0] if single else w.T, dtype=dtype)
    if not estimator.fit_intercept:
        estimator.intercept_ = 0.0
    else:
        estimator.intercept_ = dtype.type(b[0]) if flat else b.astype(dtype)
