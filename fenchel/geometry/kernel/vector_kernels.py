"""Kernels k(x, z) of rows of numbers, as values that compose.

    Gaussian(0.5) + 0.1 * Polynomial(3)

Reference: Shawe-Taylor and Cristianini, Kernel Methods for Pattern Analysis (2004), chapter 3.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import Array, is_sparse, to_float64
from fenchel.data.linear_algebra.pivoted_cholesky import is_semidefinite
from fenchel.geometry.distance import absolute_distances
from fenchel.geometry.kernel.kernel_function import (
    KernelFunction,
    Product,
    Scaled,
    Sum,
    check_positive,
)
from fenchel.geometry.radial.tiles import distance_tile, prepared_for_distances

Floats = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)

__all__ = [
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


class Radial(KernelFunction):
    """A function of the squared distance alone: k(x, z) = φ(‖x - z‖²)."""

    __slots__ = ()

    @abstractmethod
    def profile(self, squares: Floats) -> Floats:
        """φ of squared distances, whose array may be overwritten."""

    def tile(self, A: Array, B: Array) -> Floats:
        A, B = self.prepared(A, B)
        return self.profile(distance_tile(A, B))

    def diagonal(self, A: Array) -> Floats:
        return self.profile(np.zeros(A.shape[0]))

    def prepared(self, *tables: Any) -> tuple[Any, ...]:
        return prepared_for_distances(tables)

    def rounding(self, columns: int) -> float:
        # A squared distance x is off by d + 4 units of itself, which moves a profile that falls
        # like e⁻ˣ by at most that many times x e⁻ˣ < 1/2.
        return 0.5 * (columns + 4.0) + 16.0


class Dot(KernelFunction):
    """A function of the inner product alone: k(x, z) = φ(x·z)."""

    __slots__ = ()

    @abstractmethod
    def profile(self, products: Floats) -> Floats:
        """φ of inner products, whose array may be overwritten."""

    def tile(self, A: Array, B: Array) -> Floats:
        products = to_float64(A) @ to_float64(B).T
        return self.profile(products.toarray() if is_sparse(products) else np.asarray(products))

    def diagonal(self, A: Array) -> Floats:
        return self.profile(_squares(A))

    def rounding(self, columns: int) -> float:
        return columns + 4.0


@final
@dataclass(frozen=True, slots=True)
class Linear(Dot):
    """k(x, z) = x·z."""

    def profile(self, products: Floats) -> Floats:
        return products


@final
@dataclass(frozen=True, slots=True)
class Polynomial(Dot):
    """k(x, z) = (γ x·z + c)ᵖ; positive semi-definite for c ≥ 0."""

    degree: int = 3
    gamma: float = 1.0
    coef0: float = 1.0

    def __post_init__(self) -> None:
        if int(self.degree) != self.degree or self.degree < 1:
            raise ValueError(f"degree must be a whole number of at least 1, got {self.degree!r}")
        check_positive("gamma", self.gamma)
        _finite("coef0", self.coef0)

    @property
    def is_psd(self) -> bool:
        return self.coef0 >= 0.0

    def rounding(self, columns: int) -> float:
        return float(self.degree) * (columns + 8.0)

    def profile(self, products: Floats) -> Floats:
        products *= self.gamma
        products += self.coef0
        return np.asarray(products ** int(self.degree))


@final
@dataclass(frozen=True, slots=True)
class Sigmoid(Dot):
    """k(x, z) = tanh(γ x·z + c), not positive semi-definite: no convex problem has it."""

    gamma: float = 1.0
    coef0: float = 1.0

    def __post_init__(self) -> None:
        check_positive("gamma", self.gamma)
        _finite("coef0", self.coef0)

    @property
    def is_psd(self) -> bool:
        return False

    def profile(self, products: Floats) -> Floats:
        products *= self.gamma
        products += self.coef0
        return np.tanh(products, out=products)


@final
@dataclass(frozen=True, slots=True)
class Cosine(KernelFunction):
    """k(x, z) = x·z / (‖x‖ ‖z‖), and 0 where either row is zero."""

    def tile(self, A: Array, B: Array) -> Floats:
        return Linear().tile(_unit_rows(A), _unit_rows(B))

    def rounding(self, columns: int) -> float:
        return 2.0 * columns + 16.0

    def diagonal(self, A: Array) -> Floats:
        return Linear().diagonal(_unit_rows(A))


@final
@dataclass(frozen=True, slots=True)
class Gaussian(Radial):
    """k(x, z) = exp(-γ ‖x - z‖²)."""

    gamma: float = 1.0

    def __post_init__(self) -> None:
        check_positive("gamma", self.gamma)

    def profile(self, squares: Floats) -> Floats:
        squares *= -self.gamma
        return np.exp(squares, out=squares)

    def tile(self, A: Array, B: Array) -> Floats:
        A, B = self.prepared(A, B)
        return distance_tile(A, B, self.gamma)


@final
@dataclass(frozen=True, slots=True)
class Matern(Radial):
    """Matérn's kernel for ν = 1/2, 3/2, 5/2, with r = √(2ν) ‖x - z‖ / length_scale.

    ν = 1/2: e⁻ʳ,  3/2: (1 + r) e⁻ʳ,  5/2: (1 + r + r²/3) e⁻ʳ

    Reference: Rasmussen and Williams, Gaussian Processes for Machine Learning (2006), section 4.2.
    """

    nu: float = 1.5
    length_scale: float = 1.0

    def __post_init__(self) -> None:
        if self.nu not in (0.5, 1.5, 2.5):
            raise ValueError(f"nu must be 0.5, 1.5 or 2.5, got {self.nu!r}")
        check_positive("length_scale", self.length_scale)

    def profile(self, squares: Floats) -> Floats:
        r = np.sqrt(squares, out=squares)
        r *= math.sqrt(2.0 * self.nu) / self.length_scale
        decay = np.exp(-r)
        if self.nu == 0.5:
            return decay
        factor = 1.0 + r if self.nu == 1.5 else 1.0 + r * (1.0 + r / 3.0)
        return np.asarray(factor * decay)


@final
@dataclass(frozen=True, slots=True)
class Laplacian(KernelFunction):
    """k(x, z) = exp(-γ ‖x - z‖₁), the sum of absolute differences."""

    gamma: float = 1.0

    def __post_init__(self) -> None:
        check_positive("gamma", self.gamma)

    def tile(self, A: Array, B: Array) -> Floats:
        distances = absolute_distances(A, B)
        distances *= -self.gamma
        return np.exp(distances, out=distances)

    def rounding(self, columns: int) -> float:
        return 0.5 * (columns + 4.0) + 8.0

    def diagonal(self, A: Array) -> Floats:
        return np.ones(A.shape[0])


@final
@dataclass(frozen=True, eq=False)
class Precomputed(KernelFunction):
    """k(i, j) = K[i, j] of a symmetric matrix that is given; its rows are the numbers of rows."""

    K: Floats = field(repr=False)

    def __post_init__(self) -> None:
        K = np.asarray(self.K, dtype=np.float64)
        if K.ndim != 2 or K.shape[0] != K.shape[1]:
            raise ValueError(f"a precomputed kernel must be a square matrix, got {K.shape}")
        if not np.isfinite(K).all():
            i, j = (int(at[0]) for at in np.nonzero(~np.isfinite(K)))
            raise ValueError(f"row {i}, column {j} of the precomputed kernel is {K[i, j]}")
        wrong = np.abs(K - K.T)
        if len(K) and wrong.max() > 64.0 * EPS * np.abs(K).max():
            i, j = divmod(int(wrong.argmax()), len(K))
            raise ValueError(
                f"the precomputed kernel is not symmetric: row {i}, column {j} is {K[i, j]:.6g} "
                f"and row {j}, column {i} is {K[j, i]:.6g}; pass (K + K') / 2"
            )
        object.__setattr__(self, "K", K)

    @cached_property
    def is_psd(self) -> bool:
        """Whether K + n ε max|K| has a Cholesky factor: O(n³/3), once."""
        return is_semidefinite(self.K)

    def tile(self, A: Array, B: Array) -> Floats:
        return self.K[np.ix_(self._numbers(A), self._numbers(B))]

    def diagonal(self, A: Array) -> Floats:
        numbers = self._numbers(A)
        return self.K[numbers, numbers]

    def _numbers(self, rows: Any) -> NDArray[np.int64]:
        given = np.asarray(rows).reshape(-1)
        numbers = given.astype(np.int64)
        if (numbers != given).any() or not ((numbers >= 0) & (numbers < len(self.K))).all():
            raise ValueError(
                f"rows of a precomputed kernel are whole numbers from 0 to {len(self.K) - 1}"
            )
        return numbers


def _squares(A: Array) -> Floats:
    """‖aᵢ‖²."""
    A = to_float64(A)
    if is_sparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).reshape(-1)
    return np.einsum("ij,ij->i", A, A)


def _unit_rows(A: Array) -> Array:
    """Rows of norm 1; zero rows stay. Scaled by the largest entry first, so that no square of it
    overflows or vanishes."""
    A = to_float64(A)
    largest = abs(A).max(axis=1)
    largest = np.asarray(largest.toarray() if is_sparse(largest) else largest).reshape(-1)
    inverse = 1.0 / np.where(largest > 0.0, largest, 1.0)
    A = A.multiply(inverse[:, None]).tocsr() if is_sparse(A) else A * inverse[:, None]
    norms = np.sqrt(_squares(A))
    inverse = 1.0 / np.where(norms > 0.0, norms, 1.0)
    return A.multiply(inverse[:, None]).tocsr() if is_sparse(A) else A * inverse[:, None]


def _finite(name: str, value: float) -> None:
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value!r}")
