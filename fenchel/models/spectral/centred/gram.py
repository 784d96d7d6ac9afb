"""Centred kernel matrices in mixed precision: single to search, double to state.

    K₃₂ = (k(xᵢ, xⱼ)) in float32, half of it;   K V in float64, by tiles made once for each pair

Block Krylov steps with K₃₂ find the subspace; one product with K in float64 gives Ritz pairs and
residuals that are those of K itself, so that nothing of the rounding in K₃₂ is left in them. The
steps begin with the eigenvectors of some rows, continued to all (Nyström).

Cost: n² d / 2 in single precision, n² k a step, and n² d / 2 in double; 2 n² bytes.

Reference: Williams and Seeger, Using the Nyström method to speed up kernel machines, NIPS 13
(2000); Higham and Mary, Mixed precision algorithms in numerical linear algebra, Acta Numerica 31
(2022).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.blocks import free_memory
from fenchel.data.design.kernel_tiles import symmetric_product
from fenchel.data.parallel import one_blas_thread, parallel_map
from fenchel.geometry.kernel.single_rows import SingleRows, single_rows
from fenchel.geometry.kernel.vector_kernels import KernelFunction
from fenchel.models.spectral.centred.operators import CentredSymmetric, Centring
from fenchel.models.spectral.centred.strips import SymmetricStrips
from fenchel.solve.eigen.block_krylov import BlockKrylov
from fenchel.solve.eigen.leading import Eigenpairs, eigenpairs, subspace_iterations
from fenchel.solve.eigen.products import DenseSymmetric
from fenchel.solve.eigen.residual import lengths

Floats = NDArray[np.float64]
# Columns of a tile: of 8000 rows with 20 columns 128 x 512, 256 x 512, 256 x 1024 and 512 x 512
# took 114, 110, 140 and 154 ms a product.
WIDTH = 512
HELD = 2048  # rows up to which K is held in float64: made in 0.05 s, and multiplied in 4 ms
LARGEST_SINGLE = 1e30  # values of float32 whose sums stay in its range
# Rows whose eigenvectors the search begins with, and steps for them: of 500, 1000 and 2000 rows of
# 8000 each saved two of seven steps with all.
SAMPLE, SAMPLE_STEPS = 1000, 3
# Columns beyond the wanted ones: at least five, and as many as a product takes without being longer
# for it, the share of the rows among them. With 5, 8 and 12 beyond 10 wanted ones 5, 4 and 4 steps
# reached 1e-7.
GUARD, BLOCK = 5, 16


def search(k: int) -> BlockKrylov:
    """Krylov steps for k wanted pairs."""
    return BlockKrylov(guard=-(-(k + GUARD + 1) // BLOCK) * BLOCK - 1 - k)


@dataclass(frozen=True, slots=True, eq=False)
class TiledGram:
    """K in float64 by its products; the first one takes Kp along."""

    kernel: KernelFunction
    rows: Any = field(repr=False)
    centring: Centring
    _seen: dict[str, Floats] = field(default_factory=dict, init=False, repr=False)

    @property
    def shape(self) -> tuple[int, int]:
        n = len(self.centring.share)
        return n, n

    @property
    def means(self) -> Floats:
        """Kp."""
        if not self._seen:
            self._seen["means"] = self._product(self.centring.share[:, None])[:, 0]
        return self._seen["means"]

    def __matmul__(self, V: Floats) -> Floats:
        if self._seen:
            return self._product(V)
        both = self._product(np.column_stack([V, self.centring.share]))
        self._seen["means"] = both[:, -1].copy()
        return both[:, :-1]

    def _product(self, V: Floats) -> Floats:
        return symmetric_product(self.kernel, self.rows, V)


def tiles_pay(n: int, k: int, kernel: KernelFunction, rows: Any) -> bool:
    """Whether k eigenpairs of a semi-definite kernel are found by products whose tiles are made
    anew: single precision searches, or float64 has no room."""
    if n <= HELD or search(k).largest * (k + search(k).guard) > n:
        return False
    return single_rows(kernel, rows) is not None or 16.0 * n * n > 0.9 * free_memory()


def mixed_pairs(gram: TiledGram, k: int, tol: float, max_steps: int | None) -> Eigenpairs:
    """The k largest eigenpairs of the centred matrix; in float64 alone for kernels that single
    precision has no rows of, and where it has no room."""
    n, centring = gram.shape[0], gram.centring
    A = CentredSymmetric(gram, centring)
    single = single_rows(gram.kernel, gram.rows) if 2.0 * n * n < 0.5 * free_memory() else None
    K = None if single is None else _filled(single, n)
    # No value of a semi-definite kernel exceeds those of the diagonal.
    if single is None or K is None or not K.largest <= LARGEST_SINGLE:
        return eigenpairs(A, k, tol=tol, max_steps=max_steps)
    rough, solver = CentredSymmetric(K, centring), search(k)
    start = _start(single, centring, k, solver.guard)
    return eigenpairs(A, k, tol=tol, max_steps=max_steps, rough=rough, start=start, solver=solver)


def _filled(single: SingleRows, n: int) -> SymmetricStrips:
    """K₃₂, made below the diagonal."""

    def rows(lo: int, hi: int, out: NDArray[np.float32]) -> None:
        maker, places = single.maker(np.arange(lo, hi)), np.arange(hi - lo)
        for left in range(0, hi, WIDTH):
            maker(slice(left, min(left + WIDTH, hi)), out, places)

    # Values beyond the range of float32 are seen in the diagonal.
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        return SymmetricStrips.filled(n, rows)


def _start(single: SingleRows, centring: Centring, k: int, guard: int) -> Floats | None:
    """Eigenvectors of evenly spaced rows, continued to all of them."""
    n = len(centring.share)
    if n < 4 * SAMPLE or 4 * k > SAMPLE:
        return None
    some = np.arange(0, n, n // SAMPLE)
    maker, places = single.maker(some), np.arange(len(some))
    K = np.empty((len(some), n), np.float32)

    def fill(left: int) -> None:
        part = slice(left, min(left + WIDTH, n))
        with one_blas_thread():
            maker(part, K, places)

    with one_blas_thread(), np.errstate(over="ignore", under="ignore", invalid="ignore"):
        parallel_map(fill, range(0, n, WIDTH))
    weight = centring.weight
    few = Centring.of(len(some), None if weight is None else weight[some])
    sample = CentredSymmetric(DenseSymmetric(np.ascontiguousarray(K[:, some])), few)
    V = subspace_iterations(sample, k + guard, SAMPLE_STEPS, 0).vectors
    with one_blas_thread():
        U = centring.gather((K.T @ few.spread(V).astype(np.float32)).astype(np.float64))
    size = lengths(U)
    return np.asarray(U / np.where(size > 0.0, size, 1.0))
