"""The interface of an objective to `minimise` and its stopping rule."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, Generic, Protocol, TypeVar

from fenchel.convex.certificate import Certificate
from fenchel.convex.certification.dual_point import PointValue

P = TypeVar("P")


class Valued(Protocol):
    """What any evaluation holds; the rest is between the objective and its solvers."""

    @property
    def value(self) -> float: ...


class Objective(ABC, Generic[P]):
    """A function of a point that some certificate bounds, or proves to be stationary.

    A point is any value: coefficients and intercept (w, b), with a scale (w, b, σ), centres of
    clusters, a mixture of distributions, an orthonormal basis.
    """

    @abstractmethod
    def origin(self) -> P:
        """The default starting point."""

    def project(self, point: P) -> P:
        """The nearest point of the domain; the very same object where the point lies inside."""
        return point

    @abstractmethod
    def evaluate(self, point: P, *, exact: bool = False) -> Valued:
        """The value, with what else one pass tells; exact: made in float64."""

    def estimate(self, point: P, seen: Any, decrement: float) -> Certificate:
        """What the evaluation alone tells, without a pass: of kind "estimate", or a proof where it
        is one. `decrement` is the solver's own estimate of value - optimum."""
        return Certificate(seen.value, seen.value - decrement, "estimate")

    @abstractmethod
    def certify(
        self, point: P, seen: Any = None, dual: Any = None, enough: float = 1e-9
    ) -> Certificate:
        """The proof of a point, in float64.

        seen: an evaluation of this point, which may save a pass; dual: a dual point of the solver's
        own; enough: the error beyond which more passes are worth their cost.
        """

    def known_value(self, point: P, enough: float = 1e-9) -> PointValue:
        """The value and a bound of its rounding error; inf, where an objective has no analysis.

        enough: the relative gap that is asked for, a thousandth of which rounding may take.
        """
        return PointValue(self.evaluate(point, exact=True).value, math.inf)

    @property
    def work(self) -> float:
        """Entries that one pass touches; inf where steps beyond the proof are not worth taking."""
        return math.inf

    @property
    def is_local(self) -> bool:
        """Whether passes read the memory of this process."""
        return True
