"""Silhouettes: how much nearer each row is to its own cluster than to the next.

a(x) = Σ_{j in x's cluster} sⱼ|x - xⱼ| / (S - min(1, s)),   b(x) = the least mean of another cluster
s(x) = (b - a) / max(a, b),   and 0 for a row that is its own cluster

s the weight of the row, S that of its cluster: weights mean repeated rows, of which one is x
itself. All pairs by tiles, none of them held: time O(n² d), memory that of the rows.

Reference: Rousseeuw, Silhouettes: a graphical aid to the interpretation and validation of cluster
analysis, J. Comput. Appl. Math. 20 (1987).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import Array, is_sparse, to_numpy
from fenchel.data.intake import as_blocks
from fenchel.geometry.distance import squared_distances
from fenchel.geometry.tiles import Tile, TileFold, fold_pairs, refuse_lost
from fenchel.score.curves.score_counts import Floats
from fenchel.score.structure.row_units import in_units, unit_exponent
from fenchel.score.structure.spectral_certificates import cluster_codes

ROWS, POINTS = 128, 1024  # of a tile: a megabyte of distances


def silhouette_samples(X: Any, labels: Any, sample_weight: Any = None) -> Floats:
    """How much nearer each row is to its own cluster than to the next, from -1 to 1.

    Exact for all pairs of rows, in float64. A row alone in its cluster has 0, as have rows of
    which all are one point.

    Parameters
    ----------
    X : array of shape (n, d), CSR, dataframe, `scan`, dask or torch
    labels : array of shape (n,)
        The cluster of each row: 2 or more that have weight.
    sample_weight : array of shape (n,), optional
        A row of weight 2 counts as two rows; one of weight 0 has a silhouette and changes no other.

    References
    ----------
    Rousseeuw, J. Comput. Appl. Math. 20 (1987).

    Examples
    --------
    >>> from fenchel import silhouette_samples
    >>> silhouette_samples([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1]).round(3).tolist()
    [0.905, 0.895, 0.895, 0.905]
    """
    return _silhouettes(X, labels, sample_weight)[0]


def silhouette(X: Any, labels: Any, sample_weight: Any = None) -> float:
    """The mean silhouette of the rows, `silhouette_samples`; larger is better.

    Examples
    --------
    >>> from fenchel import silhouette
    >>> round(silhouette([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1]), 3)
    0.9
    """
    values, weight = _silhouettes(X, labels, sample_weight)
    return float(weight @ values / weight.sum())


def _silhouettes(X: Any, labels: Any, sample_weight: Any) -> tuple[Floats, Floats]:
    """Of each row, and the weights."""
    block = as_blocks(X, weight=sample_weight).gather()
    rows = block.X if is_sparse(block.X) else np.asarray(to_numpy(block.X))
    n = int(rows.shape[0])
    codes, k = cluster_codes(labels, n)
    weight: Floats = np.ones(n)
    if block.weight is not None:
        weight = np.asarray(to_numpy(block.weight), np.float64)
    unit = 1.0 / float(weight.max()) if weight.max() > 1e100 else 1.0  # sums must not overflow
    weight = weight * unit
    masses: Floats = np.bincount(codes, weight, minlength=k).astype(np.float64)
    present = int((masses > 0.0).sum())
    if present < 2:
        raise ValueError(
            f"silhouettes compare clusters, and the rows are of {present}: give 2 or more"
        )
    # Points stand cluster by cluster, so that each cluster is a run of columns of a tile.
    order = np.argsort(codes, kind="stable")
    rows = in_units(rows, unit_exponent(rows))
    left_out: Floats = np.minimum(unit, weight)
    fold = MeanDistances(codes, weight, left_out, masses, order)
    a, b = fold_pairs(rows, rows[order], fold)
    larger = np.maximum(a, b)
    alone = ~(masses[codes] > fold.left_out)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.where(alone | ~(larger > 0.0), 0.0, (b - a) / larger)
    return np.asarray(found, np.float64), weight


@final
@dataclass(frozen=True, slots=True, eq=False)
class MeanDistances(TileFold[tuple[Floats, Floats]]):
    """The mean distance of each row to its own cluster, itself left out, and to the next one.

    codes, weight, left_out: of the rows, the last the part of its weight that is the row itself;
    masses: of the clusters; order: of the points, cluster by cluster.
    """

    codes: NDArray[np.int64]
    weight: Floats
    left_out: Floats
    masses: Floats
    order: NDArray[np.int64]

    def prepare(self, points: Array) -> Array:
        return points

    def empty(self, n: int, points: Any) -> tuple[NDArray[Any], ...]:
        return np.zeros(n), np.zeros(n), np.arange(n)

    def visit(
        self, X: NDArray[Any], points: Any, slots: tuple[NDArray[Any], ...], tile: Tile
    ) -> int:
        own_mean, next_mean, numbers = slots
        height, width = tile.rows or ROWS, tile.points or POINTS
        codes, weight = self.codes[self.order], self.weight[self.order]
        empty = ~(self.masses > 0.0)
        for i in range(0, len(X), height):
            rows = slice(i, min(i + height, len(X)))
            sums = np.zeros((rows.stop - i, len(self.masses)))
            for j in range(0, len(codes), width):
                part = slice(j, min(j + width, len(codes)))
                D = np.sqrt(squared_distances(X[rows], points[part]))
                D *= weight[part]
                starts = np.flatnonzero(np.diff(codes[part], prepend=-1))
                sums[:, codes[part][starts]] += np.add.reduceat(D, starts, axis=1)
            here = numbers[rows]
            own, at = self.codes[here], np.arange(len(here))
            rest = self.masses[own] - self.left_out[here]
            with np.errstate(divide="ignore", invalid="ignore"):
                own_mean[rows] = np.where(rest > 0.0, sums[at, own] / rest, 0.0)
                sums /= self.masses
            sums[:, empty] = np.inf
            sums[at, own] = np.inf
            next_mean[rows] = sums.min(axis=1)
        return 0

    def finish(self, slots: tuple[NDArray[Any], ...]) -> tuple[Floats, Floats]:
        a, b, _ = slots
        refuse_lost(~np.isfinite(b))
        return a, b
