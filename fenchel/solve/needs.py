"""Requirements of solvers on an objective: each a type, with its test and its wording.

A solver lists them, `needs = (RowLosses, ExplicitRows, StraightPieces)`; `Solver.refuses` reads
them for its sentence, and `select` for its choice.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from fenchel.convex.loss.base import Loss, PiecewiseLinear
from fenchel.convex.loss.distance import Square
from fenchel.convex.loss.multiclass import MulticlassHinge, Multinomial
from fenchel.convex.penalty import L1L2, L2, NonNegative, is_nonnegative, is_unpenalised
from fenchel.convex.problem import Problem
from fenchel.convex.ranking.objective import Ranking
from fenchel.data.design.kernel import KernelExpansion
from fenchel.data.design.matrix import MatrixDesign


class Need(ABC):
    """A condition on an objective. Those below `RowLosses` are asked of a Problem alone, so it goes
    before them.

    words: completes "a solver needs ..."; hint: what else there is where it is not met.
    """

    words: ClassVar[str]
    hint: ClassVar[str] = ""

    @classmethod
    @abstractmethod
    def met(cls, objective: Any) -> bool:
        """Whether the objective has it."""

    @classmethod
    @abstractmethod
    def found(cls, objective: Any) -> str:
        """What the objective has in its place."""


class ObjectiveNeed(Need):
    @classmethod
    def found(cls, objective: Any) -> str:
        return type(objective).__name__


class RowLosses(ObjectiveNeed):
    """A Problem: Σ sᵢ l(yᵢ, (Φw)ᵢ + b) + Ω(w)."""

    words = "a sum of losses over rows"

    @classmethod
    def met(cls, objective: Any) -> bool:
        return isinstance(objective, Problem)


class RankedPairs(ObjectiveNeed):
    """A Ranking: a loss over pairs of rows."""

    words = "losses over pairs of rows"

    @classmethod
    def met(cls, objective: Any) -> bool:
        return isinstance(objective, Ranking)


class DesignNeed(Need):
    @classmethod
    def found(cls, objective: Any) -> str:
        return type(objective.design).__name__


class ExplicitRows(DesignNeed):
    """Rows that are written down, so that columns, their squares and Gram matrices can be made."""

    words = "the rows of a table"

    @classmethod
    def met(cls, objective: Any) -> bool:
        return isinstance(objective.design, MatrixDesign)


class NeedsKernel(DesignNeed):
    """Rows seen through a kernel: functions Σⱼ αⱼ k(xⱼ, ·)."""

    words = "rows seen through a kernel"

    @classmethod
    def met(cls, objective: Any) -> bool:
        return isinstance(objective.design, KernelExpansion)


class SingleTargetOnly(Need):
    """y a vector."""

    words = "one target at a time"

    @classmethod
    def met(cls, objective: Any) -> bool:
        return objective.targets is None

    @classmethod
    def found(cls, objective: Any) -> str:
        return f"{objective.targets} of them"


class PlainTargets(SingleTargetOnly):
    """y a vector, or several under a loss without a threshold, which continuation would set."""

    words = "one target at a time under Huber's loss"

    @classmethod
    def met(cls, objective: Any) -> bool:
        return objective.targets is None or math.isinf(objective.loss.threshold)


class LossNeed(Need):
    @classmethod
    def found(cls, objective: Any) -> str:
        return str(objective.loss)


class SmoothLoss(LossNeed):
    """A loss with a derivative everywhere."""

    words = "a loss without kinks"

    @classmethod
    def met(cls, objective: Any) -> bool:
        return not is_piecewise_linear(objective.loss)


class BoundedCurvature(LossNeed):
    """sup l″ finite, which gives gradient steps their length."""

    words = "a loss of bounded curvature"

    @classmethod
    def met(cls, objective: Any) -> bool:
        return math.isfinite(objective.loss.smoothness)


class StraightPieces(LossNeed):
    """Three straight pieces, joined by kinks or parabolas."""

    words = "a loss of straight pieces"

    @classmethod
    def met(cls, objective: Any) -> bool:
        return isinstance(objective.loss, PiecewiseLinear)


class CrammerSinger(LossNeed):
    """The hinge of all classes together."""

    words = "the multiclass hinge"

    @classmethod
    def met(cls, objective: Any) -> bool:
        return isinstance(objective.loss, MulticlassHinge)


class SquareLoss(LossNeed):
    """Half the squared residual."""

    words = "the square loss"

    @classmethod
    def met(cls, objective: Any) -> bool:
        return isinstance(objective.loss, Square)


class SingleScore(LossNeed):
    """One score a row; all classes together have several."""

    words = "a loss of one score a row"
    hint = "use a little L1 with positive=True, or a loss that sets each class against the rest"

    @classmethod
    def met(cls, objective: Any) -> bool:
        return not isinstance(objective.loss, Multinomial)


class PenaltyNeed(Need):
    @classmethod
    def found(cls, objective: Any) -> str:
        return str(objective.penalty)


class SmoothPenalty(PenaltyNeed):
    """λ|w|²/2 with λ ≥ 0."""

    words = "the L2 penalty or none"

    @classmethod
    def met(cls, objective: Any) -> bool:
        return isinstance(objective.penalty, L2)


class PositiveL2(PenaltyNeed):
    """λ|w|²/2 with λ > 0."""

    words = "a positive L2 penalty"

    @classmethod
    def met(cls, objective: Any) -> bool:
        return isinstance(objective.penalty, L2) and objective.penalty.lam > 0.0


class RidgePenalty(PositiveL2):
    """λ|w|²/2 with λ > 0 beside squares."""

    hint = "without a penalty this is least squares, see fenchel.solve.least_squares.solve"


class SeparablePenalty(PenaltyNeed):
    """a|w|₁ + b|w|²/2 with a or b above 0, with or without w ≥ 0."""

    words = "an L1, L2 or mixed penalty"

    @classmethod
    def met(cls, objective: Any) -> bool:
        return isinstance(objective.penalty, L1L2) and not is_unpenalised(objective.penalty)


class ElasticOrCone(PenaltyNeed):
    """a|w|₁ + b|w|²/2 with or without w ≥ 0, or that constraint alone."""

    words = "an L1, L2 or mixed penalty, w ≥ 0 or none"

    @classmethod
    def met(cls, objective: Any) -> bool:
        return isinstance(objective.penalty, L1L2 | NonNegative)


class ConeOnly(PenaltyNeed):
    """w ≥ 0 and nothing else."""

    words = "the constraint w ≥ 0 alone"

    @classmethod
    def met(cls, objective: Any) -> bool:
        return is_unpenalised(objective.penalty) and is_nonnegative(objective.penalty)


def is_piecewise_linear(loss: Loss) -> bool:
    """Whether the loss has kinks."""
    return isinstance(loss, MulticlassHinge) or (
        isinstance(loss, PiecewiseLinear) and loss.smoothing == 0.0
    )
