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
