"""Kernel problems by their definitions, in exact fractions or by plain linear algebra."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
from oracles.svm import solve_exactly


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


def gaussian_matrix(X, gamma):
    """e^{-γ|x - z|²} to fifty digits."""
    rows = [[Decimal(float(x)) for x in row] for row in X]
    with localcontext(prec=50):
        return [
            [(-Decimal(gamma) * sum((a - b) ** 2 for a, b in zip(x, z, strict=True))).exp()
             for z in rows]
            for x in rows
        ]  # fmt: skip


def logistic_value(K, codes, s, C, alpha, b):
    """C Σ s (log Σₖ e^{zₖ} - z_y) + Σₖ αₖ'Kαₖ/2 to fifty digits; of two classes z = (0, f + b)."""
    with localcontext(prec=50):
        K, s, alpha, b = (_decimals(v) for v in (K, s, alpha, b))
        total = Decimal(0)
        f = _scores(K, alpha)
        for i, code in enumerate(codes):
            z = [f[i][k] + b[k] for k in range(len(b))]
            z = [Decimal(0), *z] if len(z) == 1 else z
            total += s[i] * (sum(x.exp() for x in z).ln() - z[code])
        norms = sum(alpha[i][k] * f[i][k] for i in range(len(f)) for k in range(len(b)))
        return Decimal(float(C)) * total + norms / 2


def logistic_optimum(K, codes, s, C, alpha, b, intercept=True):
    """The least value, by Newton's method on α + C s (p - e_y) = 0 and Σ α = 0 from (α, b) on."""
    n, width = len(codes), len(b)
    with localcontext(prec=50):
        K, s, alpha, b = (_decimals(v) for v in (K, s, alpha, b))
        C = Decimal(float(C))
        size = n * width + (width if intercept else 0)
        for _ in range(60):
            f = _scores(K, alpha)
            J = [[Decimal(0)] * size for _ in range(size)]
            left = [Decimal(0)] * size
            for i, code in enumerate(codes):
                z = [f[i][k] + b[k] for k in range(width)]
                e = [x.exp() for x in z]
                p = [x / (sum(e) + (1 if width == 1 else 0)) for x in e]
                for k in range(width):
                    own = code == (1 if width == 1 else k)
                    row = i * width + k
                    left[row] = alpha[i][k] + C * s[i] * (p[k] - own)
                    J[row][row] += 1
                    for m in range(width):
                        h = C * s[i] * (p[k] * ((k == m) - p[m]))
                        for j in range(n):
                            J[row][j * width + m] += h * K[i][j]
                        if intercept:
                            J[row][n * width + m] += h
            if intercept:
                for k in range(width):
                    left[n * width + k] = sum(alpha[i][k] for i in range(n))
                    for i in range(n):
                        J[n * width + k][i * width + k] = Decimal(1)
                if width > 1:  # adding a number to all intercepts changes nothing
                    J[-1], left[-1] = [Decimal(0)] * size, Decimal(0)
                    J[-1][-1] = Decimal(1)
            step = solve_exactly(J, left)
            for i in range(n):
                for k in range(width):
                    alpha[i][k] -= step[i * width + k]
            if intercept:
                b = [b[k] - step[n * width + k] for k in range(width)]
            if max(abs(x) for x in step) < Decimal("1e-40"):
                break
        return logistic_value(K, codes, s, C, alpha, b)


def _decimals(values):
    if isinstance(values, Decimal):
        return values
    if isinstance(values, list | tuple) or np.ndim(values):
        return [_decimals(v) for v in values]
    return Decimal(float(values))


def _scores(K, alpha):
    columns = range(len(alpha[0]))
    return [[sum(k * a[c] for k, a in zip(row, alpha, strict=True)) for c in columns] for row in K]
