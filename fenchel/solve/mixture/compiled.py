"""One EM step over rows by two matrix products a tile: on quadratic features of the rows.

log πₖ N(z; μₖ, Σₖ) is linear in the products zₐz_b (a ≤ b), in z and in 1, so that all logarithms
of a tile are one product; and Σ r zz', Σ r z and Σ r are the product of the responsibilities with
the same features. Columns of a tile are rows of the table, so that every loop runs along them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray, njit
from numpy.typing import NDArray

from fenchel.data.elementary.compiled import exp, log1p
from fenchel.data.passes.native.compiled import SUMS, pointer

Floats = NDArray[np.float64]
FULL, DIAGONAL, SPHERICAL = 0, 1, 2


@njit(**SUMS)
def features(Z: Floats, mode: int, F: Floats) -> None:
    """All zₐz_b with a ≤ b, or the squares, or their sum; then z, then 1."""
    d, m = Z.shape
    c = 0
    if mode == FULL:
        for a in range(d):
            x = Z[a]
            for b in range(a, d):
                y, f = Z[b], F[c]
                for i in range(m):
                    f[i] = x[i] * y[i]
                c += 1
    elif mode == DIAGONAL:
        for a in range(d):
            x, f = Z[a], F[a]
            for i in range(m):
                f[i] = x[i] * x[i]
        c = d
    else:
        f = F[0]
        for i in range(m):
            f[i] = 0.0
        for a in range(d):
            x = Z[a]
            for i in range(m):
                f[i] += x[i] * x[i]
        c = 1
    for a in range(d):
        x, f = Z[a], F[c + a]
        for i in range(m):
            f[i] = x[i]
    f = F[c + d]
    for i in range(m):
        f[i] = 1.0


@njit(**SUMS)
def responsibilities(G: Floats, s: Floats, top: Floats, total: Floats) -> float:
    """Logarithms to weighted responsibilities, in place; returns Σ s log Σₖ e^{gₖ}."""
    K, m = G.shape
    for i in range(m):
        top[i] = G[0, i]
        total[i] = 0.0
    for k in range(1, K):
        g = G[k]
        for i in range(m):
            top[i] = g[i] if g[i] > top[i] else top[i]
    for k in range(K):
        g = G[k]
        for i in range(m):
            e = exp(g[i] - top[i])
            g[i] = e
            total[i] += e
    value = 0.0
    for i in range(m):
        value += s[i] * (top[i] + log1p(total[i] - 1.0))
        total[i] = s[i] / total[i]
    for k in range(K):
        g = G[k]
        for i in range(m):
            g[i] *= total[i]
    return value


@njit(**SUMS)
def expectation(
    table: int,
    values: NDArray[Any],
    row_step: int,
    column_step: int,
    n: int,
    s: Floats,
    centre: Floats,
    unit: Floats,
    W: Floats,
    Q: Floats,
    mode: int,
    part: int,
    tile: int,
    first: int,
    last: int,
    A: NDArray[Any],
    likelihood: Floats,
) -> None:
    """Parts first … last - 1: A[p] (k, D) = Σ r φ(z)', likelihood[p] = Σ s log p(z).

    z = W((x - centre) unit), the logarithms are Qφ(z). A tile is always whole: rows beyond the last
    one have no weight. s has one entry for each row, or none: then all are 1.
    """
    d, (K, D) = centre.size, Q.shape
    X = carray(pointer(table, values), (n - 1) * row_step + (d - 1) * column_step + 1)
    V, Z = np.zeros((d, tile)), np.empty((d, tile))
    F, G, P = np.empty((D, tile)), np.empty((K, tile)), np.empty((D, K))
    weight, top, total = np.empty(tile), np.empty(tile), np.empty(tile)
    for p in range(first, last):
        end = min(n, (p + 1) * part)
        own = A[p]
        value = 0.0
        for i0 in range(p * part, end, tile):
            m = min(end - i0, tile)
            for i in range(tile):
                weight[i] = 0.0
            for i in range(m):
                at = (i0 + i) * row_step
                weight[i] = s[i0 + i] if s.size > 0 else 1.0
                for j in range(d):
                    V[j, i] = (np.float64(X[at + j * column_step]) - centre[j]) * unit[j]
            for j in range(d):
                for i in range(m, tile):
                    V[j, i] = 0.0
            np.dot(W, V, Z)
            features(Z, mode, F)
            np.dot(Q, F, G)
            value += responsibilities(G, weight, top, total)
            # In this order the product of 20 components and 153 features is a fifth faster.
            np.dot(F, G.T, P)
            for k in range(K):
                for c in range(D):
                    own[k, c] += P[c, k]
        likelihood[p] = value
