"""The interface of a solver: an immutable set of options, a start, and one step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.solve.needs import Need


@dataclass(frozen=True, slots=True)
class State:
    """Where a solver stands.

    point: of the objective; seen: its evaluation there; decrement: the solver's own estimate of
    value - optimum; stalled: it knows no better step; dual: a dual point, one entry a row, where
    the loss's gradient is a poor one.
    """

    point: Any
    seen: Any
    decrement: float
    stalled: bool = False
    memory: Any = field(default=None, repr=False)
    dual: NDArray[np.float64] | None = field(default=None, repr=False)


class Solver(ABC):
    """An algorithm that makes points; the certificate says when one is good enough.

    needs: what an objective must have, the widest need first; proves: whether `prove` is asked at
    every step, since it costs no pass over the rows; moves: whether columns far from zero may be
    moved before it sees them. Each solver says in its own signatures what
    kind of objective it takes.
    """

    needs: ClassVar[tuple[type[Need], ...]] = ()
    proves: ClassVar[bool] = False
    moves: ClassVar[bool] = True

    def missing(self, problem: Any) -> type[Need] | None:
        """The first need that the problem does not meet."""
        return next((need for need in self.needs if not need.met(problem)), None)

    def refuses(self, problem: Any) -> str | None:
        """Why this solver cannot take the problem, in one sentence; None if it can."""
        need = self.missing(problem)
        if need is None:
            return None
        reason = f"{type(self).__name__} needs {need.words}, not {need.found(problem)}"
        return f"{reason}: {need.hint}" if need.hint else reason

    @abstractmethod
    def init(self, problem: Any, start: Any) -> State: ...

    @abstractmethod
    def step(self, problem: Any, state: State) -> State: ...

    def sharpened(self, goal: float) -> Solver | None:
        """The solver that aims at a smaller relative gap, where its last steps double the number of
        digits; None: it is not as fast as that."""
        return None

    def prove(self, problem: Any, state: State) -> Certificate | None:
        """What the solver can prove from what it holds, without a pass over the rows, or where
        rounding keeps the dual away; None: nothing."""
        return None
