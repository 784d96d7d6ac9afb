"""The normalised cut, and the bound that its spectral relaxation gives.

    ncut(C₁, …, C_k) = Σⱼ w(Cⱼ, rest) / vol(Cⱼ) = k - Σⱼ yⱼ'A yⱼ,   yⱼ ∝ √m on Cⱼ, |yⱼ| = 1
    ncut ≥ k - (λ₁ + … + λ_k)

vol(C): the sum of the degrees in C. The yⱼ are orthonormal, and no k orthonormal vectors have a
larger trace than the leading eigenvectors (Fan).

Reference: Shi and Malik, Normalized cuts and image segmentation, IEEE Trans. Pattern Anal. Mach.
Intell. 22 (2000); Yu and Shi, Multiclass spectral clustering, ICCV (2003).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.data.arrays import is_sparse
from fenchel.models.manifold.affinity.graph import NormalisedGraph
from fenchel.solve.eigen.adjacency import is_narrow
from fenchel.solve.eigen.inertia import largest_sum
from fenchel.solve.eigen.residual import EPS

Floats = NDArray[np.float64]
# Rows of dense affinities up to which they are factored for the proof: 0.3 s.
FACTORED = 3000
# Rows of sparse ones that are made dense for it.
MADE_DENSE = 2000


def cut_certificate(
    graph: NormalisedGraph, V: Floats, codes: NDArray[Any], prove: bool | str
) -> Certificate:
    """The cut of labels of all vertices, and a bound that no labels with as many clusters beat.

    V: leading eigenvectors; prove: False for the bound 0, True for a factorisation at any cost,
    "auto" for one where it is cheap.
    """
    n = len(graph)
    different, codes = np.unique(codes, return_inverse=True)
    k = len(different)
    value = float(graph.cuts(codes, k).sum())
    if value == 0.0:
        return Certificate(0.0, 0.0, "exact")
    # Entries of A are off by a rounding for each term of a degree, and products by as many.
    rounding = k * (2.0 * n + 16.0) * EPS
    bound = 0.0
    if prove is not False and V.shape[1]:
        p = min(k, V.shape[1])
        top = upper_sum(graph.A, V[:, :p], prove)
        # No later eigenvalue is above the mean of the first p.
        top += (k - p) * min(top / p, 1.0)
        bound = min(max(k - top - rounding, 0.0), value)
    return Certificate(value, bound, "spectral", floor=rounding)


def upper_sum(A: Any, V: Floats, prove: bool | str) -> float:
    """At least the sum of as many leading eigenvalues as V has columns."""
    n = int(A.shape[0])
    if is_sparse(A):
        factor = prove is True or n <= MADE_DENSE or is_narrow(A)
        A = A.toarray() if n <= MADE_DENSE and not is_narrow(A) else A
        return largest_sum(A, V, factor=factor)
    return largest_sum(A, V, factor=prove is True or n <= FACTORED)
