"""Minimum-norm least squares for tables of more columns than rows, by the dual Gram matrix.

    minimise |w|²  subject to  xᵢ·w + b = yᵢ;   w = X'(XX')⁻¹y

Cost: n²d for XX', n³/3 for its Cholesky factor, n d a refinement, all rows in memory.

Reference: Golub and Van Loan, Matrix Computations (2013), section 5.6.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla

from fenchel.data.linear_algebra.double_double import DoubleDouble, OzakiMatrix
from fenchel.solve.least_squares.scaling import Floats

# Refinement gains 16 digits less those of this condition number of the Gram matrix at a step, and
# ends with 16 less half of them.
_LIMIT = 1e9
_STEPS = 4
_ULP = 2.0**-53
_ROWS = 256  # rows cut into slices at a time


@dataclass(frozen=True, slots=True)
class Interpolation:
    """w of least norm and b with Xw + b = y; r = y - Xw - b is what rounding leaves."""

    w: Floats
    b: Floats
    r: Floats
    condition: float
    refinements: int


def minimum_norm(X: Floats, y: Floats, intercept: bool) -> Interpolation | None:
    """w = B'(BB')⁻¹t for B = X, t = y, or None where the rows are too nearly dependent.

    With an intercept B and t are all but the first row of HX and Hy, H the reflection of the
    constant onto the first axis: no b changes them. Weights have no say: every row is met.
    """
    mean = X.mean(axis=0)
    # The mean goes first, though the reflection would take it: its rounding would show in B.
    B = _reflect(X - mean)[1:] if intercept else X
    w, b = np.zeros((X.shape[1], y.shape[1])), np.zeros(y.shape[1])
    if not len(B):
        return Interpolation(w, y[0].copy(), y - y[0], 1.0, 0)
    K = B @ B.T
    square = np.diag(K).copy()
    if not (square > 1e-200).all():
        return None
    unit = np.sqrt(square)
    K /= np.outer(unit, unit)
    try:
        R = sla.cholesky(K, check_finite=False)
    except sla.LinAlgError:
        return None
    rcond, _ = sla.lapack.dpocon(R, np.abs(K).sum(axis=0).max())
    if not rcond * _LIMIT > 1.0:
        return None

    def lift(right: Floats) -> Floats:
        alpha = sla.cho_solve((R, False), right / unit[:, None], check_finite=False)
        return B.T @ (alpha / unit[:, None])

    far = float(np.linalg.norm(X, axis=1).max())
    r, refinements = y, -1
    while refinements < _STEPS:
        refinements += 1
        move = lift(_reflect(r)[1:] if intercept else r)
        w = w + move
        b = b + (r.mean(axis=0) - mean @ move if intercept else 0.0)
        r = _misfit(X, y, w, b)
        # No float64 point is sure to do better.
        if np.all(np.abs(r).max(axis=0) <= _ULP * (far * np.linalg.norm(w, axis=0) + np.abs(b))):
            break
    return Interpolation(w, b, r, float(rcond**-0.5), refinements)


def _reflect(A: Floats) -> Floats:
    """(I - 2vv'/v'v) A with v = 1/√n + e₁."""
    n = len(A)
    v = np.full(n, n**-0.5)
    v[0] += 1.0
    return A - np.outer(v, (v @ A) * (2.0 / (v @ v)))


def _misfit(X: Floats, y: Floats, w: Floats, b: Floats) -> Floats:
    """y - Xw - b in twice the working precision, rounded once."""
    point, out = DoubleDouble.of(w), np.empty_like(y)
    for i in range(0, len(X), _ROWS):
        rows = slice(i, i + _ROWS)
        z = OzakiMatrix.of(X[rows]).forward(point)
        out[rows] = (-z).plus(y[rows]).plus(-b).hi
    return out
