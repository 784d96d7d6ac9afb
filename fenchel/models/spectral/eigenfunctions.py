"""Eigenfunctions of an operator on the data, continued to new points by Nyström's formula.

    A u = λ u,   A = A' of side n, |u| = 1;   f = c u / √m;   f(x) = Σⱼ P(x, xⱼ) f(xⱼ) / μ

A spectral method makes two statements about rows x₁ … xₙ. The first is a symmetric operator A. The
second is a memory: what it keeps of the rows so that, for any x, it can tell P(x, xⱼ), a row of
the operator P = M^{-1/2} A M^{1/2}, M = diag(m), whose eigenfunctions f are. (m = 1 makes P = A.)
On the rows of the fit P f = λ f, so with μ = λ the formula gives back f there: the law
`transform(training rows) == embedding_`, up to the residuals of the eigenpairs.

    method                  A                            P(x, xⱼ)                  m     c     μ
    kernel PCA              J K J                        k̃(x, xⱼ)                  1     √λ    λ
    the same, weights s     √s K̃ √s                      k̃(x, xⱼ) sⱼ               s     √λ    λ
    the same, sphered       √s K̃ √s                      k̃(x, xⱼ) sⱼ               s     1     λ
    classical MDS, Isomap   -J D² J / 2                  centred -d²(x, xⱼ)/2      1     √λ    λ
    Laplacian eigenmaps     D^{-1/2} W D^{-1/2}          w(x, xⱼ) / Σⱼ w(x, xⱼ)    d     1     λ
    locally linear          -(I - W)'(I - W)             weights of x              1     any   1

The cost of a new point is that of its row of P and O(nk).

Reference: Bengio, Paiement, Vincent, Delalleau, Le Roux and Ouimet, Out-of-sample extensions for
LLE, Isomap, MDS, eigenmaps and spectral clustering, NIPS 16 (2003); Williams and Seeger, Using the
Nyström method to speed up kernel machines, NIPS 13 (2000).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from fenchel.convex.certificate import Certificate
from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.blocks import Block, Blocks
from fenchel.data.parallel import one_blas_thread, parallel_map
from fenchel.models.array_namespace import as_known
from fenchel.models.certificates.certified import SelfCertified
from fenchel.models.estimator import Estimator, as_numpy, validated_blocks
from fenchel.models.spectral.output_rows import rows_out, working_type
from fenchel.solve.eigen.leading import Eigenpairs
from fenchel.solve.eigen.residual import (
    EPS,
    LeadingSubspace,
    lengths,
    orthonormal,
    signed,
)

Floats = NDArray[np.float64]
# Entries of rows of P that are made at once on a thread, 4 MiB: a Gaussian kernel of 8000 rows with
# 8000 others took 0.53, 0.51, 0.29, 0.42 and 0.69 s for 2^21, 2^20, 2^19, 2^18 and 2^17.
ENTRIES = 2**19
FEW = 64  # entries of a row of P that is sparse
CONVERGED = 1e-6  # the residual over |A| at which a fit counts as converged


class FittedRows(Protocol):
    """What a method keeps of the rows of its fit: a frozen value, which a model file holds."""

    def extend(self, X: Any) -> Floats:
        """P(x, xⱼ) for each row of X, a slice of a block: (m, n) in float64."""


class SparseMemory(ABC):
    """A memory whose rows of P have few entries, so that many are made at once."""

    @abstractmethod
    def extend(self, X: Any) -> csr_array:
        """P(x, xⱼ) for each row of X: (m, n)."""


@dataclass(frozen=True, slots=True, eq=False)
class DataOperator:
    """What a spectral method says of its rows.

    A: a `SymmetricOperator` of side n, its leading eigenpairs those of the method; memory: what
    continues them; measure: m of each row, above zero; None for 1; members: numbers of the rows
    that A is about, where others have no weight, or were no landmarks; None for all; factor: F
    (n, q) where P(x, ·) = r(x) F' and the memory gives r(x), which makes coefficients of q rows;
    exponent: A and P are over 4^exponent, and lengths of the embedding over 2^exponent; error: a
    bound of what rounding has changed A by, as a matrix, which residuals are charged with; left: of
    what A leaves out of the matrix that it stands for, with which the certificate is charged
    besides; numbers: which of the members each row of the table equals, -1 for none; None where
    members equal themselves alone.
    """

    A: Any = field(repr=False)
    memory: FittedRows = field(repr=False)
    measure: Floats | None = field(default=None, repr=False)
    members: NDArray[np.int64] | None = field(default=None, repr=False)
    factor: Floats | None = field(default=None, repr=False)
    exponent: int = 0
    error: float = 0.0
    left: float = 0.0
    numbers: NDArray[np.int64] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Eigenfunctions:
    """Eigenfunctions on the rows of the fit, and the coefficients that continue them.

    embedding: f on the rows, (n, k); coefficients: (n, k), so that f(x) = P(x, ·) @ coefficients;
    values, residuals, multiplicities, certificate: of the eigenpairs; rank: how many of the values
    rounding tells from zero. Columns beyond the rank are zero. of_lengths: whether columns have the
    length √λ, and so the unit of the rows, or a given one.
    """

    embedding: Floats
    coefficients: Floats
    values: Floats
    residuals: Floats
    multiplicities: tuple[int, ...]
    certificate: Certificate
    rank: int
    of_lengths: bool = True

    def known(self) -> Eigenfunctions:
        """Those columns alone that are not zero."""
        some = np.flatnonzero(self.coefficients.any(axis=0))
        groups = np.repeat(np.arange(len(self.multiplicities)), self.multiplicities)[some]
        sizes = np.unique(groups, return_counts=True)[1]
        values, proof = self.values[some], self.certificate
        share = len(some) / max(len(self.values), 1)
        return replace(
            self,
            embedding=self.embedding[:, some],
            coefficients=self.coefficients[:, some],
            values=values,
            residuals=self.residuals[some],
            multiplicities=tuple(int(size) for size in sizes),
            certificate=replace(
                proof, value=-float(values.sum()), scale=share * (proof.scale or 0.0)
            ),
        )


def eigenfunctions(
    pairs: Eigenpairs,
    *,
    scale: Floats | None = None,
    measure: Floats | None = None,
    continued: Floats | None = None,
    error: float = 0.0,
) -> Eigenfunctions:
    """The embedding of some eigenpairs and its continuation.

    Parameters
    ----------
    pairs : Eigenpairs
        Of A, by `eigenpairs` or `smallest_by_inverse`; their signs are fixed there.
    scale : array (k,), optional
        c of each column; None: √λ, and 0 where λ is not above zero.
    measure : array (n,), optional
        m.
    continued : array (k,), optional
        μ, where it is not λ.
    error : float
        What rounding has changed A by.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.models.spectral.eigenfunctions import eigenfunctions
    >>> from fenchel.solve.eigen.leading import eigenpairs
    >>> A = np.array([[2.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    >>> found = eigenfunctions(eigenpairs(A, 3))
    >>> found.rank, bool(np.allclose(A @ found.coefficients, found.embedding))
    (2, True)
    """
    pairs = signed_by_functions(pairs, measure)
    values, V = pairs.values, pairs.vectors
    n = len(V)
    mu = values if continued is None else np.asarray(continued, np.float64)
    residuals = pairs.residuals + error
    # A value that its residual, or rounding, does not tell from zero continues nothing.
    least = np.full(len(mu), 8.0 * n * EPS * float(np.abs(mu).max(initial=0.0)))
    if continued is None:
        least = np.maximum(least, residuals)
    known = np.abs(mu) > least
    if scale is None:
        c = np.sqrt(np.maximum(values, 0.0))
        known &= values > 0.0
    else:
        c = np.asarray(scale, np.float64)
        known &= c != 0.0
    c = np.where(known, c, 0.0)
    F = V * c + 0.0  # no -0
    if measure is not None:
        F = F / np.sqrt(measure)[:, None]
    coefficients = F / np.where(known, mu, 1.0)
    proof = _charged(pairs.certificate, error, len(values))
    return Eigenfunctions(
        F,
        coefficients,
        values,
        residuals,
        pairs.multiplicities,
        proof,
        int(known.sum()),
        scale is None,
    )


def signed_by_functions(pairs: Eigenpairs, measure: Floats | None) -> Eigenpairs:
    """Eigenvectors with the signs by which those of the functions u/√m are fixed, so that a weight
    gives the sign that copies of the row give."""
    if measure is None:
        return pairs
    root = np.sqrt(measure)[:, None]
    return replace(pairs, vectors=signed(pairs.vectors / root) * root)


def _charged(proof: Certificate, error: float, k: int) -> Certificate:
    """With a bound of what is wrong with A in its residual."""
    norm = (proof.scale or 0.0) / max(k, 1)
    if error == 0.0 or norm == 0.0 or proof.residual is None:
        return proof
    return replace(proof, residual=proof.residual + error / norm)


class SpectralMap(SelfCertified, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    """An estimator whose embedding is made of eigenfunctions.

    A method writes `_operator`, which makes the operator of some rows, and `fit`, which decomposes
    it and hands what it found to `_record`:

        made = self._operator(rows_in(self, X, None, sample_weight))
        pairs = eigenpairs(made.A, k)
        found = eigenfunctions(pairs, measure=made.measure, error=made.error)
        return self._record(found, made, blocks)

    `transform`, `fit_transform`, names of the columns and `certify_on` follow.
    """

    embedding_: Any
    eigenvalues_: Any
    coefficients_: Any
    memory_: Any
    certificate_: Certificate
    converged_: bool

    @abstractmethod
    def _operator(self, blocks: Blocks) -> DataOperator:
        """A of these rows, with their weights beside them, and what continues it."""

    def _record(self, found: Eigenfunctions, made: DataOperator, blocks: Blocks) -> Any:
        """Sets what a fit leaves behind, in the precision of the rows: of rows that A is not about
        the embedding is their continuation."""
        unit, length = _unit(made.exponent), made.exponent if found.of_lengths else 0
        coefficients = found.coefficients
        if made.factor is not None:
            coefficients = made.factor.T @ coefficients
        self.eigenvalues_ = found.values * unit
        self.residuals_ = (found.residuals + made.left) * unit
        self.multiplicities_ = found.multiplicities
        self.coefficients_ = np.ldexp(coefficients, length)
        self.memory_ = made.memory
        proof = _charged(found.certificate, made.left, len(found.values))
        self.certificate_ = proof.scaled(unit)
        self.converged_ = found.certificate.closed(CONVERGED)
        embedding = np.ldexp(found.embedding, length)
        if made.members is not None:
            numbers = made.numbers
            if numbers is None:
                numbers = np.full(blocks.n_rows, -1)
                numbers[made.members] = np.arange(len(made.members))
            embedding = placed(numbers, embedding, made.memory, self.coefficients_, blocks)
        self.embedding_ = embedding.astype(working_type(blocks))
        return self

    @property
    def _n_features_out(self) -> int:
        return int(self.coefficients_.shape[1])

    def transform(self, X: Any) -> Any:
        """The coordinates of each row, by Nyström's formula; of rows of the fit those that they
        have in `embedding_`."""
        check_is_fitted(self)
        blocks = validated_blocks(self, X, reset=False)
        dtype = working_type(blocks)
        coefficients, memory = to_numpy(as_known(self.coefficients_)), self.memory_
        return rows_out(
            X, blocks, lambda block: continued(memory, coefficients, block).astype(dtype)
        )

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit, and the coordinates of the rows of the fit; y is ignored."""
        given = {} if sample_weight is None else {"sample_weight": sample_weight}
        return self.fit(X, y, **given).embedding_

    @abstractmethod
    def fit(self, X: Any, y: Any = None) -> Any:
        """Decompose the operator of the rows X; y is ignored."""

    def certify_on(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificate:
        """How far the columns of `embedding_` are from eigenfunctions of the operator of these
        rows, which are to be those of the fit: products made anew."""
        check_is_fitted(self)
        blocks = validated_blocks(self, X, None, sample_weight, reset=False)
        F = np.asarray(to_numpy(as_known(self.embedding_)), np.float64)
        if blocks.n_rows != len(F):
            raise ValueError(
                f"this {type(self).__name__} was fitted on {len(F)} rows, and X has "
                f"{blocks.n_rows}: pass the rows it was fitted on, in their order"
            )
        made = self._operator(blocks)
        V = F if made.members is None else F[made.members]
        V = V if made.measure is None else V * np.sqrt(made.measure)[:, None]
        sizes = lengths(V)
        V = V[:, sizes > 0.0] / sizes[sizes > 0.0]
        if not V.shape[1]:
            return Certificate(0.0, 0.0, "eigen", residual=0.0, scale=0.0)
        proof = _charged(self._prove(made.A, orthonormal(V)), made.error + made.left, V.shape[1])
        return proof.scaled(_unit(made.exponent))

    def _prove(self, A: Any, V: Floats) -> Certificate:
        """The residual of orthonormal vectors."""
        return LeadingSubspace(A, V.shape[1]).certify(V)


def _unit(exponent: int) -> float:
    """4^exponent, as far as floats go."""
    return math.ldexp(1.0, max(min(2 * exponent, 1020), -1070))


def placed(
    numbers: NDArray[np.int64],
    own: Floats,
    memory: FittedRows,
    coefficients: Floats,
    blocks: Blocks,
) -> Floats:
    """Eigenfunctions on all rows of a table: `own` of the rows with these numbers, and for those
    with -1 their continuation."""
    out, lo = np.where((numbers >= 0)[:, None], own[numbers], 0.0), 0
    for block in blocks:
        left = np.flatnonzero(numbers[lo : lo + block.n_rows] < 0)
        if len(left):
            some = Block(block.start, block.X[left])
            out[lo + left] = continued(memory, coefficients, some)
        lo += block.n_rows
    return out


def continued(memory: FittedRows, coefficients: Floats, block: Block) -> Floats:
    """P(x, ·) @ coefficients of the rows of a block, a few rows of P at a time on each thread."""
    X = block.X if is_sparse(block.X) else as_numpy(block.X)
    width = FEW if isinstance(memory, SparseMemory) else len(coefficients)
    height = max(ENTRIES // max(width, 1), 1)

    def part(lo: int) -> Floats:
        with one_blas_thread():
            return np.asarray(memory.extend(X[lo : lo + height]) @ coefficients)

    cuts = range(0, block.n_rows, height)
    with one_blas_thread():
        parts = parallel_map(part, cuts)
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
