"""What every search of neighbours answers: the k nearest points, or all within a radius."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fenchel.data.arrays import Array

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Within(NamedTuple):
    """The points within a radius of each row, in the order of their numbers.

    Those of row i: numbers[starts[i] : starts[i + 1]], and their distances.
    """

    starts: Integers
    numbers: Integers
    distances: Floats


class UndefinedDistance(ValueError):
    """A row and a point between which a metric has no distance."""

    def __init__(self, metric: str, value: float, row: int, point: int) -> None:
        self.metric, self.value, self.row, self.point = metric, value, row, point
        what = "NaN" if math.isnan(value) else f"{value:.6g}, which is negative,"
        super().__init__(
            f"the metric {metric} is {what} between row {row} and point {point}: take another "
            "metric, or leave such rows out"
        )

    def __reduce__(self) -> Any:  # so that it comes back from other processes
        return type(self), (self.metric, self.value, self.row, self.point)


@contextmanager
def rows_from(start: int, numbers: Integers | None = None) -> Iterator[None]:
    """Rows asked inside are a part, from the row `start` of a table on, or of the rows `numbers` of
    it: an error names the row of the table."""
    try:
        yield
    except UndefinedDistance as error:
        row = start + error.row if numbers is None else int(numbers[start + error.row])
        raise UndefinedDistance(error.metric, error.value, row, error.point) from None


class NeighbourSearch(ABC):
    """Points that are searched; answers do not depend on how, nor on threads."""

    @property
    @abstractmethod
    def n_points(self) -> int:
        """The number of points."""

    @abstractmethod
    def nearest(self, Q: Array, k: int) -> tuple[Integers, Floats]:
        """The k nearest points of each row: numbers (n, k) and distances (n, k), nearest first,
        ties to the lower number."""

    @abstractmethod
    def within(self, Q: Array, radius: float) -> Within:
        """All points at a distance of at most `radius` from each row."""


def joined_parts(parts: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """The answers about several parts of the rows as one; no copy is made of a single part's."""
    if len(parts) == 1:
        return parts[0]
    return tuple(np.concatenate(side) for side in zip(*parts, strict=True))


def without_own(
    numbers: Integers, distances: Floats, own: Integers, kept: NDArray[np.bool_] | None = None
) -> tuple[Integers, Floats]:
    """k - 1 nearest points that are not the row's own: its own is left out where it is among the k
    nearest, and the last where more points than that are as near, or where the own is `kept`."""
    others = numbers != own[:, None]
    if kept is not None:
        others[kept] = True
    others[others.all(axis=1), -1] = False
    shape = len(numbers), numbers.shape[1] - 1
    return numbers[others].reshape(shape), distances[others].reshape(shape)


def without_own_within(found: Within, own: Integers) -> Within:
    """The points within a radius, without the row's own."""
    rows = np.repeat(np.arange(len(own)), np.diff(found.starts))
    others = found.numbers != own[rows]
    counts = np.bincount(rows[others], minlength=len(own))
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Within(starts, found.numbers[others], found.distances[others])
