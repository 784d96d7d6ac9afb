"""Rows and their nearest centres, wherever the rows lie: held in memory, or passed over in blocks.

Either way labels are those of a search among all float64 distances of `fenchel.geometry.distance`,
ties to the lower number.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from fenchel.data.arrays import is_sparse, to_float64, to_numpy
from fenchel.data.blocks import Block, Blocks, Totals
from fenchel.data.in_memory import ArrayBlocks
from fenchel.geometry.distance import squared_distances
from fenchel.geometry.lloyd.hamerly import BoundedRows
from fenchel.geometry.lloyd.on_device import DeviceRows, half_product
from fenchel.geometry.tiles import Nearest, PairFold
from fenchel.models.estimator import as_numpy

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Assigned:
    """The rows of each centre: Σ sᵢ (xᵢ - middle), Σ sᵢ and their number, of rows with sᵢ > 0.

    value: J = Σ sᵢ minⱼ d²(xᵢ, cⱼ), to rounding of the total scatter; settled: no label differs
    from those at the centres before.
    """

    sums: Floats
    mass: Floats
    counts: NDArray[np.int64]
    value: float
    settled: bool


class ClusterRows(ABC):
    """Rows to be clustered.

    middle: about their mean, in their precision; total: Σ sᵢ ‖xᵢ - middle‖²; mass: Σ sᵢ.
    """

    blocks: Blocks
    middle: Floats
    total: float
    mass: float

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.blocks.dtype

    @property
    def variance(self) -> float:
        """The mean over the columns of their variances."""
        return self.total / self.mass / self.blocks.n_cols

    @abstractmethod
    def begin(self) -> None:
        """The centres to come are those of another start."""

    @abstractmethod
    def assign(self, C: NDArray[Any]) -> Assigned: ...

    @abstractmethod
    def costly(self, C: NDArray[Any], count: int) -> list[NDArray[Any]]:
        """Up to `count` rows for empty centres to go to: each the row that costs most, sᵢ d², in
        the cluster of highest energy, beside the centres C and those rows before it. Fewer where
        no row costs anything."""

    @abstractmethod
    def labelled(self, C: NDArray[Any]) -> tuple[NDArray[np.int32], Floats]:
        """Each row's nearest centre, and the energy Σ sᵢ d² of each cluster."""

    @abstractmethod
    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Centres without rows are gone."""


class RowsInMemory(ClusterRows):
    """A table in memory, in C order: bounds tell of most rows that their centre is the same."""

    def __init__(self, blocks: ArrayBlocks) -> None:
        X, weight = blocks.whole.X, blocks.whole.weight
        self.blocks = blocks
        self.weight = None if weight is None else np.asarray(to_numpy(weight), np.float64)
        self.mass = float(len(X)) if self.weight is None else float(self.weight.sum())
        self.middle = _middle(blocks, self.mass)
        self.bounded = BoundedRows(X, self.weight, self.middle)
        self.total = self.bounded.total()

    def begin(self) -> None:
        self.bounded.forget()

    def assign(self, C: NDArray[Any]) -> Assigned:
        seen = self.bounded.assign(C)
        sums = self.bounded.sums(fresh=seen.changed == 0)
        # Copies: the next centres change what these arrays hold.
        moments, mass, counts = sums.sums.copy(), sums.mass.copy(), sums.counts.copy()
        value = _objective(self.total, self.middle, C, moments, mass)
        return Assigned(moments, mass, counts, value, seen.changed == 0)

    def costly(self, C: NDArray[Any], count: int) -> list[NDArray[Any]]:
        cost, labels = self.bounded.distances(C), self.bounded.labels.copy()
        found: list[NDArray[Any]] = []
        for _ in range(count):
            s = cost if self.weight is None else cost * self.weight
            energy = np.bincount(labels, s, minlength=len(C) + count)
            if not energy.max() > 0.0:
                break
            inside = np.where(labels == int(energy.argmax()), s, -1.0)
            row = self.bounded.X[int(inside.argmax())]
            found.append(row.copy())
            new = squared_distances(self.bounded.X, row[None, :])[:, 0]
            labels[new < cost] = len(C) + len(found) - 1
            np.minimum(cost, new, out=cost)
        return found

    def labelled(self, C: NDArray[Any]) -> tuple[NDArray[np.int32], Floats]:
        self.bounded.assign(C)
        labels = self.bounded.labels.copy()
        cost = self.bounded.distances(C)
        s = cost if self.weight is None else cost * self.weight
        return labels, summed(labels, s, len(C))

    def keep(self, kept: NDArray[np.bool_]) -> None:
        self.bounded.keep(kept)


class PassedRows(ClusterRows):
    """Rows that come block by block: from a file, a cluster, a device, or a sparse table."""

    def __init__(self, blocks: Blocks) -> None:
        self.blocks = blocks
        self.mass = float(blocks.reduce(_mass)[0])
        self.middle = _middle(blocks, self.mass)
        middle = self.middle
        self.total = float(
            blocks.reduce(lambda block: Totals(_weigh(block, _squares(block, middle)).sum()))[0]
        )
        self._last: Floats | None = None

    def begin(self) -> None:
        self._last = None

    def assign(self, C: NDArray[Any]) -> Assigned:
        sums, mass, counts, value = self.blocks.reduce(LloydSums(C, self.middle))
        same = self._last is not None and np.array_equal(self._last, sums)
        self._last = sums
        return Assigned(sums, mass, counts, float(value), same)

    def costly(self, C: NDArray[Any], count: int) -> list[NDArray[Any]]:
        found: list[NDArray[Any]] = []
        for _ in range(count):
            here = np.concatenate([C, *(row[None, :] for row in found)])
            most = self.blocks.reduce(CostliestRows(here))
            if not most.energy.max() > 0.0:
                break
            found.append(most.rows[int(most.energy.argmax())])
        return found

    def keep(self, kept: NDArray[np.bool_]) -> None:
        self._last = None

    def labelled(self, C: NDArray[Any]) -> tuple[NDArray[np.int32], Floats]:
        def stat(block: Block) -> Totals:
            labels, squares = nearest_centres(block.X, C)
            energy = np.bincount(labels, _weigh(block, squares), minlength=len(C))
            return Totals((labels,), energy)

        labels, energy = self.blocks.reduce(stat)
        return np.concatenate(labels), energy


class RowsOnDevice(PassedRows):
    """A table on an accelerator: rows, labels and sums stay there."""

    def __init__(self, blocks: ArrayBlocks) -> None:
        self.whole = whole = blocks.whole
        self.blocks = blocks
        self.device = DeviceRows(whole.X, whole.weight, half_product(whole.X))
        self.mass, self.middle = self.device.mass, self.device.middle
        self.total = self.device.total

    def begin(self) -> None:
        self.device.forget()

    def assign(self, C: NDArray[Any]) -> Assigned:
        sums, mass, counts, settled = self.device.assign(C)
        value = _objective(self.total, self.middle, C, sums, mass)
        return Assigned(sums, mass, counts, value, settled)

    def keep(self, kept: NDArray[np.bool_]) -> None:
        self.device.forget()

    def labelled(self, C: NDArray[Any]) -> tuple[NDArray[np.int32], Floats]:
        self.device.assign(C)
        labels = to_numpy(self.device.labels).astype(np.int32)
        squares = to_numpy(self.device.squares(C))
        return labels, summed(labels, _weigh(self.whole, squares), len(C))


@dataclass(frozen=True)
class LloydSums:
    """Sums of the rows of each centre, and J: a statistic."""

    C: NDArray[Any]
    middle: Floats

    def __call__(self, block: Block) -> Totals:
        labels, squares = nearest_centres(block.X, self.C)
        k, n = len(self.C), len(labels)
        s = np.ones(n) if block.weight is None else np.asarray(to_numpy(block.weight), np.float64)
        mass = np.bincount(labels, s, minlength=k)
        counts = np.bincount(labels, s > 0.0, minlength=k).astype(np.int64)
        member = csr_array((s, labels, np.arange(n + 1)), shape=(n, k)).T
        if is_sparse(block.X):
            sums = (member @ to_float64(block.X)).toarray() - mass[:, None] * self.middle
        else:
            sums = member @ (to_numpy(block.X) - self.middle)
        return Totals(np.asarray(sums), mass, counts, float((s * squares).sum()))


@dataclass(frozen=True)
class Costliest:
    """The energy of each cluster, and of each the row that costs most."""

    energy: Floats
    cost: Floats
    rows: NDArray[Any]

    def __add__(self, other: Costliest) -> Costliest:
        more = other.cost > self.cost
        rows = np.where(more[:, None], other.rows, self.rows)
        return Costliest(self.energy + other.energy, np.maximum(self.cost, other.cost), rows)


@dataclass(frozen=True)
class CostliestRows:
    """`Costliest` of the rows at centres: a statistic."""

    C: NDArray[Any]

    def __call__(self, block: Block) -> Costliest:
        labels, squares = nearest_centres(block.X, self.C)
        s, k = _weigh(block, squares), len(self.C)
        cost, rows = np.full(k, -1.0), np.zeros_like(self.C)
        np.maximum.at(cost, labels, s)
        most = np.flatnonzero(s == cost[labels])  # of equal ones the first row
        for j, at in zip(*np.unique(labels[most], return_index=True), strict=True):
            rows[j] = row_of(block.X, int(most[at]))
        return Costliest(summed(labels, s, k), cost, rows)


def nearest_centres(X: Any, C: NDArray[Any]) -> tuple[NDArray[np.int32], Floats]:
    """The nearest centre of each row, and their squared distance."""
    rows = X if is_sparse(X) else as_numpy(X)
    numbers, squares = PairFold.of(C, Nearest(), rows.dtype, None)(rows)
    return numbers[:, 0].astype(np.int32), squares[:, 0]


def row_of(X: Any, i: int) -> NDArray[Any]:
    """Row i, dense."""
    return X[[i]].toarray()[0] if is_sparse(X) else as_numpy(X[i])


def cluster_rows(blocks: Blocks) -> ClusterRows:
    """Rows to be clustered, by their home."""
    if isinstance(blocks, ArrayBlocks) and isinstance(blocks.whole.X, np.ndarray):
        return RowsInMemory(blocks)
    if isinstance(blocks, ArrayBlocks) and is_on_device(blocks):
        return RowsOnDevice(blocks)
    return PassedRows(blocks)


def is_on_device(blocks: ArrayBlocks) -> bool:
    """Whether a table lies on an accelerator."""
    return blocks.on_device and blocks.whole.X.device.type != "cpu"


def summed(labels: NDArray[np.int32], values: Floats, k: int) -> Floats:
    """The sum of the values at each of k labels."""
    return np.asarray(np.bincount(labels, values, minlength=k), np.float64)


def _mass(block: Block) -> Totals:
    return Totals(
        float(block.n_rows) if block.weight is None else float(to_numpy(block.weight).sum())
    )


def _middle(blocks: Blocks, mass: float) -> Floats:
    """Σ sᵢ xᵢ / Σ sᵢ in the precision of the rows."""

    def stat(block: Block) -> Totals:
        X = block.X
        if block.weight is not None:
            s = np.asarray(to_numpy(block.weight), np.float64)
            return Totals(s @ (to_float64(X) if is_sparse(X) else to_numpy(X)))
        if is_sparse(X):
            return Totals(np.asarray(X.sum(axis=0, dtype=np.float64)))
        return Totals(as_numpy(X).sum(axis=0, dtype=np.float64))

    mean = np.asarray(blocks.reduce(stat)[0], np.float64) / mass
    return mean.astype(blocks.dtype).astype(np.float64)


def _squares(block: Block, middle: Floats) -> Floats:
    """‖xᵢ - middle‖²."""
    X = block.X
    if is_sparse(X):
        wide = to_float64(X)
        cross = wide @ middle
        own = np.asarray(wide.multiply(wide).sum(axis=1)).ravel()
        return np.maximum(own - 2.0 * cross + middle @ middle, 0.0)
    left = to_numpy(X) - middle
    return np.asarray(np.einsum("ij,ij->i", left, left))


def _weigh(block: Block, values: Floats) -> Floats:
    return (
        values if block.weight is None else values * np.asarray(to_numpy(block.weight), np.float64)
    )


def _objective(total: float, middle: Floats, C: NDArray[Any], sums: Floats, mass: Floats) -> float:
    """J = T + Σₖ mₖ‖cₖ - middle‖² - 2 (cₖ - middle)·Sₖ."""
    path = C.astype(np.float64) - middle
    return max(float(total + (path * (mass[:, None] * path - 2.0 * sums)).sum()), 0.0)
