"""Steps of a random walk from new rows to those of a fit: P(x, xⱼ) = sⱼ w(x, xⱼ) / Σⱼ sⱼ w(x, xⱼ).

A row that equals a row of the fit is that row: it has no affinity with itself, max(s - 1, 0) times
w(x, x) with its copies, and stays where it is if it has none at all. Otherwise a new row next to
one of the fit has all of its affinity.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from fenchel.data.arrays import is_sparse
from fenchel.solve.online.row_values import row_values

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def row_keys(rows: Any) -> Integers:
    """A number of 64 bits for each row, made of its values alone: two different rows have the same
    with a chance of 2⁻⁶⁴. Sparse and dense rows of the same values have the same."""
    rows = rows if is_sparse(rows) else np.ascontiguousarray(rows)
    return row_values(rows).view(np.int64)


def numbers_of(keys: Integers, rows: Any) -> Integers:
    """The number of the row of the fit that each row equals, -1 where there is none."""
    if not len(keys):
        return np.full(rows.shape[0], -1)
    asked = row_keys(rows)
    order = np.argsort(keys, kind="stable")
    place = np.minimum(np.searchsorted(keys[order], asked), len(keys) - 1)
    found = order[place]
    return np.where(keys[found] == asked, found, -1)


def shares(mass: Floats) -> tuple[Floats, Floats]:
    """The weight of each row, and that of its copies besides itself, over the largest weight."""
    top = float(mass.max(initial=0.0))
    return mass / top, np.maximum(mass - 1.0, 0.0) / top


def steps(W: Any, equal: Integers) -> Any:
    """P of s w(x, xⱼ), dense or CSR, whose rows that equal one of the fit are its own already."""
    total = np.asarray(W.sum(axis=1)).ravel()
    nowhere = np.flatnonzero(total == 0.0)
    staying = nowhere[equal[nowhere] >= 0]
    scale = 1.0 / np.where(total > 0.0, total, 1.0)
    if not is_sparse(W):
        W *= scale[:, None]
        W[staying, equal[staying]] = 1.0
        return W
    P = csr_array(diags_array(scale) @ W)
    if not len(staying):
        return P
    own = csr_array((np.ones(len(staying)), (staying, equal[staying])), shape=W.shape)
    return csr_array(P + own)
