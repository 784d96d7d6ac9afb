"""The kernels of this library by name: `fenchel.kernels`."""

from __future__ import annotations

from fenchel.geometry.kernel import (
    Cosine,
    Dot,
    Gaussian,
    KernelFunction,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    Product,
    Radial,
    Scaled,
    Sigmoid,
    Sum,
)
from fenchel.geometry.kernel_centring import Centred

__all__ = [
    "Centred",
    "Cosine",
    "Dot",
    "Gaussian",
    "KernelFunction",
    "Laplacian",
    "Linear",
    "Matern",
    "Polynomial",
    "Precomputed",
    "Product",
    "Radial",
    "Scaled",
    "Sigmoid",
    "Sum",
]
