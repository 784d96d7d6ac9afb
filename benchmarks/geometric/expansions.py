"""The judge of kernel machines f = Σ cᵢ k(xᵢ, ·) + b: values and dual bounds in float64 numpy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.gap import Verdict, signs, xlogx

from .subspaces import squared_distances

Floats = NDArray[np.float64]
PART = 2**23  # kernel values that are made at once


def tiles(A: Any, B: Any, gamma: float) -> Iterator[tuple[slice, Floats]]:
    step = max(1, PART // len(B))
    for low in range(0, len(A), step):
        K = squared_distances(A[low : low + step], B)
        K *= -gamma
        yield slice(low, low + step), np.exp(K, out=K)


def kernel_product(A: Any, B: Any, gamma: float, c: Floats) -> Floats:
    """Σⱼ cⱼ exp(-γ ‖aᵢ - bⱼ‖²)."""
    out = np.empty((len(A), *c.shape[1:]))
    for rows, K in tiles(A, B, gamma):
        out[rows] = K @ c
    return out


def best_intercept(f: Floats, s: Floats) -> float:
    """b of least Σ max(0, 1 - s(f + b)): there as many losses fall as rise."""
    return float(np.sort(s - f)[np.count_nonzero(s > 0) - 1])


def svm(X: Any, y: Any, C: float, gamma: float, support: Any, coef: Any) -> Verdict:
    """C Σ max(0, 1 - sᵢ(f(xᵢ) + b)) + |f|²/2 with a free intercept, f from coefficients that are
    brought into 0 ≤ sᵢcᵢ ≤ C and to a sum of zero; dual: Σ sᵢcᵢ - |f|²/2."""
    s, support = signs(y), np.asarray(support)
    a = np.clip(s[support] * np.ravel(coef), 0.0, C)
    mass = {sign: a[s[support] == sign].sum() for sign in (-1.0, 1.0)}
    least = min(mass.values())
    a *= np.where(s[support] > 0, least / mass[1.0], least / mass[-1.0])
    c = a * s[support]
    f = kernel_product(X, X[support], gamma, c)
    square = float(c @ f[support])
    loss = np.maximum(0.0, 1.0 - s * (f + best_intercept(f, s))).sum()
    return Verdict(float(C * loss + square / 2), float(a.sum() - square / 2))


def logistic(X: Any, y: Any, C: float, gamma: float, coef: Any, b: float) -> Verdict:
    """C Σ log(1 + exp(-sᵢ(f(xᵢ) + b))) + |f|²/2, and the dual at the fit's own residuals."""
    s, c = signs(y), np.ravel(coef)
    f = kernel_product(X, X, gamma, c)
    m = s * (f + b)
    value = C * np.logaddexp(0, -m).sum() + c @ f / 2
    a = np.exp(-np.logaddexp(0, m))
    mass = {sign: a[s == sign].sum() for sign in (-1.0, 1.0)}
    least = min(mass.values())
    a *= np.where(s > 0, least / mass[1.0], least / mass[-1.0])
    v = C * a * s
    square = float(v @ kernel_product(X, X, gamma, v))
    entropy = xlogx(a) + xlogx(1 - a)
    return Verdict(float(value), float(-C * entropy.sum() - square / 2))


def ridge_residual(X: Any, y: Any, alpha: float, gamma: float, c: Any) -> float:
    """|(K + αI)c - y| / |y|."""
    c = np.asarray(c, np.float64)
    left = kernel_product(X, X, gamma, c) + alpha * c - y
    return float(np.linalg.norm(left) / np.linalg.norm(y))


def decaying(n: int, decay: float) -> Floats:
    """decay^(i - j) for j ≤ i, else 0."""
    return np.tril(decay ** np.subtract.outer(np.arange(n), np.arange(n)).clip(0))


def subsequences(s: Any, t: Any, k: int, decay: float) -> float:
    """Σ over common subsequences of k letters of decay to the lengths they span in both."""
    n, m = len(s), len(t)
    same = np.asarray(s)[:, None] == np.asarray(t)[None, :]
    # ends[i, j]: of those that end at i and at j, with the lengths from their starts to there.
    ends = decay**2 * same
    left, right = decaying(n, decay), decaying(m, decay)
    for _ in range(k - 1):
        before = np.zeros((n, m))
        # Over all i' < i and j' < j, each with decay^(i - i' - 1 + j - j' - 1); a letter follows.
        before[1:, 1:] = (left @ ends @ right.T)[:-1, :-1]
        ends = decay**2 * same * before
    return float(ends.sum())
