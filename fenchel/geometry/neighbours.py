"""Exact k nearest neighbours: a k-d tree in few dimensions, tiles of products in many.

Either way the answer is that of comparing each query with every point by the distance of
`distance`, ties to the lower number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import Array
from fenchel.geometry.distance import largest_entry, rows_in_order
from fenchel.geometry.tiles import Nearest, fold_pairs

if TYPE_CHECKING:
    from fenchel.geometry.tree.kd_tree import KDTree

Floats = NDArray[np.float64]
# A tree looks at about 2ᵈ leaves, tiles at all points by vector instructions. Measured with normal
# rows, ten neighbours, one thread: the tree's queries are 2 to 6 times faster for d ≤ 3,
# m = 500 to 10,000, level for d = 5, m = 500 and for d = 8, m = 10,000, twice as fast for d = 8,
# m = 100,000, and slower from d = 10.
FEWEST = 512
# Making a tree takes as long as some 200 queries by all points, for any m.
FEWEST_ROWS = 200


def nearest(
    X: Array, Q: Array, k: int, tree: Callable[[], KDTree] | None = None
) -> tuple[NDArray[np.int64], Floats]:
    """The k rows of X nearest to each row of Q: numbers (n, k) and squared distances (n, k).

    tree: gives that of X; None: it is made anew where it pays.

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
    if tree_pays(m, d, k, Q.shape[0]) and d == Q.shape[1]:
        points, rows = rows_in_order(X), rows_in_order(Q)
        if all(largest_entry(side) < 1e140 for side in (points, rows)):
            return (tree_of(points) if tree is None else tree()).nearest(rows, k)
    return fold_pairs(Q, X, every)  # which says where squares overflow


def tree_pays(m: int, d: int, k: int, n: int) -> bool:
    """Whether a tree of m points in d dimensions answers n rows sooner than comparing with all."""
    return n >= FEWEST_ROWS and m >= max(FEWEST, 8 * k) and m >= 4**d


def tree_of(X: NDArray[np.floating]) -> KDTree:
    """The tree of points in C order."""
    from fenchel.geometry.tree.kd_tree import KDTree

    return KDTree.of(X)
