"""Fitted arrays in the array library of the rows: tensors for tensors, as scikit-learn does it.

scikit-learn answers in the library of its input where `array_api_dispatch` is set in its
configuration, and in numpy otherwise. The same holds here for what a fit sets; scores of tensors
are tensors in any case.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from array_api_compat import (
    array_namespace,
    is_array_api_obj,
    is_dask_array,
    is_numpy_array,
    is_torch_array,
)
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import _fit_context
from sklearn.utils._array_api import move_to

E = TypeVar("E")


def dispatches(X: Any) -> bool:
    """Whether answers are to be in the library of X, which is not numpy's."""
    return (_is_foreign(X) or is_torch_array(X)) and bool(get_config()["array_api_dispatch"])


def as_known(x: Any) -> Any:
    """An array of a library other than numpy and torch, on any device, as numpy's."""
    return move_to(x, xp=np, device="cpu") if _is_foreign(x) else x


def on_device_of(values: NDArray[Any], X: Any) -> Any:
    """The values in the library and on the device of X, in their own precision."""
    xp = array_namespace(X)
    moved = xp.asarray(np.ascontiguousarray(values), device=X.device)
    return xp.reshape(moved, np.shape(values))  # numpy makes a vector of a scalar


def fit_method(fit: Callable[..., E]) -> Callable[..., E]:
    """scikit-learn's checks before a fit, and the library of X for what the fit sets."""

    return _checked(fit, True)


def fit_of_rows(fit: Callable[..., E]) -> Callable[..., E]:
    """`fit_method` of an estimator that keeps the rows themselves: they and what is beside them
    stay numpy's, which its searches read."""
    return _checked(fit, False)


def _checked(fit: Callable[..., E], moves: bool) -> Callable[..., E]:
    @wraps(fit)
    def wrapped(self: Any, X: Any, *args: Any, **params: Any) -> E:
        given = {name: as_known(value) for name, value in params.items()}
        fitted = fit(self, as_known(X), *map(as_known, args), **given)
        if moves and dispatches(X):
            for name, value in vars(self).items():
                if name.endswith("_") and name != "classes_" and _is_numeric(value):
                    setattr(self, name, on_device_of(np.asarray(value), X))
        return fitted

    return _fit_context(prefer_skip_nested_validation=True)(wrapped)


def _is_foreign(x: Any) -> bool:
    known = is_numpy_array(x) or is_torch_array(x) or is_dask_array(x)
    return is_array_api_obj(x) and not known


def _is_numeric(value: Any) -> bool:
    array = isinstance(value, np.ndarray) and value.dtype.kind in "fiub"
    return array or isinstance(value, np.floating)
