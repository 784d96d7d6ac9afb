"""Whether neighbours stay neighbours in a map: trustworthiness and continuity.

    T(k) = 1 - c Σᵢ Σ_{j near i in the map, not before} (r(i, j) - k)
    C(k) = 1 - c Σᵢ Σ_{j near i before, not in the map} (r'(i, j) - k)
    c = 2 / (n k (2n - 3k - 1))

near: among the k nearest; r, r': the rank of j by its distance from i, before and in the map, of
equal distances the lower number first. Ranks are found by tiles: time O(n² (d + log n)), memory
that of a tile.

Reference: Venna and Kaski, Neighborhood preservation in nonlinear projection methods: an
experimental study, ICANN (2001).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.parallel import map_ordered, one_blas_thread, thread_count
from fenchel.score.curves.score_counts import Floats
from fenchel.score.embedding.spaces import Space, two_spaces
from fenchel.score.estimate import is_integer
from fenchel.score.structure.row_units import unit_exponent

Integers = NDArray[np.int64]
HELD = 2**20  # distances of a tile
HIGHEST = 128  # its rows
# Distances by products are off by less than this share of them: 64 δ of `geometry.distance` for up
# to 30000 columns. Nearer to each other they are made anew.
UNSURE = 1e-9


def trustworthiness(
    X: Any, X_embedded: Any, *, n_neighbors: int = 5, metric: Any = "euclidean"
) -> float:
    """How far neighbours in a map were neighbours before, from 0 to 1.

    1 - c times the sum, over neighbours that were none before, of how many rows were nearer than
    the k nearest; c makes 0 of the worst map. Exact, of equal distances the lower number first.

    Parameters
    ----------
    X : array of shape (n, d), CSR, dataframe, `scan`, dask or torch; or (n, n)
    X_embedded : array of shape (n, k)
    n_neighbors : int
        k, below n/2.
    metric : str or function
        A distance of X by name, a function of two rows, or "precomputed".

    References
    ----------
    Venna and Kaski, Neighborhood preservation in nonlinear projection methods, ICANN (2001).

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import trustworthiness
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.1], [3.0, 0.0], [4.0, 9.0]])
    >>> trustworthiness(X, X[:, :1], n_neighbors=1)
    1.0
    >>> round(trustworthiness(X, X[:, 1:], n_neighbors=1), 3)
    0.667
    """
    space, places = two_spaces(X, X_embedded, metric)
    return _kept(places, space, n_neighbors)


def continuity(
    X: Any, X_embedded: Any, *, n_neighbors: int = 5, metric: Any = "euclidean"
) -> float:
    """How far neighbours before are neighbours in a map, from 0 to 1: `trustworthiness` with both
    sides exchanged. A map that tears neighbours apart is not continuous.

    Parameters
    ----------
    X : array of shape (n, d), CSR, dataframe, `scan`, dask or torch; or (n, n)
    X_embedded : array of shape (n, k)
    n_neighbors : int
        k, below n/2.
    metric : str or function
        A distance of X by name, a function of two rows, or "precomputed".

    References
    ----------
    Venna and Kaski, Neighborhood preservation in nonlinear projection methods, ICANN (2001).

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel import continuity
    >>> ring = np.array([[1.0, 0.0], [0.8, 1.0], [-1.0, 0.3], [-0.7, -1.0], [0.5, -0.9]])
    >>> round(continuity(ring, ring[:, :1], n_neighbors=1), 3)
    0.867
    """
    space, places = two_spaces(X, X_embedded, metric)
    return _kept(space, places, n_neighbors)


def _kept(near: Space, ranked: Space, k: Any) -> float:
    """1 - c times how far the neighbours of one space are beyond the k nearest of the other."""
    n = near.n
    if not is_integer(k) or k < 1:
        raise ValueError(f"n_neighbors must be a whole number from 1 on, got {k!r}")
    if k >= n / 2:
        raise ValueError(f"n_neighbors ({k}) should be less than n_samples / 2 ({n / 2})")
    numbers = near.neighbours(int(k))
    excess = _rank_excess(ranked, numbers)
    return 1.0 - 2.0 * excess / (n * k * (2.0 * n - 3.0 * k - 1.0))


def _rank_excess(space: Space, numbers: Integers) -> float:
    """Σ max(r(i, j) - k, 0) over the k numbers j of each row i."""
    n, k = numbers.shape
    if not space.given and space.metric is None:
        space = space.in_units(unit_exponent(space.rows))
    step = max(1, min(HELD // n, HIGHEST))

    def work(lo: int) -> int:
        rows = slice(lo, min(lo + step, n))
        D = space.distances(rows, slice(0, n))
        here = np.arange(len(D))
        D[here, lo + here] = np.inf
        ranks = _nearer(space, lo, D, numbers[rows]) + 1
        return int(np.maximum(ranks - k, 0).sum())

    with one_blas_thread():
        return float(sum(map_ordered(work, range(0, n, step), thread_count())))


def _nearer(space: Space, lo: int, D: Floats, j: Integers) -> Integers:
    """How many others are nearer to each row than the rows j, or as near with a lower number."""
    own = np.take_along_axis(D, j, axis=1)
    low, high = (own * (1.0 - UNSURE), own * (1.0 + UNSURE)) if space.rounded else (own, own)
    sizes = np.sort(D, axis=1)
    pairs = list(zip(sizes, low, high, strict=True))
    count = np.stack([np.searchsorted(row, least, "left") for row, least, _ in pairs])
    level = np.stack([np.searchsorted(row, most, "right") for row, _, most in pairs]) - count
    for i, c in np.argwhere(level > 1):  # others than j itself are as near
        tied = np.flatnonzero((D[i] >= low[i, c]) & (D[i] <= high[i, c]))
        d, at = D[i, tied], own[i, c]
        if space.rounded:
            d = space.distances_from(lo + int(i), tied)
            at = d[tied == j[i, c]][0]
        count[i, c] += int(((d < at) | ((d == at) & (tied < j[i, c]))).sum())
    return count
