"""How much each neighbour counts: its share of the k nearest, times a function of its distance.

Weights of rows count copies: a row of weight 2 is two rows at one place, and the k nearest are
those rows whose weights reach k, of the last as much as is missing. So

    takenⱼ = min(sⱼ, max(0, k - Σ_{i<j} sᵢ)),   vote of j: takenⱼ f(dⱼ)

f = 1 (uniform), d₁/d (distance; at distance zero those rows alone), or a function that is given.

Reference: Dudani, The distance-weighted k-nearest-neighbor rule, IEEE Trans. SMC 6 (1976).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import Array
from fenchel.geometry.search.search import Integers, NeighbourSearch

Floats = NDArray[np.float64]
Weights = str | Callable[[Floats], Any] | None


def neighbourhoods(
    search: NeighbourSearch, Q: Array, k: int, weight: Floats | None
) -> tuple[Integers, Floats]:
    """Numbers and distances of so many nearest points that their weights reach k."""
    n = search.n_points
    if weight is None:
        return search.nearest(Q, k)
    low, mean = float(weight.min()), float(weight.mean())
    count = min(n, k if low >= 1.0 else int(np.ceil(2.0 * k / mean)) + 1)
    while True:
        numbers, distances = search.nearest(Q, count)
        if count == n or (weight[numbers].sum(axis=1) >= k).all():
            return numbers, distances
        count = min(n, 2 * count)


def taken(counts: Floats, k: int) -> Floats:
    """How much of each neighbour is among the k nearest; counts: their weights, nearest first."""
    before = np.cumsum(counts, axis=1) - counts
    return np.minimum(counts, np.maximum(k - before, 0.0))


def distance_weights(weights: Weights, distances: Floats) -> Floats:
    """f of the distances of neighbours, (n, m), nearest first."""
    if weights is None or weights == "uniform":
        return np.ones(distances.shape)
    if weights == "distance":
        first = distances[:, :1]
        with np.errstate(invalid="ignore", divide="ignore"):
            near = first / distances
        return np.where(first == 0.0, np.float64(1.0) * (distances == 0.0), near)
    if not callable(weights):
        raise ValueError(
            f"weights must be 'uniform', 'distance' or a function of distances, got {weights!r}"
        )
    values = np.asarray(weights(distances), np.float64)
    if values.shape != distances.shape:
        raise ValueError(
            f"the function weights gave an array of shape {values.shape} for distances of shape "
            f"{distances.shape}: it must give one weight for each distance"
        )
    if not ((values >= 0.0) & np.isfinite(values)).all():
        i, j = (int(at[0]) for at in np.nonzero(~((values >= 0.0) & np.isfinite(values))))
        raise ValueError(
            f"the function weights gave {values[i, j]} for the distance {distances[i, j]:.6g}: "
            "weights must be finite and not negative"
        )
    return values


def refuse_no_votes(total: Floats, start: int = 0) -> None:
    """An error that names the first row whose neighbours all have weight zero."""
    if not (total > 0.0).all():
        row = start + int(np.argmin(total > 0.0))
        raise ValueError(
            f"all neighbours of row {row} have weight zero: raise n_neighbors, or let the function "
            "weights be positive there"
        )


def class_votes(votes: Floats, codes: Integers, classes: int) -> Floats:
    """Σ of the votes for each class, (n, K), nearest first: the same bits whatever follows."""
    out = np.zeros((len(votes), classes))
    rows = np.arange(len(votes))
    for j in range(votes.shape[1]):
        out[rows, codes[:, j]] += votes[:, j]
    return out


def running_votes(votes: Floats, codes: Integers, classes: int) -> Iterator[Floats]:
    """`class_votes` of the first 1, 2, … columns; each is overwritten by the next."""
    out = np.zeros((len(votes), classes))
    flat, offsets = out.reshape(-1), np.arange(len(votes)) * classes
    for j in range(votes.shape[1]):
        flat[offsets + codes[:, j]] += votes[:, j]
        yield out


def value_sums(votes: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Σ votes (n,), and Σ votes × values (n, K) of values (n, m, K), nearest first."""
    total, sums = np.zeros(len(votes)), np.zeros((len(votes), values.shape[2]))
    for j in range(votes.shape[1]):
        total += votes[:, j]
        sums += votes[:, j, None] * values[:, j]
    return total, sums
