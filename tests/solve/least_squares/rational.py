"""Least squares in exact rational arithmetic: the oracle that has no rounding errors."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Exact:
    """The solution of small full-rank problems on the float64 values as they are."""

    coef: list[Fraction]  # with an intercept: the intercept is the last one
    optimum: Fraction
    inverse: list[list[Fraction]]  # (A'SA)⁻¹


def least_squares(X, y, weight=None, intercept=True) -> Exact:
    A = [[Fraction(v) for v in row] + [Fraction(1)] * intercept for row in X.tolist()]
    b = [Fraction(v) for v in y.tolist()]
    s = [Fraction(v) for v in ([1] * len(b) if weight is None else weight.tolist())]
    rows, d = range(len(b)), len(A[0])
    G = [[sum(s[i] * A[i][j] * A[i][k] for i in rows) for k in range(d)] for j in range(d)]
    c = [sum(s[i] * A[i][j] * b[i] for i in rows) for j in range(d)]
    inverse = invert(G)
    w = [sum(inverse[j][k] * c[k] for k in range(d)) for j in range(d)]
    return Exact(w, objective(A, b, s, w), inverse)


def value(X, y, weight, coef, intercept) -> Fraction:
    """Σ s (y - x·w - b)² at float64 coefficients."""
    A = [[Fraction(v) for v in row] + [Fraction(1)] for row in X.tolist()]
    b = [Fraction(v) for v in y.tolist()]
    s = [Fraction(v) for v in ([1] * len(b) if weight is None else weight.tolist())]
    return objective(A, b, s, [Fraction(v) for v in [*coef.tolist(), float(intercept)]])


def objective(A, b, s, w) -> Fraction:
    total = Fraction(0)
    for row, target, weight in zip(A, b, s, strict=True):
        total += weight * (target - sum(x * v for x, v in zip(row, w, strict=True))) ** 2
    return total


def invert(G: list[list[Fraction]]) -> list[list[Fraction]]:
    """Gauss and Jordan, on a positive definite matrix."""
    d = len(G)
    M = [row[:] + [Fraction(int(i == j)) for j in range(d)] for i, row in enumerate(G)]
    for j in range(d):
        M[j] = [v / M[j][j] for v in M[j]]
        for k in range(d):
            if k != j:
                M[k] = [a - M[k][j] * v for a, v in zip(M[k], M[j], strict=True)]
    return [row[d:] for row in M]
