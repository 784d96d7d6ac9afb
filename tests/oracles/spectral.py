"""Naive definitions of principal components and spectral maps."""

from __future__ import annotations

import numpy as np


def scatter(X, s=None):
    """Mean and scatter by a loop over rows."""
    X = np.asarray(X, np.float64)
    s = np.ones(len(X)) if s is None else np.asarray(s, np.float64)
    mean = sum(w * x for w, x in zip(s, X, strict=True)) / s.sum()
    S = sum(w * np.outer(x - mean, x - mean) for w, x in zip(s, X, strict=True))
    return mean, S


def same_span(A, B):
    """The sine of the largest angle between the column spans of two orthonormal bases."""
    return float(np.linalg.norm(A - B @ (B.T @ A), 2))


def doubly_centred(A, p=None):
    """JAJ' with J = I - 1p'."""
    n = len(A)
    p = np.full(n, 1.0 / n) if p is None else p
    J = np.eye(n) - np.outer(np.ones(n), p)
    return J @ A @ J.T


def shortest_paths(W):
    """Floyd and Warshall, inf where there is no edge."""
    D = np.where(W > 0.0, W, np.inf)
    np.fill_diagonal(D, 0.0)
    for k in range(len(D)):
        D = np.minimum(D, D[:, k : k + 1] + D[k])
    return D


def trustworthiness(X, Z, k):
    """1 - 2/(nk(2n - 3k - 1)) Σᵢ Σ_{j near in Z, not in X} (rank in X - k), row by row."""
    n = len(X)
    total = 0.0
    for i in range(n):
        far = np.linalg.norm(X - X[i], axis=1)
        near = np.linalg.norm(Z - Z[i], axis=1)
        far[i] = near[i] = -1.0
        rank = np.argsort(np.argsort(far, kind="stable"), kind="stable")
        for j in np.argsort(near, kind="stable")[1 : k + 1]:
            total += max(rank[j] - k, 0)
    return 1.0 - 2.0 * total / (n * k * (2 * n - 3 * k - 1))


def kernel_components(K, s=None):
    """Eigenvalues, the largest first, and unit eigenvectors of √s J K J' √s, by LAPACK."""
    s = np.ones(len(K)) if s is None else np.asarray(s, np.float64)
    A = np.sqrt(np.outer(s, s)) * doubly_centred(K, s / s.sum())
    values, U = np.linalg.eigh(A)
    return values[::-1], U[:, ::-1]


def kernel_coordinates(K, K_new, k, s=None, sphered=False):
    """Coordinates of new rows by the definition: the kernel of features minus their weighted mean,
    summed with √s u/√λ (or √s u/λ) over the rows of the fit, row by row."""
    s = np.ones(len(K)) if s is None else np.asarray(s, np.float64)
    p = s / s.sum()
    values, U = kernel_components(K, s)
    out = np.zeros((len(K_new), k))
    for i, row in enumerate(K_new):
        centred = row - row @ p - K @ p + p @ K @ p
        for j in range(k):
            factor = values[j] if sphered else np.sqrt(values[j])
            out[i, j] = (centred * np.sqrt(s) * U[:, j]).sum() / factor
    return out
