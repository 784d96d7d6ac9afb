"""What the one loop and its judge ask of anything they minimise."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.convex.penalty import Penalty

if TYPE_CHECKING:
    from fenchel.convex.problem import Evaluation
    from fenchel.data.design import Point


class Objective(ABC):
    """A convex function of (w, b) with a penalty on w, and a dual that bounds it from below."""

    penalty: Penalty
    intercept: bool

    @abstractmethod
    def origin(self) -> Point:
        """w = 0, b = 0."""

    @abstractmethod
    def evaluate(self, point: Point, *, exact: bool = False) -> Evaluation:
        """Value and gradient."""

    @abstractmethod
    def slack(self, point: Point, seen: Any) -> float:
        """The gap as far as the evaluation alone tells it."""

    @abstractmethod
    def certify(
        self,
        point: Point,
        seen: Any = None,
        theta: NDArray[np.float64] | None = None,
        enough: float = 1e-9,
    ) -> Certificate:
        """The duality gap of a point, in float64."""
