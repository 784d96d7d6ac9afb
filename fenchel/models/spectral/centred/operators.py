"""Doubly centred symmetric matrices as operators, by products with them or by their factor.

    A = √S J B J' √S,   J = I - 1p',  p = s / Σ s

of a symmetric B; for a factor, B = RR' with rows that are centred already, A = RR'. Products are
made by ranges of rows on every thread; the ranges depend on the shape alone, and so do the bits.

**Rounding.** √S J √S⁻¹ is an orthogonal projection, so that entries of B that are off by e change
A, as a matrix, by no more than e Σs: |√S E √S| ≤ e |√s|². A product rounds as if they were off by
3 (n + 2) U max |B|: the sums of J', of B and of J have n terms each.

Reference: Gower, Some distance properties of latent root and vector methods used in multivariate
analysis, Biometrika 53 (1966).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from fenchel.data.blocks import free_memory
from fenchel.data.parallel import map_ordered, one_blas_thread, parallel_map, thread_count
from fenchel.solve.eigen.leading import Eigenpairs, eigenpairs, projected_pairs
from fenchel.solve.eigen.residual import EPS, SymmetricOperator, lengths, orthonormal

Floats = NDArray[np.float64]
# Rows of a range: 4096 x 50 are 1.6 MB, what a core's second cache holds.
RANGE = 4096
# Rows up to which LAPACK has RR' itself, and columns up to which R'R is made for any k: it takes
# n d² products and d³, where Krylov steps take some 300 n d.
SMALL, NARROW = 500, 256


@dataclass(frozen=True, slots=True, eq=False)
class Centring:
    """How rows are weighted: share: p; root: √s, None for equal weights."""

    share: Floats = field(repr=False)
    root: Floats | None = field(default=None, repr=False)

    @classmethod
    def of(cls, n: int, s: Floats | None) -> Centring:
        if s is None:
            return cls(np.full(n, 1.0 / n))
        return cls(s / s.sum(), np.sqrt(s))

    @property
    def weight(self) -> Floats | None:
        return None if self.root is None else self.root * self.root

    def spread(self, V: Floats) -> Floats:
        """J'√S V."""
        V = V if self.root is None else V * self.root[:, None]
        return np.asarray(V - np.multiply.outer(self.share, V.sum(axis=0)))

    def gather(self, V: Floats) -> Floats:
        """√S J V."""
        V = V - self.share @ V
        return np.asarray(V if self.root is None else V * self.root[:, None])


def rounding_error(size: float, n: int, s: Floats | None, entries: float = 4.0) -> float:
    """A bound of what rounding changes A by, as a matrix.

    size: max |B|; s: the weights, None for 1; entries: by how many roundings of that size the
    entries of B may be off.
    """
    mass = float(n) if s is None else float(s.sum())
    return (2.0 * n + entries) * EPS * mass * size


def refuse_memory(need: float, what: str, remedy: str) -> None:
    """MemoryError where so many bytes are not free; a tenth is left to everything else."""
    have = free_memory()
    if need > 0.9 * have:
        raise MemoryError(
            f"{what} needs {need / 2**30:.1f} GiB and {have / 2**30:.1f} GiB are free: {remedy}"
        )


def centred_against(
    B: Floats, share: Floats, means: Floats, grand: float, weight: Floats | None
) -> Floats:
    """P(x, ·) of rows B(x, ·), which are overwritten: means: Bp; grand: p'Bp; weight: s."""
    B -= (B @ share)[:, None]
    B -= means
    B += grand
    return B if weight is None else np.multiply(B, weight, out=B)


@final
@dataclass(frozen=True, slots=True, eq=False)
class CentredSymmetric:
    """A of a symmetric B that is known by its products."""

    B: SymmetricOperator | Any = field(repr=False)
    centring: Centring

    @property
    def shape(self) -> tuple[int, int]:
        n = len(self.centring.share)
        return n, n

    def __matmul__(self, V: Floats) -> Floats:
        image = self.B @ self.centring.spread(V)
        return self.centring.gather(np.asarray(image, np.float64))


@final
@dataclass(frozen=True, slots=True, eq=False)
class FactorProducts:
    """RR' by its products with vectors, O(nd) each: no matrix of side n is made."""

    R: Floats = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.R), len(self.R)

    @property
    def rounding(self) -> float:
        """A bound of what rounding changes RR' by: sums over the columns, over the rows of a range,
        and over ranges, of products that add up to |R|² at most, in Frobenius' norm."""
        n, d = self.R.shape
        terms = 2.0 * d + min(n, RANGE) + n / RANGE + 16.0
        return terms * EPS * float(np.einsum("ij,ij->", self.R, self.R))

    def __matmul__(self, V: Floats) -> Floats:
        R, n = self.R, len(self.R)
        out = np.empty((n, V.shape[1]))
        inner = _inner(R, V)

        def back(lo: int) -> None:
            np.matmul(R[lo : lo + RANGE], inner, out=out[lo : lo + RANGE])

        with one_blas_thread():
            parallel_map(back, range(0, n, RANGE))
        return out


@final
@dataclass(frozen=True, slots=True, eq=False)
class InnerProducts:
    """R'R by its products, each of one pass over R."""

    R: Floats = field(repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        d = int(self.R.shape[1])
        return d, d

    def __matmul__(self, W: Floats) -> Floats:
        R, total = self.R, np.zeros(W.shape)

        def part(lo: int) -> Floats:
            rows = R[lo : lo + RANGE]
            return np.asarray(rows.T @ (rows @ W))

        with one_blas_thread():
            for some in map_ordered(part, range(0, len(R), RANGE), thread_count()):
                total += some
        return total


def _inner(R: Floats, V: Floats) -> Floats:
    """R'V."""
    total = np.zeros((R.shape[1], V.shape[1]))

    def part(lo: int) -> Floats:
        return np.asarray(R[lo : lo + RANGE].T @ V[lo : lo + RANGE])

    with one_blas_thread():
        for some in map_ordered(part, range(0, len(R), RANGE), thread_count()):
            total += some
    return total


def factor_pairs(A: FactorProducts, k: int) -> Eigenpairs:
    """The k largest eigenpairs of RR': from those of R'R where R is tall, by products with it
    unless it is narrow.

    R w / |R w| of the eigenvectors w, made orthonormal, span the subspace; the projection of RR' on
    it gives the pairs and their residuals.
    """
    n, d = A.R.shape
    if n <= SMALL or d < k or n < d:
        return eigenpairs(A, k)
    if d <= NARROW or 10 * k >= d:
        W = linalg.eigh(_inner(A.R, A.R), check_finite=False)[1][:, ::-1][:, :k]
    else:
        W = eigenpairs(InnerProducts(A.R), k).vectors
    U = A.R @ W
    size = lengths(U)
    return projected_pairs(A, orthonormal(U / np.where(size > 0.0, size, 1.0)))
