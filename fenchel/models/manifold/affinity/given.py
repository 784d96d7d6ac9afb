"""Affinities that are given: a matrix, and for new rows theirs with the rows of the fit."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from fenchel.data.arrays import is_sparse
from fenchel.models.manifold.affinity.graph import AffinityGraph, affinity_graph, in_floats
from fenchel.models.manifold.affinity.random_walk import numbers_of, shares, steps
from fenchel.models.manifold.vertices import Vertices

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class GivenAffinities:
    """What tells a row of the fit from a new one.

    columns: the vertices among all rows of the fit; keys: `row_keys` of their affinities; mass,
    own: of each, and its affinity with itself.
    """

    columns: Integers = field(repr=False)
    keys: Integers = field(repr=False)
    mass: Floats = field(repr=False)
    own: Floats = field(repr=False)

    def chosen(self, some: Integers) -> GivenAffinities:
        return GivenAffinities(self.columns[some], self.keys[some], self.mass[some], self.own[some])

    def extend(self, X: Any) -> Any:
        """The rows over their sums, with the place of a row of the fit in itself left out."""
        equal = numbers_of(self.keys, X)
        W: Any = csr_array(X)[:, self.columns] if is_sparse(X) else np.asarray(X)[:, self.columns]
        W = W.astype(np.float64)
        values = W.data if is_sparse(W) else W
        if not (np.isfinite(values) & (values >= 0.0)).all():
            W = W.toarray() if is_sparse(W) else W
            i, j = (int(at[0]) for at in np.nonzero(~(np.isfinite(W) & (W >= 0.0))))
            raise ValueError(
                f"row {i} has the affinity {W[i, j]:.6g} with row {int(self.columns[j])} of the "
                "fit: affinities are finite and not negative"
            )
        here = np.flatnonzero(equal >= 0)
        own = equal[here]
        share, copies = shares(self.mass)
        top = np.asarray(W.max(axis=1).toarray() if is_sparse(W) else W.max(axis=1)).ravel()
        # Sums must neither overflow nor vanish.
        unit = np.ldexp(1.0, np.clip(-np.frexp(top)[1], -1000, 1000))
        if is_sparse(W):
            W = csr_array(diags_array(unit) @ W @ diags_array(share))
            if len(here):
                among = copies[own] * (self.own[own] * unit[here])
                more = among - np.asarray(W[here, own]).ravel()
                W = csr_array(W + csr_array((more, (here, own)), shape=W.shape))
            return steps(W, equal)
        W = W * unit[:, None] * share
        W[here, own] = copies[own] * (self.own[own] * unit[here])
        return steps(W, equal)


def given_graph(vertices: Vertices, keys: Integers) -> AffinityGraph:
    """The graph of given affinities, the rows of the vertices; keys: `row_keys` of all rows."""
    X, columns = vertices.rows, vertices.members
    W = csr_array(X, copy=True) if is_sparse(X) else in_floats(X)
    own = np.maximum(np.asarray(W.diagonal(), np.float64), 0.0)
    return affinity_graph(W, vertices, GivenAffinities(columns, keys[columns], vertices.mass, own))
