"""Affinities by a kernel, w(x, z) = k(x, z), or by a function of tables."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from fenchel.data.arrays import is_sparse
from fenchel.data.blocks import free_memory
from fenchel.data.design.kernel import gram_matrix
from fenchel.geometry.kernel.logarithm import log_kernels
from fenchel.geometry.kernel.vector_kernels import KernelFunction
from fenchel.models.manifold.affinity.graph import AffinityGraph, affinity_graph, in_floats
from fenchel.models.manifold.affinity.random_walk import numbers_of, row_keys, shares, steps
from fenchel.models.manifold.vertices import Vertices

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@final
@dataclass(frozen=True, eq=False)
class TableAffinity(KernelFunction):
    """w by a function of one table, or of two, that gives the matrix of all pairs.

    Of one table alone: for new rows it is called with those of the fit above them, and must depend
    on the two rows of a pair only.
    """

    function: Callable[..., Any]

    def takes(self, *tables: Any) -> bool:
        """Whether the function can be given so many tables."""
        try:
            inspect.signature(self.function).bind(*tables)
        except TypeError:
            return False
        except ValueError:  # a function that does not tell
            return True
        return True

    def matrix(self, rows: Any) -> Any:
        """The affinities of the rows with each other, dense or sparse, as a copy."""
        W = self.function(rows) if self.takes(rows) else self.function(rows, rows)
        n = int(rows.shape[0])
        if W.shape != (n, n):
            raise ValueError(
                f"the affinity function gave an array of shape {W.shape} for {n} rows: it must "
                "give one value for each pair"
            )
        return sparse.csr_array(W) if is_sparse(W) else in_floats(np.asarray(W))

    def tile(self, A: Any, B: Any) -> Floats:
        if self.takes(A, B):
            W, first = self.function(A, B), 0
        else:
            stack = sparse.vstack if is_sparse(A) else np.concatenate
            first = int(B.shape[0])
            W = self.function(stack([B, A]))[first:, :first]
        W = np.asarray(W.toarray() if is_sparse(W) else W, np.float64)
        if W.shape != (A.shape[0], B.shape[0]):
            raise ValueError(
                f"the affinity function gave an array of shape {W.shape} for {A.shape[0]} and "
                f"{B.shape[0]} rows: it must give one value for each pair"
            )
        return W

    def diagonal(self, A: Any) -> Floats:
        return np.array([self.tile(A[i : i + 1], A[i : i + 1])[0, 0] for i in range(A.shape[0])])


@dataclass(frozen=True, slots=True, eq=False)
class KernelAffinities:
    """The rows of a graph, whose affinities with a new row a kernel gives.

    mass: of each; own: k(x, x); keys: `row_keys` of the rows.
    """

    kernel: KernelFunction
    rows: Any = field(repr=False)
    mass: Floats = field(repr=False)
    own: Floats = field(repr=False)
    keys: Integers = field(repr=False)

    def chosen(self, some: Integers) -> KernelAffinities:
        return KernelAffinities(
            self.kernel, self.rows[some], self.mass[some], self.own[some], self.keys[some]
        )

    def extend(self, X: Any) -> Floats:
        """By logarithms: however far a row is, the nearest of the fit have its steps."""
        logs = next(iter(log_kernels(self.kernel, X, self.rows, np.ones(1))))
        equal = numbers_of(self.keys, X)
        share, copies = shares(self.mass)
        with np.errstate(divide="ignore"):
            logs += np.log(share)
            here = np.flatnonzero(equal >= 0)
            own = equal[here]
            logs[here, own] = np.log(copies[own]) + np.log(self.own[own])
        top = logs.max(axis=1, initial=-np.inf)
        logs -= np.where(np.isfinite(top), top, 0.0)[:, None]
        return np.asarray(steps(np.exp(logs, out=logs), equal))

    def matrix(self) -> Any:
        """The affinities of the rows with each other, their own among them."""
        return _matrix(self.kernel, self.rows)


def kernel_graph(kernel: KernelFunction, vertices: Vertices) -> AffinityGraph:
    """The graph of a kernel's values."""
    rows = vertices.rows
    n = len(vertices)
    need, have = 24.0 * n * n, free_memory()
    if need > 0.9 * have:
        raise MemoryError(
            f"the {n} x {n} affinities and what is made of them need {need / 2**30:.1f} GiB and "
            f"{have / 2**30:.1f} GiB are free: take affinity='nearest_neighbors', or fewer rows"
        )
    W = _matrix(kernel, rows)
    own = np.asarray(W.diagonal(), np.float64).copy()
    memory = KernelAffinities(kernel, rows, vertices.mass, own, row_keys(rows))
    return affinity_graph(W, vertices, memory, symmetric=not isinstance(kernel, TableAffinity))


def _matrix(kernel: KernelFunction, rows: Any) -> Any:
    return kernel.matrix(rows) if isinstance(kernel, TableAffinity) else gram_matrix(kernel, rows)
