"""Residuals of eigenpairs, and what they prove: Weyl's bound for symmetric matrices.

A = A', |v| = 1, r = |Av - λv|: some eigenvalue of A lies within r of λ; and for orthonormal V,
Λ = V'AV diagonal, as many as V has columns lie, each within |AV - VΛ|₂, about those of Λ.

That these are the leading eigenvalues no residual proves: a start orthogonal to an eigenvector
never finds it. So the certificate is of kind "eigen", closes by its residual, and bounds nothing.

Reference: Parlett, The Symmetric Eigenvalue Problem (1998), sections 4.5 and 11.5; Fan, On a
theorem of Weyl concerning eigenvalues of linear transformations, PNAS 35 (1949).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.convex.objective import Objective

Floats = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)


class SymmetricOperator(Protocol):
    """A = A' by its products: an array, a sparse matrix, SciPy's LinearOperator, a kernel."""

    @property
    def shape(self) -> Any: ...

    def __matmul__(self, other: Any, /) -> Any: ...


@dataclass(frozen=True, slots=True, eq=False)
class RitzPairs:
    """Ritz pairs of A in the span of a basis, the largest first.

    value: -tr(V'AV), which is to be minimised; values: λ; vectors: V (n, k); images: AV; residuals:
    |Avⱼ - λⱼvⱼ|; norm: a lower bound of |A|, the largest length of a unit vector's image, or Ritz
    value of either sign, seen so far.
    """

    value: float
    values: Floats
    vectors: Floats
    images: Floats
    residuals: Floats
    norm: float

    @property
    def residual(self) -> float:
        """The largest residual, relative to |A|."""
        top = float(self.residuals.max(initial=0.0))
        return top / self.norm if self.norm > 0.0 else 0.0


def ritz_pairs(
    basis: Floats, images: Floats, k: int, norm: float = 0.0, T: Floats | None = None
) -> RitzPairs:
    """Rayleigh and Ritz: the k largest eigenpairs of T = Q'AQ, taken back to the whole space.

    basis: Q, orthonormal; images: AQ; norm: what is known already of |A|.
    """
    T = basis.T @ images if T is None else T
    values, Y = np.linalg.eigh(0.5 * T + 0.5 * T.T)
    norm = max(norm, float(np.abs(values).max()))
    values, Y = values[::-1][:k], Y[:, ::-1][:, :k]
    vectors, images = basis @ Y, images @ Y
    norm = max(norm, float(lengths(images).max()))
    residuals = lengths(images - vectors * values)
    return RitzPairs(-float(values.sum()), values, vectors, images, residuals, norm)


def rayleigh_quotients(vectors: Floats, images: Floats) -> RitzPairs:
    """Each vector with its Rayleigh quotient, the largest first: of vectors that a decomposition of
    the whole matrix has given, which a second one of V'AV, O(k³), would not improve."""
    values = np.einsum("ij,ij->j", vectors, images)
    order = np.argsort(-values, kind="stable")
    if (order[1:] < order[:-1]).any():
        values, vectors, images = values[order], vectors[:, order], images[:, order]
    norm = max(float(np.abs(values).max(initial=0.0)), float(lengths(images).max(initial=0.0)))
    residuals = lengths(images - vectors * values)
    return RitzPairs(-float(values.sum()), values, vectors, images, residuals, norm)


@dataclass(frozen=True, eq=False)
class LeadingSubspace(Objective[Floats]):
    """-tr(V'AV) over orthonormal V (n, k): its minimum is minus the sum of the k largest
    eigenvalues (Fan), and its stationary points are the invariant subspaces."""

    operator: SymmetricOperator
    k: int

    @property
    def n(self) -> int:
        return int(self.operator.shape[0])

    def product(self, V: Floats) -> Floats:
        """AV in float64, with the fault named where it is not finite."""
        images = np.asarray(self.operator @ V, dtype=np.float64)
        if images.shape != V.shape:
            raise ValueError(
                f"the operator must map {V.shape} to {V.shape}, and gave {images.shape}"
            )
        if not np.isfinite(images).all():
            i = int(np.flatnonzero(~np.isfinite(images).all(axis=1))[0])
            raise ValueError(f"the operator's product is not finite in row {i}: scale its entries")
        return images

    def origin(self) -> Floats:
        """The first columns of the standard normal numbers of seed 0, made orthonormal.

        The stream of RandomState is frozen, so that the start is the same with every version.
        """
        return orthonormal(np.random.RandomState(0).standard_normal((self.n, self.k)))

    def project(self, point: Floats) -> Floats:
        """An orthonormal basis of the columns, unless they are one."""
        off = float(np.abs(point.T @ point - np.eye(point.shape[1])).max(initial=0.0))
        return point if off <= 32.0 * EPS * math.sqrt(self.n) else orthonormal(point)

    def evaluate(self, point: Floats, *, exact: bool = False) -> RitzPairs:
        return ritz_pairs(point, self.product(point), point.shape[1])

    def estimate(self, point: Floats, seen: RitzPairs, decrement: float) -> Certificate:
        """The residuals of images that were added up along the way."""
        return Certificate(
            seen.value, -math.inf, "estimate", residual=seen.residual, scale=self.k * seen.norm
        )

    def certify(
        self, point: Floats, seen: Any = None, dual: Any = None, enough: float = 1e-9
    ) -> Certificate:
        """The residuals of products made anew."""
        norm = seen.norm if isinstance(seen, RitzPairs) else 0.0
        V = self.project(point)
        return self.stated(ritz_pairs(V, self.product(V), V.shape[1], norm))

    def stated(self, found: RitzPairs) -> Certificate:
        """What pairs prove whose images are products in float64."""
        residual = found.residual + self.rounding
        return Certificate(
            found.value, -math.inf, "eigen", residual=residual, scale=self.k * found.norm
        )

    @property
    def rounding(self) -> float:
        """What float64 leaves uncertain of a residual over |A|: sums of n terms, whose roundings
        add up like a random walk."""
        return 2.0 * EPS * math.sqrt(self.n)


def lengths(V: Floats) -> Floats:
    """The length of each column, whose squares may lie outside the range of floats."""
    top = np.abs(V).max(axis=0, initial=0.0)
    unit = np.where(top > 0.0, top, 1.0)
    return np.asarray(top * np.linalg.norm(V / unit, axis=0))


def orthonormal(V: Floats) -> Floats:
    """An orthonormal basis of the columns; twice, for the digits that cancellation takes."""
    return np.linalg.qr(np.linalg.qr(V)[0])[0]


def signed(V: Floats) -> Floats:
    """Each column with the sign that makes its first entry of about the largest size positive.

    Entries within a millionth of the largest count as equal: rounding must not choose.
    """
    size = np.abs(V)
    first = (size >= (1.0 - 1e-6) * size.max(axis=0, initial=0.0)).argmax(axis=0)
    return V * np.where(V[first, np.arange(V.shape[1])] < 0.0, -1.0, 1.0)
