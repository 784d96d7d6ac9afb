"""Quadratic scores of rows: Gaussian log-densities up to a constant, as a statistic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import NDArray

from fenchel.data.arrays import is_sparse, like, to_float64, to_numpy
from fenchel.data.block import Block
from fenchel.data.passes.loops import TILE, address
from fenchel.data.statistic import CompiledLoop, RowLayout, Slots, Statistic, part_rows

Floats = NDArray[np.float64]
STEP = 16  # rows of each R in one product: 5/8 of the work is left at 50 columns, 1/2 in the limit


@dataclass(frozen=True, slots=True, eq=False)
class QuadraticScores(Statistic[Floats]):
    """aₖ - ‖Rₖ(x - c) - tₖ‖² / 2 of every row of one block and every class k, shape (m, K).

    c (d,) is any point near the rows, so that an offset costs no digits; R (K, q, d) is zero left
    of its diagonal; t (K, q) = Rₖ(μₖ - c).
    """

    centre: Floats
    R: Floats
    t: Floats
    offset: Floats

    @classmethod
    def of(cls, means: Floats, roots: Floats, offset: Floats) -> QuadraticScores:
        """For centres (K, d) and roots (K, q, d), any Rₖ with Rₖ'Rₖ the metric: made triangular."""
        triangles = np.array([triangular(root) for root in roots])
        centre = means.mean(axis=0)
        shifts = np.einsum("kqd,kd->kq", triangles, means - centre)
        return cls(centre, triangles, shifts, offset)

    def __call__(self, block: Block) -> Floats:
        X = block.X
        Z = to_float64(X.toarray() if is_sparse(X) else X) - like(self.centre, to_float64(X))
        parts = [Z @ like(R.T, Z) - like(t, Z) for R, t in zip(self.R, self.t, strict=True)]
        square = array_namespace(Z).stack([(T * T).sum(1) for T in parts], axis=1)
        return self.offset - 0.5 * to_numpy(square)

    def compiled(self, block: Block, layout: RowLayout) -> _QuadraticKernel:
        return _QuadraticKernel(self, block, layout)


def triangular(root: Floats) -> Floats:
    """The R (min(q, d), d), zero left of its diagonal, with R'R = root' root."""
    return np.ascontiguousarray(np.asarray(np.linalg.qr(root, mode="r"), np.float64))


class _QuadraticKernel(CompiledLoop[Floats]):
    """Each thread its own rows of one matrix: there is no sum."""

    least_parts = 1  # K d² / 2 products for each row of a part

    def __init__(self, scores: QuadraticScores, block: Block, layout: RowLayout) -> None:
        self.X, self.layout, self.scores = block.X, layout, scores
        self.n = block.n_rows
        K, height, d = scores.R.shape
        parts = [scores.R[:, i : i + STEP, i:].reshape(-1) for i in range(0, height, STEP) if d > i]
        self.packed = np.concatenate([np.zeros(0), *parts])
        self.out = np.empty((self.n, K))
        self.part = max(part_rows(8.0 * max(d, 1)), 512)
        # A power of two, as parts are: tiles are then cut at the same rows whichever range of parts
        # they are in, and a product's bits may depend on its number of rows.
        most = max(32, TILE // (8 * max(d, STEP * K, 1)))
        self.tile = min(self.part, 1 << (most.bit_length() - 1))

    def slots(self, parts: int) -> Slots:
        return ()

    def run(self, first: int, last: int, slots: Slots) -> None:
        from fenchel.data.passes.native.compiled import matrix_product
        from fenchel.geometry.mahalanobis.compiled import csr_scores, dense_scores

        X, scores = self.X, self.scores
        of_rows: tuple[Any, ...] = (
            scores.centre,
            first * self.part,
            min(self.n, last * self.part),
            self.tile,
            matrix_product(),
            self.packed,
            STEP,
            scores.t,
            scores.offset,
            self.out,
        )
        if self.layout.order == "csr":
            csr_scores(X.data, X.indices, X.indptr, *of_rows)
            return
        fortran = self.layout.order == "F"
        axis = 1 if fortran else 0
        # numpy gives any stride to an axis of one entry, which is then never stepped along.
        step = X.strides[axis] // X.itemsize if X.shape[axis] > 1 else max(X.shape[1 - axis], 1)
        dense_scores(address(X), np.zeros(1, X.dtype), step, self.n, fortran, *of_rows)

    def result(self, sums: Slots) -> Floats:
        return self.out
