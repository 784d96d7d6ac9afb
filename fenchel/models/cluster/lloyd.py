"""Lloyd's algorithm: every centre to the mean of its rows, until no row changes its centre.

    J(c) = Σᵢ sᵢ minⱼ ‖xᵢ - cⱼ‖²

falls at each step, or stays. A centre without rows may go to the row that costs most in the cluster
of highest energy: the rows choose anew, and none pays more, so J does not rise.

Reference: Lloyd, Least squares quantization in PCM, IEEE Trans. Inf. Theory 28 (1982).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.convex.objective import Objective
from fenchel.models.cluster.rows import Assigned, ClusterRows
from fenchel.solve.minimise import Solution, minimise
from fenchel.solve.needs import Need, ObjectiveNeed
from fenchel.solve.solver import Solver, State

Floats = NDArray[np.float64]
Centres = NDArray[Any]


class Assigning(Protocol):
    """J at centres, and the means of what is nearest to each (an empty one's is where it was).

    left: J less what it is at the means, Σ mₖ‖cₖ - meanₖ‖²; empty: the centres to which nothing is
    nearest; settled: nothing has another centre than at the evaluation before.
    """

    @property
    def value(self) -> float: ...
    @property
    def means(self) -> Centres: ...
    @property
    def left(self) -> float: ...
    @property
    def empty(self) -> NDArray[np.bool_]: ...
    @property
    def settled(self) -> bool: ...


class Distortion(Objective[Centres]):
    """J(c) = ∫ min‖x - cⱼ‖² over some mass: rows with their weights, or a density."""

    @abstractmethod
    def evaluate(self, point: Centres, *, exact: bool = False) -> Assigning: ...

    @abstractmethod
    def costly(self, seen: Any, point: Centres, count: int) -> list[NDArray[Any]]:
        """Up to `count` places for empty centres to go to, where `seen` was evaluated: never such
        that they would be empty again."""

    @abstractmethod
    def keep(self, kept: NDArray[np.bool_]) -> None:
        """Centres to which nothing is nearest are gone."""


@dataclass(frozen=True, slots=True)
class Assignment:
    """J at centres, the rows of each, and their means: see `Assigning`."""

    value: float
    assigned: Assigned
    means: Centres
    left: float

    @property
    def empty(self) -> NDArray[np.bool_]:
        return self.assigned.counts == 0

    @property
    def settled(self) -> bool:
        return self.assigned.settled


@dataclass(frozen=True, eq=False)
class SquaredDistances(Distortion):
    """J(c) = Σ sᵢ minⱼ ‖xᵢ - cⱼ‖² over k centres, in the precision of the rows."""

    rows: ClusterRows
    first: Centres

    def origin(self) -> Centres:
        return self.first

    def evaluate(self, point: Centres, *, exact: bool = False) -> Assignment:
        here = self.rows.assign(point)
        some = here.counts > 0
        means = point.copy()
        path = here.sums[some] / here.mass[some, None]
        means[some] = (self.rows.middle + path).astype(point.dtype)
        off = point[some].astype(np.float64) - self.rows.middle - path
        left = float((here.mass[some, None] * off * off).sum())
        return Assignment(here.value, here, means, min(left, here.value))

    def costly(self, seen: Any, point: Centres, count: int) -> list[NDArray[Any]]:
        return self.rows.costly(point, count)

    def keep(self, kept: NDArray[np.bool_]) -> None:
        self.rows.keep(kept)

    def certify(
        self, point: Centres, seen: Any = None, dual: Any = None, enough: float = 1e-9
    ) -> Certificate:
        """J is not negative: what a bound can say of the rows, it says of any centres
        (`fenchel.convex.partition.spectral_bounds`)."""
        value = float(self.rows.labelled(point)[1].sum())
        return Certificate(value, 0.0, "spectral")


class SquaredDistancesToCentres(ObjectiveNeed):
    words = "squared distances to centres"

    @classmethod
    def met(cls, objective: Any) -> bool:
        return isinstance(objective, Distortion)


@dataclass(frozen=True, slots=True)
class Progress:
    """What Lloyd's algorithm remembers: how often an empty centre was moved, and whether the last
    step changed no label."""

    reseeds: int
    settled: bool


@dataclass(frozen=True)
class Lloyd(Solver):
    """Every centre to the mean of its rows; stops where no label changes, or where the squared
    moves of all centres sum to at most `shift`.

    teleport: an empty centre goes to the row that costs most in the cluster of highest energy; else
    it is dropped.
    """

    shift: float = 0.0
    teleport: bool = True
    needs: ClassVar[tuple[type[Need], ...]] = (SquaredDistancesToCentres,)

    def init(self, problem: Distortion, start: Any) -> State:
        return self._at(problem, problem.origin() if start is None else start, None, 0)

    def step(self, problem: Distortion, state: State) -> State:
        seen: Assigning = state.seen
        means, reseeds, empty = seen.means, state.memory.reseeds, seen.empty
        if empty.any() and self.teleport:
            # From the centres of the labels: their means come after.
            rows = problem.costly(seen, state.point, int(empty.sum()))
            places = np.flatnonzero(empty)[: len(rows)]
            means[places] = np.array(rows, dtype=means.dtype).reshape(len(places), -1)
            return self._at(problem, means, state.point, reseeds + len(places))
        if empty.any():
            problem.keep(~empty)
            return self._at(problem, means[~empty], state.point[~empty], reseeds)
        return self._at(problem, means, state.point, reseeds)

    def _at(
        self, problem: Distortion, centres: Centres, before: Centres | None, reseeds: int
    ) -> State:
        seen = problem.evaluate(centres)
        settled, near = False, False
        # A centre without rows has somewhere to go, as long as the rows cost anything.
        idle = bool(seen.empty.any()) and seen.value > 0.0
        if before is not None and not idle:
            settled = seen.settled
            path = centres.astype(np.float64) - before.astype(np.float64)
            near = self.shift > 0.0 and float((path * path).sum()) <= self.shift
        left = seen.value if idle else seen.left
        still = settled or near or left <= 0.0
        return State(centres, seen, left, stalled=still, memory=Progress(reseeds, settled))


@dataclass(frozen=True, slots=True)
class BestRun:
    """The run that ends at the least J: its last centres, each row's label and each cluster's
    energy there, and what every start came to."""

    solution: Solution[Centres]
    labels: NDArray[np.int32]
    energy: Floats
    values: tuple[float, ...]

    @property
    def value(self) -> float:
        return float(self.energy.sum())


def best_run(
    rows: ClusterRows,
    starts: Iterable[Centres],
    solver: Lloyd,
    max_steps: int,
    callback: Callable[[int, Centres, Certificate], bool | None] | None = None,
) -> BestRun:
    """Lloyd's algorithm from each start; of equal ends the first."""
    best, values = None, []
    for first in starts:
        rows.begin()
        problem = SquaredDistances(rows, first)
        solution = minimise(
            problem, solver, tol=0.0, max_steps=max_steps, callback=callback, proof=False
        )
        labels, energy = rows.labelled(solution.point)
        values.append(float(energy.sum()))
        if best is None or values[-1] < best.value:
            best = BestRun(solution, labels, energy, ())
    assert best is not None, "no start"
    return BestRun(best.solution, best.labels, best.energy, tuple(values))
