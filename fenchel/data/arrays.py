"""Arrays of numpy, torch and scipy.sparse: conversions, and functions that do not overflow."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_torch_array
from numpy.typing import NDArray
from scipy.sparse import issparse

Array = Any  # a numpy array, a scipy sparse array or a torch tensor: whatever has `@`


def softplus(z: Array) -> Array:
    """log(1 + eᶻ) = max(z, 0) + log1p(e⁻|ᶻ|)."""
    xp = array_namespace(z)
    return xp.clip(z, 0.0, None) + xp.log1p(xp.exp(-xp.abs(z)))


def sigmoid(z: Array) -> Array:
    """1 / (1 + e⁻ᶻ), written so that the exponential never overflows."""
    xp = array_namespace(z)
    small = xp.exp(-xp.abs(z))
    return xp.where(z >= 0, 1.0, small) / (1.0 + small)


def logsumexp(z: Array) -> Array:
    """log Σₖ e^{zₖ} over the last axis, shifted by the largest entry."""
    xp = array_namespace(z)
    top = xp.max(z, axis=-1, keepdims=True)
    return top[..., 0] + xp.log(xp.sum(xp.exp(z - top), axis=-1))


def softmax(z: Array) -> Array:
    """e^{zₖ} / Σⱼ e^{zⱼ} over the last axis."""
    xp = array_namespace(z)
    e = xp.exp(z - xp.max(z, axis=-1, keepdims=True))
    return e / xp.sum(e, axis=-1, keepdims=True)


def to_numpy(x: Array) -> NDArray[Any]:
    """The values as a numpy array; floating values as float64."""
    if is_torch_array(x):
        x = x.detach()
        x = (x.double() if x.is_floating_point() else x).cpu().numpy()
    x = np.asarray(x)
    return x.astype(np.float64, copy=False) if x.dtype.kind == "f" else x


def like(values: NDArray[Any], X: Array) -> Array:
    """The values in the library, floating type and device of X."""
    if is_torch_array(X):
        xp = array_namespace(X)
        return xp.asarray(np.ascontiguousarray(values), device=X.device).to(X.dtype)
    return np.asarray(values, dtype=X.dtype)


def to_float64(X: Array) -> Array:
    """X in float64, in its own library and on its own device: exact from float32."""
    if is_torch_array(X):
        return X.double()
    return X if X.dtype == np.float64 else X.astype(np.float64)


def to_numpy_tuple(parts: Any) -> Any:
    """Nested sums with their device tensors as float64 numpy arrays: one copy, and so one wait for
    the device, however many there are. What lies on the host is left as it is."""
    tensors: list[Any] = []

    def collect(part: Any) -> None:
        if isinstance(part, tuple):
            for one in part:
                collect(one)
        elif is_torch_array(part):
            tensors.append(part)

    collect(parts)
    if not tensors:
        return parts
    xp = array_namespace(*tensors)
    flat = to_numpy(xp.concat([xp.reshape(t, (-1,)).double() for t in tensors]))
    cuts = np.cumsum([t.numel() for t in tensors])[:-1]
    arrays = iter(np.split(flat, cuts))

    def placed(part: Any) -> Any:
        if isinstance(part, tuple):
            return type(part)(*(placed(one) for one in part))
        if not is_torch_array(part):
            return part
        values = next(arrays)
        return values.reshape(tuple(part.shape)) if part.ndim else float(values[0])

    return placed(parts)


def is_sparse(X: Array) -> bool:
    return bool(issparse(X))


def is_strings(X: Array) -> bool:
    """Whether rows are strings: Python objects, one a row, in a column."""
    return isinstance(X, np.ndarray) and X.dtype == object


def answer_type(X: Array) -> np.dtype[Any]:
    """The floating type of answers about rows: their own; float64 for strings."""
    return np.dtype("float64" if is_strings(X) else str(X.dtype).removeprefix("torch."))
