"""A density over a convex domain of the plane, and what it weighs in each of some cells."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fenchel.geometry.voronoi.cells import Cells
from fenchel.geometry.voronoi.domain import Domain

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CellMoments:
    """Integrals of a density f over cells Vⱼ, about their centres cⱼ.

    Attributes
    ----------
    cells : Cells
    mass : array (k,)
        mⱼ = ∫ f.
    first : array (k, 2)
        ∫ f (x - cⱼ).
    second : array (k,)
        ∫ f ‖x - cⱼ‖².
    errors : array (k, 3)
        By how much the three may be off, as estimated.
    farthest : array (k, 2)
        Of each cell with mass a place, less its centre, that costs much: where one more centre
        would have mass.
    """

    cells: Cells
    mass: Floats
    first: Floats
    second: Floats
    errors: Floats
    farthest: Floats

    @cached_property
    def paths(self) -> Floats:
        """From each centre to the centroid of its cell; zero without mass."""
        some = self.mass > 0.0
        mass = np.where(some, self.mass, 1.0)[:, None]
        return np.where(some[:, None], self.first / mass, 0.0)

    @property
    def energy(self) -> float:
        """Σ ∫ f ‖x - cⱼ‖²."""
        return float(self.second.sum())

    @property
    def energy_error(self) -> float:
        return float(self.errors[:, 2].sum())

    @property
    def gain(self) -> float:
        """By how much the energy falls if the centres go to the centroids and the cells stay."""
        return float((self.mass * (self.paths**2).sum(axis=1)).sum())

    @property
    def gain_error(self) -> float:
        """The same of paths as long as the error of each."""
        some = self.mass > 0.0
        return float((self.errors[some, 1] ** 2 / self.mass[some]).sum())


class PlaneDensity(ABC):
    """A density on a domain, of finite mass.

    Places are in the domain's units; masses times 2^mass_exponent are in the given ones, energies
    times 2^(mass_exponent + 2 domain.exponent).
    """

    domain: Domain

    @property
    @abstractmethod
    def mass_exponent(self) -> int: ...

    @abstractmethod
    def moments(self, cells: Cells, accuracy: float) -> CellMoments:
        """Integrals over the cells. accuracy: √(gain_error / energy) that is aimed at."""

    def lower_bound(self, count: int) -> float:
        """What so many centres cost at least, in units; -inf where nothing is known of it."""
        return -math.inf

    @abstractmethod
    def draw(self, count: int, rng: np.random.Generator) -> Floats:
        """Places (count, 2) drawn by the density."""
