"""k-means bounded by disjoint parts of the rows: for any centres, what the parts cost adds up.

    J(X) = min over c of Σₚ Σ_{i in p} sᵢ d²(xᵢ, c)  ≥  Σₚ J(Xₚ)

Each J(Xₚ) is bounded by the semidefinite relaxation of that part. The parts lose about a share k/m
of J, m the rows of each, and least where each is like the whole: the rows are cut into m cells of
neighbours, in their own clusters, by the principal direction of each piece in turn, and every part
has one row of each cell. Nothing is drawn, and the bound holds without exception.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.partition.closed_form import start_of
from fenchel.convex.partition.relaxation import PartitionRelaxation
from fenchel.data.parallel import map_ordered, one_blas_thread, thread_count
from fenchel.geometry.distance import SHARE, bound_factor, squared_distances
from fenchel.solve.minimise import minimise
from fenchel.solve.semidefinite.alternating_directions import AlternatingDirections, Splitting

Floats = NDArray[np.float64]
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class RelaxationEffort:
    """steps: of the alternating directions; gap: of the relaxation, at which they stop before;
    gain: share of the value by which five steps are to raise the bound."""

    steps: int = 100
    gap: float = 2e-3
    gain: float = 1e-3


@dataclass(frozen=True, slots=True, eq=False)
class LabelledRows:
    """Rows of positive weight in float64, in memory, in units in which squares are safe."""

    X: Floats
    weight: Floats | None
    labels: NDArray[np.integer]

    def __len__(self) -> int:
        return len(self.X)

    def at(self, rows: NDArray[np.integer]) -> LabelledRows:
        weight = None if self.weight is None else self.weight[rows]
        return LabelledRows(self.X[rows], weight, self.labels[rows])


def relaxation_bound(rows: LabelledRows, k: int, effort: RelaxationEffort) -> float:
    """At most J of these rows, whatever the solver did."""
    if len(rows) <= k:
        return 0.0
    d = rows.X.shape[1]
    error = max(bound_factor(d, np.float64) / SHARE, (d + 4.0) * EPS)
    squares = squared_distances(rows.X, rows.X)
    problem = PartitionRelaxation.of_distances(squares, rows.weight, k, error)
    if k == 1:
        return problem.bound(np.zeros_like(squares))
    start = start_of(problem, rows.labels)
    solver = AlternatingDirections(gain=effort.gain)
    found = minimise(
        problem, solver, tol=effort.gap, max_steps=effort.steps, start=start, proof=False
    )
    memory: Splitting = found.state.memory
    return memory.best


def parts_of(rows: LabelledRows, size: int) -> list[NDArray[np.intp]]:
    """Numbers of the rows of each part, of at most `size` rows."""
    count = -(-len(rows) // size)
    if count == 1:
        return [np.arange(len(rows))]
    line = np.concatenate(
        [
            cells
            for label in np.unique(rows.labels)
            for cells in _cells(rows.X, np.flatnonzero(rows.labels == label), count)
        ]
    )
    return [line[first::count] for first in range(count)]


def _cells(X: Floats, rows: NDArray[np.intp], count: int) -> list[NDArray[np.intp]]:
    """Cells of neighbours, each of `count` rows but for the last: halves along the principal
    direction, as often as it takes."""
    if len(rows) <= count:
        return [rows]
    part = X[rows]
    part = part - part.mean(axis=0)
    order = rows[np.argsort(part @ _direction(part), kind="stable")]
    half = (-(-len(rows) // count) + 1) // 2 * count
    half = half if half < len(rows) else count
    return _cells(X, order[:half], count) + _cells(X, order[half:], count)


def _direction(part: Floats, steps: int = 4) -> Floats:
    """About the principal direction of centred rows, by the power method."""
    v = part[int((part * part).sum(axis=1).argmax())].copy()
    for _ in range(steps):
        size = float(np.linalg.norm(v))
        if not size > 0.0:
            break
        v = part.T @ (part @ (v / size))
    return v


def parts_bound(
    rows: LabelledRows, k: int, size: int, effort: RelaxationEffort
) -> tuple[float, int]:
    """At most J of the rows, and how many parts proved it."""
    parts = parts_of(rows, size)
    with one_blas_thread():
        values = list(
            map_ordered(
                lambda part: relaxation_bound(rows.at(part), k, effort), parts, thread_count()
            )
        )
    return float(sum(values)) * (1.0 - len(parts) * EPS), len(parts)
