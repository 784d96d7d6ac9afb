"""Barycentric weights: each point as the affine mean of its neighbours that is nearest to it.

    min over w of |x - Σⱼ wⱼ zⱼ|² + r tr(C) |w|²,  Σⱼ wⱼ = 1;   Cⱼₗ = (zⱼ - x)·(zₗ - x)
    (C + r tr(C) I) w ∝ 1

The weights do not change where all is moved, turned or stretched. Of a point that is a vertex
itself the weight is 1 on that vertex, the limit for r → 0.

Cost O(d k² + k³) a point, k neighbours in d dimensions.

Reference: Saul and Roweis, Think globally, fit locally, J. Machine Learning Research 4 (2003),
section 3.2 and appendix A.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fenchel.data.arrays import is_sparse
from fenchel.data.parallel import one_blas_thread, parallel_map, thread_count
from fenchel.geometry.search.euclidean import EuclideanSearch
from fenchel.models.spectral.eigenfunctions import SparseMemory

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
HELD = 2**21  # numbers of the differences that are held at once, for each thread: 16 MB


def barycentric_weights(
    points: NDArray[Any], vertices: NDArray[Any], numbers: Integers, reg: float
) -> Floats:
    """The weights (m, k) of each point on the k vertices of these numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.models.manifold.barycentric import barycentric_weights
    >>> line = np.array([[0.0], [1.0]])
    >>> barycentric_weights(np.array([[0.25]]), line, np.array([[0, 1]]), 1e-9).round(6).tolist()
    [[0.75, 0.25]]
    """
    (m, k), d = numbers.shape, vertices.shape[1]
    out = np.empty((m, k))
    step = max(1, min(HELD // (k * d), -(-m // thread_count())))

    def work(lo: int) -> None:
        rows = slice(lo, lo + step)
        out[rows] = _solved(points[rows], vertices[numbers[rows]], reg, lo)

    with one_blas_thread():
        parallel_map(work, range(0, m, step))
    return out


def _solved(points: NDArray[Any], near: NDArray[Any], reg: float, start: int) -> Floats:
    m, k, _ = near.shape
    moved = near.astype(np.float64) - points[:, None].astype(np.float64)
    size = np.abs(moved).max(axis=(1, 2), initial=0.0)
    # A power of two changes no digit, and squares of what is left neither overflow nor vanish.
    shift = np.where(size > 0.0, -np.frexp(size)[1], 0)
    moved = np.ldexp(moved, shift[:, None, None])
    C = moved @ moved.transpose(0, 2, 1)
    trace = np.trace(C, axis1=1, axis2=2)
    diagonal = np.arange(k)
    C[:, diagonal, diagonal] += reg * np.where(trace > 0.0, trace, 1.0)[:, None]
    try:
        w = np.linalg.solve(C, np.ones((m, k, 1)))[:, :, 0]
    except np.linalg.LinAlgError:
        row = start + next(i for i in range(m) if np.linalg.matrix_rank(C[i]) < k)
        raise ValueError(
            f"the neighbours of row {row} do not determine its weights with reg={reg!r}: raise reg"
        ) from None
    return np.asarray(w / w.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class BarycentricMemory(SparseMemory):
    """Vertices, among which a new point has weights."""

    rows: NDArray[Any] = field(repr=False)
    n_neighbors: int
    reg: float

    @cached_property
    def search(self) -> EuclideanSearch:
        """Of the vertices, whose tree is made once."""
        return EuclideanSearch(self.rows)

    def extend(self, X: Any) -> csr_array:
        """The weights of each row: a sparse (m, n)."""
        points = np.asarray(X.toarray() if is_sparse(X) else X)
        k, (n, _) = self.n_neighbors, self.rows.shape
        numbers, distances = self.search.nearest(points, k)
        w = barycentric_weights(points, self.rows, numbers, self.reg)
        same = distances[:, 0] == 0.0
        w[same] = 0.0
        w[same, 0] = 1.0
        m = len(points)
        return csr_array((w.ravel(), numbers.ravel(), np.arange(0, m * k + 1, k)), shape=(m, n))
