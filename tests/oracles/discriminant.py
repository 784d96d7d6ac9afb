"""Discriminants by definition: densities with inverses and determinants written out."""

from __future__ import annotations

import numpy as np


def moments(X, y, s=None):
    """Weight, mean and scatter of each class."""
    s = np.ones(len(X)) if s is None else s
    found = []
    for k in np.unique(y):
        here = y == k
        w = s[here].sum()
        mean = (s[here] @ X[here]) / w
        centred = X[here] - mean
        found.append((w, mean, (centred * s[here, None]).T @ centred))
    return found


def log_joint(X, priors, means, covariances):
    """log πₖ + log N(x; μₖ, Σₖ), shape (n, K)."""
    columns = []
    for prior, mean, S in zip(priors, means, covariances, strict=True):
        z = X - mean
        square = np.einsum("ij,jk,ik->i", z, np.linalg.inv(S), z)
        _, log_det = np.linalg.slogdet(2.0 * np.pi * S)
        columns.append(np.log(prior) - 0.5 * (square + log_det))
    return np.stack(columns, axis=1)


def friedman(X, y, lam, gamma, s=None):
    """Priors, means and Friedman's regularised covariances."""
    parts = moments(X, y, s)
    W = np.array([w for w, _, _ in parts])
    pooled, d = sum(S for _, _, S in parts), X.shape[1]
    covariances = []
    for w, _, S in parts:
        T = ((1 - lam) * S + lam * pooled) / ((1 - lam) * w + lam * W.sum())
        covariances.append((1 - gamma) * T + gamma * np.trace(T) / d * np.eye(d))
    return W / W.sum(), np.array([m for _, m, _ in parts]), covariances


def left_out(X, y, lam, gamma, s=None):
    """Of each row the log joint densities by the other rows, shape (n, K): n fits."""
    s = np.ones(len(X)) if s is None else s
    out = []
    for i in range(len(X)):
        others = np.delete(np.arange(len(X)), i)
        out.append(log_joint(X[i : i + 1], *friedman(X[others], y[others], lam, gamma, s[others])))
    return np.concatenate(out)


def negative_log_likelihood(X, y, priors, means, covariances, s=None):
    """-Σ s log(π_y N(x; μ_y, Σ_y))."""
    s = np.ones(len(X)) if s is None else s
    return -float(s @ log_joint(X, priors, means, covariances)[np.arange(len(X)), y])


def fisher(X, y, ridge=0.0, s=None):
    """Eigenvalues, largest first, and axes of S_B u = λ (S_W + ρI) u, u'(S_W + ρI)u = 1."""
    parts = moments(X, y, s)
    W = np.array([w for w, _, _ in parts])
    means = np.array([m for _, m, _ in parts])
    T = sum(S for _, _, S in parts) / W.sum()
    T = T + ridge * np.trace(T) / len(T) * np.eye(len(T))
    apart = means - W @ means / W.sum()
    S_B = (apart * (W / W.sum())[:, None]).T @ apart
    L = np.linalg.cholesky(T)
    values, V = np.linalg.eigh(np.linalg.solve(L, np.linalg.solve(L, S_B).T))
    order = np.argsort(-values)[: len(W) - 1]
    return values[order], np.linalg.solve(L.T, V[:, order]), S_B, T
