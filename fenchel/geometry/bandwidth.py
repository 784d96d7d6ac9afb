"""Bandwidths of kernels from the rows: the variance rule, the median rule, and when neither fits.

    "scale"   γ = 1 / (d v), v the variance of all entries of the table (1 where that is zero)
    "auto"    γ = 1 / d
    "median"  γ = 1 / (2 m), m the median squared distance of two rows; of ‖x - z‖₁: γ = 1 / m

Reference: Gretton, Borgwardt, Rasch, Schölkopf and Smola, A kernel two-sample test, JMLR 13 (2012),
section 8 (the median of the distances as a bandwidth).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import Array, is_sparse, to_float64, to_numpy
from fenchel.data.blocks import Block, Blocks
from fenchel.data.moments.class_moments import Moments
from fenchel.geometry.distance import absolute_distances, squared_distances
from fenchel.geometry.kernel.vector_kernels import KernelFunction, Laplacian, Radial, Scaled

Floats = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)
# Rows whose pairs tell the median: half a million pairs, whose median is known to 0.2 % of ranks.
PAIRED_ROWS = 1000
# Rows that are compared with up to so many others to judge a bandwidth: 2¹⁸ distances, 10 ms.
JUDGED_ROWS, JUDGED_POINTS = 128, 2048
# A kernel value this near to 0 or 1 has lost half of the digits of float64 that tell rows apart.
LOST = EPS**0.5

Distances = Callable[[Array, Array], Floats]


def entry_variance(blocks: Blocks) -> float:
    """The variance of all entries of the table, each with the weight of its row."""

    def stat(block: Block) -> Moments:
        X = block.X
        n, d = X.shape
        s = np.ones(n) if block.weight is None else to_numpy(block.weight)
        if not is_sparse(X):
            each = None if block.weight is None else np.repeat(s, d)
            return Moments.of_rows(to_numpy(to_float64(X)).reshape(-1, 1), each)
        each = np.repeat(s, np.diff(X.indptr))
        stored = Moments.of_rows(to_float64(X).data.reshape(-1, 1), each)
        absent = max(0.0, d * float(s.sum()) - stored.weight)
        return Moments(absent, np.zeros(1), np.zeros((1, 1))) + stored

    found = blocks.reduce(stat)
    variance = float(found.covariance[0, 0])
    # Of equal entries rounding alone is left.
    return variance if variance > (4.0 * EPS * float(found.mean[0])) ** 2 else 0.0


def scale_gamma(blocks: Blocks) -> float:
    """The variance rule, γ = 1 / (d v)."""
    variance = entry_variance(blocks)
    return 1.0 / (blocks.n_cols * variance) if variance > 0.0 else 1.0


def median_gamma(blocks: Blocks, absolute: bool = False) -> float:
    """The median rule on at most 1,000 evenly spaced rows of positive weight; equal rows are left
    out. absolute: for a kernel of ‖x - z‖₁."""
    X = _spaced(blocks, PAIRED_ROWS)
    distances = (absolute_distances if absolute else squared_distances)(X, X)
    apart = distances[np.triu_indices(len(distances), 1)]
    apart = apart[apart > 0.0]
    if not len(apart):
        return 1.0
    middle = float(np.median(apart))
    return 1.0 / middle if absolute else 0.5 / middle


def _spaced(blocks: Blocks, count: int) -> Any:
    """Evenly spaced rows of positive weight."""
    block = blocks.sample(count).gather()
    if block.weight is None:
        return block.X
    return block.X[np.flatnonzero(to_numpy(block.weight) > 0.0)]


def bandwidth_fault(kernel: KernelFunction, blocks: Blocks) -> str | None:
    """Why the bandwidth of a kernel of distances tells nothing about these rows; None if it does.

    The Gram matrix is constant where even far rows (the 95 % quantile of the distances) have a
    value of 1, and the identity where even the nearest other row (the median over rows) has a value
    of 0, both to half of the digits of float64.
    """
    found = _profiled(kernel)
    if found is None or blocks.n_rows < 3:
        return None
    distances, value, root = found
    points = _spaced(blocks, JUDGED_POINTS)
    rows = points[:: max(1, points.shape[0] // JUDGED_ROWS)]
    seen = distances(rows, points)
    apart = seen[seen > 0.0]
    if not len(apart):
        return None
    # The row itself, and no other, is left out: equal rows are near.
    near = float(np.median(np.partition(seen, 1, axis=1)[:, 1]))
    far = float(np.quantile(apart, 0.95))
    words = (
        f"the distance to the nearest other row has the median {near**root:.3g}, and 95 % of all "
        f"distances are below {far**root:.3g}"
    )
    if float(value(np.array([near]))[0]) < LOST:
        return (
            f"{kernel!r} is too narrow for these rows, so that its Gram matrix is the identity: "
            f"{words}; lower gamma, or take gamma='median'"
        )
    if 1.0 - float(value(np.array([far]))[0]) < LOST:
        return (
            f"{kernel!r} is too wide for these rows, so that its Gram matrix is constant: {words}; "
            "raise gamma, or take gamma='median'"
        )
    return None


def _profiled(
    kernel: KernelFunction,
) -> tuple[Distances, Callable[[Floats], Floats], float] | None:
    """Distances, the kernel as a function of them, and their exponent; None for other kernels."""
    if isinstance(kernel, Scaled):
        return _profiled(kernel.kernel)
    if isinstance(kernel, Radial):
        return squared_distances, kernel.profile, 0.5
    if isinstance(kernel, Laplacian):
        gamma = kernel.gamma
        return absolute_distances, lambda distances: np.exp(-gamma * distances), 1.0
    return None
