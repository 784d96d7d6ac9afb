"""Leave-one-out errors of ridge regression over the features of landmarks, for a grid of penalties.

    eᵢ = (yᵢ - ψᵢ·w) / (1 - sᵢ Σⱼ ψᵢⱼ² / (λⱼ + α)),   w = (Λ + αI)⁻¹ Σ sᵢyᵢψᵢ

with Φ'SΦ = VΛV' and ψ = V'φ, φ = B'(k(x, z₁) … k(x, zₘ)). The landmarks stay where a row is left
out, also a row that is one: which functions there are does not depend on the targets.

Cost: n m r products for the features, n r² / 2 for their Gram matrix and r³ for its eigenvectors, a
pass for Φ'Sy, and one of n m r + n r A(T + 1) products for the errors of A penalties and T targets.

Reference: Golub, Heath and Wahba, Generalized cross-validation as a method for choosing a good
ridge parameter, Technometrics 21 (1979).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from fenchel.data.design.landmark_table import LandmarkTable
from fenchel.data.parallel import one_blas_thread

Floats = NDArray[np.float64]
U = 2.0**-53


def landmark_left_out(
    table: LandmarkTable, basis: Floats, y: Floats, s: Floats, alphas: Floats
) -> Floats:
    """Errors (n, T, A) of every row; one without weight is missed by what the fit misses it.

    basis: B (m, r); y: (n, T); s: weights of 0 or more; alphas: above 0.
    """
    G = table.gram(np.flatnonzero(s), s[s > 0.0], basis)
    with one_blas_thread():  # the same bits on any number of threads
        values, V = linalg.eigh(G, driver="evd", overwrite_a=True, check_finite=False)

    def moments(rows: slice, Z: Floats) -> tuple[Floats, Floats]:
        return s[rows, None] * y[rows], np.zeros((0, y.shape[1]))

    pull = table.sweep(np.zeros((table.count, y.shape[1])), moments)[0]
    D = 1.0 / (np.maximum(values, 0.0)[:, None] + alphas)
    w = D[:, None, :] * (V.T @ (basis.T @ pull))[:, :, None]

    def errors(rows: slice, Z: Floats) -> Floats:
        missed = y[rows, :, None] - (Z @ w.reshape(len(w), -1)).reshape(len(Z), *w.shape[1:])
        # A leverage below 1 that rounds to it leaves no digit of the error.
        left = np.maximum(1.0 - s[rows, None] * ((Z * Z) @ D), U)
        return np.asarray(missed / left[:, None, :]).reshape(len(Z), -1)

    found = table.rows_of(basis @ V, errors)
    return found.reshape(len(y), *w.shape[1:])
