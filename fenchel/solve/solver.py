"""A solver is an immutable set of choices: how to start, and how to take one step."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fenchel.convex.certificate import Certificate
from fenchel.convex.loss import Bent, Loss
from fenchel.convex.multiclass import MulticlassHinge
from fenchel.convex.penalty import L2
from fenchel.convex.problem import Evaluation, Problem
from fenchel.data.design import MatrixDesign, Point


@dataclass(frozen=True, slots=True)
class State:
    """Where a solver stands.

    decrement: its own estimate of value - optimum; stuck: it knows no better step; theta: a dual
    point, one entry a row, where the loss's gradient is a poor one.
    """

    point: Point
    seen: Evaluation
    decrement: float
    stuck: bool = False
    memory: Any = field(default=None, repr=False)
    theta: NDArray[np.float64] | None = field(default=None, repr=False)


class Solver(ABC):
    """Proposes points; the certificate disposes of them.

    proves: whether `prove` is asked at every step, since it costs no pass over the rows. Each
    solver says in its own signatures what kind of objective it takes.
    """

    proves: ClassVar[bool] = False

    @abstractmethod
    def refuses(self, problem: Any) -> str | None:
        """Why this solver cannot take the problem, in one sentence; None if it can."""

    @abstractmethod
    def init(self, problem: Any, start: Point | None) -> State: ...

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


def is_kinked(loss: Loss) -> bool:
    """Whether the loss has corners."""
    return isinstance(loss, MulticlassHinge) or (isinstance(loss, Bent) and loss.soft == 0.0)


def rough_edges(problem: Problem, solver: str) -> str | None:
    """Why a solver for smooth objectives cannot take the problem."""
    if not isinstance(problem.penalty, L2):
        return f"{solver} needs the L2 penalty or none, not {problem.penalty}"
    if is_kinked(problem.loss):
        return f"{solver} needs a loss without kinks, not {problem.loss}"
    return None


def no_table(problem: Problem, solver: str) -> str | None:
    """Why a solver that looks at columns cannot take the problem."""
    if not isinstance(problem.design, MatrixDesign):
        return f"{solver} needs the rows of a table, not a kernel"
    return None
