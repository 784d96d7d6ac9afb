"""The start of a mixture's fit: from k-means, from rows, or from what was given."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import warn_outside
from fenchel.models.cluster.kmeans import KMeans
from fenchel.models.cluster.rows import nearest_centres
from fenchel.models.cluster.seeding import kmeans_plus_plus, random_rows
from fenchel.solve.mixture.components import Kind, MixtureComponents
from fenchel.solve.mixture.starts import (
    StartRows,
    doubled,
    log_likelihood,
    of_labels,
    of_responsibilities,
    replaced,
)
from fenchel.solve.mixture.whitening import Whitening

Floats = NDArray[np.float64]


# Starts by k-means that are compared, in each of two units of the columns, where they cost little.
TRIED, FEW_ROWS = 5, 2**13


def begun(
    init: str, rows: StartRows, kind: Kind, k: int, floor: float, rng: np.random.RandomState
) -> MixtureComponents:
    """A start with `k` components, as `init_params` says."""
    most = min(k, len(rows.z))
    weight = rows.weight
    if init == "random":
        R = rng.uniform(size=(len(rows.z), k))
        return of_responsibilities(kind, rows.z, weight, R / R.sum(axis=1)[:, None], floor)
    if init == "kmeans":
        start = _best_of_kmeans(rows, kind, most, floor, rng)
    else:
        choose = kmeans_plus_plus if init == "k-means++" else random_rows
        draw = np.random.default_rng(rng.randint(2**31 - 1))
        labels = nearest_centres(rows.standard, choose(rows.standard, weight, most, draw))[0]
        start = _of_clusters(rows, kind, labels, floor)
    found = len(start.weights)
    if found == k:
        return start
    warn_outside(
        f"the rows fall into {found} different points or clusters, fewer than n_components={k}: "
        "some components are copies of others. Lower n_components",
        UserWarning,
    )
    return doubled(start, k)


def _best_of_kmeans(
    rows: StartRows, kind: Kind, k: int, floor: float, rng: np.random.RandomState
) -> MixtureComponents:
    """Of several runs of k-means the one whose mixture is the likeliest.

    A run ends in a poor partition now and then, and none knows the best unit of the columns: the
    likelihood compares them all, for the cost of a step of EM each.
    """
    tried = TRIED if k > 1 and len(rows.z) <= FEW_ROWS else 1
    seeds = rng.randint(2**31 - 1, size=tried)
    units = [rows.standard]
    if k > 1 and rows.common is not rows.standard:
        units.append(rows.common)
    best: tuple[float, MixtureComponents] | None = None
    for unit in units:
        for seed in seeds:
            groups = KMeans(k, n_init=1, random_state=int(seed), prove=False)
            found = groups.fit(unit, sample_weight=rows.weight)
            start = _of_clusters(rows, kind, found.labels_, floor)
            value = log_likelihood(start, rows)
            if best is None or value > best[0]:
                best = value, start
    assert best is not None
    return best[1]


def _of_clusters(
    rows: StartRows, kind: Kind, labels: NDArray[Any], floor: float
) -> MixtureComponents:
    """The mixture of the clusters that have rows, in the order of their first rows: one partition
    is one start, whatever its numbers."""
    _, firsts, codes = np.unique(labels, return_index=True, return_inverse=True)
    places = np.argsort(np.argsort(firsts))
    return of_labels(kind, rows.z, rows.weight, places[codes], len(firsts), floor)


def with_given(
    start: MixtureComponents,
    whitening: Whitening,
    weights: Any,
    means: Any,
    precisions: Any,
    floor: float,
) -> MixtureComponents:
    """The start with weights_init, means_init and precisions_init in place of what was found."""
    if weights is None and means is None and precisions is None:
        return start
    outer = whitening.outward(start)
    covariances = factors = None
    if precisions is not None:
        if outer.kind in ("full", "tied"):
            covariances = np.linalg.inv(precisions)
        else:
            covariances = 1.0 / np.asarray(precisions)
        factors = outer.factors  # made anew below, from the covariances
    given = MixtureComponents(
        outer.kind,
        outer.weights if weights is None else weights,
        outer.means if means is None else means,
        outer.covariances if covariances is None else covariances,
        outer.factors if factors is None else factors,
    )
    inner = whitening.inward(given)
    return replaced(start, inner.weights, inner.means, inner.covariances, floor)


def checked_init(
    kind: Kind, k: int, d: int, weights: Any, means: Any, precisions: Any
) -> tuple[Floats | None, Floats | None, Floats | None]:
    """What was given as a start, with the shapes and values that it must have."""
    shapes: dict[str, tuple[int, ...]] = {
        "full": (k, d, d),
        "tied": (d, d),
        "diag": (k, d),
        "spherical": (k,),
    }
    found: list[Floats | None] = []
    wanted = (
        ("weights", weights, (k,)),
        ("means", means, (k, d)),
        ("precisions", precisions, shapes[kind]),
    )
    for name, given, shape in wanted:
        values = None if given is None else np.array(given, dtype=np.float64)
        if values is not None and values.shape != shape:
            raise ValueError(
                f"The parameter '{name}' should have the shape of {shape}, but got {values.shape}"
            )
        if values is not None and not np.isfinite(values).all():
            raise ValueError(f"{name}_init holds NaN or infinity")
        found.append(values)
    w, _, P = found
    if w is not None:
        if (w < 0.0).any() or (w > 1.0).any():
            raise ValueError("The parameter 'weights' should be in the range [0, 1]")
        if not np.isclose(w.sum(), 1.0, atol=1e-6):
            raise ValueError(
                "The parameter 'weights' should be normalized, but got sum(weights) = "
                f"{w.sum():.5f}"
            )
        found[0] = w / w.sum()
    if P is not None and kind in ("full", "tied"):
        if not np.allclose(P, np.swapaxes(P, -1, -2)) or not (np.linalg.eigvalsh(P) > 0.0).all():
            raise ValueError(f"'{kind} precision' should be symmetric, positive-definite")
    elif P is not None and not (P > 0.0).all():
        raise ValueError(f"'{kind} precision' should be positive")
    return found[0], found[1], found[2]
