"""Graphs of affinities, normalised: D^{-1/2} W D^{-1/2}, and what belongs to it.

    dᵢ = Σ_{j≠i} sⱼ w(xᵢ, xⱼ) + max(sᵢ - 1, 0) w(xᵢ, xᵢ)
    Aᵢⱼ = √(sᵢ sⱼ) w(xᵢ, xⱼ) / √(dᵢ dⱼ),   Aᵢᵢ = max(sᵢ - 1, 0) w(xᵢ, xᵢ) / dᵢ

A row has no affinity with itself, and one of weight s has one with its s - 1 copies: A has the
leading eigenvalues of the matrix of all copies, and its eigenvectors are those divided among them.
A row without affinities is a component of its own, with Aᵢᵢ = dᵢ = 1.

Reference: Ng, Jordan and Weiss, On spectral clustering: analysis and an algorithm, NIPS 14 (2002);
von Luxburg, A tutorial on spectral clustering, Statistics and Computing 17 (2007).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from fenchel.data.arrays import is_sparse
from fenchel.data.linear_algebra.matrix_products import matrix_product
from fenchel.data.parallel import parallel_map
from fenchel.geometry.graph.components import GraphComponents, components_of, components_of_matrix
from fenchel.models.manifold.vertices import Vertices
from fenchel.models.spectral.eigenfunctions import FittedRows
from fenchel.solve.eigen.adjacency import leading_of_adjacency
from fenchel.solve.eigen.leading import Eigenpairs
from fenchel.solve.eigen.products import Deflated, DenseSymmetric

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
RANGE = 512  # rows of a matrix that a thread looks at or scales at once
# Affinities beyond these are taken to the unit range by a power of two, which changes no digit.
LEAST, MOST = 1e-100, 1e100
# Below this share of the largest an affinity is none: its row would lose digits to underflow.
NONE = 1e-290
ROUNDING = 1e-6  # of the largest affinity: what two computations of one may differ by


class AffinityMemory(FittedRows, Protocol):
    """What keeps the affinities of new rows with the vertices of a graph."""

    def chosen(self, some: Integers) -> AffinityMemory:
        """Of some of the vertices alone."""


@dataclass(frozen=True, slots=True, eq=False)
class AffinityGraph:
    """W (m, m), symmetric, not negative, zero on its diagonal, an array or CSR; own: w(x, x) of
    each vertex; memory: what gives affinities of new rows."""

    W: Any = field(repr=False)
    own: Floats = field(repr=False)
    vertices: Vertices
    memory: AffinityMemory

    def __len__(self) -> int:
        return len(self.own)

    def components(self) -> GraphComponents:
        """Of the graph whose edges are affinities above zero."""
        return components_of(self.W) if is_sparse(self.W) else components_of_matrix(self.W)

    def chosen(self, some: Integers) -> AffinityGraph:
        """The graph of some vertices."""
        W = self.W[some][:, some]
        return AffinityGraph(
            W, self.own[some], self.vertices.chosen(some), self.memory.chosen(some)
        )

    def normalised(self) -> NormalisedGraph:
        """A; a dense W is scaled in place, and must not be used again."""
        s = self.vertices.mass
        # Weights of at most 1 and affinities of moderate size: no product of them overflows.
        unit = 0 if float(s.max()) == 1.0 else math.frexp(float(s.max()))[1]
        s = np.ldexp(s, -unit)
        W, exponent = _in_units(self.W)
        own = np.ldexp(self.own, -2 * exponent)
        copies = np.maximum(s - math.ldexp(1.0, min(-unit, 1000)), 0.0) * own
        degrees = (W @ s if is_sparse(W) else matrix_product(W, s)) + copies
        alone = degrees == 0.0
        degrees = np.where(alone, 1.0, degrees)
        diagonal = np.where(alone, 1.0, copies / degrees)
        root = np.sqrt(s / degrees)
        A = _scaled_sparse(W, root, diagonal) if is_sparse(W) else _scaled(W, root, diagonal)
        return NormalisedGraph(A, s * degrees, exponent + unit, self.vertices, self.memory)


@dataclass(frozen=True, slots=True, eq=False)
class NormalisedGraph:
    """A, and the measure m = s d of each vertex, over 4^exponent."""

    A: Any = field(repr=False)
    measure: Floats = field(repr=False)
    exponent: int
    vertices: Vertices
    memory: AffinityMemory

    def __len__(self) -> int:
        return len(self.measure)

    @property
    def members(self) -> Integers | None:
        """The numbers of the rows of the table that the graph is about; None for all."""
        return None if self.vertices.all_rows else self.vertices.members

    def trivial(self) -> Floats:
        """√m of length 1, the eigenvector of the eigenvalue 1 of a connected graph, as a column."""
        root = np.sqrt(self.measure)
        return np.asarray((root / np.linalg.norm(root))[:, None])

    def indicators(self, parts: GraphComponents) -> Floats:
        """√m of each component in a column, of length 1: the eigenvectors of the eigenvalue 1."""
        found = np.zeros((len(self), parts.count))
        found[np.arange(len(self)), parts.labels] = np.sqrt(self.measure)
        return np.asarray(found / np.linalg.norm(found, axis=0))

    def deflated(self, known: Floats) -> Deflated:
        """A with an eigenvalue below all others for the known eigenvectors."""
        return Deflated(self.A if is_sparse(self.A) else DenseSymmetric(self.A), known)

    def leading(self, known: Floats, k: int, tol: float) -> Eigenpairs:
        """The k leading eigenpairs but for the known ones."""
        return leading_of_adjacency(self.A, known, k, tol=tol)

    def cuts(self, codes: Integers, count: int) -> Floats:
        """w(C, rest) / vol(C) of each group of vertices; no difference is taken, so that small ones
        have their digits."""
        groups = np.zeros((len(self), count))
        groups[np.arange(len(self)), codes] = root = np.sqrt(self.measure)
        product = self.A @ groups if is_sparse(self.A) else matrix_product(self.A, groups)
        product[np.arange(len(self)), codes] = 0.0
        return np.asarray(root @ product / np.bincount(codes, self.measure, minlength=count))


def affinity_graph(
    W: Any,
    vertices: Vertices,
    memory: AffinityMemory,
    what: str = "the affinity",
    symmetric: bool = False,
) -> AffinityGraph:
    """The graph of a matrix of affinities, which is this function's to change; an error names the
    entry that is none. symmetric: whether W is that to the bit."""
    if is_sparse(W):
        W = _checked_sparse(csr_array(W), what)
        own = np.asarray(W.diagonal(), np.float64)
        W = (W - diags_array(own)).tocsr()
        W.eliminate_zeros()
        return AffinityGraph(W, own, vertices, memory)
    W = _checked(W, what, symmetric)
    own = W.diagonal().copy()
    W.reshape(-1)[:: len(W) + 1] = 0.0
    return AffinityGraph(W, own, vertices, memory)


def in_floats(W: NDArray[Any]) -> Floats:
    """A square matrix of affinities in float64, as a copy."""
    if W.ndim != 2 or W.shape[0] != W.shape[1]:
        raise ValueError(f"affinities must be a square matrix, got shape {W.shape}")
    return np.array(W, np.float64)


def _checked(W: Floats, what: str, symmetric: bool) -> Floats:
    """Finite, symmetric, none below zero but for rounding."""

    def seen(lo: int) -> tuple[float, float, float]:
        rows, uneven = W[lo : lo + RANGE], 0.0
        if not symmetric:
            with np.errstate(invalid="ignore"):
                uneven = float(np.abs(rows - W[:, lo : lo + RANGE].T).max(initial=0.0))
        return float(rows.min(initial=0.0)), float(rows.max(initial=0.0)), uneven

    def cut(lo: int) -> None:
        rows = W[lo : lo + RANGE]
        rows[rows < NONE * top] = 0.0

    starts = range(0, len(W), RANGE)
    found = np.array(parallel_map(seen, starts))
    if not np.isfinite(found).all():
        i, j = (int(at[0]) for at in np.nonzero(~np.isfinite(W)))
        raise ValueError(f"{what} in row {i}, column {j} is {W[i, j]}: give finite affinities")
    low, top, uneven = float(found[:, 0].min()), float(found[:, 1].max()), float(found[:, 2].max())
    if low < -ROUNDING * top:
        i, j = divmod(int(W.argmin()), len(W))
        raise ValueError(_negative(what, i, j, low))
    if uneven > ROUNDING * top:
        i, j = divmod(int(np.abs(W - W.T).argmax()), len(W))
        raise ValueError(_uneven(what, i, j, float(W[i, j]), float(W[j, i])))
    if uneven > 0.0:
        W = 0.5 * (W + W.T)
    if low < NONE * top:
        parallel_map(cut, starts)
    return W


def _checked_sparse(W: csr_array, what: str) -> csr_array:
    """The same for stored entries."""
    if W.shape[0] != W.shape[1]:
        raise ValueError(f"affinities must be a square matrix, got shape {W.shape}")
    W = W.astype(np.float64)
    W.sum_duplicates()
    rows = np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))
    if not np.isfinite(W.data).all():
        at = int((~np.isfinite(W.data)).argmax())
        i, j = int(rows[at]), int(W.indices[at])
        raise ValueError(f"{what} in row {i}, column {j} is {W.data[at]}: give finite affinities")
    low, top = float(W.data.min(initial=0.0)), float(W.data.max(initial=0.0))
    if low < -ROUNDING * top:
        at = int(W.data.argmin())
        raise ValueError(_negative(what, int(rows[at]), int(W.indices[at]), low))
    other = csr_array(W.T)
    uneven = abs(W - other)
    if uneven.nnz and float(uneven.max()) > ROUNDING * top:
        uneven = uneven.tocoo()
        at = int(uneven.data.argmax())
        i, j = int(uneven.row[at]), int(uneven.col[at])
        raise ValueError(_uneven(what, i, j, float(W[i, j]), float(W[j, i])))
    W = csr_array(0.5 * (W + other)) if uneven.nnz and float(uneven.max()) > 0.0 else W
    W.data[W.data < NONE * top] = 0.0
    return W


def _negative(what: str, i: int, j: int, value: float) -> str:
    return (
        f"Negative values in data: {what} in row {i}, column {j} is {value:.6g}, and the weight of "
        "an edge is not negative: take a kernel such as 'rbf', or give exp(W)"
    )


def _uneven(what: str, i: int, j: int, one: float, other: float) -> str:
    return (
        f"{what} in row {i}, column {j}, {one:.6g}, is not that of column and row exchanged, "
        f"{other:.6g}: pass (W + W') / 2"
    )


def _in_units(W: Any) -> tuple[Any, int]:
    """W over 4^e, in place where it is dense, with its largest entry in the unit range."""
    values = W.data if is_sparse(W) else W
    top = float(values.max(initial=0.0))
    exponent = 0 if top == 0.0 or LEAST < top < MOST else -(-math.frexp(top)[1] // 2)
    if exponent == 0:
        return W, 0
    if not is_sparse(W):
        return np.ldexp(W, -2 * exponent, out=W), exponent
    data = np.ldexp(W.data, -2 * exponent)
    return csr_array((data, W.indices, W.indptr), shape=W.shape), exponent


def _scaled(W: Floats, root: Floats, diagonal: Floats) -> Floats:
    """root W root with a diagonal, in place."""

    def scale(lo: int) -> None:
        W[lo : lo + RANGE] *= root[lo : lo + RANGE, None]
        W[lo : lo + RANGE] *= root

    parallel_map(scale, range(0, len(W), RANGE))
    W.reshape(-1)[:: len(W) + 1] = diagonal
    return W


def _scaled_sparse(W: csr_array, root: Floats, diagonal: Floats) -> csr_array:
    rows = np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))
    A = csr_array((W.data * root[rows] * root[W.indices], W.indices, W.indptr), shape=W.shape)
    return csr_array(A + diags_array(diagonal)) if diagonal.any() else A
