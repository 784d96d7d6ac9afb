"""The Hessian of a ranking, Φ'LΦ + λI, L the Laplacian of the graph of the active pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fenchel.convex.hessian.dense import PSDFactor
from fenchel.convex.ranking.objective import ActivePairs, Ranking, RankingEvaluation
from fenchel.data.arrays import Array, is_sparse, like, to_numpy
from fenchel.data.blocks import Block
from fenchel.data.design.block_products import adjoint, forward, weighted_gram
from fenchel.data.in_memory import ArrayBlocks
from fenchel.solve.smooth.newton_cg import conjugate_gradients

Floats = NDArray[np.float64]
SPACE = 2**23  # numbers that the rows of the chosen pairs may hold


@dataclass(frozen=True, slots=True)
class LaplacianOperator:
    """The Hessian known by its products, inverted by conjugate gradients: rows X that are in any of
    the pairs, and their Laplacian."""

    X: Array
    laplacian: csr_array
    diagonal: Floats
    lam: float

    def solve(self, g: Floats) -> Floats:
        def hessian(v: Floats) -> Floats:
            z = self.laplacian @ to_numpy(forward(self.X, v))
            return np.asarray(to_numpy(adjoint(self.X, like(z, self.X))) + self.lam * v)

        return conjugate_gradients(hessian, lambda r: r / self.diagonal, g, 1e-4, 200)


@dataclass(frozen=True, slots=True)
class ScaledIdentity:
    """λ times the identity: no pair is curved."""

    lam: float

    def solve(self, g: Floats) -> Floats:
        return g / self.lam


Hessian = PSDFactor | LaplacianOperator | ScaledIdentity


def active_pairs(problem: Ranking, seen: RankingEvaluation) -> ActivePairs:
    """All curved pairs, or enough of them for each column."""
    d, blocks = problem.design.dimension, problem.design.blocks
    each = float(d)
    if blocks.sparse and isinstance(blocks, ArrayBlocks):
        each = 2.0 * blocks.gather().X.nnz / blocks.n_rows + 1.0
    least = 2**12 if _is_wide(problem) else max(2**12, 8 * (d + 1))
    return problem.curved_pairs(seen, max(min(max(2**14, 64 * d), int(SPACE / each)), least))


def _is_wide(problem: Ranking) -> bool:
    """Whether there are too many columns for a matrix of their products."""
    return problem.design.dimension > (200 if problem.design.blocks.sparse else 2000)


def hessian_of(problem: Ranking, edges: ActivePairs) -> Hessian:
    """Σ h(xᵢ - xⱼ)(xᵢ - xⱼ)' + λ."""
    d, lam = problem.design.dimension, problem.penalty.lam
    if not len(edges.h):
        return ScaledIdentity(lam)
    rows, at = np.unique(np.concatenate([edges.i, edges.j]), return_inverse=True)
    if _is_wide(problem):
        X, L = problem.take(rows), _laplacian(edges, at, len(rows))
        diagonal = X.multiply(L @ X).sum(0) if is_sparse(X) else _diagonal(to_numpy(X), L)
        return LaplacianOperator(X, L, np.maximum(np.ravel(diagonal), 0.0) + lam, lam)
    if len(rows) < len(edges.h):  # rows that meet in several pairs
        X = problem.take(rows)
        dense = to_numpy(X.toarray() if is_sparse(X) else X)
        dense = dense - dense.mean(axis=0)  # L sends a constant to zero, but not in float64
        H = dense.T @ (_laplacian(edges, at, len(rows)) @ dense)
    else:
        H = _pair_by_pair(problem, edges)
    H.flat[:: d + 1] += lam
    return PSDFactor.of(H)


def _laplacian(edges: ActivePairs, at: NDArray[np.int64], size: int) -> csr_array:
    i, j, h = at[: len(edges.i)], at[len(edges.i) :], edges.h
    entries = np.concatenate([h, h, -h, -h])
    places = np.concatenate([i, j, i, j]), np.concatenate([i, j, j, i])
    return csr_array((entries, places), shape=(size, size))


def _diagonal(X: Floats, L: csr_array) -> Floats:
    return np.asarray(np.einsum("ij,ij->j", X, L @ X))


def _pair_by_pair(problem: Ranking, edges: ActivePairs) -> Floats:
    d, D = problem.design.dimension, problem.differences(edges.i, edges.j)
    blocks = ArrayBlocks(Block(0, D, None, like(edges.h, D)))

    def stat(block: Block) -> Floats:
        return weighted_gram(block.X, block.weight, None)

    return np.ascontiguousarray(blocks.reduce(stat)[:d, :d])
