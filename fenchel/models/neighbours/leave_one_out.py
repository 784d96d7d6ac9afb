"""Leave-one-out errors of nearest neighbours, exact, for every number of neighbours at once.

The neighbours of a row among all others are sorted once; the vote of k + 1 neighbours is that of k
and one more, so that all k up to the largest cost one search and O(n k K).

Left out is one unit of a row's weight, all of it where it has less: a row of weight 2 is two rows,
each of which is left out while the other stays.

The standard error of a mean error ē = Σ sᵢeᵢ / W is √(Σ sᵢ(eᵢ - ē)² / (W(W - 1))), W = Σ sᵢ.

Reference: Stone, Cross-validatory choice and assessment of statistical predictions, JRSS B 36
(1974).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fenchel.geometry.local_average import power_of_two
from fenchel.geometry.search.search import Integers, NeighbourSearch, rows_from, without_own
from fenchel.models.neighbours.votes import (
    Weights,
    class_votes,
    distance_weights,
    refuse_no_votes,
    running_votes,
    taken,
    value_sums,
)

Floats = NDArray[np.float64]
# Neighbours whose votes are held at once: 16 MB in float64.
HELD = 2**21


@dataclass(frozen=True, slots=True)
class MeanErrors:
    """Mean errors of rows left out, one for each setting, and their standard errors, in a unit
    whose square is that of the errors: no choice depends on the scale of the target."""

    mean: Floats
    standard: Floats
    unit: float

    @classmethod
    def of(cls, sums: Floats, squares: Floats, mass: float, unit: float = 1.0) -> MeanErrors:
        """From Σ sᵢeᵢ, Σ sᵢeᵢ² and Σ sᵢ."""
        mean = sums / mass
        variance = np.maximum(squares / mass - mean * mean, 0.0)
        return cls(mean, np.sqrt(variance / max(mass - 1.0, 1.0)), unit)

    @property
    def best(self) -> int:
        """The first setting with the least error."""
        return int(np.argmin(self.mean))

    def values(self) -> tuple[Floats, Floats]:
        """Mean errors and standard errors in units of the target."""
        with np.errstate(over="ignore", under="ignore"):
            return self.mean * self.unit * self.unit, self.standard * self.unit * self.unit


class NeighbourErrors(Protocol):
    """Errors of predictions by neighbours, for the first 1, 2, … of them."""

    @property
    def unit(self) -> float:
        """Errors are in units of its square."""

    def running(self, rows: slice, votes: Floats, numbers: Integers) -> Iterator[Floats]:
        """The error of each row by the first 1, 2, … neighbours."""

    def by_all(self, rows: slice, votes: Floats, numbers: Integers) -> Floats:
        """The error of each row by all these neighbours."""


@dataclass(frozen=True, slots=True)
class Misclassified:
    """1 where the class with most votes, of equal ones the first, is not that of the row."""

    codes: Integers
    classes: int
    unit: float = 1.0

    def running(self, rows: slice, votes: Floats, numbers: Integers) -> Iterator[Floats]:
        own, codes = self.codes[rows], self.codes[numbers]
        for each in running_votes(votes, codes, self.classes):
            yield 1.0 * (each.argmax(axis=1) != own)

    def by_all(self, rows: slice, votes: Floats, numbers: Integers) -> Floats:
        each = class_votes(votes, self.codes[numbers], self.classes)
        refuse_no_votes(each.sum(axis=1), rows.start)
        return 1.0 * (each.argmax(axis=1) != self.codes[rows])


@dataclass(frozen=True, slots=True)
class SquaredError:
    """The squared error of the mean of the neighbours' values, averaged over the targets."""

    values: Floats  # (n, K), over the unit
    unit: float = 1.0

    @classmethod
    def of(cls, values: Floats) -> SquaredError:
        unit = power_of_two(float(np.abs(values).max(initial=0.0)))
        return cls(values / unit, unit)

    def running(self, rows: slice, votes: Floats, numbers: Integers) -> Iterator[Floats]:
        own = self.values[rows]
        total, sums = np.zeros(len(votes)), np.zeros(own.shape)
        for j in range(votes.shape[1]):
            total += votes[:, j]
            sums += votes[:, j, None] * self.values[numbers[:, j]]
            yield ((sums / total[:, None] - own) ** 2).mean(axis=1)

    def by_all(self, rows: slice, votes: Floats, numbers: Integers) -> Floats:
        total, sums = value_sums(votes, self.values[numbers])
        refuse_no_votes(total, rows.start)
        return np.asarray(((sums / total[:, None] - self.values[rows]) ** 2).mean(axis=1))


@dataclass(frozen=True, slots=True)
class NeighboursLeftOut:
    """Training rows as questions to the others.

    search: of the training rows with weight; rows: the questions; own: the number of each among the
    points that are searched, -1 where it is none of them; weight: of those points, None where all
    count once.
    """

    search: NeighbourSearch
    rows: Any
    own: Integers
    weight: Floats | None

    def errors(self, judge: NeighbourErrors, weights: Weights, most: int) -> MeanErrors:
        """The mean error for k = 1 … most, each row's error with its weight."""
        n = self.search.n_points
        total = float(n) if self.weight is None else float(self.weight.sum())
        if not 1 <= most <= total - 1.0:
            raise ValueError(
                f"Expected n_neighbors < n_samples_fit, but n_neighbors = {most}, n_samples_fit = "
                f"{total:g}, n_samples = {n}: leaving one out leaves {total - 1.0:g} neighbours; "
                "lower n_neighbors"
            )
        plain = self.weight is None and not callable(weights)
        fold = self._running if plain else self._anew
        sums = np.zeros((most, 2))
        for rows in self.parts(most):
            sums += fold(judge, weights, most, rows)
        return MeanErrors.of(sums[:, 0], sums[:, 1], total, judge.unit)

    def parts(self, most: int) -> Iterator[slice]:
        """The rows, in parts whose neighbours can be held."""
        n, step = len(self.own), max(1, HELD // (most + 1))
        for lo in range(0, n, step):
            yield slice(lo, min(lo + step, n))

    def neighbours(self, rows: slice, most: int) -> tuple[Integers, Floats, Floats]:
        """Numbers, distances and weights of neighbours that reach `most`, without one unit of the
        own row."""
        with rows_from(rows.start):
            return self._neighbours(rows, most)

    def _neighbours(self, rows: slice, most: int) -> tuple[Integers, Floats, Floats]:
        own, n = self.own[rows], self.search.n_points
        if self.weight is None:
            found = self.search.nearest(self.rows[rows], min(n, most + 1))
            numbers, distances = without_own(*found, own)
            return numbers, distances, np.ones(numbers.shape)
        s = self.weight
        heavy = (own >= 0) & (s[own] > 1.0)
        count = min(n, most + 1 if s.min() >= 1.0 else int(2.0 * most / s.mean()) + 2)
        while True:
            found = self.search.nearest(self.rows[rows], count)
            numbers, distances = (
                found if count == n and heavy.all() else without_own(*found, own, heavy)
            )
            counts = s[numbers] - 1.0 * (numbers == own[:, None])
            if count == n or (counts.sum(axis=1) >= most).all():
                return numbers, distances, counts
            count = min(n, 2 * count)

    def _running(self, judge: NeighbourErrors, weights: Weights, most: int, rows: slice) -> Floats:
        numbers, distances, _ = self.neighbours(rows, most)
        votes = distance_weights(weights, distances)
        return np.array(
            [(error.sum(), error @ error) for error in judge.running(rows, votes, numbers)]
        )

    def _anew(self, judge: NeighbourErrors, weights: Weights, most: int, rows: slice) -> Floats:
        numbers, distances, counts = self.neighbours(rows, most)
        s = np.ones(len(numbers)) if self.weight is None else self.weight[rows]
        errors = np.empty((most, 2))
        for k in range(1, most + 1):
            share = taken(counts, k)
            used = int(np.flatnonzero(share.any(axis=0))[-1]) + 1
            votes = share[:, :used] * distance_weights(weights, distances[:, :used])
            error = judge.by_all(rows, votes, numbers[:, :used])
            errors[k - 1] = s @ error, s @ (error * error)
        return errors
