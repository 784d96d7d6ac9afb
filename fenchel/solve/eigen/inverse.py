"""Smallest eigenpairs of a sparse positive semi-definite matrix by shift and invert.

    M v = λ v   ⇔   (M + σI)⁻¹ v = v / (λ + σ)

The smallest λ, which crowd near zero, become the largest eigenvalues, far apart, of an operator
that a sparse factorisation applies: O(n log n) entries for a graph that lies in the plane. Vectors
that are known to be eigenvectors (the constant one of a Laplacian) are projected away.

Reference: Ericsson and Ruhe, The spectral transformation Lanczos method, Math. Comp. 35 (1980).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import splu

from fenchel.solve.eigen.leading import Eigenpairs, eigenpairs
from fenchel.solve.eigen.residual import lengths, orthonormal

Floats = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)
# σ over the largest diagonal entry: far below any λ of interest, and far above the rounding of M,
# with which a singular M would be factored by chance.
SHIFT = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Inverse:
    """P (M + σI)⁻¹ P, P the projection away from known vectors; in units of the largest diagonal
    entry of M."""

    matrix: Any
    top: float
    factor: Any
    known: Floats

    @property
    def shape(self) -> tuple[int, int]:
        n = int(self.matrix.shape[0])
        return n, n

    def __matmul__(self, V: Floats) -> Floats:
        return self._project(self.factor.solve(self._project(np.asfortranarray(V))))

    def _project(self, V: Floats) -> Floats:
        for _ in range(2):  # the second takes what rounding left of a large component
            V = V - self.known @ (self.known.T @ V)
        return V


def shift_inverted(M: Any, known: Floats | None = None, shift: float = SHIFT) -> Inverse:
    """The inverse of M + σI outside the span of `known`, by a sparse factorisation."""
    n = int(M.shape[0])
    known = np.zeros((n, 0)) if known is None else orthonormal(np.asarray(known, np.float64))
    top = float(np.abs(M.diagonal()).max(initial=0.0))
    if top == 0.0:
        raise ValueError("the matrix is zero on its diagonal: it has no smallest eigenpairs")
    factor = splu(
        (M / top + shift * sparse.eye_array(n)).tocsc(),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    return Inverse(M, top, factor, known)


def smallest_by_inverse(
    M: Any, k: int, *, known: Floats | None = None, shift: float = SHIFT, tol: float = 1e-10
) -> Eigenpairs:
    """The k smallest eigenpairs of M = M' ≥ 0, sparse, outside the span of `known`.

    Returns
    -------
    Eigenpairs
        Values and residuals are those of M; the residual of the certificate is that of the inverse,
        whose eigenvalues lie apart: of M a residual of any small vector would be small.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from fenchel.solve.eigen.inverse import smallest_by_inverse
    >>> L = sparse.diags_array([[-1.0] * 3, [1.0, 2.0, 2.0, 1.0], [-1.0] * 3], offsets=[-1, 0, 1])
    >>> found = smallest_by_inverse(L, 1, known=np.ones((4, 1)))
    >>> round(float(found.values[0]), 6)
    0.585786
    """
    return smallest_of(shift_inverted(M, known, shift), k, tol=tol)


def smallest_of(inverse: Inverse, k: int, *, tol: float = 1e-10) -> Eigenpairs:
    """The k smallest eigenpairs of the matrix of an inverse, as `smallest_by_inverse` gives them.

    The value of the certificate is their sum.
    """
    M = inverse.matrix
    found = eigenpairs(inverse, k, tol=tol, method="krylov")
    V = found.vectors
    image = np.asarray(M @ V)
    values = np.einsum("ij,ij->j", V, image)
    order = np.argsort(values, kind="stable")
    rounding = 2.0 * EPS * np.sqrt(len(V)) * inverse.top
    residuals = lengths(image - V * values) + rounding
    size = float(np.abs(values).max(initial=0.0))
    proof = replace(found.certificate, value=float(values.sum()), scale=k * size)
    return Eigenpairs(values[order], V[:, order], residuals[order], proof, found.converged)
