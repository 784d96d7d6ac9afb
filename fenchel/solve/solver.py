"""A solver is an immutable set of choices: how to start, and how to take one step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

from fenchel.convex.certificate import Certificate
from fenchel.convex.problem import Evaluation, Problem
from fenchel.data.design import Point


@dataclass(frozen=True, slots=True)
class State:
    """Where a solver stands.

    decrement: its own estimate of value - optimum; stuck: it knows no better step.
    """

    point: Point
    seen: Evaluation
    decrement: float
    stuck: bool = False
    memory: Any = field(default=None, repr=False)


class Solver(ABC):
    """Proposes points; the certificate disposes of them."""

    @abstractmethod
    def refuses(self, problem: Problem) -> str | None:
        """Why this solver cannot take the problem, in one sentence; None if it can."""

    @abstractmethod
    def init(self, problem: Problem, start: Point | None) -> State: ...

    @abstractmethod
    def step(self, problem: Problem, state: State) -> State: ...

    def prove(self, problem: Problem, state: State) -> Certificate | None:
        """What the solver can prove by itself where rounding keeps the dual away; None: nothing."""
        return None
