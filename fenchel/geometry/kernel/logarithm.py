"""Logarithms of kernels, by their own formulas: where the kernel underflows its logarithm does not.

    log k(x/h, z/h)   for several bandwidths h at once; squared distances are made once for all

Reference: Wand and Jones, Kernel Smoothing (1995), section 2.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import Array
from fenchel.geometry.distance import absolute_distances, squared_distances
from fenchel.geometry.kernel.vector_kernels import (
    Gaussian,
    KernelFunction,
    Laplacian,
    Matern,
    Product,
    Radial,
    Scaled,
    Sum,
)

Floats = NDArray[np.float64]


def log_kernels(kernel: KernelFunction, A: Array, B: Array, bandwidths: Floats) -> Iterator[Floats]:
    """The matrix of log k(aᵢ/h, bⱼ/h) for each bandwidth h; an error where k is negative."""
    if is_of_squares(kernel):
        squares = squared_distances(A, B)
        for h in bandwidths.tolist():
            yield _of_squares(kernel, squares / (h * h))
    else:
        for h in bandwidths.tolist():
            yield _of_rows(kernel, A / h, B / h)


def is_of_squares(kernel: KernelFunction) -> bool:
    """Whether a kernel is a function of the squared distance alone."""
    if isinstance(kernel, Sum | Product):
        return is_of_squares(kernel.first) and is_of_squares(kernel.second)
    if isinstance(kernel, Scaled):
        return is_of_squares(kernel.kernel)
    return isinstance(kernel, Radial)


def _of_squares(kernel: KernelFunction, squares: Floats) -> Floats:
    if isinstance(kernel, Sum):
        parts = _of_squares(kernel.first, squares), _of_squares(kernel.second, squares)
        return np.asarray(np.logaddexp(*parts))
    if isinstance(kernel, Product):
        return _of_squares(kernel.first, squares) + _of_squares(kernel.second, squares)
    if isinstance(kernel, Scaled):
        return _of_squares(kernel.kernel, squares) + math.log(kernel.factor)
    if isinstance(kernel, Gaussian):
        return -kernel.gamma * squares
    if isinstance(kernel, Matern):
        r = np.sqrt(squares) * (math.sqrt(2.0 * kernel.nu) / kernel.length_scale)
        if kernel.nu == 0.5:
            return np.asarray(-r)
        factor = 1.0 + r if kernel.nu == 1.5 else 1.0 + r * (1.0 + r / 3.0)
        # Where r² overflows the kernel is zero in any precision.
        return np.where(np.isfinite(factor), np.log(factor) - r, -np.inf)
    if isinstance(kernel, Radial):
        return _logarithm(kernel, kernel.profile(squares.copy()))
    raise TypeError(f"{kernel!r} is no function of the squared distance")


def _of_rows(kernel: KernelFunction, A: Array, B: Array) -> Floats:
    if isinstance(kernel, Sum):
        return np.asarray(np.logaddexp(_of_rows(kernel.first, A, B), _of_rows(kernel.second, A, B)))
    if isinstance(kernel, Product):
        return _of_rows(kernel.first, A, B) + _of_rows(kernel.second, A, B)
    if isinstance(kernel, Scaled):
        return _of_rows(kernel.kernel, A, B) + math.log(kernel.factor)
    if isinstance(kernel, Laplacian):
        return -kernel.gamma * absolute_distances(A, B)
    if is_of_squares(kernel):
        return _of_squares(kernel, squared_distances(A, B))
    return _logarithm(kernel, kernel.tile(A, B))


def _logarithm(kernel: KernelFunction, values: Floats) -> Floats:
    low = float(values.min(initial=0.0))
    # A matrix product leaves a zero at the size of rounding.
    if not low >= -1e-12 * float(np.abs(values).max(initial=0.0)):
        raise ValueError(
            f"{kernel!r} takes the value {low:.3g}: weights of an average must not be negative; "
            "take a kernel such as Gaussian, Laplacian or Matern"
        )
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(values, 0.0, out=values), out=values)
