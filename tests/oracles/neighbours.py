"""Naive neighbours, votes and local averages: one row at a time, from the definitions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np


def exact_squares(x, X):
    """Σ (xₗ - zₗ)² without rounding, for each row z."""
    return [
        sum((Fraction(float(a)) - Fraction(float(b))) ** 2 for a, b in zip(x, z, strict=True))
        for z in X
    ]


def exact_nearest(Q, X, k):
    """Numbers of the k nearest by exact arithmetic, ties to the lower number."""
    found = []
    for q in Q:
        squares = exact_squares(q, X)
        found.append(sorted(range(len(X)), key=lambda j: (squares[j], j))[:k])
    return np.array(found)


def nearest(distances, k):
    """Columns of the k smallest, ties to the lower column."""
    return np.argsort(distances, axis=1, kind="stable")[:, :k]


def weights_of(weights, distances):
    if weights == "uniform":
        return np.ones(len(distances))
    if weights == "distance":
        if (distances == 0.0).any():
            return 1.0 * (distances == 0.0)
        return 1.0 / distances
    return weights(distances[None])[0]


def vote(distances, codes, K, k, weights):
    """Class shares by the k nearest of some rows, every row counting once."""
    order = np.argsort(distances, kind="stable")[:k]
    w = weights_of(weights, distances[order])
    shares = np.array([w[codes[order] == c].sum() for c in range(K)])
    return shares / shares.sum()


def mean(distances, values, k, weights):
    order = np.argsort(distances, kind="stable")[:k]
    w = weights_of(weights, distances[order])
    return w @ values[order] / w.sum()


def loo(distances, predict, error, most):
    """The mean error of predict(distances to the others, their numbers, k), k = 1 … most."""
    n = len(distances)
    out = np.zeros(most)
    for i in range(n):
        others = np.delete(np.arange(n), i)
        for k in range(1, most + 1):
            out[k - 1] += error(i, predict(distances[i, others], others, k))
    return out / n
