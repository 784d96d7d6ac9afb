"""Products with a block of rows, dense, sparse or on a device: X w, X' r, weighted Gram matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import Array, is_sparse, like, to_numpy, to_numpy_tuple
from fenchel.data.parallel import parallel_map
from fenchel.data.reduction import Totals

Floats = NDArray[np.float64]


def csr_normal_product(X: Array, h: Array, v: Floats, level: float) -> Totals:
    from fenchel.data.passes.sparse.compiled import csr_normal

    g = np.zeros(X.shape[1], X.dtype)
    total = csr_normal(X.data, X.indices, X.indptr, h, like(v, X), level, g)
    return Totals(to_numpy(g), total)


def forward(X: Array, w: Floats) -> Array:
    """X w, in the precision of X."""
    if not is_sparse(X):
        return X @ like(w, X)
    from fenchel.data.passes.sparse.compiled import csr_forward

    if w.ndim == 2:
        return X @ like(w, X)
    z = np.empty(X.shape[0], X.dtype)
    csr_forward(X.data, X.indices, X.indptr, like(w, X), z)
    return z


def scores(X: Array, w: Floats, b: Any) -> Array:
    """X w + b. A number b goes along with the launch; an array is first sent to the device."""
    return forward(X, w) + (like(b, X) if np.ndim(b) else float(b))


def adjoint(X: Array, r: Array) -> Array:
    """X' r, in the precision of X."""
    if not is_sparse(X):
        return X.T @ r if r.ndim == 1 else (r.T @ X).T  # BLAS is half again as fast this way
    if r.ndim == 2:
        return X.T @ r
    from fenchel.data.passes.sparse.compiled import csr_adjoint

    g = np.zeros(X.shape[1], X.dtype)
    csr_adjoint(X.data, X.indices, X.indptr, np.asarray(r, X.dtype), g)
    return g


def weighted_gram(X: Array, h: Array, centre: Floats | None) -> Floats:
    """Σ hᵢ x̃ᵢx̃ᵢ', x̃ = (x - centre, 1): rows scaled by √h inside the block, then one symmetric
    rank-k product."""
    X = X.toarray() if is_sparse(X) else X
    d = X.shape[1]
    on_host = isinstance(X, np.ndarray)
    centred = X if centre is None else X - like(centre, X)
    many = h if h.ndim == 2 else h[:, None]
    out = np.empty((many.shape[1], d + 1, d + 1))

    def work(k: int) -> None:
        root = many[:, k] ** 0.5
        scaled = centred * root[:, None]
        sums = Totals(scaled.T @ scaled, root @ scaled, (root * root).sum())
        out[k, :d, :d], row, out[k, d, d] = sums if on_host else to_numpy_tuple(sums)
        out[k, d, :d] = out[k, :d, d] = row

    # A matrix of 2,048 x 50 takes 0.1 ms, as long as it takes to wake a thread and to wait for it.
    each = None if on_host and X.shape[0] * d >= 2**16 else 1
    parallel_map(work, range(many.shape[1]), each)
    return out if h.ndim == 2 else out[0]
