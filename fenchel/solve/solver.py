"""A solver is an immutable set of choices: how to start, and how to take one step."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

from fenchel.convex.certificate import Certificate
from fenchel.convex.penalty import L2
from fenchel.convex.problem import Evaluation, Problem
from fenchel.data.design import MatrixDesign, Point


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


def rough_edges(problem: Problem, solver: str) -> str | None:
    """Why a solver for smooth objectives cannot take the problem."""
    if not isinstance(problem.penalty, L2):
        return f"{solver} needs the L2 penalty or none, not {problem.penalty}"
    if not math.isfinite(problem.loss.smoothness):
        return f"{solver} needs a loss without kinks, not {problem.loss}"
    return None


def no_table(problem: Problem, solver: str) -> str | None:
    """Why a solver that looks at columns cannot take the problem."""
    if not isinstance(problem.design, MatrixDesign):
        return f"{solver} needs the rows of a table, not a kernel"
    return None
