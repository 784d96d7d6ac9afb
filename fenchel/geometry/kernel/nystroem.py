"""Nyström's approximation of a kernel by landmarks, and landmarks by random pivots.

    k(x, z) ≈ φ(x)·φ(z),   φ(x) = Λ^{-1/2} U' k(Z, x),   k(Z, Z) = U Λ U'

What is left, k - φ·φ, is positive semi-definite where k is, so that no eigenvalue of a Gram matrix
is changed by more than the trace Σ k(x, x) - |φ(x)|². The landmarks Z are pivots of a Cholesky
factor, each drawn with probability proportional to what those before it leave of k(x, x): no row
that they explain is drawn, and outliers only as often as they count.

Any B with B'k(Z, Z)B = 1 on the span makes features with the same inner products; that of a pivoted
Cholesky factor, B = L'^{-1}, takes m³/3 where eigenvectors take 10 m³ (0.35 and 6.4 s for 2000).

Cost: m² kernel values and m³ for m landmarks, then m values and m² a row.

Reference: Williams and Seeger, Using the Nyström method to speed up kernel machines, NIPS 13
(2000); Chen, Epperly, Tropp and Webber, Randomly pivoted Cholesky, Comm. Pure Appl. Math. 78
(2025).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from fenchel.data.arrays import Array, is_sparse, to_numpy
from fenchel.data.blocks import Block, Blocks, free_memory
from fenchel.data.design.kernel_tiles import kernel_product
from fenchel.data.in_memory import ArrayBlocks
from fenchel.geometry.kernel.vector_kernels import KernelFunction

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# Eigenvalues of k(Z, Z) below this share of the largest are left out: of φ they would make
# rounding, 1e-16 of k(x, x), larger than 1e-11.
SMALLEST = 1e-10
INDEFINITE = 1e-8  # of the largest eigenvalue: rounding of single precision leaves less below zero


@final
@dataclass(frozen=True, slots=True, eq=False)
class NystroemFeatures:
    """φ: features whose inner products are nearly the kernel.

    points: the landmarks as the kernel takes them; basis: B, (m, r), r the rank of k(Z, Z) as far
    as float64 tells it: U Λ^{-1/2}, or L'^{-1}.
    """

    kernel: KernelFunction
    points: Any = field(repr=False)
    basis: Floats = field(repr=False)

    @classmethod
    def of(cls, kernel: KernelFunction, points: Any, K: Floats) -> NystroemFeatures:
        """K: k(Z, Z).

        Examples
        --------
        >>> import numpy as np
        >>> from fenchel.geometry.kernel.vector_kernels import Gaussian
        >>> from fenchel.geometry.kernel.nystroem import NystroemFeatures
        >>> Z, k = np.array([[0.0], [1.0]]), Gaussian(0.5)
        >>> phi = NystroemFeatures.of(k, Z, k.tile(Z, Z)).rows(Z)
        >>> bool(np.allclose(phi @ phi.T, k.tile(Z, Z)))
        True
        """
        if not len(K):  # of a kernel that is zero
            return cls(kernel, points, np.zeros((0, 0)))
        values, U = linalg.eigh(0.5 * K + 0.5 * K.T, check_finite=False)
        if values[0] < -INDEFINITE * abs(float(values[-1])):
            raise ValueError(
                "landmarks have features of positive semi-definite kernels alone, and the matrix "
                f"of these has the eigenvalue {values[0]:.3g}: take all rows, or another kernel"
            )
        kept = values > SMALLEST * max(float(values[-1]), 0.0)
        return cls(kernel, points, np.asarray(U[:, kept] / np.sqrt(values[kept])))

    @classmethod
    def by_pivots(
        cls, kernel: KernelFunction, points: Any, K: Floats
    ) -> tuple[NystroemFeatures, Integers]:
        """The features by a pivoted Cholesky factor of K = k(Z, Z), of those landmarks alone that
        float64 tells from combinations of the others; and which these are, in order.

        Examples
        --------
        >>> import numpy as np
        >>> from fenchel.geometry.kernel.vector_kernels import Linear
        >>> from fenchel.geometry.kernel.nystroem import NystroemFeatures
        >>> Z, k = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]]), Linear()
        >>> features, kept = NystroemFeatures.by_pivots(k, Z, k.tile(Z, Z))
        >>> kept, bool(np.allclose(features.rows(Z) @ features.rows(Z).T, k.tile(Z, Z)))
        (array([1, 2]), True)
        """
        top = float(np.diagonal(K).max(initial=0.0))
        if not np.any(K):
            raise ValueError("k(z, z) is 0 at every landmark z, and so is k(z, ·): give others")
        A = 0.5 * K + 0.5 * K.T
        factor, order, rank, _ = linalg.lapack.dpstrf(
            np.asfortranarray(A), tol=SMALLEST * top, lower=1
        )
        order, L = order - 1, np.tril(factor[:, :rank])
        some, others = order[:rank], order[rank:]
        left = A[np.ix_(others, others)] - L[rank:] @ L[rank:].T
        # Of a semi-definite matrix nothing that is left exceeds the next pivot.
        least = -float(np.abs(left).max(initial=0.0))
        if least < -INDEFINITE * top or not top > 0.0:
            raise ValueError(
                "landmarks have features of positive semi-definite kernels alone, and the matrix "
                f"of these is not, by {least:.3g}: take all rows, or another kernel"
            )
        inverse = linalg.solve_triangular(
            L[:rank], np.eye(rank), lower=True, trans="T", check_finite=False
        )
        kept = np.sort(some)
        basis = np.empty((rank, rank))
        basis[np.searchsorted(kept, some)] = inverse
        return cls(kernel, points[kept], basis), kept.astype(np.int64)

    def rows(self, X: Array) -> Floats:
        """φ of each row."""
        return np.asarray(self.kernel.tile(X, self.points) @ self.basis)

    def table(self, blocks: Blocks, memory: float | None = None) -> Blocks:
        """The rows of a table as features, with target and weight: kept in memory where they take
        no more than so many bytes, else made anew in each pass.

        memory: half of what is free unless given.
        """

        def mapped(block: Block) -> Block:
            X = block.X if is_sparse(block.X) else to_numpy(block.X)
            return replace(block, X=kernel_product(self.kernel, X, self.points, self.basis))

        width = self.basis.shape[1]
        seen = blocks.map(mapped, width, dtype=np.float64, sparse=False)
        room = 0.5 * free_memory() if memory is None else memory
        if 8.0 * blocks.n_rows * width > room:
            return seen
        return ArrayBlocks(
            mapped(blocks.whole) if isinstance(blocks, ArrayBlocks) else seen.gather()
        )

    @property
    def inverse_root(self) -> Floats:
        """k(Z, Z)^{-1/2} on its range, U Λ^{-1/2} U', of a basis of eigenvectors: φ in coordinates
        of the landmarks."""
        lengths = np.sqrt(np.einsum("ij,ij->j", self.basis, self.basis))  # Λ^{-1/2}
        return np.asarray((self.basis / lengths) @ self.basis.T)


def landmark_numbers(
    landmarks: Any, n: int, usable: Integers | None, random: np.random.Generator
) -> Integers:
    """The numbers of rows that are landmarks, in order: drawn evenly for a number of them, or as
    they are given.

    usable: rows with weight; None for all n.
    """
    among = np.arange(n) if usable is None else usable
    if isinstance(landmarks, Integral):
        count = int(landmarks)
        if not 1 <= count <= len(among):
            raise ValueError(
                f"landmarks={count} must lie between 1 and the number of rows with weight, "
                f"{len(among)}: lower landmarks, or leave them out"
            )
        return np.sort(random.choice(among, count, replace=False)).astype(np.int64)
    given = np.asarray(landmarks)
    if given.ndim != 1 or not len(given) or given.dtype.kind not in "iu":
        raise ValueError(
            f"landmarks must be a number of rows or a vector of row numbers, got {landmarks!r}"
        )
    numbers = np.unique(given.astype(np.int64))
    wrong = numbers[(numbers < 0) | (numbers >= n)]
    if len(wrong):
        raise ValueError(
            f"landmarks names row {wrong[0]} of a table with {n} rows: give numbers from 0 to "
            f"{n - 1}"
        )
    if len(numbers) < len(given):
        values, counts = np.unique(given, return_counts=True)
        raise ValueError(f"landmarks names row {values[counts > 1][0]} twice: give each once")
    return numbers


def random_pivots(
    diagonal: Floats,
    columns: Callable[[Integers], Floats],
    count: int,
    random: np.random.Generator,
    weight: Floats | None = None,
) -> Integers:
    """The numbers of at most `count` rows in order, fewer where those explain all rows.

    diagonal: k(x, x); columns: gives the columns of K with some numbers; weight: of each row.
    """
    n = len(diagonal)
    s = np.ones(n) if weight is None else weight / weight.max()
    left = diagonal.astype(np.float64)
    least = n * float(np.finfo(np.float64).eps) * float(left.max(initial=0.0))
    F, rank = np.zeros((n, count)), 0
    pivots = np.empty(count, np.int64)
    while rank < count:
        mass = np.where(left > least, s * left, 0.0)
        total = float(mass.sum())
        if total <= 0.0:
            break
        # Draws of one round are as many as are left to choose, at most a tenth of the count: a
        # column of K more for each that is refused, where a round for each would take n m² alone.
        draws = min(count - rank, max(count // 10, 1))
        drawn = random.choice(n, draws, p=mass / total)
        some = np.unique(drawn)
        R = columns(some) - F[:, :rank] @ F[some, :rank].T
        accepted = _accepted(R[some], drawn, some, left, random)
        if not len(accepted):  # rounding has left less than the diagonal says
            left[some] = 0.0
            continue
        block = R[some[accepted]][:, accepted]
        chol, order, found, _ = linalg.lapack.dpstrf(np.asfortranarray(block), tol=least, lower=1)
        accepted = accepted[order[:found] - 1]
        lower = np.tril(chol[:found, :found])
        new = linalg.solve_triangular(lower, R[:, accepted].T, lower=True, check_finite=False).T
        F[:, rank : rank + found] = new
        pivots[rank : rank + found] = some[accepted]
        left = np.maximum(left - np.einsum("ij,ij->i", new, new), 0.0)
        left[some[accepted]] = 0.0
        rank += found
    return np.sort(pivots[:rank])


def _accepted(
    R: Floats, drawn: Integers, some: Integers, left: Floats, random: np.random.Generator
) -> Integers:
    """Which of the rows drawn together would have been drawn one after another: each is kept with
    the probability that is the share which those kept before it leave of its own value."""
    kept: list[int] = []
    L = np.zeros((len(some), len(some)))
    rest = np.diagonal(R).copy()
    for i, chance in zip(np.searchsorted(some, drawn), random.random(len(drawn)), strict=True):
        if rest[i] <= 0.0 or chance * left[some[i]] > rest[i]:
            continue
        j = len(kept)
        column = R[:, i] - L[:, :j] @ L[i, :j]
        L[:, j] = column / np.sqrt(rest[i])
        rest = rest - L[:, j] ** 2
        rest[i] = 0.0
        kept.append(int(i))
    return np.array(sorted(kept), np.int64)


__all__ = ["NystroemFeatures", "landmark_numbers", "random_pivots"]
