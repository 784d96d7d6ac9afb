"""Leading eigenpairs of a normalised adjacency matrix A = D^{-1/2} W D^{-1/2}.

A is symmetric and similar to a random walk: its spectrum lies in [-1, 1], and eigenvectors of the
eigenvalue 1, one for each component of the graph, are known. What method finds the others depends
on the graph:

dense          block Krylov, the subspace by products in single precision
sparse, narrow shift and invert: a sparse factorisation of I - A
sparse, wide   Chebyshev-filtered block Krylov

A graph is narrow where a breadth-first search meets few rows at a time: w rows that lie equally far
from the first one separate it, and a factorisation takes about w³ operations.

Reference: von Luxburg, A tutorial on spectral clustering, Statistics and Computing 17 (2007);
Lipton, Rose and Tarjan, Generalized nested dissection, SIAM J. Numer. Anal. 16 (1979).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import eye_array
from scipy.sparse.csgraph import breadth_first_order

from fenchel.data.arrays import is_sparse
from fenchel.data.parallel import copied
from fenchel.solve.eigen.chebyshev import filtered_eigenpairs
from fenchel.solve.eigen.inverse import shift_inverted, smallest_of
from fenchel.solve.eigen.leading import Eigenpairs, eigenpairs
from fenchel.solve.eigen.products import Deflated, DenseSymmetric
from fenchel.solve.eigen.residual import EPS, LeadingSubspace, lengths

Floats = NDArray[np.float64]
# w³ of a narrow graph. 20000 rows, ten neighbours, 2 eigenpairs, factored and filtered: on a curve
# (w = 13) 0.1 and 1.8 s, in a square (350) 0.2 and 0.8 s, in a cube (1100) 0.6 and 0.5 s.
NARROW = 5e8
SMALL = 500  # rows that LAPACK decomposes whole


def leading_of_adjacency(A: Any, known: Floats, k: int, *, tol: float = 1e-10) -> Eigenpairs:
    """The k leading eigenpairs of A but for the known ones.

    A: symmetric with its spectrum in [-1, 1], an array or CSR; known: (n, c), orthonormal
    eigenvectors of the eigenvalue 1.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.solve.eigen.adjacency import leading_of_adjacency
    >>> ring = 0.5 * (np.roll(np.eye(6), 1, axis=0) + np.roll(np.eye(6), -1, axis=0))
    >>> leading_of_adjacency(ring, np.full((6, 1), 6.0**-0.5), 2).values.round(9).tolist()
    [0.5, 0.5]
    """
    n = int(A.shape[0])
    if not is_sparse(A):
        rough = Deflated(DenseSymmetric(copied(A, np.float32)), known) if n > SMALL else None
        return eigenpairs(Deflated(DenseSymmetric(A), known), k, tol=tol, rough=rough)
    operator = Deflated(A, known)
    if n <= SMALL:
        return eigenpairs(operator, k, tol=tol)
    inside = Deflated(A, known, 2.0)
    if not is_narrow(A):
        return filtered_eigenpairs(inside, k, tol=tol)
    try:
        inverse = shift_inverted((eye_array(n) - A).tocsr(), known)
    except RuntimeError:  # a pivot that rounding made zero
        return filtered_eigenpairs(inside, k, tol=tol)
    # Of the inverse the residual says less about the last of the pairs: a digit more is asked.
    return _of_inverse(operator, smallest_of(inverse, k, tol=0.1 * tol), tol)


def _of_inverse(operator: Deflated, found: Eigenpairs, tol: float) -> Eigenpairs:
    """Eigenpairs of A in place of those of I - A, their residuals by products with A."""
    V, k = found.vectors, len(found.values)
    values = 1.0 - found.values
    problem = LeadingSubspace(operator, k)
    residuals = lengths(problem.product(V) - V * values) + problem.rounding
    proof = replace(problem.certify(V), value=-float(values.sum()))
    # Both have to hold: of A alone the residual of any smooth vector is small.
    converged = found.converged and proof.closed(max(tol, 64.0 * EPS * np.sqrt(len(V))))
    return Eigenpairs(values, V, residuals, proof, converged)


def is_narrow(A: Any) -> bool:
    """Whether a sparse graph falls apart where few rows are taken out, so that a factorisation of
    it is cheap."""
    return float(level_width(A)) ** 3 <= NARROW


def level_width(A: Any) -> int:
    """The largest number of rows at the same number of steps from a row far from the others.

    Examples
    --------
    >>> from scipy.sparse import diags_array
    >>> from fenchel.solve.eigen.adjacency import level_width
    >>> level_width(diags_array([[1.0] * 9, [1.0] * 9], offsets=[-1, 1]).tocsr())
    1
    """
    n, start, level = int(A.shape[0]), 0, np.zeros(1, np.int64)
    for _ in range(2):  # the second search begins where the first one ends
        order, before = breadth_first_order(A, start, directed=False)
        before = np.where(before < 0, -1, before).astype(np.int64)
        level, ancestor = (before >= 0).astype(np.int64), before
        while (ancestor >= 0).any():  # steps to the root, by doubling
            ahead = np.maximum(ancestor, 0)
            level = level + np.where(ancestor >= 0, level[ahead], 0)
            ancestor = np.where(ancestor >= 0, ancestor[ahead], -1)
        start = int(order[-1])
    return int(np.bincount(level, minlength=1).max()) if n else 0
