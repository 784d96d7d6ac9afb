"""The judge of Gaussian classes and of neighbours, in plain float64 numpy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Moments(NamedTuple):
    counts: Floats
    means: Floats
    scatters: Floats  # Σ (x - μ)(x - μ)ᵀ of each class


def class_moments(X: Floats, y: NDArray[Any]) -> Moments:
    counts, means, scatters = [], [], []
    for label in np.unique(y):
        rows = X[y == label].astype(np.float64)
        counts.append(float(len(rows)))
        means.append(rows.mean(axis=0))
        rows = rows - means[-1]
        scatters.append(rows.T @ rows)
    return Moments(np.array(counts), np.array(means), np.array(scatters))


def linear_error(seen: Moments, coef: Any) -> float:
    """How far the coefficients are from Σ⁻¹μ, as a share, up to a term common to all classes.

    Σ is the pooled scatter over n or n - K, whichever fits: scikit-learn's solvers differ in it.
    """
    n, K = seen.counts.sum(), len(seen.counts)
    ours = np.linalg.solve(seen.scatters.sum(axis=0), seen.means.T).T
    coef = np.asarray(coef, np.float64)
    coef = coef - coef.mean(axis=0)

    def off(denominator: float) -> float:
        right = denominator * (ours - ours.mean(axis=0))
        return float(np.abs(coef - right).max() / np.abs(right).max())

    return min(off(n), off(n - K))


def quadratic_scores(seen: Moments, X: Floats, *, unbiased: bool) -> Floats:
    """log πₖ + log N(x; μₖ, Σₖ) without its constant, (n, K); Σ over n - 1 or n."""
    out = np.empty((len(X), len(seen.counts)))
    for j, (count, mean, scatter) in enumerate(zip(*seen, strict=True)):
        L = np.linalg.cholesky(scatter / (count - unbiased))
        z = np.linalg.solve(L, (X - mean).T)
        out[:, j] = np.log(count / seen.counts.sum()) - np.log(np.diag(L)).sum()
        out[:, j] -= (z * z).sum(axis=0) / 2
    return out


def quadratic_error(seen: Moments, X: Floats, scores: Any) -> float:
    """How far the scores are from the classes' log-densities, as a share of their size."""

    def off(unbiased: bool) -> float:
        right = quadratic_scores(seen, X, unbiased=unbiased)
        return float(np.abs(scores - right).max() / np.abs(right).max())

    return min(off(True), off(False))


def squares_to(points: Floats, row: Floats) -> Floats:
    return np.asarray(((points - row) ** 2).sum(axis=1))


def neighbour_sums(points: Any, rows: Any, chosen: NDArray[np.int64]) -> tuple[float, float]:
    """Σ of the squared distances to the points that were named, and to the nearest as many."""
    P, found, best = points.astype(np.float64), 0.0, 0.0
    own = (P * P).sum(axis=1)
    for row, which in zip(rows.astype(np.float64), chosen, strict=True):
        k = len(which)
        if len(set(which.tolist())) != k:
            raise ValueError("a point is named twice for one row")
        # By a product first, of which rounding could change only a place near the k-th.
        near = np.argpartition(own - 2.0 * (P @ row), min(2 * k, len(P) - 1))[: 2 * k + 1]
        best += float(np.sort(squares_to(P[near], row))[:k].sum())
        found += float(squares_to(P[which], row).sum())
    return found, best


def leave_one_out_errors(X: Floats, y: NDArray[Any], most: int) -> Floats:
    """The share of rows that 1, …, `most` of the others outvote, ties to the smallest class."""
    X, wrong = X.astype(np.float64), np.zeros(most)
    own, labels = (X * X).sum(axis=1), np.unique(y)
    for low in range(0, len(X), 500):
        D = own[low : low + 500, None] + own - 2.0 * (X[low : low + 500] @ X.T)
        D[np.arange(len(D)), np.arange(low, low + len(D))] = np.inf
        near = np.argpartition(D, most, axis=1)[:, : most + 1]
        near = np.take_along_axis(
            near, np.argsort(np.take_along_axis(D, near, 1), axis=1, kind="stable"), 1
        )[:, :most]
        votes = np.cumsum(y[near][:, :, None] == labels, axis=1)
        winner = labels[votes.argmax(axis=2)]
        wrong += (winner != y[low : low + 500, None]).sum(axis=0)
    return wrong / len(X)
