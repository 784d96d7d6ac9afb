"""Where EM begins: rows sorted and merged, and the mixture of their labels or shares.

Equal rows are merged with their weights and put in order, so that repeated rows and integer
weights begin alike, whatever the order of the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import to_numpy
from fenchel.data.blocks import Blocks
from fenchel.data.parallel import one_blas_thread, parallel_map
from fenchel.solve.mixture.components import (
    ComponentSums,
    Kind,
    MixtureComponents,
    assigned,
    made,
    maximised,
    sums_about,
)
from fenchel.solve.mixture.whitening import Whitening, dense

Floats = NDArray[np.float64]
# Rows that a start looks at: of 20 components each has 3000, which places means to 0.02 deviations;
# fewer of wide ones, since they are sorted.
START_ROWS, START_VALUES = 2**16, 2**22
PART = 2**12  # rows that one thread takes at once


@dataclass(frozen=True, slots=True, eq=False)
class StartRows:
    """Distinct rows in order and their weights: whitened (z), in one unit for all columns, and with
    standardised columns."""

    z: Floats
    common: Floats
    standard: Floats
    weight: Floats


def start_rows(blocks: Blocks, whitening: Whitening) -> StartRows:
    """Rows of positive weight: all of a small table, evenly spaced ones of a large one."""
    most = min(START_ROWS, max(START_VALUES // blocks.n_cols, 2**12))
    some = blocks if blocks.local and blocks.n_rows <= most else blocks.sample(most)
    block = some.gather()
    X = dense(block.X)
    s = np.ones(len(X)) if block.weight is None else np.asarray(to_numpy(block.weight), np.float64)
    X, s = X[s > 0.0], s[s > 0.0]
    # Merged as they are given, since rounding may depend on the place in a block.
    distinct, weight = _merged(X, s)
    z = whitening.rows(distinct)
    # Differences from the least values, and powers of two: seeds are drawn by the bits of a row,
    # and these do not change with the rounding of a mean.
    with np.errstate(under="ignore"):
        above = np.asarray(distinct, np.float64) - distinct.min(axis=0)
        common = np.ldexp(above, -int(whitening.exponents.max()))
        if whitening.single:
            return StartRows(z, common, common, weight)
        V = whitening.scaled(distinct)
        V -= (weight @ V) / weight.sum()
        sizes = np.sqrt((weight @ V**2) / weight.sum())
        units = np.round(np.log2(np.where(sizes > 0.0, sizes, 1.0))).astype(np.int64)
        return StartRows(z, common, np.ldexp(above, -units - whitening.exponents), weight)


def _merged(X: NDArray[Any], s: Floats) -> tuple[NDArray[Any], Floats]:
    """Distinct rows in lexicographic order, and the weight of each."""
    order = np.argsort(X[:, 0])
    if (np.diff(X[order, 0]) > 0.0).all():  # in a twentieth of the time of a sort of whole rows
        return X[order], s[order]
    distinct, codes = np.unique(X, axis=0, return_inverse=True)
    return distinct, np.bincount(codes.ravel(), s, minlength=len(distinct)).astype(np.float64)


def of_responsibilities(
    kind: Kind, rows: Floats, weight: Floats, R: Floats, floor: float
) -> MixtureComponents:
    """The M-step of given responsibilities (n, k)."""
    R = R * weight[:, None]
    counts = R.sum(axis=0)
    means = (R.T @ rows) / np.where(counts > 0.0, counts, 1.0)[:, None]
    sums = sums_about(kind, means, rows, R)
    return maximised(sums, unit_components(kind, means), floor)[0]


def unit_components(kind: Kind, means: Floats) -> MixtureComponents:
    """Equal shares and covariances of one."""
    k, d = means.shape
    shape: Any = {"full": (k, 1, 1), "tied": (1, 1), "diag": (k, d), "spherical": (k,)}[kind]
    one = np.ones(shape) * np.eye(d) if kind in ("full", "tied") else np.ones(shape)
    return MixtureComponents(kind, np.full(k, 1.0 / k), means, one, one)


def of_labels(
    kind: Kind, rows: Floats, weight: Floats, labels: NDArray[Any], k: int, floor: float
) -> MixtureComponents:
    """The mixture of a clustering: shares, means and covariances of its clusters."""
    order = np.argsort(labels, kind="stable")
    ends = np.cumsum(np.bincount(labels, minlength=k))
    means, found = np.zeros((k, rows.shape[1])), []
    for c, end in enumerate(ends):  # the rows of each cluster alone: O(n d²)
        own = order[ends[c - 1] if c else 0 : end]
        s, Z = weight[own], rows[own]
        total = float(s.sum())
        means[c] = (s @ Z) / (total if total > 0.0 else 1.0)
        found.append(sums_about(kind, means[c : c + 1], Z, s[:, None]))
    second = np.stack([one.second for one in found])
    sums = ComponentSums(
        np.concatenate([one.counts for one in found]),
        np.concatenate([one.first for one in found]),
        second.sum(axis=0) if kind == "tied" else second[:, 0],
    )
    return maximised(sums, unit_components(kind, means), floor)[0]


def log_likelihood(found: MixtureComponents, rows: StartRows) -> float:
    """Σ s log p(z), by all threads in parts of a fixed size."""
    n = len(rows.z)
    spans = [slice(lo, min(lo + PART, n)) for lo in range(0, n, PART)]

    def part(span: slice) -> float:
        return float(rows.weight[span] @ assigned(found.joint_logs(rows.z[span]))[0])

    with one_blas_thread():
        return float(sum(parallel_map(part, spans)))


def doubled(found: MixtureComponents, k: int) -> MixtureComponents:
    """k components of the same density, where there are fewer: some stand twice, with half the
    weight each."""
    own = len(found.weights)
    which = np.arange(k) % own
    weights = (found.weights / np.bincount(which, minlength=own))[which]
    if found.kind == "tied":
        return MixtureComponents(
            "tied", weights, found.means[which], found.covariances, found.factors
        )
    rest = found.covariances[which], found.factors[which]
    return MixtureComponents(found.kind, weights, found.means[which], *rest)


def replaced(
    found: MixtureComponents,
    weights: Floats | None,
    means: Floats | None,
    covariances: Floats | None,
    floor: float,
) -> MixtureComponents:
    """The start with what was given in place of what was found."""
    return made(
        found.kind,
        found.weights if weights is None else weights,
        found.means if means is None else means,
        found.covariances if covariances is None else covariances,
        floor,
    )[0]
