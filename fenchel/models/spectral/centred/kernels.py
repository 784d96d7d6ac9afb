"""What continues the eigenfunctions of a centred kernel: rows of the fit, features, landmarks.

    P(x, xⱼ) = (k(x, xⱼ) - m(x) - m(xⱼ) + μ) sⱼ
    m(x) = Σᵢ pᵢ k(x, xᵢ),   μ = Σᵢ pᵢ m(xᵢ),   p = s / Σ s

A point with coordinates z stands for a combination of features, Σᵢ γᵢ κ(xᵢ, ·), which pre-images
are to be near.

Reference: Schölkopf, Smola and Müller, Nonlinear component analysis as a kernel eigenvalue problem,
Neural Computation 10 (1998), appendices A and B.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fenchel.data.parallel import one_blas_thread, parallel_map
from fenchel.geometry.kernel.nystroem import NystroemFeatures
from fenchel.geometry.kernel.vector_kernels import KernelFunction, Linear
from fenchel.models.spectral.centred.distances import ShiftedRows
from fenchel.models.spectral.centred.operators import centred_against

Floats = NDArray[np.float64]
RANGE = 1024  # rows whose values are made at once on a thread


@final
@dataclass(frozen=True, slots=True, eq=False)
class CentredKernel:
    """P of a kernel on rows of the fit, over 4ᵉ.

    points: those rows as the kernel takes them; share: p; means: m(xⱼ) over 4ᵉ; grand: μ over 4ᵉ;
    weight: s, None for 1.
    """

    kernel: KernelFunction
    points: Any = field(repr=False)
    share: Floats = field(repr=False)
    means: Floats = field(repr=False)
    grand: float
    weight: Floats | None = field(default=None, repr=False)
    exponent: int = 0

    def extend(self, X: Any) -> Floats:
        K = self.kernel.tile(X, self.points)
        if self.exponent:
            K = np.ldexp(K, -2 * self.exponent)
        return centred_against(K, self.share, self.means, self.grand, self.weight)

    def expansion(self, coefficients: Floats, Z: Floats) -> tuple[Any, Floats]:
        """The points and γ (m, n) of the features Σⱼ zⱼ vⱼ + their mean, of each row z of Z.

        coefficients: (n, k), of unit directions vⱼ: this P @ coefficients = ⟨κ̃(x), v⟩.
        """
        C = np.ldexp(coefficients, -2 * self.exponent)
        along = Z @ (C if self.weight is None else C * self.weight[:, None]).T
        return self.points, along + self.share * (1.0 - along.sum(axis=1))[:, None]


@final
@dataclass(frozen=True, slots=True, eq=False)
class LinearFeatures:
    """r(x) = (x - m) / 2ᵉ; points: the rows of the fit, which no new row needs."""

    shift: ShiftedRows | Any
    points: Any = field(repr=False)

    @property
    def kernel(self) -> KernelFunction:
        return Linear()

    def extend(self, X: Any) -> Floats:
        return self.shift.extend(X)

    def pre_images(self, coefficients: Floats, Z: Floats) -> Floats:
        """The rows with these coordinates: m + Σ zⱼvⱼ."""
        return np.asarray(self.shift.mean + Z @ np.ldexp(coefficients, -self.shift.exponent).T)


@final
@dataclass(frozen=True, slots=True, eq=False)
class LandmarkFeatures:
    """r(x) = (φ(x) - m) / 2ᵉ of Nyström's features, whose inner products are P."""

    features: NystroemFeatures
    mean: Floats = field(repr=False)
    exponent: int = 0

    @property
    def points(self) -> Any:
        """The landmarks."""
        return self.features.points

    @property
    def kernel(self) -> KernelFunction:
        return self.features.kernel

    def extend(self, X: Any) -> Floats:
        return np.ldexp(self.features.rows(X), -self.exponent) - self.mean

    def expansion(self, coefficients: Floats, Z: Floats) -> tuple[Any, Floats]:
        """As of `CentredKernel`, over the landmarks; coefficients: (r, k)."""
        mean = np.ldexp(self.mean, self.exponent)
        found = mean + Z @ np.ldexp(coefficients, -self.exponent).T
        return self.points, found @ self.features.basis.T


def by_ranges(of: Callable[[Any], Floats], X: Any, out: Floats) -> Floats:
    """of(rows), as many numbers for each row of X as `out` has columns, by ranges of rows on every
    thread."""
    n = int(X.shape[0])

    def fill(lo: int) -> None:
        with one_blas_thread():
            out[lo : lo + RANGE] = of(X[lo : lo + RANGE])

    with one_blas_thread():
        parallel_map(fill, range(0, n, RANGE))
    return out
