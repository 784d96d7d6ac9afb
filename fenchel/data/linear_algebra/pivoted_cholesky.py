"""Pivoted Cholesky: K = LL' to rounding, L (n, r), for a semi-definite K of numerical rank r.

Pivots are taken up to PIVOTS at a time, those of the largest remaining diagonal, as long as it
exceeds n ε max K. Time n r² (n³/3 for r = n) in matrix products, and r columns of K.

Reference: Higham, Accuracy and Stability of Numerical Algorithms (2002), section 10.3; Epperly,
Tropp and Webber, Embrace rejection, arXiv:2410.03969 (2024), for pivots in blocks.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

Floats = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)
# Pivots of a factor chosen at once: products of that width run at the full rate of the machine.
PIVOTS = 128
# A pivot this far below the largest remaining one waits for a later round.
NEAR_LARGEST = 0.01


def pivoted_cholesky(
    diagonal: Floats, columns: Callable[[NDArray[np.int64]], Floats], memory: float = np.inf
) -> tuple[Floats, NDArray[np.int64]]:
    """L and the numbers of the pivots: row pivots[i] of L is zero to the right of column i.

    columns: gives the columns of K with some numbers; memory: the bytes that L may take.
    """
    n = len(diagonal)
    left = diagonal.astype(np.float64)
    least = n * EPS * float(left.max(initial=0.0))
    L, rank = np.zeros((n, min(n, 2 * PIVOTS))), 0
    rest, pivots = np.arange(n), np.zeros(0, np.int64)
    while len(rest):
        here = left[rest]
        largest = float(here.max())
        if not largest > least:
            break
        count = min(PIVOTS, len(rest))
        some = np.argpartition(-here, count - 1)[:count]
        some = np.sort(some[here[some] > NEAR_LARGEST * largest])
        block = rest[some]
        R = columns(block)[rest]
        R -= L[rest, :rank] @ L[block, :rank].T
        factor, order, found, _ = linalg.lapack.dpstrf(
            np.asfortranarray(R[some]), tol=max(least, NEAR_LARGEST * largest), lower=1
        )
        if found == 0:  # rounding has left less than the diagonal says
            left[block] = 0.0
            continue
        order = order[:found] - 1
        if rank + found > L.shape[1]:
            width = min(n, max(2 * L.shape[1], rank + found))
            if 8.0 * n * width > memory:
                width = rank + found
            if 8.0 * n * width > memory:
                raise MemoryError(
                    f"coordinates of a kernel of rank above {rank} on {n} rows need at least "
                    f"{8.0 * n * width / 2**30:.3g} GiB and {memory / 2**30:.3g} are allowed: use "
                    "fewer rows, a wider kernel or landmarks"
                )
            L = np.concatenate([L, np.zeros((n, width - L.shape[1]))], axis=1)
        lower = np.tril(factor[:found, :found])
        new = linalg.solve_triangular(lower, R[:, order].T, lower=True, check_finite=False).T
        L[rest, rank : rank + found] = new
        L[block[order], rank : rank + found] = lower
        left[rest] -= np.einsum("ij,ij->i", new, new)
        left[block[order]] = 0.0
        pivots = np.concatenate([pivots, block[order]])
        rank += found
        keep = np.ones(len(rest), bool)
        keep[some[order]] = False
        rest = rest[keep]
    return np.ascontiguousarray(L[:, :rank]), pivots


def is_semidefinite(K: Floats) -> bool:
    """Whether K + 8 n ε max|K| has a Cholesky factor: n³/3 products."""
    slack = 8.0 * len(K) * EPS * float(np.abs(K).max(initial=0.0))
    if slack == 0.0:
        return True
    try:
        linalg.cholesky(K + slack * np.eye(len(K)), lower=True, check_finite=False)
    except linalg.LinAlgError:
        return False
    return True
