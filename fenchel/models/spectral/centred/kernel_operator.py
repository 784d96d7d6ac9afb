"""The operator of a centred kernel on the rows of a fit: by its factor, held, by tiles, or of
landmarks' features.

    factored   RR' of a linear kernel, R the rows minus their mean
    held       √S K̃ √S in float64; 8 n² bytes
    tiled      by products in float64 whose tiles are made anew (`gram`)
    landmarks  RR', the rows of R = √S (φ - m) those of Nyström's features; 8 n m bytes

Reference: Schölkopf, Smola and Müller, Nonlinear component analysis as a kernel eigenvalue problem,
Neural Computation 10 (1998); Sterge, Sriperumbudur, Rosasco and Rudi, Gain with no pain: efficient
kernel PCA by Nyström sampling, AISTATS (2020).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import is_sparse, to_numpy
from fenchel.data.blocks import Block, Blocks
from fenchel.data.design.kernel import gram_matrix
from fenchel.geometry.kernel.named_kernel import FunctionOfRows, GivenColumns
from fenchel.geometry.kernel.nystroem import INDEFINITE, NystroemFeatures, random_pivots
from fenchel.geometry.kernel.vector_kernels import KernelFunction, Linear, Precomputed
from fenchel.models.estimator import as_numpy
from fenchel.models.spectral.centred.distances import (
    factored_rows,
    square_input,
    symmetric_part,
)
from fenchel.models.spectral.centred.gram import TiledGram, tiles_pay
from fenchel.models.spectral.centred.kernels import (
    CentredKernel,
    LandmarkFeatures,
    LinearFeatures,
    by_ranges,
)
from fenchel.models.spectral.centred.operators import (
    CentredSymmetric,
    Centring,
    FactorProducts,
    refuse_memory,
    rounding_error,
)
from fenchel.models.spectral.eigenfunctions import DataOperator
from fenchel.models.spectral.output_rows import working_type
from fenchel.solve.eigen.leading import eigenpairs
from fenchel.solve.eigen.residual import EPS, lengths

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
# Values of a kernel between these sizes need no unit: sums of their products stay in range.
SMALL, LARGE = 1e-100, 1e100
# Rows among which landmarks are drawn, for each of them. Of 3000 rows 300 landmarks drawn among all
# of them and among a half left shares of the trace that differed by 3 %.
CANDIDATES = 16


@dataclass(frozen=True, slots=True, eq=False)
class KernelTable:
    """The rows with weight of a fit, as a kernel takes them.

    kernel, rows: among rows of the fit; outside, points: of new rows and these; s: weights, None
    for 1; members: their numbers, None where all rows have weight; entries: by how many roundings
    of the largest a value may be off.
    """

    kernel: KernelFunction
    rows: Any = field(repr=False)
    outside: KernelFunction
    points: Any = field(repr=False)
    s: Floats | None = field(repr=False)
    members: Numbers | None = field(repr=False)
    entries: float

    @property
    def n(self) -> int:
        return int(self.rows.shape[0])

    @property
    def trusted(self) -> bool:
        """Whether the kernel is positive semi-definite by its formula."""
        by_values = isinstance(self.kernel, Precomputed | FunctionOfRows)
        return not by_values and self.kernel.is_psd

    def matrix_in_memory(self) -> DataOperator:
        """K in memory."""
        K, s = self._matrix(), self.s
        size = float(np.abs(K).max(initial=0.0))
        exponent = _exponent(size)
        if exponent:
            K = np.ldexp(K, -2 * exponent)
        centring = Centring.of(self.n, s)
        means = K @ centring.share
        grand = float(centring.share @ means)
        memory = self._memory(means, grand, exponent)
        K -= means[:, None]
        K -= means
        K += grand
        if centring.root is not None:
            K *= centring.root[:, None]
            K *= centring.root
        error = rounding_error(math.ldexp(size, -2 * exponent), self.n, s, self.entries)
        return DataOperator(K, memory, s, self.members, exponent=exponent, error=error)

    @property
    def linear(self) -> bool:
        """Whether the rows, minus their mean, are features of the kernel."""
        return isinstance(self.kernel, Linear) and not is_sparse(self.rows)

    def factored(self) -> DataOperator:
        """Of a linear kernel, whose matrix is not made: far from the origin it has no digits left
        for what centring leaves."""
        made = factored_rows(Block(0, self.rows, None, self.s), self.members)
        return replace(made, memory=LinearFeatures(made.memory, self.points))

    def operator(self, k: int) -> DataOperator:
        """A for k eigenpairs, by what holds the least."""
        if self.linear:
            return self.factored()
        return self.continued(self.tiled()) if self.tiles_pay(k) else self.matrix_in_memory()

    def tiles_pay(self, k: int) -> bool:
        """Whether k eigenpairs are found without K in float64."""
        return self.trusted and tiles_pay(self.n, k, self.kernel, self.rows)

    def tiled(self) -> TiledGram:
        """K by products that make it anew."""
        return TiledGram(self.kernel, self.rows, Centring.of(self.n, self.s))

    def continued(self, gram: TiledGram) -> DataOperator:
        """A of K as `tiled` has made it."""
        size = float(self.kernel.diagonal(self.rows).max(initial=0.0))  # K is semi-definite
        error = rounding_error(size, self.n, self.s, self.entries)
        means = gram.means
        memory = self._memory(means, float(gram.centring.share @ means), 0)
        A = CentredSymmetric(gram, gram.centring)
        return DataOperator(A, memory, self.s, self.members, error=error)

    def _memory(self, means: Floats, grand: float, exponent: int) -> CentredKernel:
        share = Centring.of(self.n, self.s).share
        return CentredKernel(self.outside, self.points, share, means, grand, self.s, exponent)

    def _matrix(self) -> Floats:
        """K as an array of its own."""
        what, remedy = f"the {self.n} x {self.n} kernel matrix", "give landmarks, such as 1000"
        refuse_memory(8.0 * self.n * self.n, what, remedy)
        if isinstance(self.kernel, Precomputed):
            return self.kernel.tile(self.rows, self.rows)
        return gram_matrix(self.kernel, self.rows)


def kernel_table(kernel: KernelFunction, blocks: Blocks) -> KernelTable:
    """The rows of a fit for a kernel of rows."""
    block = blocks.gather()
    rows = block.X if is_sparse(block.X) else np.ascontiguousarray(as_numpy(block.X))
    s, members = _weights(block)
    rows = rows if members is None else rows[members]
    return KernelTable(kernel, rows, kernel, rows, s, members, _entries(kernel, blocks.n_cols))


def given_table(K: Floats, block: Block) -> KernelTable:
    """The rows of a fit whose kernel matrix is given."""
    s, members = _weights(block)
    numbers = np.arange(len(K)) if members is None else members
    some = Precomputed(K if members is None else K[np.ix_(members, members)])
    own = np.arange(len(numbers))
    return KernelTable(some, own, GivenColumns(), numbers, s, members, 4.0)


def given_kernel(blocks: Blocks) -> Floats:
    """K where the rows are those of K: square and symmetric, or an error that says where not."""
    X = blocks.gather().X
    K = square_input(X if is_sparse(X) else to_numpy(X))
    # Values in a type are off by some of its roundings, whichever side they were made from.
    eps = float(np.finfo(working_type(blocks)).eps)
    return symmetric_part(K, "the kernel", 64.0 * eps * float(np.abs(K).max(initial=0.0)))


def landmark_operator(
    kernel: KernelFunction, blocks: Blocks, count: int, k: int, random: np.random.Generator
) -> tuple[DataOperator, Numbers]:
    """RR' of the features of landmarks, with what they leave of K, and the landmarks' numbers.

    For given kernels the rows are those of K; k: columns that are to come of them.
    """
    if not k <= count <= blocks.n_rows:
        raise ValueError(
            f"landmarks={count} must lie between n_components={k} and the number of rows, "
            f"n_samples={blocks.n_rows}"
        )
    given = isinstance(kernel, Precomputed)
    n = blocks.n_rows
    what = f"the features of {n} rows for {count} landmarks"
    refuse_memory(8.0 * n * count, what, "lower landmarks")
    numbers = np.arange(0, n, max(1, n // (CANDIDATES * count)))
    some = blocks.take(numbers)
    s, kept = _weights(some)
    numbers = numbers if kept is None else numbers[kept]
    rows: Any = some.X if is_sparse(some.X) else np.ascontiguousarray(as_numpy(some.X))
    rows = numbers if given else rows if kept is None else rows[kept]
    if not given:
        # In an order of their own, the draws do not depend on that of the table, and a row is drawn
        # as often as its copies are.
        order = np.argsort(rows @ np.cos(np.arange(1.0, rows.shape[1] + 1.0)), kind="stable")
        rows, numbers, s = rows[order], numbers[order], None if s is None else s[order]
    if isinstance(kernel, Precomputed):
        # A factor of K would tell for certain, and take n³/3.
        low = eigenpairs(kernel.K, 1, smallest=True, tol=1e-4).values[0]
        if low < -INDEFINITE * float(np.abs(kernel.K).max(initial=0.0)):
            _refuse_indefinite(f"for it has the eigenvalue {low:.3g}")
    elif not kernel.is_psd:
        _refuse_indefinite("by its formula")

    def columns(some: Numbers) -> Floats:
        Z = rows[some]
        out = np.empty((int(rows.shape[0]), len(some)))
        return by_ranges(lambda part: kernel.tile(part, Z), rows, out)

    chosen = random_pivots(kernel.diagonal(rows), columns, count, random, s)
    Z = rows[chosen]
    outside = GivenColumns() if given else kernel
    features = NystroemFeatures.of(outside, Z, kernel.tile(Z, Z))
    entries = 4.0 if given else _entries(kernel, blocks.n_cols)
    made = _of_features(features, kernel if given else None, blocks, entries)
    return made, np.sort(numbers[chosen])


def _of_features(
    features: NystroemFeatures, given: KernelFunction | None, blocks: Blocks, entries: float
) -> DataOperator:
    n = blocks.n_rows
    R, own, s = np.empty((n, features.basis.shape[1])), np.empty(n), np.ones(n)
    for block in blocks:
        X = block.X if is_sparse(block.X) else as_numpy(block.X)
        at = slice(block.start, block.start + block.n_rows)
        by_ranges(features.rows, X, R[at])
        numbers = np.arange(at.start, at.stop)
        own[at] = features.kernel.diagonal(X) if given is None else given.diagonal(numbers)
        if block.weight is not None:
            s[at] = to_numpy(block.weight)
    members = None if (s > 0.0).all() else np.flatnonzero(s > 0.0)
    if members is not None:
        R, own, s = R[members], own[members], s[members]
    plain = bool((s == 1.0).all())
    squares = np.einsum("ij,ij->i", R, R)
    size = float(own.max(initial=0.0))
    least = float((own - squares).min(initial=0.0))
    if least < -INDEFINITE * size:
        _refuse_indefinite(f"for the landmarks explain more than k(x, x) of a row, by {-least:.3g}")
    left = float(s @ np.maximum(own - squares, 0.0))
    left += _feature_rounding(features, size, float(s.sum()), float(s @ squares), entries)
    exponent = _exponent(size)
    R = np.ldexp(R, -exponent) if exponent else R
    mean = s @ R / s.sum()
    R -= mean
    measure = None if plain else s
    if not plain:
        R *= np.sqrt(s)[:, None]
    A = FactorProducts(R)
    return DataOperator(
        A,
        LandmarkFeatures(features, mean, exponent),
        measure,
        members,
        R if plain else R * np.sqrt(s)[:, None],
        exponent,
        A.rounding,
        math.ldexp(left, -2 * exponent),
    )


def _refuse_indefinite(why: str) -> None:
    raise ValueError(
        f"the kernel is not positive semi-definite, {why}, and landmarks have features of such "
        "kernels alone: leave landmarks out, or take another kernel"
    )


def _feature_rounding(
    features: NystroemFeatures, size: float, mass: float, trace: float, entries: float
) -> float:
    """A bound of what rounding in k(x, Z) changes ΦΦ' by: φ is off by √m ε |basis|."""
    m = len(features.basis)
    # The columns of the basis are orthogonal: its norm is the length of the longest.
    longest = float(lengths(features.basis).max(initial=0.0))
    off = (entries + m) * EPS * size * math.sqrt(m) * longest
    return 2.0 * math.sqrt(trace) * math.sqrt(mass) * off + mass * off * off


def _weights(block: Block) -> tuple[Floats | None, Numbers | None]:
    """Weights above zero, and the numbers of the rows that have them; None for all."""
    if block.weight is None:
        return None, None
    s = np.asarray(to_numpy(block.weight), np.float64)
    if (s > 0.0).all():
        return s, None
    members = np.flatnonzero(s > 0.0)
    return s[members], members


def _entries(kernel: KernelFunction, d: int) -> float:
    """By how many roundings of the largest value a value of the kernel may be off: of a Gaussian
    64 δ t e⁻ᵗ with the δ = (3 d + 80) U of `geometry.distance`, t e⁻ᵗ < 0.37; of an inner product
    d, of its p-th power p (d + 2)."""
    return 4.0 if isinstance(kernel, FunctionOfRows) else 72.0 * (d + 27.0)


def _exponent(size: float) -> int:
    """e with values of this size over 4ᵉ about 1; 0 where that is not needed."""
    if size == 0.0 or SMALL < size < LARGE:
        return 0
    return int(math.frexp(size)[1] // 2)
