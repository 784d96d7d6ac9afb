"""Kernels by the names and parameters of scikit-learn, as values of this library.

"linear", "poly" or "polynomial", "rbf", "laplacian", "sigmoid", "cosine", "precomputed", a
function, or a kernel such as Gaussian(0.5) + 0.1 * Polynomial(3)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import Array, is_sparse, to_numpy
from fenchel.data.blocks import Blocks
from fenchel.geometry.bandwidth import median_gamma, scale_gamma
from fenchel.geometry.kernel.vector_kernels import (
    Cosine,
    Gaussian,
    KernelFunction,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
)

Floats = NDArray[np.float64]
NAMES = ("linear", "poly", "polynomial", "rbf", "laplacian", "sigmoid", "cosine", "precomputed")
GAMMAS = ("scale", "auto", "median")
WITH_GAMMA = ("poly", "polynomial", "rbf", "laplacian", "sigmoid")


@final
@dataclass(frozen=True)
class FunctionOfRows(KernelFunction):
    """k(x, z) by a function of two rows, called once a pair: slow. That it is symmetric and
    positive semi-definite is taken on trust, and found out by the factor of its Gram matrix."""

    function: Callable[[Any, Any], float]

    def tile(self, A: Array, B: Array) -> Floats:
        left, right = list(_dense(A)), list(_dense(B))
        values = [[self.function(a, b) for b in right] for a in left]
        return np.array(values, np.float64).reshape(len(left), len(right))

    def diagonal(self, A: Array) -> Floats:
        return np.array([self.function(a, a) for a in _dense(A)], np.float64)


@final
@dataclass(frozen=True)
class FunctionOfTables(KernelFunction):
    """k by a function of two tables that gives the matrix of all pairs; on trust, as above."""

    function: Callable[[Any, Any], Any]

    def tile(self, A: Array, B: Array) -> Floats:
        K = np.asarray(self.function(A, B), np.float64)
        if K.shape != (A.shape[0], B.shape[0]):
            raise ValueError(
                f"the kernel function gave an array of shape {K.shape} for {A.shape[0]} and "
                f"{B.shape[0]} rows: it must give one value for each pair"
            )
        return K

    def diagonal(self, A: Array) -> Floats:
        return np.array([self.tile(A[i : i + 1], A[i : i + 1])[0, 0] for i in range(A.shape[0])])


@final
@dataclass(frozen=True, slots=True)
class GivenColumns(KernelFunction):
    """k(x, xⱼ) = the j-th entry of x: what "precomputed" means for rows that were not fitted. The
    second argument holds numbers of columns; it is no function of two new rows."""

    def tile(self, A: Array, B: Array) -> Floats:
        A = A.toarray() if is_sparse(A) else np.asarray(A)
        return np.asarray(A[:, np.asarray(B).reshape(-1).astype(np.int64)], np.float64)

    def diagonal(self, A: Array) -> Floats:
        raise ValueError("kernel='precomputed' does not know k(x, x) of rows that were not fitted")


@dataclass(frozen=True, slots=True)
class FittedKernel:
    """A kernel and the rows that its functions belong to.

    kernel, rows: k and the rows as it takes them; outside: k(x, xⱼ) of new rows and these.
    """

    kernel: KernelFunction
    rows: Any = field(repr=False)
    outside: KernelFunction


def named_kernel(
    kernel: Any,
    blocks: Blocks,
    *,
    gamma: float | str | None = None,
    degree: float = 3,
    coef0: float = 1.0,
    function_of: Literal["rows", "tables"] = "rows",
    parameters: dict[str, Any] | None = None,
) -> KernelFunction:
    """The kernel of a name, with its parameters from the rows where they are named too.

    gamma: a positive number, "scale", "auto" (also None) or "median"; function_of: what a function
    that is given takes, and parameters: its keywords. For "precomputed" the rows are the matrix.
    """
    if isinstance(kernel, KernelFunction):
        return kernel
    if callable(kernel):
        more = dict(parameters or {})

        def function(a: Any, b: Any) -> Any:
            return kernel(a, b, **more)

        plain = function if more else kernel
        return FunctionOfRows(plain) if function_of == "rows" else FunctionOfTables(plain)
    if kernel not in NAMES:
        raise ValueError(
            f"kernel={kernel!r} is not known: take one of {', '.join(NAMES)}, a function, or a "
            "kernel of fenchel.kernels"
        )
    if kernel == "precomputed":
        return Precomputed(_whole(blocks))
    if kernel == "linear":
        return Linear()
    if kernel == "cosine":
        return Cosine()
    width = gamma_of(gamma, kernel, blocks)
    if kernel == "rbf":
        return Gaussian(width)
    if kernel == "laplacian":
        return Laplacian(width)
    if kernel == "sigmoid":
        return Sigmoid(width, float(coef0))
    if int(degree) != degree or degree < 1:
        raise ValueError(f"degree must be a whole number of at least 1, got {degree!r}")
    return Polynomial(int(degree), width, float(coef0))


def gamma_of(gamma: Any, kernel: str, blocks: Blocks) -> float:
    """γ by a number or a rule."""
    if gamma is None or gamma == "auto":
        return 1.0 / blocks.n_cols
    if gamma == "scale":
        return scale_gamma(blocks)
    if gamma == "median":
        if kernel not in ("rbf", "laplacian"):
            raise ValueError(
                f"gamma='median' is a rule for kernels of distances, not for {kernel!r}: give a "
                "number, 'scale' or 'auto'"
            )
        return median_gamma(blocks, absolute=kernel == "laplacian")
    if isinstance(gamma, bool) or not isinstance(gamma, Real):
        raise ValueError(f"gamma must be a positive number or one of {GAMMAS}, got {gamma!r}")
    if not 0.0 < float(gamma) < np.inf:
        raise ValueError(f"gamma must be positive and finite, got {gamma!r}")
    return float(gamma)


def fitted_kernel(kernel: KernelFunction, rows: Any, given: bool = False) -> FittedKernel:
    """The kernel on the rows of a fit; given: whether these are rows of the Gram matrix itself."""
    if not given:
        return FittedKernel(kernel, rows, kernel)
    numbers = np.arange(rows.shape[0])
    return FittedKernel(kernel, numbers, GivenColumns())


def _whole(blocks: Blocks) -> Floats:
    X = blocks.gather().X
    return np.asarray(X.toarray(), np.float64) if is_sparse(X) else to_numpy(X)


def _dense(A: Any) -> Any:
    return A.toarray() if is_sparse(A) else A
