"""The judge of groups, in plain float64 numpy: k-means, its starts, its splits, and mixtures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
PART = 2**22  # distances that are made at once


class Mixture(NamedTuple):
    weights: Floats
    means: Floats
    covariances: Floats


def parts(X: Any, columns: int) -> Iterator[Floats]:
    step = max(1, PART // columns)
    for low in range(0, len(X), step):
        yield X[low : low + step].astype(np.float64)


def nearest(X: Any, C: Any) -> tuple[NDArray[np.int64], Floats]:
    """The nearest centre of each row and the squared distance to it."""
    C = C.astype(np.float64)
    square, labels, energy = (C * C).sum(axis=1), [], []
    for rows in parts(X, len(C)):
        D = square - 2.0 * (rows @ C.T)
        best = D.argmin(axis=1)
        labels.append(best)
        energy.append(D[np.arange(len(rows)), best] + (rows * rows).sum(axis=1))
    return np.concatenate(labels), np.maximum(np.concatenate(energy), 0.0)


def inertia(X: Any, C: Any) -> float:
    return float(nearest(X, np.asarray(C))[1].sum())


def group_means(X: Any, labels: NDArray[Any], C: Floats) -> Floats:
    """The mean of each group; an empty one keeps its centre."""
    count, means = np.bincount(labels, minlength=len(C)), C.copy()
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(count)
    for j in np.flatnonzero(count):
        means[j] = X[order[ends[j] - count[j] : ends[j]]].mean(axis=0, dtype=np.float64)
    return means


def lloyd(X: Any, C: Any, steps: int, tol: float = 0.0) -> Floats:
    """Centres after Lloyd's steps, ended as scikit-learn ends them."""
    C = C.astype(np.float64)
    shift = tol * float(np.mean(np.var(X, axis=0, dtype=np.float64)))
    before = None
    for _ in range(steps):
        labels, _ = nearest(X, C)
        if before is not None and np.array_equal(labels, before):
            break
        new, before = group_means(X, labels, C), labels
        moved = float(((new - C) ** 2).sum())
        C = new
        if moved <= shift:
            break
    return C


def plus_plus(X: Any, k: int, trials: int, seed: int) -> Floats:
    """k-means++: k rows of X."""
    rng = np.random.default_rng(seed)
    X = X.astype(np.float64)
    chosen = [int(rng.integers(len(X)))]
    D = ((X - X[chosen[0]]) ** 2).sum(axis=1)
    for _ in range(1, k):
        rows = np.searchsorted(np.cumsum(D), rng.random(trials) * D.sum())
        rows = np.minimum(rows, len(X) - 1)
        new = [np.minimum(D, ((X - X[row]) ** 2).sum(axis=1)) for row in rows]
        best = int(np.argmin([each.sum() for each in new]))
        chosen.append(int(rows[best]))
        D = new[best]
    return X[chosen]


def bisected(X: Any, k: int, seed: int) -> float:
    """Σ of the squared distances to the means of k groups, each time the costliest one in two."""
    X = X.astype(np.float64)
    groups = [np.arange(len(X))]
    costs = [float(((X - X.mean(axis=0)) ** 2).sum())]
    while len(groups) < k:
        worst = int(np.argmax(costs))
        rows = groups.pop(worst)
        costs.pop(worst)
        part = X[rows]
        C = lloyd(part, plus_plus(part, 2, 2, seed), 100, 1e-4)
        labels, energy = nearest(part, C)
        for j in (0, 1):
            groups.append(rows[labels == j])
            costs.append(float(energy[labels == j].sum()))
    return sum(costs)


def log_densities(X: Floats, mixture: Mixture) -> Floats:
    """log πₖ + log N(x; μₖ, Σₖ), (n, K)."""
    out = np.empty((len(X), len(mixture.weights)))
    for j, (weight, mean, covariance) in enumerate(zip(*mixture, strict=True)):
        L = np.linalg.cholesky(covariance)
        z = np.linalg.solve(L, (X - mean).T)
        constant = np.log(weight) - np.log(np.diag(L)).sum() - len(mean) / 2 * np.log(2 * np.pi)
        out[:, j] = constant - (z * z).sum(axis=0) / 2
    return out


def log_sum(P: Floats) -> Floats:
    top = P.max(axis=1)
    return np.asarray(top + np.log(np.exp(P - top[:, None]).sum(axis=1)))


def log_likelihood(X: Any, mixture: Mixture) -> float:
    """The mean over the rows."""
    total = sum(
        float(log_sum(log_densities(rows, mixture)).sum())
        for rows in parts(X, len(mixture.weights) * X.shape[1])
    )
    return total / len(X)


def em(X: Any, means: Any, steps: int) -> Mixture:
    """Steps of expectation-maximisation from equal weights, these means and unit covariances."""
    k, d = means.shape
    mixture = Mixture(
        np.full(k, 1.0 / k), means.astype(np.float64), np.broadcast_to(np.eye(d), (k, d, d))
    )
    for _ in range(steps):
        mass, first, second = np.zeros(k), np.zeros((k, d)), np.zeros((k, d, d))
        for rows in parts(X, k * d):
            P = log_densities(rows, mixture)
            R = np.exp(P - log_sum(P)[:, None])
            mass += R.sum(axis=0)
            first += R.T @ rows
            for j in range(k):
                second[j] += (rows * R[:, j, None]).T @ rows
        mu = first / mass[:, None]
        covariances = second / mass[:, None, None] - np.einsum("ka,kb->kab", mu, mu)
        mixture = Mixture(mass / len(X), mu, covariances)
    return mixture
