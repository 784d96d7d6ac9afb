"""Naive definitions of distances, neighbours and kernels: all pairs at once, float64."""

from __future__ import annotations

import math

import numpy as np


def squared_distances(X, P):
    """Σ (x - p)² in the order the library states: sixteen interleaved sums, then their sum."""
    X, P = np.asarray(X, np.float64), np.asarray(P, np.float64)
    d = X.shape[1]
    lanes = [np.zeros((len(X), len(P))) for _ in range(min(d, 16))]
    for coordinate in range(d):
        difference = X[:, coordinate][:, None] - P[:, coordinate][None, :]
        lanes[coordinate % 16] = lanes[coordinate % 16] + difference * difference
    total = np.zeros((len(X), len(P)))
    for lane in lanes:
        total = total + lane
    return total


def nearest(X, P, k):
    """Numbers and squared distances of the k nearest, ties to the lower number."""
    squares = squared_distances(X, P)
    order = np.argsort(squares, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(squares, order, axis=1)


def count(X, P, radius):
    return (squared_distances(X, P) <= radius * radius).sum(axis=1)


def log_sum_exp(X, P, rate, logits):
    exponents = logits - rate * squared_distances(X, P)
    top = exponents.max(axis=1)
    return top + np.log(np.exp(exponents - top[:, None]).sum(axis=1))


# --------------------------------------------------------------------------- kernels, one pair


def _dot(x, z):
    return math.fsum(a * b for a, b in zip(x, z, strict=True))


def _square(x, z):
    return math.fsum((a - b) ** 2 for a, b in zip(x, z, strict=True))


def linear(x, z):
    return _dot(x, z)


def polynomial(x, z, degree, gamma, coef0):
    return (gamma * _dot(x, z) + coef0) ** degree


def sigmoid(x, z, gamma, coef0):
    return math.tanh(gamma * _dot(x, z) + coef0)


def cosine(x, z):
    size = math.sqrt(_dot(x, x)) * math.sqrt(_dot(z, z))
    return _dot(x, z) / size if size > 0 else 0.0


def gaussian(x, z, gamma):
    return math.exp(-gamma * _square(x, z))


def laplacian(x, z, gamma):
    return math.exp(-gamma * math.fsum(abs(a - b) for a, b in zip(x, z, strict=True)))


def matern(x, z, nu, length_scale):
    r = math.sqrt(2 * nu) * math.sqrt(_square(x, z)) / length_scale
    return {0.5: 1.0, 1.5: 1 + r, 2.5: 1 + r + r * r / 3}[nu] * math.exp(-r)
