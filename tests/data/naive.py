"""Steps of k-means, Gaussian mixtures and PCA as a textbook writes them: row by row."""

from __future__ import annotations

import math

import numpy as np


def lloyd_step(X, s, centres):
    """Each centre becomes the weighted mean of the rows nearest to it; the cost before the step."""
    sums, weights, cost = np.zeros_like(centres), np.zeros(len(centres)), 0.0
    for x, w in zip(X, s, strict=True):
        distances = [float(np.sum((x - c) ** 2)) for c in centres]
        k = distances.index(min(distances))
        sums[k] += w * x
        weights[k] += w
        cost += w * distances[k]
    return sums / weights[:, None], weights, cost


def normal_density(x, mean, covariance):
    d = len(x)
    r = x - mean
    q = float(r @ np.linalg.inv(covariance) @ r)
    return math.exp(-q / 2) / math.sqrt((2 * math.pi) ** d * np.linalg.det(covariance))


def em_step(X, s, shares, means, covariances):
    """One step of expectation and maximisation; the log-likelihood before the step."""
    n, d, K = len(X), X.shape[1], len(shares)
    R, likelihood = np.zeros((n, K)), 0.0
    for i in range(n):
        joint = [shares[k] * normal_density(X[i], means[k], covariances[k]) for k in range(K)]
        R[i] = np.array(joint) / sum(joint)
        likelihood += s[i] * math.log(sum(joint))
    mass = np.array([sum(s[i] * R[i, k] for i in range(n)) for k in range(K)])
    centres = np.array([sum(s[i] * R[i, k] * X[i] for i in range(n)) / mass[k] for k in range(K)])
    spread = np.zeros((K, d, d))
    for k in range(K):
        for i in range(n):
            r = X[i] - centres[k]
            spread[k] += s[i] * R[i, k] * np.outer(r, r) / mass[k]
    return mass / mass.sum(), centres, spread, likelihood


def principal_directions(X, s):
    """Eigenvalues of the weighted covariance, largest first, and its eigenvectors as columns."""
    mean = sum(w * x for w, x in zip(s, X, strict=True)) / s.sum()
    covariance = sum(w * np.outer(x - mean, x - mean) for w, x in zip(s, X, strict=True)) / s.sum()
    values, vectors = np.linalg.eigh(covariance)
    return values[::-1], vectors[:, ::-1]
