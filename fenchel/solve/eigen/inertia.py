"""Upper bounds on the sum of the k largest eigenvalues, which residuals alone cannot give.

**By a factorisation** (Sylvester). tI - A + E = PLDL'P': D and tI - A + E have as many negative
eigenvalues, so that no more than that many of A lie above t + |E|. E is what rounding has left:
|E| ≤ γ |L||D||L'| by entries, whose row sums take two products. With orthonormal V,
AV = VΘ + R and p of the θ above t + |E|, no more than p negative pivots say that all but p of the
eigenvalues are at most t + |E|, and that the p largest sum to no more than those θ and
|R|² / (θ_p - β), β = t + |E| + |R|² / (θ_p - t - |E|): the second bound, for p vectors.

**By norms** (Haynsworth). In a basis [Q, Q̄], A = [T C'; C B] with |B| ≤ β, where
β² = |A|² - 2 |AQ|² + |T|² in Frobenius norms. For every t > β

    λᵢ(A) ≤ max(t, λᵢ(T + C'C / (t - β))),   C'C = (AQ)'AQ - T²

since A - τI, τ ≥ t, has as many positive eigenvalues as its Schur complement in Q, which is at most
T + C'C / (τ - β) - τI. O(n²) and one product; it says something where few eigenvalues are large.

Reference: Parlett, The Symmetric Eigenvalue Problem (1998), sections 3.3 and 11.5; Haynsworth,
Determination of the inertia of a partitioned Hermitian matrix, Linear Algebra Appl. 1 (1968);
Higham, Accuracy and Stability of Numerical Algorithms (2002), theorems 9.3 and 11.4.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.sparse.linalg import splu

from fenchel.data.arrays import is_sparse
from fenchel.data.parallel import map_ordered, one_blas_thread, thread_count
from fenchel.solve.eigen.products import RANGE, DenseSymmetric

Floats = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)
# Where the pivots are counted, from θ_k on: below it first, which costs the bound nothing and needs
# a gap to the next eigenvalue, then above it, which costs so much. All are far above |E| and |R|.
STEPS = (-1e-6, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
# Columns that Q is given besides V, of the image of random ones.
MORE = 96


def eigenvalues_above(A: Any, t: float) -> tuple[int, float]:
    """(p, e): no more than p eigenvalues of the symmetric A lie above t + e; e is infinite where
    the factorisation broke down.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.solve.eigen.inertia import eigenvalues_above
    >>> p, e = eigenvalues_above(np.diag([3.0, 2.0, 1.0]), 1.5)
    >>> p, e < 1e-12
    (2, True)
    """
    n = int(A.shape[0])
    # tI - A is rounded once on its diagonal.
    size = abs(t) + float(np.abs(A.diagonal()).max(initial=0.0))
    count, error = _sparse_pivots(A, t) if is_sparse(A) else _dense_pivots(A, t)
    return (count, error + EPS * size) if math.isfinite(error) else (n, math.inf)


def _dense_pivots(A: NDArray[Any], t: float) -> tuple[int, float]:
    """Bunch and Kaufman's factorisation: pivots of one row or two."""
    n = len(A)
    M = np.negative(A, dtype=np.float64)
    M.reshape(-1)[:: n + 1] += t
    L, D, _ = linalg.ldl(M, overwrite_a=True, check_finite=False)
    one, off = np.diagonal(D).copy(), np.diagonal(D, -1).copy()
    if not (np.isfinite(one).all() and np.isfinite(L).all()):
        return n, math.inf
    first = np.flatnonzero(off)
    pairs = np.zeros(n, bool)
    pairs[first], pairs[first + 1] = True, True
    count = int((one[~pairs] < 0.0).sum())
    a, b, c = one[first], off[first], one[first + 1]
    # Of a 2 x 2 pivot: one negative eigenvalue for each sign change in 1, a, det.
    det = a * c - b * b
    slack = 4.0 * EPS * (np.abs(a * c) + b * b)
    if (np.abs(det) <= slack).any():
        return n, math.inf
    count += int(np.where(det < 0.0, 1, np.where(a < 0.0, 2, 0)).sum())
    L = np.abs(L, out=L)
    sums = L @ (np.abs(D) @ L.sum(axis=0))
    # Theorem 11.4's polynomial is linear in n with a small constant: 10 n is beyond it.
    return count, 10.0 * n * EPS * float(sums.max() + np.abs(A).sum(axis=1).max() + abs(t))


def _sparse_pivots(A: Any, t: float) -> tuple[int, float]:
    """LU without pivoting for size, LU = M + E with |E| ≤ γ |L||U|; U = DL' up to F."""
    n = int(A.shape[0])
    M = (t * sparse.eye_array(n) - A).tocsc()
    try:
        factor = splu(
            M, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )
    except RuntimeError:  # a pivot of zero
        return n, math.inf
    L, U = factor.L.tocsr(), factor.U.tocsr()
    pivots = U.diagonal()
    symmetric = np.array_equal(factor.perm_r, factor.perm_c)
    if not symmetric or not np.isfinite(U.data).all() or not np.isfinite(L.data).all():
        return n, math.inf
    F = abs(U - sparse.diags_array(pivots) @ L.T)
    ones = np.ones(n)
    error = n * EPS * (abs(L) @ (abs(U) @ ones)) + abs(L) @ (F @ ones)
    return int((pivots < 0.0).sum()), 1.01 * float(error.max())


def largest_sum(A: Any, V: Floats, *, factor: bool = True) -> float:
    """At least the sum of the k largest eigenvalues of A, symmetric with |A| ≤ 1.

    A: an array or a CSR matrix; V: (n, k), orthonormal, nearly the leading eigenvectors; factor:
    whether to factor tI - A; else norms alone are used, of a dense A.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.solve.eigen.inertia import largest_sum
    >>> A = np.diag([1.0, 0.5, 0.25, 0.0])
    >>> round(largest_sum(A, np.eye(4)[:, :2]), 5)
    1.5
    """
    n, k = V.shape
    operator = A if is_sparse(A) else DenseSymmetric(A)
    images = np.asarray(operator @ V)
    T = V.T @ images
    theta, Y = np.linalg.eigh(0.5 * T + 0.5 * T.T)
    theta, Y = theta[::-1], Y[:, ::-1]
    # Products of n terms, and a basis that is orthonormal to rounding.
    slack = 8.0 * EPS * n
    trivial = k * (1.0 + slack)
    if k >= n:
        return min(trivial, float(theta.sum()) + k * slack)
    R = images @ Y - V @ (Y * theta)
    rho = float(np.linalg.norm(R)) + math.sqrt(k) * slack
    if factor:
        return min(trivial, _by_pivots(A, theta, rho, slack))
    if is_sparse(A):
        return trivial
    with one_blas_thread():
        return min(trivial, _by_norms(A, V, images, theta, slack))


def _by_pivots(A: Any, theta: Floats, rho: float, slack: float) -> float:
    """Infinite where V has missed a leading eigenvector, or nothing was found out."""
    k = len(theta)
    for step in STEPS:
        t = float(theta[-1]) + step
        p = int((theta > t).sum())
        if p and not theta[p - 1] > t + 1e-9 + 4.0 * rho:
            continue  # a value lies too near to t to be told from it: another step
        count, error = eigenvalues_above(A, t)
        first = _first(theta[:p], rho, t + error)
        if count <= p and math.isfinite(first):
            return first + (k - p) * (t + error) + k * slack
    return math.inf


def _first(theta: Floats, rho: float, t: float) -> float:
    """At least the sum of the p largest eigenvalues, where no more than p lie above t: what is
    outside V is at most β = t + |R|² / (θ - t), and Haynsworth's bound holds for τ = θ."""
    if not len(theta):
        return 0.0
    last = float(theta[-1])
    beta = t + rho * rho / (last - t) if last > t else math.inf
    return float(theta.sum()) + rho * rho / (last - beta) if last > beta else math.inf


def _by_norms(A: NDArray[Any], V: Floats, images: Floats, theta: Floats, slack: float) -> float:
    n, k = V.shape
    square = _sum_of_squares(A)
    left = square - float(np.square(theta).sum())
    Q, AQ = V, images
    if left < 1.0 and n > 4 * MORE:
        # Little is left: more of it in Q makes β smaller.
        operator = DenseSymmetric(A)
        drawn = operator @ np.random.RandomState(0).standard_normal((n, MORE))
        drawn -= V @ (V.T @ drawn)
        new = np.linalg.qr(drawn)[0]
        new = np.linalg.qr(new - V @ (V.T @ new))[0]
        Q, AQ = np.hstack([V, new]), np.hstack([images, operator @ new])
    T = Q.T @ AQ
    T = 0.5 * T + 0.5 * T.T
    cross = AQ.T @ AQ - T @ T
    rounding = slack * max(square, 1.0)
    beta = math.sqrt(max(square - 2.0 * float(np.sum(AQ * AQ)) + float(np.sum(T * T)), 0.0))
    beta = math.sqrt(beta * beta + 4.0 * rounding)
    best = math.inf
    for t in beta + np.geomspace(1e-3, 1.0, 13):
        values = np.linalg.eigvalsh(T + (0.5 * cross + 0.5 * cross.T) / (t - beta))[::-1][:k]
        above = rounding * (1.0 + 1.0 / (t - beta))
        best = min(best, float(np.maximum(values + above, t).sum()))
    return best


def _sum_of_squares(A: NDArray[Any]) -> float:
    """|A|² in the Frobenius norm, by ranges of rows."""

    def part(lo: int) -> float:
        rows = A[lo : lo + RANGE]
        return float(np.einsum("ij,ij->", rows, rows))

    return sum(map_ordered(part, range(0, len(A), RANGE), thread_count()))
