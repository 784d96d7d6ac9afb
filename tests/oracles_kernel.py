"""Kernel problems by their definitions, in exact fractions or by plain linear algebra."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from oracles_svm import solve_exactly


def ridge_value(K, y, s, alpha, c):
    """Σ sᵢ (yᵢ - (Kc)ᵢ)² + α c'Kc in fractions."""
    K = [[Fraction(float(x)) for x in row] for row in K]
    y, s, c = ([Fraction(float(x)) for x in v] for v in (y, s, c))
    scores = [sum(k * x for k, x in zip(row, c, strict=True)) for row in K]
    loss = sum(w * (a - z) ** 2 for w, a, z in zip(s, y, scores, strict=True))
    return loss + Fraction(float(alpha)) * sum(x * z for x, z in zip(c, scores, strict=True))


def ridge_optimum(K, y, s, alpha):
    """The least value and its coefficients: (K + αS⁻¹)c = y in fractions."""
    A = [[Fraction(float(x)) for x in row] for row in K]
    for i, weight in enumerate(s):
        A[i][i] += Fraction(float(alpha)) / Fraction(float(weight))
    c = solve_exactly(A, [Fraction(float(x)) for x in y])
    # At the optimum the value is α c'y.
    targets = (Fraction(float(t)) for t in y)
    return Fraction(float(alpha)) * sum(x * t for x, t in zip(c, targets, strict=True)), c


def left_out_residuals(K, y, s, alpha):
    """yᵢ - f(xᵢ) where f was fitted without row i, a fit for each row."""
    n = len(y)
    found = np.empty(n)
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        A = K[np.ix_(rest, rest)] + np.diag(alpha / s[rest])
        found[i] = y[i] - K[i, rest] @ np.linalg.solve(A, y[rest])
    return found


def ridge_on_landmarks(Knm, Kmm, y, s, alpha):
    """Scores and the least value of Σ sᵢ (yᵢ - (K_nm c)ᵢ)² + α c'K_mm c: least squares on the rows
    of K_nm and those of √α times a root of K_mm."""
    values, V = np.linalg.eigh(Kmm)
    kept = values > 1e-10 * values[-1]
    phi = Knm @ (V[:, kept] / np.sqrt(values[kept]))
    A = np.vstack([np.sqrt(s)[:, None] * phi, np.sqrt(alpha) * np.eye(kept.sum())])
    w = np.linalg.lstsq(A, np.concatenate([np.sqrt(s) * y, np.zeros(kept.sum())]), rcond=None)[0]
    f = phi @ w
    return f, float(s @ (y - f) ** 2 + alpha * w @ w)
