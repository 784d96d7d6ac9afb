"""Expectation-maximisation (EM) of a Gaussian mixture, as an objective of the one loop.

f(θ) = -Σ sᵢ log Σₖ πₖ N(xᵢ; μₖ, Σₖ) / Σ sᵢ,   Σₖ ⪰ floor · S,   S the covariance of the rows

The residual of its certificate is √(2 KL(θ⁺ ‖ θ)), θ⁺ one EM step from θ, and KL the relative
entropy of the joint laws of component and row: 0 exactly at fixed points, the same in all units of
X. One step gains at least KL(θ⁺ ‖ θ) nats a row where the floor holds no component; it is one pass.

Reference: Dempster, Laird and Rubin, Maximum likelihood from incomplete data via the EM algorithm,
J. R. Stat. Soc. B 39 (1977); Neal and Hinton, A view of the EM algorithm (1998).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.convex.objective import Objective
from fenchel.data.arrays import to_numpy
from fenchel.data.blocks import Block, Blocks
from fenchel.solve.mixture.components import (
    ComponentSums,
    Kind,
    MixtureComponents,
    maximised,
    relative_entropy,
)
from fenchel.solve.mixture.expectation import LARGEST_LOSS, EMSums, quadratic_loss
from fenchel.solve.mixture.whitening import ColumnExtent, Whitening
from fenchel.solve.needs import ObjectiveNeed
from fenchel.solve.solver import Solver, State

STILL = 1e-13  # a residual of rounding alone: steps beyond it find nothing


@dataclass(frozen=True, slots=True, eq=False)
class EMStep:
    """The value at a mixture, what EM makes of it, and how far that is.

    held: components whose covariance the floor holds, in `next`.
    """

    value: float
    next: MixtureComponents
    residual: float
    held: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class MixtureLikelihood(Objective[MixtureComponents]):
    """-Σ s log p(x) / Σ s, at a mixture of the whitened rows z.

    radius: the largest |z|; floor: of covariances, as a share of that of the rows.
    """

    blocks: Blocks
    whitening: Whitening
    radius: float
    floor: float
    first: MixtureComponents | None = None

    def origin(self) -> MixtureComponents:
        if self.first is None:
            raise ValueError("a mixture needs a start: pass start=")
        return self.first

    def evaluate(self, point: MixtureComponents, *, exact: bool = False) -> EMStep:
        quick = not exact and quadratic_loss(point, self.radius) <= LARGEST_LOSS
        value, *sums = self.blocks.reduce(EMSums(point, self.whitening, quick))
        found = ComponentSums(*sums)
        if quick and point.kind == "tied":
            found = ComponentSums(found.counts, found.first, found.second + self.whitening.scatter)
        new, held = maximised(found, point, self.floor)
        mean = value / float(found.counts.sum()) + self.whitening.log_determinant
        residual = math.sqrt(2.0 * relative_entropy(new, point))
        return EMStep(-mean, new, residual, held)

    def estimate(self, point: MixtureComponents, seen: EMStep, decrement: float) -> Certificate:
        return Certificate(seen.value, -math.inf, "estimate", residual=seen.residual)

    def certify(
        self, point: MixtureComponents, seen: Any = None, dual: Any = None, enough: float = 1e-9
    ) -> Certificate:
        """The residual of one more step; an evaluation of this very point has it already."""
        step: EMStep = self.evaluate(point) if seen is None else seen
        return Certificate(step.value, -math.inf, "stationary", residual=step.residual)


def likelihood(
    blocks: Blocks,
    kind: Kind,
    floor: float,
    extent: ColumnExtent | None = None,
    *,
    quiet: bool = False,
) -> MixtureLikelihood:
    """The objective of a table: three passes for its units. quiet: without warnings of them."""
    found = blocks.reduce(ColumnExtent.of) if extent is None else extent
    whitening = Whitening.of(blocks, kind, found, quiet=quiet)
    return MixtureLikelihood(blocks, whitening, largest_radius(blocks, whitening), floor)


class Mixtures(ObjectiveNeed):
    """The likelihood of a Gaussian mixture."""

    words = "the likelihood of a mixture"

    @classmethod
    def met(cls, objective: Any) -> bool:
        return isinstance(objective, MixtureLikelihood)


@dataclass(frozen=True, slots=True)
class ExpectationMaximisation(Solver):
    """Each step the maximiser of the expected joint log-likelihood."""

    needs: ClassVar = (Mixtures,)

    def init(self, problem: MixtureLikelihood, start: MixtureComponents | State | None) -> State:
        point = start.point if isinstance(start, State) else start
        return self._at(problem, problem.origin() if point is None else point)

    def step(self, problem: MixtureLikelihood, state: State) -> State:
        return self._at(problem, state.seen.next)

    def _at(self, problem: MixtureLikelihood, point: MixtureComponents) -> State:
        seen = problem.evaluate(point)
        return State(point, seen, 0.5 * seen.residual**2, stalled=seen.residual <= STILL)


def largest_radius(blocks: Blocks, whitening: Whitening) -> float:
    """max |z| over the rows that have weight."""

    def squares(block: Block) -> Largest:
        z = whitening.rows(block.X)
        found = np.einsum("ij,ij->i", z, z)
        if block.weight is not None:
            found = found[np.asarray(to_numpy(block.weight)) > 0.0]
        return Largest(float(found.max(initial=0.0)))

    return math.sqrt(blocks.reduce(squares).value)


@dataclass(frozen=True, slots=True)
class Largest:
    """The largest of some numbers."""

    value: float

    def __add__(self, other: Largest) -> Largest:
        return Largest(max(self.value, other.value))
