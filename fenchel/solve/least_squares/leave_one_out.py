"""Exact leave-one-out errors of ridge regression for a whole grid of penalties.

The fit without row i misses it by rᵢ / (1 - hᵢ), r the residual of the fit with all rows and
hᵢ = sᵢ (x̃ᵢ'(X̃'SX̃ + αI)⁻¹x̃ᵢ + 1/W) its leverage. One decomposition diagonalises every α at once:
with X̃'SX̃ = VΛV' and U = X̃V, all errors of a block are two matrix products.

Reference: Allen, 1974 (leaving one out); Golub, Heath, Wahba, Generalized cross-validation as a
method for choosing a good ridge parameter, 1979.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray
from scipy import linalg

from fenchel.data.arrays import Array, is_sparse, like, to_float64, to_numpy
from fenchel.data.blocks import Block, Blocks, Totals, free_memory
from fenchel.solve.least_squares.moments import EPS, RegressionMoments
from fenchel.solve.least_squares.ridge_solvers import (
    level,
    row_gram,
    scores,
    triangle,
    weighted_adjoint,
)
from fenchel.solve.least_squares.scaling import positive_rows

Floats = NDArray[np.float64]
Mode = Literal["auto", "eigen", "svd"] | None
# Eigenvalues of a Gram matrix are wrong by some EPS of the largest. Where that shows in λ + α,
# singular values of the rows, whose errors are not squared, take their place.
_SHARE = 1e-8
_WIDTH = 1024  # errors of a row made at a time


class LeaveOneOut(ABC):
    """The leave-one-out errors of a table at the penalties alphas (A,)."""

    alphas: Floats

    @abstractmethod
    def squares(self, blocks: Blocks) -> Floats:
        """Σ sᵢ eᵢ² for each target and penalty (K, A)."""

    @abstractmethod
    def errors(self, blocks: Blocks) -> Floats:
        """eᵢ = yᵢ less its prediction by the fit without it (n, K, A); n-vectors on the driver."""


def left_out(
    blocks: Blocks, found: RegressionMoments, alphas: Floats, intercept: bool, mode: Mode = None
) -> LeaveOneOut:
    """The decomposition for a table: of d x d numbers, or n x n for wide tables in memory."""
    kind: type[DualLOO | PrimalLOO] = DualLOO if is_wide(blocks) else PrimalLOO
    return kind.of(blocks, found, alphas, intercept, mode)


def is_wide(blocks: Blocks) -> bool:
    """Whether n x n numbers are the fewer; they need the rows in memory.

    Refuses what has no room, before anything is made.
    """
    wide = blocks.local and blocks.n_rows <= blocks.n_cols
    check_room(blocks.n_rows if wide else blocks.n_cols, "give cv= a number of folds")
    return wide


def check_room(size: int, remedy: str) -> None:
    """MemoryError where a decomposition of so many numbers has none."""
    need, have = 5 * 8 * size**2, free_memory()
    if need > have:
        raise MemoryError(
            f"leaving one out needs a decomposition of {size} x {size} numbers, "
            f"{need / 2**30:.1f} GiB, and {have / 2**30:.1f} GiB are free: {remedy}"
        )


def _enough(values: Floats, alphas: Floats, mode: Mode) -> bool:
    """Whether eigenvalues in ascending order are good enough for every penalty."""
    if mode == "svd":
        return False
    return mode == "eigen" or bool(values[0] + alphas.min() > _SHARE * values[-1])


def _jacobi(R: Floats) -> tuple[Floats, Floats, Floats]:
    """R = L diag(σ) V': each σ right to its own digits, however unlike the columns are.

    Reference: Drmač, Veselić, New fast and accurate Jacobi SVD algorithm, 2008.
    """
    short = max(0, R.shape[1] - len(R))
    R = np.concatenate([R, np.zeros((short, R.shape[1]))])
    values, left, vectors, work, _, info = linalg.lapack.dgejsv(R, joba=0)
    if info != 0:
        left, values, across = linalg.svd(R, full_matrices=False, check_finite=False)
        return left, values, np.ascontiguousarray(across.T)
    return left, values * (work[0] / work[1]), vectors


def _chunks(targets: int, width: int) -> Iterator[slice]:
    step = max(1, _WIDTH // width)
    return (slice(k, k + step) for k in range(0, targets, step))


@dataclass(frozen=True, slots=True, eq=False)
class PrimalLOO(LeaveOneOut):
    """X̃'SX̃ = VΛV', and V'X̃'Sỹ (d, K): no row is held, one pass gives every error."""

    alphas: Floats
    values: Floats
    vectors: Floats
    cross: Floats
    mean: Floats
    target: Floats
    share: float  # 1/W with an intercept, else 0

    @classmethod
    def of(
        cls, blocks: Blocks, found: RegressionMoments, alphas: Floats, intercept: bool, mode: Mode
    ) -> PrimalLOO:
        A, cross = found.gram(intercept)
        values, vectors = linalg.eigh(A, driver="evd", check_finite=False)
        if _enough(values, alphas, mode):
            cross = vectors.T @ cross
        else:
            R, right = triangle(blocks, found, intercept)
            left, root, vectors = _jacobi(R)
            values = root**2
            cross = root[:, None] * (left[: len(right)].T @ right)
        mean, d = found.mean if intercept else 0.0 * found.mean, found.d
        share = 1.0 / found.weight if intercept else 0.0
        values = np.maximum(values, 0.0)
        return cls(alphas, values, vectors, cross, mean[:d], mean[d:], share)

    def squares(self, blocks: Blocks) -> Floats:
        shape = len(self.target), len(self.alphas)

        def stat(block: Block) -> Totals:
            X, y, s = positive_rows(block)
            one = like(np.ones(X.shape[0]), X) if s is None else s
            parts = []
            for errors in self._errors(X, y, s):
                errors *= errors
                parts.append(to_numpy(one @ errors.reshape(errors.shape[0], -1)))
            return Totals(np.concatenate(parts).reshape(shape))

        return np.asarray(blocks.reduce(stat)[0])

    def errors(self, blocks: Blocks) -> Floats:
        out = np.empty((blocks.n_rows, len(self.target), len(self.alphas)))
        for block in blocks:
            X, s = to_float64(block.X), block.weight
            y = to_float64(block.y).reshape(block.n_rows, -1)
            rows = slice(block.start, block.start + block.n_rows)
            parts = [to_numpy(e) for e in self._errors(X, y, None if s is None else to_float64(s))]
            out[rows] = np.concatenate(parts, axis=1)
        return out

    def _errors(self, X: Array, y: Array, s: Array | None) -> Iterator[Array]:
        """e (m, ·, A), some targets at a time."""
        m, A = int(X.shape[0]), len(self.alphas)
        V = like(self.vectors, X)
        # Sparse rows stay sparse; means taken off afterwards may cost them digits.
        U = X @ V - self.mean @ self.vectors if is_sparse(X) else (X - like(self.mean, X)) @ V
        D = 1.0 / (self.values[:, None] + self.alphas)
        keep = (U * U) @ like(D, U)
        keep += self.share
        keep *= -1.0 if s is None else -s[:, None]
        keep += 1.0
        # Rounding may leave nothing of the share of a row that alone holds a coefficient.
        keep = array_namespace(keep).clip(keep, EPS, None)
        for part in _chunks(len(self.target), A):
            C = (D[:, None, :] * self.cross[:, part, None]).reshape(len(D), -1)
            errors = U @ like(-C, U)
            errors = errors.reshape(m, -1, A)
            errors += (y[:, part] - like(self.target[part], y))[:, :, None]
            errors /= keep[:, None, :]
            yield errors


@dataclass(frozen=True, slots=True, eq=False)
class DualLOO(LeaveOneOut):
    """S^½X̃X̃'S^½ = QΛQ' without the direction that centring has emptied, and Q'S^½ỹ.

    With G = QΛQ' + αI the scaled errors are (G⁻¹S^½ỹ)ᵢ / (G⁻¹)ᵢᵢ. Holds n² numbers.
    """

    alphas: Floats
    values: Floats
    vectors: Floats
    image: Floats
    root: Floats
    mean: Floats
    target: Floats

    @classmethod
    def of(
        cls, blocks: Blocks, found: RegressionMoments, alphas: Floats, intercept: bool, mode: Mode
    ) -> DualLOO:
        whole, d = blocks.gather(), found.d
        n = whole.n_rows
        root = np.ones(n) if whole.weight is None else np.sqrt(to_numpy(whole.weight))
        mean = found.mean if intercept else 0.0 * found.mean
        K = row_gram(whole.X, root, mean[:d] if intercept else None)
        if intercept:
            K += level(K, root)
        values, vectors = linalg.eigh(K, driver="evd", overwrite_a=True, check_finite=False)
        values, vectors = values[: n - intercept], vectors[:, : n - intercept]
        if len(values) and not _enough(values, alphas, mode):
            X = to_numpy(
                to_float64(whole.X).toarray() if is_sparse(whole.X) else to_float64(whole.X)
            )
            rows = root[:, None] * (X - mean[:d])
            if intercept:  # a column for the empty direction makes it the first
                side = 2.0 * float(np.linalg.norm(rows)) * root / np.linalg.norm(root)
                rows = np.column_stack([rows, side])
            vectors, singular, _ = linalg.svd(rows, full_matrices=False, check_finite=False)
            values, vectors = singular[int(intercept) :] ** 2, vectors[:, int(intercept) :]
        y = to_numpy(to_float64(whole.y)).reshape(n, -1)
        image = vectors.T @ (root[:, None] * (y - mean[d:]))
        values = np.maximum(values, 0.0)
        return cls(alphas, values, vectors, image, root, mean[:d], mean[d:])

    @classmethod
    def of_gram(cls, K: Floats, y: Floats, s: Floats, alphas: Floats) -> DualLOO:
        """The same of a kernel's functions, without an intercept: K in the place of X̃X̃', targets
        (n, T), weights s > 0."""
        root = np.sqrt(s)
        values, vectors = linalg.eigh(
            root[:, None] * K * root, driver="evd", overwrite_a=True, check_finite=False
        )
        nothing = np.zeros(y.shape[1])
        image = vectors.T @ (root[:, None] * y)
        values = np.maximum(values, 0.0)
        return cls(alphas, values, vectors, image, root, nothing[:0], nothing)

    def coefficients(self) -> Floats:
        """c = S^½G⁻¹S^½ỹ of every target and penalty, (n, T, A)."""
        parts = [self.root[:, None, None] * c for _, c in self._scaled()]
        return np.concatenate(parts, axis=1)

    def squares(self, blocks: Blocks) -> Floats:
        parts = [np.sum(e**2, axis=0) for e, _ in self._scaled()]
        return np.concatenate(parts)

    def errors(self, blocks: Blocks) -> Floats:
        root = self.root[:, None, None]
        gone = self.root == 0.0
        y: Any = None
        if gone.any():
            y = to_numpy(to_float64(blocks.gather().y)).reshape(len(self.root), -1)
        parts = []
        for part, (errors, c) in zip(self._targets(), self._scaled(), strict=True):
            errors = np.divide(errors, root, out=np.zeros_like(errors), where=root > 0.0)
            if gone.any():  # a row without weight is predicted by the fit itself
                wide = (root * c).reshape(len(root), -1)
                w = weighted_adjoint(blocks, wide, self.mean)
                z = (scores(blocks, w) - self.mean @ w).reshape(errors.shape)
                errors[gone] = (y[gone][:, part] - self.target[part])[:, :, None] - z[gone]
            parts.append(errors)
        return np.concatenate(parts, axis=1)

    def _targets(self) -> Iterator[slice]:
        return _chunks(len(self.target), len(self.alphas))

    def _scaled(self) -> Iterator[tuple[Floats, Floats]]:
        """√s e and c = G⁻¹S^½ỹ (n, ·, A), some targets at a time."""
        Q, n, A = self.vectors, len(self.root), len(self.alphas)
        D = 1.0 / (self.values[:, None] + self.alphas)
        diagonal = ((Q * Q) @ D)[:, None, :]
        for part in self._targets():
            weighted = (D[:, None, :] * self.image[:, part, None]).reshape(len(D), -1)
            c = (Q @ weighted).reshape(n, -1, A)
            yield np.divide(c, diagonal, out=np.zeros_like(c), where=diagonal > 0.0), c
