"""Exact k nearest neighbours: a k-d tree in few dimensions, tiles of products in many.

Either way the answer is that of comparing each query with every point by the distance of
`distance`, ties to the lower number. The tree, whose arithmetic is its own, only names candidates.

Reference: Friedman, Bentley and Finkel, An algorithm for finding best matches in logarithmic
expected time, ACM Trans. Math. Software 3 (1977).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import Array
from fenchel.data.blocks import map_ordered, thread_count
from fenchel.geometry.distance import largest_entry, rows_in_order
from fenchel.geometry.tiles import Nearest, fold_pairs

Floats = NDArray[np.float64]
# A tree looks at about 2ᵈ leaves, tiles at all points by vector instructions. Measured with normal
# rows, 2000 queries, two threads: the tree is 3 to 7 times faster for d ≤ 3, m = 3000 to 30000,
# level for d = 5, m = 3000 and d = 8, m = 30000, and 4 to 8 times slower from d = 12.
FEWEST = 512
# Neighbours beyond the k-th that the tree names, at first and where those do not do: ties and near
# ties must be among them.
FEW, MORE = 1, 8
# A tree's distance is right to d + depth rounding errors, far fewer than these 4500.
NEAR = 1e-12


def nearest(
    X: Array, Q: Array, k: int, tree: Callable[[], Any] | None = None
) -> tuple[NDArray[np.int64], Floats]:
    """The k rows of X nearest to each row of Q: numbers (n, k) and squared distances (n, k).

    tree: gives that of X, as `tree_of` makes it; None: it is made anew where it pays.

    Examples
    --------
    >>> import numpy as np
    >>> from fenchel.geometry.neighbours import nearest
    >>> X = np.array([[0.0], [1.0], [5.0], [1.0]])
    >>> numbers, squares = nearest(X, np.array([[1.5]]), 3)
    >>> numbers.tolist(), squares.tolist()
    ([[1, 3, 0]], [[0.25, 0.25, 2.25]])
    """
    every = Nearest(k)
    m, d = X.shape
    if tree_pays(m, d, k) and d == Q.shape[1]:
        return _by_tree(rows_in_order(X), rows_in_order(Q), k, tree)
    return fold_pairs(Q, X, every)


def tree_pays(m: int, d: int, k: int) -> bool:
    """Whether a tree of m points in d dimensions is faster than comparing with all of them."""
    return m >= max(FEWEST, 8 * (k + MORE)) and m >= 4**d


def tree_of(X: NDArray[Any]) -> Any:
    """The tree of points in C order."""
    from scipy.spatial import KDTree

    # Splitting at the middle of a box and not at the median builds faster, and many equal
    # coordinates do no harm.
    return KDTree(X, balanced_tree=False)


def _by_tree(
    X: NDArray[Any], Q: NDArray[Any], k: int, tree: Callable[[], Any] | None
) -> tuple[NDArray[np.int64], Floats]:
    if not all(largest_entry(rows) < 1e140 for rows in (X, Q)):
        return fold_pairs(Q, X, Nearest(k))  # which says where squares overflow
    made = tree_of(X) if tree is None else tree()
    squares, numbers = np.full((len(Q), k), np.inf), np.full((len(Q), k), -1, np.int64)
    single = X.dtype == np.float32 and Q.dtype == np.float32
    dtype = np.float32 if single else np.float64
    points = X.astype(dtype, copy=False).view()
    points.flags.writeable = False  # one type for the compiled loops, whatever was given
    workers, unsure = thread_count(), np.arange(len(Q))
    for more in (FEW, MORE):
        rows = Q if len(unsure) == len(Q) else Q[unsure]
        distances, candidates = made.query(rows, k + more, workers=workers)
        asked = rows.astype(dtype, copy=False).view()
        asked.flags.writeable = False
        found = _decided(asked, points, candidates, k, workers)
        numbers[unsure], squares[unsure] = found
        # Where the last candidate is as near as the k-th there may be more such points: more are
        # looked at, in the end all. So they are where a square may vanish.
        complete = distances[:, -1] > distances[:, k - 1] * (1.0 + NEAR)
        complete &= distances[:, -1] > 1e-140
        unsure = unsure[~complete]
        if not len(unsure):
            break
    if len(unsure):
        numbers[unsure], squares[unsure] = fold_pairs(Q[unsure], X, Nearest(k))
    return numbers, squares


def _decided(
    Q: NDArray[Any], X: NDArray[Any], candidates: NDArray[np.int64], k: int, workers: int
) -> tuple[NDArray[np.int64], Floats]:
    """The k nearest of the candidates of each row, by the distance of `distance`."""
    from fenchel.geometry.compiled import nearest_among

    squares, numbers = np.full((len(Q), k), np.inf), np.full((len(Q), k), -1, np.int64)
    cuts = [len(Q) * i // workers for i in range(workers + 1)]

    def decide(i: int) -> None:
        part = slice(cuts[i], cuts[i + 1])
        nearest_among(Q[part], X, candidates[part], squares[part], numbers[part])

    for _ in map_ordered(decide, range(workers), workers):
        pass
    return numbers, squares
