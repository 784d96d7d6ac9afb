"""Naive maps by graphs of neighbours, one row at a time, from the definitions."""

from __future__ import annotations

import numpy as np


def barycentric(x, near, reg):
    """Weights of x on its neighbours."""
    Z = near - x
    C = Z @ Z.T
    trace = np.trace(C)
    w = np.linalg.solve(C + reg * (trace if trace > 0.0 else 1.0) * np.eye(len(Z)), np.ones(len(Z)))
    return w / w.sum()


def locally_linear(X, k, p, reg, s=None):
    """Eigenvalues of M and the coordinates, by a dense decomposition; different rows."""
    n = len(X)
    s = np.ones(n) if s is None else np.asarray(s, np.float64)
    W = np.zeros((n, n))
    for i in range(n):
        far = np.linalg.norm(X - X[i], axis=1)
        far[i] = np.inf
        near = np.argsort(far, kind="stable")[:k]
        W[i, near] = barycentric(X[i], X[near], reg)
    R = np.eye(n) - W
    root = np.sqrt(s)
    M = (R.T @ np.diag(s) @ R) / np.outer(root, root)
    values, U = np.linalg.eigh(M)
    return values[1 : p + 1], U[:, 1 : p + 1] / root[:, None]


def up_to_signs(A, B):
    """The largest difference of columns, each with the sign that suits it."""
    signs = np.sign((A * B).sum(axis=0))
    return float(np.abs(A - B * np.where(signs == 0.0, 1.0, signs)).max())


def neighbour_affinity(X, k):
    """½ for each direction in which one row is among the k nearest others of the other."""
    n = len(X)
    C = np.zeros((n, n))
    for i in range(n):
        far = np.linalg.norm(X - X[i], axis=1)
        far[i] = np.inf
        C[i, np.argsort(far, kind="stable")[:k]] = 1.0
    return 0.5 * (C + C.T)


def eigenmaps(W, p):
    """All eigenvalues of D^{-1/2} W D^{-1/2}, the largest first, and p coordinates after the
    trivial one; a row has no affinity with itself."""
    W = np.array(W, np.float64)
    np.fill_diagonal(W, 0.0)
    d = W.sum(axis=1)
    values, U = np.linalg.eigh(W / np.sqrt(np.outer(d, d)))
    values, U = values[::-1], U[:, ::-1]
    return values, U[:, 1 : p + 1] / np.sqrt(d)[:, None]


def normalised_cut(W, labels):
    """Σ over clusters of the affinities that leave it over those of its rows."""
    W, labels = np.array(W, np.float64), np.asarray(labels)
    np.fill_diagonal(W, 0.0)
    total = 0.0
    for one in np.unique(labels):
        inside = labels == one
        total += W[inside][:, ~inside].sum() / W[inside].sum()
    return total


def partitions(n, k):
    """Every way to label n rows by 0 … k - 1, all used, each first used after the lower ones."""

    def grow(labels, used):
        if len(labels) == n:
            if used == k:
                yield np.array(labels)
            return
        for one in range(min(used + 1, k)):
            yield from grow([*labels, one], max(used, one + 1))

    yield from grow([], 0)
